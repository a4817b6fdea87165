//! Asks a model about a run, window by window.

use super::answer::{Opinion, read};
use super::question::messages;
use super::window::{Window, WindowLimits, windows};
use crate::guide::event::{TurnPart, Verdict};
use crate::guide::transcript::Transcript;
use crate::guide::verdicts::{
    JudgedError, TrajectoryKey, VERDICTS_VERSION, VerdictRecord, VerdictSource, Verdicts,
};
use llm::{ChatError, ChatModel, Completion, Finish, Message, Purpose, Request, Role};
use std::collections::BTreeMap;
use std::fmt;

/// Answers that are asked for after one that cannot be read.
const REPAIRS: u32 = 2;
/// Most tokens of an answer.
const MAX_TOKENS: u32 = 8192;

/// Why a judge could not go on. What it said before is kept.
#[derive(Debug, thiserror::Error)]
pub enum JudgeError {
    /// The model does not answer.
    #[error("the judge does not answer")]
    Model(#[from] ChatError),
    /// What it said cannot be written down.
    #[error(transparent)]
    Judged(#[from] JudgedError),
}

/// What a judge did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct JudgeReport {
    /// Turns that it keeps.
    pub kept: u64,
    /// Turns that it does not.
    pub dropped: u64,
    /// Turns that it could not decide on.
    pub undecided: u64,
    /// Questions that were asked, repairs included.
    pub questions: u64,
}

impl std::ops::AddAssign for JudgeReport {
    fn add_assign(&mut self, other: Self) {
        self.kept += other.kept;
        self.dropped += other.dropped;
        self.undecided += other.undecided;
        self.questions += other.questions;
    }
}

/// A model as a judge.
pub struct Judge<'a> {
    /// The model.
    pub model: &'a dyn ChatModel,
    /// Its name, at the provider and in files.
    pub name: &'a str,
    /// What it reads at a time.
    pub limits: WindowLimits,
}

impl fmt::Debug for Judge<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Judge").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Judge<'_> {
    /// Judges the turns of a run that no rule finds and that this judge has not decided on. `known` is
    /// what judges said before; `write_down` gets the verdicts of each window, in order.
    ///
    /// # Errors
    /// [`JudgeError`]. A model that declines, or whose answers cannot be read, leaves turns undecided.
    pub fn judge(
        &self,
        transcript: &Transcript,
        known: &[VerdictRecord],
        write_down: &mut dyn FnMut(Vec<VerdictRecord>) -> Result<(), JudgedError>,
    ) -> Result<JudgeReport, JudgeError> {
        let verdicts = Verdicts::of(transcript, known.to_vec());
        let mine = VerdictSource::Judge(self.name.to_owned());
        let is_open = |turn: &u32| {
            let is_mine = |record: &&VerdictRecord| record.turn == *turn && record.by == mine;
            let last = known.iter().filter(is_mine).max_by_key(|record| record.seq);
            let is_decided = last.is_some_and(|record| record.verdict != Verdict::Undecided);
            !is_decided && verdicts.rules(*turn).next().is_none()
        };
        let mut report = JudgeReport::default();
        for window in windows(transcript, self.limits) {
            let asked: Vec<u32> = (window.asked..window.to).filter(is_open).collect();
            if asked.is_empty() {
                continue;
            }
            // Another answer than the one that could not be read in an earlier start.
            let tries = known.iter().filter(|record| record.turn == asked[0] && record.by == mine);
            let sample = tries.count() as u64;
            let opinions = self.ask(transcript, window, &asked, sample, &mut report)?;
            let records: Vec<VerdictRecord> =
                asked.iter().map(|turn| self.record(transcript, *turn, &opinions)).collect();
            for record in &records {
                match record.verdict {
                    Verdict::Keep => report.kept += 1,
                    Verdict::Drop => report.dropped += 1,
                    Verdict::Undecided => report.undecided += 1,
                }
            }
            write_down(records)?;
        }
        Ok(report)
    }

    /// What the judge says of some turns of a window, or why it says nothing.
    fn ask(
        &self,
        transcript: &Transcript,
        window: Window,
        asked: &[u32],
        sample: u64,
        report: &mut JudgeReport,
    ) -> Result<Result<BTreeMap<u32, Opinion>, String>, JudgeError> {
        let mut messages = messages(transcript, window, asked);
        let mut problem = String::new();
        for repair in 0..=REPAIRS {
            let mut request = Request::new(self.name, messages.clone(), MAX_TOKENS);
            (request.temperature, request.sample) = (Some(0.0), sample);
            let purpose = Purpose { slot: 0, role: "guide_judge".to_owned(), attempt: 0, repair };
            report.questions += 1;
            let completion = match self.model.complete(&request, &purpose) {
                Ok(completion) => completion,
                Err(error @ (ChatError::Refused { .. } | ChatError::ContextTooLong { .. })) => {
                    return Ok(Err(error.to_string()));
                }
                Err(error) => return Err(error.into()),
            };
            let Completion { text, finish, refusal, .. } = completion;
            problem = match finish {
                Finish::Refusal | Finish::Filter => {
                    let why = refusal.unwrap_or_else(|| "it declined".to_owned());
                    return Ok(Err(why));
                }
                Finish::Length => "The answer was cut because it is too long.".to_owned(),
                Finish::Stop => match read(&text, asked) {
                    Ok(opinions) => return Ok(Ok(opinions)),
                    Err(problem) => problem,
                },
            };
            let said = if text.trim().is_empty() { "(nothing)".to_owned() } else { text };
            messages.push(Message::new(Role::Assistant, said));
            messages.push(Message::new(Role::User, problem.clone()));
        }
        Ok(Err(problem))
    }

    fn record(
        &self,
        transcript: &Transcript,
        turn: u32,
        opinions: &Result<BTreeMap<u32, Opinion>, String>,
    ) -> VerdictRecord {
        let opinion = opinions.as_ref().map(|opinions| &opinions[&turn]);
        let (verdict, reason) = match opinion {
            Ok(opinion) if opinion.keep => (Verdict::Keep, opinion.why.clone()),
            Ok(opinion) => (Verdict::Drop, opinion.why.clone()),
            Err(why) => (Verdict::Undecided, why.clone()),
        };
        VerdictRecord {
            version: VERDICTS_VERSION,
            trajectory: TrajectoryKey::of(transcript),
            turn,
            part: TurnPart::Turn,
            verdict,
            by: VerdictSource::Judge(self.name.to_owned()),
            reason,
            seq: 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::answer::BROKEN;
    use super::*;
    use crate::guide::verdicts::fixture::{python, raises, transcript};
    use llm::Usage;
    use std::collections::VecDeque;
    use std::sync::Mutex;

    /// Gives prepared answers, and keeps what it was asked.
    #[derive(Default)]
    struct Double {
        answers: Mutex<VecDeque<Result<Completion, ChatError>>>,
        asked: Mutex<Vec<Request>>,
    }

    impl Double {
        fn new(answers: &[&str]) -> Self {
            let answers = answers.iter().map(|text| Ok(completion(text, Finish::Stop))).collect();
            Self { answers: Mutex::new(answers), asked: Mutex::default() }
        }
    }

    fn completion(text: &str, finish: Finish) -> Completion {
        Completion {
            text: text.to_owned(),
            thoughts: None,
            finish,
            refusal: None,
            usage: Usage::default(),
            model: "double".to_owned(),
            id: String::new(),
        }
    }

    impl ChatModel for Double {
        fn complete(&self, request: &Request, _: &Purpose) -> Result<Completion, ChatError> {
            self.asked.lock().unwrap().push(request.clone());
            self.answers.lock().unwrap().pop_front().expect("no more questions are asked")
        }
    }

    /// Five turns, the third of which a rule drops.
    fn run() -> Transcript {
        let mut turns: Vec<_> = (0..5).map(|n| python(&format!("print({n})"), "o")).collect();
        turns[2] = raises("x", "NameError");
        transcript(turns)
    }

    fn judged(
        double: &Double,
        run: &Transcript,
        limits: WindowLimits,
        known: &[VerdictRecord],
    ) -> (Vec<VerdictRecord>, Result<JudgeReport, JudgeError>) {
        let judge = Judge { model: double, name: "double", limits };
        let mut all = Vec::new();
        let report = judge.judge(run, known, &mut |records| {
            all.extend(records);
            Ok(())
        });
        (all, report)
    }

    fn says(turns: &[(u32, bool)]) -> String {
        let turns: serde_json::Map<String, serde_json::Value> = turns
            .iter()
            .map(|(turn, keep)| (turn.to_string(), serde_json::json!({"keep": keep, "why": "So."})))
            .collect();
        serde_json::json!({ "turns": turns }).to_string()
    }

    #[test]
    fn judge_is_asked_about_each_turn_that_no_rule_drops_once() {
        let limits = WindowLimits { turns: 3, tokens: 10_000, overlap: 1 };
        let double =
            Double::new(&[&says(&[(0, true), (1, false)]), &says(&[(3, true), (4, true)])]);
        let (records, report) = judged(&double, &run(), limits, &[]);
        let found: Vec<(u32, Verdict)> =
            records.iter().map(|record| (record.turn, record.verdict)).collect();
        let expected =
            [(0, Verdict::Keep), (1, Verdict::Drop), (3, Verdict::Keep), (4, Verdict::Keep)];
        assert_eq!(found, expected);
        let expected = JudgeReport { kept: 3, dropped: 1, undecided: 0, questions: 2 };
        assert_eq!(report.unwrap(), expected);
        let asked = double.asked.lock().unwrap();
        assert!(asked[1].messages[1].content.contains("# Turns 2 to 4"), "one is shown again");
        assert_eq!(asked[0].temperature, Some(0.0));
        drop(asked);
        // Nothing is asked twice.
        let known: Vec<VerdictRecord> =
            (1..).zip(records).map(|(seq, record)| VerdictRecord { seq, ..record }).collect();
        let (more, report) = judged(&Double::new(&[]), &run(), limits, &known);
        assert!(more.is_empty() && report.unwrap() == JudgeReport::default());
        assert_eq!(
            Verdicts::of(&run(), known).trained(1),
            crate::guide::verdicts::Trained::Nothing
        );
    }

    #[test]
    fn answer_that_cannot_be_read_is_repaired_twice_and_then_undecided() {
        let run = transcript((0..5).map(|n| python(&format!("print({n})"), "o")).collect());
        let limits = WindowLimits::default();
        let whole = says(&[(0, true), (1, true), (2, true), (3, true), (4, false)]);
        // Whatever turns it speaks of, it is no answer to a question about five others.
        for (broken, _) in BROKEN {
            let double = Double::new(&[broken, broken, &whole]);
            let (records, report) = judged(&double, &run, limits, &[]);
            assert_eq!(report.unwrap().questions, 3, "{broken}");
            assert_eq!(records[4].verdict, Verdict::Drop);
            let asked = double.asked.lock().unwrap();
            assert_eq!(asked[2].messages.len(), 6, "the answers and what is wrong with them");
            drop(asked);
            let double = Double::new(&[broken; 3]);
            let (records, report) = judged(&double, &run, limits, &[]);
            let report = report.unwrap();
            assert_eq!((report.undecided, report.questions), (5, 3), "{broken}");
            assert!(records.iter().all(|record| record.verdict == Verdict::Undecided));
            assert!(!records[0].reason.is_empty());
        }
    }

    #[test]
    fn undecided_turns_are_asked_about_again_and_kept_until_then() {
        let run = run();
        let (records, _) = judged(&Double::new(&["no"; 3]), &run, WindowLimits::default(), &[]);
        let known: Vec<VerdictRecord> =
            (1..).zip(records).map(|(seq, record)| VerdictRecord { seq, ..record }).collect();
        let kept = Verdicts::of(&run, known.clone()).trained(0);
        assert_eq!(kept, crate::guide::verdicts::Trained::Whole);
        let whole = says(&[(0, true), (1, true), (3, true), (4, true)]);
        let double = Double::new(&[&whole]);
        let (again, _) = judged(&double, &run, WindowLimits::default(), &known);
        assert_eq!(again.len(), 4);
        assert_eq!(double.asked.lock().unwrap()[0].sample, 1, "a kept answer is not given again");
    }

    #[test]
    fn judge_that_declines_decides_nothing_and_one_that_is_away_ends_it() {
        let run = run();
        let limits = WindowLimits { turns: 2, tokens: 10_000, overlap: 0 };
        let away = || ChatError::Unavailable { tries: 3, last: "it is away".to_owned() };
        let double = Double::default();
        double.answers.lock().unwrap().extend([
            Ok(completion("", Finish::Refusal)),
            Err(ChatError::Refused { category: None }),
            Err(away()),
        ]);
        let (records, report) = judged(&double, &run, limits, &[]);
        let undecided = records.iter().filter(|record| record.verdict == Verdict::Undecided);
        assert_eq!(undecided.count(), 3, "what was said before is written down");
        assert!(matches!(report, Err(JudgeError::Model(ChatError::Unavailable { .. }))));
        // An answer that is too long is asked for again.
        let double = Double::default();
        double.answers.lock().unwrap().extend([
            Ok(completion(&says(&[(0, true)]), Finish::Length)),
            Ok(completion(&says(&[(0, true)]), Finish::Stop)),
        ]);
        let one = transcript(vec![python("print(0)", "o")]);
        let (records, _) = judged(&double, &one, limits, &[]);
        assert_eq!(records[0].verdict, Verdict::Keep);
    }
}
