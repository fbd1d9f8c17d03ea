//! TLS configuration of everything that connects to other machines.

use std::sync::Arc;

use bytes::Bytes;
use rustls::ClientConfig;
use rustls::crypto::ring;
use rustls::pki_types::CertificateDer;
use rustls_platform_verifier::Verifier;

/// TLS configuration of a client: it trusts the certificates of the platform, and `extra_roots` in
/// DER form.
///
/// # Errors
/// One of `extra_roots` is not a certificate, or those of the platform cannot be read.
pub fn client_config(extra_roots: &[Bytes]) -> Result<ClientConfig, rustls::Error> {
    let provider = Arc::new(ring::default_provider());
    let roots = extra_roots
        .iter()
        .map(|root| CertificateDer::from(root.to_vec()));
    let verifier = Verifier::new_with_extra_roots(roots, provider.clone())?;
    Ok(ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_no_client_auth())
}
