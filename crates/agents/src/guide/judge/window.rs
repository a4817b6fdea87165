//! A run in windows of turns that a model reads at a time.

use crate::guide::transcript::{Transcript, TranscriptTurn};

/// Characters that are taken for a token where nothing counts them.
const TOKEN: usize = 4;
/// Longest thought, action and observation that a window shows, in characters. Of longer ones the middle
/// is left out.
const LONGEST: [usize; 3] = [2000, 6000, 3000];

/// How much a window may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WindowLimits {
    /// Turns, those shown for context included. Default 40.
    pub turns: u32,
    /// Tokens of its turns, at four characters each. Default 24,000. A turn that is longer alone is a
    /// window of its own.
    pub tokens: usize,
    /// Turns of the window before that are shown again, and not asked about. Default 5.
    pub overlap: u32,
}

impl Default for WindowLimits {
    fn default() -> Self {
        Self { turns: 40, tokens: 24_000, overlap: 5 }
    }
}

/// Turns that are read at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// The first turn that is shown.
    pub from: u32,
    /// The first that is asked about.
    pub asked: u32,
    /// The one after the last.
    pub to: u32,
}

/// A run in windows: each turn is asked about in one of them.
pub fn windows(transcript: &Transcript, limits: WindowLimits) -> Vec<Window> {
    let tokens: Vec<usize> = transcript.turns.iter().map(tokens_of).collect();
    let count = transcript.count();
    let mut windows = Vec::new();
    let mut asked = 0;
    while asked < count {
        // As much context as fits beside one turn.
        let least = asked.saturating_sub(limits.overlap.min(limits.turns.saturating_sub(1)));
        let sum = |from: u32, to: u32| tokens[from as usize..to as usize].iter().sum::<usize>();
        let from = (least..asked).find(|from| sum(*from, asked + 1) <= limits.tokens);
        let from = from.unwrap_or(asked);
        let mut to = asked + 1;
        while to < count && to - from < limits.turns && sum(from, to + 1) <= limits.tokens {
            to += 1;
        }
        windows.push(Window { from, asked, to });
        asked = to;
    }
    windows
}

fn tokens_of(turn: &TranscriptTurn) -> usize {
    let heard: usize = turn.heard.iter().map(|piece| piece.text.chars().count()).sum();
    let shown: usize = shown_texts(turn).iter().map(|text| text.chars().count()).sum();
    (shown + heard).div_ceil(TOKEN)
}

/// Thought, action and observation of a turn, as a window shows them.
pub(super) fn shown_texts(turn: &TranscriptTurn) -> [String; 3] {
    let report = &turn.report;
    let observation = report.observation.as_deref().unwrap_or_default();
    let texts = [report.thought.as_str(), report.action.as_str(), observation];
    std::array::from_fn(|part| shortened(texts[part].trim(), LONGEST[part]))
}

/// A text of at most about `most` characters: its middle is left out.
pub(super) fn shortened(text: &str, most: usize) -> String {
    let count = text.chars().count();
    if count <= most {
        return text.to_owned();
    }
    let at = |number: usize| text.char_indices().nth(number).map_or(text.len(), |(at, _)| at);
    let (head, tail) = (at(most / 2), at(count - most / 2));
    format!("{}\n[{} characters left out]\n{}", &text[..head], count - most, &text[tail..])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guide::verdicts::fixture::{python, transcript};
    use proptest::prelude::*;

    fn run(lengths: &[usize]) -> Transcript {
        transcript(lengths.iter().map(|length| python("x", &"o".repeat(*length))).collect())
    }

    #[test]
    fn windows_overlap_and_ask_about_each_turn_once() {
        let limits = WindowLimits { turns: 4, tokens: 10_000, overlap: 2 };
        let found = windows(&run(&[10; 7]), limits);
        let expected = [(0, 0, 4), (2, 4, 6), (4, 6, 7)];
        assert_eq!(found, expected.map(|(from, asked, to)| Window { from, asked, to }));
        assert_eq!(windows(&run(&[]), limits), []);
        // Long turns: context gives way first, and one turn is always asked about.
        let long = windows(&run(&[2000; 3]), WindowLimits { tokens: 600, ..limits });
        let expected = [(0, 0, 1), (1, 1, 2), (2, 2, 3)];
        assert_eq!(long, expected.map(|(from, asked, to)| Window { from, asked, to }));
    }

    #[test]
    fn long_texts_lose_their_middle() {
        assert_eq!(shortened("aäb", 3), "aäb");
        assert_eq!(shortened("aaääbb", 4), "aa\n[2 characters left out]\nbb");
        let shown = shown_texts(&python("x", &"o".repeat(9000)));
        assert!(shown[2].contains("[6000 characters left out]"));
    }

    proptest! {
        #[test]
        fn any_run_is_asked_about_once_within_the_limits(
            lengths in prop::collection::vec(0_usize..3000, 0..30),
            (turns, tokens, overlap) in (1_u32..9, 50_usize..2000, 0_u32..9),
        ) {
            let transcript = run(&lengths);
            let limits = WindowLimits { turns, tokens, overlap };
            let mut next = 0;
            for window in windows(&transcript, limits) {
                prop_assert_eq!(window.asked, next);
                prop_assert!(window.from <= window.asked && window.asked < window.to);
                prop_assert!(window.to - window.from <= turns && window.asked - window.from <= overlap);
                let sum: usize = transcript.turns[window.from as usize..window.to as usize]
                    .iter().map(tokens_of).sum();
                prop_assert!(sum <= tokens || window.to - window.from == 1);
                next = window.to;
            }
            prop_assert_eq!(next, transcript.count());
        }
    }
}
