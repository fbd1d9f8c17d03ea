//! What whoever has no good token is told (RFC 6750, section 3; RFC 9728, section 5.1).

use callgate_mcp::transport::http::server::Unproven;
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

    /// What the sender of a refused request is told.
    pub(super) fn answer(&self, refusal: Refusal) -> Unproven {
        match refusal {
            Refusal::NoToken => Unproven::Unauthorized(self.header("")),
            Refusal::Invalid(flaw) => {
                let error = format!("error=\"invalid_token\", error_description=\"{flaw}\", ");
                Unproven::Unauthorized(self.header(&error))
            }
            Refusal::InsufficientScope => {
                let error =
                    "error=\"insufficient_scope\", error_description=\"the token lacks a scope\", ";
                Unproven::Forbidden(self.header(error))
            }
            Refusal::Unavailable => Unproven::Unavailable,
        }
    }

    fn header(&self, error: &str) -> HeaderValue {
        let text = format!("Bearer {error}{}", self.common);
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
    use callgate_mcp::transport::http::server::Unproven;
    use http::HeaderValue;

    use super::{Challenges, Flaw, Refusal};
    use crate::{Challenge, Scopes};

    const URL: &str = "https://gate.example/.well-known/oauth-protected-resource/mcp";

    fn answer(refusal: Refusal, scopes: &str) -> Unproven {
        let challenges = Challenges::new(&URL.parse().unwrap(), &Scopes::parse(scopes));
        challenges.answer(refusal)
    }

    fn bearer(parameters: &str) -> HeaderValue {
        let parameters = parameters.replace('\'', "\"").replace("URL", URL);
        HeaderValue::try_from(format!("Bearer {parameters}")).unwrap()
    }

    #[test]
    fn challenges_say_what_to_do_next() {
        let cases = [
            (
                Refusal::NoToken,
                "",
                Unproven::Unauthorized(bearer("resource_metadata='URL'")),
            ),
            (
                Refusal::NoToken,
                "read write",
                Unproven::Unauthorized(bearer("resource_metadata='URL', scope='read write'")),
            ),
            (
                Refusal::Invalid(Flaw::Expired),
                "",
                Unproven::Unauthorized(bearer(
                    "error='invalid_token', error_description='the token has expired', resource_metadata='URL'",
                )),
            ),
            (
                Refusal::InsufficientScope,
                "read",
                Unproven::Forbidden(bearer(
                    "error='insufficient_scope', error_description='the token lacks a scope', resource_metadata='URL', scope='read'",
                )),
            ),
            (Refusal::Unavailable, "read", Unproven::Unavailable),
        ];
        for (refusal, scopes, expected) in cases {
            assert_eq!(answer(refusal, scopes), expected);
        }
    }

    #[test]
    fn our_own_client_understands_them() {
        let Unproven::Forbidden(header) = answer(Refusal::InsufficientScope, "read write") else {
            panic!("the token is good");
        };
        let expected = Challenge {
            resource_metadata: Some(URL.to_owned()),
            scope: Some(Scopes::parse("read write")),
            error: Some("insufficient_scope".to_owned()),
            dpop: false,
        };
        assert_eq!(Challenge::find(header.to_str().ok()), Some(expected));
    }
}
