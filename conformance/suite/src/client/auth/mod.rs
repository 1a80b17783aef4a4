//! Signing in, where a server wants tokens.

mod jws;
mod params;
mod state;
mod stranger;
mod trail;
mod visit;
mod world;

mod discovery;
mod issuer;
mod machine;
mod metadata;
mod migration;
mod pkce;
mod refresh;
mod registered;
mod registration;
mod resource;
mod scope;
mod step_up;
mod token;

pub(super) use discovery::CHECKS as DISCOVERY;
pub(super) use issuer::CHECKS as ISSUER;
pub(super) use machine::CHECKS as MACHINE;
pub(super) use metadata::CHECKS as METADATA;
pub(super) use migration::CHECKS as MIGRATION;
pub(super) use pkce::CHECKS as PKCE;
pub(super) use refresh::CHECKS as REFRESH;
pub(super) use registered::CHECKS as REGISTERED;
pub(super) use registration::CHECKS as REGISTRATION;
pub(super) use resource::CHECKS as RESOURCE;
pub(super) use scope::CHECKS as SCOPE;
pub(super) use step_up::CHECKS as STEP_UP;
pub(super) use token::CHECKS as TOKEN;
