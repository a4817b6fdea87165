//! Encrypted connections, with an authority that only the endpoint's own file names.
//!
//! `certificates/` was made with `openssl req -x509` and `openssl x509 -req`; the key is for this test
//! alone, and the authority's was thrown away.

use crate::request;
use camino::Utf8Path;
use llm::{ChatClient, ChatModel as _, Endpoints, Purpose};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use std::sync::Arc;
use support::provider::{FakeProvider, hello};

const CERTIFICATES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/provider/certificates");

fn provider() -> FakeProvider {
    let certificate = CertificateDer::from_pem_file(format!("{CERTIFICATES}/server.pem")).unwrap();
    let key = PrivateKeyDer::from_pem_file(format!("{CERTIFICATES}/server.key.pem")).unwrap();
    let ring = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(ring)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .unwrap();
    FakeProvider::start_encrypted(Some(Arc::new(config)), |_, _| hello())
}

fn client(provider: &FakeProvider, more: &str) -> Result<ChatClient, llm::EndpointError> {
    let port = provider.address.port();
    let text = format!(
        "[endpoint.tls]\nprotocol = \"openai\"\nbase_url = \"https://localhost:{port}\"\n{more}"
    );
    let mut endpoint = Endpoints::from_toml(&text)?.endpoint("tls")?;
    endpoint.retry.tries = 1;
    ChatClient::new(endpoint, None)
}

#[test]
fn own_authority_is_trusted_if_its_file_is_named() {
    let provider = provider();
    let with = client(&provider, &format!("ca_file = \"{CERTIFICATES}/ca.pem\"")).unwrap();
    assert_eq!(with.complete(&request("hi"), &Purpose::default()).unwrap().text, "hello");
    let count = provider.count();
    // Where the system has no certificates at all, there is no client.
    if let Ok(without) = client(&provider, "") {
        let error = without.complete(&request("hi"), &Purpose::default()).unwrap_err();
        assert!(error.to_string().contains("certificate"), "{error}");
    }
    assert_eq!(provider.count(), count);
}

#[test]
fn file_without_certificates_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = Utf8Path::from_path(dir.path()).unwrap().join("ca.pem");
    fs_err::write(&path, "no certificate").unwrap();
    let error = client(&provider(), &format!("ca_file = \"{path}\"")).unwrap_err();
    assert!(error.to_string().contains("`ca_file`"), "{error}");
}
