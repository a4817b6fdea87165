//! What is dear: all of the data, and the training. Only a [`Validated`] plan gets here.

use super::check::{ErrorClass, Rejection};
use super::fault::StageError;
use super::plan::Plan;
use super::sample::{DATA, read_samples};
use super::settings::Workflow;
use super::teacher::Asked;
use super::trainer::TrainJob;
use super::validate::debug::{check_samples, read_run};
use super::validate::{Chain, LossCurve, Validated};
use crate::Digest;
use camino::{Utf8Path, Utf8PathBuf};
use fs_err as fs;
use std::time::{Duration, Instant};
use tasks::files;

/// Time between two looks at the losses of a training.
const LOOK: Duration = Duration::from_millis(500);

/// All of the data.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct MadeData {
    pub(super) digest: Digest,
    pub(super) samples: usize,
    pub(super) warnings: Vec<String>,
}

/// A training that has ended well.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct TrainedModel {
    /// The folder with the weights.
    pub(super) checkpoint: Utf8PathBuf,
    pub(super) curve: LossCurve,
}

/// Makes all of the data of a plan in `folder/data.json`, or takes over its parent's.
pub(super) fn make_data(
    chain: &Chain<'_>,
    plan: &Validated<Plan>,
    folder: &Utf8Path,
) -> Result<MadeData, StageError> {
    let limits = &chain.settings.limits;
    let (bytes, samples, asked) = if let Some(kept) = plan.kept_data() {
        let bytes = fs::read(kept)?;
        let samples = read_samples(&bytes)?;
        (bytes, samples, Asked::default())
    } else {
        let run = chain.run_script(plan, false)?;
        let (samples, _) = read_run(&run, limits.data.0)?;
        (run.data.unwrap_or_default(), samples, run.asked)
    };
    let mut warnings = match chain.settings.workflow {
        Workflow::FailFast => check_samples(chain, &samples)?,
        Workflow::Staged => Vec::new(),
    };
    warnings.extend(asked.warning());
    let (found, most) = (samples.len(), limits.samples as usize);
    if found > most {
        return Err(Rejection::new(
            ErrorClass::Data,
            format!("the full run wrote {found} samples, and {most} may be trained on; draw fewer"),
        )
        .into());
    }
    files::write_atomic(&folder.join(DATA), &bytes)?;
    Ok(MadeData { digest: Digest::of(&bytes), samples: found, warnings })
}

/// Trains on the data in `folder` for at most `limit`, and ends a training whose losses are not worth
/// going on with, unless the workflow is staged. One that was interrupted goes on.
pub(super) fn train(
    chain: &Chain<'_>,
    plan: &Validated<Plan>,
    folder: &Utf8Path,
    limit: Duration,
) -> Result<TrainedModel, StageError> {
    let (data, config, out) = (folder.join(DATA), folder.join("train.toml"), folder.join("sft"));
    files::write_atomic(&config, plan.config().text().as_bytes())?;
    let is_watched = chain.settings.workflow == Workflow::FailFast;
    let problem =
        |curve: &LossCurve| curve.problem(chain.settings.checks.explosion).filter(|_| is_watched);
    let mut looked = Instant::now();
    let look = || {
        chain.go_on()?;
        if looked.elapsed() < LOOK {
            return Ok(());
        }
        looked = Instant::now();
        // A file that cannot be read now can be read at the end.
        let found = LossCurve::read(&out).ok().and_then(|curve| problem(&curve));
        found.map_or(Ok(()), |problem| Err(problem.into()))
    };
    let job = TrainJob { data: &data, config: &config, out: &out, more: &[] };
    let trained = chain.trainer.train(job, limit, look);
    chain.go_on()?;
    let curve = LossCurve::read(&out)?;
    // Losses explain a trainer that failed better than its last words do.
    if let Some(problem) = problem(&curve) {
        return Err(problem.into());
    }
    Ok(TrainedModel { checkpoint: trained?, curve })
}
