//! Mode `code`: tasks whose rows a generator draws.

use super::command::{
    count, entries, generate, kill_often, models_file, options, recorded_by, succeed,
};
use super::generators::generator;
use super::puppet::PuppetModel;
use super::server::provider;
use camino::{Utf8Path, Utf8PathBuf};
use factory::corpus::ledger::{AttemptOutcome, Entry};
use factory::generator::GeneratorJail;
use factory::package::Draft;
use factory::page;
use factory::roles::{RoleBackend, RoleCheckError, TaskPage, TaskPart, generated, operator};
use factory::spec::blueprint::Blueprint;
use factory::spec::config::Options;
use factory::spec::mutation::Mutation;
use factory::spec::scenario::{NumberColumn, Story};
use factory::verify::{self, VerifyError};
use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;
use std::time::Duration;
use support::folders::{TemporaryFolder, corpus_files};
use tasks::task::Corpus;

/// The kinds of data that generators serve.
const MODALITIES: [&str; 5] = ["tabular", "image", "audio", "text", "multimodal"];
/// The questions that they serve.
const FORMULATIONS: [&str; 5] =
    ["binary", "multiclass", "regression", "multilabel", "multi_target"];

/// Those whose files are soon made, for a test to which it is all one what tasks hold.
const LIGHT: [&str; 2] = ["tabular", "text"];

/// Options of a corpus in `out` whose kinds all have generators.
fn coded(out: &Utf8Path, modalities: &[&str], count: usize) -> Options {
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    Options {
        modalities: names(modalities),
        formulations: names(&FORMULATIONS),
        ..options(out, count, Some("code"))
    }
}

/// The command that makes the same corpus of [`LIGHT`] kinds.
fn generate_light(out: &Utf8Path, models: &Utf8Path, more: &[&str]) -> Command {
    let (modalities, formulations) = (LIGHT.join(","), FORMULATIONS.join(","));
    let flags = ["--models", models.as_str(), "--roles", "code:puppet"];
    let kinds = ["--modality", &modalities, "--formulation", &formulations];
    generate(out, count(), &[&flags[..], &kinds[..], more].concat())
}

/// A corpus in which the puppet wrote the generators, and its recording.
struct CodedCorpus {
    folder: TemporaryFolder,
    recording: Utf8PathBuf,
    path: Utf8PathBuf,
}

impl CodedCorpus {
    fn new(modalities: &[&str]) -> Self {
        let folder = TemporaryFolder::new();
        let path = folder.path().join("recorded");
        let options = coded(&path, modalities, count());
        let recording = recorded_by(&folder, PuppetModel::new(&options), &options);
        Self { folder, recording, path }
    }

    fn verify(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_factory"));
        command.args(["verify", self.path.as_str()]);
        command
    }
}

/// Why attempts were refused, by cell and reason.
fn reasons(entries: &[Entry]) -> BTreeMap<(String, String), usize> {
    let mut reasons = BTreeMap::new();
    for entry in entries {
        if let Some(reason) = &entry.reason {
            *reasons.entry((entry.cell.to_string(), reason.clone())).or_default() += 1;
        }
    }
    reasons
}

#[test]
fn three_slots_in_four_become_tasks_that_verify_without_python_and_order_solvers() {
    let corpus = CodedCorpus::new(&MODALITIES);
    // A few stories of these kinds have items that no generator serves; they are made by rules.
    let mut entries = entries(&corpus.path);
    entries.retain(|entry| entry.model.as_ref().unwrap().mode == "code");
    let slots: BTreeSet<u64> = entries.iter().map(|entry| entry.slot).collect();
    assert!(10 * slots.len() >= 8 * count(), "{} slots for generators", slots.len());
    let is_accepted = |entry: &&Entry| entry.outcome == AttemptOutcome::Accepted;
    let accepted = entries.iter().filter(is_accepted).count();
    let mut longest: BTreeMap<String, u64> = BTreeMap::new();
    for entry in entries.iter().filter(is_accepted) {
        let modality = entry.cell.to_string();
        let modality = modality.split('/').next().unwrap_or_default().to_owned();
        let most = longest.entry(modality).or_default();
        *most = entry.milliseconds.unwrap().max(*most);
    }
    println!(
        "{accepted} of {} slots in {} attempts; longest accepted attempts in ms: {longest:?}; \
         refused: {:?}",
        slots.len(),
        entries.len(),
        reasons(&entries)
    );
    assert!(4 * accepted >= 3 * slots.len(), "{accepted} of {}", slots.len());
    let mut kept = 0;
    for task in Corpus::open(&corpus.path).unwrap().tasks() {
        let files = corpus_files(task.path());
        let is_coded = task.manifest().provenance["roles"]["authors"]["developer"].is_object();
        for path in ["source/generated.bin", "source/generate_task_env.py"] {
            assert_eq!(files.contains_key(path), is_coded, "{}: {path}", task.id());
        }
        kept += usize::from(is_coded);
    }
    assert_eq!(kept, accepted);
    // A rebuild asks neither a model nor Python.
    let mut verify = corpus.verify();
    verify.env("MLE_PYTHON", "/nonexistent/python").env("PATH", "");
    succeed(verify);
    let mut verify = corpus.verify();
    let text = succeed({
        verify.arg("--regenerate");
        verify
    });
    let text = String::from_utf8_lossy(&text.stdout).into_owned();
    let expected = format!("{accepted} of {accepted} generators draw the kept rows again");
    assert!(text.contains(&expected), "{text}");
    scripted_solvers_keep_their_order(&corpus);
}

fn scripted_solvers_keep_their_order(corpus: &CodedCorpus) {
    let file = corpus.folder.path().join("calibration.json");
    let mut calibrate = Command::new(env!("CARGO_BIN_EXE_factory"));
    calibrate.args(["calibrate", corpus.path.as_str(), "--split", "train", "--json"]);
    calibrate.arg(&file);
    let output = succeed(calibrate);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let calibration: serde_json::Value =
        serde_json::from_slice(&fs_err::read(&file).unwrap()).unwrap();
    assert_eq!(calibration["faults"], 0, "{text}");
    let levels = calibration["levels"].as_array().unwrap().iter();
    let wins: Vec<f64> = levels.map(|level| level["wins"].as_f64().unwrap()).collect();
    let [constant, linear, forest, _, oracle] = wins[..] else { panic!("{text}") };
    // A handful of tasks orders neighbours by chance.
    let is_ordered = if count() < 30 {
        constant < linear && linear < oracle && forest < oracle
    } else {
        wins.is_sorted_by(|below, above| below < above)
    };
    assert!(is_ordered, "{text}");
}

/// The reason code of a tabular task whose generator is changed by `change`, or `accepted`. Rows are
/// drawn again where the ladder is refused, as a run would.
fn verdict(change: impl Fn(String, &Blueprint) -> String) -> String {
    let folder = TemporaryFolder::new();
    let options = Options {
        modalities: vec!["tabular".to_owned()],
        formulations: vec!["regression".to_owned()],
        ..options(folder.path(), 1, Some("code"))
    };
    let puppet = PuppetModel::new(&options);
    let jail = GeneratorJail::start(1).unwrap();
    for attempt in 0..12 {
        let brief = puppet.brief(0, attempt);
        let Story::Table(story) = &brief.scenario.story else { panic!("a table") };
        let blueprint = generated::blueprint(&brief, &brief.scenario.story).unwrap();
        let code = change(generator(&blueprint), &blueprint);
        let facts = match generated::develop(&blueprint, story, &code, &jail) {
            Ok(facts) => facts,
            Err(RoleCheckError::Refused(refusal)) => return refusal.code.to_owned(),
            Err(RoleCheckError::Fault(fault)) => panic!("{fault}"),
        };
        let text = page::builtin(&facts.blueprint, brief.scenario, &facts.assets);
        let page = TaskPage { text, prose: None };
        let evaluator = operator::evaluator(&facts.blueprint);
        let draft = Draft::new(facts, evaluator, page, RoleBackend::Builtin).unwrap();
        match verify::verify(draft, &folder.path().join("work")) {
            Ok(_) => return "accepted".to_owned(),
            Err(VerifyError::Refused(refusal)) if refusal.part() == Some(TaskPart::Mechanism) => {}
            Err(VerifyError::Refused(refusal)) => return refusal.code().to_owned(),
            Err(VerifyError::Package(error)) => panic!("{error}"),
        }
    }
    panic!("no ladder in 12 attempts")
}

#[test]
fn near_copies_on_both_sides_of_the_split_are_refused() {
    assert_eq!(verdict(|code, _| code), "accepted");
    // Each row twice; the column with the most values differs by a little.
    let twice = |code: String, blueprint: &Blueprint| {
        let values = |spec: &&NumberColumn| {
            let NumberColumn { low, high, decimals, .. } = *spec;
            (high - low) * 10_f64.powi(i32::try_from(*decimals).unwrap())
        };
        // Two cells of a column with gaps can both be empty.
        let has_gaps = |name: &str| {
            blueprint.mutations.iter().any(|mutation| match mutation {
                Mutation::Missing { column, .. } | Mutation::Sentinel { column, .. } => {
                    column == name
                }
                _ => false,
            })
        };
        let finest = blueprint.numbers.iter().filter(|spec| !has_gaps(&spec.name));
        let finest = finest.max_by(|one, other| values(one).total_cmp(&values(other))).unwrap();
        // What is too small to be written would leave rows equal.
        let (name, least) = (&finest.name, 10_f64.powi(-i32::try_from(finest.decimals).unwrap()));
        let lines = format!(
            "    order = rng.permutation(n)\n    \
             half = (n + 1) // 2\n    \
             c = {{name: np.array(values)[order % half] for name, values in c.items()}}\n    \
             x = c[{name:?}]\n    \
             d = np.maximum({least}, rng.uniform(0.05, 0.4, n) * x.std()) * (order >= half)\n    \
             c[{name:?}] = np.where(x + d > x.max(), x - d, x + d)\n    \
             return {{name: values.tolist() for name, values in c.items()}}\n"
        );
        code.replace("    return c\n", &lines)
    };
    assert_eq!(verdict(twice), "near_copy");
}

#[test]
fn recording_of_generators_replays_to_the_same_corpus_one_by_one_and_through_kills() {
    let corpus = CodedCorpus::new(&LIGHT);
    let made = corpus_files(&corpus.path);
    let server = provider(&corpus.recording, Duration::from_millis(5), true);
    let models = models_file(&corpus.folder, &server);
    let out = corpus.folder.path().join("one-by-one");
    let output = generate_light(&out, &models, &["--concurrency", "1"]).output().unwrap();
    // 3: some slots stayed empty.
    assert!(matches!(output.status.code(), Some(0 | 3)), "{output:?}");
    assert!(made == corpus_files(&out), "one by one");

    let server = provider(&corpus.recording, Duration::from_millis(20), true);
    let models = models_file(&corpus.folder, &server);
    let broken = corpus.folder.path().join("broken");
    kill_often(&broken, || generate_light(&broken, &models, &["--concurrency", "8"]));
    assert!(made == corpus_files(&broken), "through kills");
}
