//! Progress of a run: a live summary of four lines on an interactive terminal, otherwise one log
//! line per step.

use indicatif::{ProgressBar, ProgressStyle};
use std::fmt::Write as _;

/// Steps whose mean reward is compared with that of as many before them.
const WINDOW: usize = 5;

/// Shows the progress of stages.
pub trait Stages {
    /// A bar for a stage of `length` units.
    fn stage(&self, name: &'static str, length: u64) -> ProgressBar;
}

/// The metrics of a step that are shown.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StepSummary {
    /// The number of steps made.
    pub step: u64,
    /// Mean reward of its episodes.
    pub reward: f64,
    /// Share of valid submissions.
    pub valid: f64,
    /// Shares that reach median, bronze, silver and gold, or better.
    pub tiers: [f64; 4],
    /// Sampled tokens per second of the rollout.
    pub tokens_per_second: f64,
    /// Memory of the process, and in use on the device, in bytes.
    pub memory: [Option<u64>; 2],
}

/// The view of one run.
#[derive(Debug)]
pub struct ProgressView {
    bar: ProgressBar,
    rewards: Vec<f64>,
    last: Option<StepSummary>,
    /// Reward on held-out tasks: the last, and the best with its step.
    held_out: Option<(f64, f64, u64)>,
}

impl ProgressView {
    /// A view on a run that has made `done` steps, in place of `bar`.
    pub fn new(bar: ProgressBar, done: u64) -> Self {
        let template = "{prefix:>12} {bar:28} {pos}/{len} {elapsed} eta {eta}\n{msg}";
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        bar.set_position(done);
        // Steps of an earlier start took none of this one's time.
        bar.reset_eta();
        Self { bar, rewards: Vec::new(), last: None, held_out: None }
    }

    /// Shows a step.
    pub fn step(&mut self, step: StepSummary) {
        self.rewards.push(step.reward);
        self.last = Some(step);
        self.bar.inc(1);
        if self.bar.is_hidden() {
            let [median, bronze, silver, gold] = step.tiers.map(rounded);
            tracing::info!(
                step = step.step,
                reward = rounded(step.reward),
                valid = rounded(step.valid),
                median,
                bronze,
                silver,
                gold,
                tokens_per_second = step.tokens_per_second.round(),
                memory_mib = step.memory[0].map(mebibytes),
                "trained"
            );
        }
        self.draw();
    }

    /// Shows the reward on held-out tasks after `step` steps, and the best one so far with the
    /// step that it was made at.
    pub fn held_out(&mut self, step: u64, reward: f64, best: f64, best_step: u64) {
        self.held_out = Some((reward, best, best_step));
        if self.bar.is_hidden() {
            let (reward, best) = (rounded(reward), rounded(best));
            tracing::info!(step, reward, best, best_step, "held-out tasks");
        }
        self.draw();
    }

    /// Leaves what is to be seen as it is.
    pub fn finish(&self) {
        self.bar.abandon();
    }

    fn draw(&self) {
        self.bar.set_message(self.text());
    }

    fn text(&self) -> String {
        let mut text = String::new();
        if let Some(StepSummary { reward, .. }) = self.last {
            let _ = write!(text, "{:>12} {reward:.3}{}", "reward", self.trend());
        }
        if let Some((reward, best, step)) = self.held_out {
            let gap = if text.is_empty() { format!("{:>12} ", "reward") } else { "   ".to_owned() };
            let _ = write!(text, "{gap}held-out {reward:.3} (best {best:.3} at {step})");
        }
        if let Some(step) = self.last {
            let [median, bronze, silver, gold] = step.tiers.map(|share| 100.0 * share);
            let _ = write!(
                text,
                "\n{:>12} {:.0}%   median {median:.0}%   bronze {bronze:.0}%   silver {silver:.0}%   gold {gold:.0}%\n{:>12} {:.0} tokens/s",
                "valid",
                100.0 * step.valid,
                "speed",
                step.tokens_per_second,
            );
            for (name, bytes) in ["memory", "device"].into_iter().zip(step.memory) {
                if let Some(bytes) = bytes {
                    let _ = write!(text, "   {name} {} MiB", mebibytes(bytes));
                }
            }
        }
        text
    }

    /// Where the reward goes, once there are enough steps.
    fn trend(&self) -> String {
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        let count = self.rewards.len();
        if count < 2 * WINDOW {
            return String::new();
        }
        let (before, now) = self.rewards[count - 2 * WINDOW..].split_at(WINDOW);
        let change = mean(now) - mean(before);
        let arrow = if change >= 0.0 { '↑' } else { '↓' };
        format!(" {arrow}{:.3}", change.abs())
    }
}

fn rounded(value: f64) -> f64 {
    (1e3 * value).round() / 1e3
}

fn mebibytes(bytes: u64) -> u64 {
    bytes >> 20
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn view_shows_a_step_in_three_lines() {
        let mut view = ProgressView::new(ProgressBar::hidden(), 0);
        view.held_out(0, 0.2, 0.2, 0);
        assert_eq!(view.text(), "      reward held-out 0.200 (best 0.200 at 0)");
        for step in 1..=10 {
            view.step(StepSummary {
                step,
                reward: if step > 5 { 0.5 } else { 0.4 },
                valid: 0.94,
                tiers: [0.71, 0.5, 0.25, 0.0],
                tokens_per_second: 1234.4,
                memory: [Some(600 << 20), None],
            });
        }
        view.held_out(10, 0.41, 0.43, 8);
        insta::assert_snapshot!(view.text(), @"
              reward 0.500 ↑0.100   held-out 0.410 (best 0.430 at 8)
               valid 94%   median 71%   bronze 50%   silver 25%   gold 0%
               speed 1234 tokens/s   memory 600 MiB
        ");
        view.rewards.extend([0.3; 5]);
        assert_eq!(view.trend(), " ↓0.200");
    }
}
