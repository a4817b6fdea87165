//! Generators that passed their checks, by the slot that they were written for.

use crate::roles::{RoleAuthor, RoleCall};
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// How often fresh rows of one generator are tried before its author is asked for another one.
const REDRAWS: u32 = 2;
/// Refusals of a mechanism that may be the chance of the rows.
const CHANCE: [&str; 6] = [
    "not_recoverable",
    "unlearnable",
    "trivial",
    "gap_within_noise",
    "not_ordered",
    "gold_at_ceiling",
];

/// A generator that passed its checks.
#[derive(Debug, Clone)]
pub(super) struct KeptGenerator {
    /// Its code.
    pub(super) code: String,
    /// Who wrote it.
    pub(super) author: RoleAuthor,
}

/// Generators by slot, each with the number of times that fresh rows were drawn.
#[derive(Debug, Default)]
pub(super) struct KeptGenerators(Mutex<BTreeMap<u64, (KeptGenerator, u32)>>);

impl KeptGenerators {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<u64, (KeptGenerator, u32)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps the generator of a slot.
    pub(super) fn keep(&self, slot: u64, generator: KeptGenerator) {
        self.lock().insert(slot, (generator, 0));
    }

    /// Forgets the generator of a slot.
    pub(super) fn forget(&self, slot: u64) {
        self.lock().remove(&slot);
    }

    /// The generator that serves a call, if a new one is not needed: the first call of an attempt
    /// that nothing but chance made necessary. After [`REDRAWS`] refusals it is no longer chance.
    pub(super) fn reused(&self, slot: u64, call: RoleCall<'_>) -> Option<KeptGenerator> {
        if call.index > 0 {
            return None;
        }
        let mut generators = self.lock();
        let (generator, redraws) = generators.get_mut(&slot)?;
        if let Some(feedback) = call.feedback {
            if !CHANCE.contains(&feedback.code) || *redraws == REDRAWS {
                return None;
            }
            *redraws += 1;
        }
        Some(generator.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::roles::{RoleFeedback, RoleName, WorkPermits};

    #[test]
    fn generator_is_reused_unless_it_is_to_blame() {
        let kept = KeptGenerators::default();
        let author = RoleAuthor { model: "a:b".to_owned(), prompt: String::new() };
        kept.keep(3, KeptGenerator { code: "x".to_owned(), author });
        let permits = WorkPermits::new(1);
        let permit = permits.acquire();
        let reused = |slot, index, code: Option<&'static str>| {
            let feedback = code.map(|code| RoleFeedback {
                role: RoleName::Developer,
                code,
                detail: String::new(),
            });
            let call = RoleCall { index, feedback: feedback.as_ref(), permit: &permit };
            kept.reused(slot, call).is_some()
        };
        assert!(!reused(4, 0, None));
        assert!(reused(3, 0, None) && !reused(3, 1, None));
        assert!(!reused(3, 0, Some("near_copy")));
        let chances = [(); 4].map(|()| reused(3, 0, Some("gap_within_noise")));
        assert_eq!(chances, [true, true, false, false]);
        kept.forget(3);
        assert!(!reused(3, 0, None));
    }
}
