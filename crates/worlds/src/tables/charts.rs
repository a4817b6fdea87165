//! Requests for charts, and the script that looks at what a program drew.
//!
//! The script has the table and not the values that the chart must show, which are compared outside
//! of the jail.

use super::asked::{Chart, TableQuestion};
use super::table::{Shape, Table};
use crate::kind::Scale;
use crate::runner::{ProgramRules, ProgramRun, PythonModule};
use crate::score::Mistake;
use crate::single::Judgement;
use jail::exec::Outcome;
use rand::RngExt as _;
use rand::seq::IndexedRandom as _;
use rand_chacha::ChaCha8Rng;
use serde_json::{Value, json};
use tasks::units::{ByteSize, Span};

/// What programs that draw may use. Importing matplotlib and pandas takes seconds on a busy machine.
pub(super) const RULES: ProgramRules = ProgramRules {
    time_limit: Span::seconds(30),
    memory: ByteSize::mib(1024),
    module: Some(PythonModule {
        name: "matplotlib",
        install: ".venv/bin/uv pip install --python .venv/bin/python --require-hashes -r \
                  python/requirements-charts.txt",
        preload: &[],
    }),
};

/// The forms of charts: name, the call that draws one, and where its values are in Python.
const FORMS: [(&str, &str, &str); 5] = [
    ("bar", "plt.bar", "[patch.get_height() for patch in _axes.patches]"),
    ("hbar", "plt.barh", "[patch.get_width() for patch in _axes.patches]"),
    ("line", "plt.plot", "[value for line in _axes.get_lines() for value in line.get_ydata()]"),
    ("pie", "plt.pie", "[(patch.theta2 - patch.theta1) / 360 for patch in _axes.patches]"),
    (
        "scatter",
        "plt.scatter",
        "[point[1] for points in _axes.collections for point in points.get_offsets()]",
    ),
];

/// What of a chart is read: as many values as this at most.
const VALUES: usize = 1000;

pub(super) fn draw(scale: Scale, rng: &mut ChaCha8Rng) -> Option<TableQuestion> {
    let &(form, call, _) = FORMS.choose(rng)?;
    let shape = if form == "line" { Shape::Years } else { Shape::Names };
    let table = Table::draw(shape, scale, rng)?;
    let x = rng.random_range(0..table.measures());
    let y = (x + rng.random_range(1..table.measures())) % table.measures();
    let (label, across, measure) = (table.label(), table.measure(x), table.measure(y));
    let values = table.column(y);
    let (question, arguments) = match form {
        "bar" => (
            format!("Draw a bar chart of the {measure} of each {label}."),
            format!("df[\"{label}\"], df[\"{measure}\"]"),
        ),
        "hbar" => (
            format!("Draw a chart with horizontal bars of the {measure} of each {label}."),
            format!("df[\"{label}\"], df[\"{measure}\"]"),
        ),
        "line" => (
            format!("Draw a line chart of the {measure} over the years."),
            format!("df[\"{label}\"], df[\"{measure}\"]"),
        ),
        "pie" => (
            format!("Draw a pie chart of the {measure} of each {label}."),
            format!("df[\"{measure}\"], labels=df[\"{label}\"]"),
        ),
        _ => (
            format!("Draw a scatter chart with {across} along x and {measure} along y."),
            format!("df[\"{across}\"], df[\"{measure}\"]"),
        ),
    };
    let total: i64 = values.iter().sum();
    let shown = |value: &i64| {
        if form == "pie" { hundredth(*value as f64 / total as f64) } else { *value as f64 }
    };
    let values: Vec<f64> = values.iter().map(shown).collect();
    let code = format!(
        "import pandas as pd\nimport matplotlib.pyplot as plt\n\
         df = pd.read_csv(\"table.csv\")\n{call}({arguments})\nplt.show()"
    );
    let steps = format!("The values are those of {measure}.");
    let (kind, chart) = (form.to_owned(), Some(Chart { form: form.to_owned(), values }));
    Some(TableQuestion { kind, table, question, steps, code, answer: String::new(), chart })
}

/// Rounded to two decimals.
fn hundredth(value: f64) -> f64 {
    (value * 100.0).round() / 100.0
}

/// The last fenced block of Python in a text, as TableBench finds it.
fn program(text: &str) -> Result<&str, Mistake> {
    const OPENING: &str = "```python\n";
    if text.trim().is_empty() {
        return Err(Mistake::Empty);
    }
    let (mut found, mut from) = (Err(Mistake::Format), 0);
    while let Some(at) = text[from..].find(OPENING) {
        let start = from + at + OPENING.len();
        let Some(end) = text[start..].find("```") else {
            return found.or(Err(Mistake::Truncated));
        };
        found = Ok(&text[start..start + end]);
        from = start + end + 3;
    }
    found
}

/// The program between what gives it the table and what reads the chart.
pub(super) fn script(item: &TableQuestion, text: &str) -> Option<String> {
    let (program, chart) = (program(text).ok()?, item.chart.as_ref()?);
    let (_, _, values) = FORMS.iter().find(|(form, _, _)| *form == chart.form)?;
    // A text of JSON is a text of Python too.
    let csv = json!(item.table.csv());
    Some(format!(
        "with open('table.csv', 'w') as _file:\n    _file.write({csv})\n\
         import matplotlib\nmatplotlib.use('Agg')\n\
         {program}\n\
         import json as _json\nimport matplotlib.pyplot as _plt\n\
         _axes = _plt.gca()\n\
         print()\nprint(_json.dumps([float(value) for value in {values}][:{VALUES}]))\n"
    ))
}

pub(super) fn judge(item: &TableQuestion, text: &str, run: Option<&ProgramRun>) -> Judgement {
    if let Err(mistake) = program(text) {
        return mistake.into();
    }
    let shown = run.filter(|run| run.outcome == Outcome::Finished).and_then(values);
    let (Some(shown), Some(chart)) = (shown, &item.chart) else {
        return Mistake::Invalid.into();
    };
    let sorted = |values: &[f64]| {
        let mut values: Vec<f64> = values.iter().copied().map(hundredth).collect();
        values.sort_by(f64::total_cmp);
        values
    };
    let is_right = sorted(&shown) == sorted(&chart.values);
    Judgement::of(f64::from(u8::from(is_right)), shown)
}

/// The values in the last line of what a script printed.
fn values(run: &ProgramRun) -> Option<Vec<f64>> {
    let line: Value = serde_json::from_str(run.printed.lines().last()?).ok()?;
    line.as_array()?.iter().map(Value::as_f64).collect()
}

/// A program that draws the right form of chart with other values.
pub(super) fn random(item: &TableQuestion, rng: &mut ChaCha8Rng) -> String {
    let values: Vec<String> =
        item.table.names.iter().map(|_| rng.random_range(1..100).to_string()).collect();
    let values = values.join(", ");
    format!("```python\nimport matplotlib.pyplot as plt\nplt.plot([{values}])\n```")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_closed_block_of_python_is_the_program() {
        for (text, found) in [
            ("", Err(Mistake::Empty)),
            ("plt.bar()", Err(Mistake::Format)),
            ("```\na\n```", Err(Mistake::Format)),
            ("```python\na\n```", Ok("a\n")),
            ("```python\na\n```\n```python\nb```", Ok("b")),
            ("```python\na", Err(Mistake::Truncated)),
            ("```python\na\n``` ```python\nb", Ok("a\n")),
        ] {
            assert_eq!(program(text), found, "{text:?}");
        }
    }
}
