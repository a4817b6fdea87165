//! Scripted agents on tasks that come from elsewhere: a prepared competition and a released bundle.

use agents::play::World as _;
use agents::prompt::PromptStyle;
use agents::scaffold::react::{EpisodeRules, MleWorld};
use agents::scaffold::runner::{RunnerContext, ScriptedJob, run_episodes};
use agents::scaffold::scripted::{ScriptStyle, ScriptedLevel};
use jail::exec::SandboxOptions;
use sandbox::env::{Feedback, TaskSuite};
use std::collections::BTreeMap;
use std::convert::Infallible;
use support::folders::TemporaryFolder;
use tasks::stream::Stream;
use tasks::task::{Opening, Split};

#[test]
fn scripted_agents_on_a_competition_and_a_bundle_submit_and_are_graded() {
    let folder = TemporaryFolder::new();
    folder.competition();
    folder.bundle("yields", 12);
    let options = SandboxOptions { slots: 2, ..SandboxOptions::default() };
    let suite = TaskSuite::open(folder.path(), &Opening::default(), options).unwrap();
    // Neither states a split, so both are part of each.
    for split in [Split::Train, Split::Val] {
        assert_eq!(suite.split(split).unwrap().len(), 2);
    }
    let mut rules = EpisodeRules { prompt: PromptStyle::Brief, ..EpisodeRules::default() };
    rules.episode.feedback = Feedback::Validate;
    let world = MleWorld { suite: &suite, rules: &rules };
    let prompt = world.prompt(suite.tasks()[0].id()).unwrap();
    assert_eq!(prompt.user, "Task: Tell three authors apart.");

    let (style, stream) = (ScriptStyle::Evaluation, Stream::root(1));
    let stage =
        RunnerContext { world: &world, format: rules.tool_call_format, style, workers: 2, stream };
    let levels = [ScriptedLevel::Constant, ScriptedLevel::Linear, ScriptedLevel::Forest];
    let jobs = suite.tasks().iter().flat_map(|task| {
        levels.map(|level| ScriptedJob { task, approach: level.into(), attempt: 0 })
    });
    let jobs: Vec<ScriptedJob<'_>> = jobs.collect();
    let mut grades = BTreeMap::new();
    run_episodes(&stage, &jobs, &mut |played| {
        let played = played.unwrap();
        let grade = played.grade().copied();
        grades.insert((played.task.to_string(), played.agent.clone()), grade);
        assert!(played.turns.iter().any(|turn| !turn.failed()), "{:?}", played.turns);
        Ok::<(), Infallible>(())
    })
    .unwrap();
    assert_eq!(grades.len(), 6);
    for ((task, agent), grade) in &grades {
        let grade = grade.unwrap_or_else(|| panic!("{agent} has no grade on {task}"));
        assert!(grade.score.is_finite());
    }
    // The truth of the bundle is near 0.27 and its targets lie between 0.25 and 0.5, so that a
    // fitted model is nearer than the sample submission, which says 0.
    let error =
        |agent: &str| grades[&("yields".to_owned(), format!("scripted/{agent}"))].unwrap().score;
    assert!(error("forest") < error("constant"), "{grades:?}");
}
