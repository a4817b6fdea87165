//! What comes next in a run: a function of its state.
//!
//! A restarted server asks the same question of the replayed state, so it goes on where the last one
//! was killed, whatever that was about to do.

use crate::clock::{BudgetChange, ClockMode, PauseReason};
use crate::ledger::{EndReason, Event, State, Which};
use std::time::Duration;

/// What is known beside the ledger.
#[derive(Debug, Clone, Copy)]
pub(super) struct Situation {
    /// Milliseconds of the budget that are left.
    pub(super) left_ms: u64,
    /// Requests in flight that may still become submissions.
    pub(super) arriving: u64,
    /// Why the run is to end before its time is up, if it is.
    pub(super) end_asked: Option<EndReason>,
}

/// The next thing to do.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Step {
    /// Write this down.
    Append(Event),
    /// Score the base.
    GradeBase,
    /// Grade this submission.
    Grade(u64),
    /// Score a model on the test items.
    GradeFinal(Which),
    /// Nothing for this long, or until something happens.
    Wait(Option<Duration>),
    /// Nothing any more.
    Done,
}

pub(super) fn next_step(state: &State, situation: Situation) -> Step {
    let spending = state.spending();
    if state.baseline().is_none() {
        return Step::GradeBase;
    }
    if !spending.is_started() {
        return Step::Append(Event::Budget(BudgetChange::Started));
    }
    let waiting = state.first_waiting().map(|(id, _)| id);
    let pauses = state.facts().budget.clock == ClockMode::Paused && waiting.is_some();
    let reason = PauseReason::Grading;
    if pauses != spending.is_paused_for(reason) {
        let change =
            if pauses { BudgetChange::Paused { reason } } else { BudgetChange::Resumed { reason } };
        return Step::Append(Event::Budget(change));
    }
    if let Some(id) = waiting {
        return Step::Grade(id);
    }
    if state.ended().is_none() {
        let why = match situation {
            Situation { left_ms: 0, .. } => EndReason::Time,
            Situation { end_asked: Some(why), .. } => why,
            Situation { left_ms, .. } => {
                let left = Duration::from_millis(left_ms);
                return Step::Wait(spending.is_running().then_some(left));
            }
        };
        // What arrived in time is submitted in time.
        return match situation.arriving {
            0 => Step::Append(Event::Ended { why }),
            _ => Step::Wait(None),
        };
    }
    match state.next_final() {
        Some(which) => Step::GradeFinal(which),
        None => Step::Done,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::manual::ManualTime;
    use crate::ledger::Ledger;
    use crate::ledger::tests::{facts, scored, submitted, with_folder};
    use std::sync::Arc;

    const QUIET: Situation = Situation { left_ms: 500, arriving: 0, end_asked: None };

    #[test]
    fn steps_follow_from_the_state_alone_from_the_first_line_to_the_last() {
        with_folder(|folder| {
            let machine = Arc::new(ManualTime::default());
            let mut ledger = Ledger::create(folder, facts(&machine), machine.clone()).unwrap();
            let mut steps = Vec::new();
            let mut submissions = vec![submitted(2, 2, false), submitted(1, 1, false)];
            for _ in 0..40 {
                // As if the server were killed after each line.
                drop(ledger);
                ledger = Ledger::open(folder, machine.clone()).unwrap();
                let left_ms = ledger.left_ms();
                let step = next_step(ledger.state(), Situation { left_ms, ..QUIET });
                let event = match step.clone() {
                    Step::Append(event) => event,
                    Step::GradeBase => Event::Baseline(scored(0.1)),
                    Step::Grade(id) => Event::Graded { id, scored: scored(0.2) },
                    Step::GradeFinal(which) => {
                        let id = ledger.state().final_id(which);
                        Event::Final { which, id, scored: Some(scored(0.3)) }
                    }
                    Step::Wait(_) => {
                        let Some(submission) = submissions.pop() else {
                            machine.pass(60_000);
                            continue;
                        };
                        Event::Submitted(submission)
                    }
                    Step::Done => break,
                };
                steps.push(format!("{step:?}").split(['(', ' ']).next().unwrap().to_owned());
                ledger.append(event).unwrap();
            }
            let expected = "GradeBase Append Wait Append Grade Append Wait Append Grade Append Append \
                            GradeFinal GradeFinal GradeFinal";
            assert_eq!(steps.join(" "), expected);
            assert_eq!(ledger.state().best().map(|(id, _)| id), Some(1));
            assert_eq!(ledger.state().ended(), Some(EndReason::Time));
        });
    }

    #[test]
    fn run_does_not_end_while_a_request_is_in_flight() {
        with_folder(|folder| {
            let machine = Arc::new(ManualTime::default());
            let mut ledger = Ledger::create(folder, facts(&machine), machine.clone()).unwrap();
            ledger.append(Event::Baseline(scored(0.1))).unwrap();
            ledger.append(Event::Budget(BudgetChange::Started)).unwrap();
            let step = |situation| next_step(ledger.state(), situation);
            let late = Situation { left_ms: 0, ..QUIET };
            assert_eq!(step(QUIET), Step::Wait(Some(Duration::from_millis(500))));
            assert_eq!(step(Situation { arriving: 1, ..late }), Step::Wait(None));
            assert_eq!(step(late), Step::Append(Event::Ended { why: EndReason::Time }));
            let asked = Situation { end_asked: Some(EndReason::Operator), ..QUIET };
            assert_eq!(step(asked), Step::Append(Event::Ended { why: EndReason::Operator }));
        });
    }
}
