//! The learning rate over a run.

use serde::{Deserialize, Serialize};

/// How the learning rate moves after warm-up.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Decay {
    /// The rate stays at its peak.
    Constant,
    /// Along half a cosine to `floor` times the peak at the last step.
    Cosine {
        /// Share of the peak that is left at the end.
        floor: f64,
    },
}

/// The learning rate over a run: a linear warm-up, then [`Decay`].
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Schedule {
    /// The learning rate after warm-up.
    pub peak: f64,
    /// Steps until it is reached; the first step already moves.
    pub warmup: u64,
    /// How the rate decays after warm-up.
    pub decay: Decay,
    /// The length of the run.
    pub steps: u64,
}

impl Schedule {
    /// The rate of the given step, counted from 0.
    pub fn rate(&self, step: u64) -> f64 {
        if step < self.warmup {
            return self.peak * (step + 1) as f64 / self.warmup as f64;
        }
        match self.decay {
            Decay::Constant => self.peak,
            Decay::Cosine { floor } => {
                let span = self.steps.saturating_sub(self.warmup).max(1) as f64;
                let done = ((step - self.warmup) as f64 / span).min(1.0);
                let height = 0.5 * (1.0 + (std::f64::consts::PI * done).cos());
                self.peak * (floor + (1.0 - floor) * height)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn learning_rate_warms_up_and_decays() {
        let schedule =
            Schedule { peak: 1.0, warmup: 4, decay: Decay::Cosine { floor: 0.1 }, steps: 14 };
        let rates: Vec<f64> = (0..15).map(|step| schedule.rate(step)).collect();
        assert!((rates[0] - 0.25).abs() < 1e-12 && (rates[3] - 1.0).abs() < 1e-12);
        assert!((rates[9] - 0.55).abs() < 1e-12 && (rates[14] - 0.1).abs() < 1e-12);
        assert!(rates[4..].windows(2).all(|pair| pair[1] < pair[0]));
    }
}
