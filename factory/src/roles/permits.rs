//! Permits to use a processor, of which a role has none while it waits for a chat model.

use std::cell::Cell;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// As many permits as slots may be worked on at a time. More threads than that may walk through
/// slots, because most of them wait for a chat model.
#[derive(Debug)]
pub struct WorkPermits {
    free: Mutex<usize>,
    returned: Condvar,
}

/// A permit, given back when dropped.
#[derive(Debug)]
pub struct WorkPermit<'a> {
    permits: &'a WorkPermits,
    /// False while its holder waits.
    held: Cell<bool>,
}

impl WorkPermits {
    /// `count` permits, all of them free.
    pub fn new(count: usize) -> Self {
        Self { free: Mutex::new(count), returned: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, usize> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a permit.
    pub fn acquire(&self) -> WorkPermit<'_> {
        self.take();
        WorkPermit { permits: self, held: Cell::new(true) }
    }

    fn take(&self) {
        let free = self.returned.wait_while(self.lock(), |free| *free == 0);
        *free.unwrap_or_else(PoisonError::into_inner) -= 1;
    }

    fn give_back(&self) {
        *self.lock() += 1;
        self.returned.notify_one();
    }
}

impl WorkPermit<'_> {
    /// Runs `wait` without the permit, and then waits for one again.
    pub fn while_waiting<T>(&self, wait: impl FnOnce() -> T) -> T {
        self.held.set(false);
        self.permits.give_back();
        let result = wait();
        self.permits.take();
        self.held.set(true);
        result
    }
}

impl Drop for WorkPermit<'_> {
    fn drop(&mut self) {
        if self.held.get() {
            self.permits.give_back();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    #[test]
    fn threads_work_two_at_a_time_and_wait_all_at_once() {
        let permits = WorkPermits::new(2);
        let [working, most, waiting, most_waiting] = std::array::from_fn(|_| AtomicUsize::new(0));
        let within = |now: &AtomicUsize, most: &AtomicUsize, time| {
            most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            std::thread::sleep(Duration::from_millis(time));
            now.fetch_sub(1, Ordering::SeqCst);
        };
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    let permit = permits.acquire();
                    within(&working, &most, 5);
                    permit.while_waiting(|| within(&waiting, &most_waiting, 200));
                    within(&working, &most, 5);
                });
            }
        });
        assert_eq!(most.load(Ordering::SeqCst), 2);
        assert_eq!(most_waiting.load(Ordering::SeqCst), 8);
        assert_eq!(*permits.lock(), 2);
    }
}
