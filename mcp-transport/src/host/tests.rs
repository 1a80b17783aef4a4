use proptest::prelude::*;

use super::*;

#[test]
fn loopback_hosts() {
    let policy = HostPolicy::default();
    let allowed = [
        "localhost",
        "LocalHost:8080",
        "localhost.",
        "localhost.:80",
        "127.0.0.1",
        "127.0.0.1:3000",
        "127.1.2.3:1",
        "[::1]",
        "[::1]:8080",
        "[0:0:0:0:0:0:0:1]:1",
    ];
    let refused = [
        "",
        ":80",
        "localhost:",
        "localhost:x",
        "localhost:+80",
        "localhost:65536",
        "localhost.evil.com",
        "127.0.0.1.evil.com",
        "evil.com",
        "localhost:80@evil",
        "evil@localhost",
        "localhost@evil:80",
        "localhost..",
        "localhost/",
        "localhost:80/",
        "localhost evil.com",
        "127.1",
        "2130706433",
        "0x7f.0.0.1",
        "127.0.0.1.",
        "0.0.0.0",
        "10.0.0.1",
        "::1",
        "[::1",
        "[::1]evil.com",
        "[::1]:",
        "[::2]",
        "[::ffff:10.0.0.1]",
        "[localhost]",
        "foo.localhost",
        "notlocalhost",
        "localhost,evil.com",
        "lo\u{441}alhost",
        "null",
    ];
    for host in allowed {
        assert!(policy.check_host(host), "{host}");
    }
    for host in refused {
        assert!(!policy.check_host(host), "{host}");
        assert!(HostPolicy::danger_allow_any().check_host(host));
    }
}

#[test]
fn listed_hosts() {
    let policy = HostPolicy::list([
        "Mcp.Example.com",
        "api.example.com:8443",
        "[2001:db8::1]:443",
        "10.0.0.1:80",
    ])
    .unwrap();
    let rows = [
        ("mcp.example.com", true),
        ("MCP.EXAMPLE.COM:1234", true),
        ("mcp.example.com.", true),
        ("api.example.com:8443", true),
        ("api.example.com", false),
        ("api.example.com:8444", false),
        ("[2001:DB8:0::1]", true),
        ("[2001:db8::1]:443", true),
        ("[2001:db8::1]:80", false),
        ("10.0.0.1", true),
        ("evil.mcp.example.com", false),
        ("mcp.example.com.evil.com", false),
        ("localhost", false),
    ];
    for (host, allowed) in rows {
        assert_eq!(policy.check_host(host), allowed, "{host}");
    }
    assert!(policy.or_loopback().check_host("localhost"));
    for entry in ["", "https://example.com", "example.com/", "a b", "ex\u{e4}mple.com", "a:b", "*"]
    {
        assert_eq!(HostPolicy::list([entry]).err(), Some(InvalidHost(entry.into())));
    }
}

#[test]
fn loopback_origins() {
    let policy = OriginPolicy::default();
    let allowed = [
        "http://localhost",
        "http://localhost:3000",
        "HTTPS://LOCALHOST:1",
        "http://127.0.0.1:6274",
        "http://[::1]:80",
    ];
    let refused = [
        "",
        "null",
        "localhost",
        "http://",
        "http:localhost",
        "http://localhost:3000.evil.com",
        "http://localhost.evil.com",
        "http://evil.com",
        "http://localhost@evil.com",
        "http://localhost:80@evil.com",
        "http://localhost/",
        "http://localhost, http://evil.com",
        "http://localhost http://evil.com",
        "file://localhost",
        "://localhost",
        "http://evil.com#localhost",
        "http://127.0.0.1.evil.com:80",
    ];
    for origin in allowed {
        assert!(policy.check_origin(origin.as_bytes()), "{origin}");
    }
    for origin in refused {
        assert!(!policy.check_origin(origin.as_bytes()), "{origin}");
        assert!(OriginPolicy::danger_allow_any().check_origin(origin.as_bytes()));
    }
    assert!(!policy.check_origin(b"http://localhost\xff"));
}

#[test]
fn listed_origins() {
    let policy = OriginPolicy::list([
        "https://App.example.com",
        "http://dev.example.com:8080",
        "vscode-webview://abc123",
    ])
    .unwrap();
    let rows = [
        ("https://app.example.com", true),
        ("https://APP.example.com:443", true),
        ("http://app.example.com", false),
        ("https://app.example.com:8443", false),
        ("http://dev.example.com:8080", true),
        ("http://dev.example.com", false),
        ("vscode-webview://abc123", true),
        ("vscode-webview://abc124", false),
        ("http://localhost", false),
        ("null", false),
    ];
    for (origin, allowed) in rows {
        assert_eq!(policy.check_origin(origin.as_bytes()), allowed, "{origin}");
    }
    assert!(policy.or_loopback().check_origin(b"http://localhost:1"));
    for entry in ["example.com", "https://example.com/", "null", "*"] {
        assert!(OriginPolicy::list([entry]).is_err(), "{entry}");
    }
}

proptest! {
    #[test]
    fn any_bytes_are_judged(bytes in any::<Vec<u8>>()) {
        fuzz_host(&bytes);
    }

    #[test]
    fn near_misses_are_judged(
        text in "(http|https|file|)(://|)(localhost|127.0.0.1|\\[::1\\]|a)[.:@/0-9a]{0,5}",
    ) {
        fuzz_host(text.as_bytes());
    }
}
