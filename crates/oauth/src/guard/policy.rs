use std::net::IpAddr;

use url::{Host, Url};

use super::network::Network;

/// Rules for the URLs that are fetched on behalf of one server.
///
/// The internet is allowed over `https`. This machine and private networks are allowed only for a
/// server that is on them itself, so that a public server cannot make us send requests to our
/// neighbors, or if the user allows them with [`Guard::allow`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Guard {
    loopback: bool,
    private: bool,
}

/// The URL is not fetched.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum GuardRefusal {
    /// The scheme is neither `https`, nor `http` inside a network that is not public.
    #[error("refusing to fetch a URL with the scheme `{scheme}` here")]
    Scheme {
        /// Scheme of the URL.
        scheme: String,
    },
    /// The URL contains a user name or a password.
    #[error("refusing to fetch a URL with credentials in it")]
    Credentials,
    /// The URL has no host.
    #[error("refusing to fetch a URL without a host")]
    NoHost,
    /// The host is on a network that this server may not name.
    #[error("refusing to connect to {host}: {}", rule(*network))]
    Network {
        /// Host, with the address that it resolved to if it is a name.
        host: String,
        /// Network of the host.
        network: Network,
    },
}

impl Guard {
    /// Allows the internet only.
    #[must_use]
    pub const fn public() -> Self {
        Self {
            loopback: false,
            private: false,
        }
    }

    /// Allows the internet and the network of a server that answered at `address`.
    ///
    /// The address must be that of the refused connection. A later lookup of its name proves
    /// nothing, because the server's owner controls the answer.
    #[must_use]
    pub(crate) fn for_server_at(address: IpAddr) -> Self {
        Self::public().allow(Network::of(address))
    }

    /// Allows `network` too. Reserved addresses are never allowed.
    #[must_use]
    pub const fn allow(mut self, network: Network) -> Self {
        match network {
            Network::Loopback => self.loopback = true,
            Network::Private => self.private = true,
            Network::Public | Network::Reserved => {}
        }
        self
    }

    /// Checks the URL before its host is resolved.
    ///
    /// # Errors
    /// The URL must not be fetched.
    pub(crate) fn check_url(&self, url: &Url) -> Result<(), GuardRefusal> {
        if !matches!(url.scheme(), "https" | "http") {
            return Err(scheme(url));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(GuardRefusal::Credentials);
        }
        match url.host().ok_or(GuardRefusal::NoHost)? {
            Host::Ipv4(address) => self.check_address(url, address.into()),
            Host::Ipv6(address) => self.check_address(url, address.into()),
            Host::Domain(name) if is_localhost(name) => {
                self.check_network(|| name.to_owned(), Network::Loopback)
            }
            Host::Domain(_) if url.scheme() == "http" && !self.loopback && !self.private => {
                Err(scheme(url))
            }
            Host::Domain(_) => Ok(()),
        }
    }

    /// Checks an address that the host of `url` resolved to, right before connecting to it.
    ///
    /// # Errors
    /// The address must not be connected to.
    pub(crate) fn check_address(&self, url: &Url, address: IpAddr) -> Result<(), GuardRefusal> {
        let network = Network::of(address);
        let host = || match url.host() {
            Some(Host::Domain(name)) => format!("{name} at {address}"),
            _ => address.to_string(),
        };
        self.check_network(host, network)?;
        if url.scheme() != "https" && network == Network::Public {
            return Err(scheme(url));
        }
        Ok(())
    }

    fn check_network(
        &self,
        host: impl FnOnce() -> String,
        network: Network,
    ) -> Result<(), GuardRefusal> {
        let allowed = match network {
            Network::Public => true,
            Network::Loopback => self.loopback,
            Network::Private => self.private,
            Network::Reserved => false,
        };
        if allowed {
            return Ok(());
        }
        Err(GuardRefusal::Network {
            host: host(),
            network,
        })
    }
}

/// Rule that refuses the addresses of a network.
fn rule(network: Network) -> &'static str {
    match network {
        Network::Public => "the address is public",
        Network::Loopback => "it is this machine, which only a server on this machine may name",
        Network::Private => {
            "the address is private, and only a server on a private network or on this machine may name it"
        }
        Network::Reserved => {
            "the address is reserved, and no authorization server has such an address"
        }
    }
}

fn scheme(url: &Url) -> GuardRefusal {
    GuardRefusal::Scheme {
        scheme: url.scheme().to_owned(),
    }
}

/// Returns true for names that always are this machine (RFC 6761).
fn is_localhost(name: &str) -> bool {
    let name = name.strip_suffix('.').unwrap_or(name);
    name == "localhost" || name.ends_with(".localhost")
}

#[cfg(test)]
mod tests {
    use url::Url;

    use super::{Guard, GuardRefusal, Network};

    fn url(text: &str) -> Url {
        Url::parse(text).expect("a URL")
    }

    #[track_caller]
    fn check_urls(guard: Guard, expect: &str, urls: &str) {
        for text in urls.split_whitespace() {
            let found = match guard.check_url(&url(text)) {
                Ok(()) => "ok".to_owned(),
                Err(GuardRefusal::Scheme { .. }) => "scheme".to_owned(),
                Err(GuardRefusal::Credentials) => "credentials".to_owned(),
                Err(GuardRefusal::NoHost) => "no host".to_owned(),
                Err(GuardRefusal::Network { network, .. }) => network.to_string(),
            };
            assert_eq!((text, found.as_str()), (text, expect));
        }
    }

    const PUBLIC: Guard = Guard::public();
    const LOOPBACK: Guard = Guard::public().allow(Network::Loopback);
    const PRIVATE: Guard = Guard::public().allow(Network::Private);

    #[test]
    fn the_internet_is_reached_over_https_alone() {
        let names = "https://example.com https://example.com:8443/a https://8.8.8.8/ \
             https://[2606:4700::1111]/ https://xn--bcher-kva.example/";
        for guard in [PUBLIC, LOOPBACK, PRIVATE] {
            check_urls(guard, "ok", names);
            check_urls(guard, "scheme", "http://8.8.8.8/ http://[2606:4700::1111]/");
            check_urls(
                guard,
                "scheme",
                "ftp://example.com/ file:///etc/passwd ws://example.com/ data:,a \
                 javascript:alert(1) gopher://127.0.0.1:6379/_x unix:/run/a.sock",
            );
        }
        check_urls(PUBLIC, "scheme", "http://example.com/");
    }

    #[test]
    fn credentials_in_a_url_are_refused() {
        check_urls(
            LOOPBACK,
            "credentials",
            "https://a@example.com/ https://a:b@example.com/ https://:b@example.com/ \
             https://example.com%2f@127.0.0.1/",
        );
    }

    #[test]
    fn this_machine_is_found_in_every_notation() {
        let urls = "https://127.0.0.1/ https://127.1/ https://127.0.1/ https://2130706433/ \
             https://0x7f000001/ https://0x7f.1/ https://0177.0.0.1/ https://0177.1/ \
             https://017700000001/ https://127.0.0.1./ https://127.0.0.1:443/ \
             https://%31%32%37.0.0.1/ https://127%2e0%2e0%2e1/ https://127。0。0。1/ \
             https://１２７.0.0.1/ https://①②⑦.⓪.⓪.①/ https://0x7F.0x0.0x0.0x1/ \
             https://127.0x0.0.01/ https:127.0.0.1 https:/127.0.0.1 https:\\\\127.0.0.1 \
             https:///127.0.0.1 https://[::1]/ https://[0:0:0:0:0:0:0:1]/ \
             https://[::ffff:127.0.0.1]/ https://[::ffff:7f00:1]/ https://localhost/ \
             https://LOCALHOST/ https://localhost./ https://a.localhost/ https://a.localhost./ \
             https://loc%61lhost/ https://ｌocalhost/ http://127.0.0.1/ http://localhost:9000/";
        check_urls(PUBLIC, "loopback", urls);
        check_urls(PRIVATE, "loopback", urls);
        check_urls(LOOPBACK, "ok", urls);
    }

    #[test]
    fn private_networks_are_for_servers_on_them() {
        let urls = "https://10.0.0.1/ https://10.1/ https://192.168.1.1/ https://172.16.0.1/ \
             https://100.64.0.1/ https://[fd12::1]/ https://[::ffff:10.0.0.1]/ https://0xa000001/ \
             http://192.168.1.1:8080/";
        check_urls(PUBLIC, "private", urls);
        check_urls(LOOPBACK, "private", urls);
        check_urls(PRIVATE, "ok", urls);
    }

    #[test]
    fn reserved_addresses_are_never_reached() {
        for guard in [PUBLIC, LOOPBACK, PRIVATE, PRIVATE.allow(Network::Reserved)] {
            check_urls(
                guard,
                "reserved",
                "http://169.254.169.254/latest/meta-data/ https://0xa9fea9fe/ https://0/ \
                 https://0.0.0.0/ https://[::]/ https://[fe80::1]/ https://[fd00:ec2::254]/ \
                 https://[64:ff9b::7f00:1]/ https://[2002:7f00:1::]/ https://[2001::1]/ \
                 https://100.100.100.200/ https://255.255.255.255/ https://224.0.0.1/",
            );
        }
    }

    #[test]
    fn resolved_addresses_are_checked_like_literal_ones() {
        let name = url("https://rebind.example/");
        let check = |guard: Guard, address: &str| {
            guard.check_address(&name, address.parse().expect("an address"))
        };
        assert_eq!(check(PUBLIC, "8.8.8.8"), Ok(()));
        assert_eq!(check(LOOPBACK, "127.0.0.1"), Ok(()));
        for (address, network) in [
            ("127.0.0.1", Network::Loopback),
            ("::1", Network::Loopback),
            ("::ffff:127.0.0.1", Network::Loopback),
            ("10.0.0.1", Network::Private),
            ("169.254.169.254", Network::Reserved),
        ] {
            let host = format!("rebind.example at {address}");
            assert_eq!(
                check(PUBLIC, address),
                Err(GuardRefusal::Network { host, network })
            );
        }
    }

    #[test]
    fn a_refusal_names_the_address_and_the_rule() {
        let refusal = |address: &str| {
            let (name, address) = (url("https://idp.example/"), address.parse().unwrap());
            PUBLIC
                .check_address(&name, address)
                .unwrap_err()
                .to_string()
        };
        let literal = PUBLIC.check_url(&url("https://[fd12::1]/")).unwrap_err();
        assert_eq!(
            [
                refusal("10.0.0.1"),
                refusal("127.0.0.1"),
                refusal("0.0.0.0"),
                literal.to_string()
            ],
            [
                "refusing to connect to idp.example at 10.0.0.1: the address is private, and only a server on a private network or on this machine may name it",
                "refusing to connect to idp.example at 127.0.0.1: it is this machine, which only a server on this machine may name",
                "refusing to connect to idp.example at 0.0.0.0: the address is reserved, and no authorization server has such an address",
                "refusing to connect to fd12::1: the address is private, and only a server on a private network or on this machine may name it",
            ]
        );
    }

    #[test]
    fn a_name_reached_over_http_must_not_be_public() {
        let name = url("http://mcp.intranet/");
        assert_eq!(PRIVATE.check_url(&name), Ok(()));
        let check = |address: &str| PRIVATE.check_address(&name, address.parse().expect("address"));
        assert_eq!(check("10.0.0.1"), Ok(()));
        let scheme = "http".to_owned();
        assert_eq!(check("8.8.8.8"), Err(GuardRefusal::Scheme { scheme }));
    }

    #[test]
    fn a_server_opens_its_own_network_and_no_other() {
        for (address, expect) in [
            ("127.0.0.1", LOOPBACK),
            ("::1", LOOPBACK),
            ("192.168.1.1", PRIVATE),
            ("fd12::1", PRIVATE),
            ("8.8.8.8", PUBLIC),
            ("169.254.169.254", PUBLIC),
        ] {
            assert_eq!(
                Guard::for_server_at(address.parse().expect("an address")),
                expect
            );
        }
    }
}
