//! Connections to hosts that strangers name: the addresses are looked at before they are connected to.

use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::vec;

use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::dns::Name;
use tower_service::Service;

use super::connect::tcp_with;
use crate::error::BoxError;

/// Says which addresses of a host may be connected to.
pub(crate) trait Vet: Send + Sync {
    /// # Errors
    /// When this one must not.
    fn vet(&self, host: &str, address: IpAddr) -> Result<(), BoxError>;
}

/// Plain TCP to addresses that `vet` lets pass. Literal addresses do not come by here.
pub(super) fn vetted_tcp(vet: &Arc<dyn Vet>) -> HttpConnector<VettedResolver> {
    tcp_with(VettedResolver(Arc::clone(vet)))
}

/// Looks names up, and gives those addresses alone that pass.
#[derive(Clone)]
pub(super) struct VettedResolver(Arc<dyn Vet>);

impl Service<Name> for VettedResolver {
    type Response = vec::IntoIter<SocketAddr>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, _cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, name: Name) -> Self::Future {
        let vet = Arc::clone(&self.0);
        Box::pin(async move {
            let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
            Ok(vetted(&*vet, name.as_str(), found)?.into_iter())
        })
    }
}

/// The addresses of `host` that pass.
///
/// # Errors
/// When there is none: why the last did not.
pub(super) fn vetted(
    vet: &dyn Vet,
    host: &str,
    found: impl Iterator<Item = SocketAddr>,
) -> Result<Vec<SocketAddr>, BoxError> {
    let mut refused = None;
    let mut passed = Vec::new();
    for address in found {
        match vet.vet(host, address.ip()) {
            Ok(()) => passed.push(address),
            Err(why) => refused = Some(why),
        }
    }
    match refused {
        Some(why) if passed.is_empty() => Err(why),
        None if passed.is_empty() => Err(io::Error::other("the host has no address").into()),
        _ => Ok(passed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Even;

    impl Vet for Even {
        fn vet(&self, host: &str, address: IpAddr) -> Result<(), BoxError> {
            match address {
                IpAddr::V4(address) if address.octets()[3] % 2 == 0 => Ok(()),
                _ => Err(format!("{host} is odd").into()),
            }
        }
    }

    fn passed(addresses: &[&str]) -> Result<Vec<SocketAddr>, String> {
        let found = addresses.iter().map(|address| address.parse().unwrap());
        vetted(&Even, "h", found).map_err(|error| error.to_string())
    }

    #[test]
    fn what_does_not_pass_is_not_there() {
        let passed_of = passed(&["1.1.1.1:0", "1.1.1.2:0"]).unwrap();
        assert_eq!(passed_of, ["1.1.1.2:0".parse().unwrap()]);
        assert_eq!(passed(&["1.1.1.1:0"]).unwrap_err(), "h is odd");
        assert_eq!(passed(&[]).unwrap_err(), "the host has no address");
    }

    #[tokio::test]
    async fn names_lead_to_addresses_that_pass() {
        let mut resolver = VettedResolver(Arc::new(Even));
        let error = resolver.call("localhost".parse().unwrap()).await.unwrap_err();
        assert_eq!(error.to_string(), "localhost is odd");
    }
}
