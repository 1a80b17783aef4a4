//! `Protocol`: which HTTP is spoken on a connection, and how much of it.

use hyper::server::conn::http1;
#[cfg(feature = "http2")]
use hyper::server::conn::http2;
use hyper_util::rt::TokioTimer;

#[cfg(feature = "http2")]
use super::streams::Streams;
use crate::limits::Limits;

/// What connections are made with, HTTP/2 for clients that begin with its preface.
pub(super) struct Protocol {
    pub(super) http1: http1::Builder,
    #[cfg(feature = "http2")]
    pub(super) http2: http2::Builder<Streams>,
}

impl Protocol {
    pub(super) fn new(limits: &Limits) -> Self {
        let mut http1 = http1::Builder::new();
        http1.timer(TokioTimer::new()).header_read_timeout(limits.header_time).max_buf_size(BUFFER);
        if limits.headers != Limits::HEADERS {
            // hyper keeps its own default, the same number, without an allocation.
            http1.max_headers(limits.headers);
        }
        #[cfg(feature = "http2")]
        let http2 = {
            let mut http2 = http2::Builder::new(Streams { stall: limits.write_stall });
            http2
                .timer(TokioTimer::new())
                .keep_alive_interval(super::accept::PROBE_AFTER)
                .keep_alive_timeout(PONG_TIME)
                .max_concurrent_streams(STREAMS)
                .max_header_list_size(Limits::HEADER_BYTES);
            http2
        };
        Self {
            http1,
            #[cfg(feature = "http2")]
            http2,
        }
    }
}

/// What a connection may buffer of a body in between; the head of a request has to fit too.
const BUFFER: usize = Limits::HEADER_BYTES as usize * 4;

/// As many calls as one connection may have under way: each may leave a last piece of its reply waiting.
#[cfg(feature = "http2")]
const STREAMS: u32 = 100;

/// How long the answer to an HTTP/2 ping may take.
#[cfg(feature = "http2")]
const PONG_TIME: std::time::Duration = std::time::Duration::from_secs(20);
