//! Which URL a proof is for.

use crate::host::Origin;

/// Whether both are the same absolute URL, query and fragment aside.
pub(super) fn same(one: &str, other: &str) -> bool {
    parts(one).is_some_and(|one| parts(other).is_some_and(|other| one == other))
}

/// The URL up to its query or fragment.
pub(super) fn without_query(url: &str) -> &str {
    url.split(['?', '#']).next().unwrap_or(url)
}

/// Origin and path. A user in it makes it no URL here.
fn parts(url: &str) -> Option<(Origin<'_>, &str)> {
    let url = without_query(url);
    let authority = url.find("://")? + 3;
    let path = url.get(authority..)?.find('/').map_or(url.len(), |slash| authority + slash);
    let (origin, path) = url.split_at_checked(path)?;
    Some((Origin::parse(origin)?, if path.is_empty() { "/" } else { path }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_the_same_up_to_what_means_nothing() {
        let url = "https://mcp.example.com/mcp";
        for same_as in [
            url,
            "HTTPS://MCP.Example.COM/mcp",
            "https://mcp.example.com:443/mcp",
            "https://mcp.example.com/mcp?a=b",
            "https://mcp.example.com/mcp#here",
            "https://mcp.example.com/mcp?a=/#/b",
        ] {
            assert!(same(same_as, url), "{same_as}");
        }
        for other in [
            "",
            "/mcp",
            "mcp.example.com/mcp",
            "http://mcp.example.com/mcp",
            "https://mcp.example.com:8443/mcp",
            "https://mcp.example.com.evil.example/mcp",
            "https://evil.example/mcp",
            "https://mcp.example.com@evil.example/mcp",
            "https://user@mcp.example.com/mcp",
            "https://mcp.example.com/MCP",
            "https://mcp.example.com/mcp/",
            "https://mcp.example.com//mcp",
            "https://mcp.example.com/%6Dcp",
            "https://mcp.example.com/x/../mcp",
            "https://mcp.example.com",
            "https:///mcp",
            " https://mcp.example.com/mcp",
        ] {
            assert!(!same(other, url), "{other}");
        }
        assert!(same("https://a.example", "https://a.example/"));
        assert!(same("http://[::1]:80/", "http://[0:0:0:0:0:0:0:1]?q"));
        assert!(!same("", "") && !same("nothing", "nothing"));
    }
}
