//! FT-Agent from the first proposal to the last comparison, also where it is stopped on the way.

use crate::fixture::{self, PROGRAM, Server, TOKEN};
use crate::ft_fixture::{Place, SOUND, proposal, suite, suite_path, trainer_command};
use camino::{Utf8Path, Utf8PathBuf};
use fs_err as fs;
use posttrain::Digest;
use posttrain::ft::{
    Arena, Briefing, Check, Diagnosis, Draft, Evaluated, Experiment, ExperimentOutcome, FtFault,
    FtRunError, FtSettings, FtState, Opinion, Planner, Proposal, Rejection, Revision, Scripted,
    Stage, StageError, Workflow,
};
use posttrain::grade::ItemScore;
use serde_json::{Value, json};
use std::process::Command;
use std::thread;
use std::time::Duration;
use support::provider::{FakeProvider, Piece, SeenRequest, USAGE, answer, openai_events, stream};
use tasks::task::TaskId;
use worlds::TaskWorld;

/// A key that occurs nowhere else.
const KEY: &str = "tEsT-pRiVaTe-0123456789";

/// Scores of a model whose first weight is the share of 100 items that it wins.
fn scores(model: &Utf8Path) -> Evaluated {
    let bytes = fs::read(model.join("model.safetensors")).unwrap();
    let length = u64::from_le_bytes(bytes[..8].try_into().unwrap());
    let begin = 8 + usize::try_from(length).unwrap();
    let header: serde_json::Value = serde_json::from_slice(&bytes[8..begin]).unwrap();
    let offset = header[fixture::EMBEDDING]["data_offsets"][0].as_u64().unwrap();
    let at = begin + usize::try_from(offset).unwrap();
    let share = f64::from(f32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()));
    let item = |place: u32| {
        let is_won = f64::from(place) < 100.0 * share;
        let tags = if is_won { vec![] } else { vec!["wrong".to_owned()] };
        let id = TaskId::new(&format!("aime-dev-{place:05}")).unwrap();
        ItemScore { id, score: f64::from(u8::from(is_won)), tags }
    };
    let items: Vec<ItemScore> = (0..100).map(item).collect();
    Evaluated::new(items.iter().map(|item| item.score).sum::<f64>() / 100.0, &items)
}

/// An arena without a server, which fails at its first calls; with `over` it has no time left then.
struct Local<'a> {
    place: &'a Place,
    failures: u32,
    over: bool,
    scored: u32,
}

impl Arena for Local<'_> {
    fn baseline(&mut self) -> Result<Evaluated, FtFault> {
        Ok(scores(&self.place.path("base")))
    }

    fn submit(
        &mut self,
        _: u32,
        checkpoint: &Utf8Path,
    ) -> Result<Result<Evaluated, Rejection>, FtFault> {
        if self.failures > 0 {
            self.failures -= 1;
            return Err(FtFault::Server("it is away".to_owned()));
        }
        self.scored += 1;
        Ok(Ok(scores(checkpoint)))
    }

    fn left(&mut self) -> Result<Option<Duration>, FtFault> {
        Ok((self.over && self.failures == 0).then_some(Duration::ZERO))
    }
}

fn run(place: &Place, arena: &mut Local<'_>, loops: u32) -> Result<FtState, FtRunError> {
    let (task, out) = (suite().task("aime").unwrap(), place.path("run"));
    let run = place.run(task.spec(), loops, Digest::of(b"asked"), &out);
    run.run(&mut Scripted, arena)
}

#[test]
fn scripted_planner_writes_scripts_that_pass_all_checks_of_each_task_that_it_knows() {
    let mut checked = 0;
    for entry in suite().tasks() {
        let TaskWorld::Generated(world) = entry.world else { panic!("{entry:?}") };
        assert!(Scripted::knows(world));
        let place = Place::of(entry.id.as_str(), FtSettings::default());
        let task = suite().task(entry.id.as_str()).unwrap();
        let out = place.path("run");
        let run = place.run(task.spec(), 1, Digest::of(b"asked"), &out);
        let baseline = scores(&place.path("base"));
        let briefing = Briefing {
            task: run.task,
            form: run.chain.form,
            pool: run.chain.pool,
            schema: run.chain.schema,
            settings: run.chain.settings,
            teachers: run.chain.teachers,
            baseline: &baseline,
            experiments: &[],
            seed: 0,
        };
        let proposal = Scripted.propose(&briefing).unwrap();
        let script = Scripted.write_script(&briefing, &proposal, None).unwrap();
        let config = Scripted.write_config(&briefing, &proposal, None).unwrap();
        let draft = Draft { proposal, script, config, parent_data: None };
        let found = place.validate(&draft);
        assert!(found.plan.is_some(), "{}: {:?}", entry.id, found.checks);
        let stages: Vec<Stage> = found.checks.iter().map(|check| check.stage).collect();
        assert_eq!(stages, [Stage::Static, Stage::Debug, Stage::Mini, Stage::Sanity]);
        checked += 1;
    }
    assert_eq!(checked, 13);
}

/// Trainings in full so far.
fn full(place: &Place) -> usize {
    place.trainings().into_iter().filter(|line| !line.contains("/mini/")).count()
}

#[test]
fn best_never_falls_and_nothing_is_paid_for_twice_over_stops() {
    let place = Place::new(FtSettings::default());
    let mut arena = Local { place: &place, failures: 1, over: false, scored: 0 };
    // The first training is done when the server goes away.
    assert!(matches!(run(&place, &mut arena, 3), Err(FtRunError::Fault(_))));
    assert_eq!(full(&place), 1);
    let state = run(&place, &mut arena, 3).unwrap();
    assert_eq!((full(&place), arena.scored, state.experiments.len()), (3, 3, 3));

    // Only accepted experiments raise the best, and each is above the one before.
    let mut best = state.baseline.as_ref().unwrap().primary;
    let mut accepted = 0;
    for experiment in &state.experiments {
        let ExperimentOutcome::Evaluated { evaluated, acceptance, losses } = &experiment.outcome
        else {
            panic!("{experiment:?}")
        };
        assert!((acceptance.gain - (evaluated.primary - best)).abs() < 1e-12, "{experiment:?}");
        assert!(losses.is_some() && experiment.diagnosis.is_some());
        if acceptance.accepted {
            assert!(evaluated.primary > best);
            best = evaluated.primary;
            accepted += 1;
        }
    }
    assert!(accepted > 0, "{state:?}");
    assert_eq!(state.best().and_then(|it| it.evaluated()).map(|it| it.primary), Some(best));
    let different: Vec<_> = state.experiments.iter().map(|it| &it.proposal).collect();
    for (place, proposal) in different.iter().enumerate() {
        assert!(!different[..place].iter().any(|earlier| proposal.repeats(earlier)));
    }

    // Started again, it has nothing to do; asked for more, it goes on.
    assert_eq!(run(&place, &mut arena, 3).unwrap(), state);
    assert_eq!((full(&place), arena.scored), (3, 3));
    assert_eq!(run(&place, &mut arena, 4).unwrap().experiments.len(), 4);
    assert_eq!(full(&place), 4);
}

#[test]
fn model_that_comes_too_late_ends_the_run_as_its_time_does() {
    let place = Place::new(FtSettings::default());
    // The submission is refused, and from then on there is no time.
    let mut arena = Local { place: &place, failures: 1, over: true, scored: 0 };
    let state = run(&place, &mut arena, 3).unwrap();
    assert_eq!(state.over.as_deref(), Some("the time is over"));
    assert_eq!((state.experiments.len(), arena.scored), (0, 0));
    assert!(state.open.is_some_and(|open| open.trained.is_some()));
    assert_eq!(run(&place, &mut arena, 3).unwrap().over.as_deref(), Some("the time is over"));
}

#[test]
fn full_training_that_goes_wrong_is_ended_and_the_next_experiment_begins() {
    let place = Place::new(FtSettings::default());
    let mut arena = Local { place: &place, failures: 0, over: false, scored: 0 };
    // Only the full training, which would go on for ever, comes so far.
    place.mode("explodes-later");
    let state = run(&place, &mut arena, 1).unwrap();
    let ExperimentOutcome::Rejected { stage, message, .. } = &state.experiments[0].outcome else {
        panic!("{state:?}")
    };
    assert_eq!(*stage, Stage::Train);
    assert!(message.contains("at update 12"), "{message}");
    assert_eq!(arena.scored, 0);
    place.mode("killed-later");
    let state = run(&place, &mut arena, 2).unwrap();
    let outcome = &state.experiments[1].outcome;
    assert!(matches!(outcome, ExperimentOutcome::Rejected { stage: Stage::Train, .. }));
    assert!(state.best().is_none());
    place.mode("");
    let state = run(&place, &mut arena, 3).unwrap();
    assert!(state.best().is_some_and(|best| best.number == 3), "{state:?}");
}

#[test]
fn interrupted_training_is_ended_at_once_and_is_gone_on_with_later() {
    let place = Place::new(FtSettings::default());
    let mut arena = Local { place: &place, failures: 0, over: false, scored: 0 };
    place.mode("endless-later");
    let ended = thread::scope(|scope| {
        scope.spawn(|| {
            while full(&place) == 0 {
                thread::sleep(Duration::from_millis(10));
            }
            place.interrupt(true);
        });
        run(&place, &mut arena, 1)
    });
    assert!(matches!(ended, Err(FtRunError::Interrupted)), "{ended:?}");
    place.mode("");
    place.interrupt(false);
    let state = run(&place, &mut arena, 1).unwrap();
    // The same draft, whose data is there.
    let stages = state.experiments[0].checks.iter().map(|check| check.stage);
    assert_eq!(stages.filter(|stage| *stage == Stage::Data).count(), 1);
    assert_eq!((full(&place), arena.scored), (2, 1));
    assert!(state.best().is_some());
}

/// Writes a script that fails in its last line, mends it when it is told so, and notes what it is shown.
#[derive(Default)]
struct Slips {
    /// Experiments that it was shown with each question for a proposal.
    shown: Vec<usize>,
}

impl Planner for Slips {
    fn propose(&mut self, briefing: &Briefing<'_>) -> Result<Proposal, StageError> {
        self.shown.push(briefing.experiments.len());
        Ok(proposal())
    }

    fn write_script(
        &mut self,
        _: &Briefing<'_>,
        _: &Proposal,
        revision: Option<Revision<'_>>,
    ) -> Result<String, StageError> {
        Ok(match revision {
            None => format!("{SOUND}\nraise ValueError('at the very end')\n"),
            Some(revision) => {
                assert!(revision.rejection.message.contains("at the very end"), "{revision:?}");
                SOUND.to_owned()
            }
        })
    }

    fn write_config(
        &mut self,
        _: &Briefing<'_>,
        _: &Proposal,
        _: Option<Revision<'_>>,
    ) -> Result<String, StageError> {
        Ok("epochs = 2\n".to_owned())
    }

    fn judge(&mut self, _: &Briefing<'_>, checks: &[Check]) -> Result<Opinion, StageError> {
        panic!("nothing is checked: {checks:?}")
    }

    fn diagnose(
        &mut self,
        briefing: &Briefing<'_>,
        experiment: &Experiment,
    ) -> Result<Diagnosis, StageError> {
        Scripted.diagnose(briefing, experiment)
    }
}

#[test]
fn staged_workflow_mends_what_fails_in_full_and_neither_checks_nor_remembers() {
    let settings = FtSettings { workflow: Workflow::Staged, ..FtSettings::default() };
    let place = Place::new(settings);
    let mut arena = Local { place: &place, failures: 1, over: false, scored: 0 };
    let (task, out) = (suite().task("aime").unwrap(), place.path("run"));
    // Losses that the other workflow would not let pass.
    place.mode("explodes");
    let mut planner = Slips::default();
    let mut run = |arena: &mut Local<'_>| {
        let run = place.run(task.spec(), 2, Digest::of(b"asked"), &out);
        run.run(&mut planner, arena)
    };
    assert!(matches!(run(&mut arena), Err(FtRunError::Fault(_))));
    let state = run(&mut arena).unwrap();
    assert_eq!(planner.shown, [0, 0]);
    // The same proposal twice: neither is there a memory, nor a refusal.
    assert_eq!((state.experiments.len(), arena.scored), (2, 2));
    for experiment in &state.experiments {
        assert!(matches!(experiment.outcome, ExperimentOutcome::Evaluated { .. }));
        let stages: Vec<(Stage, bool)> = experiment
            .checks
            .iter()
            .map(|check| (check.stage, check.rejection().is_some()))
            .collect();
        let expected = [Stage::Data, Stage::Data, Stage::Train, Stage::Evaluate];
        let rejected = [true, false, false, false];
        assert_eq!(stages, expected.into_iter().zip(rejected).collect::<Vec<_>>());
        assert_eq!(experiment.parent, None);
    }
    // One training each, in full, and none again for the server that was away.
    let trainings = place.trainings();
    assert!(trainings.len() == 2 && !trainings.iter().any(|line| line.contains("/mini/")));
}

/// A server that grades models of the place.
pub(crate) fn serve(place: &Place) -> Server {
    fs::create_dir_all(place.path("output")).unwrap();
    let mut serve = Command::new(PROGRAM);
    serve
        .args(["serve", suite_path().as_str(), "aime", "--listen", "127.0.0.1:0"])
        .args(["--base", place.path("base").as_str(), "--output", place.path("output").as_str()])
        .args(["--sealed", place.path("sealed").as_str(), "--feedback", "items", "--"])
        .args(["python3", &format!("{}/tests/suite/grader.py", env!("CARGO_MANIFEST_DIR"))])
        .arg(place.path("control"))
        .env("GRADING_TOKEN", TOKEN);
    let server = Server::start(serve);
    server.started();
    server
}

/// FT-Agent by its command, with two experiments, in the folder `run` of the place.
pub(crate) fn ft(place: &Place, server: &Server, run: &str, flags: &[&str]) -> Command {
    let mut command = Command::new(PROGRAM);
    command
        .args(["ft", suite_path().as_str(), "aime", "--loops", "2"])
        .args(["--base", place.path("base").as_str(), "--out", place.path(run).as_str()])
        .args(["--output", place.path("output").as_str(), "--url", &server.url])
        .args(flags)
        .arg("--")
        .args(trainer_command(&place.path("control")))
        .env("GRADING_TOKEN", TOKEN)
        .env("FAKE_KEY", KEY);
    command
}

/// Files that name a provider as the endpoint `fake`, and the price of its models `m` and `t`.
pub(crate) fn endpoints(place: &Place, provider: &FakeProvider) -> (Utf8PathBuf, Utf8PathBuf) {
    let (models, prices) = (place.path("models.toml"), place.path("prices.toml"));
    let address = provider.address;
    let text = format!(
        "[endpoint.fake]\nprotocol = \"openai\"\nbase_url = \"http://{address}/v1\"\nkey_env = \"FAKE_KEY\"\n"
    );
    fs::write(&models, text).unwrap();
    let price = |model| format!("[[price]]\nmodel = \"{model}\"\ninput = \"1\"\noutput = \"10\"\n");
    fs::write(&prices, price("m") + &price("t")).unwrap();
    (models, prices)
}

/// What a chat model answers to a question of the planner, by what it is asked for.
pub(crate) fn planned(request: &SeenRequest) -> String {
    let body: Value = serde_json::from_str(&request.body).unwrap();
    let text = |place: usize| body["messages"][place]["content"].as_str().unwrap().to_owned();
    let (asked, shown) = (text(0), text(1));
    if asked.contains("`process_data.py`, a Python script") {
        return format!("Here it is.\n```python\n{SOUND}```");
    }
    if asked.contains("`train.toml`, the training settings") {
        let shown: Value = serde_json::from_str(&shown).unwrap();
        return format!("```toml\nepochs = {}\n```", shown["proposal"]["training"]["epochs"]);
    }
    if asked.contains("You explain what the checks") {
        let opinion = json!({
            "execution": "it ran", "return_checking": "it is", "code": "short",
            "final_decision": true,
        });
        return opinion.to_string();
    }
    if asked.contains("You say why an experiment did") {
        let gap = json!({"dimension": "sums", "evidence": "half", "kind": "reasoning"});
        let diagnosis = json!({
            "summary": "better", "gaps": [gap], "reason": "more data", "next": "train longer",
        });
        return diagnosis.to_string();
    }
    assert!(asked.contains("You plan experiments"), "{asked}");
    let mut proposal = serde_json::to_value(proposal()).unwrap();
    let shown: Value = serde_json::from_str(&shown).unwrap();
    if !shown["best"].is_null() {
        proposal["focus"] = "training".into();
        proposal["reuse_data"] = true.into();
        proposal["training"]["epochs"] = 4.into();
    }
    proposal.to_string()
}

fn without_seconds(value: &mut Value) {
    match value {
        Value::Object(entries) => {
            entries.retain(|key, _| key != "seconds");
            entries.values_mut().for_each(without_seconds);
        }
        Value::Array(items) => items.iter_mut().for_each(without_seconds),
        _ => {}
    }
}

/// The events of a run, without times and folders.
pub(crate) fn timeless(run: &Utf8Path) -> Vec<Value> {
    let text = fs::read_to_string(run.join("journal.jsonl")).unwrap().replace(run.as_str(), "");
    let mut events: Vec<Value> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    events.iter_mut().for_each(without_seconds);
    events
}

#[test]
fn chat_model_plans_through_a_failure_and_its_recording_plays_the_same_run() {
    let place = Place::new(FtSettings::default());
    let server = serve(&place);
    // The model is away when it is asked for the second time, until the run is started again.
    let provider = FakeProvider::start(|number, request| match number {
        1 => vec![Piece::Bytes(answer(400, &[], "{\"error\":{\"message\":\"away\"}}"))],
        _ => vec![Piece::Bytes(stream(&openai_events(&[&planned(request)], USAGE)))],
    });
    let (models, prices) = endpoints(&place, &provider);
    let flags = ["--planner", "fake:m", "--models", models.as_str()];
    let paid = [&flags[..], &["--prices", prices.as_str(), "--budget-usd", "1"]].concat();
    let away = ft(&place, &server, "run", &paid).output().unwrap();
    assert_ne!(away.status.code(), Some(0), "{away:?}");
    let said = String::from_utf8(away.stderr).unwrap();
    assert!(said.contains("start the run again") && said.contains("away"), "{said}");
    let done = ft(&place, &server, "run", &paid).output().unwrap();
    assert_eq!(done.status.code(), Some(0), "{done:?}");
    // Two experiments, four questions each, and one script that is kept.
    assert_eq!(provider.seen().len(), 1 + 5 + 4);
    let said = String::from_utf8(done.stdout).unwrap();
    assert!(said.contains("asked 9 answers") && said.contains('$'), "{said}");
    for name in ["journal.jsonl", "recording.jsonl", "calls.jsonl"] {
        assert!(!fs::read_to_string(place.path("run").join(name)).unwrap().contains(KEY), "{name}");
    }

    let recording = place.path("run/recording.jsonl");
    let replay = [&flags[..], &["--replay", recording.as_str()]].concat();
    for run in ["again", "and-again"] {
        let output = ft(&place, &server, run, &replay).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        assert_eq!(timeless(&place.path(run)), timeless(&place.path("run")));
    }
    assert_eq!(provider.seen().len(), 10);
}

/// What `posttrain ft` says to flags that it refuses.
pub(crate) fn refused(flags: &[&str]) -> String {
    let place = Place::new(FtSettings::default());
    let output = Command::new(PROGRAM)
        .args(["ft", suite_path().as_str(), "aime", "--base", place.path("base").as_str()])
        .args(["--out", place.path("run").as_str()])
        .args(flags)
        .arg("--")
        .args(trainer_command(&place.path("control")))
        .env("GRADING_TOKEN", TOKEN)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn flags_about_models_that_cannot_be_meant_are_refused() {
    for (flags, expected) in [
        (&["--budget-usd", "1"][..], "name one with --planner"),
        (&["--planner", "nobody:m"], "nobody"),
        (&["--planner", "openai:m", "--budget-usd", "1"], "needs the price of `m`"),
    ] {
        let said = refused(flags);
        assert!(said.contains(expected), "{flags:?}: {said}");
    }
}

#[test]
fn ft_works_against_a_server_as_any_agent_does() {
    let place = Place::new(FtSettings::default());
    let server = serve(&place);
    let ft = || {
        let output = ft(&place, &server, "run", &[]).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let said = ft();
    assert!(said.starts_with("base  0.25"), "{said}");
    assert!(said.contains("accepted") && said.contains("best  "), "{said}");
    let (_, all) = server.get("/v1/submissions");
    assert_eq!(all["submissions"].as_array().unwrap().len(), 3, "{all}");
    // A list has no items; one entry has each of them, and nothing of what it says.
    let (_, entry) = server.get("/v1/submissions/2");
    assert_eq!(entry["items"].as_array().unwrap().len(), 100);
    let mut keys: Vec<&String> = entry["items"][0].as_object().unwrap().keys().collect();
    keys.sort();
    assert_eq!(keys, ["id", "score", "tags"]);
    // Again, without another training or submission.
    let trainings = place.trainings();
    assert_eq!(ft(), said);
    assert_eq!(place.trainings(), trainings);
}

#[test]
fn ft_serves_itself_and_a_dry_run_says_what_it_would_do() {
    let place = Place::new(FtSettings::default());
    let ft = |flags: &[&str]| {
        let output = Command::new(PROGRAM)
            .args(["ft", suite_path().as_str(), "aime", "--config", "ftdojo-tiny"])
            .args(["--base", place.path("base").as_str(), "--out", place.path("run").as_str()])
            .args(flags)
            .arg("--")
            .args(trainer_command(&place.path("control")))
            .output()
            .unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (output.status.code(), text(output.stdout), text(output.stderr))
    };
    let (code, planned, err) = ft(&["--settings", "ftdojo-paper", "--dry-run"]);
    assert_eq!(code, Some(0), "{err}");
    for line in [
        "task      aime: 100 dev and 100 test items, scored as accuracy",
        "budget    15 minutes for everything, 4 experiments at most",
        "samples   2000 reach the trainer at most, by LoRA or all weights",
        "accepted  a higher score\n",
        "rl.py",
    ] {
        assert!(planned.contains(line), "{line}: {planned}");
    }
    assert!(!place.path("run").exists() && place.trainings().is_empty());
    let (code, planned, err) = ft(&["--workflow", "staged", "--dry-run"]);
    assert!(
        code == Some(0) && planned.contains("checks    none: the workflow is staged"),
        "{planned}{err}"
    );
    let (code, _, err) = ft(&["--workflow", "stages", "--dry-run"]);
    assert!(code == Some(2) && err.contains("it is `fail-fast` or `staged`"), "{err}");
    let (code, _, err) = ft(&["--settings", "nothing.toml", "--dry-run"]);
    assert!(
        code == Some(2) && err.contains("`nothing.toml` is neither `ftdojo-paper` nor a file"),
        "{err}"
    );
    let (code, _, err) = ft(&["--url", "http://127.0.0.1:1"]);
    assert!(code == Some(2) && err.contains("--output"), "{err}");

    let (code, told, err) = ft(&["--loops", "1"]);
    assert_eq!(code, Some(0), "{told}{err}");
    assert!(
        told.contains("1  from nothing: ") && told.contains("\ntest  base 0.2500, best "),
        "{told}"
    );
    assert_eq!(ft(&["--loops", "1"]).0, Some(0));
    let full = |line: &&String| !line.contains("/mini/");
    assert_eq!(place.trainings().iter().filter(full).count(), 1);
    // Test scores are in no file that the planner's side has.
    let of_agent = support::folders::files(&place.path("run/agent"));
    let tells = |bytes: &Vec<u8>| String::from_utf8_lossy(bytes).contains("aime-test-");
    assert!(!of_agent.is_empty() && !of_agent.values().any(tells));
}
