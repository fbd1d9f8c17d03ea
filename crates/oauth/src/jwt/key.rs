use std::fmt;
use std::sync::Arc;

use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, ECDSA_P384_SHA384_FIXED_SIGNING, EcdsaKeyPair,
    EcdsaSigningAlgorithm, Ed25519KeyPair, KeyPair, RSA_PKCS1_SHA256, RSA_PSS_SHA256, RsaEncoding,
    RsaKeyPair,
};
use rustls_pki_types::PrivateKeyDer;
use rustls_pki_types::pem::PemObject;

use super::sign::SignError;
use crate::Secret;

/// Private key with its algorithm.
///
/// Clones are cheap, and `Debug` shows no part of the key.
#[derive(Clone)]
pub struct SigningKey {
    algorithm: Algorithm,
    id: Option<String>,
    pair: Arc<Pair>,
}

/// Signature algorithm (RFC 7518, section 3.1; RFC 8037).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Algorithm {
    /// ECDSA on P-256 with SHA-256.
    Es256,
    /// ECDSA on P-384 with SHA-384.
    Es384,
    /// RSA with PKCS #1 padding and SHA-256.
    Rs256,
    /// RSA with PSS padding and SHA-256.
    Ps256,
    /// Ed25519.
    EdDsa,
}

/// The private key cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    /// The text contains no key.
    #[error("the text contains no private key in PEM format")]
    Pem,
    /// The key is of an unsupported kind, or damaged.
    #[error(
        "the private key is not supported: it must be PKCS #8 with P-256, P-384, Ed25519 or RSA of at least 2048 bits"
    )]
    Unusable,
    /// The key does not fit the algorithm.
    #[error("the private key cannot sign with {0}")]
    Algorithm(Algorithm),
    /// The system has no random numbers.
    #[error("the operating system returned no random bytes for a key")]
    Randomness,
}

enum Pair {
    Ecdsa(EcdsaKeyPair),
    Ed25519(Ed25519KeyPair),
    Rsa(Box<RsaKeyPair>),
}

impl SigningKey {
    /// Reads a PEM key, to sign with `algorithm`, else with the default of its kind.
    ///
    /// RSA keys sign with [`Algorithm::Rs256`] by default.
    pub fn from_pem(pem: &Secret, algorithm: Option<Algorithm>) -> Result<Self, KeyError> {
        let der = PrivateKeyDer::from_pem_slice(pem.expose().as_bytes());
        match der.map_err(|_| KeyError::Pem)? {
            PrivateKeyDer::Pkcs8(der) => Self::from_pkcs8(der.secret_pkcs8_der(), algorithm),
            PrivateKeyDer::Pkcs1(der) => {
                let pair = RsaKeyPair::from_der(der.secret_pkcs1_der());
                let pair = pair.map_err(|_| KeyError::Unusable)?;
                Self::new(Pair::Rsa(Box::new(pair)), Algorithm::Rs256, algorithm)
            }
            _ => Err(KeyError::Unusable),
        }
    }

    /// Reads a DER key.
    pub(crate) fn from_pkcs8(der: &[u8], algorithm: Option<Algorithm>) -> Result<Self, KeyError> {
        let (pair, own) = Pair::from_pkcs8(der).ok_or(KeyError::Unusable)?;
        Self::new(pair, own, algorithm)
    }

    fn new(pair: Pair, own: Algorithm, wanted: Option<Algorithm>) -> Result<Self, KeyError> {
        let algorithm = match wanted {
            None => own,
            Some(wanted) if wanted == own => own,
            Some(Algorithm::Ps256) if own == Algorithm::Rs256 => Algorithm::Ps256,
            Some(wanted) => return Err(KeyError::Algorithm(wanted)),
        };
        Ok(Self {
            algorithm,
            id: None,
            pair: Arc::new(pair),
        })
    }

    /// Sets the key id (`kid`).
    #[must_use]
    pub fn with_id(mut self, id: impl Into<String>) -> Self {
        self.id = Some(id.into());
        self
    }

    /// Signature algorithm.
    pub fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    /// Key id (`kid`).
    pub fn id(&self) -> Option<&str> {
        self.id.as_deref()
    }

    /// Public key, in the encoding of its kind.
    pub(crate) fn public(&self) -> &[u8] {
        match &*self.pair {
            Pair::Ecdsa(pair) => pair.public_key().as_ref(),
            Pair::Ed25519(pair) => pair.public_key().as_ref(),
            Pair::Rsa(pair) => pair.public_key().as_ref(),
        }
    }

    /// Signs `message`, with random numbers of the system where the algorithm needs them.
    pub(super) fn sign(&self, message: &[u8]) -> Result<Vec<u8>, SignError> {
        let random = SystemRandom::new();
        match &*self.pair {
            Pair::Ed25519(pair) => Ok(pair.sign(message).as_ref().to_vec()),
            Pair::Ecdsa(pair) => {
                let signature = pair.sign(&random, message).map_err(|_| SignError)?;
                Ok(signature.as_ref().to_vec())
            }
            Pair::Rsa(pair) => {
                let padding: &dyn RsaEncoding = match self.algorithm {
                    Algorithm::Ps256 => &RSA_PSS_SHA256,
                    _ => &RSA_PKCS1_SHA256,
                };
                let mut signature = vec![0; pair.public().modulus_len()];
                let signed = pair.sign(padding, &random, message, &mut signature);
                signed.map_err(|_| SignError)?;
                Ok(signature)
            }
        }
    }
}

impl Pair {
    /// The document names its kind, so each reader is tried and refuses the others.
    fn from_pkcs8(der: &[u8]) -> Option<(Self, Algorithm)> {
        let ecdsa = |kind: &'static EcdsaSigningAlgorithm| {
            let pair = EcdsaKeyPair::from_pkcs8(kind, der, &SystemRandom::new());
            pair.ok().map(Self::Ecdsa)
        };
        if let Some(pair) = ecdsa(&ECDSA_P256_SHA256_FIXED_SIGNING) {
            return Some((pair, Algorithm::Es256));
        }
        if let Some(pair) = ecdsa(&ECDSA_P384_SHA384_FIXED_SIGNING) {
            return Some((pair, Algorithm::Es384));
        }
        // Most tools leave the public half out. It follows from the private one.
        if let Ok(pair) = Ed25519KeyPair::from_pkcs8_maybe_unchecked(der) {
            return Some((Self::Ed25519(pair), Algorithm::EdDsa));
        }
        let pair = RsaKeyPair::from_pkcs8(der).ok()?;
        Some((Self::Rsa(Box::new(pair)), Algorithm::Rs256))
    }
}

impl Algorithm {
    /// Name in headers and metadata.
    pub fn name(self) -> &'static str {
        match self {
            Self::Es256 => "ES256",
            Self::Es384 => "ES384",
            Self::Rs256 => "RS256",
            Self::Ps256 => "PS256",
            Self::EdDsa => "EdDSA",
        }
    }

    /// Algorithm of that name, if it is supported.
    pub fn parse(name: &str) -> Option<Self> {
        let all = [
            Self::Es256,
            Self::Es384,
            Self::Rs256,
            Self::Ps256,
            Self::EdDsa,
        ];
        all.into_iter().find(|algorithm| algorithm.name() == name)
    }
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Keys with the same public half have the same private one.
impl PartialEq for SigningKey {
    fn eq(&self, other: &Self) -> bool {
        self.algorithm == other.algorithm && self.id == other.id && self.public() == other.public()
    }
}

impl Eq for SigningKey {}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SigningKey")
            .field("algorithm", &self.algorithm)
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}
