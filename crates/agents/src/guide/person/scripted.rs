//! A scripted person at one run: what it says after a turn.

use super::rules::{DropFlag, OutcomeFlag, PersonRule, PersonRules};
use crate::guide::guidance::{GuidanceText, TurnRange};
use crate::guide::ids::GuidanceId;
use rand::RngExt as _;
use rand::seq::IndexedRandom as _;
use std::sync::Arc;
use tasks::stream::Stream;

/// The run that a person looks at, as far as draws depend on it. Its name is left out, which is another
/// one each time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeenRun {
    /// The task.
    pub task: String,
    /// The agent.
    pub agent: String,
    /// Which of its attempts.
    pub attempt: u64,
}

/// A turn as the page shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeenTurn {
    /// Its number, from 0.
    pub number: u32,
    /// What the agent wrote.
    pub text: String,
    /// What it read in return.
    pub observation: String,
    /// Whether it was malformed, or its script failed.
    pub failed: bool,
}

/// Something to say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Saying {
    /// The name of the piece: the same whenever the same run is seen again.
    pub id: GuidanceId,
    /// The turn of which it is said.
    pub turn: u32,
    /// What is said.
    pub what: GuidanceText,
}

/// A scripted person at one run.
///
/// What it says follows from its rules, the run and the turns alone, so it says the same of the same run
/// whenever it sees it.
#[derive(Debug)]
pub struct ScriptedPerson {
    rules: Arc<PersonRules>,
    stream: Stream,
    /// How often each rule was said.
    said: Vec<u32>,
    /// For each rule, whether the agent has written what it must never have.
    is_written: Vec<bool>,
    /// The first turn after that of which something was last said.
    since: u32,
    /// The next turn that it reads.
    next: u32,
}

impl ScriptedPerson {
    /// One who has not looked yet.
    pub fn new(rules: Arc<PersonRules>, run: &SeenRun) -> Self {
        let stream = Stream::root(rules.seed).child("person").child(&rules.name);
        let stream = stream.child(&run.task).child(&run.agent).index(run.attempt);
        let count = rules.rules.len();
        Self {
            rules,
            stream,
            said: vec![0; count],
            is_written: vec![false; count],
            since: 0,
            next: 0,
        }
    }

    /// The turn that it is to be shown next; each is shown once, in order.
    pub fn next(&self) -> u32 {
        self.next
    }

    /// Reads a turn; returns what it has to say of it.
    ///
    /// # Panics
    /// If it is not the next one.
    pub fn see(&mut self, turn: &SeenTurn) -> Option<Saying> {
        assert_eq!(turn.number, self.next, "turns are seen in order");
        self.next += 1;
        for (rule, is_written) in self.rules.rules.iter().zip(&mut self.is_written) {
            let never = rule.never_wrote.as_deref();
            *is_written |= never.is_some_and(|text| turn.text.contains(text));
        }
        if self.rules.leaves_after.is_some_and(|turns| turn.number >= turns) {
            return None;
        }
        let rules = Arc::clone(&self.rules);
        let (index, rule) =
            rules.rules.iter().enumerate().find(|(index, rule)| self.fits(*index, rule, turn))?;
        let mut draws = self.stream.index(u64::from(turn.number)).rng();
        // All draws are made, so that one setting does not shift those of another.
        let (misses, misleads) = (draws.random::<f64>(), draws.random::<f64>());
        let wording = rule.say.choose(&mut draws).cloned()?;
        if misses < rules.miss {
            return None;
        }
        let wrong = if misleads < rules.wrong { rules.misleads.choose(&mut draws) } else { None };
        self.said[index] += 1;
        let from = match rule.drop {
            DropFlag::Nothing => None,
            DropFlag::Turn => Some(turn.number),
            DropFlag::Since => Some(self.since),
        };
        self.since = turn.number + 1;
        let (text, drop) = match wrong {
            // Who is wrong about what to do is so about what was done.
            Some(wrong) => (wrong.clone(), None),
            None => (wording, from.map(|from| TurnRange { from, to: turn.number })),
        };
        let id = format!("{}-{}", rules.name, turn.number).parse();
        let about = rule.about.then_some(turn.number);
        Some(Saying {
            id: id.expect("names of people are short"),
            turn: turn.number,
            what: GuidanceText { text, about, drop },
        })
    }

    fn fits(&self, index: usize, rule: &PersonRule, turn: &SeenTurn) -> bool {
        let contains = |part: &Option<String>, text: &str| {
            part.as_deref().is_none_or(|part| text.contains(part))
        };
        self.said[index] < rule.times
            && turn.number >= rule.from
            && rule.to.is_none_or(|to| turn.number <= to)
            && contains(&rule.observation, &turn.observation)
            && contains(&rule.wrote, &turn.text)
            && !self.is_written[index]
            && rule.outcome.is_none_or(|outcome| turn.failed == (outcome == OutcomeFlag::Failed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn person(rules: &str) -> ScriptedPerson {
        let rules = Arc::new(PersonRules::from_toml(rules).unwrap());
        ScriptedPerson::new(rules, &run(0))
    }

    fn run(attempt: u64) -> SeenRun {
        SeenRun { task: "t".to_owned(), agent: "a".to_owned(), attempt }
    }

    fn turn(number: u32, text: &str, observation: &str, failed: bool) -> SeenTurn {
        let (text, observation) = (text.to_owned(), observation.to_owned());
        SeenTurn { number, text, observation, failed }
    }

    /// The turns of which something is said, with the text.
    fn said(person: &mut ScriptedPerson, turns: &[SeenTurn]) -> Vec<(u32, String)> {
        let said = turns.iter().filter_map(|turn| person.see(turn));
        said.map(|saying| (saying.turn, saying.what.text)).collect()
    }

    fn plain(count: u32) -> Vec<SeenTurn> {
        (0..count).map(|number| turn(number, "x", "o", false)).collect()
    }

    #[test]
    fn first_rule_that_fits_is_said_as_often_as_it_may() {
        let mut person = person(
            "[[rule]]\nname = \"import\"\nobservation = \"No module\"\nsay = [\"A\"]\ntimes = 2\n\
             [[rule]]\nname = \"late\"\nfrom = 3\nto = 4\nsay = [\"B\"]\ntimes = 9\n\
             [[rule]]\nname = \"forest\"\nwrote = \"fit\"\nnever_wrote = \"Forest\"\noutcome = \"fine\"\n\
             say = [\"C\"]\ntimes = 9\n",
        );
        let turns = [
            turn(0, "x", "No module y", true),
            turn(1, "fit", "", true),
            turn(2, "fit", "", false),
            turn(3, "fit", "No module", false),
            turn(4, "fit", "No module", false),
            turn(5, "fit", "No module", false),
            turn(6, "Forest.fit", "", false),
            turn(7, "fit", "", false),
        ];
        let said = said(&mut person, &turns);
        let said: Vec<(u32, &str)> =
            said.iter().map(|(turn, text)| (*turn, text.as_str())).collect();
        assert_eq!(said, [(0, "A"), (2, "C"), (3, "A"), (4, "B"), (5, "C")]);
    }

    #[test]
    fn person_says_what_it_is_about_and_what_to_drop() {
        let mut person = person(
            "[[rule]]\nname = \"one\"\nobservation = \"1\"\nsay = [\"A\"]\nabout = true\ndrop = \"turn\"\n\
             [[rule]]\nname = \"two\"\nobservation = \"2\"\nsay = [\"B\"]\ndrop = \"since\"\n",
        );
        let see = |person: &mut ScriptedPerson, number, observation| {
            person.see(&turn(number, "", observation, false))
        };
        assert_eq!(see(&mut person, 0, ""), None);
        let one = see(&mut person, 1, "1").unwrap();
        assert_eq!((one.id.as_str(), one.what.about), ("person-1", Some(1)));
        assert_eq!(one.what.drop, Some(TurnRange { from: 1, to: 1 }));
        assert_eq!(see(&mut person, 2, ""), None);
        let two = see(&mut person, 3, "2").unwrap();
        assert_eq!(two.what.drop, Some(TurnRange { from: 2, to: 3 }));
        assert_eq!(two.what.about, None);
    }

    #[test]
    fn chances_are_missed_and_taken_wrongly_as_often_as_it_is_set_and_the_same_each_time() {
        let rule = "[[rule]]\nname = \"a\"\nsay = [\"A\", \"B\"]\ntimes = 9999\n";
        let count = |head: &str, turns| {
            let mut person = person(&format!("misleads = [\"W\"]\n{head}{rule}"));
            let first = said(&mut person, &plain(turns));
            let mut again = self::person(&format!("misleads = [\"W\"]\n{head}{rule}"));
            assert_eq!(said(&mut again, &plain(turns)), first);
            let of = |text: &str| first.iter().filter(|(_, said)| said == text).count();
            (of("A"), of("B"), of("W"))
        };
        assert_eq!(count("miss = 1.0\n", 50), (0, 0, 0));
        assert_eq!(count("wrong = 1.0\n", 50), (0, 0, 50));
        let (a, b, w) = count("miss = 0.5\nwrong = 0.2\n", 2000);
        // 2000 chances: 400 of each wording, 200 wrong; four standard deviations at most.
        assert!((320..480).contains(&a) && (320..480).contains(&b), "{a} {b}");
        assert!((145..255).contains(&w), "{w}");
        // What is wrong does not change which chances are missed.
        let missed = |head: &str| {
            let mut person = person(&format!("misleads = [\"W\"]\n{head}{rule}"));
            let said = said(&mut person, &plain(100));
            said.into_iter().map(|(turn, _)| turn).collect::<Vec<_>>()
        };
        assert_eq!(missed("miss = 0.5\n"), missed("miss = 0.5\nwrong = 0.5\n"));
        assert_eq!(count("leaves_after = 3\n", 50).0 + count("leaves_after = 3\n", 50).1, 3);
    }

    #[test]
    fn runs_have_draws_of_their_own() {
        let rules = "miss = 0.5\n[[rule]]\nname = \"a\"\nsay = [\"A\"]\ntimes = 99\n";
        let rules = Arc::new(PersonRules::from_toml(rules).unwrap());
        let said = |attempt| {
            let mut person = ScriptedPerson::new(Arc::clone(&rules), &run(attempt));
            said(&mut person, &plain(40))
        };
        assert_ne!(said(0), said(1));
    }

    #[test]
    fn seeds_draw_other_wordings_of_the_same_turn() {
        let first = |seed: u32| {
            let rule = "[[rule]]\nname = \"a\"\nsay = [\"A\", \"B\"]\n";
            said(&mut person(&format!("seed = {seed}\n{rule}")), &plain(1)).remove(0).1
        };
        let drawn: Vec<String> = (0..40).map(first).collect();
        let of_a = drawn.iter().filter(|text| *text == "A").count();
        assert!((5..=35).contains(&of_a), "{drawn:?}");
    }
}
