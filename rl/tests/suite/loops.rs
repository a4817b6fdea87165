//! The three loops end to end on a corpus of three tasks, with interruptions.

use crate::corpus;
use agents::trajectory;
use camino::{Utf8Path, Utf8PathBuf};
use fs_err as fs;
use indicatif::ProgressBar;
use rl::checkpoint::policy;
use rl::checkpoint::source::{BuiltIn, PolicySource, locate};
use rl::eval::{self, EvalSettings, PolicyContestant};
use rl::report::{self, ReportSources};
use rl::run::settings::Validate as _;
use rl::run::stop::{RunEnd, Stop};
use rl::run::view::Stages;
use rl::train::grpo::{self, DynamicSampling, TrainSettings};
use rl::train::presets::Scale;
use rl::train::sft::{self, SftSettings};
use serde_json::Value;
use tch::{Device, Kind};

pub(crate) struct HiddenProgress;

impl Stages for HiddenProgress {
    fn stage(&self, _name: &'static str, _length: u64) -> ProgressBar {
        ProgressBar::hidden()
    }
}

pub(crate) fn finished(ended: RunEnd) -> Utf8PathBuf {
    match ended {
        RunEnd::Finished(folder) => folder,
        RunEnd::Stopped(stopped) => panic!("{stopped}"),
    }
}

pub(crate) fn sft_settings(tasks: &Utf8Path) -> SftSettings {
    SftSettings {
        model: "tiny".into(),
        tasks: tasks.to_owned(),
        attempts: 1,
        epochs: 40,
        batch: 4,
        vocab_size: 500,
        checkpoint_every: 15,
        keep: 100,
        ..SftSettings::defaults(Scale::Tiny)
    }
}

fn train_settings(tasks: &Utf8Path, model: &Utf8Path) -> TrainSettings {
    let mut settings = TrainSettings {
        model: model.to_string(),
        tasks: tasks.to_owned(),
        steps: 2,
        tasks_per_step: 2,
        group_size: 2,
        validate_every: 2,
        validate_attempts: 1,
        checkpoint_every: 1,
        keep: 100,
        ..TrainSettings::defaults(Scale::Tiny)
    };
    // Who shares a batch changes rounding, and this test compares bits.
    settings.rollout.deterministic = true;
    settings.rollout.turn_tokens = 240;
    settings
}

/// `metrics.jsonl` without what no two runs share.
pub(crate) fn curve(run: &Utf8Path) -> Vec<Value> {
    let text = fs::read_to_string(run.join("metrics.jsonl")).unwrap();
    let strip = |line: &str| {
        let mut line: Value = serde_json::from_str(line).unwrap();
        let line_map = line.as_object_mut().unwrap();
        let unlike = ["_seconds", "_per_second", "_bytes"];
        // A run that is resumed begins with an empty cache.
        let of_the_cache = ["cached_scripts", "cache_checks", "cache_mismatches"];
        line_map.retain(|name, _| {
            let differs = unlike.iter().any(|ending| name.ends_with(ending));
            !differs && !of_the_cache.contains(&name.as_str())
        });
        line
    };
    text.lines().map(strip).collect()
}

pub(crate) fn checkpoints(run: &Utf8Path) -> Vec<Utf8PathBuf> {
    let mut found: Vec<Utf8PathBuf> = run
        .join("checkpoints")
        .read_dir_utf8()
        .unwrap()
        .map(|entry| entry.unwrap().into_path())
        .filter(|path| path.file_name() != Some("best"))
        .collect();
    found.sort();
    found
}

/// Winds a run back to an earlier checkpoint and tears its last metrics line, as a kill between
/// two writes does.
pub(crate) fn roll_back(run: &Utf8Path, to: usize) {
    for later in &checkpoints(run)[to..] {
        fs::remove_dir_all(later).unwrap();
    }
    fs::create_dir(run.join("checkpoints/.step-000099.1.tmp")).unwrap();
    let path = run.join("metrics.jsonl");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, &text[..text.len() - 9]).unwrap();
}

fn lines(run: &Utf8Path) -> Vec<(u64, Option<f64>)> {
    let line =
        |line: &Value| (line["step"].as_u64().unwrap(), line["validation"]["reward"].as_f64());
    curve(run).iter().map(line).collect()
}

/// The first of the best validations, if it is not that of the start.
fn assert_best_is_linked(run: &Utf8Path) {
    let mut best = (0, f64::NEG_INFINITY);
    for (step, reward) in lines(run) {
        if let Some(reward) = reward.filter(|reward| *reward > best.1) {
            best = (step, reward);
        }
    }
    let link = run.join("checkpoints/best").read_link_utf8().ok();
    let expected = (best.0 > 0).then(|| Utf8PathBuf::from(format!("step-{:06}", best.0)));
    assert_eq!(link, expected);
}

/// A policy that does not move is no better at the first validation than at the start.
fn loses_patience(settings: &TrainSettings, policy: &Utf8Path, dir: &Utf8Path) {
    let run = dir.join("patience");
    fs::create_dir(&run).unwrap();
    let settings = |patience| TrainSettings {
        early_stopping_patience: patience,
        learning_rate: 1e-30,
        validate_every: 1,
        checkpoint_every: 100,
        steps: 50,
        mini_batches: 2,
        dynamic_sampling: DynamicSampling { max_rounds: 2 },
        tis_cap: 2.0,
        ..settings.clone()
    };
    for (patience, last) in [(1, 1), (1, 1), (2, 2)] {
        let stop = Stop::default();
        let ended = grpo::run(
            &settings(patience).check().unwrap(),
            policy,
            &run,
            Device::Cpu,
            &HiddenProgress,
            &stop,
        )
        .unwrap();
        let folder = run.join(format!("checkpoints/step-{last:06}"));
        assert_eq!(ended, RunEnd::Finished(folder));
        assert!(lines(&run).iter().map(|line| line.0).eq(0..=last));
    }
    assert!(!run.join("checkpoints/best").is_symlink(), "the start was the best");
    for line in &curve(&run)[1..] {
        let count = |name: &str| line[name].as_u64().unwrap_or_else(|| panic!("{name}: {line}"));
        let masked =
            count("masked_time_limit") + count("masked_length") + count("masked_turn_limit");
        let sum = count("trained") + count("zero_advantage") + masked + count("dropped");
        assert_eq!(count("played"), sum, "{line}");
        assert_eq!(count("played"), 2 * (2 + count("replaced_groups")), "{line}");
        assert!((1..=2).contains(&count("sampling_rounds")) && count("updates") <= 2, "{line}");
        // Sampler and trainer agree, so nothing is corrected.
        if count("trained") > 0 {
            assert!((line["tis_weight"].as_f64().unwrap() - 1.0).abs() < 1e-4, "{line}");
        }
    }
}

#[test]
fn the_loops_run_resume_and_report() {
    tch::set_num_threads(1);
    let dir = tempfile::tempdir().unwrap();
    let dir = Utf8Path::from_path(dir.path()).unwrap();
    let tasks = dir.join("tasks");
    corpus::write(&tasks);

    // Imitate.
    let run = dir.join("sft");
    fs::create_dir(&run).unwrap();
    let settings = sft_settings(&tasks).check().unwrap();
    let imitate = || {
        let stop = Stop::default();
        let ended = sft::run(
            &settings,
            &PolicySource::BuiltIn(BuiltIn::Tiny),
            &run,
            Device::Cpu,
            &HiddenProgress,
            &stop,
        );
        finished(ended.unwrap())
    };
    let last = imitate();
    assert_eq!(trajectory::read(&run.join("demonstrations.jsonl")).unwrap().len(), 2 * 4);
    let straight = curve(&run);
    assert_eq!(straight.len(), 80, "8 episodes in batches of 4, forty times");
    let loss = |line: &Value| line["loss"].as_f64().unwrap();
    assert!(loss(&straight[79]) < 0.1 * loss(&straight[0]), "the loss falls: {straight:?}");
    let weights = fs::read(last.join("model.safetensors")).unwrap();

    // Killed while playing and while training, it finishes the same work.
    roll_back(&run, 1);
    let demonstrations = run.join("demonstrations.jsonl");
    let text = fs::read_to_string(&demonstrations).unwrap();
    fs::write(&demonstrations, &text[..text.len() - 100]).unwrap();
    assert_eq!(imitate(), last);
    assert_eq!(trajectory::read(&demonstrations).unwrap().len(), 2 * 4);
    assert_eq!(curve(&run), straight);
    assert_eq!(fs::read(last.join("model.safetensors")).unwrap(), weights);
    fs::write(run.join("settings.toml"), "").unwrap();
    assert_eq!(locate(run.as_str()).unwrap(), PolicySource::Folder(last.clone()));

    // Reinforce; the start-up self-checks are part of every start.
    let grpo = dir.join("grpo");
    fs::create_dir(&grpo).unwrap();
    let settings = train_settings(&tasks, &last).check().unwrap();
    let reinforce = || {
        let stop = Stop::default();
        finished(grpo::run(&settings, &last, &grpo, Device::Cpu, &HiddenProgress, &stop).unwrap())
    };
    let trained = reinforce();
    let straight = curve(&grpo);
    let steps: Vec<u64> = straight.iter().map(|line| line["step"].as_u64().unwrap()).collect();
    assert_eq!(steps, [0, 1, 2]);
    assert!(
        straight[0]["validation"]["reward"].is_f64()
            && straight[2]["validation"]["reward"].is_f64()
    );
    let learns = |line: &Value| line["trained_tokens"].as_u64() > Some(0);
    assert!(straight.iter().any(learns), "no group had different rewards: {straight:?}");
    for line in &straight[1..] {
        assert_eq!((line["episodes"].as_u64(), line["faults"].as_u64()), (Some(4), Some(0)));
        assert!(line["loss"].as_f64().unwrap().is_finite());
        assert!(line["log_prob_gap"].as_f64().unwrap() < 1e-4);
    }
    for line in fs::read_to_string(grpo.join("metrics.jsonl")).unwrap().lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        let share = line["cached_scripts"].as_f64().unwrap();
        assert!((0.0..=1.0).contains(&share) && line["cache_checks"].is_u64(), "{line}");
    }
    let weights = fs::read(trained.join("model.safetensors")).unwrap();
    roll_back(&grpo, 1);
    assert_eq!(reinforce(), trained);
    assert_eq!(curve(&grpo), straight);
    assert_eq!(fs::read(trained.join("model.safetensors")).unwrap(), weights);

    assert_best_is_linked(&grpo);
    loses_patience(&settings, &last, dir);

    // Compare, twice: the second time from the stored episodes.
    let out = dir.join("eval");
    let mut settings = EvalSettings {
        tasks: tasks.clone(),
        scripted: true,
        attempts: 1,
        ..EvalSettings::defaults(Scale::Tiny)
    };
    settings.rollout.turn_tokens = 240;
    let settings = settings.check().unwrap();
    let contestant = |name: &str, folder: &Utf8Path| {
        let (model, tokenizer) = policy::open(folder, Kind::Float, Device::Cpu).unwrap();
        PolicyContestant { name: name.into(), model, tokenizer }
    };
    let contestants = [contestant("sft", &last), contestant("grpo", &trained)];
    let evaluation = eval::run(&settings, &contestants, &out, &HiddenProgress).unwrap();
    assert_eq!(evaluation.rows.len(), 5 + 2);
    assert!(evaluation.rows.iter().all(|row| row.episodes == 1 && row.faults == 0));
    assert!(evaluation.rows[2].reward > evaluation.rows[0].reward, "a forest beats a constant");
    assert_eq!(
        eval::run(&settings, &[], &out, &HiddenProgress).unwrap().rows,
        evaluation.rows[..5]
    );
    let again = eval::run(&settings, &contestants, &out, &HiddenProgress).unwrap();
    assert_eq!(again, evaluation);

    // Show.
    let page = dir.join("report.html");
    let sources = ReportSources {
        tasks: Some(tasks),
        sft: Some(run.clone()),
        grpo: Some(grpo.clone()),
        eval: Some(out),
        demonstrations: Some(run),
    };
    let learnt = report::write(&sources, &page).unwrap();
    let [training, evaluation] = [learnt.training, learnt.evaluation].map(|it| it.unwrap().learnt);
    assert_eq!(training.policies, ["update 1", "update 2"]);
    assert_eq!(evaluation.policies, ["sft", "grpo"]);
    assert_eq!(evaluation.regret.unwrap().scripted.len(), 4, "the oracle takes no part");
    assert!([training.novelty.len(), evaluation.novelty.len()] == [2, 2]);
    let html = fs::read_to_string(&page).unwrap();
    assert!(html.contains("<h2>What was learnt: evaluation</h2>"));
    assert!(html.contains("scripted/forest") && html.contains("<svg") && !html.contains("http://"));

    // A run alone, without settings and then with.
    let sources = ReportSources { grpo: Some(grpo.clone()), ..ReportSources::default() };
    report::write(&sources, &page).unwrap();
    let html = fs::read_to_string(&page).unwrap();
    for part in ["best held-out reward", "Time per step", "update 2, best", "update 1, best"] {
        assert!(html.contains(part), "{part}");
    }
    for part in
        ["KL divergence to the reference model", "<h2>Settings", "<h2>Comparison", "http://"]
    {
        assert!(!html.contains(part), "{part}");
    }
    fs::write(grpo.join("settings.toml"), "rate = 1e-6 # < 1\n").unwrap();
    report::write(&sources, &page).unwrap();
    assert!(fs::read_to_string(&page).unwrap().contains("rate = 1e-6 # &lt; 1"));
    assert!(report::write(&ReportSources::default(), &page).is_err());
}
