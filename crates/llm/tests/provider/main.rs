//! The client against a fake provider: every fault, both protocols.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod budget;
mod child;
mod embeddings;
mod faults;
mod kept;
mod relay;
mod secrets;
mod tls;
mod wire;

use llm::{ChatClient, Endpoint, Endpoints, Message, Request, RetryPolicy, Role, Timeouts};
use std::time::Duration;
use support::provider::FakeProvider;

/// A key that occurs nowhere else.
const KEY: &str = "tEsT-pRiVaTe-0123456789";

/// An endpoint at `provider`, with short times.
fn endpoint(provider: &FakeProvider, protocol: &str, more: &str) -> Endpoint {
    let address = provider.address;
    let text = format!(
        "[endpoint.fake]\nprotocol = \"{protocol}\"\nbase_url = \"http://{address}/base\"\n{more}"
    );
    let endpoint = Endpoints::from_toml(&text).unwrap().endpoint("fake").unwrap();
    Endpoint {
        key: Some(llm::ApiKey::new(KEY).unwrap()),
        timeouts: Timeouts {
            connect: Duration::from_secs(5),
            first_byte: Duration::from_millis(400),
            idle: Duration::from_millis(300),
            all: Duration::from_secs(5),
        },
        retry: RetryPolicy {
            base: Duration::from_millis(1),
            most: Duration::from_millis(2),
            ..RetryPolicy::default()
        },
        ..endpoint
    }
}

fn client(provider: &FakeProvider, protocol: &str) -> ChatClient {
    ChatClient::new(endpoint(provider, protocol, ""), None).unwrap()
}

fn request(content: &str) -> Request {
    Request::new("m", vec![Message::new(Role::User, content)], 50)
}
