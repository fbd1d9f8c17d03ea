//! What whoever has no good token is told (RFC 6750, section 3; RFC 9728, section 5.1).

use http::HeaderValue;
use url::Url;

use super::flaw::Flaw;
use crate::Scopes;

/// Why a request is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// It carries no token.
    NoToken,
    /// Its token is not good.
    Invalid(Flaw),
    /// Its token is good, but does not cover what is asked.
    InsufficientScope,
    /// Nobody can tell now, because the keys of the issuer cannot be had.
    Unavailable,
}

/// Writes the challenges of one resource.
#[derive(Debug)]
pub(super) struct Challenges {
    /// The parameters that all of them end with.
    common: String,
}

impl Challenges {
    /// Those of the resource that is described at `metadata` and needs `scopes`.
    pub(super) fn new(metadata: &Url, scopes: &Scopes) -> Self {
        let mut common = format!("resource_metadata=\"{metadata}\"");
        if !scopes.is_empty() {
            common.push_str(&format!(", scope=\"{scopes}\""));
        }
        Self { common }
    }

    /// The `WWW-Authenticate` header for `refusal`.
    pub(super) fn header(&self, refusal: Refusal) -> HeaderValue {
        let common = &self.common;
        let text = match refusal {
            Refusal::NoToken | Refusal::Unavailable => format!("Bearer {common}"),
            Refusal::Invalid(flaw) => {
                format!("Bearer error=\"invalid_token\", error_description=\"{flaw}\", {common}")
            }
            Refusal::InsufficientScope => format!(
                "Bearer error=\"insufficient_scope\", error_description=\"the token lacks a scope\", {common}"
            ),
        };
        // URLs and scopes are printable ASCII without quotes, whatever they were parsed from.
        HeaderValue::try_from(text).expect("challenges are printable")
    }
}

impl From<Flaw> for Refusal {
    fn from(flaw: Flaw) -> Self {
        Self::Invalid(flaw)
    }
}

#[cfg(test)]
mod tests {
    use super::{Challenges, Flaw, Refusal};
    use crate::{Challenge, Scopes};

    const URL: &str = "https://gate.example/.well-known/oauth-protected-resource/mcp";

    fn header(refusal: Refusal, scopes: &str) -> String {
        let challenges = Challenges::new(&URL.parse().unwrap(), &Scopes::parse(scopes));
        let header = challenges.header(refusal);
        header.to_str().unwrap().to_owned()
    }

    #[test]
    fn challenges_say_what_to_do_next() {
        let cases = [
            (
                Refusal::NoToken,
                "",
                format!("Bearer resource_metadata=\"{URL}\""),
            ),
            (
                Refusal::NoToken,
                "read write",
                format!("Bearer resource_metadata=\"{URL}\", scope=\"read write\""),
            ),
            (
                Refusal::Invalid(Flaw::Expired),
                "",
                format!(
                    "Bearer error=\"invalid_token\", error_description=\"the token has expired\", resource_metadata=\"{URL}\""
                ),
            ),
            (
                Refusal::InsufficientScope,
                "read",
                format!(
                    "Bearer error=\"insufficient_scope\", error_description=\"the token lacks a scope\", resource_metadata=\"{URL}\", scope=\"read\""
                ),
            ),
        ];
        for (refusal, scopes, expected) in cases {
            assert_eq!(header(refusal, scopes), expected);
        }
    }

    #[test]
    fn our_own_client_understands_them() {
        let header = header(Refusal::InsufficientScope, "read write");
        let expected = Challenge {
            resource_metadata: Some(URL.to_owned()),
            scope: Some(Scopes::parse("read write")),
            error: Some("insufficient_scope".to_owned()),
        };
        assert_eq!(Challenge::find([header.as_str()]), Some(expected));
    }
}
