use std::sync::{Mutex, PoisonError};

use url::Url;

use super::key::Key;
use super::proof::Proof;
use crate::Secret;
use crate::jwt::SignError;

/// The longest nonce that is kept, in bytes.
const MAX_NONCE: usize = 1 << 10;

/// Makes the proofs for the requests to one server, with the nonce that it named last.
///
/// It is shared by all requests, so each one has the newest nonce.
#[derive(Debug)]
pub struct Prover {
    key: Key,
    nonce: Mutex<Option<String>>,
}

impl Prover {
    /// Begins without a nonce; a server that wants one will say so.
    pub fn new(key: Key) -> Self {
        Self {
            key,
            nonce: Mutex::new(None),
        }
    }

    /// The key that tokens are bound to.
    pub fn key(&self) -> &Key {
        &self.key
    }

    /// The value of the header `DPoP` for one request that shows `access_token`.
    pub fn proof(
        &self,
        method: &str,
        url: &Url,
        access_token: &Secret,
        now: u64,
    ) -> Result<Secret, SignError> {
        let nonce = self.nonce.lock().unwrap_or_else(PoisonError::into_inner);
        let nonce = nonce.clone();
        let proof = Proof {
            method,
            url,
            access_token: Some(access_token),
            nonce: nonce.as_deref(),
        };
        self.key.prove(&proof, now)
    }

    /// Takes the value of a header `DPoP-Nonce`, which any response may have.
    pub fn learn(&self, nonce: &str) {
        if !is_nonce(nonce) {
            return;
        }
        let mut known = self.nonce.lock().unwrap_or_else(PoisonError::into_inner);
        if known.as_deref() != Some(nonce) {
            *known = Some(nonce.to_owned());
        }
    }
}

/// The characters of RFC 9449, section 8.1, and not too many of them.
pub(crate) fn is_nonce(text: &str) -> bool {
    let allowed = |byte| matches!(byte, 0x21 | 0x23..=0x5b | 0x5d..=0x7e);
    (1..=MAX_NONCE).contains(&text.len()) && text.bytes().all(allowed)
}
