use super::*;
use crate::bench::outcome::tests::header;
use agents::run::journal::AgentEnd;
use agents::run::node::{BlobHash, Bug, Decision, Node, NodeState, RunFacts};
use agents::run::turn::TurnFacts;
use agents::trajectory::{Tool, TurnRecord};
use camino::Utf8PathBuf;
use fs_err as fs;
use jail::exec::Outcome;

/// A run that is written to a folder for the time of a test.
struct MadeRun {
    folder: tempfile::TempDir,
    state: RunState,
}

impl MadeRun {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("blobs")).unwrap();
        let state = RunState::new(header());
        Self { folder, state }
    }

    fn blob(&self, text: &str) -> BlobHash {
        let hash = BlobHash::of(text.as_bytes());
        fs::write(self.folder.path().join("blobs").join(&hash.0), text).unwrap();
        hash
    }

    /// Adds a node, buggy without a metric.
    fn node(&mut self, decision: Decision, code: &str, output: &str, metric: Option<f64>) {
        let id = NodeId(u32::try_from(self.state.decided.len()).unwrap());
        let bug = NodeState::Buggy(Bug::NoMetric);
        let node = Node {
            id,
            decision: decision.clone(),
            plan: format!("plan of {id}: {}", "more trees ".repeat(20)),
            code: Some(self.blob(code)),
            output: Some(self.blob(output)),
            run: Some(RunFacts {
                outcome: Outcome::Finished,
                wall: 1.5,
                processor: 1.0,
                peak_memory: 1 << 27,
                cached: false,
            }),
            metric,
            judged: None,
            state: if metric.is_some() { NodeState::Good } else { bug },
            submission: None,
            invalid: None,
            ended_at: f64::from(id.0),
            automind: None,
        };
        self.state.decided.push((decision, 0.0));
        self.state.nodes.insert(id, node);
    }

    fn page(&self, by_step: &[StepGrade]) -> String {
        let folder = Utf8PathBuf::try_from(self.folder.path().to_owned()).unwrap();
        TreePage::from_run(&self.state, &folder, by_step).unwrap().html()
    }
}

/// 500 nodes with scripts of `bytes` bytes, of which a fifth of the lines, one after the other,
/// changes from node to node, and outputs of as many.
fn large(bytes: usize) -> String {
    let mut run = MadeRun::new();
    for id in 0..500_u32 {
        let line = |line: usize| match line * 5 / (bytes / 52) {
            2 => format!("x{line} = train[\"column {id}\"] if n < {id} else 'other'\n"),
            _ => format!("model{line} = fit(x, y, depth={line}, seed=0) & check\n"),
        };
        let code: String = (0..bytes / 52).map(line).collect();
        let epoch = |epoch: usize| format!("epoch {epoch} of {id}: loss 0.123456 <ok>\n");
        let output = (0..bytes / 40).map(epoch).collect::<Vec<_>>().concat();
        let decision = match id {
            0..5 => Decision::draft(),
            _ => Decision::improve(NodeId(id / 2)),
        };
        run.node(decision, &code, &output, (id % 3 > 0).then(|| 1.0 / f64::from(id + 1)));
    }
    run.page(&[])
}

#[test]
fn page_of_500_nodes_is_below_5_mb_without_a_cut_text() {
    let html = large(3000);
    assert!(html.len() <= PAGE_LIMIT, "{} bytes", html.len());
    assert!(html.len() > 3_000_000 && !html.contains("are left out"), "{} bytes", html.len());
}

#[test]
fn page_of_500_nodes_with_long_texts_is_cut_to_5_mb_and_names_the_blobs() {
    let html = large(9000);
    assert!(html.len() <= PAGE_LIMIT, "{} bytes", html.len());
    assert!(html.contains("bytes are left out here; the whole text is <code>blobs/"));
}

#[test]
fn hostile_texts_are_shown_as_text() {
    let evil = "</script><img src=x onerror=alert(1)>\"'&\u{2028}\u{202e}evil\u{1b}[31m</style>";
    let mut run = MadeRun::new();
    run.state.header.player = evil.to_owned();
    run.node(Decision::draft(), evil, evil, Some(0.5));
    run.node(Decision::improve(NodeId(0)), &format!("{evil}\nb"), evil, None);
    for node in run.state.nodes.values_mut() {
        node.plan = evil.to_owned();
        node.invalid = Some(evil.to_owned());
    }
    let html = run.page(&[]);
    assert!(html.contains("&lt;/script&gt;&lt;img src=x onerror=alert(1)&gt;"));
    assert!(html.contains("[U+2028][U+202E]evil\u{fffd}"));
    for refused in ["<img", "\u{1b}", "http:", "https:", "src=\"", "\u{202e}", "\u{2028}"] {
        assert!(!html.contains(refused), "{refused:?}");
    }
    assert_eq!(html.matches("<script").count(), 1);
    assert_eq!(html.matches("</script").count(), 1);
    assert!(html.contains("default-src 'none'") && html.contains("script-src 'sha256-"));
    assert!(!html.contains(" style="), "the policy forbids it");
}

#[test]
fn page_of_a_search_marks_the_way_to_the_chosen_node_and_draws_both_curves() {
    let mut run = MadeRun::new();
    run.node(Decision::draft(), "a\n", "", Some(0.5));
    run.node(Decision::draft(), "b\n", "", None);
    run.node(Decision::improve(NodeId(0)), "a\nb\n", "", Some(0.25));
    run.node(Decision::crossover(NodeId(2), NodeId(0)), "c\n", "", Some(0.75));
    run.state.decided.push((Decision::debug(NodeId(1)), 0.0));
    run.state.finish = Some((Some(NodeId(2)), AgentEnd::Steps));
    let grade = |score| StepGrade { seconds: 1.0, score, medal: None, above_median: false };
    let html = run.page(&[grade(Some(0.6)), grade(None), grade(Some(0.3))]);
    // Of four edges, one is on the way, and one leads to the second parent.
    assert_eq!(html.matches("class=\"edge").count(), 4);
    assert_eq!(html.matches("class=\"edge chosen\"").count(), 1);
    assert_eq!(html.matches("class=\"edge second\"").count(), 1);
    // Lower is better: 0.25 has the strongest shade, 0.75 the weakest.
    // The key has a sign of the weakest shade as well, and one of what failed.
    for (class, count) in
        [("s2 chosen", 1), ("buggy", 2), ("s4 chosen", 1), ("s0", 2), ("pending", 1)]
    {
        assert_eq!(html.matches(&format!("class=\"node {class}\"")).count(), count, "{class}");
    }
    assert!(html.contains("node 2: improve, good, validation score 0.25, chosen"));
    assert!(html.contains("  a\n<ins>+ b\n</ins>"));
    assert!(html.contains("test score of what would count"));
    assert!(html.contains("being worked on"));
}

#[test]
fn page_of_turns_is_a_chain_and_compares_with_the_last_turn_that_has_a_script() {
    let mut run = MadeRun::new();
    for (number, tool) in [Tool::Python, Tool::Malformed, Tool::Python].into_iter().enumerate() {
        let ran = tool == Tool::Python;
        let code = ["line 0\n", "line 1\n", "line 2\n"][..=number].concat();
        let turn = TurnFacts {
            number: NodeId(u32::try_from(number).unwrap()),
            record: TurnRecord {
                tool,
                has_thought: false,
                outcome: ran.then_some(Outcome::Finished),
                seconds: 0.5,
                cached: false,
            },
            code: ran.then(|| run.blob(&code)),
            reply: Some(run.blob("go on")),
            metric: ran.then_some(0.5),
            submission: None,
            score: None,
            ended_at: 1.0,
        };
        run.state.turns.push(turn);
    }
    let html = run.page(&[]);
    assert!(html.contains("Changes to the script of turn 0") && html.contains("<ins>+ line 1\n"));
    assert!(html.contains("turn 1: malformed, nothing that can be carried out"));
    assert_eq!(html.matches("class=\"edge").count(), 2);
    assert!(html.contains("not over"));
}

#[test]
fn page_of_a_run_that_has_only_begun_says_so() {
    let html = MadeRun::new().page(&[]);
    assert!(html.contains("Nothing was decided yet") && html.contains("not over"));
}
