use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::crypto::ring;
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use crate::provider::{Request, Response, exchange};

/// Hosts under their real names: a proxy on this machine stands for all of them.
pub(super) struct Internet {
    /// URL of the proxy.
    pub(super) proxy: String,
    /// Certificate of the authority that vouches for the hosts, in PEM.
    pub(super) authority: String,
}

impl Internet {
    /// Answers every request to one of `hosts`; the first argument of `answer` is the origin.
    pub(super) fn new(
        hosts: Vec<String>,
        answer: impl Fn(&str, &Request) -> Response + Clone + Send + 'static,
    ) -> Self {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let tls = tls(&issuer, hosts);
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let proxy = format!("http://{}", listener.local_addr().unwrap());
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (tls, answer) = (tls.clone(), answer.clone());
                thread::spawn(move || tunnel(stream, tls, answer));
            }
        });
        Self {
            proxy,
            authority: issuer.pem(),
        }
    }
}

fn tls(issuer: &CertifiedIssuer<'_, KeyPair>, hosts: Vec<String>) -> Arc<ServerConfig> {
    let key = KeyPair::generate().unwrap();
    let certificate = CertificateParams::new(hosts).unwrap();
    let certificate = certificate.signed_by(&key, issuer).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(
            vec![certificate.der().clone()],
            key.serialize_der().try_into().unwrap(),
        )
        .unwrap();
    Arc::new(config)
}

/// Serves one tunnel, in which there is one request.
fn tunnel(
    stream: TcpStream,
    tls: Arc<ServerConfig>,
    answer: impl Fn(&str, &Request) -> Response,
) -> Option<()> {
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head).ok()? == 0 {
            return None;
        }
    }
    let host = head.strip_prefix("CONNECT ")?.split(":443 ").next()?;
    // The client says nothing before the tunnel is open, so the buffer is empty.
    let mut stream = reader.into_inner();
    stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").ok()?;
    let mut stream = StreamOwned::new(ServerConnection::new(tls).ok()?, stream);
    let origin = format!("https://{host}");
    exchange(&mut stream, |request| answer(&origin, request))?;
    stream.conn.send_close_notify();
    stream.flush().ok()
}
