//! Of all verdicts on a turn, the one that counts, and what of the turn is trained on.

use super::record::{TrajectoryKey, VERDICTS_VERSION, VerdictRecord, VerdictSource};
use super::rules::Rule;
use crate::guide::event::{TurnPart, Verdict};
use crate::guide::transcript::Transcript;
use serde::{Deserialize, Serialize};

/// What of a turn is trained on. The token that ends a turn belongs to its action.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Trained {
    /// All that the agent wrote.
    Whole,
    /// The thought alone.
    Thought,
    /// The action alone.
    Action,
    /// Nothing: the turn is context.
    Nothing,
}

impl Trained {
    /// Of which parts.
    pub fn of(thought: bool, action: bool) -> Self {
        match (thought, action) {
            (true, true) => Self::Whole,
            (true, false) => Self::Thought,
            (false, true) => Self::Action,
            (false, false) => Self::Nothing,
        }
    }

    /// Whether the thought is trained on.
    pub fn thought(self) -> bool {
        matches!(self, Self::Whole | Self::Thought)
    }

    /// Whether the action is trained on.
    pub fn action(self) -> bool {
        matches!(self, Self::Whole | Self::Action)
    }
}

/// The verdict that counts on a part of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Effective<'a> {
    /// Whether the part is kept as an example.
    pub is_kept: bool,
    /// The verdict that decides; `None` if nobody says anything.
    pub by: Option<&'a VerdictRecord>,
}

/// All verdicts on one run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Verdicts {
    records: Vec<VerdictRecord>,
}

impl Verdicts {
    /// Those that are given, in whatever order.
    pub fn new(records: Vec<VerdictRecord>) -> Self {
        Self { records }
    }

    /// Those of people and of rules on a run, and what a judge said of it.
    pub fn of(transcript: &Transcript, judged: Vec<VerdictRecord>) -> Self {
        let key = TrajectoryKey::of(transcript);
        let people = transcript.verdicts.iter().map(|by| VerdictRecord {
            version: VERDICTS_VERSION,
            trajectory: key.clone(),
            turn: by.verdict.turn,
            part: by.verdict.part,
            verdict: by.verdict.verdict,
            by: VerdictSource::Person(by.by.clone()),
            reason: by.verdict.reason.clone(),
            seq: by.seq,
        });
        let rules = Rule::ALL.into_iter().flat_map(|rule| {
            let key = &key;
            rule.findings(transcript).into_iter().map(move |finding| VerdictRecord {
                version: VERDICTS_VERSION,
                trajectory: key.clone(),
                turn: finding.turn,
                part: TurnPart::Turn,
                verdict: Verdict::Drop,
                by: VerdictSource::Rule(rule),
                reason: finding.reason,
                seq: 0,
            })
        });
        let mut records: Vec<VerdictRecord> = people.chain(rules).chain(judged).collect();
        records.sort_by(|a, b| (a.turn, &a.by, a.part, a.seq).cmp(&(b.turn, &b.by, b.part, b.seq)));
        Self { records }
    }

    /// All of them; of a run, by turn.
    pub fn records(&self) -> &[VerdictRecord] {
        &self.records
    }

    /// What counts on a part of a turn: the latest verdict of a person that was not taken back, else a
    /// rule's drop, else the judge's, else it is kept. A verdict on a whole turn is one on each part.
    pub fn effective(&self, turn: u32, part: TurnPart) -> Effective<'_> {
        if let Some(by) = self.person(turn, part) {
            return Effective { is_kept: by.verdict == Verdict::Keep, by: Some(by) };
        }
        if let Some(by) = self.rules(turn).next() {
            return Effective { is_kept: false, by: Some(by) };
        }
        match self.judge(turn).filter(|by| by.verdict != Verdict::Undecided) {
            Some(by) => Effective { is_kept: by.verdict == Verdict::Keep, by: Some(by) },
            None => Effective { is_kept: true, by: None },
        }
    }

    /// What of a turn is trained on.
    pub fn trained(&self, turn: u32) -> Trained {
        let is_kept = |part| self.effective(turn, part).is_kept;
        Trained::of(is_kept(TurnPart::Thought), is_kept(TurnPart::Action))
    }

    /// What people say of a part of a turn: the latest verdict on it, or on the turn, that was not taken
    /// back.
    pub fn person(&self, turn: u32, part: TurnPart) -> Option<&VerdictRecord> {
        let latest = |of: TurnPart| {
            let all = self.on(turn).filter(|record| {
                record.part == of && matches!(record.by, VerdictSource::Person(_))
            });
            all.max_by_key(|record| record.seq)
                .filter(|record| record.verdict != Verdict::Undecided)
        };
        [Some(TurnPart::Turn), Some(part).filter(|part| *part != TurnPart::Turn)]
            .into_iter()
            .flatten()
            .filter_map(latest)
            .max_by_key(|record| record.seq)
    }

    /// What rules say of a turn, in the order of [`Rule::ALL`].
    pub fn rules(&self, turn: u32) -> impl Iterator<Item = &VerdictRecord> {
        let mut found: Vec<&VerdictRecord> =
            self.on(turn).filter(|record| matches!(record.by, VerdictSource::Rule(_))).collect();
        found.sort_by(|a, b| a.by.cmp(&b.by));
        found.into_iter()
    }

    /// What a judge last said of a turn, undecided included.
    pub fn judge(&self, turn: u32) -> Option<&VerdictRecord> {
        let all = self.on(turn).filter(|record| matches!(record.by, VerdictSource::Judge(_)));
        all.max_by_key(|record| record.seq)
    }

    /// What rules and judge say of a turn without people, if they say anything: whether to keep it.
    /// Where no judge was asked, rules that find nothing say that it is kept.
    pub fn machine(&self, turn: u32) -> Option<bool> {
        if self.rules(turn).next().is_some() {
            return Some(false);
        }
        match self.judge(turn).map(|record| record.verdict) {
            Some(Verdict::Undecided) => None,
            Some(verdict) => Some(verdict == Verdict::Keep),
            None => Some(true),
        }
    }

    fn on(&self, turn: u32) -> impl Iterator<Item = &VerdictRecord> {
        self.records.iter().filter(move |record| record.turn == turn)
    }
}

impl TrajectoryKey {
    /// That of a run.
    pub fn of(transcript: &Transcript) -> Self {
        let opening = &transcript.opening;
        Self { task: opening.task.clone(), agent: opening.agent.clone(), attempt: opening.attempt }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use tasks::task::TaskId;

    fn record(by: VerdictSource, part: TurnPart, verdict: Verdict, seq: u64) -> VerdictRecord {
        let task = TaskId::new("t").unwrap();
        let trajectory = TrajectoryKey { task, agent: "a".to_owned(), attempt: 0 };
        let (version, reason) = (VERDICTS_VERSION, String::new());
        VerdictRecord { version, trajectory, turn: 0, part, verdict, by, reason, seq }
    }

    fn person(name: &str, part: TurnPart, verdict: Verdict, seq: u64) -> VerdictRecord {
        record(VerdictSource::Person(name.to_owned()), part, verdict, seq)
    }

    fn judge(verdict: Verdict, seq: u64) -> VerdictRecord {
        record(VerdictSource::Judge("model".to_owned()), TurnPart::Turn, verdict, seq)
    }

    fn rule() -> VerdictRecord {
        record(VerdictSource::Rule(Rule::Raised), TurnPart::Turn, Verdict::Drop, 0)
    }

    #[test]
    fn people_come_before_rules_and_rules_before_the_judge() {
        use TurnPart::{Action, Thought, Turn};
        use Verdict::{Drop, Keep, Undecided};
        let trained = |records: &[VerdictRecord]| Verdicts::new(records.to_vec()).trained(0);
        assert_eq!(trained(&[]), Trained::Whole);
        assert_eq!(trained(&[judge(Drop, 1)]), Trained::Nothing);
        assert_eq!(trained(&[judge(Drop, 1), judge(Keep, 2)]), Trained::Whole);
        assert_eq!(trained(&[judge(Drop, 1), judge(Undecided, 2)]), Trained::Whole);
        assert_eq!(trained(&[rule(), judge(Keep, 1)]), Trained::Nothing);
        let keep = person("ann", Turn, Keep, 5);
        assert_eq!(trained(&[rule(), judge(Drop, 1), keep.clone()]), Trained::Whole);
        let later = person("bob", Turn, Drop, 6);
        assert_eq!(trained(&[later.clone(), keep.clone()]), Trained::Nothing);
        // Taken back: what others said before is not called back.
        let back = person("bob", Turn, Undecided, 7);
        assert_eq!(trained(&[keep.clone(), back.clone()]), Trained::Whole);
        assert_eq!(trained(&[rule(), keep.clone(), back]), Trained::Nothing);
        // Parts.
        let action = person("ann", Action, Drop, 8);
        assert_eq!(trained(&[keep.clone(), action.clone()]), Trained::Thought);
        let thought = person("ann", Thought, Drop, 9);
        assert_eq!(trained(&[keep.clone(), thought.clone()]), Trained::Action);
        assert_eq!(trained(&[action.clone(), thought]), Trained::Nothing);
        assert_eq!(trained(&[action, person("bob", Turn, Keep, 9)]), Trained::Whole);
        assert_eq!(trained(&[rule(), person("ann", Action, Keep, 3)]), Trained::Action);
    }

    #[test]
    fn verdicts_of_another_turn_do_not_count() {
        let verdicts = Verdicts::new(vec![VerdictRecord { turn: 1, ..rule() }]);
        assert_eq!((verdicts.trained(0), verdicts.trained(1)), (Trained::Whole, Trained::Nothing));
        let by = verdicts.effective(1, TurnPart::Action).by.map(|record| &record.by);
        assert_eq!(by, Some(&VerdictSource::Rule(Rule::Raised)));
    }

    #[test]
    fn records_are_read_as_they_are_written() {
        let record = person("ann", TurnPart::Thought, Verdict::Drop, 7);
        let text = serde_json::to_string(&record).unwrap();
        assert_eq!(serde_json::from_str::<VerdictRecord>(&text).unwrap(), record);
        assert!(
            text.contains(r#""part":"thought","verdict":"drop","by":{"person":"ann"}"#),
            "{text}"
        );
        let text = serde_json::to_string(&rule()).unwrap();
        assert!(text.contains(r#""turn":0,"verdict":"drop","by":{"rule":"raised"}"#), "{text}");
    }

    fn any_record() -> impl Strategy<Value = (u32, usize, TurnPart, Verdict)> {
        let part =
            prop_oneof![Just(TurnPart::Turn), Just(TurnPart::Thought), Just(TurnPart::Action)];
        let verdict =
            prop_oneof![Just(Verdict::Keep), Just(Verdict::Drop), Just(Verdict::Undecided)];
        (0_u32..3, 0_usize..5, part, verdict)
    }

    proptest! {
        #[test]
        fn effective_verdicts_do_not_depend_on_the_order_of_lines(
            drawn in prop::collection::vec(any_record(), 0..12),
            keys in prop::collection::vec(any::<u64>(), 12),
        ) {
            let records: Vec<VerdictRecord> = (1..).zip(drawn).map(|(seq, (turn, who, part, verdict))| {
                let made = match who {
                    0 => rule(),
                    1 => record(VerdictSource::Rule(Rule::Repeated), TurnPart::Turn, Verdict::Drop, 0),
                    2 => judge(verdict, seq),
                    3 => person("ann", part, verdict, seq),
                    _ => person("bob", part, verdict, seq),
                };
                VerdictRecord { turn, ..made }
            }).collect();
            let mut shuffled: Vec<(u64, VerdictRecord)> = keys.into_iter().zip(records.clone()).collect();
            shuffled.sort_by_key(|(key, _)| *key);
            let shuffled = Verdicts::new(shuffled.into_iter().map(|(_, record)| record).collect());
            let ordered = Verdicts::new(records);
            for turn in 0..3 {
                prop_assert_eq!(ordered.trained(turn), shuffled.trained(turn));
                prop_assert_eq!(ordered.machine(turn), shuffled.machine(turn));
                for part in [TurnPart::Turn, TurnPart::Thought, TurnPart::Action] {
                    prop_assert_eq!(ordered.effective(turn, part), shuffled.effective(turn, part));
                }
            }
        }
    }
}
