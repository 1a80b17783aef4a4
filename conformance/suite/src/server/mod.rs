//! Checks of servers.

mod endpoint;
mod raw;
mod talk;
mod target;

mod cancel;
mod discover;
mod http;
mod listen;
mod meta;
mod mrtr;
mod progress;
mod rpc;
mod stdio;

pub(crate) use endpoint::{Endpoint, Ways};
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
    listen::end::LAST,
];
