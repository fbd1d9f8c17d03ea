//! Redirect of the browser after the authorization page (OAuth 2.1, section 4.1.2; RFC 9207).

use subtle::ConstantTimeEq;
use url::{Url, form_urlencoded};

use crate::metadata::AuthorizationServer;
use crate::{ProviderError, Secret};

/// The redirect brings no code.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CallbackError {
    /// The redirect belongs to another login; this one goes on waiting.
    #[error("the redirect belongs to another login")]
    State,
    /// A parameter occurs twice, or there is neither a code nor an error.
    #[error("the redirect is malformed")]
    Malformed,
    /// The redirect comes from another authorization server (mix-up attack); the rest of it is
    /// ignored.
    #[error("the redirect must name the issuer {expected}, but it names another one or none")]
    Issuer {
        /// Issuer that was asked.
        expected: String,
    },
    /// The authorization server or the user refused.
    #[error("access was not granted: {0}")]
    Denied(#[source] ProviderError),
}

/// Extracts the code from a redirect URL, or from its query.
///
/// The order of the checks matters: first the state, because any web page can send a browser here;
/// then the issuer, because an error of the wrong issuer must not end the login; then the content.
pub(crate) fn accept(
    redirect: &str,
    state: &Secret,
    server: &AuthorizationServer,
) -> Result<Secret, CallbackError> {
    let parameters = Parameters::parse(redirect);
    let found = parameters.one("state").map_err(|_| CallbackError::State)?;
    let found = found.unwrap_or_default();
    if !bool::from(found.as_bytes().ct_eq(state.expose().as_bytes())) {
        return Err(CallbackError::State);
    }
    check_issuer(&parameters.one("iss"), server)?;
    if let Some(error) = parameters.one("error")? {
        return Err(CallbackError::Denied(ProviderError {
            error: error.to_owned(),
            error_description: parameters.one("error_description")?.map(str::to_owned),
        }));
    }
    match parameters.one("code")? {
        None | Some("") => Err(CallbackError::Malformed),
        Some(code) => Ok(Secret::new(code)),
    }
}

/// Checks `iss` by the table of the specification: an issuer that promises it must send it, and one
/// that is sent must be right.
fn check_issuer(
    found: &Result<Option<&str>, CallbackError>,
    server: &AuthorizationServer,
) -> Result<(), CallbackError> {
    let fits = match found {
        Ok(Some(found)) => server.is_named(found),
        Ok(None) => !server.authorization_response_iss_parameter_supported,
        Err(_) => false,
    };
    if fits {
        return Ok(());
    }
    Err(CallbackError::Issuer {
        expected: server.audience().to_owned(),
    })
}

struct Parameters(Vec<(String, String)>);

impl Parameters {
    fn parse(redirect: &str) -> Self {
        let redirect = redirect.trim();
        let url = Url::parse(redirect).ok();
        let query = match &url {
            Some(url) => url.query().unwrap_or_default(),
            None => redirect.strip_prefix('?').unwrap_or(redirect),
        };
        Self(
            form_urlencoded::parse(query.as_bytes())
                .into_owned()
                .collect(),
        )
    }

    fn one(&self, name: &str) -> Result<Option<&str>, CallbackError> {
        let mut found = self.0.iter().filter(|(known, _)| known == name);
        let first = found.next().map(|(_, value)| value.as_str());
        match found.next() {
            None => Ok(first),
            Some(_) => Err(CallbackError::Malformed),
        }
    }
}

#[cfg(test)]
mod tests {
    use url::Url;

    use super::{CallbackError, accept};
    use crate::metadata::AuthorizationServer;
    use crate::{ProviderError, Secret};

    const ISS: &str = "https%3A%2F%2Fas.example";

    fn server(advertised: bool) -> AuthorizationServer {
        let server: Url = "https://as.example/mcp".parse().unwrap();
        AuthorizationServer {
            authorization_response_iss_parameter_supported: advertised,
            ..AuthorizationServer::assumed(&server)
        }
    }

    fn check(advertised: bool, query: &str, expected: &Result<&str, CallbackError>) {
        let state = Secret::new("s");
        let urls = [
            query.to_owned(),
            format!("?{query}"),
            format!(" http://127.0.0.1:19876/mcp/oauth/callback?{query}#f\n"),
        ];
        for redirect in urls {
            let found = accept(&redirect, &state, &server(advertised));
            let found = found.as_ref().map(Secret::expose);
            assert_eq!(found, expected.as_ref().copied(), "{redirect}");
        }
    }

    fn wrong_issuer() -> Result<&'static str, CallbackError> {
        Err(CallbackError::Issuer {
            expected: "https://as.example".into(),
        })
    }

    fn denied(description: Option<&str>) -> Result<&'static str, CallbackError> {
        Err(CallbackError::Denied(ProviderError {
            error: "access_denied".into(),
            error_description: description.map(str::to_owned),
        }))
    }

    #[test]
    fn the_answer_must_come_from_the_issuer_that_was_asked() {
        let cases = [
            (true, format!("&iss={ISS}"), Ok("c d")),
            (true, String::new(), wrong_issuer()),
            (false, format!("&iss={ISS}"), Ok("c d")),
            (false, String::new(), Ok("c d")),
            (true, "&iss=https://evil.example".into(), wrong_issuer()),
            (false, "&iss=https://evil.example".into(), wrong_issuer()),
            (true, format!("&iss={ISS}%2F"), wrong_issuer()),
            (true, "&iss=https://AS.example".into(), wrong_issuer()),
            (true, "&iss=https://as.example:443".into(), wrong_issuer()),
            (
                true,
                "&iss=https%253A%252F%252Fas.example".into(),
                wrong_issuer(),
            ),
            (false, "&iss=".into(), wrong_issuer()),
            (true, format!("&iss={ISS}&iss={ISS}"), wrong_issuer()),
        ];
        for (advertised, iss, expected) in cases {
            check(advertised, &format!("code=c+d&state=s{iss}"), &expected);
        }
    }

    #[test]
    fn a_stranger_cannot_even_report_an_error() {
        let denial = "error=access_denied&error_description=no%20way&state=s";
        check(false, denial, &denied(Some("no way")));
        check(true, denial, &wrong_issuer());
        check(false, &format!("{denial}&iss=x"), &wrong_issuer());
        check(
            true,
            "error=access_denied&state=s&iss=https://as.example",
            &denied(None),
        );
    }

    #[test]
    fn the_state_comes_first() {
        for query in [
            "",
            "code=c",
            "code=c&state=",
            "code=c&state=S",
            "code=c&state=ss",
            "code=c&state=s&state=s",
            "error=access_denied",
            "code=c&state=x&iss=https://evil.example",
        ] {
            check(true, query, &Err(CallbackError::State));
        }
    }

    #[test]
    fn there_is_one_code() {
        for query in [
            "state=s",
            "state=s&code=",
            "state=s&code=a&code=b",
            "state=s&error=a&error=b",
        ] {
            check(false, query, &Err(CallbackError::Malformed));
        }
    }
}
