//! A gateway to chat models, and a provider that does what a test says.

use crate::fixture::request;
use camino::Utf8PathBuf;
use fs_err as fs;
use llm::{Endpoints, PriceList};
use posttrain::gateway::{
    Caps, ChatGateway, GatewayError, GatewayHandle, GatewaySettings, GatewayTotals, OfferedModels,
    RunMoment, read_gateway_lines,
};
use serde_json::{Value, json};
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use support::folders::TemporaryFolder;
use support::provider::{FakeProvider, Piece, SeenRequest, answer};
use web::token::Token;

/// A key that occurs nowhere else.
pub(crate) const KEY: &str = "tEsT-pRiVaTe-0123456789";
pub(crate) const TOKEN: &str = "a token of the run";
const PRICES: &str = "[[price]]\nmodel = \"m\"\ninput = \"1\"\noutput = \"10\"\n";

/// A whole answer in OpenAI's protocol: nine tokens read and five written.
pub(crate) fn whole() -> Vec<Piece> {
    let body = json!({
        "id": "i", "object": "chat.completion", "created": 0, "model": "m-1",
        "choices": [{"index": 0, "finish_reason": "stop",
            "message": {"role": "assistant", "content": "hello"}}],
        "usage": {"prompt_tokens": 9, "completion_tokens": 5, "total_tokens": 14},
    });
    let headers = [("content-type", "application/json"), ("x-request-id", "r-1")];
    vec![Piece::Bytes(answer(200, &headers, &body.to_string()))]
}

pub(crate) fn failing(status: u16, headers: &[(&str, &str)]) -> Vec<Piece> {
    let body = r#"{"error":{"message":"no","type":"t","code":"c"}}"#;
    vec![Piece::Bytes(answer(status, headers, body))]
}

/// A provider, a gateway to it, and the folder of its run.
pub(crate) struct Gate {
    pub(crate) folder: TemporaryFolder,
    pub(crate) provider: FakeProvider,
    pub(crate) caps: Caps,
    pub(crate) is_recorded: bool,
    pub(crate) prices: &'static str,
}

/// A gateway that answers.
pub(crate) struct Open {
    pub(crate) address: SocketAddr,
    pub(crate) handle: GatewayHandle,
}

impl Gate {
    pub(crate) fn new(
        script: impl Fn(usize, &SeenRequest) -> Vec<Piece> + Send + Sync + 'static,
    ) -> Self {
        let (folder, provider) = (TemporaryFolder::new(), FakeProvider::start(script));
        Self { folder, provider, caps: Caps::default(), is_recorded: false, prices: PRICES }
    }

    pub(crate) fn settings(&self, models: &[&str]) -> GatewaySettings {
        let (address, folder) = (self.provider.address, self.folder.path());
        let key = folder.join("key");
        fs::write(&key, KEY).unwrap();
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o600);
        fs::set_permissions(&key, mode).unwrap();
        let endpoint = |name: &str, protocol: &str, url: &str| {
            format!(
                "[endpoint.{name}]\nprotocol = \"{protocol}\"\nbase_url = \"{url}\"\nkey_file = \"{key}\"\n"
            )
        };
        let text = endpoint("fake", "openai", &format!("http://{address}/v1"))
            + &endpoint("other", "anthropic", &format!("http://{address}"))
            + &endpoint("down", "openai", "http://127.0.0.1:1/v1");
        GatewaySettings {
            models: models.iter().map(|&name| name.to_owned()).collect(),
            caps: self.caps,
            endpoints: Endpoints::from_toml(&text).unwrap(),
            prices: PriceList::from_toml(self.prices).unwrap(),
            is_recorded: self.is_recorded,
        }
    }

    pub(crate) fn try_open(&self, models: &[&str], is_running: bool) -> Result<Open, GatewayError> {
        let token = Token::new(TOKEN, 16).unwrap();
        let now = move || RunMoment { used_ms: 4_100, is_running };
        let settings = self.settings(models);
        let gateway = ChatGateway::open(
            OfferedModels::open(&settings)?,
            &settings,
            self.folder.path(),
            token,
            now,
        )?;
        Ok(Open { address: gateway.address(), handle: gateway.start().unwrap() })
    }

    pub(crate) fn open(&self) -> Open {
        self.try_open(&["fake:m", "other:a", "down:d"], true).unwrap()
    }

    pub(crate) fn file(&self) -> Utf8PathBuf {
        self.folder.path().join("gateway.jsonl")
    }

    pub(crate) fn lines(&self) -> Vec<Value> {
        let text = fs::read_to_string(self.file()).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    pub(crate) fn last(&self) -> Value {
        self.lines().pop().unwrap()
    }

    pub(crate) fn totals(&self) -> GatewayTotals {
        GatewayTotals::of(&read_gateway_lines(&self.file()).unwrap())
    }
}

/// An answer: status, headers by name, body.
pub(crate) type Got = (u16, ureq::http::HeaderMap, String);

impl Open {
    pub(crate) fn send(&self, path: &str, headers: &[(&str, &str)], body: Option<&[u8]>) -> Got {
        let url = format!("http://{}{path}", self.address);
        let content_type = body.map(|_| ("content-type", "application/json"));
        let headers: Vec<_> = content_type.into_iter().chain(headers.iter().copied()).collect();
        let sent = request(&url, &headers, body);
        let mut sent = sent.unwrap();
        let text = sent.body_mut().read_to_string().unwrap_or_default();
        (sent.status().as_u16(), sent.headers().clone(), text)
    }

    pub(crate) fn ask(&self, path: &str, body: &Value) -> Got {
        let bearer = format!("Bearer {TOKEN}");
        self.send(path, &[("authorization", &bearer)], Some(body.to_string().as_bytes()))
    }

    pub(crate) fn chat(&self, more: &Value) -> Got {
        let mut body = json!({"model": "m", "messages": [{"role": "user", "content": "secret words"}],
            "max_tokens": 50});
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        self.ask("/v1/chat/completions", &body)
    }

    /// What comes back of bytes that no client sends.
    pub(crate) fn raw(&self, request: &str) -> String {
        let mut stream = TcpStream::connect(self.address).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut text = Vec::new();
        let _ = stream.read_to_end(&mut text);
        String::from_utf8(text).unwrap()
    }
}

pub(crate) fn error(got: &Got) -> Value {
    let body: Value = serde_json::from_str(&got.2).unwrap_or_else(|_| panic!("{got:?}"));
    assert_eq!(body["type"], "error", "{body}");
    body["error"].clone()
}
