//! The first question of every preset.

use crate::fixture::Fixture;
use agents::preset::{Preset, names};
use agents::run::agent::{AgentRest, TaskView};
use agents::run::knowledge::ReadyKnowledge;
use agents::run::player::{Answer, Ask, Player, PlayerFault};
use agents::run::python::PythonFacts;
use std::fmt::Write as _;
use std::sync::Mutex;

/// Keeps what it is asked, and does not answer.
#[derive(Debug, Default)]
struct Listener(Mutex<String>);

impl Player for Listener {
    fn name(&self) -> String {
        "listener".to_owned()
    }

    fn answer(&self, ask: &Ask<'_>) -> Result<Answer, PlayerFault> {
        // With several workers, others ask at the same time.
        if ask.node.0 > 0 {
            return Err(PlayerFault::Unavailable("it listens only".into()));
        }
        let mut text = String::new();
        for message in ask.messages {
            let _ = writeln!(text, "[{:?}]\n{}", message.role, message.content.trim_end());
        }
        *self.0.lock().unwrap() = text;
        Err(PlayerFault::Unavailable("it listens only".into()))
    }
}

#[test]
fn first_question_of_every_preset_is_as_recorded() {
    let mut fixture = Fixture::new();
    // First questions show no tricks.
    fixture.knowledge = Box::new(ReadyKnowledge::default());
    let mut shown: Vec<(String, String)> = Vec::new();
    let mut text = String::new();
    for name in names() {
        let preset = Preset::load(name, &[]).unwrap();
        let packages = ["lightgbm", "numpy", "pandas", "scikit-learn", "torch"];
        let python = PythonFacts {
            version: "3.11.2".to_owned(),
            packages: packages.map(|name| (name.to_owned(), "1.0".to_owned())).into(),
        };
        let direction = fixture.view.direction;
        fixture.view =
            TaskView::of(fixture.task(), direction, &preset.limits, &python, None).unwrap();
        fixture.config.policy = preset.limits.clone();
        let listener = Listener::default();
        // Feedback stays `validate`: the task is no competition, so `exposed` is not for it.
        let rest = fixture.play(name, &preset.settings, &listener).unwrap();
        assert!(matches!(rest, AgentRest::Paused { .. }), "{name}: {rest:?}");
        let prompt = listener.0.into_inner().unwrap();
        // The machine's own.
        let processors = std::thread::available_parallelism().unwrap();
        let prompt = prompt.replace(&format!("{processors} processor(s)"), "2 processor(s)");
        // In full where its kind is new, else the lines in which it differs from the first.
        let kind = prompt.lines().nth(1).unwrap().to_owned();
        match shown.iter().find(|(first, _)| *first == kind) {
            None => {
                let _ = writeln!(text, "=== {name}\n{prompt}");
                shown.push((kind, prompt));
            }
            Some((_, first)) => {
                let _ = writeln!(text, "=== {name}: as the first of its kind, but for");
                let known: Vec<&str> = first.lines().collect();
                for line in prompt.lines().filter(|line| !known.contains(line)) {
                    let _ = writeln!(text, "+ {line}");
                }
            }
        }
    }
    insta::assert_snapshot!(text);
}
