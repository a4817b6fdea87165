//! The stage of the mini-run: a few samples are trained on for a few updates.

use super::Chain;
use super::sanity::LossCurve;
use crate::ft::check::{ErrorClass, Rejection};
use crate::ft::fault::{StageError, split};
use crate::ft::plan::Plan;
use crate::ft::sample::{DATA, Sample};
use crate::ft::trainer::TrainJob;
use camino::Utf8Path;
use fs_err as fs;
use std::time::Instant;
use tasks::files;
use tasks::units::ByteSize;

/// What the mini-run left.
#[derive(Debug)]
pub(super) struct MiniRun {
    /// Its losses.
    pub(super) curve: LossCurve,
    /// Why the trainer failed, if it did: what its losses say comes first.
    pub(super) failed: Option<Rejection>,
    /// Share of samples that are longer than the context.
    pub(super) over_long: f64,
}

/// Has the trainer say what the samples take, and then train on some of them, in the folder `place`.
pub(super) fn check(
    chain: &Chain<'_>,
    plan: &Plan,
    samples: &[Sample],
    place: &Utf8Path,
) -> Result<MiniRun, StageError> {
    let limits = &chain.settings.limits;
    let began = Instant::now();
    if place.exists() {
        fs::remove_dir_all(place)?;
    }
    fs::create_dir_all(place)?;
    let (data, config, out) = (place.join(DATA), place.join("train.toml"), place.join("sft"));
    files::write_json(&data, &samples)?;
    files::write_atomic(&config, plan.config.text().as_bytes())?;
    let job = TrainJob { data: &data, config: &config, out: &out, more: &[] };
    let estimate = chain.trainer.estimate(job, limits.mini_run.0)?;
    if let Some(free) = estimate.memory_free_bytes.filter(|free| estimate.memory_bytes > *free) {
        let (needs, free) = (ByteSize::new(estimate.memory_bytes), ByteSize::new(free));
        return Err(Rejection::new(
            ErrorClass::Oom,
            format!(
                "an update needs {needs} of memory, and {free} are free; lower `context` or the tokens of \
                 a micro-batch, or train adapters"
            ),
        )
        .into());
    }
    // The peak rate from the first update on: a warm-up would be all that there is.
    let more = [
        format!("--max-samples={}", limits.mini_samples),
        format!("--max-steps={}", limits.mini_updates),
        "--set=warmup=0".to_owned(),
    ];
    let job = TrainJob { more: &more, ..job };
    let left = limits.mini_run.0.saturating_sub(began.elapsed());
    let failed = split(chain.trainer.train(job, left, || Ok(chain.go_on()?)))?.err();
    Ok(MiniRun { curve: LossCurve::read(&out)?, failed, over_long: estimate.over_long_share })
}

impl MiniRun {
    /// What the losses say.
    pub(super) fn sanity(&self, chain: &Chain<'_>) -> Result<Vec<String>, Rejection> {
        let checks = chain.settings.checks;
        if let Some(problem) = self.curve.problem(checks.explosion) {
            return Err(problem);
        }
        if self.failed.is_none() && self.curve.updates.is_empty() {
            let message = "the mini-run made no update; set more `epochs` or `max_steps`";
            return Err(Rejection::new(ErrorClass::Config, message));
        }
        let percent = 100.0 * self.over_long;
        if self.over_long > checks.over_long {
            let message = format!(
                "{percent:.0} % of the samples are longer than `context` and would be left out; write \
                 shorter ones, or set a larger `context`"
            );
            return Err(Rejection::new(ErrorClass::Data, message));
        }
        let warning = format!("{percent:.1} % of the samples are longer than `context`");
        Ok(if self.over_long > 0.0 { vec![warning] } else { Vec::new() })
    }
}
