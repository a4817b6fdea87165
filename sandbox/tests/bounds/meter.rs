//! How much memory this program holds, and held at most, to the byte.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

struct Counting;

static HELD: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

#[global_allocator]
static COUNTING: Counting = Counting;

fn add(bytes: usize) {
    let held = HELD.fetch_add(bytes, Ordering::SeqCst) + bytes;
    MOST.fetch_max(held, Ordering::SeqCst);
}

#[expect(unsafe_code, reason = "an allocator is unsafe to write; this one only counts")]
// SAFETY: every call is handed on as it is to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        add(layout.size());
        // SAFETY: the caller's promises are those that `System` asks for.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        add(layout.size());
        // SAFETY: as above.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size(), Ordering::SeqCst);
        // SAFETY: as above.
        unsafe { System.dealloc(place, layout) }
    }

    unsafe fn realloc(&self, place: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // Large blocks move by their page tables, so that both are never there at once.
        HELD.fetch_sub(layout.size(), Ordering::SeqCst);
        add(size);
        // SAFETY: as above.
        unsafe { System.realloc(place, layout, size) }
    }
}

/// What a piece of work took.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Cost {
    /// Bytes beyond what was held before.
    pub(crate) memory: usize,
    /// Processor time, which no other program on the machine adds to.
    pub(crate) time: Duration,
}

/// Processor time of this thread.
fn processor() -> Duration {
    let text = fs_err::read_to_string("/proc/thread-self/schedstat").unwrap();
    Duration::from_nanos(text.split(' ').next().unwrap().parse().unwrap())
}

/// Does something that nothing else runs beside.
pub(crate) fn measure<T>(work: impl FnOnce() -> T) -> (T, Cost) {
    let started = processor();
    let before = HELD.load(Ordering::SeqCst);
    MOST.store(before, Ordering::SeqCst);
    let done = work();
    let memory = MOST.load(Ordering::SeqCst).saturating_sub(before);
    (done, Cost { memory, time: processor().saturating_sub(started) })
}
