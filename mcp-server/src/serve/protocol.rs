//! `Protocol`: which HTTP is spoken on a connection, and how much of it.

use std::convert::Infallible;

use http::{Request, Response};
use hyper::body::Incoming;
use hyper::rt::{Read, Write};
use hyper::service::Service;
use hyper_util::rt::TokioTimer;
use hyper_util::server::graceful::GracefulConnection;

use crate::limits::Limits;
use crate::reply::Body;
use crate::service::ResponseFuture;

/// HTTP/1.1, or HTTP/2 for a client that begins with its preface.
#[cfg(feature = "http2")]
type Builder = hyper_util::server::conn::auto::Builder<super::streams::Streams>;
/// HTTP/1.1.
#[cfg(not(feature = "http2"))]
type Builder = hyper::server::conn::http1::Builder;

pub(super) struct Protocol(Builder);

type BoxError = Box<dyn std::error::Error + Send + Sync>;

impl Protocol {
    #[cfg(feature = "http2")]
    pub(super) fn new(limits: &Limits) -> Self {
        let mut builder = Builder::new(super::streams::Streams { stall: limits.write_stall });
        builder
            .http1()
            .timer(TokioTimer::new())
            .header_read_timeout(limits.header_time)
            .max_buf_size(BUFFER);
        builder
            .http2()
            .timer(TokioTimer::new())
            .keep_alive_interval(super::accept::PROBE_AFTER)
            .keep_alive_timeout(PONG_TIME)
            .max_concurrent_streams(STREAMS)
            .max_header_list_size(Limits::HEADER_BYTES);
        if limits.headers != Limits::HEADERS {
            builder.http1().max_headers(limits.headers);
        }
        Self(builder)
    }

    #[cfg(not(feature = "http2"))]
    pub(super) fn new(limits: &Limits) -> Self {
        let mut builder = Builder::new();
        builder
            .timer(TokioTimer::new())
            .header_read_timeout(limits.header_time)
            .max_buf_size(BUFFER);
        if limits.headers != Limits::HEADERS {
            // hyper keeps its own default, the same number, without an allocation.
            builder.max_headers(limits.headers);
        }
        Self(builder)
    }

    /// A connection to be polled to its end.
    pub(super) fn connection<I, S>(
        &self,
        io: I,
        service: S,
    ) -> impl GracefulConnection<Error: Into<BoxError>> + use<'_, I, S>
    where
        I: Read + Write + Unpin + Send + 'static,
        S: Service<
                Request<Incoming>,
                Response = Response<Body>,
                Error = Infallible,
                Future = ResponseFuture,
            > + Send
            + 'static,
    {
        self.0.serve_connection(io, service)
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
