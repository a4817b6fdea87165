//! The stage of the debug run: the script is run with `--debug`, and what it wrote is looked at.

use super::Chain;
use crate::ft::check::{ErrorClass, Rejection};
use crate::ft::fault::StageError;
use crate::ft::form::has_reasoning;
use crate::ft::plan::Plan;
use crate::ft::sample::{DATA, Sample, duplicate_share, read_samples};
use crate::ft::script::ScriptRun;
use crate::ft::summary::DataSummary;
use fs_err as fs;
use jail::exec::Outcome;
use std::time::Duration;

/// The share of samples from which on duplicates are worth a word.
const FEW: f64 = 0.1;

/// What a plan's script makes.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct DebugData {
    pub(super) samples: Vec<Sample>,
    pub(super) warnings: Vec<String>,
}

/// Runs the script with `--debug`, or reads the data that is kept.
pub(super) fn check(chain: &Chain<'_>, plan: &Plan) -> Result<DebugData, StageError> {
    if let Some(kept) = plan.kept_data() {
        let samples = read_samples(&fs::read(kept)?)?;
        let warnings = check_samples(chain, &samples)?;
        return Ok(DebugData { samples, warnings });
    }
    let limits = &chain.settings.limits;
    let run = chain.run_script(plan, true)?;
    let (samples, summary) = read_run(&run, limits.debug_data.0)?;
    let mut warnings = check_samples(chain, &samples)?;
    warnings.extend(run.asked.warning());
    let written = samples.len() as u64;
    if summary.written != written {
        let said = summary.written;
        warnings.push(format!("the summary says {said} samples, and `{DATA}` has {written}"));
    }
    let (estimate, most) = (summary.estimate, u64::from(limits.samples));
    if estimate > most {
        return Err(Rejection::new(
            ErrorClass::Data,
            format!("a full run would write {estimate} samples, and {most} may be trained on; draw fewer"),
        )
        .into());
    }
    if estimate == 0 {
        let message = "a full run would write no sample; loosen the filters";
        return Err(Rejection::new(ErrorClass::Data, message).into());
    }
    let (kept, least) = (summary.retention(), chain.settings.checks.retention);
    if kept < least {
        let message = format!(
            "all filters together keep {:.1} % of the samples: {}",
            100.0 * kept,
            summary.filters_in_words()
        );
        if !plan.proposal.accept_retention {
            let message = format!(
                "{message}; loosen some until they keep {:.0} %, or set `accept_retention` if that is meant",
                100.0 * least
            );
            return Err(Rejection::new(ErrorClass::Data, message).into());
        }
        warnings.push(message);
    }
    Ok(DebugData { samples, warnings })
}

/// The data of a run that ended well, and its summary.
pub(in crate::ft) fn read_run(
    run: &ScriptRun,
    limit: Duration,
) -> Result<(Vec<Sample>, DataSummary), Rejection> {
    if let Some(rejection) = bad_end(run, limit) {
        return Err(rejection);
    }
    let data = run.data.as_ref().map_err(|why| {
        let message = format!("the script ended well and left no `{DATA}`: {why}");
        Rejection::new(ErrorClass::Data, message)
    })?;
    Ok((read_samples(data)?, DataSummary::read(&run.printed)?))
}

/// Why a run ended badly; `None` if it did not.
fn bad_end(run: &ScriptRun, limit: Duration) -> Option<Rejection> {
    let said = &run.said;
    let (class, what) = match &run.outcome {
        Outcome::Finished => return None,
        Outcome::OutOfMemory => {
            (ErrorClass::Oom, "the script ran out of memory; read files line by line".to_owned())
        }
        Outcome::TimedOut => {
            let limit = limit.as_secs_f64();
            let what = "the script did not end within";
            (ErrorClass::Data, format!("{what} {limit} s; look for a loop, or do less"))
        }
        Outcome::Raised { exception }
            if ["ImportError", "ModuleNotFoundError"].contains(&exception.as_str()) =>
        {
            (ErrorClass::Env, format!("the script raised {exception}: {said}"))
        }
        outcome => (ErrorClass::Data, format!("the script {outcome}: {said}")),
    };
    Some(Rejection::new(class, what))
}

/// What is wrong with samples, whoever made them: their form, reasoning, duplicates. Returns what is
/// worth knowing all the same.
pub(in crate::ft) fn check_samples(
    chain: &Chain<'_>,
    samples: &[Sample],
) -> Result<Vec<String>, StageError> {
    let data = |message: String| StageError::from(Rejection::new(ErrorClass::Data, message));
    let (form, checks, all) = (chain.form, chain.settings.checks, samples.len());
    let words = checks.reasoning_words;
    if form.wants_reasoning(words) {
        let is_direct = |sample: &&(usize, &Sample)| !has_reasoning(&sample.1.output, words);
        let places: Vec<(usize, &Sample)> = samples.iter().enumerate().collect();
        let direct: Vec<&(usize, &Sample)> = places.iter().filter(is_direct).collect();
        if let Some((place, sample)) = direct.first() {
            let count = direct.len();
            let output: String = sample.output.chars().take(80).collect();
            return Err(data(format!(
                "{count} of {all} samples answer without reasoning, first sample {place}: `{output}`; \
                 every answer must stand behind at least {words} words of it"
            )));
        }
    }
    for (place, sample) in samples.iter().enumerate().take(form.read_of(all)) {
        if let Some(mistake) = form.mistake(sample)? {
            let output: Vec<char> = sample.output.chars().collect();
            let end: String = output[output.len().saturating_sub(80)..].iter().collect();
            return Err(data(format!(
                "the scorer cannot read the answer of sample {place} (`{}`), which ends with `{end}`; \
                 write answers in the form that the task asks for",
                mistake.name()
            )));
        }
    }
    let share = duplicate_share(samples);
    let percent = 100.0 * share;
    if share > checks.duplicates {
        let message = format!("{percent:.0} % of the samples are there twice or more; drop them");
        return Err(data(message));
    }
    let mut warnings = Vec::new();
    if share > FEW {
        warnings.push(format!("{percent:.0} % of the samples are there twice or more"));
    }
    let other = samples.iter().filter(|sample| !form.has_system(&sample.system)).count();
    if other > 0 {
        warnings.push(format!(
            "{other} of {all} samples have a system message that the scorer does not send, under \
             which a model learns to answer something else"
        ));
    }
    Ok(warnings)
}
