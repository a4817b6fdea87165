//! The relations between entities, and how they are worded.

use super::encyclopedia::EntityKind;
use serde::{Deserialize, Serialize};

/// A relation with one object for each subject.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Relation {
    /// Of a person: a town.
    BornIn,
    /// Of a person: an institute.
    WorksAt,
    /// Of a person: another person.
    TaughtBy,
    /// Of a town: a person.
    Mayor,
    /// Of a town: another town.
    TwinTown,
    /// Of a book: a person.
    Author,
    /// Of a book: a town.
    SetIn,
    /// Of a book: an institute.
    Publisher,
    /// Of an institute: a town.
    Seat,
    /// Of an institute: a person.
    Founder,
}

impl Relation {
    /// All relations.
    pub const ALL: [Self; 10] = [
        Self::BornIn,
        Self::WorksAt,
        Self::TaughtBy,
        Self::Mayor,
        Self::TwinTown,
        Self::Author,
        Self::SetIn,
        Self::Publisher,
        Self::Seat,
        Self::Founder,
    ];

    /// The kinds of subject and object.
    pub(super) fn kinds(self) -> (EntityKind, EntityKind) {
        use EntityKind::{Book, Institute, Person, Town};
        match self {
            Self::BornIn => (Person, Town),
            Self::WorksAt => (Person, Institute),
            Self::TaughtBy => (Person, Person),
            Self::Mayor => (Town, Person),
            Self::TwinTown => (Town, Town),
            Self::Author => (Book, Person),
            Self::SetIn => (Book, Town),
            Self::Publisher => (Book, Institute),
            Self::Seat => (Institute, Town),
            Self::Founder => (Institute, Person),
        }
    }

    /// The object of `subject`, described: `the author of Grey Water`.
    pub(super) fn phrase(self, subject: &str) -> String {
        match self {
            Self::BornIn => format!("the birthplace of {subject}"),
            Self::WorksAt => format!("the institute that employs {subject}"),
            Self::TaughtBy => format!("the teacher of {subject}"),
            Self::Mayor => format!("the mayor of {subject}"),
            Self::TwinTown => format!("the twin town of {subject}"),
            Self::Author => format!("the author of {subject}"),
            Self::SetIn => format!("the setting of {subject}"),
            Self::Publisher => format!("the publisher of {subject}"),
            Self::Seat => format!("the seat of {subject}"),
            Self::Founder => format!("the founder of {subject}"),
        }
    }

    /// A sentence of the subject's page.
    pub(super) fn sentence(self, subject: &str, object: &str) -> String {
        match self {
            Self::BornIn => format!("The birthplace of {subject} is {object}."),
            Self::WorksAt => format!("The institute that employs {subject} is {object}."),
            Self::TaughtBy => format!("The teacher of {subject} was {object}."),
            Self::Mayor => format!("The mayor of {subject} is {object}."),
            Self::TwinTown => format!("The twin town of {subject} is {object}."),
            Self::Author => format!("The author of {subject} is {object}."),
            Self::SetIn => format!("The setting of {subject} is the town of {object}."),
            Self::Publisher => format!("The publisher of {subject} is {object}."),
            Self::Seat => format!("The seat of {subject} is in {object}."),
            Self::Founder => format!("The founder of {subject} was {object}."),
        }
    }

    /// The subjects of an object, asked for: `Which books have Ada Fenn as their author?`; and the
    /// sentence that lists them on the object's page.
    pub(super) fn inverse(self, object: &str, subjects: &str) -> (String, String) {
        let (what, list) = match self {
            Self::BornIn => ("people were born in", "People born in"),
            Self::WorksAt => ("people are employed by", "People employed by"),
            Self::TaughtBy => ("people were students of", "Students of"),
            Self::Mayor => ("towns are governed by", "Towns governed by"),
            Self::TwinTown => ("towns have as their twin", "Towns with the twin"),
            Self::Author => ("books were written by", "Books written by"),
            Self::SetIn => ("books are set in", "Books set in"),
            Self::Publisher => ("books were published by", "Books published by"),
            Self::Seat => ("institutes have their seat in", "Institutes with their seat in"),
            Self::Founder => ("institutes were founded by", "Institutes founded by"),
        };
        (format!("Which {what} {object}?"), format!("{list} {object}: {subjects}."))
    }
}
