use std::fmt;

use url::{Host, Url};

use crate::endpoint::is_loopback;

/// URL that is safe to pass to a browser and to the program that starts it.
///
/// It is `https`, or `http` on this machine. It is ASCII without characters that a shell, a desktop
/// entry or a terminal interprets. It begins with its scheme, so that no program takes it for an
/// option.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageUrl(String);

/// The URL is not safe to open.
///
/// The URL itself is not part of the message, because its text could be written to deceive the
/// reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PageUrlError {
    /// The URL is longer than browsers accept.
    #[error("refusing to open a URL of more than {limit} bytes")]
    TooLong {
        /// Limit in bytes.
        limit: usize,
    },
    /// The URL does not start with `https://` or `http://`.
    #[error("refusing to open a URL that is not https")]
    Scheme,
    /// The URL contains a character that must be escaped, or that is never safe.
    #[error("refusing to open a URL with an unsafe character at byte {at}")]
    Character {
        /// Offset of the character.
        at: usize,
    },
    /// The part before the path is not a host with an optional port.
    #[error("refusing to open a URL with a malformed host")]
    Host,
    /// `http` to another machine.
    #[error("refusing to open an http URL of another machine")]
    Insecure,
}

impl PageUrl {
    /// Maximum bytes of a URL.
    pub const MAX_BYTES: usize = 8 * 1024;

    /// Accepts a URL that is safe to open.
    ///
    /// # Errors
    /// The URL is not safe.
    pub fn parse(text: &str) -> Result<Self, PageUrlError> {
        if text.len() > Self::MAX_BYTES {
            return Err(PageUrlError::TooLong {
                limit: Self::MAX_BYTES,
            });
        }
        let (is_https, rest) = split_scheme(text).ok_or(PageUrlError::Scheme)?;
        if let Some(at) = first_unsafe(text.as_bytes()) {
            return Err(PageUrlError::Character { at });
        }
        let authority = rest
            .split_once(['/', '?', '#'])
            .map_or(rest, |(authority, _)| authority);
        if !authority.bytes().all(is_of_authority) {
            return Err(PageUrlError::Host);
        }
        let url = Url::parse(text).map_err(|_| PageUrlError::Host)?;
        let host = url.host().ok_or(PageUrlError::Host)?;
        if !is_plain(&host, authority) {
            return Err(PageUrlError::Host);
        }
        if !is_https && !is_loopback(&url) {
            return Err(PageUrlError::Insecure);
        }
        Ok(Self(url.into()))
    }

    /// URL as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for PageUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Splits the scheme off; the flag is set for `https`.
fn split_scheme(text: &str) -> Option<(bool, &str)> {
    let (scheme, rest) = text.split_once("://")?;
    if scheme.eq_ignore_ascii_case("https") {
        return Some((true, rest));
    }
    scheme.eq_ignore_ascii_case("http").then_some((false, rest))
}

/// Offset of the first unsafe byte.
fn first_unsafe(bytes: &[u8]) -> Option<usize> {
    let at = bytes.iter().position(|byte| !is_safe(*byte));
    let bad_escape = bytes
        .iter()
        .enumerate()
        .filter(|(_, byte)| **byte == b'%')
        .map(|(at, _)| at)
        .find(|at| !is_harmless_escape(bytes.get(at + 1..at + 3).unwrap_or_default()));
    match (at, bad_escape) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}

/// RFC 3986 without `$ ' ( ) ; !`, which a query can always escape.
fn is_safe(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~:/?#[]@%&=+,*".contains(&byte)
}

/// Returns true if two hexadecimal digits stand for a byte that is not a control character.
fn is_harmless_escape(digits: &[u8]) -> bool {
    let Ok(&[high, low]) = <&[u8; 2]>::try_from(digits) else {
        return false;
    };
    let is_control =
        matches!(high, b'0' | b'1') || (high == b'7' && low.eq_ignore_ascii_case(&b'f'));
    high.is_ascii_hexdigit() && low.is_ascii_hexdigit() && !is_control
}

fn is_of_authority(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-.:[]_".contains(&byte)
}

/// Returns true if every reader finds the same host in `authority`. Other notations of numbers,
/// such as octal, are refused.
fn is_plain(host: &Host<&str>, authority: &str) -> bool {
    let (name, port) = match authority.rsplit_once(':') {
        Some((name, port)) if !port.ends_with(']') => (name, Some(port)),
        _ => (authority, None),
    };
    let has_plain_port = port.is_none_or(|port| {
        port.parse::<u16>()
            .is_ok_and(|number| number > 0 && number.to_string() == port)
    });
    let has_plain_name = match host {
        Host::Domain(domain) => name.eq_ignore_ascii_case(domain) && is_domain(domain),
        Host::Ipv4(address) => name == address.to_string(),
        Host::Ipv6(_) => true,
    };
    has_plain_port && has_plain_name
}

/// Returns true if the name consists of valid labels.
fn is_domain(name: &str) -> bool {
    let is_label = |label: &str| {
        !label.is_empty() && label.len() <= 63 && !label.starts_with('-') && !label.ends_with('-')
    };
    name.len() <= 253 && name.split('.').all(is_label)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{any, proptest};

    use super::{PageUrl, PageUrlError, is_safe};

    #[test]
    fn a_safe_url_stays_as_it_is() {
        for text in [
            "https://login.example.com/authorize?response_type=code&client_id=a%20b&scope=a+b",
            "https://login.example.com:8443/a/b?redirect_uri=http%3A%2F%2F127.0.0.1%3A19876%2F",
            "https://xn--bcher-kva.example/",
            "https://my_tenant.example.com/",
            "https://8.8.8.8/",
            "https://[2606:4700::1111]/a",
            "https://example.com/~a/b.c-d_e,f*g?x=@:/?#top",
            "http://127.0.0.1:9000/auth?state=abc",
            "http://127.0.0.53/",
            "http://[::1]:9000/",
            "http://localhost:9000/authorize",
        ] {
            assert_eq!(PageUrl::parse(text).as_ref().map(PageUrl::as_str), Ok(text));
        }
    }

    #[test]
    fn a_url_is_written_the_usual_way() {
        for (text, expect) in [
            ("HTTPS://Example.COM", "https://example.com/"),
            ("https://example.com:443/a/../b", "https://example.com/b"),
        ] {
            assert_eq!(
                PageUrl::parse(text).as_ref().map(PageUrl::as_str),
                Ok(expect)
            );
        }
    }

    #[test]
    fn a_url_may_be_long_but_not_longer() {
        let longest = format!("https://a.example/{}", "x".repeat(PageUrl::MAX_BYTES - 18));
        assert_eq!(
            PageUrl::parse(&longest).map(|url| url.0),
            Ok(longest.clone())
        );
        let limit = PageUrl::MAX_BYTES;
        let too_long = PageUrl::parse(&(longest + "x"));
        assert_eq!(too_long, Err(PageUrlError::TooLong { limit }));
    }

    #[test]
    fn a_refusal_says_why() {
        for (text, expect) in [
            ("javascript:alert(1)", PageUrlError::Scheme),
            ("--upload-pack=touch", PageUrlError::Scheme),
            (
                "https://a.example/$(id)",
                PageUrlError::Character { at: 18 },
            ),
            ("https://a.example/%0a", PageUrlError::Character { at: 18 }),
            ("https://a@b.example/", PageUrlError::Host),
            ("https://0x7f.1/", PageUrlError::Host),
            ("http://a.example/", PageUrlError::Insecure),
        ] {
            assert_eq!(PageUrl::parse(text), Err(expect));
        }
    }

    proptest! {
        #[test]
        fn an_accepted_url_is_safe_and_accepted_again(text in "(https?://)?\\PC{0,40}") {
            if let Ok(url) = PageUrl::parse(&text) {
                assert!(url.as_str().bytes().all(is_safe));
                assert!(url.as_str().starts_with("http"));
                assert_eq!(PageUrl::parse(url.as_str()), Ok(url));
            }
        }

        #[test]
        fn nothing_panics(bytes in any::<Vec<u8>>()) {
            let _ = PageUrl::parse(&String::from_utf8_lossy(&bytes));
        }
    }
}
