//! Checks of servers.

mod endpoint;
mod target;

mod discover;

pub(crate) use endpoint::{Endpoint, Ways};
pub(crate) use target::{Cx, Offer, Target};

use crate::check::Check;

/// The checks, area by area.
pub(crate) const AREAS: &[&[Check]] = &[discover::CHECKS];
