//! A bound on the memory of all grades in flight.

use std::sync::{Condvar, Mutex, PoisonError};

/// What the grades of this process may take together: three submissions of the largest size at
/// once, and hundreds of the usual ones.
const PROCESS: u64 = 800 << 20;

/// Memory for grades, in bytes. Who asks for more than is free waits in line.
#[derive(Debug)]
pub struct Room {
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

/// A share of it, given back when dropped.
#[derive(Debug)]
pub struct Share<'a> {
    room: &'a Room,
    bytes: u64,
}

impl Room {
    /// Room for so many bytes.
    pub const fn new(size: u64) -> Self {
        let line = Line { free: size, last: 0, first: 0 };
        Self { size, line: Mutex::new(line), moved: Condvar::new() }
    }

    /// The room of this process, whatever the number of its sessions: 800 MiB.
    pub fn of_process() -> &'static Self {
        static ROOM: Room = Room::new(PROCESS);
        &ROOM
    }

    /// Waits for so many bytes, or for all where there are not so many: who came first is served
    /// first, however little would do for those behind.
    pub fn take(&self, bytes: u64) -> Share<'_> {
        let bytes = bytes.min(self.size);
        let mut line = self.line.lock().unwrap_or_else(PoisonError::into_inner);
        let number = line.last;
        line.last += 1;
        let mut line = self
            .moved
            .wait_while(line, |line| line.free < bytes || line.first != number)
            .unwrap_or_else(PoisonError::into_inner);
        line.free -= bytes;
        line.first += 1;
        // There may be enough for the next in line too.
        self.moved.notify_all();
        Share { room: self, bytes }
    }
}

impl Drop for Share<'_> {
    fn drop(&mut self) {
        self.room.line.lock().unwrap_or_else(PoisonError::into_inner).free += self.bytes;
        self.room.moved.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU64, Ordering};

    #[test]
    fn never_more_than_there_is_and_everybody_gets_a_turn() {
        let (room, now, most) = (Room::new(100), AtomicU64::new(0), AtomicU64::new(0));
        std::thread::scope(|scope| {
            for bytes in [30, 60, 1, 100, 99, 5, 40, 40, 40, 7_000] {
                let (room, now, most) = (&room, &now, &most);
                scope.spawn(move || {
                    let share = room.take(bytes);
                    let sum = now.fetch_add(share.bytes, Ordering::SeqCst) + share.bytes;
                    most.fetch_max(sum, Ordering::SeqCst);
                    std::thread::sleep(std::time::Duration::from_millis(2));
                    now.fetch_sub(share.bytes, Ordering::SeqCst);
                });
            }
        });
        assert_eq!(most.into_inner(), 100);
        assert_eq!(room.line.lock().unwrap().free, 100);
    }

    #[test]
    fn a_small_one_does_not_overtake_a_large_one() {
        let room = Room::new(10);
        let order = Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            let held = room.take(5);
            for (number, bytes) in [(0, 10), (1, 1), (2, 1)] {
                let (room, order) = (&room, &order);
                scope.spawn(move || {
                    let _share = room.take(bytes);
                    order.lock().unwrap().push(number);
                });
                // Until it stands in line.
                while room.line.lock().unwrap().last < number + 2 {
                    std::thread::yield_now();
                }
            }
            drop(held);
        });
        assert_eq!(order.into_inner().unwrap()[0], 0);
    }
}
