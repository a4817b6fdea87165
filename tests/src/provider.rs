//! A provider of chat models on this machine that answers as a test says, byte by byte.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// What a test does with a connection.
#[derive(Debug, Clone)]
pub enum Piece {
    /// Sends bytes.
    Bytes(Vec<u8>),
    /// Waits.
    Wait(Duration),
    /// Closes the connection.
    Close,
}

/// A request that came in.
#[derive(Debug, Clone)]
pub struct SeenRequest {
    /// The request line and the headers.
    pub head: String,
    /// The body, with a replacement character for what is no UTF-8.
    pub body: String,
    /// The body as it came.
    pub bytes: Vec<u8>,
}

/// A running provider. Its threads end with the process.
#[derive(Debug)]
pub struct FakeProvider {
    pub address: SocketAddr,
    seen: Arc<Mutex<Vec<SeenRequest>>>,
}

impl FakeProvider {
    /// Starts one that answers the `n`-th request, from 0, with `script(n, request)`.
    pub fn start(
        script: impl Fn(usize, &SeenRequest) -> Vec<Piece> + Send + Sync + 'static,
    ) -> Self {
        Self::start_encrypted(None, script)
    }

    /// The same, over TLS if there is a configuration.
    pub fn start_encrypted(
        tls: Option<Arc<rustls::ServerConfig>>,
        script: impl Fn(usize, &SeenRequest) -> Vec<Piece> + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let seen: Arc<Mutex<Vec<SeenRequest>>> = Arc::default();
        let (script, requests) = (Arc::new(script), Arc::clone(&seen));
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (script, requests) = (Arc::clone(&script), Arc::clone(&requests));
                let tls = tls.clone();
                thread::spawn(move || {
                    let mut stream = stream.unwrap();
                    stream.set_nodelay(true).unwrap();
                    match tls {
                        None => serve(&mut stream, &*script, &requests),
                        Some(tls) => {
                            let connection = rustls::ServerConnection::new(tls).unwrap();
                            let mut stream = rustls::StreamOwned::new(connection, stream);
                            serve(&mut stream, &*script, &requests);
                        }
                    }
                });
            }
        });
        Self { address, seen }
    }

    /// The number of requests so far.
    pub fn count(&self) -> usize {
        self.seen.lock().unwrap().len()
    }

    /// All requests so far.
    pub fn seen(&self) -> Vec<SeenRequest> {
        self.seen.lock().unwrap().clone()
    }
}

fn serve(
    stream: &mut (impl Read + Write),
    script: &dyn Fn(usize, &SeenRequest) -> Vec<Piece>,
    requests: &Mutex<Vec<SeenRequest>>,
) {
    while let Some(request) = read_request(stream) {
        let number = {
            let mut requests = requests.lock().unwrap();
            requests.push(request.clone());
            requests.len() - 1
        };
        for piece in script(number, &request) {
            match piece {
                Piece::Bytes(bytes) => {
                    // The client may have gone.
                    if stream.write_all(&bytes).and_then(|()| stream.flush()).is_err() {
                        return;
                    }
                }
                Piece::Wait(time) => thread::sleep(time),
                Piece::Close => return,
            }
        }
    }
}

fn read_request(stream: &mut impl Read) -> Option<SeenRequest> {
    let mut bytes = Vec::new();
    let mut piece = [0; 4096];
    let end = loop {
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break end + 4;
        }
        match stream.read(&mut piece) {
            Ok(length @ 1..) => bytes.extend_from_slice(&piece[..length]),
            _ => return None,
        }
    };
    let head = String::from_utf8(bytes[..end].to_vec()).unwrap().to_ascii_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap_or("0");
    let length: usize = length.parse().unwrap();
    while bytes.len() < end + length {
        match stream.read(&mut piece) {
            Ok(length @ 1..) => bytes.extend_from_slice(&piece[..length]),
            _ => return None,
        }
    }
    let body = String::from_utf8_lossy(&bytes[end..]).into_owned();
    Some(SeenRequest { head, body, bytes: bytes.split_off(end) })
}

/// An answer of known length.
pub fn answer(status: u16, headers: &[(&str, &str)], body: &str) -> Vec<u8> {
    let headers: Vec<String> =
        headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    let headers = headers.concat();
    let length = body.len();
    format!("HTTP/1.1 {status} x\r\n{headers}content-length: {length}\r\n\r\n{body}").into_bytes()
}

/// An answer in chunks, one for each event.
pub fn stream(events: &[String]) -> Vec<u8> {
    let mut bytes =
        b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
            .to_vec();
    for event in events {
        bytes.extend(format!("{:x}\r\n{event}\r\n", event.len()).into_bytes());
    }
    bytes.extend_from_slice(b"0\r\n\r\n");
    bytes
}

/// The events of an answer in OpenAI's protocol.
pub fn openai_events(texts: &[&str], usage: &str) -> Vec<String> {
    let mut events: Vec<String> = texts
        .iter()
        .map(|text| {
            let text = serde_json::Value::from(*text);
            format!(r#"{{"id":"i","model":"m-1","choices":[{{"index":0,"delta":{{"content":{text}}},"finish_reason":null}}]}}"#)
        })
        .collect();
    events.push(r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#.to_owned());
    if !usage.is_empty() {
        events.push(format!(r#"{{"choices":[],"usage":{usage}}}"#));
    }
    events.push("[DONE]".to_owned());
    events.into_iter().map(|data| format!("data: {data}\n\n")).collect()
}

/// The events of an answer in Anthropic's protocol.
pub fn anthropic_events(texts: &[&str]) -> Vec<String> {
    let mut events = vec![(
        "message_start",
        r#"{"type":"message_start","message":{"id":"i","model":"m-1","content":[],"usage":{"input_tokens":9,"output_tokens":1}}}"#.to_owned(),
    )];
    events.push((
        "content_block_start",
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#
            .to_owned(),
    ));
    for text in texts {
        let text = serde_json::Value::from(*text);
        events.push((
            "content_block_delta",
            format!(r#"{{"type":"content_block_delta","index":0,"delta":{{"type":"text_delta","text":{text}}}}}"#),
        ));
    }
    events.push((
        "message_delta",
        r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":5}}"#.to_owned(),
    ));
    events.push(("message_stop", r#"{"type":"message_stop"}"#.to_owned()));
    events.into_iter().map(|(name, data)| format!("event: {name}\ndata: {data}\n\n")).collect()
}

/// The usage that [`openai_events`] takes.
pub const USAGE: &str = r#"{"prompt_tokens":9,"completion_tokens":5}"#;

/// A good answer in OpenAI's protocol.
pub fn hello() -> Vec<Piece> {
    vec![Piece::Bytes(stream(&openai_events(&["he", "llo"], USAGE)))]
}
