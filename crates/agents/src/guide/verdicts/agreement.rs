//! How far people agree with rules and judge, on turns that they judged blind.

use super::effective::Verdicts;
use super::proposal::is_blind;
use crate::guide::event::{TurnPart, Verdict};
use crate::guide::ids::ConversationId;
use serde::{Deserialize, Serialize};

/// How often two judge alike: people on one side, rules and judge on the other. Turns whose proposals the
/// people could see are not counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Agreement {
    /// Turns that both keep.
    pub both_keep: u64,
    /// Turns that both drop.
    pub both_drop: u64,
    /// Turns that people keep, and rules or judge do not.
    pub people_keep: u64,
    /// Turns that people drop, and rules and judge do not.
    pub people_drop: u64,
}

impl Agreement {
    /// Counts those of the first `turns` turns of a conversation that a person judged blind, and as a
    /// whole.
    pub fn add(&mut self, conversation: &ConversationId, verdicts: &Verdicts, turns: u32) {
        for turn in (0..turns).filter(|turn| is_blind(conversation, *turn)) {
            let person = verdicts.person(turn, TurnPart::Turn);
            let (Some(person), Some(machine)) = (person, verdicts.machine(turn)) else { continue };
            let count = match (person.verdict == Verdict::Keep, machine) {
                (true, true) => &mut self.both_keep,
                (false, false) => &mut self.both_drop,
                (true, false) => &mut self.people_keep,
                (false, true) => &mut self.people_drop,
            };
            *count += 1;
        }
    }

    /// Turns that both judged.
    pub fn turns(&self) -> u64 {
        self.both_keep + self.both_drop + self.people_keep + self.people_drop
    }

    /// Cohen's kappa: (p - e) / (1 - e), where p is the share of turns that both judge alike, and e the
    /// share that they would by chance, each keeping as often as they do (Cohen 1960). At most 1. `None`
    /// without turns, and where both always say the same one thing.
    pub fn kappa(&self) -> Option<f64> {
        let all = self.turns() as f64;
        let share = |count: u64| count as f64 / all;
        let alike = share(self.both_keep + self.both_drop);
        let people = share(self.both_keep + self.people_keep);
        let machine = share(self.both_keep + self.people_drop);
        let chance = people * machine + (1.0 - people) * (1.0 - machine);
        (chance < 1.0).then(|| (alike - chance) / (1.0 - chance))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `sklearn.metrics.cohen_kappa_score` of scikit-learn 1.9.1 on these 50 turns gives 0.4, and on
    /// the ten -0.2.
    #[test]
    fn kappa_is_that_of_cohen() {
        let agreement = Agreement { both_keep: 20, both_drop: 15, people_keep: 5, people_drop: 10 };
        assert!((agreement.kappa().unwrap() - 0.4).abs() < 1e-12);
        let worse = Agreement { both_keep: 2, both_drop: 2, people_keep: 3, people_drop: 3 };
        assert!((worse.kappa().unwrap() + 0.2).abs() < 1e-12);
        assert_eq!(Agreement::default().kappa(), None);
        assert_eq!(Agreement { both_keep: 9, ..Agreement::default() }.kappa(), None);
    }
}
