//! The scripted ladder on one task.

use agents::playground::Playground;
use agents::scaffold::ladder::{ScriptedJob, Stage, play_all};
use agents::scaffold::react::Rules;
use agents::scaffold::scripted::{Approach, Purpose};
use std::collections::BTreeMap;
use std::convert::Infallible;
use tasks::stream::Stream;
use tasks::task::TaskDir;

/// The gain of each scripted level on a task, weakest level first, and what bronze takes.
pub(crate) fn gains(playground: &Playground, task: &TaskDir) -> ([f64; 5], f64) {
    let (rules, sandbox) = (Rules::default(), playground.sandbox());
    let (purpose, stream) = (Purpose::Ladder, Stream::root(1));
    let stage = Stage { sandbox, rules: &rules, purpose, workers: 2, stream };
    let jobs = Approach::ALL.map(|approach| ScriptedJob { task, approach, attempt: 0 });
    let mut scores = BTreeMap::new();
    play_all(&stage, &jobs, &mut |played| {
        let played = played.unwrap();
        let outcomes: Vec<&str> =
            played.turns.iter().filter_map(|turn| turn.outcome.as_deref()).collect();
        // A script that failed would have been followed by the sample submission.
        assert_eq!(outcomes, ["finished"], "{} on {}", played.agent, played.task);
        scores.insert(played.agent, played.finish.grade.unwrap().score);
        Ok::<(), Infallible>(())
    })
    .unwrap();
    let direction = task.manifest().direction();
    let score = |approach: Approach| scores[&format!("scripted/{}", approach.name())];
    (
        Approach::ALL.map(|approach| direction.gain(score(approach))),
        direction.gain(task.manifest().thresholds.bronze_threshold),
    )
}
