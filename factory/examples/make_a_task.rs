//! Makes one verified task from a seed of MLE-bench and prints what an agent sees of it.
//!
//! ```text
//! cargo run -p factory --example make_a_task
//! ```

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use camino::Utf8Path;
use factory::corpus::pipeline::{self, Progress};
use factory::roles::Builtin;
use factory::spec::config::{Options, Preset};
use factory::spec::limits::RoleLimits;
use factory::spec::plan::Slot;
use factory::spec::role_settings::RoleSettings;
use std::error::Error;
use std::sync::atomic::AtomicBool;
use tasks::task::Corpus;

/// Shows nothing while tasks are made.
struct Silent;

impl Progress for Silent {
    fn planned(&self, _total: usize, _finished: usize, _notes: &[String]) {}
    fn finished(&self, _slot: &Slot, _accepted: bool) {}
}

fn main() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let folder = Utf8Path::from_path(folder.path()).ok_or("the path is not UTF-8")?;
    let options = Options {
        seeds: "mlebench".to_owned(),
        count: 1,
        val_count: Some(0),
        out: folder.join("corpus"),
        seed: 0,
        jobs: 1,
        concurrency: 1,
        carry_on: false,
        modalities: vec!["tabular".to_owned()],
        formulations: vec!["regression".to_owned()],
        shares: Vec::new(),
        preset: Preset::Paper,
        levels: Vec::new(),
        limits: RoleLimits::default(),
        roles: RoleSettings::default(),
        shard: None,
    };
    pipeline::generate(&options, &Builtin, &Silent, &AtomicBool::new(false))?;

    let corpus = Corpus::open(&options.out)?;
    for task in corpus.tasks() {
        let manifest = task.manifest();
        println!("{} (from `{}`): {}", task.id(), manifest.seed_task, manifest.title);
        println!("baselines R0 to R3: {:?}", manifest.baselines.ladder);
        println!("thresholds: {:?}", manifest.thresholds);
        println!("\n{}", fs_err::read_to_string(task.public().path().join("description.md"))?);
    }
    Ok(())
}
