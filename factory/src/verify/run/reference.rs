//! Reference scripts: what a strong engineer would submit who knows the public files alone.
//!
//! A script is put together from the parts in `factory/reference/`: `table.py` reads and cleans
//! the tables, a part for each medium adds what it sees in the items, and a part for the
//! formulation fits and submits. Forecasts and scenes have a script of their own. The only thing
//! that is filled in is the name of the metric, as it stands on the task's page.

use super::report::Attempt;
use super::trial::{COLLECT_LIMIT, Failure, TrialSettings};
use crate::verify::Refusal;
use jail::exec::{Outcome, Run, Sandbox};
use tasks::grade::NativeGrader;
use tasks::submission::Part;
use tasks::task::{Formulation, Modality, TaskDir};

const TABLE: &str = include_str!("../../../reference/table.py");
const IMAGE: &str = include_str!("../../../reference/image.py");
const CLIP: &str = include_str!("../../../reference/clip.py");
const AUDIO: &str = include_str!("../../../reference/audio.py");
const SOUNDSCAPE: &str = include_str!("../../../reference/soundscape.py");
const GRAPH: &str = include_str!("../../../reference/graph.py");
const NODES: &str = include_str!("../../../reference/nodes.py");
const WORDS: &str = include_str!("../../../reference/words.py");
const TEXT: &str = include_str!("../../../reference/text.py");
const DOSSIER: &str = include_str!("../../../reference/dossier.py");
const PAIRS: &str = include_str!("../../../reference/pairs.py");
const MODELS: &str = include_str!("../../../reference/models.py");
const CLASSES: &str = include_str!("../../../reference/classes.py");
const LABELS: &str = include_str!("../../../reference/labels.py");
const NUMBERS: &str = include_str!("../../../reference/numbers.py");
const RANKING: &str = include_str!("../../../reference/ranking.py");
const QUANTILES: &str = include_str!("../../../reference/quantiles.py");
const FORECAST: &str = include_str!("../../../reference/forecast.py");
const BLOBS: &str = include_str!("../../../reference/blobs.py");
const MASKS: &str = include_str!("../../../reference/masks.py");
const BOXES: &str = include_str!("../../../reference/boxes.py");
const PIXELS: &str = include_str!("../../../reference/pixels.py");
const SPEECH: &str = include_str!("../../challenges/speech.py");
const NORMALISATION: &str = include_str!("../../../reference/normalisation.py");
const EXTRACTION: &str = include_str!("../../../reference/extraction.py");
const RETRIEVAL: &str = include_str!("../../../reference/retrieval.py");
const RECOMMENDATION: &str = include_str!("../../../reference/recommendation.py");
const POSITIONS: &str = include_str!("../../../reference/positions.py");

/// The reference script of a task.
pub(crate) fn script(task: &TaskDir) -> String {
    let manifest = task.manifest();
    let metric = format!("METRIC = \"{}\"\n", manifest.metric);
    let parts = match manifest.formulation {
        Formulation::Forecasting => vec![FORECAST, MODELS, NUMBERS],
        Formulation::Segmentation => vec![BLOBS, MASKS],
        Formulation::Detection => vec![BLOBS, BOXES],
        Formulation::Reconstruction => vec![PIXELS],
        Formulation::Normalisation => vec![SPEECH, NORMALISATION],
        Formulation::Extraction => vec![EXTRACTION],
        Formulation::Retrieval => vec![RETRIEVAL],
        Formulation::Recommendation => vec![RECOMMENDATION],
        Formulation::Positions => vec![POSITIONS],
        Formulation::Matching => vec![TABLE, WORDS, PAIRS, MODELS, CLASSES],
        Formulation::Binary | Formulation::Multiclass => tabular(task, CLASSES),
        Formulation::Multilabel => tabular(task, LABELS),
        Formulation::Regression | Formulation::MultiTarget => tabular(task, NUMBERS),
        Formulation::Quantiles => tabular(task, QUANTILES),
        Formulation::Ranking => tabular(task, RANKING),
    };
    metric + &parts.concat()
}

/// Tables, the medium that lies beside them, and a part for the formulation.
fn tabular(task: &TaskDir, formulation: &'static str) -> Vec<&'static str> {
    let public = task.public();
    let holds = |name: &str| public.path().join(name).exists();
    let texts = matches!(task.manifest().modality, Modality::Text | Modality::Multimodal);
    let medium = [
        ("images", IMAGE),
        ("clips", CLIP),
        ("audio", AUDIO),
        ("soundscapes", SOUNDSCAPE),
        ("graphs", GRAPH),
        ("edges.csv", NODES),
    ]
    .into_iter()
    .find(|(name, _)| holds(name))
    .map_or_else(
        || match texts {
            true if has_entries(task) => vec![WORDS, DOSSIER],
            true => vec![WORDS, TEXT],
            false => vec![],
        },
        |(_, part)| vec![part],
    );
    [vec![TABLE], medium, vec![MODELS, formulation]].concat()
}

/// Whether the task has documents whose entries stand under numbers, or under dates and times.
fn has_entries(task: &TaskDir) -> bool {
    let documents = task.public().path().join("docs").read_dir_utf8().into_iter().flatten();
    let Some(document) = documents.flatten().map(camino::Utf8DirEntry::into_path).min() else {
        return false;
    };
    let timed = |line: &str| {
        let end = line.split(' ').next_back().unwrap_or_default();
        matches!(end.as_bytes(), [a, b, b':', c, d] if [a, b, c, d].iter().all(|byte| byte.is_ascii_digit()))
    };
    fs_err::read_to_string(document).is_ok_and(|text| {
        text.lines().any(|line| line.starts_with("1. ") || line.starts_with("Q1: ") || timed(line))
    })
}

/// Runs `code` on the task and grades what it submits.
///
/// # Errors
/// [`Refusal::NoSubmission`], [`Refusal::OverBudget`], or a fault of the sandbox.
pub(super) fn attempt(
    sandbox: &Sandbox,
    task: &TaskDir,
    code: &str,
    settings: &TrialSettings,
) -> Result<Attempt, Failure> {
    let attempt = once(sandbox, task, code, settings)?;
    let budget = settings.budget.as_secs_f64();
    // Processor time: a busy machine must not turn a sound task into a refused one.
    if attempt.processor > budget {
        return Err(Refusal::OverBudget { seconds: attempt.processor, budget }.into());
    }
    Ok(attempt)
}

fn once(
    sandbox: &Sandbox,
    task: &TaskDir,
    code: &str,
    settings: &TrialSettings,
) -> Result<Attempt, Failure> {
    let workspace = sandbox.workspace(task.id())?;
    let run = workspace.run(code, &settings.policy)?;
    let seconds = run.wall.as_secs_f64();
    match &run.outcome {
        Outcome::Finished => {}
        Outcome::TimedOut => {
            let budget = settings.budget.as_secs_f64();
            return Err(Refusal::OverBudget { seconds, budget }.into());
        }
        _ => return Err(Refusal::NoSubmission(complaint(&run)).into()),
    }
    let csv = workspace
        .collect("submission.csv", COLLECT_LIMIT.bytes())
        .map_err(|error| Refusal::NoSubmission(error.to_string()))?;
    let grader = NativeGrader::open(task).map_err(|error| Refusal::Contract(error.to_string()))?;
    let grade =
        grader.grade(&csv, Part::All).map_err(|error| Refusal::NoSubmission(error.to_string()))?;
    let processor = run.cpu.as_secs_f64();
    Ok(Attempt { seconds, processor, score: grade.score, tier: grade.tier })
}

/// How a run ended, with the last line of what it complained.
fn complaint(run: &Run) -> String {
    let text = run.stderr.text();
    format!("it {}: {}", run.outcome, text.trim_end().lines().last().unwrap_or_default())
}
