//! Constrained decoding: which tokens may come next in a grammar.

use crate::model::signed;
use llguidance::{Matcher, TokenParser};
use std::fmt;
use tch::Tensor;

/// A grammar and how far a turn has come in it.
#[derive(Clone)]
pub struct Grammar(Matcher);

/// A grammar that cannot be followed, such as one that is too complex at some place.
#[derive(Debug, thiserror::Error)]
#[error("the grammar cannot be followed: {0}")]
pub struct GrammarError(String);

impl Grammar {
    /// A grammar at its beginning.
    pub fn new(parser: TokenParser) -> Self {
        Self(Matcher::new(Ok(parser)))
    }

    /// Forbids all tokens of a row of logits, `[V]`, that cannot come next. Where the text is
    /// complete, the tokens that end a turn can; where nothing may follow, they alone.
    ///
    /// # Errors
    /// [`GrammarError`] if the library gives up.
    pub fn mask(&mut self, row: &mut Tensor) -> Result<(), GrammarError> {
        let allowed = self.0.compute_mask_or_eos().map_err(|error| failed(&error))?;
        let size = row.numel().min(allowed.len());
        let mut forbidden = vec![true; row.numel()];
        for (id, forbidden) in forbidden.iter_mut().enumerate().take(size) {
            *forbidden = !allowed.get(id);
        }
        let forbidden = Tensor::from_slice(&forbidden).to_device(row.device());
        debug_assert_eq!(row.size(), [signed(forbidden.numel())]);
        let _ = row.masked_fill_(&forbidden, f64::NEG_INFINITY);
        Ok(())
    }

    /// Goes on by a token that was sampled.
    ///
    /// # Errors
    /// [`GrammarError`] if the token was not allowed, or the library gives up.
    pub fn accept(&mut self, id: i64) -> Result<(), GrammarError> {
        if self.0.is_stopped() {
            return Ok(());
        }
        let id = u32::try_from(id).map_err(|_| GrammarError(format!("there is no token {id}")))?;
        self.0.consume_token(id).map_err(|error| failed(&error))
    }
}

fn failed(error: &impl fmt::Display) -> GrammarError {
    GrammarError(error.to_string())
}

impl fmt::Debug for Grammar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Grammar").field("stopped", &self.0.is_stopped()).finish_non_exhaustive()
    }
}
