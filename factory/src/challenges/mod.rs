//! Rows whose answer has a form of its own and comes from no scored rule, such as texts.
//!
//! A [`Challenge`] draws rows together with their answers and fits the rungs that solve them to
//! the training rows. Its settings are part of the blueprint
//! ([`ChallengeRule`](crate::spec::challenge::ChallengeRule)).

mod challenge;
mod distinct;
mod extraction;
mod groups;
mod kind;
mod names;
mod normalisation;
mod numerals;
mod positions;
#[cfg(test)]
mod python;
mod reading;
mod recommendation;
mod remarks;
mod retrieval;
mod speech;
mod strategy;
mod tagger;
#[cfg(test)]
mod trial;

pub use challenge::{Answer, Cells, Challenge, DrawnRow, Material, Strengths};
pub use strategy::strategise;
