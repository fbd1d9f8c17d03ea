use std::net::{IpAddr, SocketAddr};

use http::Version;
use http::header::{HeaderMap, HeaderName, ORIGIN};
use http::request::Parts;

use super::fields::Field;
use super::response::Refusal;

static SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// Hosts and origins that are allowed besides the server's own.
///
/// This is the protection against DNS rebinding: a web page whose name resolves to this machine
/// can send requests here, but they carry the name of that page.
/// A [`Listener`](super::Listener) on TCP always allows the address that it listens on, and on
/// loopback `localhost`, `127.0.0.1` and `[::1]`, with its port. One on a Unix socket, and an
/// [`Endpoint`](super::Endpoint) without a listener, allow the names of loopback with any port.
/// Pages of these hosts may call the server.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Guard {
    /// More hosts, as in the `Host` header: with the port, unless it is the default one.
    pub hosts: Vec<String>,
    /// More origins, for example `https://app.example.com`.
    pub origins: Vec<String>,
}

/// A [`Guard`], together with the hosts of the server's own address.
#[derive(Debug)]
pub(super) struct HostPolicy {
    hosts: Vec<String>,
    foreign_origins: Vec<String>,
    own: OwnAddress,
}

/// Address of the server, as far as it is known.
#[derive(Debug, Clone, Copy)]
pub(super) enum OwnAddress {
    /// A TCP socket with this address, and with TLS or without.
    Tcp { address: SocketAddr, tls: bool },
    /// A Unix socket, or the socket of another server.
    Unknown,
}

const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

impl HostPolicy {
    pub(super) fn new(guard: &Guard, own: OwnAddress) -> Self {
        let mut hosts = match own {
            OwnAddress::Tcp { address, tls } => own_hosts(address, tls),
            OwnAddress::Unknown => Vec::new(),
        };
        hosts.extend(guard.hosts.iter().cloned());
        Self {
            hosts,
            foreign_origins: guard.origins.clone(),
            own,
        }
    }

    /// Refuses a request to a host that is not allowed.
    pub(super) fn check_host(&self, head: &Parts, host: Field<'_>) -> Result<(), Refusal> {
        let authority = head.uri.authority().map(|it| it.as_str().as_bytes());
        let host = match (host, authority) {
            // In HTTP/2 the authority takes the place of the header.
            (Field::Absent, Some(authority)) if head.version == Version::HTTP_2 => authority,
            (field, _) => field.once().ok_or(Refusal::BadHost)?,
        };
        // An absolute request target names the host too. A proxy may go by one name and this server by the
        // other, so they must not differ.
        if authority.is_some_and(|authority| !authority.eq_ignore_ascii_case(host)) {
            return Err(Refusal::BadHost);
        }
        if self.allows_host(host) {
            return Ok(());
        }
        Err(if is_host(host) {
            Refusal::Forbidden
        } else {
            Refusal::BadHost
        })
    }

    /// Refuses a request that a web page of a foreign origin could have sent.
    pub(super) fn check_origin(&self, headers: &HeaderMap) -> Result<(), Refusal> {
        let near = match Field::of(headers, &SEC_FETCH_SITE) {
            Field::Absent => true,
            // Not `same-site`: a site has all ports of a host, and so the pages of any other server on this
            // machine.
            Field::Once(site) => matches!(site.as_bytes(), b"same-origin" | b"none"),
            Field::Repeated => false,
        };
        let origin = Field::of(headers, ORIGIN);
        let allowed = match origin.once() {
            None => origin == Field::Absent && near,
            // The browser calls a page of an allowed foreign origin cross-site.
            Some(origin) => {
                lists(&self.foreign_origins, origin) || near && self.is_own_origin(origin)
            }
        };
        if allowed {
            Ok(())
        } else {
            Err(Refusal::Forbidden)
        }
    }

    fn allows_host(&self, host: &[u8]) -> bool {
        match self.own {
            OwnAddress::Unknown if is_loopback(host) => true,
            _ => lists(&self.hosts, host),
        }
    }

    fn is_own_origin(&self, origin: &[u8]) -> bool {
        let schemes: &[&str] = match self.own {
            OwnAddress::Tcp { tls: false, .. } => &["http://"],
            OwnAddress::Tcp { tls: true, .. } => &["https://"],
            OwnAddress::Unknown => &["http://", "https://"],
        };
        let hosts = schemes.iter().filter_map(|scheme| {
            let (start, host) = origin.split_at_checked(scheme.len())?;
            start
                .eq_ignore_ascii_case(scheme.as_bytes())
                .then_some(host)
        });
        hosts.into_iter().any(|host| self.allows_host(host))
    }
}

/// True if `host` is a name of loopback, with any port or none.
fn is_loopback(host: &[u8]) -> bool {
    let is_port = |rest: &[u8]| match rest.split_first() {
        None => true,
        Some((colon, digits)) => *colon == b':' && digits.iter().all(u8::is_ascii_digit),
    };
    LOOPBACK.iter().any(|name| {
        let split = host.split_at_checked(name.len());
        split.is_some_and(|(start, rest)| {
            start.eq_ignore_ascii_case(name.as_bytes()) && is_port(rest)
        })
    })
}

fn lists(allowed: &[String], value: &[u8]) -> bool {
    let mut allowed = allowed.iter().map(String::as_bytes);
    // Almost all clients write a host as it is listed, and equality takes less to see.
    allowed.clone().any(|allowed| allowed == value)
        || allowed.any(|allowed| allowed.eq_ignore_ascii_case(value))
}

/// Hosts that a server at `address` is addressed by.
fn own_hosts(address: SocketAddr, tls: bool) -> Vec<String> {
    let ip = address.ip();
    let mut names = Vec::new();
    if ip.is_loopback() || ip.is_unspecified() {
        names.extend(LOOPBACK.map(str::to_owned));
    }
    let literal = match ip {
        IpAddr::V4(ip) => ip.to_string(),
        IpAddr::V6(ip) => format!("[{ip}]"),
    };
    if !ip.is_unspecified() && !names.contains(&literal) {
        names.push(literal);
    }
    let mut hosts: Vec<String> = names
        .iter()
        .map(|name| format!("{name}:{}", address.port()))
        .collect();
    let default_port = if tls { 443 } else { 80 };
    if address.port() == default_port {
        hosts.append(&mut names);
    }
    hosts
}

/// True if `host` has only the characters of a host and a port.
fn is_host(host: &[u8]) -> bool {
    !host.is_empty()
        && host
            .iter()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-._~%!$&'()*+,;=:[]".contains(byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_answers_to_the_address_it_listens_on() {
        for (address, hosts) in [
            (
                "127.0.0.1:3000",
                &["localhost:3000", "127.0.0.1:3000", "[::1]:3000"][..],
            ),
            (
                "[::1]:80",
                &[
                    "localhost:80",
                    "127.0.0.1:80",
                    "[::1]:80",
                    "localhost",
                    "127.0.0.1",
                    "[::1]",
                ],
            ),
            ("0.0.0.0:1", &["localhost:1", "127.0.0.1:1", "[::1]:1"]),
            (
                "127.0.0.2:1",
                &["localhost:1", "127.0.0.1:1", "[::1]:1", "127.0.0.2:1"],
            ),
            ("192.0.2.7:3000", &["192.0.2.7:3000"]),
            ("[2001:db8::1]:3000", &["[2001:db8::1]:3000"]),
        ] {
            assert_eq!(
                own_hosts(address.parse().unwrap(), false),
                hosts,
                "{address}"
            );
        }
    }

    #[test]
    fn only_names_of_loopback_are_allowed_where_the_address_is_unknown() {
        let policy = HostPolicy::new(&Guard::default(), OwnAddress::Unknown);
        let check = |host: &str, expect: bool| {
            assert_eq!(policy.allows_host(host.as_bytes()), expect, "{host}");
        };
        for host in [
            "localhost",
            "LOCALHOST:1",
            "127.0.0.1:3000",
            "[::1]:80",
            "[::1]",
        ] {
            check(host, true);
        }
        for host in [
            "localhost.evil.example",
            "localhost:1.evil",
            "127.0.0.11",
            "evil",
            "",
        ] {
            check(host, false);
        }
        assert!(policy.is_own_origin(b"https://localhost:3000"));
        assert!(!policy.is_own_origin(b"https://evil.example"));
        assert!(!policy.is_own_origin(b"null"));
    }
}
