use std::fmt;
use std::io;
use std::sync::Arc;

use bytes::Bytes;
use rustls::crypto::ring;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::Verifier;
use tokio::net::TcpStream;
use tokio::sync::OnceCell;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

/// TLS handshakes of a client that trusts the certificates of the platform and those of its configuration.
///
/// The certificates of the platform are read at the first handshake: it takes milliseconds, and a
/// command that only talks to a local server needs none. Clones share them.
#[derive(Clone)]
pub(super) struct TlsClient {
    extra_roots: Arc<[Bytes]>,
    connector: Arc<OnceCell<TlsConnector>>,
}

impl TlsClient {
    /// # Errors
    /// One of `extra_roots` is no certificate.
    pub(super) fn new(extra_roots: &[Bytes]) -> Result<Self, rustls::Error> {
        // A mistake of the configuration is reported at the start, and not by the first connection.
        let mut checked = RootCertStore::empty();
        for root in extra_roots {
            checked.add(CertificateDer::from(&**root))?;
        }
        Ok(Self {
            extra_roots: extra_roots.into(),
            connector: Arc::default(),
        })
    }

    /// Makes the handshake with `host` over `stream`. Dropping the future closes the stream.
    ///
    /// # Errors
    /// The certificates of the platform cannot be read, or the handshake failed.
    pub(super) async fn connect(
        &self,
        host: &str,
        stream: TcpStream,
    ) -> io::Result<TlsStream<TcpStream>> {
        let name = ServerName::try_from(host.to_owned());
        let name = name.map_err(|_| io::ErrorKind::InvalidInput)?;
        let connector = self.connector.get_or_try_init(|| self.load()).await?;
        connector.connect(name, stream).await
    }

    /// True if the certificates of the platform were read.
    #[cfg(test)]
    pub(super) fn is_loaded(&self) -> bool {
        self.connector.initialized()
    }

    async fn load(&self) -> io::Result<TlsConnector> {
        let roots = self.extra_roots.clone();
        // Files are read and parsed: that would delay the calls that share this thread.
        let loading = tokio::task::spawn_blocking(move || client_config(&roots));
        let config = loading.await.map_err(io::Error::other)?;
        Ok(Arc::new(config.map_err(io::Error::other)?).into())
    }
}

impl fmt::Debug for TlsClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TlsClient")
            .field("extra_roots", &self.extra_roots.len())
            .field("is_loaded", &self.connector.initialized())
            .finish()
    }
}

fn client_config(extra_roots: &[Bytes]) -> Result<ClientConfig, rustls::Error> {
    let provider = Arc::new(ring::default_provider());
    let roots = extra_roots.iter();
    let roots = roots.map(|root| CertificateDer::from(root.to_vec()));
    let verifier = Verifier::new_with_extra_roots(roots, provider.clone())?;
    // `dangerous` is the name of the interface only: this verifier is that of the platform.
    Ok(ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_no_client_auth())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_root_that_is_no_certificate_is_refused_at_once() {
        assert!(TlsClient::new(&[Bytes::from_static(b"no certificate")]).is_err());
    }
}
