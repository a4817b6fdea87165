//! What of a conversation is left out once it is longer than the context (SandMLE §5.4): turns
//! that failed go first.

/// A turn that is still in the context, with what was replied to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SeenTurn {
    /// Its length, reply included.
    pub tokens: usize,
    /// Whether it was malformed or its script failed.
    pub failed: bool,
}

/// Which of `turns`, by index, to leave out so that at most `room` tokens stay, `opening` tokens
/// before them included: those that failed, oldest first; if that is not enough, all but the last.
/// The last is never left out.
///
/// # Examples
/// ```rust
/// use agents::overflow::{SeenTurn, surplus};
///
/// let turn = |failed| SeenTurn { tokens: 10, failed };
/// let turns = [turn(false), turn(true), turn(false), turn(true)];
/// assert!(surplus(10, &turns, 50).is_empty());
/// assert_eq!(surplus(10, &turns, 40), [1]);
/// assert_eq!(surplus(10, &turns, 30), [0, 1, 2]);
/// ```
pub fn surplus(opening: usize, turns: &[SeenTurn], room: usize) -> Vec<usize> {
    let mut tokens = opening + turns.iter().map(|turn| turn.tokens).sum::<usize>();
    let earlier = turns.len().saturating_sub(1);
    let mut left_out = Vec::new();
    for (index, turn) in turns[..earlier].iter().enumerate().filter(|(_, turn)| turn.failed) {
        if tokens <= room {
            break;
        }
        tokens -= turn.tokens;
        left_out.push(index);
    }
    if tokens <= room { left_out } else { (0..earlier).collect() }
}
