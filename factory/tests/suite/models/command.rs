//! The command that asks models, against a provider with faults.

use super::puppet::PuppetModel;
use super::server::provider;
use crate::generate::LIGHT;
use camino::{Utf8Path, Utf8PathBuf};
use factory::corpus::ledger::{self, AttemptOutcome, Entry};
use factory::corpus::pipeline::{self, Progress};
use factory::generator::GeneratorJail;
use factory::package::{self, TaskSource};
use factory::roles::RoleName;
use factory::roles::model::{ModelPrograms, ModelRoles, RoleModel};
use factory::spec::config::{Options, Preset};
use factory::spec::limits::RoleLimits;
use factory::spec::plan::Slot;
use factory::spec::role_settings::{RoleSettings, RolesTable};
use factory::spec::scenario;
use factory::verify::run::JailedTrial;
use fs_err as fs;
use llm::{CallLine, CallRecord, ChatRecorder, PriceList};
use std::collections::{BTreeMap, BTreeSet};
use std::process::{Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use support::folders::{TemporaryFolder, corpus_files, replace};
use support::provider::{FakeProvider, Piece, answer, hello};
use tasks::task::Corpus;

const KEY: &str = "sk-pUpPeT-0123456789";

/// How many tasks the long comparisons make.
pub(crate) fn count() -> usize {
    std::env::var("MODEL_TASKS").map_or(6, |count| count.parse().unwrap())
}

/// Attempts at a time of recorded runs. 1 for the time of a single one.
fn concurrency() -> usize {
    std::env::var("MODEL_CONCURRENCY").map_or(8, |threads| threads.parse().unwrap())
}

/// How often the interrupted run is killed.
fn kills() -> u64 {
    std::env::var("MODEL_KILLS").map_or(3, |kills| kills.parse().unwrap())
}

pub(crate) struct NoProgress;

impl Progress for NoProgress {
    fn planned(&self, _total: usize, _finished: usize, _notes: &[String]) {}
    fn finished(&self, _slot: &Slot, _accepted: bool) {}
}

/// Options of a corpus in `out`, with a model in `mode` or none.
pub(crate) fn options(out: &Utf8Path, count: usize, mode: Option<&str>) -> Options {
    let roles = match mode {
        None => RoleSettings::default(),
        Some(mode) => {
            let choice = format!("{mode}:puppet").parse().unwrap();
            RoleSettings::new(&RolesTable::default(), Some(&choice)).unwrap()
        }
    };
    Options {
        seeds: "mlebench".to_owned(),
        count,
        val_count: None,
        out: out.to_owned(),
        seed: 4,
        jobs: 0,
        concurrency: concurrency(),
        carry_on: false,
        modalities: Vec::new(),
        formulations: Vec::new(),
        shares: Vec::new(),
        preset: Preset::Large,
        levels: Vec::new(),
        limits: RoleLimits::default(),
        roles,
        shard: None,
    }
}

/// Makes a corpus of [`LIGHT`] kinds in which the puppet plays, and returns its recording.
fn recorded_light(folder: &TemporaryFolder, count: usize, mode: &str) -> Utf8PathBuf {
    let out = folder.path().join(format!("recorded-{mode}"));
    let modalities = LIGHT.split(',').map(str::to_owned).collect();
    let options = Options { modalities, ..options(&out, count, Some(mode)) };
    recorded_by(folder, PuppetModel::new(&options), &options)
}

/// Makes a corpus in which the puppet plays, and returns its recording.
pub(crate) fn recorded(folder: &TemporaryFolder, count: usize, mode: &str) -> Utf8PathBuf {
    let options = options(&folder.path().join(format!("recorded-{mode}")), count, Some(mode));
    recorded_by(folder, PuppetModel::new(&options), &options)
}

/// Makes a corpus in which this puppet plays, and returns its recording.
pub(crate) fn recorded_by(
    folder: &TemporaryFolder,
    puppet: PuppetModel,
    options: &Options,
) -> Utf8PathBuf {
    let recording = folder.path().join(format!("{}.jsonl", options.roles.mode));
    let model = RoleModel {
        chat: Arc::new(ChatRecorder::new(puppet, &recording).unwrap()),
        name: "puppet-1".to_owned(),
        price: None,
    };
    let models = BTreeMap::from([("puppet".to_owned(), model)]);
    let programs = options.roles.has_programs().then(|| {
        let generators = GeneratorJail::start(2).unwrap();
        let evaluators = Arc::new(JailedTrial::new(generators.sandbox().clone()));
        ModelPrograms { generators, evaluators }
    });
    let roles = ModelRoles::new(options.roles.clone(), models, programs).unwrap();
    pipeline::generate(options, &roles, &NoProgress, &AtomicBool::new(false)).unwrap();
    recording
}

/// A file of models whose endpoint `puppet` is `provider`.
pub(crate) fn models_file(folder: &TemporaryFolder, provider: &FakeProvider) -> Utf8PathBuf {
    let address = provider.address;
    folder.write(
        &format!("models-{}.toml", address.port()),
        &format!(
            "[endpoint.puppet]\nprotocol = \"openai\"\nbase_url = \"http://{address}/v1\"\n\
             model = \"puppet-1\"\nkey_env = \"PUPPET_KEY\"\n"
        ),
    )
}

/// The command that makes a corpus of `count` tasks as [`options`] has it.
pub(crate) fn generate(out: &Utf8Path, count: usize, more: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_factory"));
    command
        .args(["generate", "--seed", "4", "--count", &count.to_string(), "--out", out.as_str()])
        .args(more)
        .env("PUPPET_KEY", KEY)
        .env_remove("OPENAI_API_KEY")
        .env_remove("HTTP_PROXY");
    command
}

pub(crate) fn succeed(mut command: Command) -> Output {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output
}

/// Files that the roles of models leave as they are: data, answers, milestones.
pub(crate) fn data(corpus: &Utf8Path) -> BTreeMap<String, Vec<u8>> {
    let mut files = corpus_files(corpus);
    files.retain(|path, _| {
        path.contains("/prepared/") && !path.ends_with("/prepared/public/description.md")
    });
    files
}

pub(crate) fn entries(corpus: &Utf8Path) -> Vec<Entry> {
    let text = fs::read_to_string(corpus.join("ledger.jsonl")).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str(line).unwrap());
    let mut entries: Vec<Entry> = lines.collect();
    ledger::add_times(corpus, &mut entries).unwrap();
    entries
}

/// The content addresses of answers that were booked as paid, probes left out.
pub(crate) fn paid(corpus: &Utf8Path) -> Vec<String> {
    let text = fs::read_to_string(corpus.join("calls.jsonl")).unwrap();
    let mut open: BTreeMap<u64, String> = BTreeMap::new();
    let mut paid = Vec::new();
    for line in text.lines() {
        match serde_json::from_str(line).unwrap() {
            CallLine::Reserved { call, key, purpose, .. } if purpose.role != "probe" => {
                open.insert(call, key);
            }
            CallLine::Settled { call, answered_by: Some(_), .. } => {
                paid.extend(open.remove(&call));
            }
            _ => {}
        }
    }
    paid
}

#[test]
fn puppet_behind_a_faulty_provider_makes_the_built_in_data() {
    let folder = TemporaryFolder::new();
    let recording = recorded(&folder, count(), "blueprint");
    let server = provider(&recording, Duration::from_millis(5), true);
    let models = models_file(&folder, &server);
    let (ours, builtin) = (folder.path().join("ours"), folder.path().join("builtin"));
    let flags = ["--models", models.as_str(), "--roles", "blueprint:puppet"];
    succeed(generate(&ours, count(), &flags));
    succeed(generate(&builtin, count(), &[]));
    let (ours_data, builtin_data) = (data(&ours), data(&builtin));
    assert!(ours_data.keys().eq(builtin_data.keys()));
    for (path, bytes) in &ours_data {
        assert!(*bytes == builtin_data[path], "{path} differs");
    }
    for entry in entries(&ours) {
        let model = entry.model.unwrap();
        assert_eq!((model.mode.as_str(), model.name.as_str()), ("blueprint", "puppet"));
        assert!(model.fallbacks.is_empty(), "slot {}", entry.slot);
    }
    // Every fault was met, and no answer was paid twice.
    let paid = paid(&ours);
    assert_eq!(paid.iter().collect::<BTreeSet<_>>().len(), paid.len());
    assert!(server.count() > paid.len() * 5 / 4, "{} for {}", server.count(), paid.len());
}

#[test]
fn writer_behind_a_faulty_provider_falls_back_to_the_built_in_page_at_most_twice() {
    let folder = TemporaryFolder::new();
    let recording = recorded(&folder, count(), "writer");
    let server = provider(&recording, Duration::from_millis(5), true);
    let models = models_file(&folder, &server);
    let corpus = folder.path().join("corpus");
    let flags = ["--models", models.as_str(), "--roles", "writer:puppet"];
    succeed(generate(&corpus, count(), &flags));
    let accepted = entries(&corpus);
    let accepted = accepted.iter().filter(|entry| entry.outcome == AttemptOutcome::Accepted);
    let uses: Vec<_> = accepted.map(|entry| entry.model.as_ref().unwrap()).collect();
    assert_eq!(uses.len(), count());
    assert!(uses.iter().all(|model| model.mode == "writer" && model.cost.calls > 0));
    let fallbacks = uses.iter().filter(|model| !model.fallbacks.is_empty()).count();
    println!("{fallbacks} of {} pages are the built-in ones", count());
    assert!(fallbacks <= 2, "{fallbacks} of {}", count());
}

#[test]
fn kept_prose_that_does_not_fit_the_task_is_refused_by_verification() {
    let folder = TemporaryFolder::new();
    recorded_light(&folder, 2, "writer");
    let corpus = folder.path().join("recorded-writer");
    let verify = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_factory"));
        command.args(["verify", corpus.as_str()]);
        command
    };
    succeed(verify());
    let task = Corpus::open(&corpus).unwrap().tasks()[0].clone();
    let mut source = TaskSource::read(&task).unwrap();
    let prose = source.prose.as_mut().unwrap();
    prose.overview.push_str(" Some 987654 people took part.");
    // The page and the hashes are those of the changed prose.
    let stories = scenario::all().unwrap();
    let scenario = source.blueprint.scenario_among(&stories).unwrap();
    let draft = package::rebuild(&source, &scenario, None).unwrap();
    for file in ["prepared/public/description.md", "source/prose.json"] {
        replace(task.path(), file, &draft.files[file]);
    }
    let refused = verify().output().unwrap();
    assert_eq!(refused.status.code(), Some(3));
    let text = String::from_utf8_lossy(&refused.stdout) + String::from_utf8_lossy(&refused.stderr);
    assert!(text.contains("page_number") && text.contains("987654"), "{text}");
    assert!(text.contains("1 of 2 tasks pass verification"), "{text}");
}

#[test]
fn questions_that_the_provider_filters_leave_the_built_in_pages() {
    let folder = TemporaryFolder::new();
    let filtered = r#"{"error":{"message":"filtered","code":"content_filter"}}"#;
    let server = FakeProvider::start(move |_, request| {
        if request.body.contains("Answer with the word: yes") {
            return hello();
        }
        vec![Piece::Bytes(answer(400, &[], filtered))]
    });
    let models = models_file(&folder, &server);
    let corpus = folder.path().join("corpus");
    succeed(generate(&corpus, 2, &["--models", models.as_str(), "--roles", "writer:puppet"]));
    for entry in entries(&corpus) {
        assert_eq!(entry.model.unwrap().fallbacks, [RoleName::Writer], "slot {}", entry.slot);
    }
    assert!(server.count() > 2);
}

#[test]
fn recording_replays_to_the_same_corpus_whatever_the_concurrency() {
    let folder = TemporaryFolder::new();
    let recording = recorded_light(&folder, count(), "blueprint");
    let server = provider(&recording, Duration::ZERO, false);
    let models = models_file(&folder, &server);
    let asked = folder.path().join("asked");
    let flags = ["--models", models.as_str(), "--roles", "blueprint:puppet", "--modality", LIGHT];
    succeed(generate(&asked, count(), &flags));
    let exported = folder.path().join("exported.jsonl");
    let mut export = Command::new(env!("CARGO_BIN_EXE_factory"));
    export.args(["calls", "export", asked.as_str(), exported.as_str()]);
    succeed(export);
    let requests = server.count();
    for concurrency in ["1", "16"] {
        let out = folder.path().join(concurrency);
        let more = ["--replay", exported.as_str(), "--concurrency", concurrency];
        let mut command = generate(&out, count(), &[&flags[..], &more[..]].concat());
        command.env_remove("PUPPET_KEY");
        succeed(command);
        assert!(corpus_files(&asked) == corpus_files(&out), "concurrency {concurrency}");
    }
    assert_eq!(server.count(), requests, "a replay asks no provider");
}

/// The answers in a cache, each with the number of its file.
fn answer_files(cache: &Utf8Path) -> BTreeMap<Utf8PathBuf, u64> {
    let shards = cache.read_dir_utf8().unwrap();
    let files = shards.flat_map(|shard| shard.unwrap().path().read_dir_utf8().unwrap());
    files.map(|file| file.unwrap().into_path()).map(|path| (path.clone(), inode(&path))).collect()
}

fn inode(path: &Utf8Path) -> u64 {
    std::os::unix::fs::MetadataExt::ino(&fs::metadata(path).unwrap())
}

#[test]
fn no_cache_asks_anew_and_keeps_the_new_answers() {
    let folder = TemporaryFolder::new();
    let recording = recorded_light(&folder, 2, "writer");
    let server = provider(&recording, Duration::ZERO, false);
    let models = models_file(&folder, &server);
    let cache = folder.path().join("answers");
    let flags =
        ["--models", models.as_str(), "--roles", "writer:puppet", "--modality", LIGHT, "--cache"];
    let run = |name: &str, more: &[&str]| {
        let before = server.count();
        let out = folder.path().join(name);
        succeed(generate(&out, 2, &[&flags[..], &[cache.as_str()], more].concat()));
        server.count() - before
    };
    // One call of each run asks whether the model answers.
    let asked = run("first", &[]);
    let kept = answer_files(&cache);
    assert_eq!(kept.len(), asked - 1);
    assert_eq!(run("second", &[]), 1);
    assert_eq!(answer_files(&cache), kept, "what is read is not written again");
    assert_eq!(run("third", &["--no-cache"]), asked);
    let anew = answer_files(&cache);
    assert!(anew.keys().eq(kept.keys()) && anew.iter().all(|(path, file)| kept[path] != *file));
}

#[test]
fn killed_runs_end_in_the_same_corpus_and_pay_no_answer_twice() {
    let folder = TemporaryFolder::new();
    let recording = recorded_light(&folder, count(), "blueprint");
    let server = provider(&recording, Duration::from_millis(20), true);
    let models = models_file(&folder, &server);
    let flags = ["--models", models.as_str(), "--roles", "blueprint:puppet", "--modality", LIGHT];
    let broken = folder.path().join("broken");
    kill_often(&broken, || generate(&broken, count(), &flags));
    let recorded = folder.path().join("recorded-blueprint");
    assert!(corpus_files(&recorded) == corpus_files(&broken));
}

/// Starts a command that makes the corpus `out` and kills it, later each time; then lets it end.
/// No answer may have been paid twice.
pub(crate) fn kill_often(out: &Utf8Path, command: impl Fn() -> Command) {
    for kill in 0..kills() {
        let mut command = command();
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(300 + 470 * kill));
        child.kill().unwrap();
        child.wait().unwrap();
    }
    let ended = command().output().unwrap();
    // 3: some slots stayed empty.
    assert!(matches!(ended.status.code(), Some(0 | 3)), "{ended:?}");
    let paid = paid(out);
    assert_eq!(paid.iter().collect::<BTreeSet<_>>().len(), paid.len(), "an answer was paid twice");
}

#[test]
fn budget_ends_a_run_before_it_is_exceeded_and_a_higher_one_continues_it() {
    let folder = TemporaryFolder::new();
    let recording = recorded_light(&folder, count(), "writer");
    let server = provider(&recording, Duration::from_millis(5), true);
    let models = models_file(&folder, &server);
    let price = "[[price]]\nmodel = \"puppet-1\"\ninput = \"1\"\noutput = \"5\"\n";
    let prices = folder.write("prices.toml", price);
    let out = folder.path().join("corpus");
    let run = |budget: &str| {
        let flags = ["--models", models.as_str(), "--roles", "writer:puppet"];
        let money = ["--prices", prices.as_str(), "--budget-usd", budget, "--modality", LIGHT];
        generate(&out, count(), &[&flags[..], &money[..]].concat()).output().unwrap()
    };
    let stopped = run("0.02");
    let text = String::from_utf8_lossy(&stopped.stderr).into_owned();
    let spent = |limit: f64| {
        let prices = PriceList::from_toml(price).unwrap();
        let record = CallRecord::open(&out.join("calls.jsonl"), prices, None).unwrap();
        assert!((record.totals().spent.0 as f64) <= limit * 1e6, "{:?}", record.totals());
    };
    spent(0.02);
    assert_eq!(stopped.status.code(), Some(3), "{text}");
    assert!(text.contains("stopped by the budget") && text.contains("--budget-usd"), "{text}");
    let finished: BTreeSet<u64> = entries(&out).iter().map(|entry| entry.slot).collect();
    assert!(finished.len() < count(), "{} slots for so little money", finished.len());
    assert!(run("10").status.success());
    assert!(corpus_files(&folder.path().join("recorded-writer")) == corpus_files(&out));
}

/// The one line that a user sees.
fn complaint(mut command: Command) -> String {
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(output.stdout.is_empty());
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(!text.contains("panicked") && !text.contains(KEY), "{text}");
    text
}

#[test]
fn wrong_input_gets_one_clear_error_and_nothing_is_made() {
    let folder = TemporaryFolder::new();
    let out = folder.path().join("corpus");
    let says = |status: u16, body: &'static str| {
        FakeProvider::start(move |_, _| vec![Piece::Bytes(answer(status, &[], body))])
    };
    let wrong_key =
        says(401, r#"{"error":{"message":"Incorrect API key provided: sk-pUpPeT-0123456789"}}"#);
    let unknown_model = says(
        404,
        r#"{"error":{"message":"The model `puppet-1` does not exist","code":"model_not_found"}}"#,
    );
    let html = says(404, "<html><h1>Not Found</h1></html>");
    let with = |provider: &FakeProvider, more: &[&str]| {
        let models = models_file(&folder, provider);
        let flags = ["--models", models.as_str(), "--roles", "writer:puppet"];
        generate(&out, 2, &[&flags[..], more].concat())
    };
    let good = FakeProvider::start(|_, _| hello());
    let mut no_key = with(&good, &[]);
    no_key.env_remove("PUPPET_KEY");
    let old = folder.write("old.jsonl", "{\"version\":9,\"request\":{},\"completion\":{}}\n");
    let bad_toml = folder.write("bad.toml", "[endpoint.x]\nprotocol = \"grpc\"\n");
    let cases = [
        (no_key, "PUPPET_KEY"),
        (with(&wrong_key, &[]), "refuses the key"),
        (with(&unknown_model, &[]), "does not exist"),
        (with(&html, &[]), "404"),
        (generate(&out, 2, &["--roles", "writer:nowhere:m"]), "there is no endpoint `nowhere`"),
        (generate(&out, 2, &["--roles", "writer:openai:m"]), "OPENAI_API_KEY"),
        (with(&good, &["--budget-usd", "1"]), "[[price]]"),
        (with(&good, &["--replay", old.as_str()]), "version 9"),
        (generate(&out, 2, &["--models", bad_toml.as_str()]), "line 2"),
        (with(&good, &["--prices", "missing.toml"]), "missing.toml"),
    ];
    for (command, expected) in cases {
        let text = complaint(command);
        assert!(text.contains(expected), "{expected}: {text}");
        assert!(!out.join("corpus.json").exists(), "{expected}");
    }
    let usage = generate(&out, 2, &["--roles", "writer"]).output().unwrap();
    assert_eq!(usage.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&usage.stderr).contains("names no model"));
}

#[test]
fn check_says_which_models_answer() {
    let folder = TemporaryFolder::new();
    let server = FakeProvider::start(|_, _| hello());
    let models = models_file(&folder, &server);
    let check = |names: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_factory"));
        command.args(["models", "check", "--models", models.as_str()]).args(names);
        command.env("PUPPET_KEY", KEY).output().unwrap()
    };
    let good = check(&["puppet"]);
    let text = String::from_utf8_lossy(&good.stdout);
    assert!(good.status.success() && text.contains("puppet: answers as `m-1`"), "{text}");
    assert!(text.contains("price unknown"), "{text}");
    // Without names: every model that plays a role.
    let roles = "[roles]\nmodel = \"puppet\"\noperator = \"puppet:o\"\njudge = \"puppet:j\"\n";
    let text = format!("{}{roles}", fs::read_to_string(&models).unwrap());
    let with_roles = folder.write("roles.toml", &text);
    let mut command = Command::new(env!("CARGO_BIN_EXE_factory"));
    command.args(["models", "check", "--models", with_roles.as_str()]).env("PUPPET_KEY", KEY);
    let text = String::from_utf8(succeed(command).stdout).unwrap();
    for name in ["puppet: answers", "puppet:o: answers", "puppet:j: answers"] {
        assert!(text.contains(name), "{name}: {text}");
    }
    let mixed = check(&["puppet", "nowhere:m"]);
    assert_eq!(mixed.status.code(), Some(1));
    let text = String::from_utf8_lossy(&mixed.stdout);
    assert!(text.contains("nowhere:m: no answer: there is no endpoint"), "{text}");
}

#[test]
fn dry_run_asks_nothing_and_makes_nothing() {
    let folder = TemporaryFolder::new();
    let server = FakeProvider::start(|_, _| hello());
    let models = models_file(&folder, &server);
    let out = folder.path().join("corpus");
    let flags = ["--models", models.as_str(), "--roles", "blueprint:puppet", "--dry-run"];
    let output = succeed(generate(&out, 40, &flags));
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.starts_with("40 slots for models") && text.contains("440000"), "{text}");
    assert_eq!(server.count(), 0);
    assert!(!out.exists());
}
