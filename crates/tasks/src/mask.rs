//! Binary masks as runs of pixels, and their text form.
//!
//! Pixels are numbered down the columns, then from left to right, as in Kaggle's run-length
//! encoding; the text counts from 1, this type from 0.

use std::fmt;

const MOST_PIXELS: usize = u32::MAX as usize;

/// The set pixels of one image, which has fewer than 2^32 pixels.
///
/// # Examples
/// ```rust
/// use tasks::mask::Mask;
///
/// // 3 pixels wide and 2 high, row by row; the text numbers pixels down the columns, from 1.
/// let mask = Mask::from_pixels(&[false, true, true, false, true, false], 3, 2);
/// assert_eq!(mask.to_string(), "3 3");
/// assert_eq!(Mask::parse("3 3", 3, 2)?, mask);
///
/// let other = Mask::parse("1 1 4 2", 3, 2)?;
/// assert_eq!((other.area(), mask.overlap(&other)), (3, 2));
/// assert!(Mask::parse("5 3", 3, 2).is_err(), "it leaves the image");
/// # Ok::<(), String>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Mask {
    /// `(start, end)`, end excluded; ascending, neither overlapping nor touching.
    runs: Vec<(u32, u32)>,
}

impl Mask {
    /// Reads `start length start length ...` for an image of `width` x `height` pixels. Runs
    /// may touch each other.
    ///
    /// # Errors
    /// What the text is not, with the reason: for runs that are not pairs of whole positive
    /// numbers, that are unsorted, overlap, or leave the image.
    pub fn parse(text: &str, width: usize, height: usize) -> Result<Self, String> {
        let pixels = width.saturating_mul(height).min(MOST_PIXELS);
        let fault = |reason: String| Err(format!("a run-length mask: {reason}"));
        // Twice over the words, so that none but the runs are kept.
        let mut count = 0;
        for number in numbers(text) {
            if number.is_none() {
                return fault("it must hold whole numbers from 1, separated by spaces".into());
            }
            count += 1;
        }
        if count % 2 == 1 {
            return fault("the last start has no length".into());
        }
        let mut mask = Self::default();
        let mut numbers = numbers(text).flatten();
        let mut index = 0;
        while let (Some(first), Some(length)) = (numbers.next(), numbers.next()) {
            let start = first - 1;
            let last = mask.runs.last().map_or(0, |(_, end)| *end as usize);
            if start < last {
                return fault(format!(
                    "run {} starts at pixel {}, not after the run before it",
                    index + 1,
                    first
                ));
            }
            if length > pixels.saturating_sub(start) {
                return fault(format!(
                    "run {} leaves the {width} x {height} = {pixels} pixels",
                    index + 1
                ));
            }
            mask.push(start, start + length);
            index += 1;
        }
        mask.runs.shrink_to_fit();
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
            let place = place as usize;
            pixels[place % height * width + place / height] = true;
        }
        pixels
    }

    /// Number of set pixels.
    pub fn area(&self) -> usize {
        self.runs.iter().map(|(start, end)| (end - start) as usize).sum()
    }

    /// Number of pixels set in both.
    pub fn overlap(&self, other: &Self) -> usize {
        let (mut mine, mut theirs) = (self.runs.iter().peekable(), other.runs.iter().peekable());
        let mut shared = 0;
        while let (Some(a), Some(b)) = (mine.peek(), theirs.peek()) {
            shared += a.1.min(b.1).saturating_sub(a.0.max(b.0)) as usize;
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
        let [start, end] = [start, end].map(|place| u32::try_from(place).unwrap_or(u32::MAX));
        match self.runs.last_mut() {
            Some(last) if last.1 == start => last.1 = end,
            _ => self.runs.push((start, end)),
        }
    }
}

/// The words of a mask: whole numbers from 1, or nothing.
fn numbers(text: &str) -> impl Iterator<Item = Option<usize>> + '_ {
    text.split_ascii_whitespace().map(|word| word.parse().ok().filter(|number| *number > 0))
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
