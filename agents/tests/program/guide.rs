//! `agents guide` as a process of its own: kills, streams that are cut, who is let in, a full disk.

use agents::guide::channel::{GuideLink, HttpChannel, OnLost};
use agents::guide::exchange::Delivery;
use agents::guide::guided_run::GuidedRun;
use agents::guide::ids::ConversationId;
use agents::guide::turn::{End, Opening, TurnReport};
use agents::guide::wire::PORT;
use agents::remote::ServerAddress;
use agents::trajectory::{Tool, TurnRecord};
use camino::{Utf8Path, Utf8PathBuf};
use rand::RngExt as _;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _};
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use support::shifts;
use tasks::stream::Stream;
use tasks::task::TaskId;

/// A server, killed at the end.
pub(crate) struct Server {
    pub(crate) child: Child,
    store: Utf8PathBuf,
    pub(crate) address: String,
}

impl Server {
    pub(crate) fn start(store: &Utf8Path) -> Self {
        let address = free_address();
        Self { child: spawn(store, &address), store: store.to_owned(), address }
    }

    /// The conversation `run` of `store` told again, with these flags.
    pub(crate) fn replay(store: &Utf8Path, flags: &[&str]) -> Self {
        let address = free_address();
        let mut command = program();
        command.args(["guide", "replay", "run", "--store", store.as_str(), "--listen", &address]);
        command.args(flags);
        Self { child: listening(command), store: store.to_owned(), address }
    }

    pub(crate) fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    pub(crate) fn restart(&mut self) {
        self.kill();
        self.child = spawn(&self.store, &self.address);
    }

    pub(crate) fn call(&self, method: &str, path: &str, body: Option<&Value>) -> (u16, Value) {
        self.call_with(method, path, body, &[])
    }

    fn call_with(
        &self,
        method: &str,
        path: &str,
        body: Option<&Value>,
        headers: &[(&str, &str)],
    ) -> (u16, Value) {
        let (status, text, _) =
            self.raw(method, path, body.map(Value::to_string), headers).unwrap();
        (status, serde_json::from_str(&text).unwrap_or(Value::String(text)))
    }

    /// Status, text and headers; `None` if nobody answers.
    fn raw(
        &self,
        method: &str,
        path: &str,
        body: Option<String>,
        headers: &[(&str, &str)],
    ) -> Option<(u16, String, String)> {
        let config = ureq::Agent::config_builder()
            .timeout_global(Some(Duration::from_secs(20)))
            .http_status_as_error(false)
            .proxy(None)
            .build();
        let agent: ureq::Agent = config.into();
        let url = format!("http://{}{path}", self.address);
        let mut request = ureq::http::Request::builder().method(method).uri(url);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let answer = match body {
            Some(body) => agent.run(request.body(body).unwrap()),
            None if matches!(method, "POST" | "PUT" | "PATCH") => {
                agent.run(request.body(String::new()).unwrap())
            }
            None => agent.run(request.body(()).unwrap()),
        };
        let mut answer = answer.ok()?;
        let headers = format!("{:?}", answer.headers());
        let text = answer.body_mut().read_to_string().ok()?;
        Some((answer.status().as_u16(), text, headers))
    }

    fn channel(&self, token: Option<&str>) -> HttpChannel {
        let address = format!("http://{}", self.address);
        let address = ServerAddress::parse_with_port(&address, PORT).unwrap();
        HttpChannel::new(match token {
            Some(token) => address.with_token(token),
            None => address,
        })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}

/// An address with a free port, which stays the same when a server is started again.
fn free_address() -> String {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    format!("127.0.0.1:{port}")
}

pub(crate) fn program() -> Command {
    Command::new(env!("CARGO_BIN_EXE_agents"))
}

fn spawn(store: &Utf8Path, address: &str) -> Child {
    let mut command = program();
    command.args(["guide", "serve", "--store", store.as_str(), "--listen", address]);
    listening(command)
}

/// Starts a server and waits until it listens.
fn listening(mut command: Command) -> Child {
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::inherit()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert!(line.starts_with("guide server at http://"), "{line:?}");
    child
}

pub(crate) fn token(store: &Utf8Path, name: &str, role: &str) -> String {
    let args = ["guide", "token", name, "--role", role, "--store", store.as_str()];
    let output = program().args(args).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

fn bearer(token: &str) -> String {
    format!("Bearer {token}")
}

pub(crate) fn folder() -> (tempfile::TempDir, Utf8PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = Utf8PathBuf::from_path_buf(folder.path().to_owned()).unwrap();
    (folder, path)
}

fn id() -> ConversationId {
    "run".parse().unwrap()
}

fn opening() -> Opening {
    Opening {
        task: TaskId::new("night-shifts").unwrap(),
        agent: "react/model".to_owned(),
        attempt: 0,
        turns: 100,
        seconds: 60,
        feedback: None,
        prompt: Vec::new(),
    }
}

fn report(turn: u32) -> TurnReport {
    let record = TurnRecord {
        tool: Tool::Python,
        has_thought: false,
        outcome: None,
        seconds: 0.0,
        cached: false,
    };
    let (thought, action) = (String::new(), format!("print({turn})"));
    TurnReport {
        thought,
        action,
        observation: Some(turn.to_string()),
        record,
        left_out: Vec::new(),
        summaries: Vec::new(),
    }
}

pub(crate) fn end() -> End {
    End { ending: "answered".to_owned(), grade: None, refusal: None }
}

fn run(server: &Server, token: Option<&str>) -> GuidedRun {
    let channel = Box::new(server.channel(token));
    GuidedRun::new(GuideLink { channel, on_lost: OnLost::Continue }, id(), opening(), [])
}

#[expect(clippy::unnecessary_wraps, reason = "the record of a run may be unreadable")]
fn told(turn: u32) -> Result<TurnReport, agents::run::journal::JournalError> {
    Ok(report(turn))
}

pub(crate) fn open(server: &Server) {
    let body = json!({ "id": "run", "opening": opening() });
    let (status, answer) = server.call("POST", "/api/v1/conversations", Some(&body));
    assert_eq!((status, &answer["expects"]), (200, &json!(0)), "{answer}");
}

pub(crate) fn exchange(server: &Server, turn: u32, have: u64) -> Delivery {
    let body = json!({ "turn": turn, "have": have, "listens": true, "report": report(turn) });
    let path = "/api/v1/conversations/run/turns";
    let (status, answer) = server.call("POST", path, Some(&body));
    assert_eq!(status, 200, "{answer}");
    serde_json::from_value(answer).unwrap()
}

pub(crate) fn piece(name: &str, text: &str) -> Value {
    json!({ "id": name, "what": { "text": text } })
}

pub(crate) const GUIDANCE: &str = "/api/v1/conversations/run/guidance";

/// By default three kills; `GUIDE_KILLS=20` is the full test.
#[test]
fn killed_server_loses_and_doubles_no_advice() {
    let kills = std::env::var("GUIDE_KILLS").map_or(3, |text| text.parse::<u32>().unwrap());
    let (_kept, folder) = folder();
    let agent = token(&folder, "bot", "agent");
    let people: Vec<String> =
        (0..6).map(|person| token(&folder, &format!("p{person}"), "annotator")).collect();
    let server = Mutex::new(Server::start(&folder));
    let (over, answered) = (AtomicBool::new(false), Mutex::new(BTreeMap::new()));
    let mut guided = run(&server.lock().unwrap(), Some(&agent));
    let address = server.lock().unwrap().address.clone();
    let (heard, late, turns) = std::thread::scope(|scope| {
        for (number, token) in people.iter().enumerate() {
            let (over, answered, address) = (&over, &answered, &address);
            scope.spawn(move || {
                let mut count = 0;
                while !over.load(Ordering::SeqCst) {
                    let name = format!("p{number}-{count}");
                    let body = piece(&name, &name).to_string();
                    count += 1;
                    // Sent again, under the same name, until there is an answer.
                    loop {
                        let config = ureq::Agent::config_builder()
                            .timeout_global(Some(Duration::from_secs(5)))
                            .http_status_as_error(false)
                            .build();
                        let answer = ureq::Agent::from(config)
                            .post(format!("http://{address}{GUIDANCE}"))
                            .header("Authorization", bearer(token))
                            .send(body.as_str());
                        match answer.map(|answer| answer.status().as_u16()) {
                            Ok(status @ (201 | 409)) => {
                                answered.lock().unwrap().insert(name, status);
                                break;
                            }
                            // Not opened yet, too fast, or killed.
                            Ok(404 | 429) | Err(_) => {
                                std::thread::sleep(Duration::from_millis(50));
                            }
                            Ok(other) => panic!("status {other}"),
                        }
                    }
                }
            });
        }
        let killer = scope.spawn(|| {
            let mut draws = Stream::root(5).child("kills").rng();
            for _ in 0..kills {
                std::thread::sleep(Duration::from_millis(draws.random_range(300..900)));
                server.lock().unwrap().restart();
            }
        });
        let (mut heard, mut turn) = (Vec::new(), 0);
        guided.begin(&|| false).unwrap();
        while !killer.is_finished() {
            let pieces = guided.listen(turn, &told, &|| false).unwrap();
            guided.wrote_down(&pieces);
            heard.extend(pieces.into_iter().map(|piece| piece.id.to_string()));
            turn += 1;
            std::thread::sleep(Duration::from_millis(5));
        }
        killer.join().unwrap();
        let late = guided.finish(turn, &end(), &told, &|| false).unwrap().unwrap();
        over.store(true, Ordering::SeqCst);
        let late: Vec<String> = late.into_iter().map(|piece| piece.id.to_string()).collect();
        (heard, late, turn)
    });
    let answered = answered.into_inner().unwrap();
    let mut all: Vec<&String> = heard.iter().chain(&late).collect();
    let count = all.len();
    all.sort();
    all.dedup();
    assert_eq!(all.len(), count, "something came twice");
    for (name, status) in &answered {
        let was_told = heard.contains(name) || late.contains(name);
        // What was answered with 409 is late, and may have come after the list of what is.
        assert!(was_told || *status == 409, "{name} was lost");
    }
    assert!(heard.len() > 3, "{heard:?} of {answered:?}");
    // Each person's pieces in their order.
    for person in 0..people.len() {
        let numbers: Vec<u32> = heard
            .iter()
            .filter_map(|name| name.strip_prefix(&format!("p{person}-"))?.parse().ok())
            .collect();
        assert!(numbers.is_sorted(), "{numbers:?}");
    }
    let server = server.into_inner().unwrap();
    let as_person = bearer(&people[0]);
    let path = "/api/v1/conversations/run?to=1";
    let (_, known) = server.call_with("GET", path, None, &[("Authorization", &as_person)]);
    assert_eq!(known["headline"]["turns"], json!(turns), "every turn is there");
    println!("{kills} kills: {} pieces heard, {} late, {turns} turns", heard.len(), late.len());
}

/// One event of a stream.
fn next_event(lines: &mut impl Iterator<Item = std::io::Result<String>>) -> Option<(String, u64)> {
    let (mut kind, mut id) = (String::new(), 0);
    for line in lines {
        let line = line.ok()?;
        if let Some(value) = line.strip_prefix("event:") {
            value.trim().clone_into(&mut kind);
        } else if let Some(value) = line.strip_prefix("id:") {
            // A stream that was cut right here has no number.
            id = value.trim().parse().ok()?;
        } else if line.is_empty() && !kind.is_empty() {
            return Some((kind, id));
        }
    }
    None
}

#[test]
fn streams_that_are_cut_anywhere_miss_no_event() {
    let (_kept, folder) = folder();
    let server = Server::start(&folder);
    open(&server);
    let turns = 150;
    let mut draws = Stream::root(3).child("cuts").rng();
    let stream = |last: u64, length: Option<u64>| {
        let config = ureq::Agent::config_builder()
            .timeout_recv_body(Some(Duration::from_secs(20)))
            .proxy(None)
            .build();
        let url = format!("http://{}/api/v1/events?watch=run&from=0", server.address);
        let answer = ureq::Agent::from(config)
            .get(url)
            .header("Last-Event-ID", last.to_string())
            .call()
            .unwrap();
        let reader = answer.into_body().into_reader();
        BufReader::new(reader.take(length.unwrap_or(u64::MAX))).lines()
    };
    let mut seen: Vec<u64> = Vec::new();
    let mut cuts = 0;
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            for turn in 0..turns {
                exchange(&server, turn, 0);
            }
        });
        let last = u64::from(turns) + 1;
        while cuts < 100 || !writer.is_finished() {
            let newest = seen.last().copied().unwrap_or(0);
            if newest == last && cuts >= 100 {
                break;
            }
            // Cut within a headline, an event, or between two.
            let length = draws.random_range(0..2000);
            let mut lines = stream(newest, (newest < last).then_some(length));
            if newest < last {
                while let Some((kind, id)) = next_event(&mut lines) {
                    if kind == "change" {
                        seen.push(id);
                    }
                    if seen.last() == Some(&last) {
                        break;
                    }
                }
            }
            cuts += 1;
        }
        writer.join().unwrap();
        let mut lines = stream(seen.last().copied().unwrap_or(0), None);
        while seen.last() != Some(&last) {
            let (kind, id) = next_event(&mut lines).expect("the rest");
            if kind == "change" {
                seen.push(id);
            }
        }
    });
    let expected: Vec<u64> = (1..=u64::from(turns) + 1).collect();
    assert_eq!(seen, expected, "in order, none missing, none twice, over {cuts} cut streams");
}

#[test]
fn only_who_may_is_let_in_and_floods_are_refused() {
    let (_kept, folder) = folder();
    let tokens: BTreeMap<&str, String> =
        [("ann", "annotator"), ("eve", "viewer"), ("bot", "agent"), ("lea", "lead")]
            .map(|(name, role)| (name, bearer(&token(&folder, name, role))))
            .into();
    let server = Server::start(&folder);
    let body = json!({ "id": "run", "opening": opening() });
    let call = |who: &str, method: &str, path: &str, body: Option<&Value>| {
        server.call_with(method, path, body, &[("Authorization", &tokens[who])])
    };
    let conversations = "/api/v1/conversations";
    assert_eq!(server.call("POST", conversations, Some(&body)).0, 401);
    assert_eq!(server.call("GET", conversations, None).0, 401);
    assert_eq!(server.call("GET", "/api/v1/me", None).0, 401);
    assert_eq!(server.call("GET", "/api/v1/health", None).0, 200);
    assert_eq!(call("ann", "POST", conversations, Some(&body)).0, 403);
    assert_eq!(call("bot", "POST", conversations, Some(&body)).0, 200);
    assert_eq!(call("bot", "GET", conversations, None).0, 403);
    assert_eq!(call("bot", "POST", GUIDANCE, Some(&piece("x", "x"))).0, 403);
    assert_eq!(call("eve", "GET", conversations, None).0, 200);
    assert_eq!(call("eve", "POST", GUIDANCE, Some(&piece("x", "x"))).0, 403);

    // Foreign pages and foreign names, whoever they come with.
    let ann = tokens["ann"].as_str();
    for foreign in ["http://evil.example", "null", "https://127.0.0.1"] {
        let headers = [("Authorization", ann), ("Origin", foreign)];
        let (status, _) = server.call_with("POST", GUIDANCE, Some(&piece("x", "x")), &headers);
        assert_eq!(status, 403, "{foreign}");
        assert_eq!(server.call_with("GET", conversations, None, &headers).0, 403, "{foreign}");
    }
    let headers = [("Authorization", ann), ("Host", "evil.example:8300")];
    assert_eq!(server.call_with("GET", conversations, None, &headers).0, 403);

    // One a second, and what is sent again is no new one.
    assert_eq!(call("ann", "POST", GUIDANCE, Some(&piece("one", "One."))).0, 201);
    let flood: Vec<u16> = (0..100)
        .map(|n| call("ann", "POST", GUIDANCE, Some(&piece(&format!("f{n}"), "Flood."))).0)
        .collect();
    assert!(flood.iter().filter(|status| **status == 429).count() >= 90, "{flood:?}");
    assert_eq!(call("ann", "POST", GUIDANCE, Some(&piece("one", "One."))).0, 201);
    let update = json!({ "turn": 0, "have": 0, "listens": true, "report": report(0) });
    let turns = "/api/v1/conversations/run/turns";
    let (status, delivery) = call("bot", "POST", turns, Some(&update));
    assert_eq!((status, &delivery["guidance"][0]["text"]), (200, &json!("One.")));

    // Too much, and what is not asked for.
    let large = piece("large", &"x".repeat(5 << 20));
    assert_eq!(call("lea", "POST", GUIDANCE, Some(&large)).0, 413);
    assert_eq!(call("lea", "POST", GUIDANCE, Some(&json!({ "text": "x" }))).0, 400);
    assert_eq!(call("lea", "GET", "/api/v1/conversations/nobody", None).0, 404);
    assert_eq!(call("lea", "GET", "/api/v1/conversations/..%2F..", None).0, 400);

    // What was sent stays, and its state is told.
    let one = format!("{GUIDANCE}/one");
    let (status, answer) = call("ann", "PATCH", &one, Some(&json!({ "text": "Two." })));
    assert_eq!((status, &answer["guidance"]["state"]), (409, &json!("sent")), "{answer}");
    let close = json!({ "have": 0, "end": end() });
    assert_eq!(call("bot", "POST", "/api/v1/conversations/run/close", Some(&close)).0, 200);
    std::thread::sleep(Duration::from_millis(1100));
    let (status, answer) = call("ann", "POST", GUIDANCE, Some(&piece("late", "Too late.")));
    assert_eq!((status, &answer["code"]), (409, &json!("late")), "{answer}");
    assert_eq!(answer["guidance"]["what"]["text"], json!("Too late."));
    let (_, known) = call("eve", "GET", "/api/v1/conversations/run", None);
    assert!(known["guidance"].to_string().contains("Too late."), "{known}");
}

#[test]
fn browsers_sign_in_for_as_long_as_their_token_is_valid() {
    let (_kept, folder) = folder();
    let secret = token(&folder, "ann", "annotator");
    let server = Server::start(&folder);
    let own = format!("http://{}", server.address);
    let sign_in = |secret: &str| {
        let body = json!({ "name": "ann", "token": secret }).to_string();
        server.raw("POST", "/api/v1/session", Some(body), &[("Origin", &own)]).unwrap()
    };
    assert_eq!(sign_in("wrong").0, 401);
    let (status, _, headers) = sign_in(&secret);
    assert_eq!(status, 204);
    assert!(headers.contains("HttpOnly; SameSite=Strict"), "{headers}");
    assert!(headers.contains("frame-ancestors 'none'"), "{headers}");
    let cookie = headers.split("guide_session=").nth(1).unwrap().split(';').next().unwrap();
    let cookie = format!("guide_session={cookie}");
    let get = |cookie: &str| {
        server
            .raw("GET", "/api/v1/me", None, &[("Cookie", cookie)])
            .map(|(status, text, _)| (status, text))
    };
    let (status, me) = get(&cookie).unwrap();
    let me: Value = serde_json::from_str(&me).unwrap();
    let ann = json!({ "advises": true, "leads": false, "name": "ann", "replays": false });
    assert_eq!((status, me), (200, ann));
    // A change must say from which page it comes.
    let draft = "/api/v1/conversations/run/draft";
    let body = Some(json!({ "text": "x" }));
    let change =
        |headers: &[(&str, &str)]| server.call_with("PUT", draft, body.as_ref(), headers).0;
    assert_eq!(change(&[("Cookie", &cookie)]), 403);
    assert_eq!(change(&[("Cookie", &cookie), ("Origin", &own)]), 404, "there is no such run");
    // Another token for the same name ends the session of the first.
    token(&folder, "ann", "annotator");
    assert_eq!(get(&cookie).unwrap().0, 401);
}

#[test]
fn what_scripts_print_reaches_people_as_text() {
    let (_kept, folder) = folder();
    let server = Server::start(&folder);
    open(&server);
    let mut hostile = report(0);
    hostile.observation =
        Some(format!("\x1b[31m<script>alert(1)</script>\x07\u{202e}{}", "x".repeat(5000)));
    let body = json!({ "turn": 0, "have": 0, "listens": true, "report": hostile });
    let turns = "/api/v1/conversations/run/turns";
    assert_eq!(server.call("POST", turns, Some(&body)).0, 200);
    let (_, known) = server.call("GET", "/api/v1/conversations/run", None);
    let hash = known["turns"][0]["observation"]["blob"].as_str().unwrap();
    let path = format!("/api/v1/conversations/run/files/{hash}");
    let (status, text, headers) = server.raw("GET", &path, None, &[]).unwrap();
    assert!(status == 200 && text.starts_with("<script>alert(1)</script>␇⟨U+202E⟩x"), "{text}");
    assert!(
        headers.contains("text/plain; charset=utf-8") && headers.contains("nosniff"),
        "{headers}"
    );
    let path = format!("/api/v1/conversations/run/files/{}", "0".repeat(64));
    assert_eq!(server.raw("GET", &path, None, &[]).unwrap().0, 404);
    assert_eq!(server.call("GET", "/api/v1/conversations/run/files/..%2F..%2Flock", None).0, 400);
    let (_, context) = server.call("GET", "/api/v1/conversations/run/context/0", None);
    assert_eq!(context["parts"], json!([]));
}

#[test]
fn page_is_served_to_anybody_in_files_of_its_own() {
    let (_kept, folder) = folder();
    token(&folder, "ann", "annotator");
    let server = Server::start(&folder);
    let get = |path: &str| server.raw("GET", path, None, &[]).unwrap();
    for (path, kind, part) in [
        ("/", "text/html", "/assets/main.js"),
        ("/assets/main.js", "text/javascript", "/me"),
        ("/assets/style.css", "text/css", "--paper: #15181c"),
    ] {
        let (status, text, headers) = get(path);
        assert!(status == 200 && text.contains(part), "{path}: {text}");
        assert!(headers.contains(kind) && headers.contains("script-src 'self'"), "{headers}");
    }
    for path in ["/assets/none.js", "/assets/..%2Findex.html", "/assets/"] {
        assert!(matches!(get(path).0, 401 | 404), "{path}");
    }
    // Browsers would ask for a name and a password themselves.
    let (status, _, headers) = get("/api/v1/me");
    assert!(status == 401 && !headers.contains("Basic"), "{headers}");
}

#[test]
fn search_and_journal_reach_every_turn_and_hide_drafts_of_others() {
    let (_kept, folder) = folder();
    let people = ["ann", "ben"].map(|name| bearer(&token(&folder, name, "annotator")));
    let bot = bearer(&token(&folder, "bot", "agent"));
    let server = Server::start(&folder);
    let call = |who: &str, method: &str, path: &str, body: Option<&Value>| {
        let (status, answer) = server.call_with(method, path, body, &[("Authorization", who)]);
        assert!(status < 300, "{answer}");
        answer
    };
    let run = "/api/v1/conversations/run";
    let body = json!({ "id": "run", "opening": opening() });
    call(&bot, "POST", "/api/v1/conversations", Some(&body));
    for turn in 0..3 {
        let mut report = report(turn);
        // The second is a blob.
        let filler = "x".repeat(if turn == 1 { 9000 } else { 9 });
        let needle = if turn == 0 { "hay" } else { "A Needle" };
        report.observation = Some(format!("{filler} {needle} <&> {filler}"));
        let body = json!({ "turn": turn, "have": 0, "listens": true, "report": report });
        call(&bot, "POST", &format!("{run}/turns"), Some(&body));
    }
    let [ann, ben] = &people;
    let found = call(ann, "GET", &format!("{run}/search?q=nEEdle%20%3C%26"), None);
    assert_eq!(found, json!({ "turns": [1, 2] }));
    let long = format!("{run}/search?q={}", "x".repeat(257));
    for wrong in [format!("{run}/search?q="), long] {
        let headers = [("Authorization", ann.as_str())];
        assert_eq!(server.call_with("GET", &wrong, None, &headers).0, 400);
    }
    call(ben, "PUT", &format!("{run}/draft"), Some(&json!({ "text": "not done" })));
    let kinds = |who: &str, from: u64| {
        let answer = call(who, "GET", &format!("{run}/journal?from={from}"), None);
        let lines = answer["lines"].as_array().unwrap();
        let kinds: Vec<_> = lines.iter().map(|line| line["event"]["kind"].clone()).collect();
        (json!(kinds), answer["next"].as_u64().unwrap())
    };
    let all = ["opened", "turn", "turn", "turn", "draft"];
    assert_eq!(kinds(ben, 0), (json!(all), 5));
    assert_eq!(kinds(ann, 0), (json!(all[..4]), 5));
    assert_eq!(kinds(ann, 5), (json!([]), 5));
}

#[test]
fn sigterm_ends_open_streams_and_the_server() {
    let (_kept, folder) = folder();
    let mut server = Server::start(&folder);
    open(&server);
    let url = format!("http://{}/api/v1/events?watch=run", server.address);
    let answer = ureq::get(url).call().unwrap();
    let mut lines = BufReader::new(answer.into_body().into_reader()).lines();
    assert!(next_event(&mut lines).is_some());
    let pid = server.child.id().to_string();
    assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
    let began = Instant::now();
    while next_event(&mut lines).is_some() {}
    let status = server.child.wait().unwrap();
    assert!(status.success() && began.elapsed() < Duration::from_secs(5), "{status}");
}

#[test]
fn full_disk_is_said_and_nothing_is_lost() {
    let (_kept, folder) = folder();
    // A small file system of its own, in a namespace of its own.
    let script = format!(
        "mount -t tmpfs -o size=192k none {folder} && exec \"$0\" guide serve --store {folder}/store \
         --listen 127.0.0.1:0"
    );
    let mut command = Command::new("unshare");
    command.args(["-rm", "sh", "-c", &script, env!("CARGO_BIN_EXE_agents")]);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let address = line.trim().rsplit_once("http://").expect("it listens").1.to_owned();
    let server = Server { child, store: folder.clone(), address };
    open(&server);
    // Different each time: equal texts are stored once.
    let mut turn = 0;
    let full = loop {
        let mut report = report(turn);
        report.observation = Some(format!("{turn}{}", "y".repeat(9000)));
        let body = json!({ "turn": turn, "have": 0, "listens": true, "report": report });
        let turns = "/api/v1/conversations/run/turns";
        let (status, answer) = server.call("POST", turns, Some(&body));
        if status != 200 {
            break (status, answer);
        }
        turn += 1;
        assert!(turn < 100, "the disk is never full");
    };
    assert_eq!((full.0, &full.1["code"]), (507, &json!("disk_full")), "{}", full.1);
    let mut kept = 0;
    let refused = loop {
        let name = format!("g{kept}");
        let (status, answer) =
            server.call("POST", GUIDANCE, Some(&piece(&name, &"z".repeat(2000))));
        match status {
            201 => kept += 1,
            // One a second is too slow to fill a disk.
            429 if answer["code"] == "pace" => std::thread::sleep(Duration::from_millis(200)),
            _ => break (status, answer),
        }
        assert!(kept < 30, "the disk is never full");
    };
    assert_eq!((refused.0, &refused.1["code"]), (507, &json!("disk_full")), "{}", refused.1);
    // All that was answered is there, and the agent goes on without.
    let (_, known) = server.call("GET", "/api/v1/conversations/run", None);
    assert_eq!(known["headline"]["turns"], json!(turn));
    assert_eq!(known["guidance"].as_array().unwrap().len(), kept);
    let mut guided = run(&server, None);
    let heard = guided.listen(turn, &told, &|| false).unwrap();
    assert!(heard.len() <= kept);
}

#[test]
fn guided_run_over_a_server_is_advised_and_shown() {
    let (_kept, folder) = folder();
    let task = shifts::write(&folder);
    let (store, out) = (folder.join("store"), folder.join("run"));
    let server = Server::start(&store);
    let url = format!("http://{}", server.address);
    let mut child = program()
        .args(["run", "--scaffold", "react", "--model", "script:mutator", "--set", "turns=4"])
        .args(["--task", task.as_str(), "--out", out.as_str(), "--guide", &url])
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let id = loop {
        let (_, known) = server.call("GET", "/api/v1/conversations", None);
        if let Some(id) = known["conversations"][0]["id"].as_str() {
            break id.to_owned();
        }
        assert!(child.try_wait().unwrap().is_none(), "the run has ended");
        std::thread::sleep(Duration::from_millis(20));
    };
    let path = format!("/api/v1/conversations/{id}/guidance");
    assert_eq!(server.call("POST", &path, Some(&piece("a", "Try a forest."))).0, 201);
    assert!(child.wait().unwrap().success());
    let text = fs_err::read_to_string(out.join("trajectory.jsonl")).unwrap();
    let trajectory: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(trajectory["guided"], json!(true));
    assert_eq!(trajectory["guidance"][0]["text"], json!("Try a forest."));
    let shown = program().args(["guide", "show", &id, "--store", store.as_str()]).output().unwrap();
    let shown = String::from_utf8(shown.stdout).unwrap();
    assert!(shown.contains("[local, acknowledged]\nTry a forest."), "{shown}");
    assert!(shown.contains("4 of 4 turns") && shown.contains("over (steps)"), "{shown}");
    // It is no run of an unguided agent.
    let again = program()
        .args(["run", "--scaffold", "react", "--model", "script:mutator", "--set", "turns=4"])
        .args(["--task", task.as_str(), "--out", out.as_str()])
        .output()
        .unwrap();
    let said = String::from_utf8(again.stderr).unwrap();
    assert!(!again.status.success() && said.contains("`guided` was true"), "{said}");
}
