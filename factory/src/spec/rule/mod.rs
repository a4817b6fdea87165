//! The hidden rule: a typed expression over columns, printable as a formula.
//!
//! score = Σ weight · (expression − mean) / spread, over 2 to 5 terms that each carry a real
//! share of the score's variance ([`Rule::shares`]). Expressions are evaluated on a [`Frame`]
//! of clean values: before noise, gaps and other mutations. A printed expression is read back by
//! `text.parse::<Expr>()`.

mod canonical;
mod expression;
mod family;
mod frame;
mod parse;
mod print;
mod skeleton;
mod terms;
mod test;

pub use expression::Expr;
pub use family::Family;
pub use frame::Frame;
pub use parse::ExprError;
pub use terms::{Rule, Term};
pub use test::Test;
