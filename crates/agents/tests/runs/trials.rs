//! Scripts that recur are recalled, and only where that says the same as running them.

use crate::fixture::Fixture;
use agents::automind::engineer::{Engineer, EngineerSkill};
use agents::automind::settings::AutoMindSettings;
use agents::preset::ScaffoldSettings;
use agents::run::node::{Node, NodeState};
use agents::run::player::{Answer, Ask, Player, PlayerFault};
use agents::run::trial::{TrialCache, TrialCacheUse};
use agents::search::settings::SearchSettings;
use agents::search::tree::Tree;

/// Always answers this.
#[derive(Debug)]
struct Writer(String);

impl Player for Writer {
    fn name(&self) -> String {
        "writer".to_owned()
    }

    fn answer(&self, _: &Ask<'_>) -> Result<Answer, PlayerFault> {
        Ok(Answer::whole(self.0.clone()))
    }
}

/// A search that has `script` written at each of `steps`.
fn played(script: &str, steps: u32) -> (TrialCacheUse, Vec<Node>) {
    let mut fixture = Fixture::new();
    fixture.trials = Some(TrialCache::default());
    let settings = ScaffoldSettings::Search(SearchSettings { steps, ..SearchSettings::default() });
    let writer = Writer(format!("```python\n{script}\n```\n"));
    fixture.play("run", &settings, &writer).unwrap();
    let tree = Tree::from_state(&fixture.state("run"));
    let uses = fixture.trials.as_ref().unwrap().uses();
    (uses, tree.nodes().cloned().collect())
}

fn cached(nodes: &[Node]) -> usize {
    nodes.iter().filter(|node| node.run.as_ref().is_some_and(|run| run.cached)).count()
}

#[test]
fn run_with_recalled_scripts_is_that_without() {
    let mut fixture = Fixture::new();
    let settings =
        ScaffoldSettings::AutoMind(AutoMindSettings { steps: 12, ..AutoMindSettings::default() });
    let engineer = Engineer::new(1, EngineerSkill::default());
    fixture.play("run", &settings, &engineer).unwrap();
    let expected = fixture.timeless("run");
    fixture.trials = Some(TrialCache::default());
    for name in ["first", "second"] {
        fixture.play(name, &settings, &engineer).unwrap();
        let journal: Vec<String> = fixture.timeless(name);
        let journal: Vec<String> =
            journal.into_iter().map(|line| line.replace(",\"cached\":true", "")).collect();
        assert_eq!(journal, expected, "{name}");
    }
    let uses = fixture.trials.as_ref().unwrap().uses();
    assert_eq!((uses.scripts, uses.checks, uses.mismatches), (24, 0, 0));
    assert!(uses.cached >= 12, "the second run has the scripts of the first: {uses:?}");
    let tree = Tree::from_state(&fixture.state("second"));
    let nodes: Vec<Node> = tree.nodes().cloned().collect();
    assert_eq!(cached(&nodes), 12);
}

#[test]
fn one_answer_in_fifty_is_compared_with_a_run() {
    let (uses, nodes) = played("print(\"validation: 0.5\")", 60);
    assert_eq!(uses, TrialCacheUse { scripts: 60, cached: 58, checks: 1, mismatches: 0 });
    assert_eq!(cached(&nodes), 58);
}

#[test]
fn script_that_varies_is_run_each_time_once_that_is_known() {
    let (uses, nodes) = played("import os\nprint(os.urandom(8).hex())", 60);
    assert_eq!(uses, TrialCacheUse { scripts: 60, cached: 49, checks: 1, mismatches: 1 });
    assert_eq!(cached(&nodes), 49);
}

#[test]
fn script_that_a_limit_or_a_signal_ended_is_not_recalled() {
    let (uses, nodes) = played("import os\nos.kill(os.getpid(), 9)", 3);
    assert_eq!((uses.scripts, uses.cached), (3, 0));
    assert!(nodes.iter().all(|node| matches!(node.state, NodeState::Buggy(_))));
}
