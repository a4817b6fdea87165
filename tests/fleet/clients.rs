//! Clients that play episode after episode.

use agents::grammar::{answer_turn, python_turn, score_turn};
use agents::play::{Reply, World as _};
use agents::remote::RemoteWorld;
use agents::reward::Reward;
use sandbox::env::EpisodeFault;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use tasks::task::TaskId;
use tasks::text::with_causes;

/// How many faults are shown.
const SHOWN: usize = 5;
/// Copies the sample, which is valid and earns little.
const SAMPLE: &str = "import shutil\nshutil.copy('input/sample_submission.csv', 'submission.csv')";
/// A script that takes a little while.
const LOOK: &str = "import pandas as pd\nprint(pd.read_csv('input/sample_submission.csv').shape)";

/// What became of all episodes.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    played: AtomicU64,
    differences: AtomicU64,
    faults: Mutex<Vec<String>>,
    /// The reward of each kind of episode on each task.
    rewards: Mutex<BTreeMap<(TaskId, usize), Reward>>,
}

impl Tally {
    /// Episodes that ended with a reward, faults, and rewards that were other ones than before.
    pub(crate) fn counts(&self) -> (u64, u64, u64) {
        let faults = self.faults.lock().unwrap_or_else(PoisonError::into_inner).len() as u64;
        let read = |count: &AtomicU64| count.load(Ordering::SeqCst);
        (read(&self.played), faults, read(&self.differences))
    }

    /// The first faults, in words.
    pub(crate) fn first_faults(&self) -> Vec<String> {
        let faults = self.faults.lock().unwrap_or_else(PoisonError::into_inner);
        faults.iter().take(SHOWN).cloned().collect()
    }

    fn count(&self, task: &TaskId, kind: usize, result: Result<Reward, EpisodeFault>) {
        match result {
            Ok(reward) => {
                self.played.fetch_add(1, Ordering::SeqCst);
                let mut rewards = self.rewards.lock().unwrap_or_else(PoisonError::into_inner);
                let first = *rewards.entry((task.clone(), kind)).or_insert(reward);
                if first != reward {
                    self.differences.fetch_add(1, Ordering::SeqCst);
                }
            }
            Err(fault) => {
                let text = format!("{task}: {}", with_causes(&fault));
                self.faults.lock().unwrap_or_else(PoisonError::into_inner).push(text);
            }
        }
    }
}

/// The turns of an episode, of three kinds: one that submits, one with mistakes, and one whose
/// conversation ends before its episode.
fn turns(kind: usize) -> Vec<String> {
    match kind {
        0 => vec![python_turn("plan", SAMPLE), score_turn(""), answer_turn("done")],
        1 => vec![
            python_turn("look", LOOK),
            "no call".to_owned(),
            python_turn("", "raise ValueError('no')"),
            python_turn("plan", SAMPLE),
            score_turn("check"),
            answer_turn(""),
        ],
        _ => vec![python_turn("look", LOOK), python_turn("plan", SAMPLE), score_turn("")],
    }
}

fn episode(world: &RemoteWorld<'_>, task: &TaskId, kind: usize) -> Result<Reward, EpisodeFault> {
    let mut episode = world.open(task)?;
    for turn in turns(kind) {
        if matches!(episode.respond(&turn)?, Reply::End(_)) {
            break;
        }
    }
    Ok(episode.close()?.reward)
}

/// Plays episodes until `over` is true.
pub(crate) fn play(world: &RemoteWorld<'_>, client: usize, tally: &Tally, over: &AtomicBool) {
    for number in 0.. {
        if over.load(Ordering::SeqCst) {
            return;
        }
        let count = world.tasks.len();
        let task = world.tasks[(client + number) % count].id();
        let kind = (client + number / count) % 3;
        tally.count(task, kind, episode(world, task, kind));
    }
}
