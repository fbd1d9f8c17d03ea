//! Proxies of outgoing connections, by the rules of `HTTPS_PROXY` and its relatives.
//!
//! This reads no environment: the settings are a value.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderValue, Uri};

use super::connect::Destination;
use crate::percent;

/// Proxies of outgoing connections; the default is none. Clones share everything.
///
/// Connections to this machine never use a proxy. `Debug` shows no credentials.
///
/// ```
/// use callgate_mcp::transport::http::connect::{Destination, Proxies, ProxySettings};
///
/// let settings = ProxySettings::default()
///     .with_https("http://me:secret@proxy.example:3128")
///     .with_no(".internal.example, 10.0.0.0/8");
/// let proxies = Proxies::new(&settings);
/// let proxy = proxies.proxy_for(&Destination::new("mcp.example", 443, true))?;
/// assert_eq!(proxy.unwrap().to_string(), "http://proxy.example:3128");
/// let direct = proxies.proxy_for(&Destination::new("a.internal.example", 443, true))?;
/// assert_eq!(direct, None);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Proxies(Option<Arc<Rules>>);

/// Values of the usual environment variables; an empty text is an unset variable.
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub struct ProxySettings<'a> {
    /// `HTTPS_PROXY`: proxy of `https` URLs.
    pub https: &'a str,
    /// `HTTP_PROXY`: proxy of `http` URLs.
    pub http: &'a str,
    /// `ALL_PROXY`: proxy of URLs without a proxy of their own.
    pub all: &'a str,
    /// `NO_PROXY`: destinations without a proxy, separated by commas or spaces. An entry is a domain
    /// with all of its subdomains, an address or a network such as `10.0.0.0/8`, each with or
    /// without a port, or `*` for all.
    pub no: &'a str,
}

/// HTTP proxy, which `Display` shows without its credentials.
#[derive(Clone, PartialEq, Eq)]
pub struct Proxy {
    host: String,
    port: u16,
    authorization: Option<HeaderValue>,
}

/// A proxy cannot be used. No text repeats the setting, which may hold a password.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProxyError {
    /// The setting is not a URL.
    #[error("the URL of the proxy is malformed; write it as http://HOST:PORT")]
    Malformed,
    /// The proxy speaks another protocol.
    #[error("a proxy with the scheme `{0}` is not supported; use one with http://")]
    Scheme(String),
    /// The proxy opens no tunnel.
    #[error("the proxy refused the tunnel with the HTTP status {0}")]
    Refused(u16),
    /// The proxy wants other credentials.
    #[error(
        "the proxy wants a user name and a password (HTTP status 407); write them into its URL"
    )]
    Credentials,
    /// The proxy sent no valid HTTP response.
    #[error("the proxy did not answer in HTTP: {0}")]
    Broken(String),
}

/// A malformed setting is an error only for connections that it applies to: `ALL_PROXY` often names
/// a protocol that the more specific variables avoid.
type Setting = Option<Result<Proxy, ProxyError>>;

#[derive(Debug)]
struct Rules {
    https: Setting,
    http: Setting,
    exceptions: Vec<Exception>,
}

/// Entry of `NO_PROXY`.
#[derive(Debug, PartialEq, Eq)]
struct Exception {
    hosts: Hosts,
    port: Option<u16>,
}

#[derive(Debug, PartialEq, Eq)]
enum Hosts {
    All,
    /// Domain in lower case, with its subdomains.
    Domain(String),
    /// Network, by its first bits.
    Network(IpAddr, u32),
}

impl<'a> ProxySettings<'a> {
    /// Sets `HTTPS_PROXY`.
    #[must_use]
    pub const fn with_https(mut self, value: &'a str) -> Self {
        self.https = value;
        self
    }

    /// Sets `HTTP_PROXY`.
    #[must_use]
    pub const fn with_http(mut self, value: &'a str) -> Self {
        self.http = value;
        self
    }

    /// Sets `ALL_PROXY`.
    #[must_use]
    pub const fn with_all(mut self, value: &'a str) -> Self {
        self.all = value;
        self
    }

    /// Sets `NO_PROXY`.
    #[must_use]
    pub const fn with_no(mut self, value: &'a str) -> Self {
        self.no = value;
        self
    }
}

impl Proxies {
    /// Reads the settings.
    #[must_use]
    pub fn new(settings: &ProxySettings<'_>) -> Self {
        let first = |own: &str| {
            let texts = [own.trim(), settings.all.trim()];
            let text = texts.into_iter().find(|text| !text.is_empty());
            text.map(Proxy::parse)
        };
        let rules = Rules {
            https: first(settings.https),
            http: first(settings.http),
            exceptions: settings
                .no
                .split(|c: char| c == ',' || c.is_whitespace())
                .filter_map(Exception::parse)
                .collect(),
        };
        Self((rules.https.is_some() || rules.http.is_some()).then(|| Arc::new(rules)))
    }

    /// The proxy that a connection to `to` goes through; `None` for a direct connection.
    ///
    /// # Errors
    /// The setting that applies cannot be used. There is no direct connection then: the user asked
    /// for none.
    pub fn proxy_for(&self, to: &Destination) -> Result<Option<&Proxy>, ProxyError> {
        let Some(rules) = &self.0 else {
            return Ok(None);
        };
        if is_loopback(to.host()) || rules.exceptions.iter().any(|it| it.includes(to)) {
            return Ok(None);
        }
        let setting = match to.is_secure() {
            true => &rules.https,
            false => &rules.http,
        };
        match setting {
            None => Ok(None),
            Some(Ok(proxy)) => Ok(Some(proxy)),
            Some(Err(error)) => Err(error.clone()),
        }
    }
}

impl Proxy {
    fn parse(text: &str) -> Result<Self, ProxyError> {
        let uri: Uri = text.parse().map_err(|_| ProxyError::Malformed)?;
        match uri.scheme_str() {
            // Many environments name a proxy without a scheme, as `HOST:PORT`.
            None | Some("http") => {}
            Some(other) => return Err(ProxyError::Scheme(other.to_owned())),
        }
        let authority = uri.authority().ok_or(ProxyError::Malformed)?;
        let (userinfo, place) = match authority.as_str().rsplit_once('@') {
            Some((userinfo, place)) => (Some(userinfo), place),
            None => (None, authority.as_str()),
        };
        let port = match place.strip_prefix(authority.host()) {
            None | Some("") => Ok(80),
            // A port that is no number must not become the usual one.
            Some(port) => port.trim_start_matches(':').parse(),
        };
        Ok(Self {
            host: bare(authority.host()).to_owned(),
            port: port.map_err(|_| ProxyError::Malformed)?,
            authorization: userinfo.map(basic).transpose()?,
        })
    }

    /// Value of `Proxy-Authorization`, which is marked as sensitive.
    #[must_use]
    pub fn authorization(&self) -> Option<&HeaderValue> {
        self.authorization.as_ref()
    }

    pub(super) fn host(&self) -> &str {
        &self.host
    }

    pub(super) fn port(&self) -> u16 {
        self.port
    }
}

impl Exception {
    fn parse(text: &str) -> Option<Self> {
        if text.is_empty() {
            return None;
        }
        if let Some((network, length)) = text.split_once('/') {
            let address: IpAddr = bare(network).parse().ok()?;
            let most = if address.is_ipv4() { 32 } else { 128 };
            let length = length.parse().ok().filter(|length| *length <= most)?;
            let hosts = Hosts::Network(address, length);
            return Some(Self { hosts, port: None });
        }
        // The last colon of a bare IPv6 address, or of one in brackets, begins no port.
        let is_address = text.parse::<IpAddr>().is_ok();
        let (host, port) = match text.rsplit_once(':') {
            Some((host, port)) if !is_address && !port.ends_with(']') => {
                (host, Some(port.parse().ok()?))
            }
            _ => (text, None),
        };
        let hosts = match bare(host).parse::<IpAddr>() {
            Ok(address) => Hosts::Network(address, 128),
            Err(_) if host == "*" => Hosts::All,
            Err(_) => Hosts::Domain(domain(host)),
        };
        Some(Self { hosts, port })
    }

    fn includes(&self, to: &Destination) -> bool {
        if self.port.is_some_and(|port| port != to.port()) {
            return false;
        }
        let address = to.host().parse().ok();
        match (&self.hosts, address) {
            (Hosts::All, _) => true,
            (Hosts::Network(network, length), Some(address)) => {
                shares_bits(*network, address, *length)
            }
            (Hosts::Domain(suffix), None) => {
                let host = domain(to.host());
                let rest = host.strip_suffix(suffix.as_str());
                // Whole labels only: `badexample.com` is no part of `example.com`.
                rest.is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
            }
            _ => false,
        }
    }
}

impl fmt::Display for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.host.contains(':') {
            true => write!(f, "http://[{}]:{}", self.host, self.port),
            false => write!(f, "http://{}:{}", self.host, self.port),
        }
    }
}

impl fmt::Debug for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The domain in lower case, without a leading `*.` or `.` and without a final dot.
fn domain(text: &str) -> String {
    let text = text.strip_prefix('*').unwrap_or(text);
    let text = text.strip_prefix('.').unwrap_or(text);
    text.strip_suffix('.').unwrap_or(text).to_ascii_lowercase()
}

/// A host without the brackets of a URL.
fn bare(host: &str) -> &str {
    let inner = host.strip_prefix('[').and_then(|it| it.strip_suffix(']'));
    inner.unwrap_or(host)
}

fn shares_bits(one: IpAddr, other: IpAddr, length: u32) -> bool {
    // An IPv4 address in IPv6 form is the same host.
    match (one, other.to_canonical()) {
        (IpAddr::V4(one), IpAddr::V4(other)) => {
            let differing = one.to_bits() ^ other.to_bits();
            differing.leading_zeros() >= length.min(32)
        }
        (IpAddr::V6(one), IpAddr::V6(other)) => {
            let differing = one.to_bits() ^ other.to_bits();
            differing.leading_zeros() >= length
        }
        _ => false,
    }
}

/// True for names and addresses that always are this machine (RFC 6761).
fn is_loopback(host: &str) -> bool {
    match host.parse::<IpAddr>() {
        Ok(address) => address.to_canonical().is_loopback(),
        Err(_) => {
            let name = domain(host);
            name == "localhost" || name.ends_with(".localhost")
        }
    }
}

/// Basic authentication with the user name and the password of a URL.
fn basic(userinfo: &str) -> Result<HeaderValue, ProxyError> {
    let (user, password) = userinfo.split_once(':').unwrap_or((userinfo, ""));
    let decode = |text| percent::decode(text).ok_or(ProxyError::Malformed);
    let credentials = STANDARD.encode(format!("{}:{}", decode(user)?, decode(password)?));
    let value = HeaderValue::try_from(format!("Basic {credentials}"));
    let mut value = value.map_err(|_| ProxyError::Malformed)?;
    value.set_sensitive(true);
    Ok(value)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::proptest;

    use super::*;

    fn destination(url: &str) -> Destination {
        let uri: Uri = url.parse().unwrap();
        let is_secure = uri.scheme_str() == Some("https");
        let port = uri.port_u16().unwrap_or(if is_secure { 443 } else { 80 });
        Destination::new(uri.host().unwrap(), port, is_secure)
    }

    /// The proxy of a URL as text.
    fn found(settings: ProxySettings<'_>, url: &str) -> String {
        let proxies = Proxies::new(&settings);
        match proxies.proxy_for(&destination(url)) {
            Ok(None) => "-".to_owned(),
            Ok(Some(proxy)) => proxy.to_string(),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn a_scheme_has_a_proxy() {
        let both = ProxySettings {
            https: "http://secure.example:3128",
            http: "plain.example:8080",
            ..ProxySettings::default()
        };
        let all = ProxySettings {
            all: " http://[fd00::1] ",
            ..ProxySettings::default()
        };
        for (settings, url, expect) in [
            (both, "https://a.example", "http://secure.example:3128"),
            (both, "http://a.example", "http://plain.example:8080"),
            (all, "https://a.example", "http://[fd00::1]:80"),
            (all, "http://a.example", "http://[fd00::1]:80"),
            (ProxySettings { http: "", ..both }, "http://a.example", "-"),
            (ProxySettings::default(), "https://a.example", "-"),
        ] {
            assert_eq!(found(settings, url), expect, "{settings:?} {url}");
        }
    }

    #[test]
    fn this_machine_has_no_proxy() {
        let settings = ProxySettings {
            all: "proxy.example:1",
            ..ProxySettings::default()
        };
        for url in [
            "http://localhost:3000/mcp",
            "http://a.localhost",
            "http://LOCALHOST./",
            "https://127.8.0.1",
            "http://[::1]:3000",
            "http://[::ffff:127.0.0.1]",
        ] {
            assert_eq!(found(settings, url), "-", "{url}");
        }
        let other = found(settings, "http://localhost.example");
        assert_eq!(other, "http://proxy.example:1");
    }

    #[test]
    fn some_destinations_have_no_proxy() {
        let is_direct = |no: &str, url: &str| {
            let all = "proxy.example:1";
            let settings = ProxySettings {
                all,
                no,
                ..ProxySettings::default()
            };
            found(settings, url) == "-"
        };
        for (no, direct, proxied) in [
            ("*", "https://a.example https://8.8.8.8", ""),
            ("", "", "https://a.example"),
            (
                "a.example",
                "https://a.example http://A.Example. https://b.a.example:444",
                "https://ba.example https://a.example.b https://8.8.8.8",
            ),
            (
                ".a.example",
                "https://a.example https://b.a.example",
                "https://ba.example",
            ),
            ("*.a.example", "https://b.a.example", "https://b.example"),
            (
                "a.example:444",
                "https://a.example:444",
                "https://a.example",
            ),
            (
                "x, ,10.0.0.0/8\t192.168.1.1 fd00::/8,,",
                "https://10.255.0.1 https://192.168.1.1 https://[fd12::1] https://[::ffff:10.1.1.1]",
                "https://11.0.0.1 https://192.168.1.2 https://[fc00::1] https://a.example",
            ),
            (
                "[fd00::1]:8443",
                "https://[fd00::1]:8443",
                "https://[fd00::1]",
            ),
            ("10.0.0.1:80", "http://10.0.0.1", "https://10.0.0.1"),
            (
                "0.0.0.0/0",
                "https://8.8.8.8",
                "https://[2606::1] https://a.example",
            ),
            // Entries that mean nothing.
            (
                "10.0.0.0/33 a/8 a.example:http",
                "",
                "https://10.0.0.1 https://a.example",
            ),
        ] {
            for url in direct.split_whitespace() {
                assert!(is_direct(no, url), "{no}: {url}");
            }
            for url in proxied.split_whitespace() {
                assert!(!is_direct(no, url), "{no}: {url}");
            }
        }
    }

    #[test]
    fn a_proxy_that_cannot_be_used_stops_only_its_own_connections() {
        let settings = ProxySettings {
            https: "http://proxy.example:1",
            all: "socks5://proxy.example:2",
            no: "a.example",
            ..ProxySettings::default()
        };
        assert_eq!(
            found(settings, "https://b.example"),
            "http://proxy.example:1"
        );
        assert_eq!(found(settings, "http://a.example"), "-");
        assert_eq!(
            found(settings, "http://b.example"),
            "a proxy with the scheme `socks5` is not supported; use one with http://"
        );
        for all in [
            "http://",
            "http://u:pa ss@h:1",
            "http://u%zz@h:1",
            "/path",
            "http://h:99999",
        ] {
            let settings = ProxySettings {
                all,
                ..ProxySettings::default()
            };
            assert_eq!(
                found(settings, "https://a.example"),
                "the URL of the proxy is malformed; write it as http://HOST:PORT",
                "{all}"
            );
        }
    }

    #[test]
    fn credentials_are_sent_and_never_shown() {
        let proxies = Proxies::new(&ProxySettings {
            all: "http://Aladdin:open%20sesame@proxy.example:3128/x",
            ..ProxySettings::default()
        });
        let proxy = proxies.proxy_for(&destination("https://a.example"));
        let proxy = proxy.unwrap().unwrap();
        let expected = "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==";
        assert_eq!(proxy.authorization().unwrap(), expected);
        let shown = format!("{proxy} {proxy:?} {proxies:?} {:?}", proxy.authorization());
        assert!(
            !shown.contains("sesame") && !shown.contains("QWxh"),
            "{shown}"
        );
    }

    proptest! {
        #[test]
        fn any_settings_are_read_without_panic(all: String, no: String) {
            let settings = ProxySettings { all: &all, no: &no, ..ProxySettings::default() };
            let _ = found(settings, "https://a.example");
        }
    }
}
