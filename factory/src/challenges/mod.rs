//! Rows whose answer has a form of its own and comes from no scored rule, such as texts.
//!
//! A [`Challenge`] draws rows together with their answers and fits the rungs that solve them to
//! the training rows. Its settings are part of the blueprint
//! ([`ChallengeRule`](crate::spec::challenge::ChallengeRule)).

mod challenge;
mod distinct;
mod kind;
mod normalisation;
mod numerals;
mod reading;
mod speech;
mod strategy;

pub use challenge::{Answer, Cells, Challenge, DrawnRow, Material, Strengths};
pub use strategy::strategise;
