//! Kinds of questions whose answer is a number or a name that follows from numbers, and statements
//! to check: numerical reasoning and fact checking.

use super::asked::{Asked, QuestionKind, greatest, least, only, sum_of};
use super::table::{Shape, Table};
use crate::decimal::hundredths;
use crate::kind::Scale;
use rand::RngExt as _;
use rand_chacha::ChaCha8Rng;

/// A column of numbers.
fn column(table: &Table, rng: &mut ChaCha8Rng) -> usize {
    rng.random_range(0..table.measures())
}

/// Two different columns of numbers.
fn columns(table: &Table, rng: &mut ChaCha8Rng) -> (usize, usize) {
    let first = column(table, rng);
    let other = rng.random_range(1..table.measures());
    (first, (first + other) % table.measures())
}

fn row(table: &Table, rng: &mut ChaCha8Rng) -> usize {
    rng.random_range(0..table.names.len())
}

fn rows(table: &Table, rng: &mut ChaCha8Rng) -> (usize, usize) {
    let first = row(table, rng);
    let other = rng.random_range(1..table.names.len());
    (first, (first + other) % table.names.len())
}

/// The cell of a row and a column in Python.
fn cell(table: &Table, row: usize, column: usize) -> String {
    let (label, name) = (table.label(), &table.names[row]);
    let name = if name.parse::<i64>().is_ok() { name.clone() } else { format!("\"{name}\"") };
    format!("df.loc[df[\"{label}\"] == {name}, \"{}\"].iloc[0]", table.measure(column))
}

fn aggregation(scale: Scale, rng: &mut ChaCha8Rng) -> Option<Asked> {
    let table = Table::draw(Shape::Any, scale, rng)?;
    let index = column(&table, rng);
    let (values, measure) = (table.column(index), table.measure(index));
    let (sum, count) = (values.iter().sum::<i64>(), i64::try_from(values.len()).ok()?);
    let steps = format!("{} = {sum}.", sum_of(&values));
    let (question, steps, code, answer) = if rng.random_bool(0.5) {
        let question = format!("What is the sum of {measure}?");
        (question, steps, format!("answer = df[\"{measure}\"].sum()"), sum.to_string())
    } else {
        let mean = hundredths(sum, count);
        let question = format!("What is the mean of {measure}, rounded to two decimals?");
        let steps = format!("{steps} {sum} / {count} = {mean}.");
        (question, steps, format!("answer = round(df[\"{measure}\"].mean() + 1e-9, 2)"), mean)
    };
    Some(Asked { question, steps, code, answer, table })
}

fn arithmetic(scale: Scale, rng: &mut ChaCha8Rng) -> Option<Asked> {
    let table = Table::draw(Shape::Names, scale, rng)?;
    let ((a, b), row) = (columns(&table, rng), row(&table, rng));
    let (x, y, name) = (table.rows[row][a], table.rows[row][b], &table.names[row]);
    let (first, second) = (table.measure(a), table.measure(b));
    let question = format!("What is {first} plus {second} of {name}?");
    let code = format!("answer = {} + {}", cell(&table, row, a), cell(&table, row, b));
    let steps = format!("{x} + {y} = {}.", x + y);
    Some(Asked { question, steps, code, answer: (x + y).to_string(), table })
}

fn comparison(scale: Scale, rng: &mut ChaCha8Rng) -> Option<Asked> {
    let table = Table::draw(Shape::Names, scale, rng)?;
    let (index, (a, b)) = (column(&table, rng), rows(&table, rng));
    let (x, y) = (table.rows[a][index], table.rows[b][index]);
    if x <= y {
        return None;
    }
    let question = format!(
        "By how much is the {} of {} above that of {}?",
        table.measure(index),
        table.names[a],
        table.names[b]
    );
    let code = format!("answer = {} - {}", cell(&table, a, index), cell(&table, b, index));
    let steps = format!("{x} - {y} = {}.", x - y);
    Some(Asked { question, steps, code, answer: (x - y).to_string(), table })
}

fn counting(scale: Scale, rng: &mut ChaCha8Rng) -> Option<Asked> {
    let table = Table::draw(Shape::Any, scale, rng)?;
    let index = column(&table, rng);
    let (values, measure, label) = (table.column(index), table.measure(index), table.label());
    let limit = *values.get(row(&table, rng))? / 5 * 5;
    let above: Vec<&str> = values
        .iter()
        .zip(&table.names)
        .filter(|(value, _)| **value > limit)
        .map(|(_, name)| name.as_str())
        .collect();
    let question = format!("In how many rows is {measure} above {limit}?");
    let listed = if above.is_empty() { "none".to_owned() } else { above.join(", ") };
    let steps = format!("By {label}: {listed}.");
    let code = format!("answer = (df[\"{measure}\"] > {limit}).sum()");
    Some(Asked { question, steps, code, answer: above.len().to_string(), table })
}

fn domain(scale: Scale, rng: &mut ChaCha8Rng) -> Option<Asked> {
    let table = Table::draw(Shape::Names, scale, rng)?;
    let (a, b) = columns(&table, rng);
    let (first, second) = (table.column(a), table.column(b));
    let margins: Vec<i64> = first.iter().zip(&second).map(|(x, y)| x - y).collect();
    let row = greatest(&margins)?;
    let (x, y) = (table.measure(a), table.measure(b));
    let question =
        format!("The margin is {x} minus {y}. What is the greatest margin of the table?");
    let sums: Vec<String> =
        first.iter().zip(&second).map(|(x, y)| format!("{x} - {y} = {}", x - y)).collect();
    let steps = format!("{}.", sums.join(", "));
    let code = format!("answer = (df[\"{x}\"] - df[\"{y}\"]).max()");
    Some(Asked { question, steps, code, answer: margins[row].to_string(), table })
}

fn multi_hop(scale: Scale, rng: &mut ChaCha8Rng) -> Option<Asked> {
    let table = Table::draw(Shape::Any, scale, rng)?;
    let (a, b) = columns(&table, rng);
    let is_most = rng.random_bool(0.5);
    let values = table.column(a);
    let row = if is_most { greatest(&values) } else { least(&values) }?;
    let word = if is_most { "highest" } else { "lowest" };
    let (label, first, second) = (table.label(), table.measure(a), table.measure(b));
    let question = format!("What is the {second} of the {label} with the {word} {first}?");
    let value = table.rows[row][b];
    let steps = format!(
        "{} has the {word} {first}, {}. Its {second}: {value}.",
        table.names[row], values[row]
    );
    let function = if is_most { "idxmax" } else { "idxmin" };
    let code = format!("answer = df.loc[df[\"{first}\"].{function}(), \"{second}\"]");
    Some(Asked { question, steps, code, answer: value.to_string(), table })
}

fn ranking(scale: Scale, rng: &mut ChaCha8Rng) -> Option<Asked> {
    let table = Table::draw(Shape::Names, scale, rng)?;
    let index = column(&table, rng);
    let values = table.column(index);
    let mut sorted = values.clone();
    sorted.sort_unstable_by(|a, b| b.cmp(a));
    let place = rng.random_range(0..3);
    let row = only(&values, sorted[place])?;
    let (label, measure) = (table.label(), table.measure(index));
    let word = ["highest", "second highest", "third highest"][place];
    let question = format!("Which {label} has the {word} {measure}?");
    let listed: Vec<String> = sorted.iter().map(i64::to_string).collect();
    let steps =
        format!("In order: {}. {} has {}.", listed.join(", "), table.names[row], values[row]);
    let code = format!(
        "answer = df.sort_values(\"{measure}\", ascending=False)[\"{label}\"].iloc[{place}]"
    );
    Some(Asked { question, steps, code, answer: table.names[row].clone(), table })
}

fn time(scale: Scale, rng: &mut ChaCha8Rng) -> Option<Asked> {
    let table = Table::draw(Shape::Years, scale, rng)?;
    let index = column(&table, rng);
    let (from, to) = rows(&table, rng);
    if from >= to {
        return None;
    }
    let (x, y, years) =
        (table.rows[from][index], table.rows[to][index], i64::try_from(to - from).ok()?);
    let measure = table.measure(index);
    let answer = hundredths(y - x, years);
    let question = format!(
        "By how much a year did {measure} change from {} to {} on average, rounded to two decimals?",
        table.names[from], table.names[to]
    );
    let steps = format!("{y} - {x} = {}. {} / {years} = {answer}.", y - x, y - x);
    let code = format!(
        "change = ({} - {}) / {years}\nanswer = round(change + (1e-9 if change > 0 else -1e-9), 2) + 0.0",
        cell(&table, to, index),
        cell(&table, from, index)
    );
    Some(Asked { question, steps, code, answer, table })
}

fn matched(scale: Scale, rng: &mut ChaCha8Rng) -> Option<Asked> {
    let table = Table::draw(Shape::Names, scale, rng)?;
    let (index, row) = (column(&table, rng), row(&table, rng));
    let values = table.column(index);
    let row = only(&values, values[row])?;
    let (label, measure, name) = (table.label(), table.measure(index), table.names[row].clone());
    let question = format!("Which {label} has the {measure} {}?", values[row]);
    let steps = format!("The row of {name} has the {measure} {}.", values[row]);
    let code =
        format!("answer = df.loc[df[\"{measure}\"] == {}, \"{label}\"].iloc[0]", values[row]);
    Some(Asked { question, steps, code, answer: name, table })
}

fn multi_hop_check(scale: Scale, rng: &mut ChaCha8Rng) -> Option<Asked> {
    let mut table = Table::draw(Shape::Names, scale, rng)?;
    let (a, b) = columns(&table, rng);
    let (most, few) = (greatest(&table.column(a))?, least(&table.column(b))?);
    if rng.random_bool(0.5) {
        // Makes the statement true, which it rarely is by itself.
        let value = table.rows[few][b];
        table.rows[few][b] = table.rows[most][b];
        table.rows[most][b] = value;
    }
    let (first, second) = (table.column(a), table.column(b));
    let few = least(&second)?;
    let holds = most == few;
    let (label, x, y) = (table.label(), table.measure(a), table.measure(b));
    let question =
        format!("Has the {label} with the highest {x} also the lowest {y}? Answer yes or no.");
    let answer = if holds { "yes" } else { "no" };
    let steps = format!(
        "{} has the highest {x}, {}. {} has the lowest {y}, {}.",
        table.names[most], first[most], table.names[few], second[few]
    );
    let code =
        format!("answer = \"yes\" if df[\"{x}\"].idxmax() == df[\"{y}\"].idxmin() else \"no\"");
    Some(Asked { question, steps, code, answer: answer.to_owned(), table })
}

pub(super) static REASONING: [QuestionKind; 8] = [
    QuestionKind { name: "aggregation", ask: aggregation },
    QuestionKind { name: "arithmetic", ask: arithmetic },
    QuestionKind { name: "comparison", ask: comparison },
    QuestionKind { name: "counting", ask: counting },
    QuestionKind { name: "domain", ask: domain },
    QuestionKind { name: "multi_hop", ask: multi_hop },
    QuestionKind { name: "ranking", ask: ranking },
    QuestionKind { name: "time", ask: time },
];

pub(super) static CHECKING: [QuestionKind; 2] = [
    QuestionKind { name: "match", ask: matched },
    QuestionKind { name: "multi_hop", ask: multi_hop_check },
];
