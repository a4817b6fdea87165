//! Which sequences are resident in the KV cache, and which are preempted.
//!
//! The KV cache is one dense tensor, so each sequence occupies as many slots as the longest. When
//! the total exceeds the budget, sequences are preempted: their keys and values are dropped, their
//! tokens stay, and they are prefilled again when there is room (preemption by recomputation, Kwon
//! et al. 2023, §4.5). No sequence starves, because
//!
//! 1. the oldest sequence of all is resident whenever it is generating;
//! 2. a sequence that requests room is never overtaken by a younger one.

/// Rows of the cache grow in multiples of this many tokens.
const STEP: usize = 256;

/// What one sequence requests of the cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CacheRequest {
    pub(super) slot: usize,
    /// The order of arrival: older sequences have lower tickets.
    pub(super) ticket: u64,
    /// Tokens that its row must hold.
    pub(super) tokens: usize,
    /// Whether it is generating; else it waits for an observation.
    pub(super) generating: bool,
    /// Whether it has a row in the cache.
    pub(super) resident: bool,
}

impl CacheRequest {
    /// A row of `tokens` tokens that is kept without a sequence.
    pub(super) fn kept(tokens: usize) -> Self {
        Self { slot: usize::MAX, ticket: u64::MAX, tokens, generating: false, resident: true }
    }
}

/// The budget of the cache. A row of `n` tokens costs `n + 1`, its scratch slot included.
#[derive(Debug, Clone, Copy)]
pub(super) struct CacheScheduler {
    /// Tokens of all rows together; at least those of one row of full length.
    pub(super) tokens: usize,
    /// Most tokens of one sequence.
    pub(super) capacity: usize,
}

impl CacheScheduler {
    /// The length of rows, in tokens, in a cache whose longest sequence has `tokens`.
    fn length(&self, tokens: usize) -> usize {
        tokens.next_multiple_of(STEP).min(self.capacity)
    }

    fn holds(&self, rows: usize, length: usize) -> bool {
        rows.saturating_mul(length + 1) <= self.tokens
    }

    /// Whether all of these fit, each with `more` further tokens.
    pub(super) fn holds_all(&self, requests: &[CacheRequest], more: usize) -> bool {
        let longest = requests.iter().map(|request| request.tokens).max().unwrap_or(0);
        self.holds(requests.len(), self.length(longest + more))
    }

    /// The sequences that are to be resident: of those that are, as many as fit, generating ones
    /// first, then by age; then those that request room, by age, while there is some.
    pub(super) fn admit(&self, requests: &[CacheRequest]) -> Vec<CacheRequest> {
        let oldest = requests.iter().map(|request| request.ticket).min();
        let goes_on = |request: &CacheRequest| request.generating && Some(request.ticket) == oldest;
        let (mut inside, mut asking): (Vec<CacheRequest>, Vec<CacheRequest>) =
            requests.iter().copied().partition(|request| request.resident || goes_on(request));
        inside.sort_by_key(|request| (!request.generating, request.ticket));
        let mut outside = Vec::new();
        while !self.holds_all(&inside, 0) {
            outside.extend(inside.pop());
        }
        // A short sequence may have been removed before the long one whose removal was enough.
        for request in outside.into_iter().rev() {
            inside.push(request);
            if !self.holds_all(&inside, 0) {
                inside.pop();
            }
        }

        asking.retain(|request| request.generating);
        asking.sort_by_key(|request| request.ticket);
        for request in asking {
            // With some room to grow, or it would soon be preempted again.
            inside.push(request);
            while !self.holds_all(&inside, STEP) {
                // One sequence must generate; while another one does, the request can wait.
                let last_silent = inside.iter().rposition(|request| !request.generating);
                match last_silent {
                    Some(index)
                        if inside.iter().filter(|request| request.generating).count() == 1 =>
                    {
                        inside.remove(index);
                    }
                    _ => {
                        inside.pop();
                        return inside;
                    }
                }
            }
        }
        inside
    }

    /// The shape `(rows, length)` of a new cache for the sequences `inside`: with room for `rows` of
    /// them, and for them to grow, as far as the budget allows. Where the whole budget `is_taken`
    /// from the start, rows have their full length if it allows that.
    pub(super) fn shape(
        &self,
        inside: &[CacheRequest],
        rows: usize,
        is_taken: bool,
    ) -> (usize, usize) {
        if is_taken && self.holds(rows.max(inside.len()), self.capacity) {
            return (rows.max(inside.len()), self.capacity);
        }
        let longest = inside.iter().map(|request| request.tokens).max().unwrap_or(0);
        let (exact, generous) = (self.length(longest), self.length(longest + longest / 4));
        let most = self.tokens / (exact + 1);
        let rows = rows.min(most).max(inside.len());
        (rows, if self.holds(rows, generous) { generous } else { exact })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn request(slot: usize, tokens: usize, generating: bool, resident: bool) -> CacheRequest {
        CacheRequest { slot, ticket: slot as u64, tokens, generating, resident }
    }

    fn slots(requests: &[CacheRequest]) -> Vec<usize> {
        let mut slots: Vec<usize> = requests.iter().map(|request| request.slot).collect();
        slots.sort_unstable();
        slots
    }

    /// Four rows of 512 tokens, or two of 1024.
    const SCHEDULER: CacheScheduler = CacheScheduler { tokens: 4 * 513, capacity: 2051 };

    #[test]
    fn waiting_sequences_are_preempted_first_then_the_youngest() {
        let mut requests = [
            request(0, 400, false, true),
            request(1, 400, true, true),
            request(2, 400, false, true),
            request(3, 400, true, true),
        ];
        assert_eq!(slots(&SCHEDULER.admit(&requests)), [0, 1, 2, 3]);
        requests[1].tokens = 600; // Two rows fit.
        assert_eq!(slots(&SCHEDULER.admit(&requests)), [1, 3]);
        requests[1].tokens = 2000;
        assert_eq!(slots(&SCHEDULER.admit(&requests)), [1]);
        requests[3].generating = false;
        requests[1].tokens = 600;
        assert_eq!(slots(&SCHEDULER.admit(&requests)), [0, 1]);
    }

    #[test]
    fn long_sequence_is_preempted_for_a_short_one() {
        // The young long sequence is preempted; then there is room for the short one before it.
        let requests = [
            request(0, 500, true, true),
            request(1, 2000, false, true),
            request(2, 100, false, true),
        ];
        assert_eq!(slots(&SCHEDULER.admit(&requests)), [0, 2]);
    }

    #[test]
    fn a_request_waits_for_room_unless_none_generates() {
        let asks = request(7, 100, true, false);
        let full = |generating: bool| {
            let mut requests: Vec<CacheRequest> =
                (1..5).map(|i| request(i, 400, generating, true)).collect();
            requests.push(asks);
            requests
        };
        // The older ones are generating.
        assert_eq!(slots(&SCHEDULER.admit(&full(true))), [1, 2, 3, 4]);
        // They wait: some are preempted, because the new one needs room to grow.
        assert_eq!(slots(&SCHEDULER.admit(&full(false))), [1, 7]);
        // The oldest of all never waits.
        let mut requests = full(true);
        requests[4].slot = 0;
        requests[4].ticket = 0;
        assert_eq!(slots(&SCHEDULER.admit(&requests)), [0, 1, 2, 3]);
    }

    proptest! {
        #[test]
        fn cache_budget_holds_and_the_oldest_sequence_runs(
            given in prop::collection::vec((1_usize..=2051, any::<bool>(), any::<bool>()), 1..20),
            tokens in 2052_usize..20_000,
        ) {
            let room = CacheScheduler { tokens, ..SCHEDULER };
            let requests: Vec<CacheRequest> = given
                .iter()
                .enumerate()
                .map(|(slot, (tokens, generating, resident))| request(slot, *tokens, *generating, *resident))
                .collect();
            let inside = room.admit(&requests);
            for is_taken in [false, true] {
                let (rows, length) = room.shape(&inside, 64, is_taken);
                prop_assert!(rows >= inside.len() && room.holds(rows, length));
                prop_assert!(inside.iter().all(|request| request.tokens <= length));
            }
            let generating = |requests: &[CacheRequest]| requests.iter().any(|request| request.generating);
            prop_assert_eq!(generating(&requests), generating(&inside), "somebody generating if somebody can");
            prop_assert!(!requests[0].generating || inside.contains(&requests[0]));
            // No new resident was preferred to an older request.
            let came = inside.iter().filter(|request| !request.resident).map(|request| request.ticket).max();
            let left_out = |request: &&CacheRequest| request.generating && !request.resident && !inside.contains(request);
            let kept_out = requests.iter().filter(left_out).map(|request| request.ticket).min();
            prop_assert!(came.zip(kept_out).is_none_or(|(came, kept_out)| came < kept_out));
            prop_assert_eq!(slots(&inside).len(), inside.len());
        }
    }
}
