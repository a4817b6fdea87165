//! `AutoMind` with the scripted engineer: on every kind of task, and on miniatures of competitions
//! that are graded as the competitions are.

use agents::automind::engineer::{Engineer, EngineerSkill};
use agents::knowledge::Knowledge;
use agents::preset::Preset;
use agents::run::player::Player;
use agents::run::stop::AgentStop;
use camino::Utf8Path;
use evals::bench::machine::{BenchMachine, MachineOptions};
use evals::bench::outcome::{BenchOutcome, BenchRun, GradedRun};
use evals::bench::runner::{Bench, BenchProgress, BenchRest, PlayerError, PlayerSource};
use evals::bench::suite::{BenchName, Selection, open};
use factory::spec::mix::Cell;
use factory::standin::{StandInSettings, write};
use std::process::Command;
use std::sync::atomic::AtomicBool;
use support::folders::TemporaryFolder;
use tasks::metrics::Direction;
use tasks::task::{Opening, Task, TaskId};

/// Engineers that make no slips.
struct Engineers;

impl PlayerSource for Engineers {
    fn player(&self, _: &Task, _: Direction, seed: u64) -> Result<Box<dyn Player>, PlayerError> {
        let skill = EngineerSkill { slip: 0.0, ..EngineerSkill::default() };
        Ok(Box::new(Engineer::new(seed, skill)))
    }
}

impl BenchProgress for Engineers {
    fn rest(&self, _: &TaskId, _: u64, _: &BenchRest) {}
}

/// One run of so many steps on each task, one of them a draft, the others with tricks.
fn played(bench: BenchName, data: &Utf8Path, steps: u32, out: &Utf8Path) -> Vec<BenchRun> {
    let settings = [
        format!("steps={steps}"),
        "automind.policy.drafts=1".to_owned(),
        "automind.tricks.probability=1.0".to_owned(),
    ];
    let preset = Preset::load("automind-micro", &settings).unwrap();
    let selection = Selection::from_names(Some(&["prepared".to_owned()])).unwrap();
    let (_, tasks) = open(bench, data, &Opening::default(), &selection).unwrap();
    let machine = BenchMachine::start(bench, tasks, (2, 1), MachineOptions::default()).unwrap();
    let played = Bench {
        machine: &machine,
        preset: &preset,
        agent: "automind/engineer",
        players: &Engineers,
        knowledge: Knowledge::shipped(),
        trials: None,
        price: None,
        out,
        seeds: 1,
        jobs: 2,
        grade_steps: false,
        boards: None,
        stop: &AgentStop::default(),
        progress: &Engineers,
    }
    .play()
    .unwrap();
    assert_eq!(played.unfinished(), None);
    played.runs
}

fn graded(run: &BenchRun) -> &GradedRun {
    match &run.outcome {
        BenchOutcome::Graded(graded) => graded,
        BenchOutcome::Fault { why } => panic!("{}: {why}", run.competition),
    }
}

#[test]
fn engineer_solves_every_kind_of_task() {
    let desk = TemporaryFolder::new();
    let (corpus, out) = (desk.path().join("corpus"), desk.path().join("out"));
    let cells = Cell::all();
    let count = cells.len().to_string();
    // Rounded down, since shares may not sum to more than 1.
    let share = (1e5 / cells.len() as f64).floor() / 1e5;
    let shares: Vec<String> = cells.iter().map(|cell| format!("{cell}={share}")).collect();
    let made = Command::new(env!("CARGO_BIN_EXE_factory"))
        .args(["generate", "--preset", "paper", "--count", &count, "--val-count", &count])
        .args(["--shares", &shares.join(","), "--out", corpus.as_str()])
        .output()
        .unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));

    let runs = played(BenchName::Synthetic, &corpus, 2, &out);
    assert_eq!(runs.len(), cells.len());
    let mut kinds = 0;
    for run in &runs {
        let name = &run.competition;
        assert_eq!(run.steps, 2, "{name}");
        assert!(graded(run).valid(), "{name}: no valid submission");
        // The first draft works already; a trick may do harm, but is not submitted then.
        let way = run.way.as_ref().expect("tasks of ours have a ladder").last();
        kinds += usize::from(way > 0.0);
    }
    // One row of texts or boxes may be no better than the constant; most kinds are.
    assert!(2 * kinds > cells.len(), "{kinds} of {} are better than a constant", cells.len());
}

/// A table, texts, and pictures with measurements of their shapes, which is what the engineer reads.
const COMPETITIONS: [&str; 3] =
    ["tabular-playground-series-dec-2021", "spooky-author-identification", "leaf-classification"];

#[test]
fn engineer_solves_miniatures_of_three_competitions_and_they_are_graded() {
    let desk = TemporaryFolder::new();
    let (data, out) = (desk.path().join("data"), desk.path().join("out"));
    let only = COMPETITIONS.map(str::to_owned).into();
    write(&data, &StandInSettings { only, seed: 0 }, &AtomicBool::new(false)).unwrap();
    let runs = played(BenchName::MlebenchLite, &data, 3, &out);
    let mut names: Vec<&str> = runs.iter().map(|run| run.competition.as_str()).collect();
    names.sort_unstable();
    let mut expected = COMPETITIONS;
    expected.sort_unstable();
    assert_eq!(names, expected);
    for run in &runs {
        let graded = graded(run);
        let score = graded.score.expect(&run.competition);
        assert_eq!(run.steps, 3);
        // A guess has a log loss of log 3 for three authors and of about log 99 for the leaves, and
        // an accuracy of about a half for the cover types.
        match run.competition.as_str() {
            "spooky-author-identification" => assert!(score < 3_f64.ln(), "{score}"),
            "leaf-classification" => assert!(score < 2.0, "{score}"),
            name => assert!(score > 0.6, "{name}: {score}"),
        }
    }
}
