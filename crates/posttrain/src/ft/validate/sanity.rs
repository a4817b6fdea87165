//! The stage that looks at losses: of the mini-run, and while a full training is going on.

use crate::ft::check::{ErrorClass, Rejection};
use camino::Utf8Path;
use fs_err as fs;
use serde_json::Value;
use std::io::{self, ErrorKind};

/// A start below this counts as this: the noise of a small loss is no explosion. In nats a token.
const FLOOR: f64 = 0.5;

/// The updates and validations of a training, in order.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LossCurve {
    /// Each update.
    pub updates: Vec<UpdateLoss>,
    /// Losses on held-out samples: after so many updates, the loss.
    pub validations: Vec<(u64, f64)>,
}

/// An update.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct UpdateLoss {
    /// Its number, from 1.
    pub step: u64,
    /// Its loss in nats a token; not finite where the trainer had no number.
    pub loss: f64,
    /// The norm of its gradient; not finite where the trainer had no number.
    pub gradient_norm: f64,
    /// Tokens that the loss is over.
    pub tokens: u64,
}

impl LossCurve {
    /// Reads the `metrics.jsonl` of a training in the folder `run`. A last line that is still being
    /// written is left out, and without the file there is nothing yet.
    ///
    /// # Errors
    /// An I/O error naming the file.
    pub fn read(run: &Utf8Path) -> io::Result<Self> {
        match fs::read_to_string(run.join("metrics.jsonl")) {
            Ok(text) => Ok(Self::of(&text)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(error),
        }
    }

    /// The same from its text.
    pub fn of(text: &str) -> Self {
        let mut curve = Self::default();
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        for line in whole.lines() {
            // NaN and infinities are `null` in JSON.
            let Ok(value) = serde_json::from_str::<Value>(line) else { continue };
            let number = |key: &str| value[key].as_f64().unwrap_or(f64::NAN);
            let step = value["step"].as_u64().unwrap_or(0);
            if value.get("loss").is_some() {
                curve.updates.push(UpdateLoss {
                    step,
                    loss: number("loss"),
                    gradient_norm: number("gradient_norm"),
                    tokens: value["tokens"].as_u64().unwrap_or(0),
                });
            }
            if value.get("eval_loss").is_some() {
                curve.validations.push((step, number("eval_loss")));
            }
        }
        curve
    }

    /// Why it is not worth going on; `explosion` is how many times its start a loss may reach.
    pub fn problem(&self, explosion: f64) -> Option<Rejection> {
        let config = |message: String| Some(Rejection::new(ErrorClass::Config, message));
        let start = self.updates.first()?.loss.max(FLOOR);
        for update in &self.updates {
            let UpdateLoss { step, loss, gradient_norm, tokens } = *update;
            if tokens == 0 {
                let message =
                    format!("update {step} trains on no token; look at `output` of the samples");
                return Some(Rejection::new(ErrorClass::Data, message));
            }
            let what = if loss.is_finite() { "the norm of the gradient" } else { "the loss" };
            if !(loss.is_finite() && gradient_norm.is_finite()) {
                return config(format!(
                    "{what} of update {step} is not finite; lower `learning_rate`"
                ));
            }
            if loss > explosion * start {
                return config(format!(
                    "the loss rises from {start:.2} to {loss:.2} at update {step}; lower `learning_rate`"
                ));
            }
        }
        let wrong = self.validations.iter().find(|(_, loss)| !loss.is_finite());
        wrong.and_then(|(step, _)| {
            config(format!(
                "the validation after {step} updates is not finite; lower `learning_rate`"
            ))
        })
    }

    /// The first and the last losses, where both are there.
    pub fn ends(&self) -> Option<(f64, f64)> {
        Some((self.updates.first()?.loss, self.updates.last()?.loss))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(losses: &[f64]) -> LossCurve {
        let line = |(place, loss): (usize, &f64)| {
            let (step, loss) = (place + 1, Value::from(*loss));
            format!("{{\"step\":{step},\"loss\":{loss},\"gradient_norm\":1.0,\"tokens\":9}}\n")
        };
        LossCurve::of(&losses.iter().enumerate().map(line).collect::<String>())
    }

    #[test]
    fn curves_that_are_not_worth_going_on_with_are_found_at_their_update() {
        let problem = |losses: &[f64]| curve(losses).problem(3.0).map(|found| found.message);
        assert_eq!(problem(&[2.0, 5.9, 1.0]), None);
        assert_eq!(problem(&[]), None);
        assert_eq!(problem(&[0.05, 0.4]), None, "the noise of a small loss");
        let found = problem(&[2.0, 1.9, 1.8, 1.9, 6.1]).unwrap();
        assert!(found.contains("from 2.00 to 6.10 at update 5"), "{found}");
        assert!(problem(&[2.0, f64::NAN]).unwrap().contains("update 2 is not finite"));
        let mut none = curve(&[2.0]);
        none.updates[0].tokens = 0;
        assert_eq!(none.problem(3.0).unwrap().class, ErrorClass::Data);
        let mut held_out = curve(&[2.0]);
        held_out.validations.push((5, f64::INFINITY));
        assert!(held_out.problem(3.0).unwrap().message.contains("after 5 updates"));
    }

    #[test]
    fn lines_of_metrics_are_read_up_to_the_last_whole_one() {
        let text = "{\"step\":0,\"eval_loss\":2.5}\n\
                    {\"step\":1,\"loss\":null,\"gradient_norm\":0.5,\"tokens\":3,\"eval_loss\":2.0}\n\
                    {\"step\":2,\"lo";
        let curve = LossCurve::of(text);
        assert_eq!(curve.validations, [(0, 2.5), (1, 2.0)]);
        assert_eq!(curve.updates.len(), 1);
        assert!(curve.updates[0].loss.is_nan() && curve.updates[0].gradient_norm == 0.5);
    }
}
