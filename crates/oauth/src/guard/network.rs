use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Kind of network that an address belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Network {
    /// The internet.
    Public,
    /// This machine.
    Loopback,
    /// Private network, including carrier-grade NAT.
    Private,
    /// Address that no authorization server has: link-local, multicast, metadata services of
    /// clouds, documentation, transition mechanisms and reserved ranges.
    Reserved,
}

impl Network {
    /// Network of `address`; IPv4 addresses inside IPv6 are unwrapped.
    #[must_use]
    pub fn of(address: IpAddr) -> Self {
        match address {
            IpAddr::V4(address) => of_v4(address),
            IpAddr::V6(address) => of_v6(address),
        }
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Public => "public",
            Self::Loopback => "loopback",
            Self::Private => "private",
            Self::Reserved => "reserved",
        })
    }
}

/// IPv4 networks that are not public, smaller ones before those that contain them.
///
/// 198.18.0.0/15, for benchmarks, is missing: local proxies such as Clash resolve every public name
/// to an address of it, and no other host has one.
const V4: &[(Ipv4Addr, u32, Network)] = &[
    // Metadata services outside of link-local: Alibaba, Azure, and Oracle within 192.0.0.0/24.
    (Ipv4Addr::new(100, 100, 100, 200), 32, Network::Reserved),
    (Ipv4Addr::new(168, 63, 129, 16), 32, Network::Reserved),
    // "This network": connecting to 0.0.0.0 reaches this machine.
    (Ipv4Addr::new(0, 0, 0, 0), 8, Network::Reserved),
    (Ipv4Addr::new(10, 0, 0, 0), 8, Network::Private),
    (Ipv4Addr::new(100, 64, 0, 0), 10, Network::Private),
    (Ipv4Addr::new(127, 0, 0, 0), 8, Network::Loopback),
    (Ipv4Addr::new(169, 254, 0, 0), 16, Network::Reserved),
    (Ipv4Addr::new(172, 16, 0, 0), 12, Network::Private),
    (Ipv4Addr::new(192, 0, 0, 0), 24, Network::Reserved),
    (Ipv4Addr::new(192, 0, 2, 0), 24, Network::Reserved),
    (Ipv4Addr::new(192, 31, 196, 0), 24, Network::Reserved),
    (Ipv4Addr::new(192, 52, 193, 0), 24, Network::Reserved),
    (Ipv4Addr::new(192, 88, 99, 0), 24, Network::Reserved),
    (Ipv4Addr::new(192, 168, 0, 0), 16, Network::Private),
    (Ipv4Addr::new(192, 175, 48, 0), 24, Network::Reserved),
    (Ipv4Addr::new(198, 51, 100, 0), 24, Network::Reserved),
    (Ipv4Addr::new(203, 0, 113, 0), 24, Network::Reserved),
    (Ipv4Addr::new(224, 0, 0, 0), 3, Network::Reserved),
];

fn of_v4(address: Ipv4Addr) -> Network {
    let found = V4
        .iter()
        .find(|(network, length, _)| (address.to_bits() ^ network.to_bits()) >> (32 - length) == 0);
    found.map_or(Network::Public, |(_, _, network)| *network)
}

/// IPv6 networks that differ from [`DEFAULT_V6`], smaller ones before those that contain them.
const V6: &[(Ipv6Addr, u32, Network)] = &[
    (Ipv6Addr::LOCALHOST, 128, Network::Loopback),
    // The metadata service of Amazon.
    (
        Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254),
        128,
        Network::Reserved,
    ),
    (
        Ipv6Addr::new(0xfc00, 0, 0, 0, 0, 0, 0, 0),
        7,
        Network::Private,
    ),
    // Protocol assignments, Teredo and ORCHID among them.
    (
        Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0),
        23,
        Network::Reserved,
    ),
    (
        Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0),
        32,
        Network::Reserved,
    ),
    // 6to4.
    (
        Ipv6Addr::new(0x2002, 0, 0, 0, 0, 0, 0, 0),
        16,
        Network::Reserved,
    ),
    (
        Ipv6Addr::new(0x2620, 0x4f, 0x8000, 0, 0, 0, 0, 0),
        48,
        Network::Reserved,
    ),
    (
        Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 0),
        20,
        Network::Reserved,
    ),
    // The only part of IPv6 that is allocated for global use.
    (
        Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 0),
        3,
        Network::Public,
    ),
];

const DEFAULT_V6: Network = Network::Reserved;

const NAT64: Ipv6Addr = Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, 0, 0);

fn of_v6(address: Ipv6Addr) -> Network {
    if let Some(mapped) = address.to_ipv4_mapped() {
        return of_v4(mapped);
    }
    if is_within(address, NAT64, 96) {
        return through_nat64(address);
    }
    let found = V6
        .iter()
        .find(|(network, length, _)| is_within(address, *network, *length));
    found.map_or(DEFAULT_V6, |(_, _, network)| *network)
}

/// Networks with IPv6 only translate public IPv4 addresses like this, but no others.
fn through_nat64(address: Ipv6Addr) -> Network {
    let [.., a, b, c, d] = address.octets();
    match of_v4(Ipv4Addr::new(a, b, c, d)) {
        Network::Public => Network::Public,
        _ => Network::Reserved,
    }
}

fn is_within(address: Ipv6Addr, network: Ipv6Addr, length: u32) -> bool {
    (address.to_bits() ^ network.to_bits()) >> (128 - length) == 0
}

#[cfg(test)]
mod tests {
    use super::Network;

    #[track_caller]
    fn check(network: Network, addresses: &str) {
        for text in addresses.split_whitespace() {
            let address = text.parse().expect("an address");
            assert_eq!((text, Network::of(address)), (text, network));
        }
    }

    #[test]
    fn public_addresses() {
        check(
            Network::Public,
            "1.1.1.1 8.8.8.8 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0 126.255.255.255
             128.0.0.0 168.63.129.15 168.63.129.17 169.253.255.255 169.255.0.0 172.15.255.255
             172.32.0.0 191.255.255.255 192.0.1.0 192.0.3.0 192.167.255.255 192.169.0.0
             198.17.255.255 198.18.0.0 198.19.255.255 198.20.0.0 198.51.99.255 203.0.112.255 203.0.114.0 223.255.255.255
             2000:: 2001:200:: 2001:4860:4860::8888 2001:db7:: 2001:db9:: 2003:: 2606:4700::1111
             2620:4f:8001:: 3ffe:ffff:: 3fff:1000:: 3fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff
             ::ffff:8.8.8.8 64:ff9b::8.8.8.8",
        );
    }

    #[test]
    fn loopback_addresses() {
        check(
            Network::Loopback,
            "127.0.0.0 127.0.0.1 127.0.0.53 127.255.255.255 ::1 ::ffff:127.0.0.1
             ::ffff:7f00:1",
        );
    }

    #[test]
    fn private_addresses() {
        check(
            Network::Private,
            "10.0.0.0 10.255.255.255 100.64.0.0 100.100.100.199 100.127.255.255 172.16.0.0
             172.31.255.255 192.168.0.0 192.168.255.255 fc00:: fd00:ec2::253 fdff:ffff::1
             ::ffff:10.1.2.3 ::ffff:192.168.1.1",
        );
    }

    #[test]
    fn reserved_addresses() {
        check(
            Network::Reserved,
            "0.0.0.0 0.255.255.255 100.100.100.200 168.63.129.16 169.254.0.0 169.254.169.254
             169.254.255.255 192.0.0.0 192.0.0.192 192.0.0.255 192.0.2.1 192.31.196.1 192.52.193.1
             192.88.99.1 192.175.48.1 198.51.100.1 203.0.113.1 224.0.0.0
             239.255.255.255 240.0.0.0 255.255.255.255
             :: ::2 ::7f00:1 ::8.8.8.8 ::ffff:0.0.0.0 ::ffff:169.254.169.254 ::ffff:0:7f00:1
             64:ff9b::127.0.0.1 64:ff9b::10.0.0.1 64:ff9b::169.254.169.254 64:ff9b::0.0.0.0
             64:ff9b:1::808:808 64:ff9b:0:0:0:1:808:808 100:: 100::1 200:: 1fff::
             2001:: 2001:0:4136:e378:8000:63bf:3fff:fdd2 2001:1ff:: 2001:db8:: 2001:db8:ffff::1
             2002:: 2002:7f00:1:: 2002:808:808:: 2620:4f:8000::1 3fff:: 3fff:fff:: 4000:: 5f00::1
             fd00:ec2::254 fe00:: fe80::1 febf:: fec0::1 feff:: ff00:: ff02::1 ffff::",
        );
    }
}
