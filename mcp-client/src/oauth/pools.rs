//! `Pools`: connections to whoever is named on the way to a token.

use std::collections::HashMap;
use std::future::ready;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use http::{Request, Uri};
use http_body_util::Full;

use super::url::Url;
use crate::endpoint::{HttpService, Network, Sent, Vet};
use crate::error::Error;
use crate::limits::Limits;

/// A pool for each origin, made when the first request goes there: proxy and TLS depend on it.
pub(crate) struct Pools {
    /// The way to the server, with its socket and its version of HTTP.
    own: Network,
    /// The way to everybody else.
    others: Network,
    server: String,
    made: Mutex<HashMap<String, Arc<dyn HttpService>>>,
}

impl Pools {
    pub(crate) fn new(network: &Network, server: &Url<'_>, vet: Arc<dyn Vet>) -> Self {
        let own = network.vetted(vet);
        let mut others = own.clone();
        others.http2 = false;
        #[cfg(unix)]
        {
            others.socket = None;
        }
        Self { own, others, server: server.origin_key(), made: Mutex::default() }
    }

    fn to(&self, uri: &Uri) -> Result<Arc<dyn HttpService>, Error> {
        let text = uri.to_string();
        let url = Url::parse(&text).map_err(|why| Error::usage(format!("the URL {why}")))?;
        let key = url.origin_key();
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(pool) = made.get(&key) {
            return Ok(Arc::clone(pool));
        }
        let network = if key == self.server { &self.own } else { &self.others };
        let pool: Arc<dyn HttpService> = network.pool(uri)?.into();
        // Whoever makes up origins gets their connections closed, and nothing worse.
        if made.len() >= Limits::OAUTH_ORIGINS {
            made.clear();
        }
        made.insert(key, Arc::clone(&pool));
        Ok(pool)
    }
}

impl HttpService for Pools {
    fn send(&self, request: Request<Full<Bytes>>) -> Sent {
        match self.to(request.uri()) {
            Ok(pool) => pool.send(request),
            Err(error) => Box::pin(ready(Err(error.into()))),
        }
    }
}
