//! A bound on how many runs are in flight.

use std::sync::{Condvar, Mutex, PoisonError};

/// Places for runs. Who finds none free waits in line.
#[derive(Debug)]
pub(crate) struct Slots {
    line: Mutex<Line>,
    moved: Condvar,
}

#[derive(Debug)]
struct Line {
    free: usize,
    /// The number of who comes next.
    last: u64,
    /// The number of who is served next.
    first: u64,
}

/// A place, given back when dropped.
#[derive(Debug)]
pub(crate) struct Slot<'a>(&'a Slots);

impl Slots {
    pub(crate) fn new(count: usize) -> Self {
        let line = Line { free: count.max(1), last: 0, first: 0 };
        Self { line: Mutex::new(line), moved: Condvar::new() }
    }

    /// Waits for a place: who came first is served first.
    pub(crate) fn take(&self) -> Slot<'_> {
        let mut line = self.line.lock().unwrap_or_else(PoisonError::into_inner);
        let number = line.last;
        line.last += 1;
        let mut line = self
            .moved
            .wait_while(line, |line| line.free == 0 || line.first != number)
            .unwrap_or_else(PoisonError::into_inner);
        line.free -= 1;
        line.first += 1;
        // There may be a place for the next in line too.
        self.moved.notify_all();
        Slot(self)
    }
}

impl Drop for Slot<'_> {
    fn drop(&mut self) {
        self.0.line.lock().unwrap_or_else(PoisonError::into_inner).free += 1;
        self.0.moved.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn no_more_than_so_many_at_once() {
        let (slots, now, most) = (Slots::new(3), AtomicUsize::new(0), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for _ in 0..12 {
                scope.spawn(|| {
                    let _slot = slots.take();
                    most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                    std::thread::sleep(std::time::Duration::from_millis(2));
                    now.fetch_sub(1, Ordering::SeqCst);
                });
            }
        });
        assert_eq!(most.into_inner(), 3);
    }

    #[test]
    fn who_comes_first_is_served_first() {
        let slots = Slots::new(1);
        let order = Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            let held = slots.take();
            for number in 0..8 {
                scope.spawn({
                    let (slots, order) = (&slots, &order);
                    move || {
                        let _slot = slots.take();
                        order.lock().unwrap().push(number);
                    }
                });
                // Until it stands in line.
                while slots.line.lock().unwrap().last < number + 2 {
                    std::thread::yield_now();
                }
            }
            drop(held);
        });
        assert_eq!(order.into_inner().unwrap(), (0..8).collect::<Vec<_>>());
    }
}
