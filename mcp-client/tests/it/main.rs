//! The client against scripted servers. Ids in comments are those of the field reports that a test answers.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "the helpers of tests are tests as well"
)]

mod answers;
mod broken;
mod cache;
mod catalog;
mod child;
mod connections;
mod headers;
mod input;
mod layers;
mod limits;
mod listen;
mod minimal;
#[cfg(feature = "oauth")]
mod oauth_calls;
#[cfg(feature = "oauth")]
mod oauth_discovery;
#[cfg(feature = "oauth")]
mod oauth_dpop;
#[cfg(feature = "oauth")]
mod oauth_endpoint;
#[cfg(feature = "oauth")]
mod oauth_ends;
#[cfg(feature = "oauth")]
mod oauth_enterprise;
#[cfg(feature = "oauth")]
mod oauth_http;
#[cfg(feature = "oauth")]
mod oauth_keeping;
#[cfg(feature = "oauth")]
mod oauth_registration;
#[cfg(feature = "oauth")]
mod oauth_secrets;
#[cfg(feature = "oauth")]
mod oauth_service;
#[cfg(feature = "oauth")]
mod oauth_sign_in;
#[cfg(feature = "oauth")]
mod oauth_store;
#[cfg(feature = "oauth")]
mod oauth_workload;
mod pages;
mod pipe;
mod probe;
#[cfg(feature = "proxy")]
mod proxy;
mod redirects;
mod reports;
mod retry;
mod spans;
mod streams;
mod support;
mod testing;
mod time;
#[cfg(feature = "tls")]
mod tls;
mod transport;
mod typed;
#[cfg(unix)]
mod unix;
#[cfg(feature = "validation")]
mod validation;
mod version;
mod wire;
