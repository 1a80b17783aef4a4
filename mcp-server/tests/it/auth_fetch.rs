//! How the documents of issuers are fetched: over TLS, from those whose certificate is good.

use std::sync::Arc;

use bytes::Bytes;
use http::Request;
use mcp_server::auth::{Fetch, FetchError, HttpsFetch};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::PrivatePkcs8KeyDer;

use crate::support::within;

/// Somebody who signs certificates.
fn authority(name: &str) -> CertifiedIssuer<'static, KeyPair> {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.distinguished_name.push(rcgen::DnType::CommonName, name);
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}

/// The URL of a server that answers everything, with a certificate for `name`.
async fn server(authority: &CertifiedIssuer<'static, KeyPair>, name: &str) -> String {
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new([name.to_owned()]).unwrap();
    let certificate = params.signed_by(&key, authority).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(
            vec![certificate.der().clone()],
            PrivatePkcs8KeyDer::from(key.serialize_der()).into(),
        );
    let acceptor = TlsAcceptor::from(Arc::new(config.unwrap()));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            let Ok(mut stream) = acceptor.accept(stream).await else { continue };
            let mut read = Vec::new();
            while !read.ends_with(b"\r\n\r\n") && stream.read_buf(&mut read).await.unwrap() > 0 {}
            let reply = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok";
            stream.write_all(reply.as_bytes()).await.unwrap();
            let _ = stream.shutdown().await;
        }
    });
    format!("https://localhost:{port}/keys")
}

async fn get(fetch: &HttpsFetch, url: &str) -> Result<Bytes, FetchError> {
    let request = Request::get(url).body(Bytes::new()).unwrap();
    within(fetch.fetch(request)).await.map(http::Response::into_body)
}

#[tokio::test]
async fn certificates_are_verified() {
    let (known, stranger) = (authority("known"), authority("stranger"));
    let fetch = HttpsFetch::new().root_certificates(known.pem().as_bytes()).unwrap();
    let good = server(&known, "localhost").await;
    assert_eq!(get(&fetch, &good).await.unwrap(), "ok");
    for bad in [server(&known, "other.example").await, server(&stranger, "localhost").await] {
        assert!(get(&fetch, &bad).await.is_err());
    }
    // Without being told so the system trusts none of them.
    assert!(get(&HttpsFetch::new(), &good).await.is_err());
    // Nor is a server of TLS asked in the clear.
    assert!(get(&fetch, &good.replace("https", "http")).await.is_err());
}

#[test]
fn roots_that_are_none() {
    for pem in ["", "nothing", "-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----\n"] {
        assert!(HttpsFetch::new().root_certificates(pem.as_bytes()).is_err(), "{pem}");
    }
}
