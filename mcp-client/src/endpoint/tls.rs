//! TLS, by rustls.

use std::error::Error as StdError;
use std::io;
use std::sync::Arc;

use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use rustls::ClientConfig;
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls_platform_verifier::Verifier;

use crate::error::{BoxError, Error};

/// Whom to trust, and as whom to appear.
#[derive(Clone)]
pub(crate) enum Tls {
    /// What the system trusts, and these roots.
    System(Vec<CertificateDer<'static>>),
    Given(Box<ClientConfig>),
}

impl Default for Tls {
    fn default() -> Self {
        Self::System(Vec::new())
    }
}

impl Tls {
    /// Trusts the root certificates in `pem`, too.
    ///
    /// # Errors
    /// When there are none, or one that cannot be read; or roots have been decided about.
    pub(crate) fn trust(&mut self, pem: &[u8]) -> Result<(), Error> {
        let Self::System(roots) = self else {
            return Err(Error::usage("the TLS configuration has roots of its own"));
        };
        let before = roots.len();
        for root in CertificateDer::pem_slice_iter(pem) {
            let unreadable = "a root certificate cannot be read";
            roots.push(root.map_err(|error| Error::usage(unreadable).caused_by(error))?);
        }
        if roots.len() == before {
            return Err(Error::usage("there is no certificate in PEM"));
        }
        Ok(())
    }

    /// Speaks TLS with the server over what `connector` connects to, and agrees on HTTP/2 or HTTP/1.1; with
    /// `http2` on that alone.
    ///
    /// # Errors
    /// When the system has no roots, or what was given cannot be used.
    pub(crate) fn server_connector<C>(
        &self,
        connector: C,
        http2: bool,
    ) -> Result<HttpsConnector<C>, Error> {
        let builder = HttpsConnectorBuilder::new().with_tls_config(self.config()?).https_or_http();
        let builder = if http2 { builder.enable_http2() } else { builder.enable_all_versions() };
        Ok(builder.wrap_connector(connector))
    }

    /// Speaks TLS with a proxy, and HTTP/1.1 with what is in front of its tunnels.
    ///
    /// # Errors
    /// As of [`server_connector`](Self::server_connector).
    pub(crate) fn proxy_connector<C>(&self, connector: C) -> Result<HttpsConnector<C>, Error> {
        let builder = HttpsConnectorBuilder::new().with_tls_config(self.config()?).https_or_http();
        Ok(builder.enable_http1().wrap_connector(connector))
    }

    fn config(&self) -> Result<ClientConfig, Error> {
        match self {
            Self::System(roots) => {
                system(roots).map_err(|error| Error::usage("TLS cannot be set up").caused_by(error))
            }
            Self::Given(config) => {
                let mut config = (**config).clone();
                // hyper-rustls sets them, and panics where they are set.
                config.alpn_protocols.clear();
                Ok(config)
            }
        }
    }
}

fn system(roots: &[CertificateDer<'static>]) -> Result<ClientConfig, rustls::Error> {
    let installed = CryptoProvider::get_default().cloned();
    let provider = installed.unwrap_or_else(|| Arc::new(ring::default_provider()));
    let verifier = Verifier::new_with_extra_roots(roots.iter().cloned(), Arc::clone(&provider))?;
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        // The name is rustls': this verifier is what the system itself does.
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier));
    Ok(config.with_no_client_auth())
}

/// What rustls says of a handshake that failed, which comes wrapped twice.
pub(super) fn reason(error: BoxError) -> BoxError {
    match error.downcast::<io::Error>() {
        Ok(error) if wraps(&error) => match error.into_inner() {
            Some(inner) => reason(inner),
            None => "no reason is known".into(),
        },
        Ok(error) => error,
        Err(error) => error,
    }
}

/// Whether it was a certificate of the other side that did not verify.
pub(super) fn is_refusal(error: &(dyn StdError + 'static)) -> bool {
    match error.downcast_ref() {
        Some(rustls::Error::InvalidCertificate(_)) => true,
        _ => error.source().is_some_and(is_refusal),
    }
}

fn wraps(error: &io::Error) -> bool {
    error.get_ref().is_some_and(|inner| inner.is::<io::Error>() || inner.is::<rustls::Error>())
}
