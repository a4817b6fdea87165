//! One side of a chart: a range of numbers, and round numbers within it.

use super::figure::text_width;

/// A range of finite numbers with `low < high`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Axis {
    pub(super) low: f64,
    pub(super) high: f64,
}

/// A round number on an axis.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Tick {
    pub(super) value: f64,
    pub(super) label: String,
}

/// Numbers beyond this in size are drawn at it; the width of a range stays finite.
const LARGEST: f64 = 1e300;
/// Least width of a range, as a share of its numbers: below it, rounding would show.
const NARROWEST: f64 = 1e-9;
/// Pixels between the labels of neighbouring ticks.
const GAP: f64 = 10.0;

impl Axis {
    /// The range of those `values` that are finite, or `None` without any. A single value gets
    /// room on both sides.
    pub(super) fn new(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let finite = values.into_iter().filter(|value| value.is_finite());
        let (low, high) = finite
            .map(|value| value.clamp(-LARGEST, LARGEST))
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
                (low.min(value), high.max(value))
            });
        if low > high {
            return None;
        }
        let size = low.abs().max(high.abs());
        if high - low > NARROWEST * size {
            return Some(Self { low, high });
        }
        let room = if size > 0.0 { size / 10.0 } else { 0.5 };
        Some(Self { low: low - room, high: high + room })
    }

    /// The range, widened so that it begins and ends at one of its [`ticks`](Self::ticks).
    pub(super) fn rounded(mut self, count: usize) -> Self {
        // A wider range may need wider steps, once or twice.
        for _ in 0..4 {
            let step = self.step(count);
            let size = step.size();
            self.low = (self.low / size + 1e-9).floor() * size;
            self.high = (self.high / size - 1e-9).ceil() * size;
            if self.step(count) == step {
                break;
            }
        }
        self
    }

    /// The place of a number, 0 at the low end and 1 at the high end.
    pub(super) fn share(self, value: f64) -> f64 {
        ((value.clamp(-LARGEST, LARGEST) - self.low) / (self.high - self.low)).clamp(0.0, 1.0)
    }

    /// Round numbers in the range, at most `count` steps apart: as many as the labels of a
    /// vertical axis have room for.
    pub(super) fn ticks(self, count: usize) -> Vec<Tick> {
        let step = self.step(count);
        let size = step.size();
        // A tick at the very end may be beyond it by a rounding error.
        let slack = 1e-9 * size;
        let first = ((self.low - slack) / size).ceil();
        let last = ((self.high + slack) / size).floor();
        let largest = first.abs().max(last.abs()) * size;
        let mut ticks = Vec::new();
        let mut index = first;
        while index <= last {
            // Adding 0 turns -0 into 0.
            let value = index * size + 0.0;
            ticks.push(Tick { value, label: step.label(value, largest) });
            index += 1.0;
        }
        ticks
    }

    /// Ticks of a horizontal axis of `width` pixels: as many as their labels have room for.
    pub(super) fn ticks_across(self, width: f64) -> Vec<Tick> {
        let fits = |ticks: &Vec<Tick>| {
            let widest = ticks.iter().map(|tick| text_width(&tick.label)).fold(0.0, f64::max);
            let apart = match &ticks[..] {
                [first, second, ..] => width * (self.share(second.value) - self.share(first.value)),
                _ => width,
            };
            widest + GAP <= apart
        };
        (1..=6).rev().map(|count| self.ticks(count)).find(fits).unwrap_or_default()
    }

    /// The smallest round step of which `count` or fewer cover the range.
    fn step(self, count: usize) -> RoundStep {
        let least = (self.high - self.low) / count.max(1) as f64 * (1.0 - 1e-9);
        let mut power = 0;
        while tens(power) < least {
            power += 1;
        }
        while tens(power - 1) >= least {
            power -= 1;
        }
        // Between a tenth of the power and the power itself.
        let below = power - 1;
        match [2.0, 5.0].into_iter().find(|digit| digit * tens(below) >= least) {
            Some(digit) => RoundStep { digit, power: below },
            None => RoundStep { digit: 1.0, power },
        }
    }
}

/// A step of 1, 2 or 5 times a power of ten.
#[derive(Debug, Clone, Copy, PartialEq)]
struct RoundStep {
    digit: f64,
    power: i32,
}

impl RoundStep {
    fn size(self) -> f64 {
        self.digit * tens(self.power)
    }

    /// A tick as text, where the axis has numbers up to `largest` in size: with as many decimals
    /// as the step has, in thousands or millions if that is shorter.
    fn label(self, value: f64, largest: f64) -> String {
        if self.power < -4 || largest >= 1e12 {
            let text = format!("{value:.2e}");
            return match text.split_once('e') {
                Some((digits, "0")) => plain(digits),
                Some((digits, power)) => format!("{}e{power}", plain(digits)),
                None => text,
            };
        }
        let (unit, letter) = match largest {
            1e9.. => (9, "G"),
            1e6.. => (6, "M"),
            1e4.. => (3, "k"),
            _ => (0, ""),
        };
        let decimals = usize::try_from(unit - self.power).unwrap_or(0);
        let text = format!("{:.decimals$}", value / tens(unit));
        let text = if text.trim_start_matches('-').bytes().all(|byte| b"0.".contains(&byte)) {
            return "0".to_owned();
        } else if text.contains('.') && letter.is_empty() {
            text
        } else {
            plain(&text)
        };
        text + letter
    }
}

/// Without zeros at the end of the decimals.
pub(super) fn plain(number: &str) -> String {
    if number.contains('.') {
        number.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        number.to_owned()
    }
}

/// 10 to the `power`, by multiplication: the same on every machine.
fn tens(power: i32) -> f64 {
    let whole = (0..power.unsigned_abs()).fold(1.0, |product, _| product * 10.0);
    if power < 0 { 1.0 / whole } else { whole }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(low: f64, high: f64) -> String {
        let ticks = Axis::new([low, high]).unwrap().ticks(5);
        ticks.into_iter().map(|tick| tick.label).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn ticks_of_any_range_are_round_numbers() {
        for (low, high, expected) in [
            (0.0, 1.0, "0 0.2 0.4 0.6 0.8 1.0"),
            (0.5, 0.9425, "0.5 0.6 0.7 0.8 0.9"),
            (1.0, 60.0, "20 40 60"),
            (-2.0, 3.0, "-2 -1 0 1 2 3"),
            (0.0, 1800.0, "0 500 1000 1500"),
            (0.0, 45_000.0, "0 10k 20k 30k 40k"),
            (1_200_000.0, 1_900_000.0, "1.2M 1.4M 1.6M 1.8M"),
            (0.0, 4e-5, "0 1e-5 2e-5 3e-5 4e-5"),
            (0.000_1, 0.000_42, "0.0001 0.0002 0.0003 0.0004"),
            (-2.0, 9e9, "0 2G 4G 6G 8G"),
        ] {
            assert_eq!(labels(low, high), expected, "{low} to {high}");
        }
    }

    #[test]
    fn ticks_of_extreme_ranges_are_few_and_inside() {
        for (low, high) in [
            (0.1, 0.1),
            (0.0, 0.0),
            (1e15, 1e15 + 0.25),
            (f64::MIN, f64::MAX),
            (0.0, f64::MIN_POSITIVE * 1e8),
            (-1e-300, 1e300),
        ] {
            let axis = Axis::new([low, high]).unwrap();
            let ticks = axis.ticks(5);
            assert!(!ticks.is_empty() && ticks.len() <= 6, "{low} to {high}: {ticks:?}");
            for tick in ticks {
                let share = (tick.value - axis.low) / (axis.high - axis.low);
                assert!((-1e-6..=1.000_001).contains(&share), "{low} to {high}: {}", tick.value);
            }
        }
        assert_eq!(Axis::new([f64::NAN, f64::INFINITY]), None);
    }

    #[test]
    fn rounded_range_ends_at_ticks() {
        for (low, high) in
            [(0.13, 0.87), (83.0, 267.0), (0.3, 0.7), (-5.0, 9e9), (0.0, 1e-5), (0.9, 1.1)]
        {
            let axis = Axis::new([low, high]).unwrap().rounded(4);
            let slack = 1e-9 * (high - low);
            let holds = axis.low <= low + slack && axis.high >= high - slack;
            assert!(holds, "{low} to {high}: {axis:?}");
            let ticks = axis.ticks(4);
            assert!((ticks[0].value - axis.low).abs() <= slack, "{low} to {high}: {ticks:?}");
            let last = ticks.last().unwrap().value;
            assert!((last - axis.high).abs() <= slack, "{low} to {high}: {ticks:?}");
        }
    }

    #[test]
    fn ticks_across_a_narrow_axis_do_not_touch() {
        let axis = Axis::new([1000.0, 1009.0]).unwrap();
        let wide = axis.ticks_across(300.0).len();
        let narrow = axis.ticks_across(90.0).len();
        assert!(narrow >= 1 && narrow < wide, "{narrow} and {wide}");
    }
}
