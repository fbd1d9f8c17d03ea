//! HTTPS with a certificate authority of our own.

use std::sync::Arc;

use bytes::Bytes;
use callgate_mcp::transport::http::client::HttpConfig;
use callgate_mcp::{Kind, Retry};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;

use super::peer::{Answer, Peer, Received, call, failure, http, json, result, serve};
use crate::authorizer::keyring::Keyring;

/// A certificate that nothing is signed with.
pub(super) fn roots() -> Vec<Bytes> {
    vec![Authority::new().root]
}

pub(super) struct Authority {
    root: Bytes,
    issuer: CertifiedIssuer<'static, KeyPair>,
}

impl Authority {
    pub(super) fn new() -> Self {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let issuer = CertifiedIssuer::self_signed(params, key).unwrap();
        let root = Bytes::copy_from_slice(issuer.der());
        Self { root, issuer }
    }

    /// What a server for `name` proves itself with.
    pub(super) fn acceptor(&self, name: &str) -> TlsAcceptor {
        let key = KeyPair::generate().unwrap();
        let certificate = CertificateParams::new([name.to_owned()])
            .unwrap()
            .signed_by(&key, &self.issuer)
            .unwrap();
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(
                vec![certificate.der().clone()],
                key.serialize_der().try_into().unwrap(),
            )
            .unwrap();
        TlsAcceptor::from(Arc::new(config))
    }
}

pub(super) async fn https_peer(acceptor: TlsAcceptor, script: fn(&Received) -> Answer) -> Peer {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let (peer, log) = Peer::new(format!("https://localhost:{port}/mcp"));
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            if let Ok(stream) = acceptor.accept(stream).await {
                serve(stream, log.accepted(), script, &log).await;
            }
        }
    });
    peer
}

pub(super) fn answer(request: &Received) -> Answer {
    json(&request.result("{}"))
}

pub(super) fn refuse(_: &Received) -> Answer {
    http("401 Unauthorized", "text/plain", "")
}

pub(super) fn trusting(authority: &Authority) -> HttpConfig {
    let mut config = HttpConfig::new("peer");
    config.extra_roots = vec![authority.root.clone()];
    config
}

#[tokio::test]
async fn a_trusted_server_is_called_over_one_encrypted_connection() {
    let authority = Authority::new();
    let peer = https_peer(authority.acceptor("localhost"), answer).await;
    let client = peer.client_with(trusting(&authority));
    for _ in 0..10 {
        assert_eq!(result(&client, call("tools/list", "")).await, "{}");
    }
    assert_eq!(peer.connections(), 1);
}

#[tokio::test]
async fn the_address_of_an_encrypted_connection_is_known() {
    let authority = Authority::new();
    let peer = https_peer(authority.acceptor("localhost"), refuse).await;
    let keyring = Keyring::new("bad");
    let mut config = keyring.config();
    config.extra_roots = vec![authority.root.clone()];
    failure(&peer.client_with(config), call("tools/list", "")).await;
    assert_eq!(
        keyring.refusals(),
        ["1 POST: Bearer bad 401 - from 127.0.0.1"]
    );
}

#[tokio::test]
async fn an_untrusted_server_is_sent_nothing() {
    let (authority, other) = (Authority::new(), Authority::new());
    for (name, trusted) in [("localhost", &other), ("other.example", &authority)] {
        let mut peer = https_peer(authority.acceptor(name), answer).await;
        let client = peer.client_with(trusting(trusted));
        let error = failure(&client, call("tools/list", "")).await;
        assert_eq!((error.kind(), error.retry()), (Kind::Connect, Retry::Safe));
        let text = error.to_string();
        assert!(text.contains("invalid peer certificate"), "{text}");
        assert_eq!(peer.requests().len(), 0);
    }
}

#[tokio::test]
async fn a_server_without_tls_is_explained() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let (peer, _log) = Peer::new(format!("https://localhost:{port}/mcp"));
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let _ = stream.read(&mut [0; 4096]).await;
            let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await;
        }
    });
    let client = peer.client_with(trusting(&Authority::new()));
    let error = failure(&client, call("tools/list", "")).await;
    assert_eq!(error.kind(), Kind::Connect);
    let text = error.to_string();
    assert!(
        text.ends_with(": the server does not speak TLS there: use http://"),
        "{text}"
    );
}
