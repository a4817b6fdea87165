//! How scripts were coded, and what theory expects of it.
//!
//! A scripted engineer breaks each line that can be broken with the probability `slip`. So a script
//! of L lines that is written in one pass is whole with the probability (1 - slip)^L, and a number of
//! scripts has whole ones in the mean of that, with the variance sum of p (1 - p).

use super::facts::{RunFacts, ScriptFacts};
use super::pair::Values;
use crate::statistics::wilson;
use agents::run::node_facts::CodingStyle;
use serde::Serialize;
use std::collections::BTreeMap;

/// Plans of a higher complexity than this count as hard, as by the threshold of the coder.
pub const HARD: f64 = 3.5;

/// Where ranges of lines begin.
const BANDS: [usize; 7] = [0, 20, 40, 60, 80, 100, 121];

/// Scripts of an arm that were written anew in one pass, by their lines.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OnePassBand {
    /// The fewest and the most lines of its scripts.
    pub lines: (usize, usize),
    /// Scripts.
    pub scripts: usize,
    /// Those that ran to their end with a valid submission.
    pub good: usize,
    /// The share of good ones that theory expects.
    pub theory: f64,
    /// The standard error of the measured share, by theory.
    pub error: f64,
}

/// Scripts for hard plans.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct HardScripts {
    /// Steps with a hard plan, repairs among them.
    pub scripts: usize,
    /// Those whose script ran to its end with a valid submission.
    pub good: usize,
    /// The 95 % interval of their share (Wilson), as if scripts were independent.
    pub interval: (f64, f64),
}

impl OnePassBand {
    /// The measured share.
    pub fn share(&self) -> f64 {
        self.good as f64 / self.scripts as f64
    }

    /// By how many standard errors the measured share is above theory; 0 where it has no error and
    /// is met.
    pub fn deviation(&self) -> f64 {
        let beyond = self.share() - self.theory;
        if beyond == 0.0 { 0.0 } else { beyond / self.error }
    }

    /// Whether measurement and theory agree within two standard errors.
    pub fn agrees(&self) -> bool {
        self.deviation().abs() <= 2.0
    }

    fn of(scripts: &[(usize, bool)], slip: f64) -> Option<Self> {
        let lines = scripts.iter().map(|(lines, _)| *lines);
        let n = scripts.len() as f64;
        let chances: Vec<f64> =
            lines.clone().map(|lines| (lines as f64 * (-slip).ln_1p()).exp()).collect();
        Some(Self {
            lines: (lines.clone().min()?, lines.max()?),
            scripts: scripts.len(),
            good: scripts.iter().filter(|(_, good)| *good).count(),
            theory: chances.iter().sum::<f64>() / n,
            error: chances.iter().map(|p| p * (1.0 - p)).sum::<f64>().sqrt() / n,
        })
    }
}

/// The scripts that were written anew in one pass: by ranges of lines, then all of them.
pub fn one_pass_bands<'a>(
    scripts: impl Iterator<Item = &'a ScriptFacts>,
    slip: f64,
) -> Vec<OnePassBand> {
    let fresh = |script: &&ScriptFacts| script.fresh && script.coding == Some(CodingStyle::OnePass);
    let mut all: Vec<(usize, bool)> =
        scripts.filter(fresh).filter_map(|script| Some((script.lines?, script.good))).collect();
    all.sort_unstable();
    let ranges = BANDS.iter().zip(BANDS[1..].iter().chain([&usize::MAX]));
    let bands = ranges.map(|(&from, &to)| {
        let within = |(lines, _): &(usize, bool)| (from..to).contains(lines);
        all.iter().copied().filter(within).collect::<Vec<_>>()
    });
    let bands: Vec<OnePassBand> = bands.filter_map(|band| OnePassBand::of(&band, slip)).collect();
    let whole = OnePassBand::of(&all, slip).filter(|_| bands.len() > 1);
    bands.into_iter().chain(whole).collect()
}

/// Whether a plan is hard.
fn is_hard(script: &ScriptFacts) -> bool {
    script.complexity.is_some_and(|complexity| complexity > HARD)
}

/// The scripts for hard plans; `None` without any.
pub fn hard_scripts<'a>(scripts: impl Iterator<Item = &'a ScriptFacts>) -> Option<HardScripts> {
    let hard: Vec<&ScriptFacts> = scripts.filter(|script| is_hard(script)).collect();
    let good = hard.iter().filter(|script| script.good).count();
    let interval = wilson(good, hard.len());
    (!hard.is_empty()).then_some(HardScripts { scripts: hard.len(), good, interval })
}

/// The share of good scripts among those for hard plans, of each run that has one.
pub fn hard_shares(runs: &BTreeMap<(String, u64), (&RunFacts, usize)>) -> Values {
    let share = |(facts, within): &(&RunFacts, usize)| {
        let scripts = facts.steps[..*within].iter().filter_map(|step| step.script.as_ref());
        hard_scripts(scripts).map(|found| found.good as f64 / found.scripts as f64)
    };
    runs.iter().filter_map(|(key, run)| Some((key.clone(), share(run)?))).collect()
}
