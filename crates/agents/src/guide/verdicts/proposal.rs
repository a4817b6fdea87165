//! What rules and judge propose to the people who review a run, and the turns on which they do not.
//!
//! People who see a proposal tend to agree with it. To measure agreement, one turn in ten is judged
//! blind: its proposals are shown to nobody, and [`Agreement`](super::Agreement)
//! counts these turns alone.

use super::effective::Verdicts;
use super::record::VerdictSource;
use crate::guide::event::Verdict;
use crate::guide::ids::ConversationId;
use serde::Serialize;
use tasks::stream::Stream;

/// One turn in so many is judged blind.
const BLIND: u64 = 10;

/// Whether a turn of a conversation is judged blind: the same for everybody and for ever, and nothing of
/// the turn has a part in it.
pub fn is_blind(conversation: &ConversationId, turn: u32) -> bool {
    let stream = Stream::root(0).child("review").child(conversation.as_str());
    stream.index(turn.into()).seed().is_multiple_of(BLIND)
}

/// What a rule or a judge says of a turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Proposal {
    /// The turn, from 0.
    pub turn: u32,
    /// What it should be. A rule proposes to drop a turn and nothing else.
    pub verdict: Verdict,
    /// Who says so: a rule or a judge.
    pub by: VerdictSource,
    /// Why.
    pub reason: String,
}

/// Everything that is proposed on a run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Proposals {
    /// The turns that were looked at: those below.
    pub turns: u32,
    /// Turns that are judged blind, in order.
    pub blind: Vec<u32>,
    /// What is proposed on the others, by turn; of one turn rules before the judge.
    pub proposals: Vec<Proposal>,
}

impl Proposals {
    /// Those on the first `turns` turns of a conversation.
    pub fn new(conversation: &ConversationId, verdicts: &Verdicts, turns: u32) -> Self {
        let (blind, open): (Vec<u32>, Vec<u32>) =
            (0..turns).partition(|turn| is_blind(conversation, *turn));
        let proposals = open.into_iter().flat_map(|turn| {
            verdicts.rules(turn).chain(verdicts.judge(turn)).map(|record| Proposal {
                turn: record.turn,
                verdict: record.verdict,
                by: record.by.clone(),
                reason: record.reason.clone(),
            })
        });
        Self { turns, blind, proposals: proposals.collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guide::event::TurnPart;
    use crate::guide::verdicts::{Rule, TrajectoryKey, VERDICTS_VERSION, VerdictRecord};
    use tasks::task::TaskId;

    #[test]
    fn one_turn_in_ten_is_judged_blind_and_others_in_each_conversation() {
        let blind = |name: &str| -> Vec<u32> {
            let id: ConversationId = name.parse().unwrap();
            (0..2000).filter(|turn| is_blind(&id, *turn)).collect()
        };
        let (one, other) = (blind("one"), blind("other"));
        assert!((150..250).contains(&one.len()), "{}", one.len());
        assert_ne!(one, other);
        assert_eq!(one, blind("one"));
    }

    #[test]
    fn nothing_is_proposed_by_people_nor_on_a_turn_that_is_judged_blind() {
        let id: ConversationId = "run".parse().unwrap();
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
            reason: "why".to_owned(),
            seq: 1,
        };
        let all = (0..100).flat_map(|turn| {
            [
                record(turn, VerdictSource::Judge("model".to_owned()), Verdict::Keep),
                record(turn, VerdictSource::Rule(Rule::Raised), Verdict::Drop),
                record(turn, VerdictSource::Person("ann".to_owned()), Verdict::Drop),
            ]
        });
        let verdicts = Verdicts::new(all.collect());
        let Proposals { turns, blind, proposals } = Proposals::new(&id, &verdicts, 90);
        assert_eq!((turns, proposals.len()), (90, 2 * (90 - blind.len())));
        assert!(!blind.is_empty());
        for pair in proposals.chunks(2) {
            assert!(!is_blind(&id, pair[0].turn) && pair[0].turn == pair[1].turn);
            assert_eq!(pair[0].by, VerdictSource::Rule(Rule::Raised));
            assert_eq!((pair[1].verdict, &*pair[1].reason), (Verdict::Keep, "why"));
        }
    }
}
