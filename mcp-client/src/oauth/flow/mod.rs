//! Signing in, step by step. Each step takes what the one before it has found and checked.
//!
//! `Fetcher → Discovered → Identified → Registered → Pending → Received → Granted`

mod pending;
mod redirect;
mod steps;

pub use pending::{Pending, Received};
pub use redirect::{AuthorizationUrl, Redirect, RedirectHandler};
pub use steps::{Discovered, Identified, Registered};
