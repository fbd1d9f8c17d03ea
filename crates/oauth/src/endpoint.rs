//! URLs of endpoints that a server names.

use url::{Host, Url};

/// Refusal of the URL of an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EndpointError {
    /// The text is not a URL, or only a lenient parser accepts it.
    #[error("it is not a URL")]
    Syntax,
    /// Neither https, nor http to this machine.
    #[error("it is neither https nor on this machine")]
    Scheme,
    /// The URL contains a user name or a password.
    #[error("it carries credentials")]
    Credentials,
    /// The URL contains a fragment, which no server would ever see.
    #[error("it has a fragment")]
    Fragment,
}

/// Parses an endpoint: https, or http to this machine.
///
/// The network of the host is checked later, on the resolved address.
pub(crate) fn parse(text: &str) -> Result<Url, EndpointError> {
    // Browsers drop line breaks and turn backslashes around, so that two readers would see two
    // URLs.
    let lenient = |c: char| c.is_whitespace() || c.is_control() || c == '\\';
    if text.contains(lenient) {
        return Err(EndpointError::Syntax);
    }
    let url = Url::parse(text).map_err(|_| EndpointError::Syntax)?;
    if url.scheme() != "https" && !(url.scheme() == "http" && is_loopback(&url)) {
        return Err(EndpointError::Scheme);
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(EndpointError::Credentials);
    }
    if url.fragment().is_some() {
        return Err(EndpointError::Fragment);
    }
    Ok(url)
}

/// Returns true if the host is this machine by its text alone, without a resolver.
#[must_use]
pub fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use url::Url;

    use super::{EndpointError, is_loopback, parse};

    #[test]
    fn this_machine_is_known_by_its_address_alone() {
        for (url, expected) in [
            ("http://localhost:3000/mcp", true),
            ("http://127.8.0.1/mcp", true),
            ("http://[::1]/mcp", true),
            ("http://0.0.0.0/mcp", false),
            ("http://localhost.example/mcp", false),
            ("https://gate.example/mcp", false),
            ("data:,x", false),
        ] {
            assert_eq!(is_loopback(&Url::parse(url).unwrap()), expected, "{url}");
        }
    }

    #[test]
    fn endpoints_are_https_or_on_this_machine() {
        let good = [
            "https://a.example/token?x=1",
            "http://localhost:1/t",
            "http://127.0.0.1/t",
            "http://[::1]:1/t",
        ];
        for text in good {
            assert_eq!(parse(text).map(String::from).as_deref(), Ok(text));
        }
        let bad = [
            ("", EndpointError::Syntax),
            ("/token", EndpointError::Syntax),
            (" https://a.example/", EndpointError::Syntax),
            ("https://a.example/\nb", EndpointError::Syntax),
            ("https:\\\\a.example", EndpointError::Syntax),
            ("http://a.example/", EndpointError::Scheme),
            ("http://localhost.a.example/", EndpointError::Scheme),
            ("http://10.0.0.1/", EndpointError::Scheme),
            ("file:///etc/passwd", EndpointError::Scheme),
            ("javascript:alert(1)", EndpointError::Scheme),
            ("https://u@a.example/", EndpointError::Credentials),
            ("https://:p@a.example/", EndpointError::Credentials),
            ("https://a.example/#f", EndpointError::Fragment),
        ];
        for (text, error) in bad {
            assert_eq!(parse(text), Err(error), "{text}");
        }
    }
}
