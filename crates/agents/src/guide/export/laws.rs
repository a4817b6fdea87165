//! Laws of samples over runs of any turns and verdicts, with a double in place of the sandbox.

use super::excise::{PlayedAgain, PlaysAgain, ReplayFailure};
use super::manifest::{ContextCounts, TurnCounts};
use super::sample::Sample;
use super::settings::{ExportSettings, SampleContext};
use super::write::Making;
use crate::guide::event::{TurnPart, Verdict};
use crate::guide::guidance::DeliveredGuidance;
use crate::guide::transcript::Transcript;
use crate::guide::verdicts::fixture::{answer, ends, malformed, python, raises, score, transcript};
use crate::guide::verdicts::{
    Trained, TrajectoryKey, VERDICTS_VERSION, VerdictRecord, VerdictSource, Verdicts,
};
use crate::trajectory::Source;
use proptest::prelude::*;
use sandbox::env::EpisodeResult;

/// Plays what was recorded, but for an observation that it makes up.
#[derive(Debug)]
struct Double {
    lies_at: Option<u32>,
}

impl PlaysAgain for Double {
    fn play_again(
        &self,
        transcript: &Transcript,
        turns: &[u32],
    ) -> Result<PlayedAgain, ReplayFailure> {
        let end = transcript.end.as_ref().expect("runs of tests are over");
        let observations = turns.iter().map(|turn| {
            let recorded = transcript.turns[*turn as usize].report.observation.clone();
            if self.lies_at == Some(*turn) { Some("something else".to_owned()) } else { recorded }
        });
        let result = EpisodeResult { grade: end.grade, refusal: end.refusal.clone() };
        Ok(PlayedAgain { observations: observations.collect(), result })
    }
}

fn run(kinds: &[u8], advised: &[bool]) -> Transcript {
    let turns = kinds.iter().enumerate().map(|(number, kind)| match kind {
        0 => raises(&format!("x{number}"), "NameError"),
        1 => score("valid submission"),
        2 => malformed("what?"),
        _ => python(&format!("print({number})"), &format!("finished; {number}")),
    });
    let mut turns: Vec<_> = turns.collect();
    for (number, turn) in turns.iter_mut().enumerate() {
        if advised.get(number).copied().unwrap_or(false) {
            turn.heard.push(DeliveredGuidance {
                id: format!("g{number}").parse().unwrap(),
                seq: number as u64 + 1,
                by: "ann".to_owned(),
                about: None,
                text: "Look.".to_owned(),
                waited_seconds: 0.0,
            });
        }
    }
    turns.push(answer());
    ends(transcript(turns), true)
}

/// All verdicts on a run: rules, and what a person says of single turns.
fn verdicts(run: &Transcript, said: &[Option<bool>]) -> Verdicts {
    let said = (0..).zip(said).filter_map(|(turn, keep)| Some((turn, (*keep)?)));
    let people = said.map(|(turn, keep)| VerdictRecord {
        version: VERDICTS_VERSION,
        trajectory: TrajectoryKey::of(run),
        turn,
        part: TurnPart::Turn,
        verdict: if keep { Verdict::Keep } else { Verdict::Drop },
        by: VerdictSource::Person("ann".to_owned()),
        reason: String::new(),
        seq: 1,
    });
    Verdicts::of(run, people.collect())
}

fn made(
    run: &Transcript,
    verdicts: &Verdicts,
    settings: &ExportSettings,
    again: &Double,
) -> (Option<Sample>, ContextCounts, TurnCounts) {
    let again: Option<&dyn PlaysAgain> = Some(again);
    let (contexts, turns) = (ContextCounts::default(), TurnCounts::default());
    let mut making = Making { settings, again, contexts, turns };
    let samples = making.samples(run, verdicts).unwrap().ok();
    let sample = samples.map(|samples| {
        let [sample] = <[Sample; 1]>::try_from(samples).expect("nothing was summarised");
        sample
    });
    (sample, making.contexts, making.turns)
}

fn context(context: SampleContext) -> ExportSettings {
    ExportSettings { context, guidance_dropout: 1.0, ..ExportSettings::default() }
}

proptest! {
    #[test]
    fn excised_sample_is_the_kept_turns_in_order_and_nothing_of_people(
        kinds in prop::collection::vec(0_u8..6, 1..8),
        advised in prop::collection::vec(any::<bool>(), 8),
        said in prop::collection::vec(prop::option::of(any::<bool>()), 8),
    ) {
        let run = run(&kinds, &advised);
        let said = &said[..run.turns.len().min(said.len())];
        let verdicts = verdicts(&run, said);
        let honest = Double { lies_at: None };
        let excise = context(SampleContext::Excise);
        let (sample, contexts, turns) = made(&run, &verdicts, &excise, &honest);
        let kept: Vec<u32> =
            (0..run.count()).filter(|turn| verdicts.trained(*turn) != Trained::Nothing).collect();
        let Some(sample) = sample else {
            prop_assert!(kept.is_empty(), "all that is left out has nothing to train on");
            return Ok(());
        };
        prop_assert!(sample.check().is_ok());
        prop_assert_eq!(sample.context, SampleContext::Excise);
        prop_assert!(sample.trained.iter().all(|of| *of != Trained::Nothing));
        prop_assert_eq!(turns.cut + kept.len() as u64, u64::from(run.count()));
        prop_assert_eq!(contexts.excise_confirmed + contexts.excise_as_recorded, 1);
        let segments = &sample.trajectory.segments;
        prop_assert!(segments.iter().all(|segment| segment.source != Source::Guide));
        let written: Vec<&str> = segments
            .iter()
            .filter(|segment| segment.source == Source::Model)
            .map(|segment| segment.text.as_str())
            .collect();
        let expected: Vec<String> =
            kept.iter().map(|turn| run.turns[*turn as usize].report.text()).collect();
        prop_assert_eq!(written, expected);
        // Of a run of which nothing is dropped, nothing but advice is cut.
        if kept.len() == run.turns.len() {
            let quiet = made(&run, &verdicts, &context(SampleContext::Quiet), &honest).0;
            let quiet = quiet.expect("it has turns to train on");
            prop_assert_eq!(&quiet.trajectory, &sample.trajectory);
            prop_assert_eq!(&quiet.trained, &sample.trained);
        }
        // A replay that says something else leaves the run whole.
        let lies = kept.iter().copied().find(|turn| *turn + 1 < run.count());
        if let (Some(lies_at), true) = (lies, kept.len() < run.turns.len()) {
            let liar = Double { lies_at: Some(lies_at) };
            let (whole, contexts, _) = made(&run, &verdicts, &excise, &liar);
            let whole = whole.expect("it has turns to train on");
            prop_assert_eq!(whole.context, SampleContext::Quiet);
            prop_assert_eq!(whole.trained.len(), run.turns.len());
            prop_assert_eq!(contexts.excise_fell_back.get("other_observation"), Some(&1));
        }
    }

    #[test]
    fn kept_sample_has_every_turn_and_all_advice_and_masks_what_is_dropped(
        kinds in prop::collection::vec(0_u8..6, 1..8),
        advised in prop::collection::vec(any::<bool>(), 8),
        said in prop::collection::vec(prop::option::of(any::<bool>()), 8),
    ) {
        let run = run(&kinds, &advised);
        let said = &said[..run.turns.len().min(said.len())];
        let verdicts = verdicts(&run, said);
        let keep = context(SampleContext::Keep);
        let (sample, _, turns) = made(&run, &verdicts, &keep, &Double { lies_at: None });
        let Some(sample) = sample else { return Ok(()) };
        prop_assert!(sample.check().is_ok());
        prop_assert_eq!(sample.trained.len(), run.turns.len());
        for (turn, of) in (0..).zip(&sample.trained) {
            // Turns without a thought are their action.
            let is_kept = verdicts.trained(turn).action();
            prop_assert_eq!(of.action(), is_kept, "turn {}", turn);
        }
        let heard: usize = run.turns.iter().map(|turn| turn.heard.len()).sum();
        prop_assert_eq!(sample.trajectory.guidance.len(), heard);
        for piece in &sample.trajectory.guidance {
            prop_assert_eq!(sample.trajectory.segments[piece.segment].source, Source::Guide);
        }
        prop_assert_eq!(turns.whole + turns.in_part + turns.nothing, u64::from(run.count()));
        let trained: usize = sample
            .pieces()
            .iter()
            .flatten()
            .filter(|(_, is_trained)| *is_trained)
            .count();
        let of = |of: &&Trained| **of != Trained::Nothing;
        prop_assert_eq!(trained, sample.trained.iter().filter(of).count());
    }
}
