//! A counting semaphore for threads: a bound on how many runs are in flight, or on the memory of
//! all grades.

use std::sync::{Condvar, Mutex, PoisonError};

/// So many permits, given out in the order in which they are asked for.
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
    line: Mutex<Line>,
    moved: Condvar,
}

#[derive(Debug)]
struct Line {
    free: u64,
    /// The number of who comes next.
    last: u64,
    /// The number of who is served next.
    first: u64,
}

/// Permits, given back when dropped.
#[derive(Debug)]
pub struct Permits<'a> {
    semaphore: &'a Semaphore,
    count: u64,
}

impl Semaphore {
    /// With so many permits.
    pub const fn new(size: u64) -> Self {
        let line = Line { free: size, last: 0, first: 0 };
        Self { size, line: Mutex::new(line), moved: Condvar::new() }
    }

    /// Waits for so many permits, or for all where there are not so many: who came first is served
    /// first, even if what is free would do for those behind.
    pub fn acquire(&self, count: u64) -> Permits<'_> {
        let count = count.min(self.size);
        let mut line = self.line.lock().unwrap_or_else(PoisonError::into_inner);
        let number = line.last;
        line.last += 1;
        let mut line = self
            .moved
            .wait_while(line, |line| line.free < count || line.first != number)
            .unwrap_or_else(PoisonError::into_inner);
        line.free -= count;
        line.first += 1;
        // There may be enough for the next in line too.
        self.moved.notify_all();
        Permits { semaphore: self, count }
    }
}

impl Drop for Permits<'_> {
    fn drop(&mut self) {
        let Semaphore { line, moved, .. } = self.semaphore;
        line.lock().unwrap_or_else(PoisonError::into_inner).free += self.count;
        moved.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::time::Duration;

    #[test]
    fn never_more_than_there_is_and_everybody_gets_a_turn() {
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
        assert_eq!(all.line.lock().unwrap().free, 100);
    }

    #[test]
    fn who_comes_first_is_served_first_however_much_it_wants() {
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
                // Until it stands in line.
                while all.line.lock().unwrap().last < number + 2 {
                    std::thread::yield_now();
                }
            }
            drop(held);
        });
        assert_eq!(order.into_inner().unwrap(), [0, 1, 2, 3]);
    }
}
