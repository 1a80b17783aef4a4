//! Checks of servers.

mod endpoint;
mod target;

mod discover;
mod http;

pub(crate) use endpoint::{Endpoint, Ways};
pub(crate) use target::{Cx, Offer, Target};

use crate::check::Check;

/// The checks, area by area.
pub(crate) const AREAS: &[&[Check]] = &[
    discover::CHECKS,
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
];
