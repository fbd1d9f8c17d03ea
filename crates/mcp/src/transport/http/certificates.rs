//! Certificates of authorities that a user trusts besides those of the platform.

use std::error::Error;
use std::io;

use bytes::Bytes;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{CertificateError, RootCertStore};

/// A file does not hold certificates of authorities.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CertificateFileError {
    /// There is no certificate in it.
    #[error("there is no certificate in PEM format in it")]
    Empty,
    /// A certificate is damaged.
    #[error("certificate {0} in it is damaged")]
    Damaged(usize),
}

/// The certificates of authorities in the text of a PEM file, in DER form, as `extra_roots` take
/// them. Other contents, such as keys and comments, are passed over.
///
/// # Errors
/// There is none, or one of them cannot be used.
pub fn certificates_in_pem(text: &[u8]) -> Result<Vec<Bytes>, CertificateFileError> {
    // This store only checks the certificates; a connector builds its own from their bytes.
    let mut roots = RootCertStore::empty();
    let mut certificates = Vec::new();
    for (index, certificate) in CertificateDer::pem_slice_iter(text).enumerate() {
        let damaged = CertificateFileError::Damaged(index + 1);
        let certificate = certificate.map_err(|_| damaged)?;
        certificates.push(Bytes::copy_from_slice(&certificate));
        roots.add(certificate).map_err(|_| damaged)?;
    }
    match certificates.is_empty() {
        true => Err(CertificateFileError::Empty),
        false => Ok(certificates),
    }
}

/// True if a connection failed because the certificate of the server was issued by an authority that
/// is not trusted, for example that of a company.
#[must_use]
pub fn is_unknown_issuer(error: &(dyn Error + 'static)) -> bool {
    let unknown = rustls::Error::InvalidCertificate(CertificateError::UnknownIssuer);
    tls_errors(error).any(|error| *error == unknown)
}

/// True if a connection failed because the server answered without TLS.
pub(crate) fn is_without_tls(error: &(dyn Error + 'static)) -> bool {
    let plain = rustls::Error::InvalidMessage(rustls::InvalidMessage::InvalidContentType);
    tls_errors(error).any(|error| *error == plain)
}

fn tls_errors<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a rustls::Error> {
    let causes = std::iter::successors(Some(error), |&error| error.source());
    // The source of an `io::Error` is the source of the error inside it, so the chain alone would skip that
    // error.
    causes.filter_map(|cause| {
        let inner = cause
            .downcast_ref::<io::Error>()
            .and_then(io::Error::get_ref)?;
        inner.downcast_ref()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};

    #[test]
    fn certificates_are_found_in_a_file() {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let issuer = CertifiedIssuer::self_signed(params, key).unwrap();
        let pem = |der: &[u8]| {
            use base64::Engine;
            let text = base64::engine::general_purpose::STANDARD.encode(der);
            format!("-----BEGIN CERTIFICATE-----\n{text}\n-----END CERTIFICATE-----\n")
        };
        let good = pem(issuer.der());
        let der = Bytes::copy_from_slice(issuer.der());
        let file = format!("# Our company\n{good}\n{good}");
        let found = certificates_in_pem(file.as_bytes());
        assert_eq!(found, Ok(vec![der.clone(), der]));
        for (text, expected) in [
            (String::new(), CertificateFileError::Empty),
            ("hello".to_owned(), CertificateFileError::Empty),
            (pem(b"hello"), CertificateFileError::Damaged(1)),
            (
                good.clone() + &pem(b"hello"),
                CertificateFileError::Damaged(2),
            ),
            (
                good.replace("-----END CERTIFICATE-----", ""),
                CertificateFileError::Damaged(1),
            ),
        ] {
            assert_eq!(
                certificates_in_pem(text.as_bytes()),
                Err(expected),
                "{text}"
            );
        }
    }
}
