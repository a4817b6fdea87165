//! Kinds of questions that ask what numbers mean: data analysis.

use super::asked::{Asked, QuestionKind, greatest, least, sum_of};
use super::table::{Shape, Table};
use crate::decimal::hundredths;
use crate::kind::Scale;
use rand::RngExt as _;
use rand_chacha::ChaCha8Rng;

/// Pearson's coefficient of two columns: `cov(x, y) / (sd(x) sd(y))`; `None` if one is constant.
fn correlation(x: &[i64], y: &[i64]) -> Option<f64> {
    let n = i64::try_from(x.len()).ok()?;
    let sum = |values: &[i64]| values.iter().sum::<i64>();
    let product = |a: &[i64], b: &[i64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<i64>();
    // Times n², so that all is whole before the root.
    let covariance = n * product(x, y) - sum(x) * sum(y);
    let spread = |values: &[i64]| n * product(values, values) - sum(values) * sum(values);
    let (a, b) = (spread(x), spread(y));
    (a > 0 && b > 0).then(|| covariance as f64 / ((a as f64).sqrt() * (b as f64).sqrt()))
}

/// A number with two decimals, without a minus before zero.
fn decimals(value: f64) -> String {
    let text = format!("{value:.2}");
    if text == "-0.00" { "0.00".to_owned() } else { text }
}

/// Makes the column `to` follow the column `from`, up or down, with some noise, so that their
/// correlation is worth asking for.
fn follow(table: &mut Table, from: usize, to: usize, rng: &mut ChaCha8Rng) -> Option<()> {
    let values = table.column(from);
    let (least, most) = (*values.iter().min()?, *values.iter().max()?);
    let noise = ((most - least) / 5).max(1);
    let down = rng.random_bool(0.5);
    for (row, value) in table.rows.iter_mut().zip(values) {
        let image = if down { least + most - value } else { value };
        row[to] = (image + rng.random_range(-noise..=noise)).max(1);
    }
    Some(())
}

fn two_columns(table: &Table, rng: &mut ChaCha8Rng) -> (usize, usize) {
    let first = rng.random_range(0..table.measures());
    (first, (first + rng.random_range(1..table.measures())) % table.measures())
}

fn anomaly(scale: Scale, rng: &mut ChaCha8Rng) -> Option<Asked> {
    let mut table = Table::draw(Shape::Names, scale, rng)?;
    let (index, row) =
        (rng.random_range(0..table.measures()), rng.random_range(0..table.names.len()));
    let base = rng.random_range(20..=60);
    for row in &mut table.rows {
        row[index] = base + rng.random_range(-5..=5);
    }
    let is_high = rng.random_bool(0.5);
    table.rows[row][index] = if is_high { base * 4 + rng.random_range(0..=9) } else { base / 10 };
    let (name, value) = (table.names[row].clone(), table.rows[row][index]);
    let (label, measure) = (table.label(), table.measure(index));
    let side = if is_high { "above" } else { "below" };
    let question =
        format!("Which {label} is out of line by its {measure}, and on which side of the others?");
    let steps = format!("The others have {measure} near {base}, but {name} has {value}.");
    let code = format!(
        "far = (df[\"{measure}\"] - df[\"{measure}\"].median()).abs().idxmax()\n\
         side = \"above\" if df.loc[far, \"{measure}\"] > df[\"{measure}\"].median() else \"below\"\n\
         answer = f\"{{df.loc[far, '{label}']}} is far {{side}} the others\""
    );
    let answer = format!("{name} is far {side} the others");
    Some(Asked { question, steps, code, answer, table })
}

fn causal(scale: Scale, rng: &mut ChaCha8Rng) -> Option<Asked> {
    let mut table = Table::draw(Shape::Names, scale, rng)?;
    let (a, b) = two_columns(&table, rng);
    if rng.random_bool(0.7) {
        follow(&mut table, a, b, rng)?;
    }
    let r = correlation(&table.column(a), &table.column(b))?;
    // Near the limits one digit decides.
    if [0.6, -0.6].iter().any(|limit| (r - limit).abs() < 0.05) {
        return None;
    }
    let (x, y) = (table.measure(a), table.measure(b));
    let question = format!("Does {y} rise or fall with {x}?");
    let answer = if r > 0.6 {
        format!("Yes, {y} rises with {x}")
    } else if r < -0.6 {
        format!("Yes, {y} falls with {x}")
    } else {
        format!("No, {y} does not follow {x}")
    };
    let steps = format!("The correlation is {}.", decimals(r));
    let code = format!(
        "r = df[\"{x}\"].corr(df[\"{y}\"])\n\
         answer = \"Yes, {y} rises with {x}\" if r > 0.6 else \"Yes, {y} falls with {x}\" \
         if r < -0.6 else \"No, {y} does not follow {x}\""
    );
    Some(Asked { question, steps, code, answer, table })
}

fn correlated(scale: Scale, rng: &mut ChaCha8Rng) -> Option<Asked> {
    let mut table = Table::draw(Shape::Any, scale, rng)?;
    let (a, b) = two_columns(&table, rng);
    follow(&mut table, a, b, rng)?;
    let r = correlation(&table.column(a), &table.column(b))?;
    if r.abs() < 0.2 {
        return None;
    }
    let (x, y) = (table.measure(a), table.measure(b));
    let question =
        format!("What is the correlation coefficient of {x} and {y}, rounded to two decimals?");
    let side = if r > 0.0 { "rises" } else { "falls" };
    let steps = format!("Where {x} rises, {y} {side}: r = {}.", decimals(r));
    let code = format!("answer = f\"{{df['{x}'].corr(df['{y}']):.2f}}\"");
    Some(Asked { question, steps, code, answer: decimals(r), table })
}

fn descriptive(scale: Scale, rng: &mut ChaCha8Rng) -> Option<Asked> {
    let table = Table::draw(Shape::Names, scale, rng)?;
    let index = rng.random_range(0..table.measures());
    let values = table.column(index);
    let (most, few) = (greatest(&values)?, least(&values)?);
    let (label, measure, rows) = (table.label(), table.measure(index), table.names.len());
    let question = format!(
        "Describe the table: how many rows it has, and which {label} has the highest and the \
         lowest {measure}."
    );
    let (most, few) = (&table.names[most], &table.names[few]);
    let answer =
        format!("There are {rows} rows, {most} has the highest {measure} and {few} the lowest");
    let listed: Vec<String> = values.iter().map(i64::to_string).collect();
    let steps = format!("{measure}: {}.", listed.join(", "));
    let code = format!(
        "most = df.loc[df[\"{measure}\"].idxmax(), \"{label}\"]\n\
         few = df.loc[df[\"{measure}\"].idxmin(), \"{label}\"]\n\
         answer = f\"There are {{len(df)}} rows, {{most}} has the highest {measure} and {{few}} the lowest\""
    );
    Some(Asked { question, steps, code, answer, table })
}

fn impact(scale: Scale, rng: &mut ChaCha8Rng) -> Option<Asked> {
    let mut table = Table::draw(Shape::Any, scale, rng)?;
    if table.measures() < 3 {
        return None;
    }
    let (a, b) = two_columns(&table, rng);
    let c = (0..table.measures()).find(|&column| column != a && column != b)?;
    follow(&mut table, a, c, rng)?;
    let target = table.column(c);
    let (near, far) =
        (correlation(&table.column(a), &target)?, correlation(&table.column(b), &target)?);
    if (near.abs() - far.abs()).abs() < 0.1 {
        return None;
    }
    let winner = if near.abs() > far.abs() { a } else { b };
    let (x, y) = (table.measure(a.min(b)).to_owned(), table.measure(a.max(b)).to_owned());
    let (z, answer) = (table.measure(c).to_owned(), table.measure(winner).to_owned());
    let question = format!("Which has the greater impact on {z}: {x} or {y}?");
    let [first, second] = if a < b { [near, far] } else { [far, near] };
    let steps = format!(
        "The correlation with {z} is {} for {x} and {} for {y}.",
        decimals(first),
        decimals(second)
    );
    let code = format!(
        "answer = max([\"{x}\", \"{y}\"], key=lambda name: abs(df[name].corr(df[\"{z}\"])))"
    );
    Some(Asked { question, steps, code, answer, table })
}

fn statistics(scale: Scale, rng: &mut ChaCha8Rng) -> Option<Asked> {
    let table = Table::draw(Shape::Any, scale, rng)?;
    let index = rng.random_range(0..table.measures());
    let mut values = table.column(index);
    let measure = table.measure(index);
    let count = i64::try_from(values.len()).ok()?;
    let sum: i64 = values.iter().sum();
    let (what, steps, code, answer) = match rng.random_range(0..3) {
        0 => {
            let mean = hundredths(sum, count);
            let steps = format!("{} = {sum}. {sum} / {count} = {mean}.", sum_of(&values));
            ("mean", steps, "mean()", mean)
        }
        1 => {
            values.sort_unstable();
            let middle = values.len() / 2;
            let double = values[(values.len() - 1) / 2] + values[middle];
            let median = hundredths(double, 2);
            let listed: Vec<String> = values.iter().map(i64::to_string).collect();
            let steps = format!("In order: {}. The middle is {median}.", listed.join(", "));
            ("median", steps, "median()", median)
        }
        _ => {
            // The sum of squared deviations, times the number of values, is whole.
            let squares: i64 = values.iter().map(|value| value * value).sum();
            let spread = count * squares - sum * sum;
            if spread == 0 {
                return None;
            }
            let variance = spread as f64 / (count * count) as f64;
            let deviation = decimals(variance.sqrt());
            let steps = format!(
                "The mean is {}, the variance {}.",
                hundredths(sum, count),
                hundredths(spread, count * count)
            );
            ("population standard deviation", steps, "std(ddof=0)", deviation)
        }
    };
    let question = format!("What is the {what} of {measure}, rounded to two decimals?");
    let code = format!("answer = f\"{{df['{measure}'].{code}:.2f}}\"");
    Some(Asked { question, steps, code, answer, table })
}

fn trend(scale: Scale, rng: &mut ChaCha8Rng) -> Option<Asked> {
    let mut table = Table::draw(Shape::Years, scale, rng)?;
    let index = rng.random_range(0..table.measures());
    let (start, step) = (rng.random_range(20..=60), rng.random_range(2..=9));
    for (number, row) in (0_i64..).zip(&mut table.rows) {
        row[index] = start + number * step + rng.random_range(-1..=1);
    }
    // Least squares over the rows 0 to n - 1: slope and level as fractions of n (n² - 1) / 6.
    let values = table.column(index);
    let n = i64::try_from(values.len()).ok()?;
    let weighted: i64 = (0_i64..).zip(&values).map(|(x, y)| (2 * x - (n - 1)) * y).sum();
    let sum: i64 = values.iter().sum();
    // y(n) = mean + slope (n - (n - 1) / 2), slope = 6 Σ (2 x - n + 1) y / (n (n² - 1)).
    let divisor = n * (n * n - 1);
    let next = sum * (n * n - 1) + 3 * weighted * (n + 1);
    let answer = hundredths(next, divisor);
    let year: i64 = table.names.last()?.parse().ok()?;
    let measure = table.measure(index);
    let question = format!(
        "By a straight line through all years, what {measure} is to be expected in {}, rounded to two \
         decimals?",
        year + 1
    );
    let steps = format!("The line rises by {} a year.", hundredths(6 * weighted, divisor));
    let code = format!(
        "import numpy as np\n\
         slope, level = np.polyfit(range(len(df)), df[\"{measure}\"], 1)\n\
         answer = f\"{{slope * len(df) + level:.2f}}\""
    );
    Some(Asked { question, steps, code, answer, table })
}

pub(super) static ANALYSIS: [QuestionKind; 7] = [
    QuestionKind { name: "anomaly", ask: anomaly },
    QuestionKind { name: "causal", ask: causal },
    QuestionKind { name: "correlation", ask: correlated },
    QuestionKind { name: "descriptive", ask: descriptive },
    QuestionKind { name: "impact", ask: impact },
    QuestionKind { name: "statistics", ask: statistics },
    QuestionKind { name: "trend", ask: trend },
];
