use std::sync::{Mutex, PoisonError};

use url::Url;

use super::key::Key;
use super::proof::Proof;
use crate::Secret;
use crate::jwt::SignError;

/// Error code that asks for the nonce of the server.
pub(crate) const USE_DPOP_NONCE: &str = "use_dpop_nonce";

/// Maximum bytes of a nonce.
const MAX_NONCE: usize = 1 << 10;

/// Makes the proofs for one server, with its last nonce.
///
/// All requests share it, so that each one has the newest nonce.
#[derive(Debug)]
pub(crate) struct Prover {
    key: Key,
    nonce: Mutex<Option<String>>,
}

impl Prover {
    /// Starts without a nonce. A server that wants one sends it with a challenge.
    pub(crate) fn new(key: Key) -> Self {
        Self {
            key,
            nonce: Mutex::new(None),
        }
    }

    pub(crate) fn key(&self) -> &Key {
        &self.key
    }

    /// `DPoP` header for one request with `access_token`.
    pub(crate) fn proof(
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

    /// Stores a `DPoP-Nonce`, which any response may have.
    pub(crate) fn learn(&self, nonce: &str) {
        if !is_nonce(nonce) {
            return;
        }
        let mut known = self.nonce.lock().unwrap_or_else(PoisonError::into_inner);
        if known.as_deref() != Some(nonce) {
            *known = Some(nonce.to_owned());
        }
    }
}

/// Checks the characters of RFC 9449, section 8.1, and the length.
pub(crate) fn is_nonce(text: &str) -> bool {
    let allowed = |byte| matches!(byte, 0x21 | 0x23..=0x5b | 0x5d..=0x7e);
    (1..=MAX_NONCE).contains(&text.len()) && text.bytes().all(allowed)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{MAX_NONCE, Prover};
    use crate::Secret;
    use crate::dpop::Key;
    use crate::jwt::test_tokens::read;

    fn nonce(prover: &Prover) -> Value {
        let url = "https://a.example/mcp".parse().unwrap();
        let proof = prover.proof("POST", &url, &Secret::new("t"), 0).unwrap();
        let (_, claims) = read(proof.expose());
        claims.get("nonce").cloned().unwrap_or_default()
    }

    #[test]
    fn the_next_proof_has_the_newest_nonce() {
        let prover = Prover::new(Key::generate().unwrap());
        assert_eq!(nonce(&prover), Value::Null);
        for newest in ["a", "b", "b"] {
            prover.learn(newest);
            assert_eq!(nonce(&prover), json!(newest));
        }
        let long = "x".repeat(MAX_NONCE + 1);
        for junk in ["", "a b", "\"", "\\", "\u{e9}", "a\n", &long] {
            prover.learn(junk);
            assert_eq!(nonce(&prover), json!("b"), "{junk}");
        }
        let longest = "x".repeat(MAX_NONCE);
        prover.learn(&longest);
        assert_eq!(nonce(&prover), json!(longest));
    }
}
