//! A fair counting semaphore for threads: it bounds how many runs are in flight, and the memory of
//! all grades.

use std::sync::{Condvar, Mutex, PoisonError};

/// A fixed number of permits, given out in the order of the requests.
///
/// # Examples
/// ```rust
/// use jail::semaphore::Semaphore;
///
/// // At most 100 bytes in use at a time, shared by all threads.
/// let memory = Semaphore::new(100);
/// let large = memory.acquire(80);
/// let small = memory.acquire(20);
/// drop(large);
/// // A request for more than there is gets all of it, once the others are dropped.
/// drop(small);
/// let _all = memory.acquire(1000);
/// ```
#[derive(Debug)]
pub struct Semaphore {
    size: u64,
    queue: Mutex<Queue>,
    moved: Condvar,
}

#[derive(Debug)]
struct Queue {
    free: u64,
    /// The ticket of the next request.
    next_ticket: u64,
    /// The ticket of the request that is served next.
    serving: u64,
}

/// Permits, given back when dropped.
#[derive(Debug)]
pub struct Permits<'a> {
    semaphore: &'a Semaphore,
    count: u64,
}

impl Semaphore {
    /// Makes a semaphore of `size` permits, all of them free.
    pub const fn new(size: u64) -> Self {
        let queue = Queue { free: size, next_ticket: 0, serving: 0 };
        Self { size, queue: Mutex::new(queue), moved: Condvar::new() }
    }

    /// Waits for `count` permits, or for all if there are fewer. Requests are served in order: one
    /// that would fit waits behind a larger one that came first.
    pub fn acquire(&self, count: u64) -> Permits<'_> {
        let count = count.min(self.size);
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        let ticket = queue.next_ticket;
        queue.next_ticket += 1;
        let mut queue = self
            .moved
            .wait_while(queue, |queue| queue.free < count || queue.serving != ticket)
            .unwrap_or_else(PoisonError::into_inner);
        queue.free -= count;
        queue.serving += 1;
        // There may be enough for the next request too.
        self.moved.notify_all();
        Permits { semaphore: self, count }
    }
}

impl Drop for Permits<'_> {
    fn drop(&mut self) {
        let Semaphore { queue, moved, .. } = self.semaphore;
        queue.lock().unwrap_or_else(PoisonError::into_inner).free += self.count;
        moved.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::time::Duration;

    #[test]
    fn permits_never_exceed_the_size_and_every_request_is_served() {
        let (all, now, most) = (Semaphore::new(100), AtomicU64::new(0), AtomicU64::new(0));
        std::thread::scope(|scope| {
            for count in [30, 60, 1, 100, 99, 5, 40, 40, 40, 7_000] {
                let (all, now, most) = (&all, &now, &most);
                scope.spawn(move || {
                    let permits = all.acquire(count);
                    let sum = now.fetch_add(permits.count, Ordering::SeqCst) + permits.count;
                    most.fetch_max(sum, Ordering::SeqCst);
                    std::thread::sleep(Duration::from_millis(2));
                    now.fetch_sub(permits.count, Ordering::SeqCst);
                });
            }
        });
        assert_eq!(most.into_inner(), 100);
        assert_eq!(all.queue.lock().unwrap().free, 100);
    }

    #[test]
    fn requests_are_served_in_order_whatever_their_size() {
        let all = Semaphore::new(10);
        let order = Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            let held = all.acquire(5);
            for (number, count) in [(0, 10), (1, 1), (2, 10), (3, 10)] {
                let (all, order) = (&all, &order);
                scope.spawn(move || {
                    let _permits = all.acquire(count);
                    order.lock().unwrap().push(number);
                });
                // Until it is in the queue.
                while all.queue.lock().unwrap().next_ticket < number + 2 {
                    std::thread::yield_now();
                }
            }
            drop(held);
        });
        assert_eq!(order.into_inner().unwrap(), [0, 1, 2, 3]);
    }
}
