//! Checks of servers.

mod callable;
mod content;
mod endpoint;
mod listening;
mod lists;
mod raw;
mod rounds;
mod session;
mod talk;
mod target;
mod uri;

mod auth;
mod caching;
mod cancel;
mod completion;
mod discover;
mod elicitation;
mod features;
mod http;
mod listen;
mod logging;
mod meta;
mod mrtr;
mod pagination;
mod progress;
mod prompts;
mod resources;
mod roots;
mod rpc;
mod sampling;
mod schema;
mod stdio;
mod tasks;
mod tools;

pub(crate) use auth::Tokens;
pub(crate) use endpoint::{Endpoint, Ways};
pub(crate) use lists::INVALID;
pub(crate) use rounds::asks;
pub(crate) use session::{INTERNAL, Session};
pub(crate) use target::{Cx, Offer, Target};

use crate::check::Check;

/// The checks, area by area.
pub(crate) const AREAS: &[&[Check]] = &[
    discover::CHECKS,
    progress::CHECKS,
    cancel::CHECKS,
    listen::begin::CHECKS,
    listen::filter::CHECKS,
    listen::end::CHECKS,
    listen::updates::CHECKS,
    stdio::CHECKS,
    meta::capability::CHECKS,
    meta::required::CHECKS,
    meta::said::CHECKS,
    meta::state::CHECKS,
    meta::version::CHECKS,
    mrtr::asks::CHECKS,
    mrtr::responses::CHECKS,
    mrtr::state::CHECKS,
    rpc::body::CHECKS,
    rpc::code::CHECKS,
    rpc::keys::CHECKS,
    rpc::notification::CHECKS,
    rpc::record::CHECKS,
    rpc::schema::CHECKS,
    rpc::text::CHECKS,
    http::endpoint::CHECKS,
    http::framing::CHECKS,
    http::body::CHECKS,
    http::stream::CHECKS,
    http::cancel::CHECKS,
    http::origin::CHECKS,
    http::earlier::CHECKS,
    http::version::CHECKS,
    http::name::CHECKS,
    http::header::CHECKS,
    http::order::CHECKS,
    http::param::CHECKS,
    http::flood::CHECKS,
    auth::said::CHECKS,
    auth::first::CHECKS,
    auth::bad::CHECKS,
    auth::form::CHECKS,
    auth::document::CHECKS,
    auth::dpop::CHECKS,
    features::CHECKS,
    tools::CHECKS,
    prompts::CHECKS,
    resources::CHECKS,
    caching::CHECKS,
    pagination::CHECKS,
    completion::CHECKS,
    logging::CHECKS,
    elicitation::CHECKS,
    sampling::CHECKS,
    roots::CHECKS,
    tasks::CHECKS,
    schema::CHECKS,
    listen::end::LAST,
];

/// The code of a capability that the client lacks.
pub(crate) const LACKING: i64 = -32021;
