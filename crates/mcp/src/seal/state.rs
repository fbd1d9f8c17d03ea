use std::fmt;
use std::sync::{PoisonError, RwLock};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use callgate_wire::input::InputResponses;
use chacha20poly1305::aead::{Aead as _, Payload};
use chacha20poly1305::{KeyInit as _, XChaCha20Poly1305, XNonce};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::digest::RequestDigest;
use crate::error::Error;

/// Maximum size of a state before it is sealed, in bytes. A request whose answers are larger fails.
const MAX_STATE: usize = 256 * 1024;
/// Maximum number of keys that open states: the current one and some before it.
const MAX_KEYS: usize = 4;
const NONCE_BYTES: usize = 24;
const EXPIRY_BYTES: usize = 8;

/// Key that seals the state of requests which wait for input.
///
/// Servers that share a key can continue each other's requests.
#[derive(Clone)]
pub struct StateKey([u8; 32]);

/// State that one round of a request hands to the next one, by way of the client.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RoundState {
    /// Answers of earlier rounds.
    #[serde(default, skip_serializing_if = "InputResponses::is_empty")]
    pub(crate) answers: InputResponses,
    /// State of the handler.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) own: Option<String>,
}

/// Seals state with authenticated encryption, so that clients can carry but neither read nor change
/// it.
///
/// A state is valid for one request of one caller until it expires. It can be presented again in
/// that time: an effect that must happen only once needs a guard of its own.
pub struct StateSealer {
    /// The first one seals, all of them open.
    keys: RwLock<Vec<StateKey>>,
}

impl StateKey {
    /// The key with these bytes, which must be secret and random.
    #[must_use]
    pub const fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// A new key.
    ///
    /// # Panics
    /// The system has no randomness to give.
    #[must_use]
    pub fn random() -> Self {
        Self(random())
    }

    fn cipher(&self) -> XChaCha20Poly1305 {
        XChaCha20Poly1305::new(&self.0.into())
    }
}

impl StateSealer {
    /// A sealer with this key.
    #[must_use]
    pub fn new(key: StateKey) -> Self {
        Self {
            keys: RwLock::new(vec![key]),
        }
    }

    /// Rotates the key: seals with `key` from now on, while the three keys before it still open.
    pub fn rotate(&self, key: StateKey) {
        let mut keys = self.keys.write().unwrap_or_else(PoisonError::into_inner);
        keys.insert(0, key);
        keys.truncate(MAX_KEYS);
    }

    /// Replaces all keys: states that were sealed before do not open any more.
    pub fn replace(&self, key: StateKey) {
        *self.keys.write().unwrap_or_else(PoisonError::into_inner) = vec![key];
    }

    /// Seals `state` for the request with this digest.
    ///
    /// # Errors
    /// The state has more than 256 KiB.
    pub fn seal(
        &self,
        state: &impl Serialize,
        digest: &RequestDigest,
        expires: SystemTime,
    ) -> Result<String, Error> {
        let mut plain = millis(expires).to_be_bytes().to_vec();
        serde_json::to_writer(&mut plain, state)
            .map_err(|error| Error::internal("the state is not JSON").with_source(error))?;
        if plain.len() > MAX_STATE {
            return Err(Error::invalid_params(format!(
                "the answers so far are larger than {MAX_STATE} bytes"
            )));
        }
        // Long enough to be random: a counter would have to be shared by all servers that have the key.
        let nonce: [u8; NONCE_BYTES] = random();
        let keys = self.keys.read().unwrap_or_else(PoisonError::into_inner);
        let cipher = keys.first().expect("there is always a key").cipher();
        let payload = Payload {
            msg: &plain,
            aad: digest.as_bytes(),
        };
        let sealed = cipher
            .encrypt(&XNonce::from(nonce), payload)
            .expect("the cipher takes messages of this size");
        Ok(URL_SAFE_NO_PAD.encode([&nonce[..], &sealed].concat()))
    }

    /// Opens a state that was sealed for the request with this digest and has not expired.
    ///
    /// # Errors
    /// It was sealed for another request or with another key, was changed, or has expired. The
    /// error does not say which, as that would help to guess.
    pub fn open<T: DeserializeOwned>(
        &self,
        sealed: &str,
        digest: &RequestDigest,
        now: SystemTime,
    ) -> Result<T, Error> {
        self.try_open(sealed, digest, now).ok_or_else(|| {
            Error::invalid_params("`requestState` is not valid for this request, or has expired")
        })
    }

    fn try_open<T: DeserializeOwned>(
        &self,
        sealed: &str,
        digest: &RequestDigest,
        now: SystemTime,
    ) -> Option<T> {
        let sealed = URL_SAFE_NO_PAD.decode(sealed).ok()?;
        let (nonce, sealed) = sealed.split_first_chunk::<NONCE_BYTES>()?;
        let payload = || Payload {
            msg: sealed,
            aad: digest.as_bytes(),
        };
        let nonce = XNonce::from(*nonce);
        let plain = {
            let keys = self.keys.read().unwrap_or_else(PoisonError::into_inner);
            keys.iter()
                .find_map(|key| key.cipher().decrypt(&nonce, payload()).ok())?
        };
        // The time is read only now: until the seal was checked, a client could have written it.
        let (expires, state) = plain.split_first_chunk::<EXPIRY_BYTES>()?;
        if u64::from_be_bytes(*expires) <= millis(now) {
            return None;
        }
        serde_json::from_slice(state).ok()
    }
}

impl fmt::Debug for StateSealer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StateSealer(..)")
    }
}

impl fmt::Debug for StateKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StateKey(..)")
    }
}

/// Random bytes from the system.
pub(crate) fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).expect("the system has randomness");
    bytes
}

fn millis(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use callgate_wire::RawJson;

    const DIGEST: RequestDigest = RequestDigest([7; 32]);

    fn now() -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(1_000)
    }

    fn later() -> SystemTime {
        now() + Duration::from_secs(600)
    }

    fn state(text: &str) -> RoundState {
        RoundState {
            answers: [("name", RawJson::string(text).into())]
                .into_iter()
                .collect(),
            own: Some("own".to_owned()),
        }
    }

    fn open(
        sealer: &StateSealer,
        sealed: &str,
        digest: &RequestDigest,
        now: SystemTime,
    ) -> Result<RoundState, Error> {
        sealer.open(sealed, digest, now)
    }

    #[test]
    fn a_state_comes_back_as_it_was() {
        let sealer = StateSealer::new(StateKey::random());
        let sealed = sealer.seal(&state("Ada"), &DIGEST, later()).unwrap();
        assert_eq!(
            open(&sealer, &sealed, &DIGEST, now()).unwrap(),
            state("Ada")
        );
        let again = sealer.seal(&state("Ada"), &DIGEST, later()).unwrap();
        assert_ne!(sealed, again);
    }

    #[test]
    fn a_state_is_good_for_its_request_and_time_only() {
        let sealer = StateSealer::new(StateKey::random());
        let sealed = sealer.seal(&state("Ada"), &DIGEST, later()).unwrap();
        let refused = |sealed: &str, digest, now| {
            let error = open(&sealer, sealed, &digest, now).unwrap_err();
            assert_eq!(error.code(), -32602);
        };
        refused(&sealed, RequestDigest([8; 32]), now());
        refused(&sealed, DIGEST, later());
        refused("", DIGEST, now());
        refused("not base64!", DIGEST, now());
        refused(&sealed[..40], DIGEST, now());
        for at in 0..sealed.len() {
            let mut tampered = sealed.clone().into_bytes();
            tampered[at] = if tampered[at] == b'A' { b'B' } else { b'A' };
            refused(str::from_utf8(&tampered).unwrap(), DIGEST, now());
        }
        let other = StateSealer::new(StateKey::random());
        assert!(open(&other, &sealed, &DIGEST, now()).is_err());
    }

    #[test]
    fn older_keys_open_for_a_while() {
        let sealer = StateSealer::new(StateKey::random());
        let sealed = sealer.seal(&state("Ada"), &DIGEST, later()).unwrap();
        for _ in 1..MAX_KEYS {
            sealer.rotate(StateKey::random());
            assert!(open(&sealer, &sealed, &DIGEST, now()).is_ok());
        }
        sealer.rotate(StateKey::random());
        assert!(open(&sealer, &sealed, &DIGEST, now()).is_err());
    }

    #[test]
    fn servers_with_the_same_key_understand_each_other() {
        let [one, two] = [(); 2].map(|()| StateSealer::new(StateKey::new([5; 32])));
        let sealed = one.seal(&state("Ada"), &DIGEST, later()).unwrap();
        assert_eq!(open(&two, &sealed, &DIGEST, now()).unwrap(), state("Ada"));
        two.replace(StateKey::random());
        assert!(open(&two, &sealed, &DIGEST, now()).is_err());
    }

    #[test]
    fn a_state_that_is_too_large_is_refused() {
        let sealer = StateSealer::new(StateKey::random());
        let large = state(&"a".repeat(MAX_STATE));
        let error = sealer.seal(&large, &DIGEST, later()).unwrap_err();
        assert_eq!(error.code(), -32602);
    }
}
