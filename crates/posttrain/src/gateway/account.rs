//! Tokens and money of a run: used, reserved, and how much there may be.

use llm::MicroUsd;

/// What a run may take from chat models; none is no limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Caps {
    /// Tokens read and written.
    pub tokens: Option<u64>,
    /// Money.
    pub cost: Option<MicroUsd>,
}

impl Caps {
    /// Whether there is any.
    pub(super) fn is_any(self) -> bool {
        self.tokens.is_some() || self.cost.is_some()
    }
}

/// What one request may take.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Most {
    pub(super) tokens: u64,
    /// Nothing if the price is unknown.
    pub(super) cost: MicroUsd,
}

/// Which cap has no room for a request, in tokens or millionths of a US dollar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CapReached {
    /// `tokens` or `cost`.
    pub(super) cap: &'static str,
    pub(super) limit: u64,
    pub(super) used: u64,
    /// For requests in flight.
    pub(super) reserved: u64,
    /// What this request may take.
    pub(super) needed: u64,
}

impl CapReached {
    /// What is neither used nor reserved.
    pub(super) fn left(&self) -> u64 {
        self.limit.saturating_sub(self.used).saturating_sub(self.reserved)
    }

    /// Whether there is room once the requests in flight have ended, if they take little.
    pub(super) fn may_fit_later(&self) -> bool {
        self.reserved > 0 && self.needed <= self.limit.saturating_sub(self.used)
    }
}

/// What is used and reserved. `used + reserved` is never above a cap, as long as no request takes more
/// than was reserved for it.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Account {
    pub(super) caps: Caps,
    used: Most,
    reserved: Most,
}

impl Account {
    /// One of which this much is used.
    pub(super) fn new(caps: Caps, used: Most) -> Self {
        Self { caps, used, reserved: Most::default() }
    }

    /// Sets aside what a request may take.
    ///
    /// # Errors
    /// [`CapReached`].
    pub(super) fn reserve(&mut self, most: Most) -> Result<(), CapReached> {
        let MicroUsd(cost) = most.cost;
        for (cap, limit, used, reserved, needed) in [
            ("tokens", self.caps.tokens, self.used.tokens, self.reserved.tokens, most.tokens),
            (
                "cost",
                self.caps.cost.map(|limit| limit.0),
                self.used.cost.0,
                self.reserved.cost.0,
                cost,
            ),
        ] {
            let Some(limit) = limit else { continue };
            // Also a request that needs nothing finds a used-up cap reached.
            if used >= limit || used.saturating_add(reserved).saturating_add(needed) > limit {
                return Err(CapReached { cap, limit, used, reserved, needed });
            }
        }
        self.reserved.tokens = self.reserved.tokens.saturating_add(most.tokens);
        self.reserved.cost.0 = self.reserved.cost.0.saturating_add(cost);
        Ok(())
    }

    /// Books what a request took, of which `most` was set aside.
    pub(super) fn settle(&mut self, most: Most, took: Most) {
        self.reserved.tokens = self.reserved.tokens.saturating_sub(most.tokens);
        self.reserved.cost.0 = self.reserved.cost.0.saturating_sub(most.cost.0);
        self.used.tokens = self.used.tokens.saturating_add(took.tokens);
        self.used.cost.0 = self.used.cost.0.saturating_add(took.cost.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn most(tokens: u64, cost: u64) -> Most {
        Most { tokens, cost: MicroUsd(cost) }
    }

    #[test]
    fn request_beyond_a_cap_is_refused_with_what_is_left() {
        let caps = Caps { tokens: Some(100), cost: Some(MicroUsd(1_000)) };
        let mut account = Account::new(caps, most(30, 0));
        account.reserve(most(50, 900)).unwrap();
        let reached = account.reserve(most(21, 0)).unwrap_err();
        assert_eq!((reached.cap, reached.left(), reached.may_fit_later()), ("tokens", 20, true));
        let reached = account.reserve(most(1, 101)).unwrap_err();
        assert_eq!((reached.cap, reached.left()), ("cost", 100));
        account.settle(most(50, 900), most(10, 50));
        account.reserve(most(60, 950)).unwrap();
        account.settle(most(60, 950), most(60, 950));
        let reached = account.reserve(most(0, 0)).unwrap_err();
        assert_eq!((reached.left(), reached.may_fit_later()), (0, false));
    }

    #[test]
    fn account_without_caps_refuses_nothing() {
        let mut account = Account::new(Caps::default(), most(u64::MAX, u64::MAX));
        assert!(account.reserve(most(u64::MAX, u64::MAX)).is_ok());
    }

    proptest! {
        #[test]
        fn used_and_reserved_never_exceed_a_cap(
            limit in 1u64..1_000,
            requests in prop::collection::vec((0u64..200, 0u64..=100, 0usize..4), 0..100),
        ) {
            let mut account =
                Account::new(Caps { tokens: Some(limit), cost: None }, Most::default());
            let mut flying: Vec<(u64, u64)> = Vec::new();
            for (needed, percent, settled) in requests {
                if account.reserve(most(needed, 0)).is_ok() {
                    flying.push((needed, needed * percent / 100));
                }
                prop_assert!(account.used.tokens + account.reserved.tokens <= limit);
                for _ in 0..settled.min(flying.len()) {
                    let (needed, took) = flying.remove(0);
                    account.settle(most(needed, 0), most(took, 0));
                }
            }
        }
    }
}
