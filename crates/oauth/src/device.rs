//! Device code grant: the user consents on another device (RFC 8628).

use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;
use url::Url;

use crate::http_message::Response;
use crate::options::ProviderOptions;
use crate::provider::is_hidden;
use crate::token_endpoint::seconds;
use crate::{ProviderError, Secret, endpoint};

/// Code and address to show to the user.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DevicePrompt {
    /// Code to type.
    pub user_code: String,
    /// URL to open, on any device.
    pub verification_uri: Url,
    /// URL that contains the code, if there is one.
    pub verification_uri_complete: Option<Url>,
    /// Expiry of the code, in Unix seconds.
    pub expires_at: u64,
}

/// Error of the device code grant.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DeviceError {
    /// The authorization server refused, with a reason.
    #[error("the authorization server refused the device code request: {0}")]
    Refused(#[source] ProviderError),
    /// The authorization server is unavailable.
    #[error("the authorization server is unavailable (HTTP {0})")]
    Unavailable(u16),
    /// The response has no code, or one that is not safe to show.
    #[error("the authorization server answered with HTTP {0} and no device code")]
    Malformed(u16),
    /// The user did not consent in time.
    #[error("the user did not consent before the code expired")]
    Expired,
}

/// Device code that waits for the consent of the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PendingDeviceLogin {
    pub(crate) device_code: Secret,
    pub(crate) prompt: DevicePrompt,
    pub(crate) interval: Duration,
}

/// Polling interval in seconds, if the server names none.
const DEFAULT_INTERVAL: u64 = 5;

/// Increase of the interval after `slow_down`.
const SLOW_DOWN: Duration = Duration::from_secs(5);

/// Maximum interval after failures of the server.
const MAX_BACKOFF: Duration = Duration::from_secs(60);

/// Maximum lifetime of a code in seconds. A larger one is cut.
const MAX_LIFETIME: u64 = 60 * 60;

/// Maximum characters of a code that a user has to type.
const MAX_USER_CODE: usize = 64;

/// Form fields of the device authorization request.
pub(crate) fn fields<'a>(
    resource: Option<&'a str>,
    scope: &'a str,
    provider: &'a ProviderOptions,
) -> Vec<(&'a str, &'a str)> {
    let scope = (!scope.is_empty()).then_some(("scope", scope));
    let resource = resource.map(|resource| ("resource", resource));
    let own = resource.into_iter().chain(scope);
    own.chain(provider.auth_params.iter()).collect()
}

impl PendingDeviceLogin {
    /// Reads the device authorization response.
    pub(crate) fn parse(response: &Response, now: u64) -> Result<Self, DeviceError> {
        if response.is_transient() {
            return Err(DeviceError::Unavailable(response.status));
        }
        if let Ok(error) = serde_json::from_slice(&response.body) {
            return Err(DeviceError::Refused(error));
        }
        let document = response.success().and_then(read);
        document
            .and_then(|document: Document| document.pending(now))
            .ok_or(DeviceError::Malformed(response.status))
    }

    /// Time until the next poll after a response of the token endpoint; `None` if the response is
    /// final.
    pub(crate) fn wait_after(
        &mut self,
        response: &Response,
    ) -> Result<Option<Duration>, DeviceError> {
        let error = read::<ProviderError>(&response.body);
        match error.as_ref().map(|error| error.error.as_str()) {
            Some("authorization_pending") => {}
            // GitHub names the new interval too.
            Some("slow_down") => {
                let named = read::<Slower>(&response.body).and_then(|it| seconds(&it.interval?));
                let named = Duration::from_secs(named.unwrap_or_default());
                self.interval = self.interval.saturating_add(SLOW_DOWN).max(named);
            }
            Some("expired_token") => return Err(DeviceError::Expired),
            _ if response.is_transient() => self.back_off(),
            _ => return Ok(None),
        }
        let asked = response.retry_after.map(Duration::from_secs);
        Ok(Some(self.interval.max(asked.unwrap_or_default())))
    }

    /// Doubles the interval, because the server did not answer.
    pub(crate) fn back_off(&mut self) {
        let doubled = self.interval.saturating_mul(2).min(MAX_BACKOFF);
        self.interval = self.interval.max(doubled);
    }

    /// Rest of the code's lifetime. No wait is longer, whatever interval the server asks for.
    pub(crate) fn left(&self, now: u64) -> Duration {
        Duration::from_secs(self.prompt.expires_at.saturating_sub(now))
    }

    /// Fails if the code has expired.
    pub(crate) fn check(&self, now: u64) -> Result<(), DeviceError> {
        if now < self.prompt.expires_at {
            Ok(())
        } else {
            Err(DeviceError::Expired)
        }
    }
}

#[derive(Deserialize)]
struct Document {
    device_code: Secret,
    user_code: String,
    // Name before the RFC, which Google still uses.
    #[serde(alias = "verification_url")]
    verification_uri: String,
    verification_uri_complete: Option<String>,
    expires_in: Value,
    interval: Option<Value>,
}

impl Document {
    /// Accepts only plain text and plain URLs: the code goes to a terminal, and the URL to a
    /// browser.
    fn pending(self, now: u64) -> Option<PendingDeviceLogin> {
        let length = self.user_code.chars().count();
        let is_plain = (1..=MAX_USER_CODE).contains(&length) && !self.user_code.contains(is_hidden);
        if !is_plain || self.device_code.expose().is_empty() {
            return None;
        }
        let lifetime = seconds(&self.expires_in)?.min(MAX_LIFETIME);
        let interval = self.interval.as_ref().and_then(seconds);
        let complete = self.verification_uri_complete;
        Some(PendingDeviceLogin {
            device_code: self.device_code,
            prompt: DevicePrompt {
                user_code: self.user_code,
                verification_uri: endpoint::parse(&self.verification_uri).ok()?,
                verification_uri_complete: complete.and_then(|url| endpoint::parse(&url).ok()),
                expires_at: now.saturating_add(lifetime),
            },
            interval: Duration::from_secs(interval.unwrap_or(DEFAULT_INTERVAL).max(1)),
        })
    }
}

/// Refusal of a poll that came too early.
#[derive(Deserialize)]
struct Slower {
    interval: Option<Value>,
}

fn read<'de, T: Deserialize<'de>>(body: &'de [u8]) -> Option<T> {
    serde_json::from_slice(body).ok()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::proptest;
    use serde_json::{Value, json};

    use super::{DeviceError, DevicePrompt, MAX_LIFETIME, MAX_USER_CODE, PendingDeviceLogin};
    use crate::http_message::Response;
    use crate::{ProviderError, Secret};

    fn document(changes: &Value) -> String {
        let mut document = json!({
            "device_code": "d",
            "user_code": "WDJB-MJHT",
            "verification_uri": "https://as.example/device",
            "expires_in": 600,
        });
        let members = document.as_object_mut().unwrap();
        for (name, value) in changes.as_object().unwrap() {
            members.insert(name.clone(), value.clone());
        }
        document.to_string()
    }

    fn parse(changes: &Value) -> Result<PendingDeviceLogin, DeviceError> {
        PendingDeviceLogin::parse(&Response::new(200, document(changes)), 1000)
    }

    fn pending() -> PendingDeviceLogin {
        PendingDeviceLogin {
            device_code: Secret::new("d"),
            prompt: DevicePrompt {
                user_code: "WDJB-MJHT".into(),
                verification_uri: "https://as.example/device".parse().unwrap(),
                verification_uri_complete: None,
                expires_at: 1600,
            },
            interval: Duration::from_secs(5),
        }
    }

    #[test]
    fn codes_are_read() {
        assert_eq!(parse(&json!({})), Ok(pending()));
        let complete = "https://as.example/device?user_code=WDJB-MJHT";
        let mut full = pending();
        full.prompt.verification_uri_complete = Some(complete.parse().unwrap());
        full.interval = Duration::from_secs(7);
        let changes = json!({"verification_uri_complete": complete, "interval": "7"});
        assert_eq!(parse(&changes), Ok(full));

        let old = document(&json!({})).replace("verification_uri", "verification_url");
        let found = PendingDeviceLogin::parse(&Response::new(200, old), 1000);
        assert_eq!(found, Ok(pending()));

        let unusable = json!({"verification_uri_complete": "javascript:alert(1)"});
        assert_eq!(parse(&unusable), Ok(pending()));
        let ends = |changes| parse(&changes).unwrap().prompt.expires_at;
        assert_eq!(ends(json!({"expires_in": 1e9})), 1000 + MAX_LIFETIME);
        let eager = parse(&json!({"interval": 0})).unwrap();
        assert_eq!(eager.interval, Duration::from_secs(1));
    }

    #[test]
    fn codes_and_urls_that_are_unsafe_to_print_are_refused() {
        let malformed = Err(DeviceError::Malformed(200));
        let longest = "x".repeat(MAX_USER_CODE);
        assert!(parse(&json!({"user_code": longest})).is_ok());
        for changes in [
            json!({"user_code": ""}),
            json!({"user_code": longest + "x"}),
            json!({"user_code": "\u{1b}[2J"}),
            json!({"user_code": "\u{202e}A"}),
            json!({"device_code": ""}),
            json!({"verification_uri": "http://as.example/device"}),
            json!({"verification_uri": "javascript:alert(1)"}),
            json!({"verification_uri": "file:///etc/passwd"}),
            json!({"expires_in": "soon"}),
            json!({"expires_in": null}),
        ] {
            assert_eq!(parse(&changes), malformed, "{changes}");
        }
    }

    #[test]
    fn refusals_are_told_from_bad_moments() {
        let refused = DeviceError::Refused(ProviderError {
            error: "unauthorized_client".into(),
            error_description: None,
        });
        let cases = [
            (400, r#"{"error":"unauthorized_client"}"#, refused),
            (503, r#"{"error":"x"}"#, DeviceError::Unavailable(503)),
            (429, "", DeviceError::Unavailable(429)),
            (404, "<html>", DeviceError::Malformed(404)),
            (200, "{}", DeviceError::Malformed(200)),
        ];
        for (status, body, expected) in cases {
            let found = PendingDeviceLogin::parse(&Response::new(status, body), 0);
            assert_eq!(found, Err(expected), "{status} {body}");
        }
    }

    #[test]
    fn the_server_says_how_often_it_is_asked() {
        let mut pending = pending();
        let mut wait = |status, error: &str, retry_after| {
            let response = Response {
                retry_after,
                ..Response::new(status, format!(r#"{{"error":"{error}"}}"#))
            };
            pending
                .wait_after(&response)
                .map(|it| it.map(|it| it.as_secs()))
        };
        assert_eq!(wait(400, "authorization_pending", None), Ok(Some(5)));
        assert_eq!(wait(400, "slow_down", None), Ok(Some(10)));
        assert_eq!(wait(400, "authorization_pending", None), Ok(Some(10)));
        assert_eq!(wait(429, "", Some(45)), Ok(Some(45)));
        assert_eq!(wait(400, "authorization_pending", Some(1)), Ok(Some(20)));
        assert_eq!(wait(503, "", None), Ok(Some(40)));
        assert_eq!(wait(503, "", None), Ok(Some(60)));
        assert_eq!(wait(503, "", None), Ok(Some(60)));
        assert_eq!(wait(429, "slow_down", None), Ok(Some(65)));
        assert_eq!(wait(500, "", None), Ok(Some(65)));
        assert_eq!(
            wait(200, r#"slow_down","interval":"90"#, None),
            Ok(Some(90))
        );
        assert_eq!(wait(200, r#"slow_down","interval":"9"#, None), Ok(Some(95)));
        assert_eq!(wait(400, "access_denied", None), Ok(None));
        assert_eq!(wait(400, "expired_token", None), Err(DeviceError::Expired));
    }

    #[test]
    fn a_code_ends() {
        assert_eq!(pending().check(1599), Ok(()));
        assert_eq!(pending().check(1600), Err(DeviceError::Expired));
    }

    proptest! {
        #[test]
        fn any_answer_is_read_without_panic(status: u16, body: String, now: u64) {
            let response = Response::new(status, body);
            assert!(PendingDeviceLogin::parse(&response, now).is_err());
            assert!(pending().wait_after(&response).is_ok());
        }
    }
}
