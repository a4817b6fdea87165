//! The entities, what is true of them, and the pages and index that say so.

use super::names;
use super::relation::Relation;
use crate::bm25::Index;
use crate::grams::words;
use crate::kind::Scale;
use rand::RngExt as _;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use tasks::stream::Stream;

/// Pages that a search shows.
const SHOWN: usize = 3;
/// Words of a snippet, at most.
const SNIPPET: usize = 40;
/// Subjects that a page lists; of more it says nothing.
pub(super) const LISTED: std::ops::RangeInclusive<usize> = 2..=4;

/// What an entity is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EntityKind {
    /// Somebody.
    Person,
    /// Somewhere.
    Town,
    /// Something to read.
    Book,
    /// An academy, a publisher, a society.
    Institute,
}

/// An entity with what is true of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entity {
    /// Its name, which no other entity has.
    pub name: String,
    /// What it is.
    pub kind: EntityKind,
    /// The year in which it was born, founded or published.
    pub year: u32,
    /// The object of each relation, by position.
    pub facts: BTreeMap<Relation, usize>,
}

/// All entities, with their pages and the index.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "EncyclopediaFile", into = "EncyclopediaFile")]
pub struct Encyclopedia {
    entities: Vec<Entity>,
    /// The sentences of each page.
    pages: Vec<Vec<String>>,
    index: Index,
}

/// An encyclopedia as it is written.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct EncyclopediaFile {
    entities: Vec<Entity>,
}

impl TryFrom<EncyclopediaFile> for Encyclopedia {
    type Error = String;
    fn try_from(file: EncyclopediaFile) -> Result<Self, String> {
        let known = file.entities.len();
        match file.entities.iter().find(|entity| entity.facts.values().any(|&to| to >= known)) {
            Some(entity) => Err(format!("a fact of `{}` is about no entity", entity.name)),
            None => Ok(Self::new(file.entities)),
        }
    }
}

impl From<Encyclopedia> for EncyclopediaFile {
    fn from(encyclopedia: Encyclopedia) -> Self {
        Self { entities: encyclopedia.entities }
    }
}

impl Encyclopedia {
    /// Writes the pages of these entities.
    fn new(entities: Vec<Entity>) -> Self {
        let pages: Vec<Vec<String>> =
            (0..entities.len()).map(|entity| page(&entities, entity)).collect();
        let texts: Vec<String> = pages.iter().map(|page| page.join(" ")).collect();
        let index = Index::new(texts.iter().map(String::as_str));
        Self { entities, pages, index }
    }

    /// The entities.
    pub fn entities(&self) -> &[Entity] {
        &self.entities
    }

    /// The sentences of a page.
    pub(super) fn page(&self, entity: usize) -> &[String] {
        &self.pages[entity]
    }

    /// The entities of which `object` is the object of a relation.
    pub(super) fn subjects(&self, relation: Relation, object: usize) -> Vec<usize> {
        subjects(&self.entities, relation, object)
    }

    /// Up to three snippets for a query, a line each.
    pub(super) fn search(&self, query: &str) -> String {
        let asked: BTreeSet<String> = words(query).into_iter().collect();
        let hits = self.index.search(query, SHOWN);
        let snippets: Vec<String> = hits
            .into_iter()
            .map(|hit| format!("{}: {}", self.entities[hit].name, self.snippet(hit, &asked)))
            .collect();
        if snippets.is_empty() { "Nothing was found.".to_owned() } else { snippets.join("\n") }
    }

    /// The sentences of a page that have the most words that were asked for, in their order, as far
    /// as there is room.
    fn snippet(&self, entity: usize, asked: &BTreeSet<String>) -> String {
        let page = self.page(entity);
        let score = |sentence: &String| {
            let found: BTreeSet<String> = words(sentence).into_iter().collect();
            found.intersection(asked).count()
        };
        let mut ranked: Vec<usize> = (0..page.len()).collect();
        ranked.sort_by_key(|&sentence| (std::cmp::Reverse(score(&page[sentence])), sentence));
        let mut room = SNIPPET;
        let mut chosen = BTreeSet::new();
        for sentence in ranked {
            let length = page[sentence].split_whitespace().count();
            if length <= room {
                room -= length;
                chosen.insert(sentence);
            }
        }
        chosen.into_iter().map(|sentence| page[sentence].as_str()).collect::<Vec<_>>().join(" ")
    }
}

fn subjects(entities: &[Entity], relation: Relation, object: usize) -> Vec<usize> {
    (0..entities.len())
        .filter(|&entity| entities[entity].facts.get(&relation) == Some(&object))
        .collect()
}

/// The sentences of an entity's page: what it is, each of its facts, and short lists of what it is
/// the object of.
fn page(entities: &[Entity], position: usize) -> Vec<String> {
    let entity = &entities[position];
    let Entity { name, year, .. } = entity;
    let mut sentences = vec![match entity.kind {
        EntityKind::Person => format!("{name} was born in the year {year}."),
        EntityKind::Town => format!("{name} is a town that was founded in the year {year}."),
        EntityKind::Book => format!("{name} is a book that was published in the year {year}."),
        EntityKind::Institute => format!("{name} was founded in the year {year}."),
    }];
    for (relation, &object) in &entity.facts {
        sentences.push(relation.sentence(name, &entities[object].name));
    }
    for relation in Relation::ALL {
        let subjects = subjects(entities, relation, position);
        if LISTED.contains(&subjects.len()) {
            let names: Vec<&str> =
                subjects.iter().map(|&subject| entities[subject].name.as_str()).collect();
            sentences.push(relation.inverse(name, &names.join(", ")).1);
        }
    }
    sentences
}

/// Entities of each kind.
fn counts(scale: Scale) -> [(EntityKind, usize); 4] {
    let [people, towns, books, institutes] = match scale {
        Scale::Tiny => [40, 24, 40, 20],
        Scale::Full => [300, 100, 300, 80],
    };
    [
        (EntityKind::Person, people),
        (EntityKind::Town, towns),
        (EntityKind::Book, books),
        (EntityKind::Institute, institutes),
    ]
}

/// Draws an encyclopedia. No two entities have the same name.
pub(super) fn draw(scale: Scale, stream: Stream) -> Encyclopedia {
    let mut rng = stream.rng();
    let mut taken = BTreeSet::new();
    let mut entities = Vec::new();
    let mut of_kind: BTreeMap<EntityKind, Vec<usize>> = BTreeMap::new();
    for (kind, count) in counts(scale) {
        let positions = of_kind.entry(kind).or_default();
        while positions.len() < count {
            let name = names::name(kind, &mut rng);
            if taken.insert(name.clone()) {
                positions.push(entities.len());
                let year = rng.random_range(1801..=1990);
                entities.push(Entity { name, kind, year, facts: BTreeMap::new() });
            }
        }
    }
    for (position, entity) in entities.iter_mut().enumerate() {
        for relation in Relation::ALL {
            let (subject, object) = relation.kinds();
            if entity.kind == subject {
                let among = &of_kind[&object];
                // Nobody is their own teacher, and no town its own twin.
                let others: Vec<usize> =
                    among.iter().copied().filter(|&other| other != position).collect();
                let chosen = others[rng.random_range(0..others.len())];
                entity.facts.insert(relation, chosen);
            }
        }
    }
    Encyclopedia::new(entities)
}
