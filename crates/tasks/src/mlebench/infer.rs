//! From the words of one column to cells of one type, as pandas infers it: all integers, else
//! all numbers, else all truth values, else texts.

use super::column::{PandasCell, PandasColumn};

/// What stands for a missing cell, beside the empty word.
const MISSING: [&[u8]; 18] = [
    b"#N/A",
    b"#N/A N/A",
    b"#NA",
    b"-1.#IND",
    b"-1.#QNAN",
    b"-NaN",
    b"-nan",
    b"1.#IND",
    b"1.#QNAN",
    b"<NA>",
    b"N/A",
    b"NA",
    b"NULL",
    b"NaN",
    b"None",
    b"n/a",
    b"nan",
    b"null",
];

/// The number that pandas writes for a missing integer until it knows better: where one is
/// missing, a true one is taken for missing too.
const MISSING_INTEGER: i64 = i64::MIN;

fn is_missing(word: &[u8]) -> bool {
    word.is_empty() || MISSING.contains(&word)
}

/// A column of `words`, which hold no zero bytes and are parts of a UTF-8 text.
pub(super) fn infer(words: &[&[u8]]) -> PandasColumn {
    match integers(words) {
        Ok(column) => return column,
        Err(NoInteger::Overflow) => match naturals(words) {
            Ok(Naturals::Column(column)) => return column,
            // Nothing is taken for missing here: pandas turns that off when no type fits.
            Ok(Naturals::Conflict) => return texts(words, |_| false),
            Ok(Naturals::Negative) | Err(NoInteger::Overflow) => return texts(words, is_missing),
            Err(NoInteger::Other) => {}
        },
        Err(NoInteger::Other) => {}
    }
    floats(words).or_else(|| booleans(words)).unwrap_or_else(|| texts(words, is_missing))
}

/// Why a word is no integer. The first such word of a column decides how it is read on.
#[derive(Debug, Clone, Copy, PartialEq)]
enum NoInteger {
    Overflow,
    Other,
}

/// What the C locale takes for white space.
fn is_space(byte: u8) -> bool {
    byte == b' ' || (b'\t'..=b'\r').contains(&byte)
}

fn trim_start(word: &[u8]) -> &[u8] {
    let start = word.iter().position(|byte| !is_space(*byte)).unwrap_or(word.len());
    &word[start..]
}

/// Digits up to the end or white space, as a number of the sign given. An overflow is found
/// before anything behind it.
fn digits(word: &[u8], negative: bool, least: i128, most: i128) -> Result<i128, NoInteger> {
    let count = word.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(word.len());
    if count == 0 {
        return Err(NoInteger::Other);
    }
    let mut value = 0_i128;
    for byte in &word[..count] {
        let digit = i128::from(byte - b'0');
        value = value * 10 + if negative { -digit } else { digit };
        if !(least..=most).contains(&value) {
            return Err(NoInteger::Overflow);
        }
    }
    if trim_start(&word[count..]).is_empty() { Ok(value) } else { Err(NoInteger::Other) }
}

fn integer(word: &[u8]) -> Result<i64, NoInteger> {
    let word = trim_start(word);
    let negative = word.first() == Some(&b'-');
    let signed = negative || word.first() == Some(&b'+');
    let value = digits(&word[usize::from(signed)..], negative, i64::MIN.into(), i64::MAX.into())?;
    i64::try_from(value).map_err(|_| NoInteger::Overflow)
}

fn integers(words: &[&[u8]]) -> Result<PandasColumn, NoInteger> {
    let mut missing = false;
    let mut cells = Vec::with_capacity(words.len());
    for word in words {
        if is_missing(word) {
            missing = true;
            cells.push(MISSING_INTEGER);
        } else {
            cells.push(integer(word)?);
        }
    }
    if !missing {
        return Ok(PandasColumn::Integers(cells));
    }
    let float = |cell: &i64| if *cell == MISSING_INTEGER { f64::NAN } else { *cell as f64 };
    Ok(PandasColumn::Floats(cells.iter().map(float).collect()))
}

enum Naturals {
    Column(PandasColumn),
    /// Beyond [`i64::MAX`] on the one hand, negative or missing on the other.
    Conflict,
    Negative,
}

/// The second attempt at a column whose first word that is not a signed integer overflows.
fn naturals(words: &[&[u8]]) -> Result<Naturals, NoInteger> {
    let (mut large, mut negative, mut missing) = (false, false, false);
    let mut cells = Vec::with_capacity(words.len());
    for word in words {
        if is_missing(word) {
            missing = true;
            continue;
        }
        let word = trim_start(word);
        if word.first() == Some(&b'-') {
            // Whatever follows the sign.
            negative = true;
            continue;
        }
        let signed = word.first() == Some(&b'+');
        let value = digits(&word[usize::from(signed)..], false, 0, u64::MAX.into())?;
        large |= value > i64::MAX.into();
        cells.push(u64::try_from(value).map_err(|_| NoInteger::Overflow)?);
    }
    Ok(match (large, negative, missing) {
        (true, true, _) | (true, _, true) => Naturals::Conflict,
        (_, true, _) => Naturals::Negative,
        _ => Naturals::Column(PandasColumn::Unsigned(cells)),
    })
}

/// A decimal number with white space around, or a bare word for an infinity. What overflows
/// upwards is none, what overflows downwards is.
fn float(word: &[u8]) -> Option<f64> {
    let trimmed = trim_start(word);
    let mut end = usize::from(matches!(trimmed.first(), Some(b'+' | b'-')));
    let skip_digits = |from: usize| {
        from + trimmed[from..].iter().take_while(|byte| byte.is_ascii_digit()).count()
    };
    end = skip_digits(end);
    if trimmed.get(end) == Some(&b'.') {
        end = skip_digits(end + 1);
    }
    if matches!(trimmed.get(end), Some(b'e' | b'E')) {
        end += 1;
        end += usize::from(matches!(trimmed.get(end), Some(b'+' | b'-')));
        end = skip_digits(end);
    }
    let number = str::from_utf8(&trimmed[..end]).ok().and_then(|text| text.parse::<f64>().ok());
    match number {
        Some(value) if trim_start(&trimmed[end..]).is_empty() && value != f64::INFINITY => {
            Some(value)
        }
        _ => infinity(word),
    }
}

fn infinity(word: &[u8]) -> Option<f64> {
    let (sign, name) = match word.split_first() {
        Some((b'-', name)) => (-1.0, name),
        Some((b'+', name)) => (1.0, name),
        _ => (1.0, word),
    };
    let known = name.eq_ignore_ascii_case(b"inf") || name.eq_ignore_ascii_case(b"infinity");
    known.then_some(sign * f64::INFINITY)
}

fn floats(words: &[&[u8]]) -> Option<PandasColumn> {
    let cell = |word: &&[u8]| if is_missing(word) { Some(f64::NAN) } else { float(word) };
    Some(PandasColumn::Floats(words.iter().map(cell).collect::<Option<_>>()?))
}

fn booleans(words: &[&[u8]]) -> Option<PandasColumn> {
    let cell = |word: &&[u8]| match word {
        word if is_missing(word) => Some(None),
        word if word.eq_ignore_ascii_case(b"true") => Some(Some(true)),
        word if word.eq_ignore_ascii_case(b"false") => Some(Some(false)),
        _ => None,
    };
    let cells: Vec<Option<bool>> = words.iter().map(cell).collect::<Option<_>>()?;
    let whole: Option<Vec<bool>> = cells.iter().copied().collect();
    Some(whole.map_or_else(
        || {
            let object = |cell: Option<bool>| cell.map_or(PandasCell::Missing, PandasCell::Boolean);
            PandasColumn::Objects(cells.into_iter().map(object).collect())
        },
        PandasColumn::Booleans,
    ))
}

fn texts(words: &[&[u8]], is_missing: fn(&[u8]) -> bool) -> PandasColumn {
    let cell = |word: &&[u8]| {
        if is_missing(word) {
            PandasCell::Missing
        } else {
            PandasCell::Text(String::from_utf8_lossy(word).into())
        }
    };
    PandasColumn::Objects(words.iter().map(cell).collect())
}
