//! Plays the scripted ladder on a corpus and prints who wins how much.
//!
//! ```text
//! cargo build --release -p sandbox
//! cargo run --release -p agents --example ladder -- generated/quickstart
//! ```
#![expect(clippy::print_stdout, reason = "an example's result goes to standard output")]

use agents::evaluation::{EVALUATION_VERSION, Evaluation, Row};
use agents::prompt::{Prompt, PromptStyle};
use agents::scaffold::react::Rules;
use agents::scaffold::scripted::{Approach, play};
use camino::Utf8PathBuf;
use sandbox::exec::{Options, Sandbox};
use sandbox::python::PythonEnv;
use sandbox::stream::Stream;
use sandbox::task::{Corpus, Split};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

fn main() -> anyhow::Result<()> {
    let path = std::env::args().nth(1).unwrap_or_else(|| "generated/quickstart".to_owned());
    let corpus = Corpus::open(&Utf8PathBuf::from(path))?;
    let tasks = corpus.tasks();
    let mounts: Vec<_> = tasks.iter().map(|task| (task.id().clone(), task.public())).collect();
    let sandbox = Sandbox::start(&PythonEnv::locate()?, Options::default(), &mounts)?;
    let rules = Rules { prompt: PromptStyle::Brief, ..Rules::default() };

    let mut rows = Vec::new();
    for approach in Approach::ALL {
        let next = AtomicUsize::new(0);
        let played = Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    while let Some(task) = tasks.get(next.fetch_add(1, Ordering::Relaxed)) {
                        let episode = Prompt::of(&task.public(), rules.prompt)
                            .map_err(anyhow::Error::from)
                            .and_then(|prompt| {
                                let stream = Stream::root(0).child(task.id().as_str());
                                Ok(play(&sandbox, task, &prompt, approach, 0, stream, &rules)?)
                            });
                        played.lock().unwrap_or_else(PoisonError::into_inner).push(episode);
                    }
                });
            }
        });
        let mut episodes = Vec::new();
        for episode in played.into_inner().unwrap_or_else(PoisonError::into_inner) {
            episodes.push(episode?);
        }
        let seconds: f64 =
            episodes.iter().flat_map(|episode| &episode.turns).map(|turn| turn.seconds).sum();
        println!(
            "{}: {:.2} s of Python per episode",
            approach.name(),
            seconds / tasks.len() as f64
        );
        for episode in episodes
            .iter()
            .filter(|episode| {
                episode.turns.iter().any(|t| t.outcome.as_ref().is_some_and(|o| o != "finished"))
            })
            .take(2)
        {
            println!("{}: {}", episode.task, episode.segments[3].text);
        }
        rows.push(Row::of(approach.name(), &episodes, 0));
    }
    let evaluation = Evaluation {
        version: EVALUATION_VERSION,
        split: Split::Train,
        tasks: tasks.len(),
        attempts: 1,
        feedback: rules.episode.feedback,
        seed: 0,
        rows,
    };
    println!("{}", evaluation.table());
    Ok(())
}
