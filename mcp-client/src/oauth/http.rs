//! `Fetcher`: the requests that it takes to get tokens.

use std::fmt;
use std::sync::Arc;

use super::policy::Policy;
use crate::endpoint::{HttpService, Network};
use crate::error::Error;

/// Sends the requests that it takes to get tokens for one server, over the HTTP that its client uses. A cheap clone.
#[derive(Clone)]
pub struct Fetcher {
    shared: Arc<Shared>,
}

struct Shared {
    service: Arc<dyn HttpService>,
    server: Box<str>,
    policy: Policy,
}

impl Fetcher {
    /// Over what the application brought, a connector or a service.
    ///
    /// # Errors
    /// When `server` is no URL of HTTP.
    pub(crate) fn over(
        service: Arc<dyn HttpService>,
        server: &str,
        policy: Policy,
    ) -> Result<Self, Error> {
        Ok(Self { shared: Arc::new(Shared { service, server: server.into(), policy }) })
    }

    /// Over connections of its own, made as those of `network` are.
    ///
    /// # Errors
    /// When `server` is no URL of HTTP, or the network cannot be set up.
    pub(crate) fn of_network(
        network: &Network,
        server: &str,
        policy: Policy,
    ) -> Result<Self, Error> {
        let service = network.endpoint(crate::endpoint::parse_url(server)?, &Default::default())?;
        Self::over(service.service(), server, policy)
    }

    /// The URL of the server, as it was set.
    pub fn server(&self) -> &str {
        &self.shared.server
    }

    pub(crate) fn policy(&self) -> &Policy {
        &self.shared.policy
    }
}

impl fmt::Debug for Fetcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fetcher").finish_non_exhaustive()
    }
}
