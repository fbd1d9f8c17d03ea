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

/// DPoP key: P-256, which every server with DPoP supports.
///
/// Clones are cheap, and `Debug` shows the public half alone.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Key {
    pub(super) signing: SigningKey,
    pub(super) public: PublicKey,
    stored: Secret,
}

/// Public key, with its members in the order in which they are hashed (RFC 7638).
#[derive(Clone, PartialEq, Eq, Serialize)]
pub(super) struct PublicKey {
    crv: &'static str,
    kty: &'static str,
    x: String,
    y: String,
}

impl Key {
    pub(crate) fn generate() -> Result<Self, KeyError> {
        let random = SystemRandom::new();
        let document = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random);
        let document = document.map_err(|_| KeyError::Randomness)?;
        Self::from_pkcs8(document.as_ref())
    }

    /// Reads a key that [`Key::stored`] wrote.
    pub(crate) fn from_stored(stored: &Secret) -> Result<Self, KeyError> {
        let document = STANDARD.decode(stored.expose());
        Self::from_pkcs8(&document.map_err(|_| KeyError::Unusable)?)
    }

    /// Private key for the store: PKCS #8 in base64.
    pub(crate) fn stored(&self) -> &Secret {
        &self.stored
    }

    /// Thumbprint of the key in tokens and requests (`jkt`).
    pub(crate) fn thumbprint(&self) -> String {
        self.public.thumbprint()
    }

    /// Signs a proof for one request to one server.
    pub(crate) fn prove(&self, proof: &Proof<'_>, now: u64) -> Result<Secret, SignError> {
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
    /// Splits an uncompressed point into its halves.
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

    fn thumbprint(&self) -> String {
        let json = serde_json::to_vec(self).expect("a structure of strings is JSON");
        URL_SAFE_NO_PAD.encode(Sha256::digest(json))
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Key").field(&self.thumbprint()).finish()
    }
}

#[cfg(test)]
mod tests {
    use base64::Engine;
    use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};

    use super::{Key, PublicKey};
    use crate::Secret;
    use crate::jwt::KeyError;

    #[test]
    fn the_key_of_the_specification_has_its_name() {
        // RFC 9449, sections 4.2 and 6.1.
        let halves = [
            "l8tFrhx-34tV3hRICRDY9zCkDlpBhF42UQUfWVAWBFs",
            "9VE4jf_Ok_o64zbTTlcuNJajHmt6v9TDVrU0CdvGRDA",
        ];
        let mut point = vec![4];
        point.extend(
            halves
                .map(|half| URL_SAFE_NO_PAD.decode(half).unwrap())
                .concat(),
        );
        let public = PublicKey::of(&point).unwrap();
        assert_eq!(
            public.thumbprint(),
            "0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I"
        );
        for damaged in [&point[1..], &point[..64], &[&point[..], &[0]].concat(), &[]] {
            assert!(PublicKey::of(damaged).is_none());
        }
    }

    #[test]
    fn a_key_that_was_stored_is_the_same_key() {
        let key = Key::generate().unwrap();
        assert_eq!(Key::from_stored(key.stored()), Ok(key.clone()));
        assert_ne!(Key::generate().unwrap(), key);
        let shown = format!("{key:?}");
        assert_eq!(shown, format!("Key({:?})", key.thumbprint()));
    }

    #[test]
    fn invalid_keys_are_refused() {
        for stored in ["", "*", &STANDARD.encode("x"), "hunter2"] {
            let found = Key::from_stored(&Secret::new(stored));
            assert_eq!(found, Err(KeyError::Unusable), "{stored}");
        }
    }
}
