//! Cached episodes on a task, with scripts that run in the sandbox.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use agents::grammar::{answer_turn, python_turn, score_turn};
use agents::play::{Closed, Reply, World};
use agents::scaffold::react::{EpisodeRules, MleWorld};
use agents::script_cache::{CachedWorld, ScriptCache};
use agents::trajectory::EpisodeEnding;
use camino::Utf8Path;
use jail::exec::SandboxOptions;
use sandbox::env::{Feedback, TaskSuite};
use support::shifts;
use tasks::task::Opening;
use tasks::units::Span;

const SUBMIT: &str = "import pandas as pd\ntest = pd.read_csv('input/test.csv')\n\
                      test['y'] = (test['a'] > 0).astype(float)\n\
                      test[['id', 'y']].to_csv('submission.csv', index=False)\nprint('written')";

/// Replies and result of an episode on the only task.
fn play(world: &dyn World, suite: &TaskSuite, turns: &[String]) -> (Vec<Reply>, Closed) {
    let mut episode = world.open(suite.tasks()[0].id()).unwrap();
    let replies = turns.iter().map(|turn| episode.respond(turn).unwrap()).collect();
    (replies, episode.close().unwrap())
}

fn cached(closed: &Closed) -> Vec<bool> {
    closed.turns.iter().map(|turn| turn.cached).collect()
}

#[test]
fn recorded_episode_is_the_one_that_ran_under_the_same_rules_only() {
    let folder = tempfile::tempdir().unwrap();
    let task = shifts::write(Utf8Path::from_path(folder.path()).unwrap());
    let options = SandboxOptions { slots: 1, spares: 1, ..SandboxOptions::default() };
    let suite = TaskSuite::open(&task, &Opening::default(), options).unwrap();
    let mut rules = EpisodeRules::default();
    rules.episode.policy.time_limit = Span::seconds(6);
    let world = MleWorld { suite: &suite, rules: &rules };
    let cache = ScriptCache::default();
    let cached_world = CachedWorld::new(&world, &cache);
    let turns = |thought: &str| {
        let scripts = [python_turn(thought, SUBMIT), python_turn(thought, "print(missing)")];
        let rest = ["no call".to_owned(), score_turn(thought), answer_turn(thought)];
        [&scripts[..], &rest].concat()
    };

    let (replies, plain) = play(&world, &suite, &turns("plan"));
    assert_eq!(replies[4], Reply::End(EpisodeEnding::Answered));
    assert!(plain.reward.execution > 0.0, "{plain:?}");
    let (first, recorded) = play(&cached_world, &suite, &turns("plan"));
    let (second, from_cache) = play(&cached_world, &suite, &turns("the same in other words"));
    assert_eq!((cached(&recorded), cached(&from_cache)), (vec![false; 5], vec![true; 5]));
    for (found, closed) in [(first, recorded), (second, from_cache)] {
        assert_eq!(found, replies);
        assert_eq!((closed.reward, &closed.outcome), (plain.reward, &plain.outcome));
        let outcomes = |closed: &Closed| -> Vec<_> {
            closed.turns.iter().map(|turn| (turn.tool, turn.outcome.clone())).collect()
        };
        assert_eq!(outcomes(&closed), outcomes(&plain));
    }

    // What is kept in a folder serves another run.
    let kept = Utf8Path::from_path(folder.path()).unwrap().join("scripts");
    for expected in [false, true] {
        let cache = ScriptCache::open(Some(&kept), suite.sandbox()).unwrap();
        let (found, closed) = play(&CachedWorld::new(&world, &cache), &suite, &turns("plan"));
        assert_eq!((found, cached(&closed)), (replies.clone(), vec![expected; 5]));
        assert_eq!((closed.reward, &closed.outcome), (plain.reward, &plain.outcome));
    }

    // An observation that states a time is not recorded: the limit is 6 s, and a third of it 2 s.
    let slow = [python_turn("wait", "import time\ntime.sleep(2.5)\nprint('done')")];
    for _ in 0..2 {
        let (replies, closed) = play(&cached_world, &suite, &slow);
        assert_eq!(cached(&closed), [false]);
        assert!(matches!(&replies[0], Reply::Observe(text) if text.contains("s allowed")));
    }

    rules.episode.feedback = Feedback::Validate;
    let world = MleWorld { suite: &suite, rules: &rules };
    let (replies, closed) = play(&CachedWorld::new(&world, &cache), &suite, &turns("plan"));
    assert_eq!(
        (cached(&closed)[3], &replies[3]),
        (false, &Reply::Observe("valid submission".into()))
    );
    assert_eq!(cache.take_use().mismatches, 0);
}
