use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair};
use serde::Serialize;
use sha2::{Digest, Sha256};

use super::proof::{self, Proof};
use crate::Secret;
use crate::jwt::{Algorithm, KeyError, SignError, SigningKey};

/// A key that tokens are bound to: P-256, which every server with proofs knows.
///
/// Copies are cheap, and `Debug` shows the public half alone.
#[derive(Clone, PartialEq, Eq)]
pub struct Key {
    pub(super) signing: SigningKey,
    pub(super) public: PublicKey,
    stored: Secret,
}

/// The public half, with its members in the order in which they are hashed (RFC 7638).
#[derive(Clone, PartialEq, Eq, Serialize)]
pub(super) struct PublicKey {
    crv: &'static str,
    kty: &'static str,
    x: String,
    y: String,
}

impl Key {
    /// Makes a new key of the system's randomness.
    pub fn generate() -> Result<Self, KeyError> {
        let random = SystemRandom::new();
        let document = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random);
        let document = document.map_err(|_| KeyError::Randomness)?;
        Self::from_pkcs8(document.as_ref())
    }

    /// Reads a key that [`Key::stored`] wrote.
    pub fn from_stored(stored: &Secret) -> Result<Self, KeyError> {
        let document = STANDARD.decode(stored.expose());
        Self::from_pkcs8(&document.map_err(|_| KeyError::Unusable)?)
    }

    /// The whole key as text, for whoever keeps it: PKCS #8 in base64.
    pub fn stored(&self) -> &Secret {
        &self.stored
    }

    /// The name of the key in tokens and requests (`jkt`).
    pub fn thumbprint(&self) -> String {
        let json = serde_json::to_vec(&self.public).expect("a structure of strings is JSON");
        URL_SAFE_NO_PAD.encode(Sha256::digest(json))
    }

    /// Proves to one server, for one request, that we have this key.
    pub fn prove(&self, proof: &Proof<'_>, now: u64) -> Result<Secret, SignError> {
        proof::sign(self, proof, now)
    }

    fn from_pkcs8(document: &[u8]) -> Result<Self, KeyError> {
        let signing = SigningKey::from_pkcs8(document, Some(Algorithm::Es256))?;
        let public = PublicKey::of(signing.public()).ok_or(KeyError::Unusable)?;
        Ok(Self {
            signing,
            public,
            stored: Secret::new(STANDARD.encode(document)),
        })
    }
}

impl PublicKey {
    /// Takes the point apart: a byte that says that both halves follow, then the halves.
    fn of(point: &[u8]) -> Option<Self> {
        let halves = point.strip_prefix(&[4])?;
        let (x, y) = halves.split_at_checked(32)?;
        (y.len() == 32).then(|| Self {
            crv: "P-256",
            kty: "EC",
            x: URL_SAFE_NO_PAD.encode(x),
            y: URL_SAFE_NO_PAD.encode(y),
        })
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Key").field(&self.thumbprint()).finish()
    }
}
