//! How many calls of an endpoint run at once, which waiting call is next, and when none may start.
//!
//! Concurrency adapts. It starts at 8 and grows by one with every success until the server first
//! refuses a call; then it shrinks by a quarter, at most once in two seconds, and grows by one after
//! 25 successes. Calls of lower slots go first.

use crate::endpoint::Endpoint;
use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::Instant;

const START: usize = 8;
const SUCCESSES: u32 = 25;
const SHRINK: f64 = 0.75;
const SHRINK_PAUSE: Duration = Duration::from_secs(2);
/// A limit per minute may be used up to ten seconds ahead.
const BURST_SHARE: f64 = 1.0 / 6.0;

/// The limits of one endpoint, shared by all of its calls.
#[derive(Debug)]
pub(crate) struct Limiter {
    most: usize,
    state: Mutex<LimiterState>,
    changed: Notify,
}

#[derive(Debug)]
struct LimiterState {
    allowed: usize,
    /// No call has been refused yet.
    starting: bool,
    running: usize,
    /// Slot and ticket of each waiting call.
    waiting: BTreeSet<(u64, u64)>,
    tickets: u64,
    successes: u32,
    next_shrink: Option<Instant>,
    held_until: Option<Instant>,
    requests: Option<TokenBucket>,
    tokens: Option<TokenBucket>,
}

/// What is left of a limit per minute.
#[derive(Debug)]
struct TokenBucket {
    per_second: f64,
    capacity: f64,
    level: f64,
    updated: Instant,
}

impl TokenBucket {
    /// `None` for no limit.
    fn new(per_minute: u32, now: Instant) -> Option<Self> {
        let capacity = (f64::from(per_minute) * BURST_SHARE).max(1.0);
        let per_second = f64::from(per_minute) / 60.0;
        (per_minute > 0).then_some(Self { per_second, capacity, level: capacity, updated: now })
    }

    /// The time until `amount` may be taken. An amount above the capacity waits until the bucket is
    /// full, and is paid off by later calls.
    fn wait(&mut self, amount: f64, now: Instant) -> Duration {
        let gained = now.duration_since(self.updated).as_secs_f64() * self.per_second;
        self.level = (self.level + gained).min(self.capacity);
        self.updated = now;
        let missing = amount.min(self.capacity) - self.level;
        Duration::try_from_secs_f64(missing / self.per_second).unwrap_or(Duration::ZERO)
    }
}

/// The right to make one call. It ends when it is dropped.
#[derive(Debug)]
pub(crate) struct CallPermit<'a> {
    limiter: &'a Limiter,
    tokens: f64,
}

impl CallPermit<'_> {
    /// Gives up a call that was not made. It does not count towards the limits per minute.
    pub(crate) fn give_up(self) {
        let mut state = self.limiter.state();
        if let Some(bucket) = &mut state.requests {
            bucket.level += 1.0;
        }
        if let Some(bucket) = &mut state.tokens {
            bucket.level += self.tokens;
        }
    }
}

impl Drop for CallPermit<'_> {
    fn drop(&mut self) {
        self.limiter.state().running -= 1;
        self.limiter.changed.notify_waiters();
    }
}

/// A place in the queue. It is left when it is dropped.
struct QueuePlace<'a> {
    limiter: &'a Limiter,
    place: (u64, u64),
}

impl Drop for QueuePlace<'_> {
    fn drop(&mut self) {
        self.limiter.state().waiting.remove(&self.place);
        self.limiter.changed.notify_waiters();
    }
}

impl Limiter {
    /// The limits of `endpoint`.
    pub(crate) fn new(endpoint: &Endpoint) -> Self {
        let now = Instant::now();
        let state = LimiterState {
            allowed: endpoint.concurrency.min(START),
            starting: true,
            running: 0,
            waiting: BTreeSet::new(),
            tickets: 0,
            successes: 0,
            next_shrink: None,
            held_until: None,
            requests: TokenBucket::new(endpoint.requests_per_minute, now),
            tokens: TokenBucket::new(endpoint.tokens_per_minute, now),
        };
        Self { most: endpoint.concurrency, state: Mutex::new(state), changed: Notify::new() }
    }

    fn state(&self) -> MutexGuard<'_, LimiterState> {
        // No code below panics while it holds the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until a call of `slot` that takes about `tokens` tokens may start.
    pub(crate) async fn acquire(&self, slot: u64, tokens: u64) -> CallPermit<'_> {
        let place = {
            let mut state = self.state();
            state.tickets += 1;
            let place = (slot, state.tickets);
            state.waiting.insert(place);
            place
        };
        let tokens = tokens as f64;
        let _queued = QueuePlace { limiter: self, place };
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            // From here on a change is not missed.
            changed.as_mut().enable();
            match self.try_start(place, tokens) {
                Start::Now => return CallPermit { limiter: self, tokens },
                Start::AfterChange => changed.await,
                Start::At(time) => {
                    tokio::select! {
                        () = changed => {}
                        () = tokio::time::sleep_until(time) => {}
                    }
                }
            }
        }
    }

    fn try_start(&self, place: (u64, u64), tokens: f64) -> Start {
        let now = Instant::now();
        let mut state = self.state();
        if state.running >= state.allowed || state.waiting.first() != Some(&place) {
            return Start::AfterChange;
        }
        if let Some(until) = state.held_until {
            if now < until {
                return Start::At(until);
            }
            state.held_until = None;
        }
        let requests_wait = state.requests.as_mut().map_or(Duration::ZERO, |b| b.wait(1.0, now));
        let tokens_wait = state.tokens.as_mut().map_or(Duration::ZERO, |b| b.wait(tokens, now));
        let wait = requests_wait.max(tokens_wait);
        if !wait.is_zero() {
            return Start::At(now + wait);
        }
        if let Some(bucket) = &mut state.requests {
            bucket.level -= 1.0;
        }
        if let Some(bucket) = &mut state.tokens {
            bucket.level -= tokens;
        }
        state.running += 1;
        Start::Now
    }

    /// Counts an answer.
    pub(crate) fn succeeded(&self) {
        let mut state = self.state();
        state.successes += 1;
        if (state.starting || state.successes >= SUCCESSES) && state.allowed < self.most {
            state.allowed += 1;
            state.successes = 0;
            drop(state);
            self.changed.notify_waiters();
        }
    }

    /// Counts a call that the server refused because it has too many, and asked to come back after
    /// `after`.
    pub(crate) fn refused(&self, after: Option<Duration>) {
        let now = Instant::now();
        let mut state = self.state();
        state.starting = false;
        state.successes = 0;
        if state.next_shrink.is_none_or(|next| next <= now) {
            state.allowed = shrunk(state.allowed);
            state.next_shrink = Some(now + after.unwrap_or(SHRINK_PAUSE));
        }
    }

    /// Starts no call for `time`.
    pub(crate) fn hold(&self, time: Duration) {
        let until = Instant::now() + time;
        let mut state = self.state();
        state.held_until = Some(state.held_until.map_or(until, |held| held.max(until)));
    }
}

fn shrunk(allowed: usize) -> usize {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a share of at most 1024"
    )]
    let shrunk = (allowed as f64 * SHRINK) as usize;
    shrunk.max(1)
}

enum Start {
    Now,
    AfterChange,
    At(Instant),
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::endpoints::Endpoints;
    use std::sync::Arc;

    fn limiter(settings: &str) -> Limiter {
        let text = format!(
            "[endpoint.x]\nprotocol = \"openai\"\nbase_url = \"http://localhost:1\"\n{settings}"
        );
        Limiter::new(&Endpoints::from_toml(&text).unwrap().endpoint("x").unwrap())
    }

    fn run(test: impl Future<Output = ()>) {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        runtime.enable_time().start_paused(true).build().unwrap().block_on(test);
    }

    #[test]
    fn concurrency_starts_at_eight_and_adapts() {
        run(async {
            let limiter = limiter("concurrency = 20");
            let allowed = || limiter.state().allowed;
            assert_eq!(allowed(), 8);
            for _ in 0..100 {
                limiter.succeeded();
            }
            assert_eq!(allowed(), 20);
            for _ in 0..5 {
                limiter.refused(None);
            }
            assert_eq!(allowed(), 15, "five refusals at once shrink it once");
            tokio::time::advance(Duration::from_secs(3)).await;
            limiter.refused(Some(Duration::from_secs(10)));
            assert_eq!(allowed(), 11);
            tokio::time::advance(Duration::from_secs(3)).await;
            limiter.refused(None);
            assert_eq!(allowed(), 11, "once per time that the server names");
            for _ in 0..25 {
                limiter.succeeded();
            }
            assert_eq!(allowed(), 12);
        });
    }

    #[test]
    fn concurrency_never_falls_below_one() {
        run(async {
            let limiter = limiter("concurrency = 2");
            for _ in 0..9 {
                limiter.refused(None);
                tokio::time::advance(Duration::from_secs(3)).await;
            }
            assert_eq!(limiter.state().allowed, 1);
            drop(limiter.acquire(0, 1).await);
        });
    }

    #[test]
    fn waiting_calls_go_by_slot() {
        run(async {
            let limiter = Arc::new(limiter("concurrency = 1"));
            let permit = limiter.acquire(0, 1).await;
            let order = Arc::new(Mutex::new(Vec::new()));
            let calls: Vec<_> = [5, 2, 9, 2, 7]
                .into_iter()
                .map(|slot| {
                    let (limiter, order) = (limiter.clone(), order.clone());
                    tokio::spawn(async move {
                        let _permit = limiter.acquire(slot, 1).await;
                        order.lock().unwrap().push(slot);
                    })
                })
                .collect();
            tokio::time::sleep(Duration::from_millis(1)).await;
            drop(permit);
            for call in calls {
                call.await.unwrap();
            }
            assert_eq!(*order.lock().unwrap(), [2, 2, 5, 7, 9]);
        });
    }

    #[test]
    fn abandoned_wait_leaves_the_queue() {
        run(async {
            let limiter = limiter("concurrency = 1");
            let permit = limiter.acquire(0, 1).await;
            let wait = tokio::time::timeout(Duration::from_secs(1), limiter.acquire(1, 1));
            assert!(wait.await.is_err());
            drop(permit);
            drop(limiter.acquire(2, 1).await);
            assert_eq!(limiter.state().running, 0);
        });
    }

    #[test]
    fn held_endpoint_starts_nothing_before_its_time() {
        run(async {
            let limiter = limiter("");
            let start = Instant::now();
            limiter.hold(Duration::from_secs(90));
            limiter.hold(Duration::from_secs(30));
            drop(limiter.acquire(0, 1).await);
            assert_eq!(start.elapsed().as_secs(), 90);
        });
    }

    #[test]
    fn given_up_calls_count_towards_no_limit() {
        run(async {
            let limiter = limiter("requests_per_minute = 60\ntokens_per_minute = 6000");
            let start = Instant::now();
            for _ in 0..30 {
                limiter.acquire(0, 1000).await.give_up();
            }
            assert!(start.elapsed().is_zero());
            assert_eq!(limiter.state().running, 0);
        });
    }

    #[test]
    fn limits_per_minute_hold() {
        run(async {
            let limiter = limiter("requests_per_minute = 60");
            let start = Instant::now();
            for _ in 0..70 {
                drop(limiter.acquire(0, 1).await);
            }
            // Ten at once, and one each second.
            let seconds = start.elapsed().as_secs_f64();
            assert!((59.9..61.0).contains(&seconds), "{seconds}");
        });
        run(async {
            let limiter = limiter("tokens_per_minute = 6000");
            let start = Instant::now();
            for _ in 0..3 {
                drop(limiter.acquire(0, 3000).await);
            }
            // Each takes the bucket of 1000 below zero, at 100 a second.
            let seconds = start.elapsed().as_secs_f64();
            assert!((59.9..61.0).contains(&seconds), "{seconds}");
        });
    }
}
