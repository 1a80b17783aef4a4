//! Checks of clients: servers that play a part, and what clients make of them.

mod answer;
mod bridge;
mod play;
mod serve;

mod discover;

pub(crate) use answer::{Answer, good, result_of};
pub(crate) use bridge::bridge;
pub(crate) use play::{Cx, Played, Seen};

use crate::check::Check;

/// The checks, area by area.
pub(crate) const AREAS: &[&[Check]] = &[discover::CHECKS];
