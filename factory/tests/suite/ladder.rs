//! The scripted ladder on one task.

use agents::scaffold::react::{EpisodeRules, MleWorld};
use agents::scaffold::runner::{RunnerContext, ScriptedJob, run_episodes};
use agents::scaffold::scripted::{ScriptStyle, ScriptedLevel};
use jail::exec::Outcome;
use sandbox::env::TaskSuite;
use std::collections::BTreeMap;
use std::convert::Infallible;
use tasks::stream::Stream;
use tasks::task::Task;

/// The gain of each scripted level on a task, weakest level first, and what bronze takes.
pub(crate) fn gains(suite: &TaskSuite, task: &Task) -> ([f64; 5], f64) {
    let rules = EpisodeRules::default();
    let world = MleWorld { suite, rules: &rules };
    let (style, stream) = (ScriptStyle::Evaluation, Stream::root(1));
    let stage =
        RunnerContext { world: &world, format: rules.tool_call_format, style, workers: 2, stream };
    let jobs =
        ScriptedLevel::ALL.map(|level| ScriptedJob { task, approach: level.into(), attempt: 0 });
    let mut scores = BTreeMap::new();
    run_episodes(&stage, &jobs, &mut |played| {
        let played = played.unwrap();
        let outcomes: Vec<&Outcome> =
            played.turns.iter().filter_map(|turn| turn.outcome.as_ref()).collect();
        // A script that failed would have been followed by the sample submission.
        assert_eq!(outcomes, [&Outcome::Finished], "{} on {}", played.agent, played.task);
        let score = played.grade().unwrap().score;
        scores.insert(played.agent, score);
        Ok::<(), Infallible>(())
    })
    .unwrap();
    let manifest = task.ours().unwrap().manifest();
    let direction = manifest.direction();
    let score = |approach: ScriptedLevel| scores[&format!("scripted/{}", approach.name())];
    (
        ScriptedLevel::ALL.map(|approach| direction.gain(score(approach))),
        direction.gain(manifest.thresholds.bronze_threshold),
    )
}
