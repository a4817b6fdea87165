//! SFT, GRPO and evaluation on a task of a suite of generated environments.

use crate::loops::{HiddenProgress, curve, finished};
use agents::trajectory::{self, Source, Trajectory};
use camino::{Utf8Path, Utf8PathBuf};
use fs_err as fs;
use rl::checkpoint::policy;
use rl::checkpoint::source::{BuiltIn, PolicySource};
use rl::eval::PolicyContestant;
use rl::eval::sample::{self, SampleSettings};
use rl::eval::world::{self, WorldEvalError, WorldEvalSettings};
use rl::run::settings::Validate as _;
use rl::run::stop::Stop;
use rl::train::grpo::{self, TrainSettings};
use rl::train::presets::Scale;
use rl::train::sft::{self, SftSettings};
use rl::world::{WorldError, spec_of};
use serde_json::json;
use std::collections::BTreeSet;
use tasks::text::with_causes;
use tch::{Device, Kind};
use worlds::{FolderError, Part, Scale as WorldScale, SuiteName, SuiteRequest};

/// `arithmetic` of a suite, with few items.
fn arithmetic(dir: &Utf8Path) -> Utf8PathBuf {
    let suite = dir.join("suite");
    SuiteRequest { suite: SuiteName::Rlbench, scale: WorldScale::Tiny, seed: 5 }
        .make(&suite)
        .unwrap();
    let task = suite.join("arithmetic");
    let spec = fs::read_to_string(task.join("task.toml")).unwrap();
    let spec = spec.replace("train = 2000", "train = 30").replace("dev = 200", "dev = 12");
    fs::write(task.join("task.toml"), spec).unwrap();
    for (file, lines) in [("public/train.jsonl", 30), ("sealed/dev.jsonl", 1 + 12)] {
        let text = fs::read_to_string(task.join(file)).unwrap();
        let kept: Vec<&str> = text.lines().take(lines).collect();
        fs::write(task.join(file), kept.join("\n") + "\n").unwrap();
    }
    task
}

fn imitate(settings: SftSettings, out: &Utf8Path) -> Utf8PathBuf {
    let settings = settings.check().unwrap();
    let source = PolicySource::BuiltIn(BuiltIn::Tiny);
    let cpu = Device::Cpu;
    finished(sft::run(&settings, &source, out, cpu, &HiddenProgress, &Stop::default()).unwrap())
}

/// The demonstration as the user's data has it.
fn line(demonstration: &Trajectory) -> String {
    let mut prompts = ["system", "user"].into_iter();
    let message = |segment: &trajectory::Segment| {
        let role = match segment.source {
            Source::Prompt => prompts.next().unwrap(),
            _ => "assistant",
        };
        json!({"role": role, "content": segment.text})
    };
    let messages: Vec<_> = demonstration.segments.iter().map(message).collect();
    json!({"messages": messages}).to_string() + "\n"
}

#[test]
fn policies_are_trained_and_evaluated_on_a_task_of_a_suite() {
    let dir = tempfile::tempdir().unwrap();
    let dir = Utf8Path::from_path(dir.path()).unwrap();
    let task = arithmetic(dir);
    let small =
        SftSettings { epochs: 2, batch: 8, vocab_size: 400, ..SftSettings::defaults(Scale::Tiny) };

    // Imitate the expert; the same examples as the user's data teach the same.
    let run = dir.join("sft");
    let last = imitate(SftSettings { world: Some(task.clone()), ..small.clone() }, &run);
    let demonstrations = trajectory::read(&run.join("demonstrations.jsonl")).unwrap();
    let demonstrated: BTreeSet<&str> =
        demonstrations.iter().map(|demonstration| demonstration.task.as_str()).collect();
    assert_eq!(demonstrated.len(), 27, "a tenth is held out");
    assert!(demonstrations.iter().all(|it| it.verdict().unwrap().score >= 1.0));
    let data = dir.join("data.jsonl");
    fs::write(&data, demonstrations.iter().map(line).collect::<String>()).unwrap();
    let from_data = imitate(SftSettings { data: vec![data], ..small }, &dir.join("from-data"));
    let weights = |folder: &Utf8Path| fs::read(folder.join("model.safetensors")).unwrap();
    assert_eq!(weights(&from_data), weights(&last));
    let tokenizer = rl::text::tokenizer::Tokenizer::open(&last).unwrap();
    let digits = tokenizer.encode("4711").unwrap();
    assert_eq!(digits.len(), 4, "a token a digit");

    // Reinforce, on what was demonstrated and on nothing that is held out.
    let mut settings = TrainSettings {
        model: last.to_string(),
        world: Some(task.clone()),
        steps: 1,
        tasks_per_step: 4,
        group_size: 2,
        validate_every: 1,
        validate_attempts: 1,
        ..TrainSettings::defaults(Scale::Tiny)
    };
    settings.rollout.deterministic = true;
    settings.set_world(&spec_of(&task).unwrap(), Scale::Tiny);
    let settings = settings.check().unwrap();
    let out = dir.join("grpo");
    let reinforce = || {
        let (cpu, stop) = (Device::Cpu, Stop::default());
        finished(grpo::run(&settings, &last, &out, cpu, &HiddenProgress, &stop).unwrap())
    };
    let trained = reinforce();
    let lines = curve(&out);
    let step = lines.last().unwrap();
    assert!(step["score"].is_number() && step["validation"]["score"].is_number(), "{step}");
    let episodes = fs::read_dir(out.join("episodes")).unwrap();
    for file in episodes {
        let path = Utf8PathBuf::from_path_buf(file.unwrap().path()).unwrap();
        for episode in trajectory::read(&path).unwrap() {
            assert!(demonstrated.contains(episode.task.as_str()), "{}", episode.task);
        }
    }

    // Evaluate on sealed items, twice: the second time from the stored episodes.
    let mut settings = WorldEvalSettings::defaults(Scale::Tiny, &spec_of(&task).unwrap());
    (settings.world, settings.part) = (task.clone(), Part::Dev);
    let contestant = |name: &str, folder: &Utf8Path| {
        let (model, tokenizer) = policy::open(folder, Kind::Float, Device::Cpu).unwrap();
        PolicyContestant { name: name.into(), model, tokenizer }
    };
    let policies = [contestant("sft", &last), contestant("grpo", &trained)];
    let out = dir.join("eval");
    let evaluation = world::run(&settings, &policies, &out, &HiddenProgress).unwrap();
    assert_eq!(evaluation.rows.len(), 2);
    for row in &evaluation.rows {
        let ids: Vec<&str> = row.items.iter().map(|item| item.id.as_str()).collect();
        assert_eq!(ids.len(), 12);
        assert!(ids.iter().all(|id| id.starts_with("arithmetic-dev-")), "{ids:?}");
        assert_eq!(row.tags.values().sum::<usize>() >= 12, row.faults == 0);
    }
    let table = evaluation.table();
    assert!(table.contains("arithmetic, dev items") && table.contains("| sft "), "{table}");
    assert_eq!(world::run(&settings, &policies, &out, &HiddenProgress).unwrap(), evaluation);
    let elsewhere = world::run(&settings, &policies, &dir.join("again"), &HiddenProgress).unwrap();
    assert_eq!(elsewhere, evaluation, "greedy and in lockstep: to the bit");

    samples_are_what_trainers_read(&task, &contestant("policy", &last), dir);

    // A copy for agents has nothing sealed.
    fs::remove_dir_all(task.join("sealed")).unwrap();
    let refused = world::run(&settings, &policies, &dir.join("sealed"), &HiddenProgress);
    let error = refused.unwrap_err();
    let is_open = WorldError::Folder(FolderError::NotSealed(task.clone()));
    assert_eq!(error.to_string(), WorldEvalError::World(is_open).to_string());
    assert!(with_causes(&error).contains("no sealed items"));
}

/// Several answers on each training item, as examples and as pairs.
fn samples_are_what_trainers_read(task: &Utf8Path, policy: &PolicyContestant, dir: &Utf8Path) {
    let spec = spec_of(task).unwrap();
    let mut settings = SampleSettings::defaults(Scale::Tiny, &spec);
    (settings.world, settings.attempts, settings.items) = (task.to_owned(), 4, 6);
    let out = dir.join("sample");
    fs::create_dir(&out).unwrap();
    let summary = sample::run(&settings, policy, &out, &HiddenProgress).unwrap();
    assert_eq!((summary.items, summary.episodes + summary.faults), (6, 24));
    let lines = |file: &str| -> Vec<serde_json::Value> {
        let text = fs::read_to_string(out.join(file)).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    let samples = lines("samples.jsonl");
    assert_eq!((samples.len(), lines("pairs.jsonl").len()), (summary.samples, summary.pairs));
    assert!(!samples.is_empty() && samples.len() <= 24);
    let episodes = trajectory::read(&out.join("episodes/policy.jsonl")).unwrap();
    for line in &samples {
        let of_line = |it: &&Trajectory| {
            line["item"] == it.task.as_str() && line["attempt"] == json!(it.attempt)
        };
        let episode = episodes.iter().find(of_line).unwrap();
        assert_eq!(line["reward"], json!(episode.reward.total()));
        let said = episode.segments.iter().filter(|it| it.source == Source::Model);
        let said: Vec<&str> = said.map(|it| it.text.as_str()).collect();
        let messages = line["messages"].as_array().unwrap();
        let answers = messages.iter().filter(|it| it["role"] == "assistant");
        let answers: Vec<&str> = answers.map(|it| it["content"].as_str().unwrap()).collect();
        assert_eq!(answers, said);
    }

    // Nothing is played twice, and other wishes make other files of the same episodes.
    (settings.best, settings.threshold) = (1, Some(0.0));
    let again = sample::run(&settings, policy, &out, &HiddenProgress).unwrap();
    assert_eq!(again.reward.to_bits(), summary.reward.to_bits());
    assert!(again.samples <= 6);
    assert_eq!(trajectory::read(&out.join("episodes/policy.jsonl")).unwrap(), episodes);

    let small =
        SftSettings { epochs: 1, batch: 8, vocab_size: 400, ..SftSettings::defaults(Scale::Tiny) };
    let data = vec![out.join("samples.jsonl")];
    let own = imitate(SftSettings { data, ..small }, &dir.join("from-samples"));
    assert!(own.join("model.safetensors").is_file());
}
