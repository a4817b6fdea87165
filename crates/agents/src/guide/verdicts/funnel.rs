//! Counts of verdicts over many runs: who dropped what, and what is left.

use super::agreement::Agreement;
use super::effective::{Trained, Verdicts};
use super::record::VerdictSource;
use crate::guide::event::{TurnPart, Verdict};
use crate::guide::ids::ConversationId;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Turns on their way to the loss. A turn counts once in `dropped_by`, under what decides.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Funnel {
    /// Turns of all runs.
    pub turns: u64,
    /// Turns of which all is kept.
    pub kept: u64,
    /// Turns of which thought or action alone is kept.
    pub kept_in_part: u64,
    /// Turns of which nothing is kept, by who decides: `person`, `rule` or `judge`.
    pub dropped_by: BTreeMap<String, u64>,
    /// How many turns each rule found, whether or not it decided.
    pub found_by_rule: BTreeMap<String, u64>,
    /// Turns that a person judged as a whole.
    pub judged_by_people: u64,
    /// Turns that a judge has looked at.
    pub judged: u64,
    /// Turns on which a judge could not decide, and nobody else has.
    pub undecided: u64,
    /// People against rules and judge, on turns that people judged blind.
    pub agreement: Agreement,
}

impl Funnel {
    /// Counts the first `turns` turns of a conversation.
    pub fn add(&mut self, conversation: &ConversationId, verdicts: &Verdicts, turns: u32) {
        self.turns += u64::from(turns);
        self.agreement.add(conversation, verdicts, turns);
        for turn in 0..turns {
            match verdicts.trained(turn) {
                Trained::Whole => self.kept += 1,
                Trained::Thought | Trained::Action => self.kept_in_part += 1,
                Trained::Nothing => {
                    let by = verdicts.effective(turn, TurnPart::Action).by;
                    let by = match by.map(|record| &record.by) {
                        Some(VerdictSource::Rule(_)) => "rule",
                        Some(VerdictSource::Judge(_)) => "judge",
                        Some(VerdictSource::Person(_)) | None => "person",
                    };
                    *self.dropped_by.entry(by.to_owned()).or_insert(0) += 1;
                }
            }
            for found in verdicts.rules(turn) {
                if let VerdictSource::Rule(rule) = &found.by {
                    *self.found_by_rule.entry(rule.name().to_owned()).or_insert(0) += 1;
                }
            }
            self.judged_by_people += u64::from(verdicts.person(turn, TurnPart::Turn).is_some());
            if let Some(judged) = verdicts.judge(turn) {
                self.judged += 1;
                let decided = verdicts.effective(turn, TurnPart::Action).by.is_some();
                self.undecided += u64::from(judged.verdict == Verdict::Undecided && !decided);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guide::verdicts::{Rule, TrajectoryKey, VERDICTS_VERSION, VerdictRecord, is_blind};
    use tasks::task::TaskId;

    #[test]
    fn every_turn_is_counted_once_under_who_decides() {
        let record = |turn, by, verdict| VerdictRecord {
            version: VERDICTS_VERSION,
            trajectory: TrajectoryKey {
                task: TaskId::new("t").unwrap(),
                agent: "a".to_owned(),
                attempt: 0,
            },
            turn,
            part: TurnPart::Turn,
            verdict,
            by,
            reason: String::new(),
            seq: 1,
        };
        let person = || VerdictSource::Person("ann".to_owned());
        let judge = || VerdictSource::Judge("model".to_owned());
        let verdicts = Verdicts::new(vec![
            record(0, VerdictSource::Rule(Rule::Raised), Verdict::Drop),
            record(0, VerdictSource::Rule(Rule::Repeated), Verdict::Drop),
            record(1, VerdictSource::Rule(Rule::Raised), Verdict::Drop),
            record(1, person(), Verdict::Keep),
            record(2, person(), Verdict::Drop),
            record(3, judge(), Verdict::Drop),
            record(4, judge(), Verdict::Undecided),
        ]);
        let named = |is: &dyn Fn(&ConversationId) -> bool| {
            let mut ids = (0..).map(|number| format!("run-{number}").parse().unwrap());
            ids.find(is).unwrap()
        };
        let mut funnel = Funnel::default();
        funnel.add(&named(&|id| is_blind(id, 1) && is_blind(id, 2)), &verdicts, 6);
        let dropped = [("judge", 1), ("person", 1), ("rule", 1)];
        let found = [("raised", 2), ("repeated", 1)];
        let counts = |counts: &[(&str, u64)]| -> BTreeMap<String, u64> {
            counts.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect()
        };
        let agreement = Agreement { people_keep: 1, people_drop: 1, ..Agreement::default() };
        let expected = Funnel {
            turns: 6,
            kept: 3,
            kept_in_part: 0,
            dropped_by: counts(&dropped),
            found_by_rule: counts(&found),
            judged_by_people: 2,
            judged: 2,
            undecided: 1,
            agreement,
        };
        assert_eq!(funnel, expected);
        // What people say where they see proposals tells nothing of whether they agree.
        let mut seen = Funnel::default();
        seen.add(&named(&|id| !is_blind(id, 1) && !is_blind(id, 2)), &verdicts, 6);
        assert_eq!(seen, Funnel { agreement: Agreement::default(), ..expected });
    }
}
