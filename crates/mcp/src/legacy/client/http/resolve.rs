use http::Uri;

/// Resolves a URL reference against `base`, by RFC 3986.
pub(crate) fn resolve(base: &Uri, reference: &str) -> Option<Uri> {
    let reference = reference.split('#').next().unwrap_or_default();
    let (scheme, authority) = (base.scheme_str()?, base.authority()?.as_str());
    // A colon after the first slash or question mark belongs to the path or the query.
    let has_scheme = reference.split(['/', '?']).next()?.contains(':');
    let whole = if has_scheme {
        reference.to_owned()
    } else if reference.starts_with("//") {
        format!("{scheme}:{reference}")
    } else {
        let (path, query) = match reference.split_once('?') {
            Some((path, query)) => (path, Some(query)),
            None => (reference, None),
        };
        let path = match path {
            "" => base.path().to_owned(),
            path if path.starts_with('/') => without_dots(path),
            path => {
                let (folder, _) = base.path().rsplit_once('/').unwrap_or_default();
                without_dots(&format!("{folder}/{path}"))
            }
        };
        let query = query.map(|query| format!("?{query}")).unwrap_or_default();
        format!("{scheme}://{authority}{path}{query}")
    };
    whole.parse().ok()
}

/// True if two URLs have the same scheme, host and port.
pub(crate) fn same_origin(a: &Uri, b: &Uri) -> bool {
    fn port(uri: &Uri) -> Option<u16> {
        uri.port_u16().or(match uri.scheme_str()? {
            "http" => Some(80),
            "https" => Some(443),
            _ => None,
        })
    }
    let hosts = a.host().zip(b.host());
    a.scheme() == b.scheme()
        && hosts.is_some_and(|(a, b)| a.eq_ignore_ascii_case(b))
        && port(a) == port(b)
}

/// Removes the `.` and `..` segments of an absolute path.
fn without_dots(path: &str) -> String {
    let mut kept: Vec<&str> = Vec::new();
    let segments: Vec<&str> = path.split('/').skip(1).collect();
    for (index, segment) in segments.iter().enumerate() {
        let is_last = index + 1 == segments.len();
        match *segment {
            "." | ".." => {
                if *segment == ".." {
                    kept.pop();
                }
                if is_last {
                    kept.push("");
                }
            }
            segment => kept.push(segment),
        }
    }
    format!("/{}", kept.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_read_as_a_browser_would() {
        let base: Uri = "http://host:1234/a/b/sse?key=1".parse().unwrap();
        for (reference, expect) in [
            ("/messages?id=1", Some("http://host:1234/messages?id=1")),
            (
                "messages/?id=1",
                Some("http://host:1234/a/b/messages/?id=1"),
            ),
            ("?id=1", Some("http://host:1234/a/b/sse?id=1")),
            ("../m", Some("http://host:1234/a/m")),
            ("./m/..", Some("http://host:1234/a/b/")),
            ("/x/../../m", Some("http://host:1234/m")),
            ("//other/m", Some("http://other/m")),
            ("https://other/m?a:b#c", Some("https://other/m?a:b")),
            ("/m?next=http://x", Some("http://host:1234/m?next=http://x")),
            ("/a b", None),
            ("http://", None),
        ] {
            let seen = resolve(&base, reference).map(|uri| uri.to_string());
            assert_eq!(seen.as_deref(), expect, "{reference}");
        }
        let bare: Uri = "http://host".parse().unwrap();
        assert_eq!(resolve(&bare, "m").unwrap().to_string(), "http://host/m");
    }

    #[test]
    fn an_origin_is_scheme_host_and_port() {
        let base: Uri = "https://Host/sse".parse().unwrap();
        for (other, expect) in [
            ("https://host/m", true),
            ("https://host:443/m", true),
            ("https://host:444/m", false),
            ("http://host/m", false),
            ("https://host.evil/m", false),
            ("ftp://host/m", false),
        ] {
            assert_eq!(
                same_origin(&base, &other.parse().unwrap()),
                expect,
                "{other}"
            );
        }
    }
}
