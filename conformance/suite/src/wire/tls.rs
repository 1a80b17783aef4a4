//! TLS, by rustls.

use std::path::Path;
use std::sync::Arc;

use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::Verifier;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use super::http::Io;

/// Whom to trust. A cheap clone.
#[derive(Clone, Debug)]
pub(crate) struct Tls(Arc<ClientConfig>);

impl Tls {
    /// Trusts the roots in the file `ca`, PEM, or without one what the system trusts.
    ///
    /// # Errors
    /// Says why there are none.
    pub(crate) fn new(ca: Option<&Path>) -> Result<Self, String> {
        let provider = Arc::new(ring::default_provider());
        let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?;
        let config = match ca {
            Some(ca) => builder.with_root_certificates(roots(ca)?),
            None => {
                let verifier = Verifier::new(provider).map_err(|error| error.to_string())?;
                // The name is rustls': this verifier is what the system itself does.
                builder.dangerous().with_custom_certificate_verifier(Arc::new(verifier))
            }
        };
        Ok(Self(Arc::new(config.with_no_client_auth())))
    }

    /// Shakes hands with `host`, and agrees on the HTTP that is `spoken`, as ALPN names it.
    ///
    /// # Errors
    /// Says why they did not.
    pub(crate) async fn over(
        &self,
        stream: TcpStream,
        host: &str,
        spoken: &str,
    ) -> Result<Box<dyn Io>, String> {
        let name = host.trim_matches(['[', ']']).to_owned();
        let name = ServerName::try_from(name).map_err(|error| error.to_string())?;
        let mut config = (*self.0).clone();
        config.alpn_protocols = vec![spoken.into()];
        let connector = TlsConnector::from(Arc::new(config));
        let stream = connector.connect(name, stream).await.map_err(|error| error.to_string())?;
        Ok(Box::new(stream))
    }
}

fn roots(ca: &Path) -> Result<RootCertStore, String> {
    let unreadable = |error: &dyn std::fmt::Display| format!("{}: {error}", ca.display());
    let mut roots = RootCertStore::empty();
    for root in CertificateDer::pem_file_iter(ca).map_err(|error| unreadable(&error))? {
        let root = root.map_err(|error| unreadable(&error))?;
        roots.add(root).map_err(|error| unreadable(&error))?;
    }
    if roots.is_empty() { Err(unreadable(&"no certificate in it")) } else { Ok(roots) }
}
