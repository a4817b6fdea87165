//! Questions: walks along relations, in words.

use super::encyclopedia::{Encyclopedia, EntityKind, LISTED};
use super::relation::Relation;
use crate::part::Part;
use rand::RngExt as _;
use rand::seq::IndexedRandom as _;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};
use tasks::stream::Stream;

/// Share of questions whose answer is a set, as in the published benchmark.
const SETS: f64 = 0.65;
/// Share of sealed questions that walk a pair of relations which no training question walks.
const UNSEEN: f64 = 0.5;
/// Walks that are tried for a question.
const WALKS: usize = 200;

/// What is asked at the end of a walk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Asked {
    /// The entity itself.
    Name,
    /// Its year.
    Year,
    /// All subjects of which it is the object of this relation.
    Subjects(Relation),
}

/// One question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SearchQuestion {
    /// The question in words.
    pub question: String,
    /// The answers: one, or the members of the set.
    pub answers: Vec<String>,
    /// Where the walk starts, by position.
    pub start: usize,
    /// The relations that it follows.
    pub path: Vec<Relation>,
    /// What is asked of where it ends.
    pub asked: Asked,
}

impl SearchQuestion {
    /// Relations that must be looked up.
    pub fn hops(&self) -> usize {
        self.path.len() + usize::from(self.asked != Asked::Name)
    }

    /// A search for each hop, and the answer.
    pub(super) fn walk(&self, encyclopedia: &Encyclopedia) -> Vec<String> {
        let (mut turns, _) = self.searches(encyclopedia);
        turns.push(format!("answer[{}]", self.answers.join("; ")));
        turns
    }

    /// The same, but each turn first says what the search before it has found, in the words of the page,
    /// so that every name that it needs stands right before it.
    pub(super) fn expert(&self, encyclopedia: &Encyclopedia) -> Vec<String> {
        let (mut turns, found) = self.searches(encyclopedia);
        // In the order in which the page lists them.
        let last = found.last().map_or("", String::as_str);
        let mut answers = self.answers.clone();
        answers.sort_by_key(|answer| last.rfind(answer));
        turns.push(format!("answer[{}]", answers.join("; ")));
        for (turn, found) in turns.iter_mut().skip(1).zip(found) {
            *turn = format!("{found}\n{turn}");
        }
        turns
    }

    /// The searches of the walk, and the sentence that each of them finds.
    fn searches(&self, encyclopedia: &Encyclopedia) -> (Vec<String>, Vec<String>) {
        let entities = encyclopedia.entities();
        let (mut turns, mut found) = (Vec::new(), Vec::new());
        let mut here = self.start;
        for &relation in &self.path {
            let there = entities[here].facts[&relation];
            turns.push(format!("search[{}]", relation.phrase(&entities[here].name)));
            found.push(relation.sentence(&entities[here].name, &entities[there].name));
            here = there;
        }
        let name = &entities[here].name;
        match self.asked {
            Asked::Name => {}
            Asked::Year => {
                turns.push(format!("search[{name} in the year]"));
                found.extend(encyclopedia.page(here).first().cloned());
            }
            Asked::Subjects(relation) => {
                let (_, list) = relation.inverse(name, "");
                let list = list.trim_end_matches(": .");
                turns.push(format!("search[{list}]"));
                let is_list = |sentence: &&String| sentence.starts_with(&format!("{list}: "));
                found.extend(encyclopedia.page(here).iter().find(is_list).cloned());
            }
        }
        (turns, found)
    }
}

/// The part that a pair of relations, one after the other, belongs to: six in ten training, two
/// dev, two test.
pub(super) fn part_of_pair(first: Relation, second: Relation) -> Part {
    let name = format!("{first:?} {second:?}");
    match Stream::root(0).child("search parts").child(&name).seed() % 10 {
        0..=5 => Part::Train,
        6..=7 => Part::Dev,
        _ => Part::Test,
    }
}

/// The parts of all pairs of a walk.
pub(super) fn pairs(path: &[Relation], asked: Asked) -> Vec<Part> {
    let last = match asked {
        Asked::Subjects(relation) => Some(relation),
        Asked::Name | Asked::Year => None,
    };
    let all: Vec<Relation> = path.iter().copied().chain(last).collect();
    all.windows(2).map(|pair| part_of_pair(pair[0], pair[1])).collect()
}

/// One candidate. What kind of question it is to be is drawn once, and walks until one fits, so that
/// kinds whose walks fit rarely have their share.
pub(super) fn draw(
    encyclopedia: &Encyclopedia,
    part: Part,
    stream: Stream,
) -> Option<SearchQuestion> {
    let mut rng = stream.rng();
    let is_set = rng.random_bool(SETS);
    let is_unseen = part.is_sealed() && rng.random_bool(UNSEEN);
    (0..WALKS).find_map(|_| walk(encyclopedia, part, is_set, is_unseen, &mut rng))
}

/// A question by one walk; `None` if the walk is of another part, or its answer no fair one.
fn walk(
    encyclopedia: &Encyclopedia,
    part: Part,
    is_set: bool,
    is_unseen: bool,
    rng: &mut ChaCha8Rng,
) -> Option<SearchQuestion> {
    let entities = encyclopedia.entities();
    let hops = rng.random_range(2..=4);
    let is_year = !is_set && rng.random_bool(0.3);
    let start = rng.random_range(0..entities.len());
    let length = if is_set || is_year { hops - 1 } else { hops };
    let path = path(entities[start].kind, length, rng)?;
    let mut seen = vec![start];
    for relation in &path {
        let here = *seen.last()?;
        let next = entities[here].facts[relation];
        // A walk that comes back asks for what the question names.
        if seen.contains(&next) {
            return None;
        }
        seen.push(next);
    }
    let end = *seen.last()?;
    let asked = if is_set {
        let fitting: Vec<Relation> = Relation::ALL
            .into_iter()
            .filter(|relation| relation.kinds().1 == entities[end].kind)
            .collect();
        Asked::Subjects(*fitting.choose(rng)?)
    } else if is_year {
        Asked::Year
    } else {
        Asked::Name
    };
    let parts = pairs(&path, asked);
    let is_of_part = parts.iter().all(|&pair| pair == Part::Train || (is_unseen && pair == part));
    if !is_of_part || (is_unseen && !parts.contains(&part)) {
        return None;
    }
    let described = path
        .iter()
        .fold(entities[start].name.clone(), |subject, relation| relation.phrase(&subject));
    let (question, mut answers) = match asked {
        Asked::Name if entities[end].kind == EntityKind::Person => {
            (format!("Who is {described}?"), vec![entities[end].name.clone()])
        }
        Asked::Name => (format!("What is {described}?"), vec![entities[end].name.clone()]),
        Asked::Year => {
            let verb = match entities[end].kind {
                EntityKind::Person => "born",
                EntityKind::Book => "published",
                EntityKind::Town | EntityKind::Institute => "founded",
            };
            let year = entities[end].year.to_string();
            (format!("In which year was {described} {verb}?"), vec![year])
        }
        Asked::Subjects(relation) => {
            let subjects = encyclopedia.subjects(relation, end);
            // A set that contains what the walk went through would give a part of it away.
            if !LISTED.contains(&subjects.len()) || subjects.iter().any(|s| seen.contains(s)) {
                return None;
            }
            let names = subjects.iter().map(|&subject| entities[subject].name.clone()).collect();
            (relation.inverse(&described, "").0, names)
        }
    };
    answers.sort();
    Some(SearchQuestion { question, answers, start, path, asked })
}

/// A path of relations from an entity of this kind.
fn path(kind: EntityKind, length: usize, rng: &mut ChaCha8Rng) -> Option<Vec<Relation>> {
    let mut kind = kind;
    let mut path = Vec::new();
    for _ in 0..length {
        let fitting: Vec<Relation> =
            Relation::ALL.into_iter().filter(|relation| relation.kinds().0 == kind).collect();
        let relation = *fitting.choose(rng)?;
        kind = relation.kinds().1;
        path.push(relation);
    }
    Some(path)
}
