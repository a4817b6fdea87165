//! The log-probabilities of a prompt's tokens.

use super::{Engine, PREFILL_PAIRS, PREFILL_TOKENS};
use crate::generate::sample::score;

/// The most logits that exist at once while a prompt is scored: 64 MiB in f32.
const LOGITS: usize = 1 << 24;

impl Engine {
    /// Prefills all but the last token of each prompt that is to be scored, and scores its tokens
    /// from the second on. The last token is fed by the next decoding step, like a sampled one.
    pub(super) fn score_prompts(&mut self) {
        let unscored = self.generating(|row| {
            let wanted = row.current.as_ref().is_some_and(|current| current.extras.score_prompt);
            wanted && row.details.prompt.is_empty() && row.pending.len() > 1
        });
        for slot in unscored {
            self.score_prompt(slot);
        }
    }

    fn score_prompt(&mut self, slot: usize) {
        let vocab_size = usize::try_from(self.model.config().vocab_size).unwrap_or(LOGITS);
        let row = self.at(slot);
        let top = row.current.as_ref().map_or(0, |current| current.extras.top);
        let at_once = (PREFILL_PAIRS / row.context.len()).clamp(1, PREFILL_TOKENS);
        let at_once = at_once.min(LOGITS / vocab_size).max(1);
        loop {
            let pending = &self.at(slot).pending;
            let width = (pending.len() - 1).min(at_once);
            if width == 0 {
                return;
            }
            let targets = pending[1..=width].to_vec();
            let (hidden, _) = self.feed(&[slot], width); // [width, C]
            let scores = score(&self.model.logits(&hidden), &targets, top);
            let row = self.rows[slot].as_mut().expect("a slot that was fed is taken");
            row.details.prompt.extend(scores);
        }
    }
}
