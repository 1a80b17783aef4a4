//! Everything that a peer could let grow, by name.

use std::time::Duration;

use tokio::sync::Semaphore;

/// The ceilings of a [`Server`](crate::Server). The default of each is the constant of its name.
///
/// ```
/// use mcp_server::{Limits, Server};
///
/// let mut limits = Limits::default();
/// limits.body = 64 * 1024;
/// let builder = Server::builder("small", "1.0.0").limits(limits);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Bytes of a request body, or of a line on a byte stream; over it the answer is 413 with -32600. Default is
    /// [`BODY`](Self::BODY).
    pub body: usize,
    /// How long a request body may take to arrive; over it the answer is 408. Default is
    /// [`BODY_TIME`](Self::BODY_TIME).
    pub body_time: Duration,
    /// How long a connection may take to say which HTTP it speaks and to bring the header section of its next
    /// request, idle time between requests included; over it the connection is closed. Default is [`HEADER_TIME`](Self::HEADER_TIME).
    pub header_time: Duration,
    /// How many header fields a request may have; over it the answer is 431. HTTP/1.1 only, HTTP/2 counts
    /// bytes: [`HEADER_BYTES`](Self::HEADER_BYTES). Default is [`HEADERS`](Self::HEADERS).
    pub headers: usize,
    /// How long a handler may work; over it the call is dropped and answered with -32603. Tools that run to
    /// completion go on unheard. Default is [`CALL_TIME`](Self::CALL_TIME).
    pub call_time: Duration,
    /// How long written bytes may wait for a peer that does not read; over it the connection, or the one
    /// HTTP/2 stream, is closed, and the calls it carries are cancelled. Standard output is waited for. Default is
    /// [`WRITE_STALL`](Self::WRITE_STALL).
    pub write_stall: Duration,
    /// Events of one call that wait to be written, because its peer reads slowly or because they were emitted
    /// without an `.await` in between; over it progress is coalesced and the oldest log message
    /// is dropped. Of a subscription, the different changes that wait; over it the subscription breaks off. Default is
    /// [`QUEUED_EVENTS`](Self::QUEUED_EVENTS).
    pub queued_events: usize,
    /// Exchanges under way at once; over it the answer is 503. Default is [`EXCHANGES`](Self::EXCHANGES).
    pub exchanges: usize,
    /// Exchanges under way at once for one caller, told apart by its [`Caller`](crate::Caller) or else by its
    /// address, the first 64 bits of it in IPv6; over it the answer is 429. Default is [`EXCHANGES_PER_CALLER`](Self::EXCHANGES_PER_CALLER).
    ///
    /// A byte stream counts as a caller of its own besides.
    ///
    /// Behind a proxy without authentication all callers have one address: set it to `exchanges` there.
    pub exchanges_per_caller: usize,
    /// Subscriptions open at once, which do not count as exchanges; over it the answer is 503 with -32603. Default is
    /// [`LISTENS`](Self::LISTENS).
    pub listens: usize,
    /// Subscriptions open at once for one caller, told apart as for
    /// [`exchanges_per_caller`](Self::exchanges_per_caller), byte streams too; over it the answer is 429 with -32603.
    /// Default is [`LISTENS_PER_CALLER`](Self::LISTENS_PER_CALLER).
    pub listens_per_caller: usize,
    /// Bytes of the resource URIs that one subscription may name, taken together; over it the answer is -32602.
    /// Default is [`LISTEN_URIS`](Self::LISTEN_URIS).
    pub listen_uris: usize,
    /// Connections open at once; over it new ones wait to be accepted. Default is
    /// [`CONNECTIONS`](Self::CONNECTIONS).
    pub connections: usize,
}

impl Limits {
    /// 4 MiB: what the TypeScript and Python SDKs take too, and well above any argument a model writes.
    pub const BODY: usize = 4 * 1024 * 1024;
    /// 30 s: 4 MiB over a 1.2 Mbit/s line.
    pub const BODY_TIME: Duration = Duration::from_secs(30);
    /// 60 s: what a client's next call may keep a connection waiting.
    pub const HEADER_TIME: Duration = Duration::from_secs(60);
    /// 100 fields: hyper's own choice, several times what this protocol and its proxies add.
    pub const HEADERS: usize = 100;
    /// 64 KiB of header fields, room for every mirrored parameter of a large tool; on HTTP/1.1 four times as much,
    /// what a connection buffers. Not configurable.
    pub const HEADER_BYTES: u32 = 64 * 1024;
    /// 10 min: longer work belongs into a task that is asked after.
    pub const CALL_TIME: Duration = Duration::from_secs(600);
    /// 30 s: TCP has retransmitted half a dozen times by then.
    pub const WRITE_STALL: Duration = Duration::from_secs(30);
    /// 64 events: more than a reader that keeps up ever has waiting.
    pub const QUEUED_EVENTS: usize = 64;
    /// 1,024 exchanges: each costs some KiB and what its handler holds.
    pub const EXCHANGES: usize = 1024;
    /// 256 exchanges: one caller cannot take all of them.
    pub const EXCHANGES_PER_CALLER: usize = 256;
    /// 1,024 subscriptions: each costs some KiB and, over HTTP/1.1, a connection for as long as it lasts.
    pub const LISTENS: usize = 1024;
    /// 64 subscriptions: a client needs one, and some open one for each of their windows.
    pub const LISTENS_PER_CALLER: usize = 64;
    /// 64 KiB of URIs: a thousand of the usual length, and 64 MiB when everybody makes the most of it.
    pub const LISTEN_URIS: usize = 64 * 1024;
    /// 4,096 connections: below the customary limit of open files where a service manager sets one.
    pub const CONNECTIONS: usize = 4096;
}

/// 30 years: longer than a server runs, and what clocks can add to the present.
pub(crate) const FOR_EVER: Duration = Duration::from_secs(30 * 365 * 24 * 60 * 60);

impl Limits {
    /// What clocks and semaphores can be given in place of "unlimited".
    pub(crate) fn representable(self) -> Self {
        Self {
            body_time: self.body_time.min(FOR_EVER),
            header_time: self.header_time.min(FOR_EVER),
            call_time: self.call_time.min(FOR_EVER),
            write_stall: self.write_stall.min(FOR_EVER),
            connections: self.connections.min(Semaphore::MAX_PERMITS),
            ..self
        }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            body: Self::BODY,
            body_time: Self::BODY_TIME,
            header_time: Self::HEADER_TIME,
            headers: Self::HEADERS,
            call_time: Self::CALL_TIME,
            write_stall: Self::WRITE_STALL,
            queued_events: Self::QUEUED_EVENTS,
            exchanges: Self::EXCHANGES,
            exchanges_per_caller: Self::EXCHANGES_PER_CALLER,
            listens: Self::LISTENS,
            listens_per_caller: Self::LISTENS_PER_CALLER,
            listen_uris: Self::LISTEN_URIS,
            connections: Self::CONNECTIONS,
        }
    }
}
