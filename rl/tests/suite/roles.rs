//! `rl serve` as the chat model that plays roles in `factory generate`: its answers are text, and with
//! random weights none of them is of use.

use crate::server::{ServeProcess, random_with};
use camino::{Utf8Path, Utf8PathBuf};
use fs_err as fs;
use rl::text::tokenizer::{Pieces, Tokenizer};
use serde_json::Value;
use std::collections::BTreeMap;
use std::process::Command;

/// Slots of a corpus.
const SLOTS: usize = 3;

/// The program `factory` beside `rl`, as a build of the workspace leaves it.
fn factory() -> Utf8PathBuf {
    let path = Utf8Path::new(env!("CARGO_BIN_EXE_rl")).with_file_name("factory");
    assert!(path.is_file(), "`{path}` is missing; build it with `cargo build -p factory`");
    path
}

/// A tokenizer of English, so that questions are a few thousand tokens long.
fn tokenizer() -> Tokenizer {
    let docs = ["ROLES", "GLOSSARY", "TUTORIAL", "ARCHITECTURE"].map(|name| {
        let path = format!("{}/../docs/{name}.md", env!("CARGO_MANIFEST_DIR"));
        fs::read_to_string(path).unwrap()
    });
    Tokenizer::train(&docs, 2_000, Pieces::Lines).unwrap()
}

/// A corpus of [`SLOTS`] slots in which a policy with random weights plays roles.
struct PlayedCorpus {
    _dir: tempfile::TempDir,
    path: Utf8PathBuf,
    code: Option<i32>,
    /// What the command wrote to standard error.
    said: String,
}

impl PlayedCorpus {
    /// `context` is the context length of the server, in tokens; `limits` are lines of
    /// `[roles.limits]`.
    fn new(mode: &str, context: usize, limits: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let folder = Utf8Path::from_path(dir.path()).unwrap();
        let policy = random_with(folder, &tokenizer());
        let server = ServeProcess::start(&policy, &["--max-model-len", &context.to_string()]);
        let models = folder.join("models.toml");
        let text = format!(
            "[endpoint.tiny]\nprotocol = \"openai\"\nbase_url = \"http://{}/v1\"\n\
             model = \"tiny\"\nfree = true\n\
             capabilities = {{ schema = \"text\", seed = false, old_max_tokens = true }}\n\
             [roles.limits]\n{limits}",
            server.address
        );
        fs::write(&models, text).unwrap();
        let path = folder.join("corpus");
        let output = Command::new(factory())
            .args(["generate", "--count", &SLOTS.to_string(), "--out", path.as_str()])
            .args(["--modality", "tabular", "--formulation", "binary"])
            .args(["--models", models.as_str(), "--roles", &format!("{mode}:tiny")])
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        Self { _dir: dir, path, code: output.status.code(), said }
    }

    /// The lines of one of its files.
    fn lines(&self, file: &str) -> Vec<Value> {
        let text = fs::read_to_string(self.path.join(file)).expect(&self.said);
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// The number of answers to questions of `role`. Every try of a call must be booked.
    fn answers(&self, role: &str) -> usize {
        let (mut open, mut answers) = (BTreeMap::new(), 0);
        for line in self.lines("calls.jsonl") {
            let call = line["call"].as_u64();
            match line["event"].as_str().unwrap() {
                "reserved" => {
                    open.insert(call, line["purpose"]["role"].clone());
                }
                "settled" => {
                    let asked = open.remove(&call).unwrap();
                    answers += usize::from(asked == role && !line["answered_by"].is_null());
                }
                "header" => {}
                other => panic!("{other}"),
            }
        }
        assert!(open.is_empty(), "calls that never ended: {open:?}");
        answers
    }
}

#[test]
fn blueprints_of_random_weights_are_refused_with_reasons() {
    // The questions have about 6,500 tokens, by a tokenizer that changes with our documents, and
    // answers all that is left of the context.
    let corpus = PlayedCorpus::new("blueprint", 6_900, "attempts = 1\nrepairs = 1\n");
    assert_eq!(corpus.code, Some(3), "{}", corpus.said);
    let ledger = corpus.lines("ledger.jsonl");
    assert_eq!(ledger.len(), SLOTS);
    for entry in &ledger {
        assert_eq!(entry["outcome"], "refused", "{entry}");
        assert_eq!(entry["stage"], "strategy", "{entry}");
        let reason = entry["reason"].as_str().unwrap();
        let reasons = ["story_schema", "truncated", "context_too_long", "empty_answer"];
        assert!(reasons.contains(&reason), "{entry}");
        assert!(!entry["detail"].as_str().unwrap().is_empty());
        assert_eq!(
            (&entry["model"]["name"], &entry["model"]["mode"]),
            (&"tiny".into(), &"blueprint".into())
        );
    }
    assert!(
        corpus.answers("story") >= SLOTS,
        "questions do not fit into the context any more: {ledger:?}"
    );
}

#[test]
fn prose_of_random_weights_is_replaced_by_built_in_pages() {
    let corpus = PlayedCorpus::new("writer", 1_500, "repairs = 1\ncalls_per_slot = 3\n");
    assert_eq!(corpus.code, Some(0), "{}", corpus.said);
    let mut ledger = corpus.lines("ledger.jsonl");
    ledger.retain(|entry| entry["outcome"] == "accepted");
    assert_eq!(ledger.len(), SLOTS);
    for entry in &ledger {
        assert_eq!(entry["model"]["fallbacks"], serde_json::json!(["writer"]), "{entry}");
        let task = corpus.path.join(entry["task"].as_str().unwrap());
        assert!(task.join("prepared/public/description.md").is_file());
        assert!(!task.join("source/prose.json").exists());
    }
    assert!(corpus.answers("prose") >= SLOTS, "questions do not fit into the context any more");
    let verified = Command::new(factory()).args(["verify", corpus.path.as_str()]).output().unwrap();
    assert!(verified.status.success(), "{}", String::from_utf8_lossy(&verified.stdout));
}

#[test]
fn question_longer_than_the_context_is_refused_with_its_reason() {
    let corpus = PlayedCorpus::new("blueprint", 600, "attempts = 2\n");
    assert_eq!(corpus.code, Some(3), "{}", corpus.said);
    let ledger = corpus.lines("ledger.jsonl");
    assert_eq!(ledger.len(), 2 * SLOTS);
    for entry in &ledger {
        assert_eq!(entry["reason"], "context_too_long", "{entry}");
        assert_eq!(entry["model"]["cost"]["calls"], 0);
    }
    assert_eq!(corpus.answers("story"), 0);
}
