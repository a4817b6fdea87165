//! Binary masks as runs of pixels, and their text form.
//!
//! Pixels are numbered down the columns, then from left to right, as in Kaggle's run-length
//! encoding; the text counts from 1, this type from 0.

use std::fmt;

/// The set pixels of one image.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Mask {
    /// `(start, end)`, end excluded; ascending, neither overlapping nor touching.
    runs: Vec<(usize, usize)>,
}

impl Mask {
    /// Reads `start length start length ...` for an image of `width` x `height` pixels. Runs
    /// may touch each other.
    ///
    /// # Errors
    /// What the text is not, with the reason: for runs that are not pairs of whole positive
    /// numbers, that are unsorted, overlap, or leave the image.
    pub fn parse(text: &str, width: usize, height: usize) -> Result<Self, String> {
        let pixels = width.saturating_mul(height);
        let fault = |reason: String| Err(format!("a run-length mask: {reason}"));
        let mut numbers = Vec::new();
        for word in text.split_ascii_whitespace() {
            match word.parse::<usize>() {
                Ok(number) if number > 0 => numbers.push(number),
                _ => return fault("it must hold whole numbers from 1, separated by spaces".into()),
            }
        }
        if numbers.len() % 2 == 1 {
            return fault("the last start has no length".into());
        }
        let mut mask = Self::default();
        for (index, run) in numbers.chunks_exact(2).enumerate() {
            let (start, length) = (run[0] - 1, run[1]);
            let last = mask.runs.last().map_or(0, |(_, end)| *end);
            if start < last {
                return fault(format!(
                    "run {} starts at pixel {}, not after the run before it",
                    index + 1,
                    run[0]
                ));
            }
            if length > pixels.saturating_sub(start) {
                return fault(format!(
                    "run {} leaves the {width} x {height} = {pixels} pixels",
                    index + 1
                ));
            }
            mask.push(start, start + length);
        }
        Ok(mask)
    }

    /// From one boolean per pixel, row by row from the top (`[height, width]`).
    pub fn from_pixels(pixels: &[bool], width: usize, height: usize) -> Self {
        let mut mask = Self::default();
        for x in 0..width {
            for y in 0..height {
                if pixels[y * width + x] {
                    mask.push(x * height + y, x * height + y + 1);
                }
            }
        }
        mask
    }

    /// One boolean per pixel, row by row from the top (`[height, width]`).
    pub fn pixels(&self, width: usize, height: usize) -> Vec<bool> {
        let mut pixels = vec![false; width * height];
        for place in self.runs.iter().flat_map(|(start, end)| *start..*end) {
            pixels[place % height * width + place / height] = true;
        }
        pixels
    }

    /// Number of set pixels.
    pub fn area(&self) -> usize {
        self.runs.iter().map(|(start, end)| end - start).sum()
    }

    /// Number of pixels set in both.
    pub fn overlap(&self, other: &Self) -> usize {
        let (mut mine, mut theirs) = (self.runs.iter().peekable(), other.runs.iter().peekable());
        let mut shared = 0;
        while let (Some(a), Some(b)) = (mine.peek(), theirs.peek()) {
            shared += a.1.min(b.1).saturating_sub(a.0.max(b.0));
            if a.1 <= b.1 {
                mine.next();
            } else {
                theirs.next();
            }
        }
        shared
    }

    /// Adds a run that does not start before the end of the last one.
    fn push(&mut self, start: usize, end: usize) {
        match self.runs.last_mut() {
            Some(last) if last.1 == start => last.1 = end,
            _ => self.runs.push((start, end)),
        }
    }
}

/// The text form; empty where no pixel is set.
impl fmt::Display for Mask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (start, end)) in self.runs.iter().enumerate() {
            let gap = if index == 0 { "" } else { " " };
            write!(f, "{gap}{} {}", start + 1, end - start)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn shapes() -> impl Strategy<Value = (usize, usize, Vec<bool>, Vec<bool>)> {
        (1..8usize, 1..8usize).prop_flat_map(|(width, height)| {
            let pixels = || proptest::collection::vec(any::<bool>(), width * height);
            (Just(width), Just(height), pixels(), pixels())
        })
    }

    #[test]
    fn pixels_are_numbered_down_the_columns() {
        let mask = Mask::parse("2 2", 3, 2).unwrap();
        assert_eq!(mask.pixels(3, 2), [false, true, false, true, false, false]);
    }

    #[test]
    fn touching_runs_are_one() {
        assert_eq!(Mask::parse("1 2 3 1", 2, 2).unwrap().to_string(), "1 3");
    }

    proptest! {
        #[test]
        fn masks_round_trip((width, height, a, b) in shapes()) {
            let masks = [&a, &b].map(|pixels| Mask::from_pixels(pixels, width, height));
            for (mask, pixels) in masks.iter().zip([&a, &b]) {
                prop_assert_eq!(&mask.pixels(width, height), pixels);
                prop_assert_eq!(mask.area(), pixels.iter().filter(|set| **set).count());
                prop_assert_eq!(&Mask::parse(&mask.to_string(), width, height).unwrap(), mask);
            }
            let both = a.iter().zip(&b).filter(|(a, b)| **a && **b).count();
            prop_assert_eq!(masks[0].overlap(&masks[1]), both);
        }

        #[test]
        fn any_text_is_read_or_refused(text in "([0-9]{1,20}| |-|x){0,20}") {
            let _ = Mask::parse(&text, 5, 4);
        }
    }
}
