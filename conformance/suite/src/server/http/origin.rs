//! Pages of browsers: `Origin`, `Host`, and what they send without having asked.

use std::net::{IpAddr, SocketAddr, UdpSocket};

use serde_json::{Value, json};
use tokio::time::sleep;

use super::endpoint::refused_or_warned;
use super::judge::{answered, forbidden, mismatch, refused, refused_by, served};
use super::{UNKNOWN_METHOD, UNSUPPORTED, alive, discover, each};
use crate::check::{Check, server_check};
use crate::server::Cx;
use crate::verdict::{Of as _, Stop, Verdict, expect};
use crate::wire::message::META_VERSION;
use crate::wire::{Message, Post};

pub(in crate::server) const CHECKS: &[Check] = &[
    server_check!("server-http-origin-foreign", Http, foreign),
    server_check!("server-http-origin-own", Http, own),
    server_check!("server-http-origin-every-method", Http, every_method),
    server_check!("server-http-origin-first", Http, first),
    server_check!("server-http-simple-post", Http, simple_posts),
    server_check!("server-http-bind-loopback", Http, bind),
];

const EVIL: &str = "http://evil.example.com";

/// Goes on unless pages of every origin may use the server.
fn guards(cx: &Cx) -> Verdict {
    if cx.endpoint()?.ways.any_origin {
        return Err(Stop::skip("pages of every origin may use the server"));
    }
    Ok(())
}

async fn foreign(cx: Cx) -> Verdict {
    guards(&cx)?;
    let (_, post) = discover(&cx)?;
    let wrong = [
        EVIL,
        "https://evil.example.com",
        "http://localhost.evil.com",
        "http://127.0.0.1.evil.com",
        "http://evil.example.com#localhost",
        "http://localhost@evil.example.com",
        "junk",
        "http://[::1",
    ];
    let variants = wrong.map(|origin| (origin, post.clone().header("Origin", origin)));
    each(&cx, variants, |reply| forbidden(&cx, reply)).await?;
    let own = cx.endpoint()?.origin();
    let two = |one: &str, other: &str| post.clone().header("Origin", one).header("Origin", other);
    let variants = [("own, then foreign", two(&own, EVIL)), ("foreign, then own", two(EVIL, &own))];
    each(&cx, variants, |reply| {
        cx.warnings.unless(reply.status() == Some(403), "status 403", reply.told());
        refused(reply)
    })
    .await?;
    let is_loopback = cx.endpoint()?.is_loopback();
    let empty = post.clone().header("Origin", "");
    each(&cx, [("an empty one", empty)], |reply| refused_or_warned(&cx, reply, "status 403"))
        .await?;
    let nobody = ["null", "file://"].map(|it| (it, post.clone().header("Origin", it)));
    each(&cx, nobody, |reply| if is_loopback { refused(reply) } else { answered(reply) }).await
}

async fn own(cx: Cx) -> Verdict {
    let endpoint = cx.endpoint()?;
    let (_, post) = discover(&cx)?;
    let own = endpoint.origin();
    each(&cx, [("no Origin", post.clone())], served).await?;
    let mut variants = Vec::new();
    // Elsewhere it may be that no page at all is meant to use it.
    let with_own = (own.clone(), post.clone().header("Origin", &*own));
    if endpoint.is_loopback() {
        each(&cx, [with_own], served).await?;
    } else {
        variants.push(with_own);
    }
    let upper = format!("{}://{}", endpoint.scheme(), endpoint.authority.to_ascii_uppercase());
    if upper != own {
        variants.push((upper.clone(), post.clone().header("Origin", upper)));
    }
    if endpoint.authority != endpoint.address {
        let written_out = format!("{}://{}", endpoint.scheme(), endpoint.address);
        variants.push((written_out.clone(), post.clone().header("Origin", written_out)));
    }
    if endpoint.is_loopback() {
        let authority = format!("localhost:{}", endpoint.port());
        let local = format!("{}://{authority}", endpoint.scheme());
        variants.push((local.clone(), post.set("Host", authority).header("Origin", local)));
    }
    for (name, post) in variants {
        let reply = cx.send(&post).await.of(&name)?;
        cx.warnings.unless(served(&reply).is_ok(), format!("{name}: a result"), reply.told());
    }
    Ok(())
}

async fn every_method(cx: Cx) -> Verdict {
    guards(&cx)?;
    let evil = |message: &Message| cx.post(message).map(|post| post.header("Origin", EVIL));
    let listen = json!({ "toolsListChanged": true });
    let posts = [
        ("a request", cx.request("server/discover")),
        ("a notification", Message::notification("notifications/x-unknown")),
        ("a subscription", cx.request("subscriptions/listen").param("notifications", listen)),
    ];
    for (name, message) in posts {
        let open = cx.open_post(&evil(&message)?, &Value::Null).await.of(name)?;
        let head = open.head.unwrap_or_default();
        expect(head.status() == 403, format!("{name}: status 403"), &*head.line)?;
    }
    let bare = evil(&cx.request("server/discover"))?.body("");
    let asked = bare
        .clone()
        .header("Access-Control-Request-Method", "POST")
        .header("Access-Control-Request-Headers", "mcp-method, mcp-protocol-version");
    let prm = "/.well-known/oauth-protected-resource";
    let others = [
        ("GET", bare.clone()),
        ("DELETE", bare.clone()),
        ("HEAD", bare.clone()),
        ("OPTIONS", asked),
        ("GET", bare.target(prm)),
    ];
    for (method, post) in others {
        let is_document = post.parts().1 == prm;
        let open = cx.open_post(&post.method(method), &Value::Null).await.of(method)?;
        let head = open.head.unwrap_or_default();
        let is_public = method == "OPTIONS" || is_document;
        let is_fine = !matches!(head.status(), 200..300) || is_public || head.status() == 204;
        expect(is_fine, format!("{method}: no 2xx"), &*head.line)?;
        let allowed = head.get("Access-Control-Allow-Origin").unwrap_or_default();
        let with_cookies = head.get("Access-Control-Allow-Credentials") == Some("true");
        let is_named = allowed == EVIL || allowed == "*" && with_cookies;
        let is_public = is_document && !with_cookies;
        let expected = format!("{method}: a foreign origin is not allowed by name");
        expect(
            !is_named || is_public,
            expected,
            format!("Access-Control-Allow-Origin: {allowed}"),
        )?;
    }
    Ok(())
}

async fn first(cx: Cx) -> Verdict {
    guards(&cx)?;
    let (message, post) = discover(&cx)?;
    let post = post.header("Origin", EVIL);
    // Nothing else is asked for here.
    let broken = [("broken JSON", post.clone().body("{"))];
    each(&cx, broken, |reply| forbidden(&cx, reply)).await?;
    // These have an answer of their own that the specification fixes as well, and says nothing about their order.
    let no_version = post.clone().without("MCP-Protocol-Version");
    each(&cx, [("no version header", no_version)], |reply| {
        forbidden(&cx, reply).or_else(|_| mismatch(reply, &message))
    })
    .await?;
    let unknown = cx.request("unknown/method");
    let unserved = cx.request("server/discover").meta(META_VERSION, "v999.0.0");
    for (what, message, status, code) in [
        ("an unknown method", unknown, 404, UNKNOWN_METHOD),
        ("an unknown version", unserved, 400, UNSUPPORTED),
    ] {
        let post = cx.post(&message)?.header("Origin", EVIL);
        each(&cx, [(what, post)], |reply| {
            forbidden(&cx, reply).or_else(|_| refused_by(reply, &message, status, code))
        })
        .await?;
    }
    each(&cx, [("no token", post.clone().without("Authorization"))], |reply| {
        if reply.status() == Some(401) { Ok(()) } else { forbidden(&cx, reply) }
    })
    .await?;
    if cx.is_http2() {
        Ok(())
    } else {
        before_the_body(&cx, post).await.of("a body that does not come")
    }
}

/// A server may read a body before it answers, but it need not.
async fn before_the_body(cx: &Cx, post: Post) -> Verdict {
    let mut connection = cx.connect().await?;
    let head = post.without_length().header("Content-Length", "1000").body("");
    connection.send(&head.encode()).await?;
    let head = tokio::select! {
        biased;
        head = connection.final_head() => head.ok(),
        // Who answers later requests has had time for this one.
        () = async { sleep(super::SETTLE).await; drop(alive(cx).await); } => None,
    };
    let status = head.map(|head| head.status());
    cx.warnings.unless(
        status == Some(403),
        "status 403 by the headers alone",
        format!("{status:?}"),
    );
    expect(status.is_none_or(|it| matches!(it, 400..500)), "status 403", format!("{status:?}"))
}

async fn simple_posts(cx: Cx) -> Verdict {
    let endpoint = cx.endpoint()?;
    if !endpoint.is_loopback() {
        return Err(Stop::skip("the server is not on loopback"));
    }
    guards(&cx)?;
    let (_, post) = discover(&cx)?;
    let simple = post.clone().set("Content-Type", "text/plain");
    let from_a_page = [("text/plain of a page", simple.clone().header("Origin", EVIL))];
    each(&cx, from_a_page, |reply| forbidden(&cx, reply)).await?;
    let warned = [
        ("text/plain", simple),
        ("another Host", post.clone().set("Host", "evil.example.com")),
        (
            "another target",
            post.clone().target(format!("http://evil.example.com{}", endpoint.path)),
        ),
    ];
    each(&cx, warned, |reply| refused_or_warned(&cx, reply, "a refusal")).await?;
    // Over HTTP/2 the second stands beside :authority.
    let two = post.header("Host", "evil.example.com");
    each(&cx, [("two hosts", two)], |reply| {
        refused_or_warned(&cx, reply, "a refusal")?;
        let is_best = cx.is_http2() || reply.status() == Some(400);
        cx.warnings.unless(is_best, "status 400", reply.told());
        Ok(())
    })
    .await
}

async fn bind(cx: Cx) -> Verdict {
    let endpoint = cx.endpoint()?;
    let others = own_addresses();
    if !endpoint.is_loopback() || others.is_empty() {
        return Err(Stop::skip("the server is not on loopback, or there is no other address"));
    }
    alive(&cx).await?;
    let port = endpoint.port().parse().unwrap_or_default();
    for address in others {
        let address = SocketAddr::new(address, port).to_string();
        let there = cx.of_endpoint(endpoint.at(address.clone()));
        // Something that speaks otherwise may listen there.
        let reply = there.ask(&cx.request("server/discover")).await;
        let seen = reply.map(|reply| reply.told()).ok();
        expect(seen.is_none(), format!("nothing at {address}"), seen.unwrap_or_default())?;
    }
    Ok(())
}

/// The addresses of this machine from which it would reach others. Nothing is sent to find them.
fn own_addresses() -> Vec<IpAddr> {
    let ways = [("0.0.0.0:0", "192.0.2.1:9"), ("[::]:0", "[2001:db8::1]:9")];
    let found = ways.iter().filter_map(|(from, to)| {
        let socket = UdpSocket::bind(from).ok()?;
        socket.connect(to).ok()?;
        socket.local_addr().ok().map(|address| address.ip())
    });
    found.filter(|ip| !ip.is_loopback()).collect()
}
