//! Searches: what is written down, and that a run goes on exactly where it was.

use crate::fixture::{Counted, Fixture};
use agents::preset::ScaffoldSettings;
use agents::run::agent::{AgentRest, AgentRunError};
use agents::run::journal::{AgentEnd, JournalError, JournalLine, journal_path, read_lines};
use agents::run::node::{BlobHash, Bug, Decision, Node, NodeId, NodeState};
use agents::run::player::{Answer, Ask, Asked, Player, PlayerFault};
use agents::run::state::RunState;
use agents::scaffold::fixed::FixedScript;
use agents::search::settings::{OperatorSettings, SearchSettings};
use agents::search::tree::Tree;
use fs_err as fs;
use std::collections::BTreeSet;
use std::time::Instant;

/// The fixture with a search of eight steps.
struct SearchFixture {
    inner: Fixture,
    settings: SearchSettings,
}

impl std::ops::Deref for SearchFixture {
    type Target = Fixture;

    fn deref(&self) -> &Fixture {
        &self.inner
    }
}

impl SearchFixture {
    fn new() -> Self {
        let settings = SearchSettings { steps: 8, ..SearchSettings::default() };
        Self { inner: Fixture::new(), settings }
    }

    fn run(&self, name: &str, player: &dyn Player) -> Result<AgentRest, AgentRunError> {
        self.inner.play(name, &ScaffoldSettings::Search(self.settings.clone()), player)
    }
}

#[test]
fn search_ends_with_the_submission_of_its_best_node() {
    let fixture = SearchFixture::new();
    let rest = fixture.run("run", &fixture.mutator()).unwrap();
    let state = fixture.state("run");
    let tree = Tree::from_state(&state);
    let best = tree.best().expect("some script works");
    assert_eq!(rest, AgentRest::Finished { chosen: Some(best.id), why: AgentEnd::Steps });
    assert_eq!(tree.len(), 8);
    let buggy = tree.nodes().filter(|node| node.is_buggy()).count();
    assert!(buggy > 0, "the player breaks one script in five");
    let folder = fixture.run_folder("run");
    let submission = fs::read(folder.join("submission.csv")).unwrap();
    assert_eq!(Some(BlobHash::of(&submission)), best.submission);
    // A run that is over is not run again.
    assert_eq!(fixture.run("run", &Counted::new(&fixture.mutator(), 0)).unwrap(), rest);
}

#[test]
fn run_cut_after_any_line_goes_on_to_the_same_journal() {
    let mut fixture = SearchFixture::new();
    fixture.settings.steps = 6;
    let mutator = fixture.mutator();
    fixture.run("whole", &mutator).unwrap();
    let settings = ScaffoldSettings::Search(fixture.settings.clone());
    fixture.assert_goes_on_from_every_line(&settings, &mutator);
}

#[test]
fn player_that_is_away_pauses_the_run_and_nothing_is_asked_twice() {
    let fixture = SearchFixture::new();
    let mutator = fixture.mutator();
    let mut seen = BTreeSet::new();
    let mut pauses = 0;
    loop {
        let counted = Counted::new(&mutator, 3);
        let rest = fixture.run("run", &counted).unwrap();
        for ask in counted.seen.into_inner().unwrap() {
            assert!(seen.insert(ask), "{ask:?} was asked twice");
        }
        match rest {
            AgentRest::Paused { why } => assert!(why.contains("it is away"), "{why}"),
            AgentRest::Finished { .. } => break,
        }
        pauses += 1;
    }
    assert_eq!(pauses, 2, "8 steps by threes");
}

#[test]
fn three_workers_decide_as_they_would_in_any_order_of_results() {
    let mut fixture = SearchFixture::new();
    fixture.settings.workers = 3;
    let mutator = fixture.mutator();
    fixture.run("one", &mutator).unwrap();
    fixture.run("two", &mutator).unwrap();
    let (one, two) = (fixture.state("one"), fixture.state("two"));
    let decisions = |state: &RunState| -> Vec<_> {
        state.decided.iter().map(|(decision, _)| decision.clone()).collect()
    };
    assert_eq!(decisions(&one), decisions(&two));
    let found = |state: &RunState| -> Vec<_> {
        state.nodes.values().map(|node| (node.metric, node.submission.clone())).collect()
    };
    assert_eq!(found(&one), found(&two));
}

#[test]
fn every_way_to_fail_has_its_name() {
    let mut fixture = SearchFixture::new();
    fixture.settings.steps = 1;
    let sample = "import shutil\nshutil.copy('input/sample_submission.csv', 'submission.csv')\n";
    let score = "print('Validation score: 0.5')";
    let cases = [
        (format!("{sample}{score}"), NodeState::Good),
        (format!("{sample}{score}\n1 / 0"), NodeState::Buggy(Bug::NotFinished)),
        (sample.to_owned(), NodeState::Buggy(Bug::NoMetric)),
        (format!("{sample}print('Validation score: inf')"), NodeState::Buggy(Bug::NoMetric)),
        (score.to_owned(), NodeState::Buggy(Bug::NoSubmission)),
        (
            format!("open('submission.csv', 'w').write('id,y\\nr80,1\\n')\n{score}"),
            NodeState::Buggy(Bug::InvalidSubmission),
        ),
    ];
    for (index, (code, expected)) in cases.into_iter().enumerate() {
        let name = format!("case{index}");
        let rest = fixture.run(&name, &FixedScript::new("fixed", code.as_str())).unwrap();
        let node = fixture.state(&name).nodes.into_values().next().unwrap();
        assert_eq!(node.state, expected, "{code}");
        let submits = fixture.run_folder(&name).join("submission.csv").exists();
        // A script that fails after it left a valid submission is better than none.
        assert_eq!(submits, node.is_valid());
        let chosen = node.is_valid().then_some(node.id);
        assert_eq!(rest, AgentRest::Finished { chosen, why: AgentEnd::Steps });
    }
}

#[test]
fn answers_without_a_script_are_asked_for_again_and_then_end_the_search() {
    #[derive(Debug)]
    struct Chatter;
    impl Player for Chatter {
        fn name(&self) -> String {
            "chatter".to_owned()
        }
        fn answer(&self, ask: &Ask<'_>) -> Result<Answer, PlayerFault> {
            let last = &ask.messages.last().unwrap().content;
            assert_eq!(ask.attempt > 0, last.contains("blocks of code"), "{last}");
            Ok(Answer::whole("I would use a forest."))
        }
    }
    let mut fixture = SearchFixture::new();
    (fixture.settings.steps, fixture.settings.most_refused) = (50, 4);
    let counted = Counted::new(&Chatter, usize::MAX);
    let rest = fixture.run("run", &counted).unwrap();
    assert_eq!(rest, AgentRest::Finished { chosen: None, why: AgentEnd::Refused });
    assert_eq!(counted.seen.into_inner().unwrap().len(), 4 * 3);
}

#[test]
fn judge_may_reject_a_script_and_its_summary_is_remembered() {
    #[derive(Debug)]
    struct Judge(FixedScript);
    impl Player for Judge {
        fn name(&self) -> String {
            "judge".to_owned()
        }
        fn answer(&self, ask: &Ask<'_>) -> Result<Answer, PlayerFault> {
            match (ask.schema, ask.node.0, ask.attempt) {
                (None, ..) => self.0.answer(ask),
                (Some(_), 0, 0) => Ok(Answer::whole("It is fine, I think.")),
                (Some(_), 0, _) => Ok(Answer::whole(
                    "{\"is_bug\": true, \"summary\": \"It fits on nothing.\", \"metric\": 0.5}",
                )),
                _ => Ok(Answer::whole(
                    "Here: {\"is_bug\": false, \"summary\": \"A constant.\", \"metric\": null}",
                )),
            }
        }
    }
    let mut fixture = SearchFixture::new();
    fixture.settings.steps = 2;
    fixture.settings.operators = OperatorSettings { judge: true, ..OperatorSettings::default() };
    let code = "import shutil\nshutil.copy('input/sample_submission.csv', 'submission.csv')\n\
                print('Validation score: 0.5')";
    fixture.run("run", &Judge(FixedScript::new("fixed", code))).unwrap();
    let nodes: Vec<_> = fixture.state("run").nodes.into_values().collect();
    assert_eq!(nodes[0].state, NodeState::Buggy(Bug::Judged));
    assert_eq!(nodes[1].state, NodeState::Good);
    assert_eq!(nodes[1].judged.as_ref().unwrap().summary, "A constant.");
}

#[test]
fn run_with_other_settings_or_files_is_not_gone_on_with() {
    let mut fixture = SearchFixture::new();
    let mutator = fixture.mutator();
    fixture.run("run", &Counted::new(&mutator, 2)).unwrap();
    fixture.settings.steps = 30;
    let error = fixture.run("run", &mutator).unwrap_err();
    assert!(
        matches!(&error, AgentRunError::Journal(JournalError::OtherRun { differences, .. })
            if differences == &["`settings.search.steps` was 8, is 30"]),
        "{error}"
    );
    fixture.settings.steps = 8;
    let page = fixture.task().public().path().join("description.md");
    fs::write(&page, "Predict `y` from `b` and `a`.\n").unwrap();
    let error = fixture.run("run", &mutator).unwrap_err();
    assert!(
        matches!(&error, AgentRunError::TaskChanged(files) if files == &["description.md"]),
        "{error}"
    );
}

/// `cargo nextest run --workspace --run-ignored only -E 'test(journal_of_ten_thousand)' --no-capture`
#[test]
#[ignore = "prints a figure"]
fn journal_of_ten_thousand_nodes_is_folded() {
    let fixture = SearchFixture::new();
    fixture.run("run", &fixture.mutator()).unwrap();
    let path = journal_path(&fixture.run_folder("run"));
    let lines = read_lines(&path).unwrap();
    let header = lines[0].clone();
    let node = fixture.state("run").nodes.into_values().find(Node::is_good);
    let node = node.unwrap();
    let asked = lines.iter().find(|line| matches!(line, JournalLine::Asked(_))).unwrap();
    let mut long = vec![header];
    for id in 0..10_000 {
        let id = NodeId(id);
        let decision = match id.0 {
            0 => Decision::draft(),
            _ => Decision::improve(NodeId(id.0 / 5)),
        };
        let mut asked = asked.clone();
        let JournalLine::Asked(facts) = &mut asked else { unreachable!() };
        (facts.node, facts.what) = (id, Asked::Script(decision.operator));
        let node = Node { id, decision: decision.clone(), ..node.clone() };
        long.push(JournalLine::Decided { node: id, decision, clock: 1.0 });
        long.push(asked);
        long.push(JournalLine::Node(Box::new(node)));
    }
    let text: String =
        long.iter().map(|line| serde_json::to_string(line).unwrap() + "\n").collect();
    fs::write(&path, &text).unwrap();
    let started = Instant::now();
    let state = RunState::from_lines(&path, read_lines(&path).unwrap()).unwrap().unwrap();
    let folded = started.elapsed();
    let tree = Tree::from_state(&state);
    let took = started.elapsed();
    assert_eq!(tree.len(), 10_000);
    println!("10,000 nodes, {} bytes: state {folded:?}, tree {took:?}", text.len());
}
