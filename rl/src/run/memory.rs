//! Memory of the C allocator.

/// Returns freed memory to the operating system.
///
/// Tensors of ever other sizes leave the heap full of holes, which the GNU allocator keeps: two
/// thirds of a tiny run's heap were such after 25 steps (`docs/BUDGETS.md`). Pages that are used
/// again have to be had anew, so this is for the end of a step that takes seconds.
pub(crate) fn release_to_os() {
    #[expect(unsafe_code, reason = "a C function")]
    // SAFETY: it takes no pointer, and any thread may call it at any time.
    unsafe {
        libc::malloc_trim(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::metrics::resident_memory;

    #[test]
    fn freed_memory_is_returned_to_the_system() {
        // So much that what tests in other threads take meanwhile does not count.
        let mut pieces: Vec<Vec<u8>> = (0..65_536).map(|_| vec![1; 4096]).collect();
        let top = pieces.pop();
        let full = resident_memory().unwrap();
        drop(pieces);
        release_to_os();
        let now = resident_memory().unwrap();
        assert!(now + (192 << 20) < full, "{full} bytes, then {now}");
        drop(top);
    }
}
