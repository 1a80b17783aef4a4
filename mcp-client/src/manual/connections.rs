//! Connections: TLS, proxies, Unix sockets, versions of HTTP, connections of your own.
//!
//! | the server | what it takes |
//! |---|---|
//! | at `http://` | nothing |
//! | at `https://` | the feature `tls`, and nothing to be set |
//! | behind a proxy | the feature `proxy`, which `tls` brings; nothing to be set where the environment names the proxy |
//! | at a Unix socket | `Client::unix`, or `ClientBuilder::unix` for another host or path than `http://localhost/mcp` |
//! | anywhere else | a [`connector`](crate::ClientBuilder::connector), or a whole HTTP stack as a [`service`](crate::ClientBuilder::service) |
//!
//! Connections are made when a call needs one, kept for [`IDLE_TIME`](crate::Limits::IDLE_TIME) and shared by all
//! clones of a client. All that it takes to make one, with proxy and TLS, has
//! [`CONNECT_TIME`](crate::Limits::CONNECT_TIME); where it fails, the error [`is_connect`](crate::Error::is_connect),
//! the server has seen nothing, and the chain of [sources](std::error::Error::source) has the reason.
//!
//! # TLS
//!
//! By [rustls](https://docs.rs/rustls), versions 1.2 and 1.3. A server is trusted if the system trusts it: on Windows
//! and Apple's systems they themselves verify its certificate, elsewhere its issuer must be among the files that
//! OpenSSL would use, or that `SSL_CERT_FILE` and `SSL_CERT_DIR` name. So the authorities that a company has installed
//! on its machines are trusted without a word here, and one that is withdrawn is gone with the next update of the
//! system. A list of roots that is compiled in would know the former never and the latter late. A container without
//! any needs them installed, as the package `ca-certificates` on Linux; without them `build` fails and says so.
//!
//! `ClientBuilder::root_certificates` trusts further roots, in PEM:
//!
//! ```
//! # #[cfg(feature = "tls")]
//! # fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let client = mcp_client::Client::builder("https://mcp.internal/mcp")
//!     .root_certificates(std::fs::read("/etc/internal-ca.pem")?)?
//!     .build()?;
//! # Ok(())
//! # }
//! ```
//!
//! `ClientBuilder::tls` takes a whole `rustls::ClientConfig`, which this crate exports for it: for certificates of the
//! client, for roots in place of the system's (those of the crate `webpki-roots`, say), for other cryptography. There
//! is no switch that turns verification off.
//!
//! The cryptography is ring's, unless the process has installed another `CryptoProvider` of rustls. ring wants a C
//! compiler to be built and nothing else; aws-lc-rs, which rustls itself prefers, wants CMake or an assembler besides
//! on some systems, and more time. Install it for FIPS or for key exchange that is safe from quantum computers.
//!
//! Server and client agree on HTTP/2 or HTTP/1.1 by ALPN. A certificate that does not verify is an error that says so,
//! whose sources end with a `rustls::Error` that says why and can be downcast; no [`Retry`](crate::Retry) tries it
//! again. A [redirect](crate::Limits::REDIRECTS) never leads to `http://` or another host.
//!
//! # Proxies
//!
//! Requests go through the proxy that the environment names when the client is built, as those of curl do:
//!
//! | variable | says |
//! |---|---|
//! | `http_proxy` | the proxy for `http://` |
//! | `https_proxy` | the proxy for `https://` |
//! | `all_proxy` | the proxy for what has none of its own |
//! | `no_proxy` | who is called directly: names with their subdomains, addresses, networks such as `10.0.0.0/8`, `*`; with commas between |
//!
//! In capitals they count as well, but after those in small letters; `HTTP_PROXY` does not where `REQUEST_METHOD` is
//! set, since in a CGI program whoever sent the request can set it. One that is empty is not set. `localhost` and
//! loopback addresses are always called directly. A variable without a usable proxy makes `build` fail: to go around
//! it may be what it is there to prevent.
//!
//! A proxy begins with `http://`, which may be left out, with `https://`, `socks5://`, or `socks5h://` for one that
//! looks up names itself. Its credentials, in its URL, go to it alone, and are shown nowhere. It sees the requests to
//! `http://` servers, the tokens in them included; to `https://` servers it opens a tunnel by CONNECT and sees no more
//! than their name.
//!
//! `ClientBuilder::proxy` sets one for every host, local ones included, `ClientBuilder::proxy_variables` takes the
//! variables from elsewhere, and `ClientBuilder::no_proxy` goes through none.
//!
//! # Unix sockets
//!
//! HTTP is spoken over the socket as over TCP. The URL does not say where the socket is but what requests name:
//! `http://localhost/mcp` if nothing else is wanted, whose host servers accept. In errors and logs the address is
//! `unix:PATH:/mcp`. Rights on the socket's file decide who may call; what speaks lines in place of HTTP is for
//! [`Client::over`](crate::Client::over).
//!
//! # Versions of HTTP
//!
//! Over TLS the server chooses, over plain TCP and Unix sockets it is HTTP/1.1. With
//! [`http2_prior_knowledge`](crate::ClientBuilder::http2_prior_knowledge) it is HTTP/2 without being asked for;
//! through a proxy that takes a tunnel, for plain `http://` too.
