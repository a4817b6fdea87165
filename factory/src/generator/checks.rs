//! Checks of rows that a generator made, each with its flaw.
//!
//! They see clean columns, scores, items and transforms, and nothing of the finished task: what
//! depends on labels, files or the page is checked by [`crate::verify`].

use super::hidden;
use super::jailed::MadeRows;
use super::refusal::{GeneratorFlaw, GeneratorRefusal};
use super::rows::GeneratedItems;
use super::spec::{GeneratorSpec, HIDDEN, MOST_HIDDEN, MOST_TEXT};
use crate::numeric::linear::Linear;
use crate::numeric::moments::moments;
use crate::numeric::rounding::round;
use crate::spec::generated::ItemForm;
use crate::spec::rule::Frame;
use ndarray::{Array2, ArrayView1};
use std::borrow::Cow;
use std::collections::BTreeSet;
use tasks::metrics::regression::{r2, spearman};
use tasks::text::printable;

/// Lags at which scores must not correlate with themselves.
const LAGS: usize = 8;
/// Standard errors that such a correlation may be off.
const LAG_ERRORS: f64 = 4.0;
/// Share of rows that may repeat others.
const DUPLICATES: f64 = 0.01;
/// |ρ| above which a transform is the score itself.
const SAME: f64 = 0.95;
/// R² that a ridge on the transforms must reach.
const EXPLAINED: f64 = 0.9;
/// The ridge's penalty: small, for transforms are few and rows are many.
const PENALTY: f64 = 1e-3;
/// Tags of the turn grammar, which must not be in what an agent reads.
const TAGS: [&str; 5] = ["think>", "tool_call>", "tool_response>", "answer>", "code>"];

pub(super) type CheckResult = Result<(), GeneratorRefusal>;

pub(super) fn refuse(flaw: GeneratorFlaw, detail: &str) -> CheckResult {
    Err(GeneratorRefusal::new(flaw, detail))
}

/// Everything about the rows of run 1 that needs no other run.
pub(super) fn made(spec: &GeneratorSpec, made: &MadeRows) -> CheckResult {
    columns(spec, &made.columns)?;
    let first = |name: &str| made.columns.numbers.get(name).map_or(0.0, |values| values[0]);
    for (name, values) in &made.columns.numbers {
        if values.iter().all(|value| *value == first(name)) {
            let detail = format!("the column `{name}` is {} in every row", values[0]);
            return refuse(GeneratorFlaw::ConstantColumn, &detail);
        }
    }
    for (name, values) in &made.columns.words {
        if values.iter().all(|word| *word == values[0]) {
            let detail = format!("the column `{name}` is `{}` in every row", values[0]);
            return refuse(GeneratorFlaw::ConstantColumn, &detail);
        }
    }
    scores(spec, &made.scores)?;
    items(spec, &made.items)?;
    order(&made.scores)?;
    duplicates(spec, made)?;
    hidden::no_label_is_hidden(spec, made)
}

/// Names, types and values of columns. The words of a column need not all occur.
pub(super) fn columns(spec: &GeneratorSpec, columns: &Frame) -> CheckResult {
    for column in &spec.numbers {
        let name = &column.name;
        let Some(values) = columns.numbers.get(name) else {
            return refuse(GeneratorFlaw::BadName, &format!("the column `{name}` is missing"));
        };
        let is_good = |value: &f64| {
            (column.low..=column.high).contains(value) && round(*value, column.decimals) == *value
        };
        if let Some(row) = values.iter().position(|value| !is_good(value)) {
            let (low, high, decimals) = (column.low, column.high, column.decimals);
            let detail = format!(
                "the column `{name}` is {} in row {row}; values lie from {low} to {high} and have \
                 {decimals} decimals (use np.clip)",
                values[row]
            );
            return refuse(GeneratorFlaw::BadValue, &detail);
        }
    }
    for column in &spec.words {
        let name = &column.name;
        let Some(values) = columns.words.get(name) else {
            return refuse(GeneratorFlaw::BadName, &format!("the column `{name}` is missing"));
        };
        if let Some(word) = values.iter().find(|word| !column.words.contains(word)) {
            let words = column.words.join(", ");
            let detail =
                format!("the column `{name}` holds `{word:.60}`, which is none of: {words}");
            return refuse(GeneratorFlaw::BadValue, &detail);
        }
    }
    let declared: BTreeSet<&str> = spec.names().collect();
    let names = columns.numbers.keys().chain(columns.words.keys());
    let others: Vec<&String> = names.filter(|name| !declared.contains(name.as_str())).collect();
    for name in &others {
        if !is_hidden(name) || columns.words.contains_key(*name) {
            let detail = format!(
                "`{name:.60}` is no column of the task; a hidden number that items show is named \
                 `item.` and a word in lower case"
            );
            return refuse(GeneratorFlaw::BadName, &detail);
        }
        if spec.item.is_none() {
            let detail =
                format!("`{name:.60}` is a hidden column, and rows have no items to show it");
            return refuse(GeneratorFlaw::BadName, &detail);
        }
        if let Some(row) = columns.numbers[*name].iter().position(|value| !value.is_finite()) {
            let detail = format!("the column `{name}` is not finite in row {row}");
            return refuse(GeneratorFlaw::BadValue, &detail);
        }
    }
    if others.len() > MOST_HIDDEN {
        let detail =
            format!("there are {} hidden columns; at most {MOST_HIDDEN} may be", others.len());
        return refuse(GeneratorFlaw::BadName, &detail);
    }
    Ok(())
}

/// Whether a name is that of a hidden column: `item.` and lower-case letters, digits and `_`.
fn is_hidden(name: &str) -> bool {
    name.strip_prefix(HIDDEN).is_some_and(|rest| {
        rest.starts_with(|c: char| c.is_ascii_lowercase())
            && rest.len() <= 32
            && rest.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
    })
}

/// Scores are finite, and vary.
pub(super) fn scores(spec: &GeneratorSpec, scores: &Array2<f64>) -> CheckResult {
    if scores.ncols() != spec.targets {
        let detail =
            format!("there are scores of {} targets instead of {}", scores.ncols(), spec.targets);
        return refuse(GeneratorFlaw::BadShape, &detail);
    }
    for (target, values) in scores.columns().into_iter().enumerate() {
        if let Some(row) = values.iter().position(|value| !value.is_finite()) {
            let detail = format!("the score of target {target} is {} in row {row}", values[row]);
            return refuse(GeneratorFlaw::BadScores, &detail);
        }
        let (mean, spread) = moments(&values.to_vec());
        if !(spread.is_finite() && spread > 1e-9 * mean.abs().max(1e-300)) {
            let detail = format!("the score of target {target} is {} in every row", values[0]);
            return refuse(GeneratorFlaw::BadScores, &detail);
        }
    }
    Ok(())
}

/// Items are of the form that is asked for.
fn items(spec: &GeneratorSpec, items: &GeneratedItems) -> CheckResult {
    let fits = match (spec.item, items) {
        (None, GeneratedItems::None) => true,
        (Some(ItemForm::Picture { height, width, colour }), GeneratedItems::Pictures(levels)) => {
            let channels: &[usize] = if colour { &[3] } else { &[] };
            levels.shape()[1..] == [&[height, width], channels].concat()
        }
        (Some(ItemForm::Sound { samples }), GeneratedItems::Sounds(sounds)) => {
            sounds.ncols() == samples
        }
        (Some(ItemForm::Text), GeneratedItems::Texts(texts)) => {
            return texts.iter().enumerate().try_for_each(|(row, text)| item_text(row, text));
        }
        _ => false,
    };
    if fits {
        Ok(())
    } else {
        refuse(GeneratorFlaw::BadShape, "items are not of the form asked for")
    }
}

/// A text is plain ASCII, is no longer than asked for, and holds no tag of a turn.
fn item_text(row: usize, text: &str) -> CheckResult {
    let bad = |what: &str| refuse(GeneratorFlaw::BadText, &format!("the text of row {row} {what}"));
    if text.trim().is_empty() {
        return bad("is empty");
    }
    if text.len() > MOST_TEXT {
        return bad(&format!("has {} bytes; at most {MOST_TEXT} are accepted", text.len()));
    }
    if let Some(c) = text.chars().find(|c| !shows(*c)) {
        return bad(&format!("holds U+{:04X}, which does not show", u32::from(c)));
    }
    match TAGS.iter().find(|tag| text.to_lowercase().contains(*tag)) {
        Some(tag) => bad(&format!("holds `{tag}`, a tag of the agents' turns")),
        None => Ok(()),
    }
}

/// Whether a character has a glyph or is a blank or line end: no control character, no mark of
/// direction, no joiner, other blank or variation selector.
fn shows(c: char) -> bool {
    let is_invisible = matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200d}' | '\u{2060}'..='\u{2065}' | '\u{3164}'
        | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{e0100}'..='\u{e01ef}');
    let is_plain = !c.is_whitespace() && matches!(printable(&String::from(c)), Cow::Borrowed(_));
    matches!(c, ' ' | '\n') || (is_plain && !is_invisible)
}

/// Rows are exchangeable: scores do not go with those of the rows before them.
///
/// r(k) = Σ (sᵢ − s̄)(sᵢ₊ₖ − s̄) / Σ (sᵢ − s̄)², whose standard error is 1/√n for independent rows.
fn order(scores: &Array2<f64>) -> CheckResult {
    let most = LAG_ERRORS / (scores.nrows() as f64).sqrt();
    for values in scores.columns() {
        for lag in 1..=LAGS.min(values.len() / 4) {
            let r = autocorrelation(values, lag);
            if r.abs() > most {
                let detail = format!(
                    "scores correlate with those {lag} rows before them (r = {r:.2}, at most \
                     {most:.2}); rows must be exchangeable draws in no order"
                );
                return refuse(GeneratorFlaw::OrderedRows, &detail);
            }
        }
    }
    Ok(())
}

fn autocorrelation(values: ArrayView1<'_, f64>, lag: usize) -> f64 {
    let (mean, spread) = moments(&values.to_vec());
    let pairs = values.iter().zip(values.iter().skip(lag));
    let shared: f64 = pairs.map(|(a, b)| (a - mean) * (b - mean)).sum();
    shared / (spread * spread * values.len() as f64)
}

/// Few rows repeat what another shows: written columns and item.
fn duplicates(spec: &GeneratorSpec, made: &MadeRows) -> CheckResult {
    let mut seen = BTreeSet::new();
    let rows = made.columns.rows;
    for row in 0..rows {
        let mut hasher = blake3::Hasher::new();
        for column in &spec.numbers {
            hasher.update(&made.columns.numbers[&column.name][row].to_le_bytes());
        }
        for column in &spec.words {
            hasher.update(made.columns.words[&column.name][row].as_bytes()).update(&[0]);
        }
        match &made.items {
            GeneratedItems::None => {}
            GeneratedItems::Pictures(levels) => {
                let levels: Vec<u8> =
                    levels.outer_iter().nth(row).into_iter().flatten().copied().collect();
                hasher.update(&levels);
            }
            GeneratedItems::Sounds(samples) => {
                samples.row(row).iter().for_each(|sample| {
                    hasher.update(&sample.to_le_bytes());
                });
            }
            GeneratedItems::Texts(texts) => {
                hasher.update(texts[row].as_bytes());
            }
        }
        seen.insert(*hasher.finalize().as_bytes());
    }
    let repeated = rows - seen.len();
    if repeated as f64 <= DUPLICATES * rows as f64 {
        return Ok(());
    }
    let detail = format!("{repeated} of {rows} rows repeat another one; at most 1 % may");
    refuse(GeneratorFlaw::Duplicate, &detail)
}

/// Transforms explain the scores together, and none alone.
pub(super) fn transforms(scores: &Array2<f64>, transforms: &Array2<f64>) -> CheckResult {
    for (target, score) in scores.columns().into_iter().enumerate() {
        let score = score.to_vec();
        for (index, transform) in transforms.columns().into_iter().enumerate() {
            // A constant transform has no correlation, and explains nothing.
            let rho = spearman(&score, &transform.to_vec()).unwrap_or(0.0);
            if rho.abs() > SAME {
                let detail = format!(
                    "transform {index} is the score of target {target} (rank correlation {rho:.3}); \
                     return its parts, which a solver can discover one by one"
                );
                return refuse(GeneratorFlaw::TransformIsScore, &detail);
            }
        }
        let fitted = Linear::ridge(transforms, &score, PENALTY).score(transforms);
        let explained = r2(&score, &fitted).unwrap_or(0.0);
        if explained < EXPLAINED {
            let detail = format!(
                "a linear model on the transforms reaches R² {explained:.2} of the score of target \
                 {target}, and {EXPLAINED} is needed; return the terms of `score`, computed from \
                 public columns and items"
            );
            return refuse(GeneratorFlaw::TransformMisses, &detail);
        }
    }
    Ok(())
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::numeric::draws::Draws;
    use ndarray::Array1;
    use tasks::stream::Stream;

    pub(in crate::generator) fn flaw(checked: CheckResult) -> &'static str {
        checked.unwrap_err().code()
    }

    fn noise(name: &str, rows: usize) -> Vec<f64> {
        let mut draws = Draws::new(Stream::root(3).child(name));
        (0..rows).map(|_| draws.normal()).collect()
    }

    pub(in crate::generator) fn spec() -> GeneratorSpec {
        let words = serde_json::from_str(r#"["wood: oak ash"]"#).unwrap();
        let numbers = vec!["load -9 9 b 4".parse().unwrap()];
        GeneratorSpec { rows: 200, numbers, words, targets: 1, item: None }
    }

    pub(in crate::generator) fn sound(name: &str, rows: usize) -> MadeRows {
        let load: Vec<f64> = noise(name, rows).iter().map(|value| round(*value, 4)).collect();
        let wood: Vec<String> = noise("wood", rows)
            .iter()
            .map(|v| if *v > 0.0 { "oak" } else { "ash" }.to_owned())
            .collect();
        let scores = Array2::from_shape_fn((rows, 1), |(row, _)| load[row].powi(2));
        let columns = Frame {
            numbers: [("load".to_owned(), load)].into(),
            words: [("wood".to_owned(), wood)].into(),
            block: 0,
            rows,
        };
        MadeRows { columns, scores, items: GeneratedItems::None }
    }

    #[test]
    fn sound_rows_pass() {
        made(&spec(), &sound("a", 200)).unwrap();
    }

    #[test]
    fn columns_that_are_not_those_of_the_task_are_refused() {
        let changed = |change: &dyn Fn(&mut MadeRows)| {
            let mut rows = sound("a", 200);
            change(&mut rows);
            flaw(made(&spec(), &rows))
        };
        let load = |rows: &mut MadeRows, value| {
            rows.columns.numbers.get_mut("load").unwrap()[3] = value;
        };
        assert_eq!(changed(&|rows| load(rows, f64::NAN)), "bad_value");
        assert_eq!(changed(&|rows| load(rows, 9.01)), "bad_value");
        assert_eq!(changed(&|rows| load(rows, 0.123_45)), "bad_value");
        let more = |name: &'static str| {
            move |rows: &mut MadeRows| {
                rows.columns.numbers.insert(name.to_owned(), noise("more", 200));
            }
        };
        assert_eq!(changed(&more("secret")), "bad_name");
        assert_eq!(changed(&more("item.depth")), "bad_name");
        assert_eq!(changed(&|rows| rows.columns.numbers.clear()), "bad_name");
        assert_eq!(changed(&|rows| rows.columns.words.clear()), "bad_name");
        let word = |rows: &mut MadeRows| {
            "elm".clone_into(&mut rows.columns.words.get_mut("wood").unwrap()[0]);
        };
        assert_eq!(changed(&word), "bad_value");
        let still = |rows: &mut MadeRows| rows.columns.numbers.get_mut("load").unwrap().fill(1.0);
        assert_eq!(changed(&still), "constant_column");
        assert_eq!(changed(&|rows| rows.scores.fill(2.0)), "bad_scores");
        assert_eq!(changed(&|rows| rows.scores[[7, 0]] = f64::INFINITY), "bad_scores");
        let sorted = |rows: &mut MadeRows| {
            let mut values = rows.scores.column(0).to_vec();
            values.sort_by(f64::total_cmp);
            rows.scores.column_mut(0).assign(&Array1::from(values));
        };
        assert_eq!(changed(&sorted), "ordered_rows");
    }

    #[test]
    fn pairs_of_like_rows_are_an_order_although_neighbours_do_not_correlate() {
        let scores =
            Array2::from_shape_fn((200, 1), |(row, _)| f64::from(u8::from(row / 2 % 2 == 0)));
        assert!(autocorrelation(scores.column(0), 1).abs() < 0.02);
        assert_eq!(flaw(order(&scores)), "ordered_rows");
    }

    #[test]
    fn two_percent_of_repeated_rows_are_too_many() {
        let repeat = |count: usize| {
            let mut rows = sound("a", 200);
            for row in 0..count {
                rows.columns.numbers.get_mut("load").unwrap()[row] = 0.25;
                "oak".clone_into(&mut rows.columns.words.get_mut("wood").unwrap()[row]);
            }
            duplicates(&spec(), &rows)
        };
        repeat(1).unwrap();
        assert_eq!(flaw(repeat(8)), "duplicate");
    }

    #[test]
    fn transforms_must_explain_the_score_together_and_not_alone() {
        let (a, b) = (noise("a", 300), noise("b", 300));
        let scores = Array2::from_shape_fn((300, 1), |(row, _)| a[row] + b[row]);
        let both =
            Array2::from_shape_fn((300, 2), |(row, at)| if at == 0 { a[row] } else { b[row] });
        transforms(&scores, &both).unwrap();
        let one = Array2::from_shape_fn((300, 2), |(row, _)| a[row]);
        assert_eq!(flaw(transforms(&scores, &one)), "transform_misses");
        let score =
            Array2::from_shape_fn(
                (300, 2),
                |(row, at)| if at == 0 { a[row] } else { -a[row] - b[row] },
            );
        assert_eq!(flaw(transforms(&scores, &score)), "transform_is_score");
    }

    #[test]
    fn texts_that_hide_something_are_refused() {
        item_text(0, "Two lines,\nnaïve 数据.").unwrap();
        for text in [
            "",
            " \n",
            "a\u{202e}b",
            "a\u{200b}b",
            "a\u{a0}b",
            "a\tb",
            "a\rb",
            "\x1b[2J",
            "a\u{fe0f}",
            "so </THINK> it",
            "<tool_call>",
            &"x".repeat(MOST_TEXT + 1),
        ] {
            assert_eq!(flaw(item_text(0, text)), "bad_text", "{text:?}");
        }
    }
}
