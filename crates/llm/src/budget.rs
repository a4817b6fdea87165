//! Money that is spent and reserved, under a limit.

use crate::chat::ChatError;
use crate::price::MicroUsd;

/// Money of a run. `spent + reserved <= limit` holds at every moment, as long as no call costs more
/// than was reserved for it.
#[derive(Debug, Clone, Default)]
pub(crate) struct MoneyAccount {
    limit: Option<MicroUsd>,
    spent: MicroUsd,
    reserved: MicroUsd,
    /// Why no call may be made any more, although money is left.
    closed: Option<String>,
}

impl MoneyAccount {
    /// An account that has spent `spent` before, with a limit for all of it.
    pub(crate) fn new(limit: Option<MicroUsd>, spent: MicroUsd) -> Self {
        Self { limit, spent, ..Self::default() }
    }

    /// The most that may be spent, over all runs of the account; `None` without a limit.
    pub(crate) fn limit(&self) -> Option<MicroUsd> {
        self.limit
    }

    /// What has been booked so far, reservations of calls in flight not included.
    pub(crate) fn spent(&self) -> MicroUsd {
        self.spent
    }

    /// Sets aside the most that a call can cost, before it is sent.
    ///
    /// # Errors
    /// [`ChatError::Budget`] if it could exceed the limit.
    pub(crate) fn reserve(&mut self, most: MicroUsd) -> Result<(), ChatError> {
        if let Some(reason) = &self.closed {
            return Err(ChatError::Budget { reason: reason.clone() });
        }
        let total = self.spent.0.saturating_add(self.reserved.0).saturating_add(most.0);
        if let Some(limit) = self.limit.filter(|limit| total > limit.0) {
            let reason = format!(
                "{} of {limit} are spent, {} are reserved for calls in flight, and the next call may \
                 cost {most}; go on with a higher budget",
                self.spent, self.reserved
            );
            return Err(ChatError::Budget { reason });
        }
        self.reserved.0 = self.reserved.0.saturating_add(most.0);
        Ok(())
    }

    /// Whether there may be room for a call once calls in flight are settled for less than was
    /// reserved for them.
    pub(crate) fn may_fit_later(&self, most: MicroUsd) -> bool {
        let alone = self.spent.0.saturating_add(most.0);
        self.closed.is_none()
            && self.reserved.0 > 0
            && self.limit.is_none_or(|limit| alone <= limit.0)
    }

    /// Books `cost` in place of the reservation of `most`. If it is more, the provider counts in a
    /// way that breaks the promise above: no further call is made, and the reason is returned.
    pub(crate) fn settle(&mut self, most: MicroUsd, cost: MicroUsd) -> Option<&str> {
        self.reserved.0 = self.reserved.0.saturating_sub(most.0);
        self.spent.0 = self.spent.0.saturating_add(cost.0);
        if cost <= most {
            return None;
        }
        if self.limit.is_some() {
            self.closed = Some(format!(
                "a call cost {cost}, and at most {most} was possible by its length and `max_tokens`; \
                 check the provider's counts before going on"
            ));
        }
        self.closed.as_deref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn reserve_beyond_the_limit_is_refused() {
        let mut money = MoneyAccount::new(Some(MicroUsd(100)), MicroUsd(30));
        money.reserve(MicroUsd(70)).unwrap();
        let error = money.reserve(MicroUsd(1)).unwrap_err();
        assert!(
            matches!(&error, ChatError::Budget { reason } if reason.contains("$0.000070 are reserved"))
        );
        assert_eq!(money.settle(MicroUsd(70), MicroUsd(10)), None);
        money.reserve(MicroUsd(60)).unwrap();
    }

    #[test]
    fn call_may_fit_later_if_calls_in_flight_hold_what_it_needs() {
        let mut money = MoneyAccount::new(Some(MicroUsd(100)), MicroUsd(30));
        assert!(!money.may_fit_later(MicroUsd(71)), "no call is in flight");
        money.reserve(MicroUsd(60)).unwrap();
        assert!(money.may_fit_later(MicroUsd(70)));
        assert!(!money.may_fit_later(MicroUsd(71)), "what is spent is never free again");
        money.settle(MicroUsd(60), MicroUsd(61));
        assert!(!money.may_fit_later(MicroUsd(1)), "the account is closed");
    }

    #[test]
    fn settle_above_the_reservation_closes_the_account() {
        let mut money = MoneyAccount::new(Some(MicroUsd(1000)), MicroUsd(0));
        money.reserve(MicroUsd(10)).unwrap();
        assert!(money.settle(MicroUsd(10), MicroUsd(30)).is_some());
        assert!(matches!(money.reserve(MicroUsd(1)), Err(ChatError::Budget { .. })));
        assert_eq!(money.spent(), MicroUsd(30));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]
        #[test]
        fn spent_and_reserved_never_exceed_the_limit(
            limit in 0u64..1000,
            calls in prop::collection::vec((0u64..200, 0u64..=100, 0usize..4), 0..100),
        ) {
            let mut money = MoneyAccount::new(Some(MicroUsd(limit)), MicroUsd(0));
            let mut flying: Vec<(u64, u64)> = Vec::new();
            for (most, percent, settled) in calls {
                if money.reserve(MicroUsd(most)).is_ok() {
                    flying.push((most, most * percent / 100));
                }
                prop_assert!(money.spent.0 + money.reserved.0 <= limit);
                for _ in 0..settled.min(flying.len()) {
                    let (most, cost) = flying.remove(0);
                    prop_assert!(money.settle(MicroUsd(most), MicroUsd(cost)).is_none());
                }
                let reserved: u64 = flying.iter().map(|(most, _)| most).sum();
                prop_assert_eq!(money.reserved.0, reserved);
            }
        }
    }
}
