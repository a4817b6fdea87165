//! Limits of settings, checked where they are read.

use serde::de::Error as _;
use serde::{Deserialize as _, Deserializer};

/// A count of at least 1.
pub(crate) fn at_least_one<'de, D: Deserializer<'de>>(from: D) -> Result<usize, D::Error> {
    match usize::deserialize(from)? {
        0 => Err(D::Error::custom("expected at least 1, got 0")),
        count => Ok(count),
    }
}

/// A share or probability, in [0, 1].
pub(crate) fn share<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    checked(from, "in [0, 1]", |number| (0.0..=1.0).contains(&number))
}

/// A finite number of at least 0.
pub(crate) fn not_negative<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    checked(from, "of at least 0", |number| number.is_finite() && number >= 0.0)
}

/// A finite number above 0.
pub(crate) fn positive<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    checked(from, "above 0", |number| number.is_finite() && number > 0.0)
}

fn checked<'de, D: Deserializer<'de>>(
    from: D,
    range: &str,
    fits: impl Fn(f64) -> bool,
) -> Result<f64, D::Error> {
    let number = f64::deserialize(from)?;
    if fits(number) {
        Ok(number)
    } else {
        Err(D::Error::custom(format_args!("expected a number {range}, got {number}")))
    }
}
