use std::net::SocketAddr;

use http::{Method, StatusCode, Uri};
use url::form_urlencoded;

use crate::secret::Secret;

/// Parts of a request that are checked.
pub(super) struct Incoming<'a> {
    pub(super) method: &'a Method,
    pub(super) uri: &'a Uri,
    pub(super) host: Option<&'a str>,
}

/// Redirect of a login.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Delivery {
    pub(super) state: Secret,
    pub(super) query: Secret,
}

/// Answer to a request that is not a redirect.
pub(super) type Refusal = (StatusCode, &'static str);

/// Reads the redirect of a request.
pub(super) fn read(
    incoming: &Incoming<'_>,
    address: SocketAddr,
    path: &str,
) -> Result<Delivery, Refusal> {
    if !incoming.host.is_some_and(|host| is_own_host(host, address)) {
        return Err((StatusCode::FORBIDDEN, "Forbidden"));
    }
    if incoming.uri.path() != path {
        return Err((StatusCode::NOT_FOUND, "Not found"));
    }
    if incoming.method != Method::GET {
        return Err((StatusCode::METHOD_NOT_ALLOWED, "Method not allowed"));
    }
    let query = incoming.uri.query().unwrap_or_default();
    let state = only(query, "state")
        .ok_or((StatusCode::BAD_REQUEST, "Missing required state parameter"))?;
    if only(query, "code").is_none() && only(query, "error").is_none() {
        return Err((StatusCode::BAD_REQUEST, "No authorization code provided"));
    }
    Ok(Delivery {
        state: Secret::new(state),
        query: Secret::new(query),
    })
}

/// Checks `Host` against DNS rebinding: a web page whose name resolves to this machine sends
/// another one.
fn is_own_host(host: &str, address: SocketAddr) -> bool {
    let is_localhost = || host.eq_ignore_ascii_case(&format!("localhost:{}", address.port()));
    host == address.to_string() || is_localhost()
}

/// Value of a parameter that occurs once and is not empty.
fn only(query: &str, name: &str) -> Option<String> {
    let mut values = form_urlencoded::parse(query.as_bytes()).filter(|(key, _)| key == name);
    let (_, value) = values.next()?;
    (values.next().is_none() && !value.is_empty()).then(|| value.into_owned())
}

#[cfg(test)]
mod tests {
    use http::{Method, Uri};

    use super::{Delivery, Incoming, read};
    use crate::secret::Secret;

    #[track_caller]
    fn check(
        method: &Method,
        host: Option<&str>,
        uri: &'static str,
        expect: Result<(&str, &str), u16>,
    ) {
        let uri = Uri::from_static(uri);
        let incoming = Incoming {
            method,
            uri: &uri,
            host,
        };
        let address = ([127, 0, 0, 1], 19876).into();
        let found = read(&incoming, address, "/mcp/oauth/callback");
        let expect = expect.map(|(state, query)| Delivery {
            state: Secret::new(state),
            query: Secret::new(query),
        });
        assert_eq!(
            found.map_err(|(status, _)| status.as_u16()),
            expect,
            "{uri}"
        );
    }

    const HOST: Option<&str> = Some("127.0.0.1:19876");

    #[test]
    fn redirects_are_found() {
        for query in [
            "state=s%20t&code=c",
            "code=c&state=s%20t",
            "state=s+t&error=e",
            "iss=i&state=s+t&code=a%26b",
        ] {
            let uri: &'static str = format!("/mcp/oauth/callback?{query}").leak();
            for host in ["127.0.0.1:19876", "localhost:19876", "LocalHost:19876"] {
                check(&Method::GET, Some(host), uri, Ok(("s t", query)));
            }
        }
    }

    #[test]
    fn states_that_are_missing_are_refused() {
        for uri in [
            "/mcp/oauth/callback",
            "/mcp/oauth/callback?",
            "/mcp/oauth/callback?code=c",
            "/mcp/oauth/callback?code=c&state",
            "/mcp/oauth/callback?code=c&state=",
            "/mcp/oauth/callback?code=c&state=a&state=a",
            "/mcp/oauth/callback?code=c&State=a",
            "/mcp/oauth/callback?state=a",
            "/mcp/oauth/callback?state=a&code=",
            "/mcp/oauth/callback?state=a&code=b&code=c",
        ] {
            check(&Method::GET, HOST, uri, Err(400));
        }
    }

    #[test]
    fn other_paths_are_not_found() {
        for uri in [
            "/",
            "/mcp/oauth/callback/",
            "/mcp/oauth/callbac",
            "/MCP/oauth/callback?state=a&code=b",
            "//mcp/oauth/callback?state=a&code=b",
            "/mcp/oauth/../oauth/callback?state=a&code=b",
            "/favicon.ico",
        ] {
            check(&Method::GET, HOST, uri, Err(404));
        }
    }

    #[test]
    fn other_methods_are_refused() {
        for method in [Method::POST, Method::HEAD, Method::OPTIONS, Method::DELETE] {
            check(
                &method,
                HOST,
                "/mcp/oauth/callback?state=a&code=b",
                Err(405),
            );
        }
    }

    #[test]
    fn other_hosts_are_forbidden() {
        for host in [
            None,
            Some(""),
            Some("127.0.0.1"),
            Some("127.0.0.1:80"),
            Some("localhost"),
            Some("evil.example:19876"),
            Some("127.0.0.1:19876.evil.example"),
            Some("127.0.0.2:19876"),
        ] {
            check(
                &Method::GET,
                host,
                "/mcp/oauth/callback?state=a&code=b",
                Err(403),
            );
        }
    }
}
