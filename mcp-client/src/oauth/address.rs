//! Addresses that are not of the public network.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// What an address is if it is not of the public network: what a stranger's URL must not lead to. The registries are
/// IANA's, of special-purpose addresses (RFC 6890).
pub(crate) fn special(address: IpAddr) -> Option<&'static str> {
    match address {
        IpAddr::V4(address) => special_v4(address),
        IpAddr::V6(address) => special_v6(address),
    }
}

fn special_v4(address: Ipv4Addr) -> Option<&'static str> {
    Some(match address.octets() {
        [0, ..] => "unspecified",
        [127, ..] => LOOPBACK,
        [10, ..] | [172, 16..=31, ..] | [192, 168, ..] => "private",
        [100, 64..=127, ..] => "shared by the customers of a carrier",
        [169, 254, ..] => "link-local",
        [192, 0, 0, _] | [192, 88, 99, _] => "reserved for protocols",
        [192, 0, 2, _] | [198, 51, 100, _] | [203, 0, 113, _] => "for documentation",
        [198, 18..=19, ..] => "for benchmarks",
        [224..=239, ..] => "multicast",
        [240..=255, ..] => "reserved",
        _ => return None,
    })
}

fn special_v6(address: Ipv6Addr) -> Option<&'static str> {
    let segments = address.segments();
    let [_, _, _, _, _, _, high, low] = segments;
    Some(match segments {
        [0, 0, 0, 0, 0, 0, 0, 0] => "unspecified",
        [0, 0, 0, 0, 0, 0, 0, 1] => LOOPBACK,
        // An address of IPv4 within, as systems and translators connect to it.
        [0, 0, 0, 0, 0, 0xffff | 0, ..] | [0x64, 0xff9b, 0, 0, 0, 0, ..] => {
            return special_v4(embedded(high, low));
        }
        [0x2002, high, low, ..] => return special_v4(embedded(high, low)),
        [0xfc00..=0xfdff, ..] => "private",
        [0xfe80..=0xfebf, ..] => "link-local",
        [0xfec0..=0xfeff, ..] => "site-local",
        [0xff00..=0xffff, ..] => "multicast",
        [0x2001, 0xdb8, ..] | [0x3fff, 0..=0x0fff, ..] => "for documentation",
        [0x2001, 0..=0x1ff, ..] => "reserved for protocols",
        [0x2000..=0x3fff, ..] => return None,
        _ => "reserved",
    })
}

const fn embedded(high: u16, low: u16) -> Ipv4Addr {
    let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
    Ipv4Addr::new(a, b, c, d)
}

const LOOPBACK: &str = "loopback";

#[cfg(test)]
mod tests {
    use super::*;

    const SPECIAL: [(&str, &str); 12] = [
        ("unspecified", "0.0.0.0 0.1.2.3 ::"),
        ("loopback", "127.0.0.1 127.255.255.255 ::1 ::ffff:127.0.0.1 ::127.0.0.1"),
        (
            "private",
            "10.0.0.0 10.255.255.255 172.16.0.1 172.31.255.255 192.168.0.1 192.168.255.255",
        ),
        ("private", "fc00:: fd00::1 fdff:ffff:: ::ffff:10.1.2.3 ::ffff:192.168.1.1 64:ff9b::a00:1"),
        ("private", "2002:a00:1::1 2002:c0a8:101::"),
        ("shared by the customers of a carrier", "100.64.0.0 100.127.255.255"),
        ("link-local", "169.254.0.0 169.254.169.254 fe80::1 febf::1 ::ffff:169.254.169.254"),
        (
            "reserved for protocols",
            "192.0.0.1 192.0.0.192 192.88.99.1 2001::1 2001:1ff:: 2001:20::1",
        ),
        ("for documentation", "192.0.2.1 198.51.100.1 203.0.113.255 2001:db8::1 3fff::1"),
        ("for benchmarks", "198.18.0.0 198.19.255.255"),
        ("multicast", "224.0.0.1 239.255.255.255 ff02::1 ff0e::1"),
        ("reserved", "240.0.0.1 255.255.255.255 100::1 64:ff9b:1::1 5f00::1 4000::1 fe00::1"),
    ];

    /// The neighbours of all those, and some that everybody knows.
    const PUBLIC: &str = "1.1.1.1 8.8.8.8 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0 126.255.255.255 128.0.0.0 \
        169.253.0.1 169.255.0.1 172.15.255.255 172.32.0.0 192.0.1.1 192.167.255.255 192.169.0.0 198.17.255.255 \
        198.20.0.0 223.255.255.255 2606:4700::1111 2a00::1 2001:200::1 2001:4860:4860::8888 ::ffff:8.8.8.8 \
        64:ff9b::808:808 2002:808:808::1";

    #[test]
    fn ranges() {
        for (expected, addresses) in SPECIAL {
            for address in addresses.split(' ') {
                assert_eq!(special(address.parse().unwrap()), Some(expected), "{address}");
            }
        }
        assert_eq!(special("fec0::1".parse().unwrap()), Some("site-local"));
        for address in PUBLIC.split(' ') {
            assert_eq!(special(address.parse().unwrap()), None, "{address}");
        }
    }
}
