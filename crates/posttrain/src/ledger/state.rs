//! The state of a run, folded from its ledger.

use super::entry::Entry;
use super::event::{
    EndReason, Event, Protocol, RequestFacts, RunFacts, Scored, SubmittedModel, Which,
};
use super::submission::{FinalScore, Outcome, Submission};
use crate::clock::{BudgetChange, BudgetError, Origin, Spending};
use crate::digest::Digest;
use crate::refusal::Refusal;
use std::collections::BTreeMap;
use worlds::Direction;

/// A run, as far as its ledger says.
#[derive(Debug, Clone, PartialEq)]
pub struct State {
    facts: RunFacts,
    origin: (Origin, u64),
    elapsed_ms: u64,
    spending: Spending,
    baseline: Option<Scored>,
    submissions: BTreeMap<u64, Submission>,
    /// Why the run ended, and what of the budget was used then.
    ended: Option<(EndReason, u64)>,
    finals: BTreeMap<Which, FinalScore>,
    /// Where the score of a content is from.
    known: BTreeMap<Digest, Option<u64>>,
}

/// An entry that cannot follow what stands before it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StateError {
    /// The first line does not open a run, or a later one does.
    #[error("a run is opened by its first line and by no other")]
    Opening,
    /// Its time is before that of the line before.
    #[error("time goes back")]
    Time,
    /// The budget says no.
    #[error(transparent)]
    Budget(#[from] BudgetError),
    /// Something is said for the second time, or too early or too late.
    #[error("{0}")]
    Order(&'static str),
    /// A number of a submission is wrong.
    #[error("submission {0} is not one that this can be said of")]
    Submission(u64),
    /// A score is no number, or not the one that it must be.
    #[error("the score is not the one that follows from the lines before")]
    Score,
}

impl State {
    /// The state after the first line.
    ///
    /// # Errors
    /// [`StateError::Opening`] if that does not open a run.
    pub fn open(entry: &Entry) -> Result<Self, StateError> {
        let Event::Opened(facts) = &entry.event else { return Err(StateError::Opening) };
        Ok(Self {
            origin: (facts.origin.clone(), entry.elapsed_ms),
            facts: (**facts).clone(),
            elapsed_ms: entry.elapsed_ms,
            spending: Spending::default(),
            baseline: None,
            submissions: BTreeMap::new(),
            ended: None,
            finals: BTreeMap::new(),
            known: BTreeMap::new(),
        })
    }

    /// Takes in the next line.
    ///
    /// # Errors
    /// [`StateError`] if it cannot follow; nothing has changed then.
    pub fn apply(&mut self, entry: &Entry) -> Result<(), StateError> {
        if entry.elapsed_ms < self.elapsed_ms {
            return Err(StateError::Time);
        }
        match &entry.event {
            Event::Opened(_) => return Err(StateError::Opening),
            Event::Baseline(scored) => self.take_baseline(scored)?,
            Event::Budget(change) => self.take_change(change, entry.elapsed_ms)?,
            Event::Submitted(submitted) => self.take_submission(submitted, &entry.time)?,
            Event::Graded { id, scored } => self.take_grade(*id, scored)?,
            Event::Cached { id, of, score } => self.take_cached(*id, *of, *score)?,
            Event::Refused { id, request, refusal } => {
                self.take_refusal(*id, request.as_ref(), refusal, &entry.time)?;
            }
            Event::Failed { id, fault, busy } => {
                self.waiting(*id)?.outcome = Outcome::Failed { fault: fault.clone(), busy: *busy };
            }
            Event::Ended { why } => {
                if self.ended.is_some() || self.first_waiting().is_some() || !self.is_started() {
                    return Err(StateError::Order("the run cannot end here"));
                }
                self.ended = Some((*why, self.spending.used_ms(entry.elapsed_ms)));
            }
            Event::Final { which, id, scored } => self.take_final(*which, *id, scored.as_ref())?,
        }
        self.elapsed_ms = entry.elapsed_ms;
        Ok(())
    }

    fn take_baseline(&mut self, scored: &Scored) -> Result<(), StateError> {
        if self.baseline.is_some() || self.is_started() {
            return Err(StateError::Order("the base is scored once, before the clock starts"));
        }
        finite(scored)?;
        self.known.insert(self.facts.base, None);
        self.baseline = Some(scored.clone());
        Ok(())
    }

    fn take_change(&mut self, change: &BudgetChange, elapsed_ms: u64) -> Result<(), StateError> {
        if *change == BudgetChange::Started && self.baseline.is_none() {
            return Err(StateError::Order("the clock starts after the base was scored"));
        }
        self.spending.apply(change, elapsed_ms)?;
        if let BudgetChange::Restarted { origin } = change {
            self.origin = (origin.clone(), elapsed_ms);
        }
        Ok(())
    }

    /// Submissions are numbered from 1, in the order of their lines.
    fn check_new(&self, id: u64) -> Result<(), StateError> {
        if !self.is_started() || self.ended.is_some() {
            return Err(StateError::Order("submissions lie between the start and the end"));
        }
        if id == self.next_id() { Ok(()) } else { Err(StateError::Submission(id)) }
    }

    fn take_submission(&mut self, new: &SubmittedModel, time: &str) -> Result<(), StateError> {
        self.check_new(new.id)?;
        let submission = Submission {
            request: new.request.clone(),
            time: time.to_owned(),
            model: Some((new.model, new.bytes, new.facts.clone())),
            outcome: Outcome::Waiting,
        };
        self.submissions.insert(new.id, submission);
        Ok(())
    }

    fn take_grade(&mut self, id: u64, scored: &Scored) -> Result<(), StateError> {
        finite(scored)?;
        let submission = self.waiting(id)?;
        let digest = submission.digest().ok_or(StateError::Submission(id))?;
        if self.known.contains_key(&digest) {
            return Err(StateError::Order("this content was scored before"));
        }
        self.waiting(id)?.outcome = Outcome::Graded(scored.clone());
        self.known.insert(digest, Some(id));
        Ok(())
    }

    fn take_cached(&mut self, id: u64, of: Option<u64>, score: f64) -> Result<(), StateError> {
        let submission = self.waiting(id)?;
        let (digest, copy) = match &submission.model {
            Some((digest, _, facts)) => (*digest, facts.copy),
            None => return Err(StateError::Submission(id)),
        };
        // A copy of the base in another form has another hash, and the base's score all the same.
        let source = self.known.get(&digest).copied().or(copy.then_some(None));
        if source != Some(of) {
            return Err(StateError::Submission(id));
        }
        let scored = match of {
            None => self.baseline.as_ref(),
            Some(of) => self.submissions.get(&of).and_then(Submission::scored),
        };
        let scored = scored.filter(|scored| scored.score == score).cloned();
        let scored = scored.ok_or(StateError::Score)?;
        self.waiting(id)?.outcome = Outcome::Cached { of, scored };
        Ok(())
    }

    fn take_refusal(
        &mut self,
        id: u64,
        request: Option<&RequestFacts>,
        refusal: &Refusal,
        time: &str,
    ) -> Result<(), StateError> {
        let outcome = Outcome::Refused(refusal.clone());
        let Some(request) = request else {
            self.waiting(id)?.outcome = outcome;
            return Ok(());
        };
        self.check_new(id)?;
        let (request, time) = (request.clone(), time.to_owned());
        self.submissions.insert(id, Submission { request, time, model: None, outcome });
        Ok(())
    }

    fn take_final(
        &mut self,
        which: Which,
        id: Option<u64>,
        scored: Option<&Scored>,
    ) -> Result<(), StateError> {
        if self.ended.is_none() || self.next_final() != Some(which) {
            return Err(StateError::Order("final scores follow the end, one of each, in order"));
        }
        if id != self.final_id(which) || scored.is_some() != (which == Which::Base || id.is_some())
        {
            return Err(StateError::Order("the final score is of another submission"));
        }
        if let Some(scored) = scored {
            finite(scored)?;
            // Under this protocol nothing is graded twice: the score is the one that is known.
            let known = match id {
                Some(id) => self.submissions.get(&id).and_then(Submission::scored),
                None => self.baseline.as_ref(),
            };
            if self.facts.protocol == Protocol::Paper && known != Some(scored) {
                return Err(StateError::Score);
            }
        }
        self.finals.insert(which, FinalScore { id, scored: scored.cloned() });
        Ok(())
    }

    fn waiting(&mut self, id: u64) -> Result<&mut Submission, StateError> {
        let submission = self.submissions.get_mut(&id);
        let waiting = submission.filter(|submission| submission.outcome == Outcome::Waiting);
        waiting.ok_or(StateError::Submission(id))
    }

    /// What the run is of.
    pub fn facts(&self) -> &RunFacts {
        &self.facts
    }

    /// Where on the clock of the machine the run was opened or last resumed, and when that was.
    pub fn origin(&self) -> (&Origin, u64) {
        (&self.origin.0, self.origin.1)
    }

    /// Milliseconds from the opening to the last line.
    pub fn elapsed_ms(&self) -> u64 {
        self.elapsed_ms
    }

    /// What of the budget is spent.
    pub fn spending(&self) -> &Spending {
        &self.spending
    }

    fn is_started(&self) -> bool {
        self.spending.is_started()
    }

    /// The base's score on the items that submissions are scored on.
    pub fn baseline(&self) -> Option<&Scored> {
        self.baseline.as_ref()
    }

    /// All submissions, by number.
    pub fn submissions(&self) -> &BTreeMap<u64, Submission> {
        &self.submissions
    }

    /// The number of the next submission.
    pub fn next_id(&self) -> u64 {
        self.submissions.len() as u64 + 1
    }

    /// The first submission that is still to be graded.
    pub fn first_waiting(&self) -> Option<(u64, &Submission)> {
        self.all_waiting().next()
    }

    /// The submissions that are still to be graded, in order.
    pub fn all_waiting(&self) -> impl Iterator<Item = (u64, &Submission)> {
        let waiting =
            |(_, submission): &(&u64, &Submission)| submission.outcome == Outcome::Waiting;
        self.submissions.iter().filter(waiting).map(|(id, submission)| (*id, submission))
    }

    /// The submissions that were accepted and did not fail through us, which is what is limited.
    pub fn counted(&self) -> u64 {
        let counts = |submission: &&Submission| {
            submission.model.is_some() && !matches!(submission.outcome, Outcome::Failed { .. })
        };
        self.submissions.values().filter(counts).count() as u64
    }

    /// The submissions that intake refused.
    pub fn refused_at_intake(&self) -> u64 {
        self.submissions.values().filter(|submission| submission.model.is_none()).count() as u64
    }

    /// Seconds in which submissions were graded.
    pub fn grading_seconds(&self) -> f64 {
        let graded = self.submissions.values().filter_map(|submission| match &submission.outcome {
            Outcome::Graded(scored) => Some(scored.seconds),
            _ => None,
        });
        // A sum of nothing is -0.
        graded.fold(0.0, |sum, seconds| sum + seconds)
    }

    /// Whether the score of this model is known: of which submission, or none for the base.
    pub fn known(&self, digest: Digest) -> Option<Option<u64>> {
        self.known.get(&digest).copied()
    }

    /// The best valid submission, the first of equals.
    pub fn best(&self) -> Option<(u64, &Scored)> {
        let mut best: Option<(u64, &Scored)> = None;
        for (id, submission) in &self.submissions {
            if let Some(scored) = submission.scored()
                && best.is_none_or(|(_, best)| self.is_better(scored.score, best.score))
            {
                best = Some((*id, scored));
            }
        }
        best
    }

    /// The last valid submission.
    pub fn last_valid(&self) -> Option<(u64, &Scored)> {
        let mut newest = self.submissions.iter().rev();
        newest.find_map(|(id, submission)| Some((*id, submission.scored()?)))
    }

    /// Whether a score is better than another one, strictly.
    pub fn is_better(&self, score: f64, other: f64) -> bool {
        match self.facts.direction {
            Direction::Higher => score > other,
            Direction::Lower => score < other,
        }
    }

    /// By how much a score is better than the base's: above 0 is better, whichever way.
    pub fn improvement(&self, score: f64) -> Option<f64> {
        let baseline = self.baseline.as_ref()?.score;
        Some(match self.facts.direction {
            Direction::Higher => score - baseline,
            Direction::Lower => baseline - score,
        })
    }

    /// Why the run ended, if it did.
    pub fn ended(&self) -> Option<EndReason> {
        self.ended.map(|(why, _)| why)
    }

    /// Milliseconds of the budget that were used at `elapsed_ms`, or at the end, and at most all.
    pub fn used_ms(&self, elapsed_ms: u64) -> u64 {
        let used = self.ended.map(|(_, used)| used);
        let used = used.unwrap_or_else(|| self.spending.used_ms(elapsed_ms));
        used.min(self.facts.budget.limit_ms)
    }

    /// The scores after the end.
    pub fn finals(&self) -> &BTreeMap<Which, FinalScore> {
        &self.finals
    }

    /// The final score that is still missing and comes next; none before the end.
    pub fn next_final(&self) -> Option<Which> {
        self.ended?;
        Which::ALL.into_iter().find(|which| !self.finals.contains_key(which))
    }

    /// The submission that a final score is of.
    pub fn final_id(&self, which: Which) -> Option<u64> {
        match which {
            Which::Base => None,
            Which::Best => self.best().map(|(id, _)| id),
            Which::Last => self.last_valid().map(|(id, _)| id),
        }
    }
}

fn finite(scored: &Scored) -> Result<(), StateError> {
    if scored.score.is_finite() { Ok(()) } else { Err(StateError::Score) }
}
