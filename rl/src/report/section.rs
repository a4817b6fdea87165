//! What was learnt in a run of `rl train` and in an evaluation, from their files.

use super::evidence::Evidence;
use super::learnt::Learnt;
use super::lineage::DemonstrationSource;
use super::{RANDOM, ReportError, ReportSources};
use agents::scaffold::scripted::ScriptedLevel;
use agents::trajectory;
use camino::{Utf8Path, Utf8PathBuf};
use evals::evaluation::Evaluation;
use evals::report::ReportSection;
use evals::runner::episodes_of;
use serde::{Deserialize, Serialize};

/// The version of [`LearntFile`] that this build writes.
pub const LEARNT_VERSION: u32 = 1;

/// The file that `rl report --json` writes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LearntFile {
    /// Version of the format, [`LEARNT_VERSION`] in this build.
    pub version: u32,
    /// Of the run of `rl train`, its first quarter of steps beside its last; `None` without a run
    /// that has episodes.
    pub training: Option<LearntSection>,
    /// Of the evaluation, policy beside policy; `None` without one that has a trained policy.
    pub evaluation: Option<LearntSection>,
}

/// What was learnt in one run or evaluation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LearntSection {
    /// Its folder.
    pub folder: Utf8PathBuf,
    /// Where the demonstrations come from.
    pub demonstrations: DemonstrationSource,
    /// The numbers.
    pub learnt: Learnt,
}

impl LearntFile {
    /// Reads the episodes of the run and of the evaluation among the sources.
    ///
    /// # Errors
    /// [`ReportError`] if a file is missing or damaged.
    pub fn read(sources: &ReportSources) -> Result<Self, ReportError> {
        let named = sources.demonstrations.as_deref();
        let training = sources.grpo.as_deref().map(|run| LearntSection::of_run(run, named));
        let evaluation = sources
            .eval
            .as_deref()
            .map(|folder| LearntSection::of_evaluation(folder, &super::evaluation(folder)?, named));
        Ok(Self {
            version: LEARNT_VERSION,
            training: training.transpose()?.flatten(),
            evaluation: evaluation.transpose()?.flatten(),
        })
    }

    /// The sections of a page.
    pub fn sections(&self) -> Vec<ReportSection> {
        let training = self.training.iter().map(|it| it.page("What was learnt: training"));
        let evaluation = self.evaluation.iter().map(|it| it.page("What was learnt: evaluation"));
        training.chain(evaluation).collect()
    }

    /// The same in Markdown, for a terminal.
    pub fn markdown(&self) -> String {
        let sections: Vec<String> = self.sections().iter().map(ReportSection::markdown).collect();
        sections.join("\n")
    }
}

impl LearntSection {
    /// Of a run of `rl train`, from its `episodes/`: the first quarter of its steps and the last
    /// one, of at least one step each. A run of a single step stands alone. `None` if it has no
    /// episodes yet.
    ///
    /// # Errors
    /// [`ReportError`] if a file is missing or damaged.
    pub fn of_run(
        run: &Utf8Path,
        demonstrations: Option<&Utf8Path>,
    ) -> Result<Option<Self>, ReportError> {
        let steps = step_files(&run.join("episodes"))?;
        if steps.is_empty() {
            return Ok(None);
        }
        let source = match demonstrations {
            Some(folder) => DemonstrationSource::named(folder)?,
            None => DemonstrationSource::of_run(run)?,
        };
        let mut evidence = Evidence::new(source.read()?.as_deref());
        for files in quarters(&steps) {
            let name = match files {
                [(step, _)] => format!("update {step}"),
                [(first, _), .., (last, _)] => format!("updates {first} to {last}"),
                [] => continue,
            };
            for (_, path) in files {
                evidence.add_policy(&name, &trajectory::read(path)?);
            }
        }
        Ok(Some(Self { folder: run.to_owned(), demonstrations: source, learnt: evidence.learnt() }))
    }

    /// Of an evaluation, from its `episodes/`. A policy with fresh weights has learnt nothing and is
    /// left out; `None` if there is no other one. Of the scripted agents, those count that see no more
    /// than a policy does.
    ///
    /// # Errors
    /// [`ReportError`] if a file is missing or damaged.
    pub fn of_evaluation(
        folder: &Utf8Path,
        evaluation: &Evaluation,
        demonstrations: Option<&Utf8Path>,
    ) -> Result<Option<Self>, ReportError> {
        let agents = || evaluation.rows.iter().map(|row| row.agent.as_str());
        let is_trained = |name: &str| !name.contains('/') && name != RANDOM;
        if !agents().any(is_trained) {
            return Ok(None);
        }
        let source = match demonstrations {
            Some(folder) => DemonstrationSource::named(folder)?,
            None => DemonstrationSource::of_evaluation(folder)?,
        };
        let oracle = format!("scripted/{}", ScriptedLevel::Oracle.name());
        let mut evidence = Evidence::new(source.read()?.as_deref());
        for name in agents() {
            let read = || trajectory::read(&episodes_of(name, folder));
            if name.starts_with("scripted/") && name != oracle {
                evidence.add_scripted(name, &read()?);
            } else if is_trained(name) {
                evidence.add_policy(name, &read()?);
            }
        }
        Ok(Some(Self {
            folder: folder.to_owned(),
            demonstrations: source,
            learnt: evidence.learnt(),
        }))
    }

    /// The section as a part of a page.
    pub fn page(&self, title: &str) -> ReportSection {
        ReportSection {
            title: title.to_owned(),
            note: self.demonstrations.sentence(),
            tables: self.learnt.tables(),
        }
    }
}

/// The files of a run's steps, by step; none without the folder.
pub(super) fn step_files(folder: &Utf8Path) -> Result<Vec<(u64, Utf8PathBuf)>, ReportError> {
    let mut files = Vec::new();
    if folder.is_dir() {
        for entry in folder.read_dir_utf8()? {
            let path = entry?.into_path();
            let step = path.file_stem().and_then(|stem| stem.strip_prefix("step-"));
            if let Some(step) = step.and_then(|step| step.parse::<u64>().ok()) {
                files.push((step, path));
            }
        }
    }
    files.sort();
    Ok(files)
}

/// The first and the last quarter of what is in order, rounded down but never empty; of a single
/// one, that alone.
fn quarters<T>(steps: &[T]) -> Vec<&[T]> {
    let size = (steps.len() / 4).max(1);
    match steps {
        [] => Vec::new(),
        [_] => vec![steps],
        _ => vec![&steps[..size], &steps[steps.len() - size..]],
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{demonstrations, engineer, imitator, rewarded};
    use super::*;
    use evals::evaluation::{EVALUATION_VERSION, EvaluationRow};
    use fs_err as fs;
    use sandbox::env::Feedback;
    use tasks::task::Split;

    /// A run of `rl sft` in a folder, with demonstrations.
    fn imitated(folder: &Utf8Path) {
        fs::create_dir_all(folder).unwrap();
        fs::write(folder.join("settings.toml"), "model = \"tiny\"\n").unwrap();
        trajectory::append(&folder.join("demonstrations.jsonl"), &demonstrations()).unwrap();
    }

    #[test]
    fn training_compares_the_first_and_the_last_quarter_of_steps() {
        let dir = tempfile::tempdir().unwrap();
        let dir = Utf8Path::from_path(dir.path()).unwrap();
        let (sft, run) = (dir.join("sft"), dir.join("grpo"));
        imitated(&sft);
        assert_eq!(LearntSection::of_run(&run, None).unwrap(), None, "no episodes yet");
        fs::create_dir_all(run.join("episodes")).unwrap();
        fs::write(run.join("settings.toml"), format!("model = \"{sft}\"\n")).unwrap();
        // Steps are ordered by number, of which 10 is the last.
        for step in 1..=10_u64 {
            let episodes = [rewarded("t1", step as f64 / 10.0)];
            let path = run.join(format!("episodes/step-{step}.jsonl"));
            trajectory::append(&path, &episodes).unwrap();
        }
        let section = LearntSection::of_run(&run, None).unwrap().unwrap();
        assert_eq!(section.demonstrations.folders, std::slice::from_ref(&sft));
        assert_eq!(section.learnt.policies, ["updates 1 to 2", "updates 9 to 10"]);
        let means: Vec<f64> =
            section.learnt.prompts.iter().filter_map(|row| Some(row.reward?.mean)).collect();
        // All and new prompts, twice; none was seen.
        assert!(means.iter().zip([0.15, 0.15, 0.95, 0.95]).all(|(a, b)| (a - b).abs() < 1e-12));
        assert_eq!(means.len(), 4);

        let refused = LearntSection::of_run(&run, Some(&run)).unwrap_err();
        assert!(matches!(refused, ReportError::NoDemonstrations(_)), "{refused}");
        fs::write(run.join("settings.toml"), "model = \"tiny\"\n").unwrap();
        let without = LearntSection::of_run(&run, None).unwrap().unwrap();
        assert_eq!((without.demonstrations.folders.len(), without.learnt.novelty.len()), (0, 0));
        assert!(without.page("").markdown().contains("no demonstrations to compare with"));
        let named = LearntSection::of_run(&run, Some(&sft)).unwrap().unwrap();
        assert_eq!(named.learnt.novelty.len(), 2);
    }

    #[test]
    fn quarters_are_never_empty() {
        let steps: Vec<u64> = (1..=9).collect();
        assert!(quarters(&steps[..0]).is_empty());
        assert_eq!(quarters(&steps[..1]), [&[1]]);
        assert_eq!(quarters(&steps[..2]), [&[1], &[2]]);
        assert_eq!(quarters(&steps[..7]), [&[1], &[7]]);
        assert_eq!(quarters(&steps[..8]), [&[1, 2], &[7, 8]]);
    }

    #[test]
    fn evaluation_leaves_out_fresh_weights_and_the_oracle() {
        let dir = tempfile::tempdir().unwrap();
        let dir = Utf8Path::from_path(dir.path()).unwrap();
        let (sft, eval) = (dir.join("sft"), dir.join("eval"));
        imitated(&sft);
        fs::create_dir_all(eval.join("episodes/scripted")).unwrap();
        let policies = format!("policies = [[\"random\", \"tiny\"], [\"sft\", \"{sft}\"]]\n");
        fs::write(eval.join("settings.toml"), policies).unwrap();
        let forest = [rewarded("t1", 0.6), rewarded("t3", 0.6)];
        let oracle = [rewarded("t1", 1.0), rewarded("t3", 1.0)];
        let agents = [
            ("scripted/forest", forest.to_vec()),
            ("scripted/oracle", oracle.to_vec()),
            ("random", vec![rewarded("t1", 0.0)]),
            ("sft", imitator()),
            ("grpo", engineer()),
        ];
        for (name, episodes) in &agents {
            trajectory::append(&episodes_of(name, &eval), episodes).unwrap();
        }
        let evaluation = |names: &[&str]| Evaluation {
            version: EVALUATION_VERSION,
            split: Split::Val,
            tasks: 2,
            attempts: 1,
            feedback: Feedback::Tier,
            seed: 0,
            rows: names.iter().map(|name| EvaluationRow::from_trajectories(name, &[], 0)).collect(),
        };
        let all = evaluation(&agents.each_ref().map(|(name, _)| *name));
        let section = LearntSection::of_evaluation(&eval, &all, None).unwrap().unwrap();
        assert_eq!(section.learnt.policies, ["sft", "grpo"]);
        assert_eq!(section.learnt.novelty.len(), 2);
        let regret = section.learnt.regret.as_ref().unwrap();
        assert_eq!((regret.best_fixed.as_str(), regret.scripted.len()), ("scripted/forest", 1));
        let scripted = evaluation(&["scripted/forest", "random"]);
        assert_eq!(LearntSection::of_evaluation(&eval, &scripted, None).unwrap(), None);

        let file =
            LearntFile { version: LEARNT_VERSION, training: None, evaluation: Some(section) };
        let text = serde_json::to_string(&file).unwrap();
        assert_eq!(serde_json::from_str::<LearntFile>(&text).unwrap(), file);
        assert!(file.markdown().starts_with("## What was learnt: evaluation\n\nDemonstrations"));
    }
}
