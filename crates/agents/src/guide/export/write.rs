//! From a store to a folder of samples.

use super::episode::{Layout, ending_of, trajectory};
use super::excise::{PlaysAgain, ReplayFailure, difference};
use super::manifest::{ContextCounts, GuidanceCost, MANIFEST_VERSION, Manifest, TurnCounts};
use super::sample::{SAMPLE_VERSION, Sample};
use super::settings::{ExportSettings, SampleContext};
use super::view::{View, views};
use crate::guide::error::StoreError;
use crate::guide::store::list_conversations;
use crate::guide::transcript::{Transcript, TranscriptError};
use crate::guide::turn::End;
use crate::guide::verdicts::{Funnel, JudgedError, Trained, VerdictRecord, Verdicts, read_judged};
use crate::trajectory::EpisodeEnding;
use camino::Utf8Path;
use rand::RngExt as _;
use sandbox::env::EpisodeFault;
use serde::Serialize;
use std::collections::BTreeMap;
use std::io;
use tasks::files;
use tasks::stream::Stream;

/// The file of samples in an export.
pub(super) const SAMPLES: &str = "samples.jsonl";

/// Why nothing was exported.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The store cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A conversation cannot be read.
    #[error(transparent)]
    Transcript(#[from] TranscriptError),
    /// What a judge said cannot be read.
    #[error(transparent)]
    Judged(#[from] JudgedError),
    /// A file could not be written.
    #[error("failed to write an export")]
    Io(#[from] io::Error),
    /// The sandbox or a grader failed.
    #[error("what is left of a run could not be played again")]
    Fault(#[source] EpisodeFault),
    /// A setting is out of range.
    #[error("`guidance_dropout` is {0}; it is a share from 0 to 1")]
    Dropout(f64),
    /// There is nothing to prove with that a run could have gone without some turns.
    #[error("`excise` plays turns again, and there are no runs to play")]
    NoReplay,
}

/// What an export made.
#[derive(Debug, Clone, PartialEq)]
pub struct Exported {
    /// The samples, by name of their conversations.
    pub samples: Vec<Sample>,
    /// All verdicts on their runs.
    pub verdicts: Vec<VerdictRecord>,
    /// What they are.
    pub manifest: Manifest,
}

/// Makes samples of the conversations of a store, which another process may be serving. `again` plays
/// turns again, for `excise`.
///
/// # Errors
/// [`ExportError`].
pub fn export(
    store: &Utf8Path,
    settings: &ExportSettings,
    again: Option<&dyn PlaysAgain>,
) -> Result<Exported, ExportError> {
    if !(0.0..=1.0).contains(&settings.guidance_dropout) {
        return Err(ExportError::Dropout(settings.guidance_dropout));
    }
    if settings.context == SampleContext::Excise && again.is_none() {
        return Err(ExportError::NoReplay);
    }
    let mut making = Making {
        settings,
        again,
        contexts: ContextCounts::default(),
        turns: TurnCounts::default(),
    };
    let (mut samples, mut verdicts) = (Vec::new(), Vec::new());
    let (mut left_out, mut conversations) = (BTreeMap::new(), 0);
    let (mut funnel, mut guidance) = (Funnel::default(), GuidanceCost::default());
    for id in list_conversations(store)? {
        conversations += 1;
        let transcript = Transcript::read(store, &id)?;
        let of_run = Verdicts::of(&transcript, read_judged(store, &id)?);
        match making.samples(&transcript, &of_run)? {
            Ok(of_run_made) => {
                samples.extend(of_run_made);
                funnel.add(&transcript.id, &of_run, transcript.count());
                guidance.add(&transcript);
                verdicts.extend_from_slice(of_run.records());
            }
            Err(why) => *left_out.entry(why.to_owned()).or_insert(0) += 1,
        }
    }
    let Making { contexts, turns, .. } = making;
    let manifest = Manifest {
        version: MANIFEST_VERSION,
        settings: settings.clone(),
        samples_hash: blake3::hash(&lines(&samples)?).to_hex().to_string(),
        conversations,
        left_out,
        samples: samples.len() as u64,
        summaries: samples.iter().filter(|sample| sample.is_summary).count() as u64,
        contexts,
        turns,
        kappa: funnel.agreement.kappa(),
        verdicts: funnel,
        guidance,
    };
    Ok(Exported { samples, verdicts, manifest })
}

impl Exported {
    /// Writes `samples.jsonl`, `verdicts.jsonl` and, last, `manifest.json` into a folder, which is made
    /// if there is none.
    ///
    /// # Errors
    /// [`ExportError::Io`].
    pub fn write(&self, folder: &Utf8Path) -> Result<(), ExportError> {
        fs_err::create_dir_all(folder)?;
        files::write_atomic(&folder.join(SAMPLES), &lines(&self.samples)?)?;
        files::write_atomic(&folder.join("verdicts.jsonl"), &lines(&self.verdicts)?)?;
        Ok(files::write_json(&folder.join("manifest.json"), &self.manifest)?)
    }
}

/// JSON, one a line.
fn lines(values: &[impl Serialize]) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    for value in values {
        serde_json::to_writer(&mut text, value)?;
        text.push(b'\n');
    }
    Ok(text)
}

/// Samples in the making.
pub(super) struct Making<'a> {
    pub(super) settings: &'a ExportSettings,
    pub(super) again: Option<&'a dyn PlaysAgain>,
    pub(super) contexts: ContextCounts,
    pub(super) turns: TurnCounts,
}

/// What is over, and how.
type Ended<'a> = (&'a End, EpisodeEnding);

impl Making<'_> {
    /// The samples of a run, one for each of its views of which something is trained on, or why there is
    /// none.
    pub(super) fn samples(
        &mut self,
        transcript: &Transcript,
        verdicts: &Verdicts,
    ) -> Result<Result<Vec<Sample>, &'static str>, ExportError> {
        if transcript.end.is_none() {
            return Ok(Err("not_over"));
        }
        let Some(ended) = ending_of(transcript).filter(|_| !transcript.turns.is_empty()) else {
            return Ok(Err("no_example"));
        };
        let tier = ended.0.grade.as_ref().and_then(|grade| grade.tier);
        if self.settings.tier.is_some_and(|least| tier < Some(least)) {
            return Ok(Err("below_tier"));
        }
        let all: Vec<u32> = (0..transcript.count()).collect();
        let trained: Vec<Trained> =
            all.iter().map(|turn| self.trained(transcript, verdicts, *turn)).collect();
        if trained.iter().all(|of| *of == Trained::Nothing) {
            return Ok(Err("nothing_trained"));
        }
        if self.settings.context == SampleContext::Excise
            && let Some(sample) = self.excised(transcript, ended, &trained)?
        {
            return Ok(Ok(vec![sample]));
        }
        let advice = match self.settings.context {
            SampleContext::Keep => true,
            SampleContext::Quiet | SampleContext::Excise => !self.drops_advice(transcript),
        };
        let mut samples = Vec::new();
        for view in views(transcript) {
            let trained = self.trained_in(&view, &trained);
            if trained.iter().any(|of| *of != Trained::Nothing) {
                let context = self.quiet_or_kept(advice);
                let layout = Layout { view: &view, advice, thoughts: self.settings.thoughts };
                samples.push(self.sample(transcript, ended, context, layout, trained));
            }
        }
        Ok(Ok(samples))
    }

    /// Counts a sample that is not excised.
    fn quiet_or_kept(&mut self, advice: bool) -> SampleContext {
        let (context, count) = match (self.settings.context, advice) {
            (SampleContext::Keep, _) => (SampleContext::Keep, &mut self.contexts.keep),
            (_, true) => (SampleContext::Quiet, &mut self.contexts.quiet_with_advice),
            (_, false) => (SampleContext::Quiet, &mut self.contexts.quiet_without_advice),
        };
        *count += 1;
        context
    }

    /// What of a view is trained on, where `trained` is that of the whole run.
    fn trained_in(&self, view: &View<'_>, trained: &[Trained]) -> Vec<Trained> {
        let is_context =
            |turn: u32| view.summary.is_some() || (self.settings.once && turn < view.new_from);
        let turns = view
            .turns
            .iter()
            .map(|turn| if is_context(*turn) { Trained::Nothing } else { trained[*turn as usize] });
        turns.chain(view.summary.map(|_| Trained::Whole)).collect()
    }

    /// What of a turn is trained on in this export.
    fn trained(&self, transcript: &Transcript, verdicts: &Verdicts, turn: u32) -> Trained {
        let of = if self.settings.masked { verdicts.trained(turn) } else { Trained::Whole };
        if self.settings.thoughts {
            // Of a turn without a thought there is no part but the action.
            let has_thought = !transcript.turns[turn as usize].report.thought.is_empty();
            return match of {
                Trained::Thought if !has_thought => Trained::Nothing,
                Trained::Action if !has_thought => Trained::Whole,
                of => of,
            };
        }
        // The action is all that is left of it.
        if of.action() { Trained::Whole } else { Trained::Nothing }
    }

    /// Whether the advice of a run is left out of its sample: by a draw that depends on the run alone.
    fn drops_advice(&self, transcript: &Transcript) -> bool {
        let stream = Stream::root(self.settings.seed).child("guidance_dropout");
        let mut draws = stream.child(transcript.id.as_str()).rng();
        draws.random_bool(self.settings.guidance_dropout)
    }

    /// The sample without dropped turns and without advice, if what is left could have happened; else
    /// notes why not.
    fn excised(
        &mut self,
        transcript: &Transcript,
        ended: Ended<'_>,
        trained: &[Trained],
    ) -> Result<Option<Sample>, ExportError> {
        let kept: Vec<(u32, Trained)> = (0..)
            .zip(trained.iter().copied())
            .filter(|(_, trained)| *trained != Trained::Nothing)
            .collect();
        let (turns, trained): (Vec<u32>, Vec<Trained>) = kept.into_iter().unzip();
        let is_whole = turns.len() == transcript.turns.len();
        if !is_whole && let Some(why) = self.refuted(transcript, ended, &turns)? {
            *self.contexts.excise_fell_back.entry(why.to_owned()).or_insert(0) += 1;
            return Ok(None);
        }
        if is_whole {
            self.contexts.excise_as_recorded += 1;
        } else {
            self.contexts.excise_confirmed += 1;
            self.turns.cut += (transcript.turns.len() - turns.len()) as u64;
        }
        let end = transcript.count();
        let view = View { opens_with: None, turns, new_from: 0, end, summary: None };
        let layout = Layout { view: &view, advice: false, thoughts: self.settings.thoughts };
        Ok(Some(self.sample(transcript, ended, SampleContext::Excise, layout, trained)))
    }

    /// Why a run could not have gone with these turns alone; `None` if it could.
    fn refuted(
        &self,
        transcript: &Transcript,
        (end, _): Ended<'_>,
        turns: &[u32],
    ) -> Result<Option<&'static str>, ExportError> {
        // What was shown when would be another thing without the cut turns.
        if transcript.turns.iter().any(|turn| !turn.report.left_out.is_empty()) {
            return Ok(Some("left_out"));
        }
        let again = self.again.ok_or(ExportError::NoReplay)?;
        match again.play_again(transcript, turns) {
            Ok(again) => {
                Ok(difference(transcript, turns, end, &again).map(super::excise::Different::name))
            }
            Err(ReplayFailure::Unable(why)) => Ok(Some(why)),
            Err(ReplayFailure::Fault(fault)) => Err(ExportError::Fault(fault)),
        }
    }

    fn sample(
        &mut self,
        transcript: &Transcript,
        (end, mut ending): Ended<'_>,
        context: SampleContext,
        layout: Layout<'_>,
        trained: Vec<Trained>,
    ) -> Sample {
        let is_summary = layout.view.summary.is_some();
        // What lacks the last turn did not end by itself.
        let last = transcript.count().checked_sub(1);
        if is_summary || layout.view.turns.last() != last.as_ref() {
            ending = EpisodeEnding::Budget;
        }
        let trajectory = trajectory(transcript, (end, ending), layout);
        for of in &trained {
            match of {
                Trained::Whole => self.turns.whole += 1,
                Trained::Thought | Trained::Action => self.turns.in_part += 1,
                Trained::Nothing => self.turns.nothing += 1,
            }
        }
        let (version, conversation) = (SAMPLE_VERSION, transcript.id.clone());
        Sample { version, conversation, context, trained, is_summary, trajectory }
    }
}
