//! Checks of servers.

mod callable;
mod content;
mod listening;
mod lists;
mod rounds;
mod session;
mod target;
mod uri;

mod caching;
mod completion;
mod discover;
mod elicitation;
mod features;
mod logging;
mod pagination;
mod prompts;
mod resources;
mod roots;
mod sampling;
mod schema;
mod tasks;

mod tools;

pub(crate) use lists::INVALID;
pub(crate) use rounds::asks;
pub(crate) use session::{INTERNAL, Session};
pub(crate) use target::{Cx, Offer, Target};

use crate::check::Check;

/// The checks, area by area.
pub(crate) const AREAS: &[&[Check]] = &[
    discover::CHECKS,
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
];

/// The code of a capability that the client lacks.
pub(crate) const LACKING: i64 = -32021;
