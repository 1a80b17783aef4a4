//! Signing in, step by step.

mod redirect;

pub use redirect::{AuthorizationUrl, Redirect, RedirectHandler};
