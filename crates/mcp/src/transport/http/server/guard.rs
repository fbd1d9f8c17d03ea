use std::net::SocketAddr;

use http::Uri;

use super::answer::Refusal;
use super::fields::{Field, Fields};

/// Which hosts and origins are answered besides the server's own.
///
/// A server always answers to the address it listens on, and on loopback to `localhost`,
/// `127.0.0.1` and `[::1]`, with its port; pages it serves itself may call it. A web page that
/// makes its own name resolve to this machine is thereby refused.
#[derive(Debug, Clone, Default)]
pub struct Guard {
    /// More hosts, as in the `Host` header: with the port, unless it is the default one.
    pub hosts: Vec<String>,
    /// More origins, for example `https://app.example.com`.
    pub origins: Vec<String>,
}

/// A [`Guard`] that knows the server's own address.
#[derive(Debug)]
pub(super) struct Policy {
    hosts: Vec<String>,
    own_origins: Vec<String>,
    foreign_origins: Vec<String>,
}

impl Policy {
    pub(super) fn new(guard: &Guard, address: SocketAddr) -> Self {
        let mut hosts = own_hosts(address);
        hosts.extend(guard.hosts.iter().cloned());
        Self {
            own_origins: hosts.iter().map(|host| format!("http://{host}")).collect(),
            hosts,
            foreign_origins: guard.origins.clone(),
        }
    }

    /// Refuses a request to a name that is not the server's own.
    pub(super) fn check_host(&self, uri: &Uri, fields: &Fields<'_>) -> Result<(), Refusal> {
        let host = fields.host.once().ok_or(Refusal::BadHost)?;
        if let Some(authority) = uri.authority()
            && !authority.as_str().as_bytes().eq_ignore_ascii_case(host)
        {
            return Err(Refusal::BadHost);
        }
        if !lists(&self.hosts, host) {
            return Err(if is_host(host) {
                Refusal::Forbidden
            } else {
                Refusal::BadHost
            });
        }
        Ok(())
    }

    /// Refuses a request that a web page could have been built to send.
    pub(super) fn check_origin(&self, fields: &Fields<'_>) -> Result<(), Refusal> {
        let near = match fields.sec_fetch_site {
            Field::Absent => true,
            Field::Once(site) => matches!(site.as_bytes(), b"same-origin" | b"none"),
            Field::Repeated => false,
        };
        let allowed = match fields.origin.once() {
            None => fields.origin == Field::Absent && near,
            Some(origin) => {
                // A page from elsewhere that may call us says so itself.
                lists(&self.foreign_origins, origin) || near && lists(&self.own_origins, origin)
            }
        };
        if allowed {
            Ok(())
        } else {
            Err(Refusal::Forbidden)
        }
    }
}

fn lists(allowed: &[String], value: &[u8]) -> bool {
    allowed
        .iter()
        .any(|allowed| allowed.as_bytes().eq_ignore_ascii_case(value))
}

/// The hosts by which a server at `address` is addressed.
fn own_hosts(address: SocketAddr) -> Vec<String> {
    let ip = address.ip();
    let mut names = Vec::new();
    if ip.is_loopback() || ip.is_unspecified() {
        names.extend(["localhost", "127.0.0.1", "[::1]"].map(str::to_owned));
    }
    let literal = match ip {
        std::net::IpAddr::V4(ip) => ip.to_string(),
        std::net::IpAddr::V6(ip) => format!("[{ip}]"),
    };
    if !ip.is_unspecified() && !names.contains(&literal) {
        names.push(literal);
    }
    let mut hosts: Vec<String> = names
        .iter()
        .map(|name| format!("{name}:{}", address.port()))
        .collect();
    if address.port() == 80 {
        hosts.append(&mut names);
    }
    hosts
}

/// Whether `host` has only the characters of a host and a port.
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
            assert_eq!(own_hosts(address.parse().unwrap()), hosts, "{address}");
        }
    }
}
