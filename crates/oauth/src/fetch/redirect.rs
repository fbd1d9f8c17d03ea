use http::HeaderValue;
use url::Url;

use super::error::{FetchError, origin};
use crate::http_message::Request;

/// Maximum number of redirects.
pub(super) const MAX_REDIRECTS: usize = 3;

/// Request that follows a redirect.
///
/// The guard checks the new URL afterwards, like any other.
pub(super) fn follow(request: &Request, location: &HeaderValue) -> Result<Request, FetchError> {
    let refused = |reason| refused(&request.url, reason);
    if request.body.is_some() {
        return Err(refused("it would send a form elsewhere"));
    }
    let url = parse(&request.url, location).ok_or_else(|| refused("it leads to no URL"))?;
    if request.url.scheme() == "https" && url.scheme() != "https" {
        return Err(refused("it leads away from https"));
    }
    let mut headers = request.headers.clone();
    if request.url.origin() != url.origin() {
        headers.retain(|(name, _)| FOR_EVERYBODY.contains(name));
    }
    Ok(Request {
        url,
        headers,
        body: None,
    })
}

/// Error of one redirect too many.
pub(super) fn too_many(url: &Url) -> FetchError {
    refused(url, "there have been too many")
}

/// Headers that may be sent to another origin, because they contain no credentials.
const FOR_EVERYBODY: [&str; 2] = ["accept", "mcp-protocol-version"];

fn parse(base: &Url, location: &HeaderValue) -> Option<Url> {
    let text = location.to_str().ok()?;
    // Lenient parsers interpret these differently, so that two readers would see two URLs.
    if text.contains(|c: char| c.is_whitespace() || c == '\\') {
        return None;
    }
    let mut url = base.join(text).ok()?;
    url.set_fragment(None);
    Some(url)
}

fn refused(url: &Url, reason: &'static str) -> FetchError {
    FetchError::Redirect {
        origin: origin(url),
        reason,
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;
    use proptest::prelude::{any, proptest};

    use super::{FOR_EVERYBODY, follow};
    use crate::Secret;
    use crate::http_message::Request;

    const HEADERS: [&str; 3] = ["accept", "authorization", "mcp-protocol-version"];

    fn get(url: &str) -> Request {
        Request {
            url: url.parse().unwrap(),
            headers: HEADERS.map(|name| (name, Secret::new("x"))).into(),
            body: None,
        }
    }

    /// URL and headers of the followed redirect.
    fn followed(request: &Request, location: &[u8]) -> Result<String, String> {
        let location = HeaderValue::from_bytes(location).unwrap();
        let next = follow(request, &location).map_err(|error| error.to_string())?;
        assert_eq!(next.body, None);
        let names: Vec<&str> = next.headers.iter().map(|(name, _)| *name).collect();
        Ok(format!("{} {}", next.url, names.join(",")))
    }

    #[test]
    fn credentials_stay_with_the_origin() {
        let all = "accept,authorization,mcp-protocol-version";
        let some = "accept,mcp-protocol-version";
        for (location, url, headers) in [
            ("/b?c=d#e", "https://a.example/b?c=d", all),
            ("b", "https://a.example/x/b", all),
            ("https://a.example:443/b", "https://a.example/b", all),
            ("https://a.example:444/b", "https://a.example:444/b", some),
            ("//b.example", "https://b.example/", some),
            (
                "https://a.example.b.example/",
                "https://a.example.b.example/",
                some,
            ),
        ] {
            let found = followed(&get("https://a.example/x/y"), location.as_bytes());
            assert_eq!(found, Ok(format!("{url} {headers}")), "{location}");
        }
        let found = followed(&get("http://localhost/"), b"https://localhost/");
        assert_eq!(found, Ok(format!("https://localhost/ {some}")));
    }

    #[test]
    fn some_redirects_lead_nowhere() {
        let refused = |reason| {
            let origin = "https://a.example";
            Err(format!("not following a redirect of {origin}: {reason}"))
        };
        for location in [
            "http://a.example/",
            "ftp://a.example/",
            "data:,x",
            "javascript:x",
        ] {
            let found = followed(&get("https://a.example/"), location.as_bytes());
            assert_eq!(found, refused("it leads away from https"), "{location}");
        }
        for location in [
            "https://",
            "/a b",
            "\\\\b.example",
            "https://a\tb/",
            "/\u{e9}",
        ] {
            let found = followed(&get("https://a.example/"), location.as_bytes());
            assert_eq!(found, refused("it leads to no URL"), "{location}");
        }
        let post = Request {
            body: Some(Secret::new("")),
            ..get("https://a.example/")
        };
        let found = followed(&post, b"/b");
        assert_eq!(found, refused("it would send a form elsewhere"));
    }

    proptest! {
        #[test]
        fn nothing_leads_away_from_https_or_takes_credentials_along(
            location in "(https?:)?(//)?[a-z.:@/\\\\?#%]{0,20}",
            noise in any::<Vec<u8>>(),
        ) {
            let request = get("https://a.example/x");
            for location in [location.as_bytes(), &noise] {
                let Ok(location) = HeaderValue::from_bytes(location) else {
                    continue;
                };
                if let Ok(next) = follow(&request, &location) {
                    assert_eq!(next.url.scheme(), "https");
                    let same_origin = next.url.origin() == request.url.origin();
                    let names = next.headers.iter().map(|(name, _)| name);
                    assert!(same_origin || names.into_iter().all(|it| FOR_EVERYBODY.contains(it)));
                }
            }
        }
    }
}
