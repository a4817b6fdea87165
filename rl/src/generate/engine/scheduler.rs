//! Who has room in the cache, and who gives way.
//!
//! Every conversation in the cache costs as much as the longest one, for they lie in one grid. When
//! that is more than the budget, conversations are put out: their keys and values are dropped,
//! their tokens stay, and they are read again when there is room (preemption by recomputation,
//! Kwon et al. 2023, §4.5). Nobody waits forever, because
//!
//! 1. the oldest conversation of all, whenever it has something to say, is in and stays in;
//! 2. nobody who waits for room is overtaken by a younger one.

/// The grid grows by so many tokens per row.
const STEP: usize = 256;

/// What one conversation asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Claim {
    pub(super) slot: usize,
    /// Older conversations have lower ones.
    pub(super) ticket: u64,
    /// How long its row has to be.
    pub(super) tokens: usize,
    /// Whether it generates; else it waits to be answered.
    pub(super) speaks: bool,
    /// Whether it has a row.
    pub(super) is_in: bool,
}

/// The budget. A row of `n` tokens costs `n + 1`, its scratch place included.
#[derive(Debug, Clone, Copy)]
pub(super) struct Room {
    /// Tokens of all rows together; at least those of one row of full length.
    pub(super) tokens: usize,
    /// Tokens of the longest conversation.
    pub(super) capacity: usize,
}

impl Room {
    /// The length of rows in a grid whose longest conversation has `tokens`.
    fn length(&self, tokens: usize) -> usize {
        tokens.next_multiple_of(STEP).min(self.capacity)
    }

    fn holds(&self, rows: usize, length: usize) -> bool {
        rows.saturating_mul(length + 1) <= self.tokens
    }

    fn holds_all(&self, claims: &[Claim], more: usize) -> bool {
        let longest = claims.iter().map(|claim| claim.tokens).max().unwrap_or(0);
        self.holds(claims.len(), self.length(longest + more))
    }

    /// Who is to be in the cache: of those in it as many as fit, first those that speak, older ones
    /// first; then those that ask for room, as long as there is some.
    pub(super) fn admit(&self, claims: &[Claim]) -> Vec<Claim> {
        let oldest = claims.iter().map(|claim| claim.ticket).min();
        let goes_on = |claim: &Claim| claim.speaks && Some(claim.ticket) == oldest;
        let (mut inside, mut asking): (Vec<Claim>, Vec<Claim>) =
            claims.iter().copied().partition(|claim| claim.is_in || goes_on(claim));
        inside.sort_by_key(|claim| (!claim.speaks, claim.ticket));
        let mut outside = Vec::new();
        while !self.holds_all(&inside, 0) {
            outside.extend(inside.pop());
        }
        // A short one may have gone in vain before the long one that made the difference.
        for claim in outside.into_iter().rev() {
            inside.push(claim);
            if !self.holds_all(&inside, 0) {
                inside.pop();
            }
        }

        asking.retain(|claim| claim.speaks);
        asking.sort_by_key(|claim| claim.ticket);
        for claim in asking {
            // With some room to grow, or it would soon be out again.
            inside.push(claim);
            while !self.holds_all(&inside, STEP) {
                // Somebody must speak; as long as somebody else does, who asks can wait.
                let last_silent = inside.iter().rposition(|claim| !claim.speaks);
                match last_silent {
                    Some(index) if inside.iter().filter(|claim| claim.speaks).count() == 1 => {
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

    /// The shape `(rows, length)` of a new grid for the conversations `inside`: with room for
    /// `rows` of them, and for them to grow, as far as the budget goes.
    pub(super) fn shape(&self, inside: &[Claim], rows: usize) -> (usize, usize) {
        let longest = inside.iter().map(|claim| claim.tokens).max().unwrap_or(0);
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

    fn claim(slot: usize, tokens: usize, speaks: bool, is_in: bool) -> Claim {
        Claim { slot, ticket: slot as u64, tokens, speaks, is_in }
    }

    fn slots(claims: &[Claim]) -> Vec<usize> {
        let mut slots: Vec<usize> = claims.iter().map(|claim| claim.slot).collect();
        slots.sort_unstable();
        slots
    }

    /// Four rows of 512 tokens, or two of 1024.
    const ROOM: Room = Room { tokens: 4 * 513, capacity: 2051 };

    #[test]
    fn who_waits_gives_way_first_and_the_latest_before_the_others() {
        let mut claims = [
            claim(0, 400, false, true),
            claim(1, 400, true, true),
            claim(2, 400, false, true),
            claim(3, 400, true, true),
        ];
        assert_eq!(slots(&ROOM.admit(&claims)), [0, 1, 2, 3]);
        claims[1].tokens = 600; // Two rows fit.
        assert_eq!(slots(&ROOM.admit(&claims)), [1, 3]);
        claims[1].tokens = 2000;
        assert_eq!(slots(&ROOM.admit(&claims)), [1]);
        claims[3].speaks = false;
        claims[1].tokens = 600;
        assert_eq!(slots(&ROOM.admit(&claims)), [0, 1]);
    }

    #[test]
    fn nobody_gives_way_in_vain() {
        // The young long one must go; then there is room again for the short one before it.
        let claims =
            [claim(0, 500, true, true), claim(1, 2000, false, true), claim(2, 100, false, true)];
        assert_eq!(slots(&ROOM.admit(&claims)), [0, 2]);
    }

    #[test]
    fn who_asks_waits_for_room_unless_nobody_speaks() {
        let asks = claim(7, 100, true, false);
        let full = |speaks: bool| {
            let mut claims: Vec<Claim> = (1..5).map(|i| claim(i, 400, speaks, true)).collect();
            claims.push(asks);
            claims
        };
        // The older ones are at work.
        assert_eq!(slots(&ROOM.admit(&full(true))), [1, 2, 3, 4]);
        // They wait: some go, for the newcomer needs room to grow.
        assert_eq!(slots(&ROOM.admit(&full(false))), [1, 7]);
        // The oldest of all waits for nobody.
        let mut claims = full(true);
        claims[4].slot = 0;
        claims[4].ticket = 0;
        assert_eq!(slots(&ROOM.admit(&claims)), [0, 1, 2, 3]);
    }

    proptest! {
        #[test]
        fn the_budget_holds_and_the_oldest_goes_on(
            given in prop::collection::vec((1_usize..=2051, any::<bool>(), any::<bool>()), 1..20),
            tokens in 2052_usize..20_000,
        ) {
            let room = Room { tokens, ..ROOM };
            let claims: Vec<Claim> = given
                .iter()
                .enumerate()
                .map(|(slot, (tokens, speaks, is_in))| claim(slot, *tokens, *speaks, *is_in))
                .collect();
            let inside = room.admit(&claims);
            let (rows, length) = room.shape(&inside, 64);
            prop_assert!(rows >= inside.len() && room.holds(rows, length));
            prop_assert!(inside.iter().all(|claim| claim.tokens <= length));
            let speaks = |claims: &[Claim]| claims.iter().any(|claim| claim.speaks);
            prop_assert_eq!(speaks(&claims), speaks(&inside), "somebody speaks if somebody can");
            prop_assert!(!claims[0].speaks || inside.contains(&claims[0]));
            // Nobody who came in was preferred to an older one that asked.
            let came = inside.iter().filter(|claim| !claim.is_in).map(|claim| claim.ticket).max();
            let left_out = |claim: &&Claim| claim.speaks && !claim.is_in && !inside.contains(claim);
            let kept_out = claims.iter().filter(left_out).map(|claim| claim.ticket).min();
            prop_assert!(came.zip(kept_out).is_none_or(|(came, kept_out)| came < kept_out));
            prop_assert_eq!(slots(&inside).len(), inside.len());
        }
    }
}
