//! HTTPS with a certificate authority of our own.

use std::sync::Arc;

use bytes::Bytes;
use callgate_oauth::fetch::{Config, FetchError, Fetcher};
use callgate_oauth::http_message::Response;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;

use super::addresses::Names;
use super::peer::{Log, Peer, answer, read_request, write};
use super::{LOOPBACK, get};

pub(super) struct Authority {
    pub(super) root: Bytes,
    issuer: CertifiedIssuer<'static, KeyPair>,
}

impl Authority {
    pub(super) fn new() -> Self {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("a key");
        let issuer = CertifiedIssuer::self_signed(params, key).expect("a certificate");
        let root = Bytes::copy_from_slice(issuer.der());
        Self { root, issuer }
    }

    /// Certificate and key of a server called `name`.
    pub(super) fn acceptor(&self, name: &str) -> TlsAcceptor {
        let key = KeyPair::generate().expect("a key");
        let certificate = CertificateParams::new([name.to_owned()])
            .expect("a name")
            .signed_by(&key, &self.issuer)
            .expect("a certificate");
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_no_client_auth()
            .with_single_cert(
                vec![certificate.der().clone()],
                key.serialize_der().try_into().expect("a key"),
            )
            .expect("a certificate with its key");
        TlsAcceptor::from(Arc::new(config))
    }

    /// Trusts this authority, and finds every name on this machine.
    fn fetcher(&self) -> Fetcher {
        Fetcher::new({
            let mut config = Config::default();
            config.extra_roots = vec![self.root.clone()];
            config.resolver = Names::new(&["127.0.0.1", "127.0.0.1"]);
            config
        })
        .expect("TLS works")
    }
}

/// Answers with the name that the client asked for.
pub(super) async fn https_peer(acceptor: TlsAcceptor) -> Peer {
    Peer::new(move |stream, log: Log| {
        let acceptor = acceptor.clone();
        async move {
            let Ok(stream) = acceptor.accept(stream).await else {
                return;
            };
            let name = stream.get_ref().1.server_name().unwrap_or("-");
            let response = format!("HTTP/1.1 200 OK\r\n\r\n{name}");
            answer(stream, log, response).await;
        }
    })
    .await
}

#[tokio::test]
async fn a_server_is_asked_for_by_its_name() {
    let authority = Authority::new();
    for (certified, host, shown) in [
        ("as.example", "as.example", "as.example"),
        ("as.example", "AS.example", "as.example"),
        ("as.example", "as.example.", "as.example"),
        ("127.0.0.1", "127.0.0.1", "-"),
    ] {
        let peer = https_peer(authority.acceptor(certified)).await;
        let request = get(&peer.url_of(&format!("https://{host}"), "/"));
        let fetched = authority.fetcher().fetch(LOOPBACK, &request).await;
        assert_eq!(
            fetched.expect("it comes"),
            Response::new(200, shown),
            "{host}"
        );
    }
}

#[tokio::test]
async fn a_server_that_is_not_trusted_is_sent_nothing() {
    let (authority, other) = (Authority::new(), Authority::new());
    for (certified, trusted) in [("as.example", &other), ("other.example", &authority)] {
        let peer = https_peer(authority.acceptor(certified)).await;
        let request = get(&peer.url_of("https://as.example", "/"));
        let fetched = trusted.fetcher().fetch(LOOPBACK, &request).await;
        let error = fetched.expect_err("it is not trusted");
        assert!(matches!(error, FetchError::Handshake { .. }), "{error:?}");
        assert!(!error.is_transient());
        assert_eq!(peer.requests(), [""; 0]);
    }
}

#[tokio::test]
async fn a_name_that_no_certificate_has_is_not_asked_for() {
    let authority = Authority::new();
    let peer = https_peer(authority.acceptor("as.example")).await;
    let request = get(&peer.url_of("https://as..example", "/"));
    let fetched = authority.fetcher().fetch(LOOPBACK, &request).await;
    let error = fetched.expect_err("it cannot be proven");
    assert!(matches!(error, FetchError::Handshake { .. }), "{error:?}");
    assert!(!error.is_transient());
}

#[tokio::test]
async fn a_handshake_that_is_cut_may_work_later() {
    let peer = Peer::new(|stream, _| async move { drop(stream) }).await;
    let request = get(&peer.url_of("https://as.example", "/"));
    let fetched = Authority::new().fetcher().fetch(LOOPBACK, &request).await;
    let error = fetched.expect_err("it is cut");
    assert!(matches!(error, FetchError::Handshake { .. }), "{error:?}");
    assert!(error.is_transient());
}

#[tokio::test]
async fn https_is_not_left_by_a_redirect() {
    let authority = Authority::new();
    let acceptor = authority.acceptor("as.example");
    let plain = Peer::answering("200 OK", "{}").await;
    let location = plain.url("/");
    let peer = Peer::new(move |stream, log: Log| {
        let (acceptor, location) = (acceptor.clone(), location.clone());
        async move {
            let mut stream = acceptor.accept(stream).await.expect("it is trusted");
            if read_request(&mut stream, &log).await {
                let head = format!("HTTP/1.1 302 Found\r\nlocation: {location}\r\n\r\n");
                write(&mut stream, &head).await;
            }
        }
    })
    .await;
    let request = get(&peer.url_of("https://as.example", "/"));
    let fetched = authority.fetcher().fetch(LOOPBACK, &request).await;
    let error = fetched.expect_err("it is not followed");
    assert!(matches!(error, FetchError::Redirect { .. }), "{error:?}");
    assert_eq!((peer.connections(), plain.connections()), (1, 0));
}

#[test]
fn a_root_that_is_no_certificate_is_refused() {
    let fetcher = Fetcher::new({
        let mut config = Config::default();
        config.extra_roots = vec![Bytes::from_static(b"no certificate")];
        config
    });
    assert!(matches!(fetcher, Err(FetchError::Tls(_))), "{fetcher:?}");
}
