//! Checks of clients: servers that play a part, and what clients make of them.

mod answer;
mod asking;
mod bridge;
mod play;
mod script;
mod serve;
mod trap;

mod base;
mod caching;
mod discover;
mod elicitation;
mod giving_up;
mod http;
mod listening;
mod offers;
mod pagination;
mod process;
mod progress;
mod roots;
mod rounds;
mod sampling;
mod schema;
mod tasks;
mod tools;

pub(crate) use answer::{Answer, good, result_of};
pub(crate) use bridge::{Manners, bridge};
pub(crate) use play::{Cx, Played, Seen};

use crate::check::Check;

/// The checks, area by area.
pub(crate) const AREAS: &[&[Check]] = &[
    base::RPC_CHECKS,
    base::RESULT_CHECKS,
    base::META_CHECKS,
    base::SCHEMA_CHECKS,
    base::VERSION_CHECKS,
    http::POST_CHECKS,
    http::ANSWER_CHECKS,
    http::EVENT_CHECKS,
    http::PARAM_CHECKS,
    progress::CHECKS,
    giving_up::CHECKS,
    listening::CHECKS,
    rounds::CHECKS,
    process::CHECKS,
    discover::CHECKS,
    schema::CHECKS,
    tools::CHECKS,
    tools::HEADER_CHECKS,
    offers::CHECKS,
    pagination::CHECKS,
    caching::CHECKS,
    elicitation::CHECKS,
    sampling::CHECKS,
    roots::CHECKS,
    tasks::CHECKS,
    tasks::INPUT_CHECKS,
];
