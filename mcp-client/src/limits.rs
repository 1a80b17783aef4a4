//! Everything that a server could let grow or keep waiting, by name.

use std::time::Duration;

use mcp_transport::limits::MAX_EVENT;

/// The ceilings of a [`Client`](crate::Client). The default of each is the constant of its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Bytes of a JSON reply, and of all pages of a list that is read as a whole. Default is [`BODY`](Self::BODY).
    pub body: usize,
    /// Bytes of one event of a stream, or of one line where lines carry messages. Default is [`EVENT`](Self::EVENT).
    pub event: usize,
    /// Bytes of a JSON body under an error status; one that is longer counts as no JSON. Default is
    /// [`ERROR_BODY`](Self::ERROR_BODY).
    pub error_body: usize,
    /// Tools whose mirrored parameters and output schemas are remembered; over it the one longest not seen in a list
    /// is forgotten. Default is [`CATALOG_TOOLS`](Self::CATALOG_TOOLS).
    pub catalog_tools: usize,
    /// Bytes of names and schemas that the remembered tools may have; over it likewise. Default is
    /// [`CATALOG_BYTES`](Self::CATALOG_BYTES).
    pub catalog_bytes: usize,
    /// How often one call answers a server that asks for input. Default is
    /// [`INPUT_ROUNDS`](Self::INPUT_ROUNDS).
    pub input_rounds: usize,
    /// Answers in the client's own cache. Default is [`CACHE_ENTRIES`](Self::CACHE_ENTRIES).
    pub cache_entries: usize,
    /// Bytes of the answers in the client's own cache. Default is [`CACHE_BYTES`](Self::CACHE_BYTES).
    pub cache_bytes: usize,
}

impl Limits {
    /// 64 MiB: tool results with embedded images reach tens of megabytes, and a client chose its server.
    pub const BODY: usize = MAX_EVENT;
    /// 64 MiB, as for a JSON reply: a result may come in either.
    pub const EVENT: usize = MAX_EVENT;
    /// 1 MiB: an error object says why and perhaps what, but carries no content.
    pub const ERROR_BODY: usize = 1024 * 1024;
    /// 1,024 tools: more than a model can choose from. Only tools that mirror parameters or, with the feature
    /// `validation`, have an output schema count.
    pub const CATALOG_TOOLS: usize = 1024;
    /// 4 MiB: room for 1,024 tools with schemas of 4 KiB.
    pub const CATALOG_BYTES: usize = 4 * 1024 * 1024;
    /// 10 rounds: a form of many pages fits in, a server that asks for ever is stopped before the user loses
    /// patience.
    pub const INPUT_ROUNDS: usize = 10;
    /// 64 requests for input in one round, all of which are answered at the same time: far more than a user has
    /// patience for. Not configurable.
    pub const INPUT_REQUESTS: usize = 64;
    /// 256 answers: all lists of a server and the resources that an application has open.
    pub const CACHE_ENTRIES: usize = 256;
    /// 16 MiB of answers: lists are a few hundred kilobytes at most, and large resources are better read again
    /// than kept.
    pub const CACHE_BYTES: usize = 16 * 1024 * 1024;

    /// 5 redirects followed for one request, as browsers' `fetch` implementations for servers do. Not
    /// configurable.
    pub const REDIRECTS: usize = 5;
    /// 8 requests with one token or another are made for one: a renewed one, that of a sign-in and those with more scopes,
    /// and what other calls got meanwhile. Not configurable.
    #[cfg(feature = "oauth")]
    pub const TOKENS: usize = 8;
    /// 64 pages of tools read to find the one whose headers were refused: with pages of 100 tools, far
    /// above any list in use. Not configurable.
    pub const REFRESH_PAGES: usize = 64;
    /// 1,000 pages of one list are read by [`Pages`](crate::Pages): with pages of 100 entries, more than any
    /// server in use has, and an end to lists that have none. Not configurable.
    pub const PAGES: usize = 1000;
    /// 250 ms before a request is repeated for a server that asks for nothing but that: it waits for something,
    /// and should not be asked at the speed of the network. Not configurable.
    pub const STATE_PAUSE: Duration = Duration::from_millis(250);
    /// 16 requests wait to be written to a byte stream; more wait with their callers, whose time counts. Not
    /// configurable.
    pub const PIPE_WRITES: usize = 16;
    /// 1,024 messages of one call or subscription over a byte stream wait to be read. Beyond that progress and
    /// logs are dropped, and a subscription is lost. Not configurable.
    pub const PIPE_MESSAGES: usize = 1024;
    /// 16 MiB of such messages, the response not counted. Not configurable.
    pub const PIPE_BYTES: usize = 16 * 1024 * 1024;
    /// 10 lines on a byte stream that are no messages are warned of: enough to see what they are. Not
    /// configurable.
    pub const JUNK_WARNINGS: usize = 10;
    /// 10 entries of one page of a list are warned of that are left out, since they break the rules: enough to see what
    /// is wrong with them. Not configurable.
    pub const LIST_WARNINGS: usize = 10;
    /// 1 KiB of a body that is no JSON-RPC is read for an error's text. Not configurable.
    pub const EXCERPT_BYTES: usize = 1024;
    /// 200 characters of a peer's text stand in an error's message: enough to recognise a page or a
    /// proxy. Not configurable.
    pub const EXCERPT: usize = 200;
    /// 5 s for the body under an error status: the status alone is worth more than waiting. Not
    /// configurable.
    pub const ERROR_BODY_TIME: Duration = Duration::from_secs(5);
    /// 100 ms for a stream to end behind its response, so that its connection can be used again; one that
    /// stays open longer is cut off. Not configurable.
    pub const STREAM_END: Duration = Duration::from_millis(100);
    /// 10 s to connect, through proxies and TLS where they are: three tries of TCP's own. Not configurable.
    pub const CONNECT_TIME: Duration = Duration::from_secs(10);
    /// 32 idle connections are kept, one for each of as many calls at once. Not configurable.
    pub const IDLE_CONNECTIONS: usize = 32;
    /// 30 s that a connection is kept idle: less than servers and proxies commonly grant, so that no call goes into
    /// one that is being closed. Not configurable.
    pub const IDLE_TIME: Duration = Duration::from_secs(30);
    /// 30 s between the pings of a busy HTTP/2 connection, and before TCP probes an idle one: finds out
    /// peers that vanished well before a call's time is up. Not configurable.
    pub const PROBE_AFTER: Duration = Duration::from_secs(30);
    /// 256 KiB of an answer on the way to an access token: metadata of large providers have some 10 KiB. Not configurable.
    #[cfg(feature = "oauth")]
    pub const OAUTH_BODY: usize = 256 * 1024;
    /// 30 s for one request on the way to an access token, with its answer. Not configurable.
    #[cfg(feature = "oauth")]
    pub const OAUTH_TIME: Duration = Duration::from_secs(30);
    /// 8 authorization servers of one resource are looked at: one is customary. Not configurable.
    #[cfg(feature = "oauth")]
    pub const OAUTH_ISSUERS: usize = 8;
    /// 16 origins to which connections are kept on the way to an access token: a server and its authorization server are
    /// two. Not configurable.
    #[cfg(feature = "oauth")]
    pub const OAUTH_ORIGINS: usize = 16;
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            body: Self::BODY,
            event: Self::EVENT,
            error_body: Self::ERROR_BODY,
            catalog_tools: Self::CATALOG_TOOLS,
            catalog_bytes: Self::CATALOG_BYTES,
            input_rounds: Self::INPUT_ROUNDS,
            cache_entries: Self::CACHE_ENTRIES,
            cache_bytes: Self::CACHE_BYTES,
        }
    }
}
