//! Scripts that other runs have run before (`--script-cache`).

use crate::corpus;
use crate::loops::{HiddenProgress, finished, sft_settings};
use agents::trajectory::{self, Tool, Trajectory};
use camino::Utf8Path;
use fs_err as fs;
use rl::checkpoint::source::{BuiltIn, PolicySource};
use rl::eval::{self, EvalSettings};
use rl::run::settings::Validate as _;
use rl::run::stop::Stop;
use rl::train::presets::Scale;
use rl::train::sft::{self, SftSettings};
use tch::Device;

/// Scripts of these episodes, and those of them that were answered from a cache.
fn scripts(episodes: &[Trajectory]) -> (usize, usize) {
    let turns = episodes.iter().flat_map(|episode| &episode.turns);
    let scripts: Vec<_> = turns.filter(|turn| turn.tool == Tool::Python).collect();
    (scripts.len(), scripts.iter().filter(|turn| turn.cached).count())
}

/// What episodes lead to, without what depends on what ran before them.
fn results(episodes: &[Trajectory]) -> Vec<(String, String)> {
    let found =
        episodes.iter().map(|it| (format!("{:?}", it.segments), format!("{:?}", it.reward)));
    let mut found: Vec<_> = found.collect();
    // They are written in the order in which they ended.
    found.sort();
    found
}

#[test]
fn second_run_of_demonstrations_or_of_an_evaluation_runs_no_script_and_finds_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let dir = Utf8Path::from_path(folder.path()).unwrap();
    let (tasks, kept) = (dir.join("tasks"), Some(dir.join("scripts")));
    corpus::write(&tasks);

    let demonstrated = ["sft-1", "sft-2"].map(|name| {
        let settings =
            SftSettings { max_steps: 1, script_cache_folder: kept.clone(), ..sft_settings(&tasks) };
        let (out, source) = (dir.join(name), PolicySource::BuiltIn(BuiltIn::Tiny));
        let (settings, stop) = (settings.check().unwrap(), Stop::default());
        fs::create_dir(&out).unwrap();
        finished(sft::run(&settings, &source, &out, Device::Cpu, &HiddenProgress, &stop).unwrap());
        trajectory::read(&out.join("demonstrations.jsonl")).unwrap()
    });
    let compared = ["eval-1", "eval-2"].map(|name| {
        let mut settings = EvalSettings {
            tasks: tasks.clone(),
            scripted: true,
            attempts: 1,
            ..EvalSettings::defaults(Scale::Tiny)
        };
        settings.rollout.script_cache_folder.clone_from(&kept);
        let out = dir.join(name);
        fs::create_dir(&out).unwrap();
        eval::run(&settings.check().unwrap(), &[], &out, &HiddenProgress).unwrap();
        trajectory::read(&out.join("episodes/scripted/forest.jsonl")).unwrap()
    });
    for [first, second] in [demonstrated, compared] {
        assert_eq!(results(&first), results(&second));
        let (count, cached) = scripts(&second);
        assert!(count > 0 && cached == count, "{cached} of {count}");
        assert!(scripts(&first).1 < count);
    }
}

#[test]
fn folder_is_for_the_scripts_of_this_machine_alone() {
    let mut settings = EvalSettings::defaults(Scale::Tiny);
    settings.rollout.script_cache_folder = Some("scripts".into());
    settings.rollout.check().unwrap();
    let mut without = settings.rollout.clone();
    without.script_cache = false;
    let mut elsewhere = settings.rollout;
    elsewhere.sandboxes = vec!["http://10.0.0.5:8765".to_owned()];
    for (refused, other) in [(without, "rollout.script_cache ="), (elsewhere, "rollout.sandboxes")]
    {
        let error = refused.check().unwrap_err().to_string();
        assert!(error.contains("rollout.script_cache_folder") && error.contains(other), "{error}");
    }
}
