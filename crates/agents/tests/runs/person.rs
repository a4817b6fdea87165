//! A scripted person in lockstep with guided runs.

use crate::fixture::Fixture;
use crate::guided::{conversation, react, trajectory};
use agents::grammar::{answer_turn, python_turn};
use agents::guide::channel::OnLost;
use agents::guide::guidance::{GuidanceState, TurnRange};
use agents::guide::person::{BadPersonRules, LockstepPerson, PersonRules};
use agents::guide::store::Store;
use agents::run::agent::AgentRest;
use agents::run::player::{Answer, Ask, Player, PlayerFault};
use agents::trajectory::Guidance;
use std::sync::Arc;

/// Does what it was told last, and fails otherwise.
#[derive(Debug)]
struct Obedient {
    away_at: Option<u32>,
}

impl Player for Obedient {
    fn name(&self) -> String {
        "obedient".to_owned()
    }

    fn answer(&self, ask: &Ask<'_>) -> Result<Answer, PlayerFault> {
        if self.away_at == Some(ask.node.0) {
            return Err(PlayerFault::Unavailable("away".into()));
        }
        let last = &ask.messages.last().unwrap().content;
        let turn = if last.contains("Submit") {
            answer_turn("As advised.")
        } else if last.contains("installed") {
            python_turn("As advised.", "print('modules')")
        } else {
            python_turn("By myself.", &format!("import nothing_{}", ask.node.0))
        };
        Ok(Answer::whole(turn))
    }
}

const RULES: &str = r#"
name = "ann"
[[rule]]
name = "import"
observation = "ModuleNotFoundError"
say = ["Look at what is installed.", "That is not installed."]
about = true
drop = "turn"
[[rule]]
name = "end"
observation = "modules"
say = ["Submit it."]
"#;

fn guided(rules: &str) -> (Fixture, Arc<Store>) {
    let mut fixture = Fixture::new();
    let store = Arc::new(Store::open(&fixture.run_folder("store")).unwrap());
    let rules = PersonRules::from_toml(rules).unwrap();
    let person = LockstepPerson::new(Arc::clone(&store), rules, OnLost::Stop).unwrap();
    fixture.guide = Box::new(person);
    (fixture, store)
}

fn heard(rules: &str) -> Vec<Guidance> {
    let (fixture, _store) = guided(rules);
    let rest = fixture.play("run", &react(), &Obedient { away_at: None }).unwrap();
    assert!(matches!(rest, AgentRest::Finished { .. }), "{rest:?}");
    trajectory(&fixture).guidance
}

#[test]
fn person_in_lockstep_is_heard_before_the_next_turn_and_says_the_same_each_time() {
    let first = heard(RULES);
    let shown: Vec<(&str, usize, Option<u32>)> =
        first.iter().map(|piece| (piece.id.as_str(), piece.segment, piece.about)).collect();
    // Two of the prompt, then turn, observation and advice, twice.
    assert_eq!(shown, [("ann-0", 4, Some(0)), ("ann-1", 7, None)]);
    assert!(first.iter().all(|piece| piece.waited_seconds == 0.0 && piece.by == "ann"));
    assert_eq!(heard(RULES), first, "to the bit");
}

#[test]
fn person_is_late_by_turns_and_drops_what_it_speaks_of() {
    let (fixture, store) = guided(&format!("latency_turns = 1\n{RULES}"));
    fixture.play("run", &react(), &Obedient { away_at: None }).unwrap();
    let heard: Vec<(String, usize)> =
        trajectory(&fixture).guidance.into_iter().map(|piece| (piece.id, piece.segment)).collect();
    // Said of turn 0 and read after turn 1; said of turn 2 and read after turn 3.
    assert_eq!(heard, [("ann-0".to_owned(), 6), ("ann-2".to_owned(), 11)]);
    store
        .read(&conversation(&store), |conversation| {
            let drops: Vec<_> =
                conversation.guidance.values().map(|piece| piece.what.drop).collect();
            assert_eq!(drops, [Some(TurnRange { from: 0, to: 0 }), None]);
        })
        .unwrap();
}

#[test]
fn run_that_is_gone_on_with_hears_what_it_would_have_heard() {
    let whole = heard(RULES);
    for away_at in 0..3 {
        let (fixture, store) = guided(RULES);
        let rest = fixture.play("run", &react(), &Obedient { away_at: Some(away_at) }).unwrap();
        assert!(matches!(rest, AgentRest::Paused { .. }), "{rest:?}");
        fixture.play("run", &react(), &Obedient { away_at: None }).unwrap();
        assert_eq!(trajectory(&fixture).guidance, whole, "away at {away_at}");
        store
            .read(&conversation(&store), |conversation| {
                let pieces = conversation.guidance.values();
                let states: Vec<GuidanceState> = pieces.map(|piece| piece.state).collect();
                assert_eq!(states, [GuidanceState::Acknowledged; 2], "none twice");
            })
            .unwrap();
    }
}

#[test]
fn person_in_lockstep_takes_no_time() {
    let fixture = Fixture::new();
    let store = Arc::new(Store::open(&fixture.run_folder("store")).unwrap());
    let rules = PersonRules::from_toml(&format!("latency = \"1s\"\n{RULES}")).unwrap();
    let refused = LockstepPerson::new(store, rules, OnLost::Stop).unwrap_err();
    assert!(matches!(&refused, BadPersonRules::Value { key, .. } if key == "latency"), "{refused}");
}
