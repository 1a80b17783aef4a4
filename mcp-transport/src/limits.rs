//! Every ceiling on what a peer can make this crate hold, by name and with its reason.
//!
//! What depends on the deployment (body, event and line sizes) is an argument of the decoder
//! concerned, and the constant here is its default.

/// How deep the containers of one message may nest, the envelope's own object included.
///
/// serde_json decodes at most 127 levels below the point where it starts; `params` and `result`
/// are decoded on their own, one level below the envelope, so whatever this limit admits can be
/// decoded as well.
pub const MAX_DEPTH: usize = 128;

/// Bytes of one request body that a server reads by default: 4 MiB.
///
/// Far above any tool call seen in practice (large arguments are files in base64), far below what
/// lets a few hundred connections exhaust a small machine.
pub const MAX_BODY: usize = 4 * 1024 * 1024;

/// Bytes of data in one SSE event, and of one JSON reply, that a client reads by default: 64 MiB.
///
/// A client chose its server, and tool results with embedded images reach tens of megabytes.
pub const MAX_EVENT: usize = 64 * 1024 * 1024;

/// Bytes of one line on a byte stream, its line end not counted, by default: 16 MiB.
///
/// One limit for both directions of a pipe, between the two limits of HTTP.
pub const MAX_LINE: usize = 16 * 1024 * 1024;

/// Bytes of the id of a request, and of a progress token, where they are strings.
///
/// Both come back with everything that is said about the request, and all of that may wait for a slow
/// reader. Several times what a client that packs a trace or a path into them needs.
pub const MAX_ID: usize = 1024;

/// Parameters of one tool that may be mirrored into headers.
///
/// Common HTTP servers refuse a request with more than 100 header lines; this leaves room for
/// those that a request needs anyway.
pub const MAX_PARAM_HEADERS: usize = 64;

/// Bytes of an `x-mcp-header` annotation, that is, of a header's name without its prefix.
///
/// Names are chosen by authors and written by hand; ten times the longest seen.
pub const MAX_PARAM_HEADER_NAME: usize = 255;

/// Bytes of one mirrored header value as it is sent.
///
/// Common proxies refuse a header line of more than 8 KiB, its name included, and do not say why
/// as clearly.
pub const MAX_HEADER_VALUE: usize = 8 * 1024 - 512;

/// Characters of a peer's value that an error message repeats; enough to recognise it.
pub const MAX_QUOTED: usize = 64;

/// Bytes of a signed token in compact form: 16 KiB.
///
/// It travels in a header, and common servers refuse a request whose headers are larger than that together.
#[cfg(feature = "jose")]
pub const MAX_JWT: usize = 16 * 1024;

/// Bytes of the header of a signed token, decoded: 4 KiB.
///
/// It holds a few names and, in a proof of possession, a public key, which is 1.4 KB at its largest.
#[cfg(feature = "jose")]
pub const MAX_JOSE_HEADER: usize = 4 * 1024;

/// Keys of one key set.
///
/// Issuers publish two to ten, the current and the next one of each kind.
#[cfg(feature = "jose")]
pub const MAX_JWKS_KEYS: usize = 128;

/// Challenges that are read of one response; servers offer one scheme or two.
#[cfg(feature = "auth")]
pub const MAX_CHALLENGES: usize = 16;

/// Parameters that are kept of one challenge; all that are known are a dozen.
#[cfg(feature = "auth")]
pub const MAX_CHALLENGE_PARAMS: usize = 32;

/// Scopes in one set. Providers with very fine ones have some hundred.
#[cfg(feature = "auth")]
pub const MAX_SCOPES: usize = 512;

/// Bytes of one scope. Those that are URLs come to a hundred.
#[cfg(feature = "auth")]
pub const MAX_SCOPE: usize = 256;
