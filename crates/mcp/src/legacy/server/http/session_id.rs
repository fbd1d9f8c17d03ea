use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

/// The secret name of a session: 192 random bits in visible ASCII.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct SessionId([u8; LENGTH]);

const RANDOM_BYTES: usize = 24;
const LENGTH: usize = RANDOM_BYTES / 3 * 4;

impl SessionId {
    pub(super) fn random() -> Self {
        let mut secret = [0; RANDOM_BYTES];
        getrandom::fill(&mut secret).expect("the system has randomness");
        let mut name = [0; LENGTH];
        URL_SAFE_NO_PAD
            .encode_slice(secret, &mut name)
            .expect("the name has the length of the encoded secret");
        Self(name)
    }

    /// The name that a client presents; nothing else has the right length.
    pub(super) fn parse(name: &[u8]) -> Option<Self> {
        name.try_into().ok().map(Self)
    }

    pub(super) fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).unwrap_or_default()
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SessionId(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn names_are_visible_and_never_the_same() {
        let names: HashSet<_> = (0..1000).map(|_| SessionId::random()).collect();
        assert_eq!(names.len(), 1000);
        for name in names {
            assert!(name.as_bytes().iter().all(u8::is_ascii_graphic));
            assert_eq!(SessionId::parse(name.as_bytes()), Some(name));
            assert_eq!(format!("{name:?}"), "SessionId(..)");
        }
        assert_eq!(SessionId::parse(b""), None);
        assert_eq!(SessionId::parse(&[b'x'; LENGTH + 1]), None);
    }
}
