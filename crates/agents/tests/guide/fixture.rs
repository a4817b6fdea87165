//! A folder for stores, and turns of an agent.

use agents::guide::guidance::GuidanceText;
use agents::guide::people::Person;
use agents::guide::turn::{End, Opening, TurnReport};
use agents::trajectory::{Tool, TurnRecord};
use camino::Utf8PathBuf;
use llm::{Message, Role};
use tasks::task::TaskId;

/// A folder in memory where the system has one: thousands of journals are synced after every line.
pub(crate) fn folder() -> (tempfile::TempDir, Utf8PathBuf) {
    let memory = std::path::Path::new("/dev/shm");
    let folder = if memory.is_dir() {
        tempfile::tempdir_in(memory).or_else(|_| tempfile::tempdir())
    } else {
        tempfile::tempdir()
    };
    let folder = folder.unwrap();
    let path = Utf8PathBuf::from_path_buf(folder.path().to_owned()).unwrap();
    (folder, path)
}

pub(crate) const ANN: Person<'_> = Person { name: "ann", leads: false };
pub(crate) const BOB: Person<'_> = Person { name: "bob", leads: false };

pub(crate) fn opening() -> Opening {
    Opening {
        task: TaskId::new("night-shifts").unwrap(),
        agent: "react/model".to_owned(),
        attempt: 0,
        turns: 100,
        seconds: 3600,
        feedback: None,
        prompt: vec![Message::new(Role::System, "Solve it."), Message::new(Role::User, "A task.")],
    }
}

pub(crate) fn report(turn: u32) -> TurnReport {
    TurnReport {
        thought: format!("<think>turn {turn}</think>"),
        action: format!("print({turn})"),
        observation: Some(format!("{turn}\n")),
        record: TurnRecord {
            tool: Tool::Python,
            has_thought: true,
            outcome: Some(jail::exec::Outcome::Finished),
            seconds: 0.1,
            cached: false,
        },
        left_out: Vec::new(),
        summaries: Vec::new(),
    }
}

pub(crate) fn says(text: &str) -> GuidanceText {
    GuidanceText { text: text.to_owned(), about: None, drop: None }
}

pub(crate) fn end() -> End {
    End { ending: "answered".to_owned(), grade: None, refusal: Some("no file".to_owned()) }
}
