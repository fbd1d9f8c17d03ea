use std::fmt::Write;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::secret::Secret;

/// Last failed refresh of a login, for the processes that want the same refresh.
///
/// It is in the lock file of the refresh, which is only read and written by the holder of the lock.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FailedRefresh {
    /// Time of the failure, in Unix seconds.
    pub failed_at: f64,
    /// Earliest time of the next attempt, in Unix seconds.
    pub retry_at: f64,
    /// Number of failures in a row.
    pub failures: u32,
    /// Error of the attempt, without secrets.
    pub reason: String,
    /// Digest of the access token that was to be replaced. Other tokens have not failed.
    token: String,
}

/// Maximum bytes of a record.
pub(super) const MAX_RECORD: usize = 2048;
/// Maximum characters of a reason, so that a record fits even if every character is escaped.
const MAX_REASON: usize = 300;

impl FailedRefresh {
    pub(super) fn new(token: &Secret, reason: &str, failures: u32, times: (f64, f64)) -> Self {
        Self {
            failed_at: times.0,
            retry_at: times.1,
            failures,
            reason: reason.chars().take(MAX_REASON).collect(),
            token: digest(token),
        }
    }

    /// Reads a record; `None` if there is none about `token`.
    pub(super) fn read(bytes: &[u8], token: &Secret) -> Option<Self> {
        let found: Self = serde_json::from_slice(bytes).ok()?;
        (found.token == digest(token)).then_some(found)
    }

    pub(super) fn to_bytes(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default()
    }
}

/// Part of a digest: enough to tell two tokens apart, too little to be worth stealing.
fn digest(token: &Secret) -> String {
    let mut text = String::new();
    for byte in Sha256::digest(token.expose()).iter().take(8) {
        write!(text, "{byte:02x}").expect("a string can be written");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{FailedRefresh, MAX_REASON, MAX_RECORD};
    use crate::secret::Secret;

    #[test]
    fn a_record_is_about_one_token_and_has_a_limit() {
        let token = Secret::new("at-1");
        let long = "\u{1}".repeat(2 * MAX_REASON);
        let record = FailedRefresh::new(&token, &long, 3, (1000.5, 1002.0));
        let bytes = record.to_bytes();
        assert!(bytes.len() <= MAX_RECORD, "{}", bytes.len());
        assert_eq!(record.reason.len(), MAX_REASON);
        assert_eq!(FailedRefresh::read(&bytes, &token), Some(record));
        assert_eq!(FailedRefresh::read(&bytes, &Secret::new("at-2")), None);
        for damaged in [&b""[..], b"{}", &bytes[..bytes.len() - 1]] {
            assert_eq!(FailedRefresh::read(damaged, &token), None);
        }
    }
}
