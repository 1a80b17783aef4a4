//! Peers made of bytes: what they send is what a check wrote, and what they see is what came.
//!
//! None of it is shared with the server and the client of this project.

pub(crate) mod exchange;
mod frames;
pub(crate) mod gathered;
pub(crate) mod group;
pub(crate) mod h2;
pub(crate) mod http;
pub(crate) mod json;
pub(crate) mod keys;
pub(crate) mod line;
pub(crate) mod log;
pub(crate) mod message;
pub(crate) mod record;
pub(crate) mod sse;
pub(crate) mod tls;

pub(crate) use exchange::{Below, Open, Reply};
pub(crate) use gathered::Gathered;
pub(crate) use group::Group;
pub(crate) use http::{Head, Post};
pub(crate) use log::Log;
pub(crate) use message::Message;
pub(crate) use record::{Noted, Record};
