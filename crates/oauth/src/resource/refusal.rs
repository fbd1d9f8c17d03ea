//! Challenges for requests without a valid token (RFC 6750, section 3; RFC 9728, section 5.1).

use callgate_mcp::transport::http::server::CredentialError;
use http::HeaderValue;
use url::Url;

use super::algorithm;
use super::flaw::Flaw;
use crate::Scopes;

/// Reason why a request is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// The request has no token.
    NoToken,
    /// The token is not valid.
    Invalid(Flaw),
    /// The token lacks a required scope.
    InsufficientScope,
    /// The keys of the issuer are not available, so that the token cannot be checked now.
    Unavailable,
}

/// Scheme of a token, and of the challenge that answers it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scheme {
    Bearer,
    Dpop,
}

/// Challenges of one resource.
#[derive(Debug)]
pub(super) struct Challenges {
    /// Parameters at the end of each challenge.
    common: String,
}

impl Challenges {
    /// Challenges of the resource with this metadata URL and these required scopes.
    pub(super) fn new(metadata: &Url, scopes: &Scopes) -> Self {
        let mut common = format!("resource_metadata=\"{metadata}\"");
        if !scopes.is_empty() {
            common.push_str(&format!(", scope=\"{scopes}\""));
        }
        Self { common }
    }

    /// Answer to a refused request with a token of `scheme`.
    pub(super) fn answer(&self, refusal: Refusal, scheme: Scheme) -> CredentialError {
        match refusal {
            Refusal::NoToken => CredentialError::Unauthorized(self.header(Scheme::Bearer, "")),
            Refusal::Invalid(flaw) => {
                // The client has to change the scheme, and the challenge is in the right one.
                let scheme = match flaw {
                    Flaw::Bound => Scheme::Dpop,
                    Flaw::NotBound => Scheme::Bearer,
                    _ => scheme,
                };
                let code = flaw.code();
                let error = format!("error=\"{code}\", error_description=\"{flaw}\", ");
                CredentialError::Unauthorized(self.header(scheme, &error))
            }
            Refusal::InsufficientScope => {
                let error =
                    "error=\"insufficient_scope\", error_description=\"the token lacks a scope\", ";
                CredentialError::Forbidden(self.header(scheme, error))
            }
            Refusal::Unavailable => CredentialError::Unavailable,
        }
    }

    fn header(&self, scheme: Scheme, error: &str) -> HeaderValue {
        let common = &self.common;
        let text = match scheme {
            Scheme::Dpop => {
                let algorithms = algorithm::NAMES.join(" ");
                format!("DPoP {error}algs=\"{algorithms}\", {common}")
            }
            Scheme::Bearer => format!("Bearer {error}{common}"),
        };
        // URLs and scopes are printable ASCII without quotes once they are parsed.
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
    use callgate_mcp::transport::http::server::CredentialError;
    use http::HeaderValue;

    use super::{Challenges, Flaw, Refusal, Scheme};
    use crate::{Challenge, Scopes};

    const URL: &str = "https://gate.example/.well-known/oauth-protected-resource/mcp";

    fn answer(refusal: Refusal, scopes: &str) -> CredentialError {
        let challenges = Challenges::new(&URL.parse().unwrap(), &Scopes::parse(scopes));
        challenges.answer(refusal, Scheme::Bearer)
    }

    fn bearer(parameters: &str) -> HeaderValue {
        let parameters = parameters.replace('\'', "\"").replace("URL", URL);
        HeaderValue::try_from(format!("Bearer {parameters}")).unwrap()
    }

    #[test]
    fn challenges_name_the_next_step() {
        let cases = [
            (
                Refusal::NoToken,
                "",
                CredentialError::Unauthorized(bearer("resource_metadata='URL'")),
            ),
            (
                Refusal::NoToken,
                "read write",
                CredentialError::Unauthorized(bearer(
                    "resource_metadata='URL', scope='read write'",
                )),
            ),
            (
                Refusal::Invalid(Flaw::Expired),
                "",
                CredentialError::Unauthorized(bearer(
                    "error='invalid_token', error_description='the token has expired', resource_metadata='URL'",
                )),
            ),
            (
                Refusal::InsufficientScope,
                "read",
                CredentialError::Forbidden(bearer(
                    "error='insufficient_scope', error_description='the token lacks a scope', resource_metadata='URL', scope='read'",
                )),
            ),
            (Refusal::Unavailable, "read", CredentialError::Unavailable),
        ];
        for (refusal, scopes, expected) in cases {
            assert_eq!(answer(refusal, scopes), expected);
        }
    }

    #[test]
    fn a_client_with_a_proof_is_told_in_its_scheme() {
        let challenges = Challenges::new(&URL.parse().unwrap(), &Scopes::default());
        const ALGS: &str = "algs=\"ES256 ES384 EdDSA PS256 PS384 PS512 RS256 RS384 RS512\"";
        for (flaw, scheme, expected) in [
            (
                Flaw::ProofTime,
                Scheme::Dpop,
                "DPoP error=\"invalid_dpop_proof\", error_description=\"the DPoP proof is too old or from the future\", ALGS",
            ),
            (
                Flaw::Expired,
                Scheme::Dpop,
                "DPoP error=\"invalid_token\", error_description=\"the token has expired\", ALGS",
            ),
            (
                Flaw::Bound,
                Scheme::Bearer,
                "DPoP error=\"invalid_token\", error_description=\"the token is bound to a key and cannot be used as a bearer token\", ALGS",
            ),
            (
                Flaw::NotBound,
                Scheme::Dpop,
                "Bearer error=\"invalid_token\", error_description=\"the token is not bound to a key; send it as a bearer token\"",
            ),
        ] {
            let answer = challenges.answer(Refusal::Invalid(flaw), scheme);
            let expected = format!(
                "{}, resource_metadata=\"{URL}\"",
                expected.replace("ALGS", ALGS)
            );
            let expected = HeaderValue::try_from(expected).unwrap();
            assert_eq!(answer, CredentialError::Unauthorized(expected));
        }
    }

    #[test]
    fn our_own_client_understands_them() {
        let CredentialError::Forbidden(header) = answer(Refusal::InsufficientScope, "read write")
        else {
            panic!("the token is good");
        };
        let expected = Challenge {
            resource_metadata: Some(URL.to_owned()),
            scope: Some(Scopes::parse("read write")),
            error: Some("insufficient_scope".to_owned()),
            error_description: Some("the token lacks a scope".to_owned()),
            ..Challenge::default()
        };
        assert_eq!(Challenge::find(header.to_str().ok()), Some(expected));
    }
}
