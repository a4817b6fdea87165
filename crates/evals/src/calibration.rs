//! `factory calibrate`: does the corpus separate weak solvers from strong ones?
//!
//! The scripted ladder (constant, linear, forest, operators, oracle) plays a sample of tasks in
//! the real sandbox. Every two levels are compared task by task, as in figure 4 of the paper; a
//! tie is half a win for either.

use crate::statistics::{Z, mean, quantile, standard_error};
use agents::prompt::PromptStyle;
use agents::scaffold::react::{EpisodeRules, MleWorld};
use agents::scaffold::runner::{RunnerContext, ScriptedError, ScriptedJob, run_episodes};
use agents::scaffold::scripted::{ScriptStyle, ScriptedLevel};
use agents::trajectory::Trajectory;
use camino::Utf8Path;
use jail::exec::SandboxOptions;
use rand::seq::SliceRandom;
use sandbox::env::{Feedback, SuiteError, TaskSuite};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use tasks::stream::Stream;
use tasks::task::{Opening, Split, Task, TaskDir};

/// The version of [`Calibration`] that this build writes.
pub const CALIBRATION_VERSION: u32 = 1;

/// Levels of the ladder.
const LEVELS: usize = ScriptedLevel::ALL.len();

/// Two scores closer than this are a tie.
const TIE: f64 = 1e-9;

/// Which tasks are played, and how.
#[derive(Debug, Clone, Copy)]
pub struct CalibrationSettings {
    /// Which half of the corpus.
    pub split: Split,
    /// How many tasks at most.
    pub count: usize,
    /// Scripts at a time.
    pub jobs: usize,
    /// The seed of the sample and of the scripts' free choices.
    pub seed: u64,
}

/// Why nothing was calibrated.
#[derive(Debug, thiserror::Error)]
pub enum CalibrationError {
    /// The corpus or the sandbox.
    #[error(transparent)]
    Suite(#[from] SuiteError),
    /// A scripted agent could not be run.
    #[error(transparent)]
    Scripted(#[from] ScriptedError<std::convert::Infallible>),
}

/// One level of the ladder.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Level {
    /// Name of the scripted level.
    pub name: String,
    /// Tasks on which it submitted something valid.
    pub valid: usize,
    /// Tasks on which it reached each milestone or a better one: median, bronze, silver, gold.
    pub tiers: [usize; 4],
    /// Share of comparisons with the other levels that it wins, in [0, 1].
    pub wins: f64,
    /// 95 % interval of `wins`, over tasks.
    pub interval: (f64, f64),
    /// Median and 95th percentile of its scripts' wall time, in seconds.
    pub seconds: (f64, f64),
}

/// What the scripted ladder made of a corpus.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Calibration {
    /// Version of the format, [`CALIBRATION_VERSION`] in this build.
    pub version: u32,
    /// Number of tasks that were played.
    pub tasks: usize,
    /// Episodes lost to faults of ours.
    pub faults: usize,
    /// Results of each level, weakest level first.
    pub levels: Vec<Level>,
    /// Share of tasks that the level of the row wins against the level of the column.
    pub pairs: [[f64; LEVELS]; LEVELS],
    /// For each kind of task: how many, and the share of each level's comparisons won.
    pub cells: BTreeMap<String, (usize, [f64; LEVELS])>,
    /// Tasks on which the levels do not come out in order, with the order that came out.
    pub unseparated: BTreeMap<String, String>,
}

/// Plays the ladder. Calls `begin` once with the number of episodes, and `tick` after each
/// episode.
///
/// # Errors
/// [`CalibrationError`].
pub fn calibrate(
    corpus: &Utf8Path,
    settings: &CalibrationSettings,
    begin: impl FnOnce(usize),
    mut tick: impl FnMut(),
) -> Result<Calibration, CalibrationError> {
    let suite = TaskSuite::open(corpus, &Opening::default(), SandboxOptions::default())?;
    let mut tasks = suite.split(settings.split)?;
    // Levels are compared by thresholds and formulations, which only our own tasks state.
    tasks.retain(|task| task.ours().is_some());
    let root = Stream::root(settings.seed).child("calibration");
    tasks.shuffle(&mut root.child("sample").rng());
    tasks.truncate(settings.count);
    let mut rules = EpisodeRules { prompt: PromptStyle::Brief, ..EpisodeRules::default() };
    rules.episode.feedback = Feedback::Validate;
    let stage = RunnerContext {
        world: &MleWorld { suite: &suite, rules: &rules },
        format: rules.tool_call_format,
        style: ScriptStyle::Evaluation,
        workers: settings.jobs,
        stream: root.child("scripts"),
    };
    let jobs = tasks.iter().flat_map(|&task| {
        ScriptedLevel::ALL.map(|level| ScriptedJob { task, approach: level.into(), attempt: 0 })
    });
    let jobs: Vec<ScriptedJob<'_>> = jobs.collect();
    begin(jobs.len());
    let mut played: TrajectoriesByTask = BTreeMap::new();
    let mut faults = 0;
    run_episodes(&stage, &jobs, &mut |result| {
        tick();
        match result {
            Ok(trajectory) => {
                let row = played.entry(trajectory.task.to_string()).or_default();
                row.insert(trajectory.agent.clone(), trajectory);
            }
            Err(_) => faults += 1,
        }
        Ok(())
    })?;
    let tasks: Vec<&TaskDir> = tasks.into_iter().filter_map(Task::ours).collect();
    Ok(summary(&tasks, &played, faults))
}

/// Trajectories by task and agent.
type TrajectoriesByTask = BTreeMap<String, BTreeMap<String, Trajectory>>;

/// Each level's gain on one task, worst of all without a valid submission.
#[derive(Debug, Clone, Copy)]
struct Gains([f64; LEVELS]);

impl Gains {
    /// 1 for a win of `a` over `b`, one half for a tie.
    fn win(&self, a: usize, b: usize) -> f64 {
        let gap = self.0[a] - self.0[b];
        // Two levels without a valid submission are equal, though their gap is no number.
        if self.0[a] == self.0[b] || gap.abs() <= TIE {
            return 0.5;
        }
        f64::from(u8::from(gap > 0.0))
    }

    /// The share of its comparisons that a level wins.
    fn wins(&self, level: usize) -> f64 {
        let others = (0..LEVELS).filter(|other| *other != level);
        others.map(|other| self.win(level, other)).sum::<f64>() / (LEVELS - 1) as f64
    }

    /// The levels from worst to best.
    fn order(&self) -> String {
        let mut places: Vec<usize> = (0..LEVELS).collect();
        places.sort_by(|a, b| self.0[*a].total_cmp(&self.0[*b]));
        let names: Vec<&str> =
            places.iter().map(|level| ScriptedLevel::ALL[*level].name()).collect();
        names.join(" < ")
    }
}

/// What is counted per level while tasks are read.
#[derive(Debug, Clone, Default)]
struct LevelTally {
    valid: usize,
    tiers: [usize; 4],
    seconds: Vec<f64>,
}

fn summary(tasks: &[&TaskDir], played: &TrajectoriesByTask, faults: usize) -> Calibration {
    let mut tallies: [LevelTally; LEVELS] = Default::default();
    let mut outcomes = Vec::new();
    for task in tasks {
        let Some(row) = played.get(task.id().as_str()) else { continue };
        let of = |approach: &ScriptedLevel| row.get(&format!("scripted/{}", approach.name()));
        let trajectories: Vec<&Trajectory> = ScriptedLevel::ALL.iter().filter_map(of).collect();
        // A level that was lost to a fault of ours takes its task along.
        if trajectories.len() < LEVELS {
            continue;
        }
        let manifest = task.manifest();
        let mut gains = [f64::NEG_INFINITY; LEVELS];
        for ((trajectory, tally), gain) in trajectories.iter().zip(&mut tallies).zip(&mut gains) {
            let scripts = trajectory.turns.iter().filter(|turn| turn.outcome.is_some());
            tally.seconds.extend(scripts.map(|turn| turn.seconds));
            let Some(grade) = trajectory.grade() else { continue };
            let direction = manifest.direction();
            *gain = direction.gain(grade.score);
            tally.valid += 1;
            for (count, (_, milestone)) in
                tally.tiers.iter_mut().zip(manifest.thresholds.ascending())
            {
                *count += usize::from(direction.reaches(grade.score, milestone));
            }
        }
        outcomes.push((manifest, Gains(gains)));
    }
    let count = outcomes.len().max(1) as f64;
    let mut pairs = [[0.5; LEVELS]; LEVELS];
    for (a, row) in pairs.iter_mut().enumerate() {
        for (b, share) in row.iter_mut().enumerate().filter(|(b, _)| *b != a) {
            *share = outcomes.iter().map(|(_, gains)| gains.win(a, b)).sum::<f64>() / count;
        }
    }
    let mut cells: BTreeMap<String, (usize, [f64; LEVELS])> = BTreeMap::new();
    let mut unseparated = BTreeMap::new();
    for (manifest, gains) in &outcomes {
        let cell = format!("{}/{}", manifest.modality.name(), manifest.formulation.name());
        let (count, means) = cells.entry(cell).or_insert((0, [0.0; LEVELS]));
        *count += 1;
        for (level, mean) in means.iter_mut().enumerate() {
            *mean += (gains.wins(level) - *mean) / *count as f64;
        }
        if (1..LEVELS).any(|level| gains.win(level, level - 1) < 1.0) {
            unseparated.insert(manifest.id.to_string(), gains.order());
        }
    }
    let level = |(index, (approach, tally)): (usize, (&ScriptedLevel, &LevelTally))| {
        let shares: Vec<f64> = outcomes.iter().map(|(_, gains)| gains.wins(index)).collect();
        let wins = mean(shares.iter().copied());
        // Tasks are independent; the mean over them is about normal.
        let margin = Z * standard_error(&shares);
        let seconds = |share| quantile(&tally.seconds, share).unwrap_or_default();
        Level {
            name: approach.name().to_owned(),
            valid: tally.valid,
            tiers: tally.tiers,
            wins,
            interval: ((wins - margin).max(0.0), (wins + margin).min(1.0)),
            seconds: (seconds(0.5), seconds(0.95)),
        }
    };
    Calibration {
        version: CALIBRATION_VERSION,
        tasks: outcomes.len(),
        faults,
        levels: ScriptedLevel::ALL.iter().zip(&tallies).enumerate().map(level).collect(),
        pairs,
        cells,
        unseparated,
    }
}

impl fmt::Display for Calibration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let share = |count: usize| 100.0 * count as f64 / self.tasks.max(1) as f64;
        writeln!(f, "{} tasks, {} episodes lost to faults\n", self.tasks, self.faults)?;
        writeln!(
            f,
            "level       wins %          95 %   valid  median  bronze  silver    gold    p50 s    p95 s"
        )?;
        for level in &self.levels {
            let [median, bronze, silver, gold] = level.tiers.map(share);
            let Level { name, valid, wins, interval: (low, high), seconds, .. } = level;
            writeln!(
                f,
                "{name:<10} {:>7.1} {:>6.1}-{:<6.1} {:>7.1} {median:>7.1} {bronze:>7.1} \
                 {silver:>7.1} {gold:>7.1} {:>8.2} {:>8.2}",
                100.0 * wins,
                100.0 * low,
                100.0 * high,
                share(*valid),
                seconds.0,
                seconds.1,
            )?;
        }
        write!(f, "\nrow beats column, %\n{:<10}", "")?;
        self.levels.iter().try_for_each(|level| write!(f, " {:>10}", level.name))?;
        for (level, row) in self.levels.iter().zip(&self.pairs) {
            write!(f, "\n{:<10}", level.name)?;
            row.iter().try_for_each(|share| write!(f, " {:>10.1}", 100.0 * share))?;
        }
        writeln!(f, "\n\nwins by kind of task, %")?;
        for (cell, (count, wins)) in &self.cells {
            write!(f, "{cell:<26} {count:>4}")?;
            wins.iter().try_for_each(|share| write!(f, " {:>6.1}", 100.0 * share))?;
            writeln!(f)?;
        }
        write!(f, "\n{} tasks do not put all levels in order", self.unseparated.len())?;
        self.unseparated.iter().try_for_each(|(task, order)| write!(f, "\n  {task}: {order}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_levels_lose_and_equal_ones_tie() {
        let gains = Gains([f64::NEG_INFINITY, f64::NEG_INFINITY, -0.5, -0.5 + 1e-12, 0.2]);
        assert_eq!(gains.order(), "constant < linear < forest < operators < oracle");
        assert_eq!((gains.win(0, 1), gains.win(2, 1), gains.win(2, 3)), (0.5, 1.0, 0.5));
        assert_eq!((gains.wins(4), gains.wins(0)), (1.0, 0.125));
    }
}
