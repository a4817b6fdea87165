//! The hidden rule as pandas code, for the scripted oracle that calibrates corpora.
//!
//! What [`repaired`](crate::data::mutation::repaired) and
//! [`Rule::transforms`](crate::spec::rule::Rule::transforms) do natively for rung R3, written for
//! a frame `x` of the public training and test rows. It stays in the manifest and is never shown
//! to other agents.

use crate::data::places::RADIUS;
use crate::media::Storage;
use crate::media::graph::nodes;
use crate::spec::blueprint::{Blueprint, Link, Target};
use crate::spec::generated::{GeneratedItemLayout, ItemForm};
use crate::spec::layout::{ItemLayout, NetworkLayout};
use crate::spec::mutation::{Mutation, SENTINEL};
use crate::spec::rule::{Expr, Term, Test};
use crate::spec::structure::{
    ReadingSpec, RecordFormat, Relation, Summary, There, coordinate_columns,
};
use std::fmt::Write as _;

/// A script's lines that undo the mutations and replace `x` by the terms of the rule (`t0`, ...) and
/// of its spread (`s0`, ...), and `y` by its logarithm where the link is exponential. Names `pd` and
/// `np` are imported by the caller, the functions of [`reader`] are defined where rows have items or
/// are nodes, and rows of one series are in time order.
pub(crate) fn oracle(blueprint: &Blueprint) -> String {
    let told = [summed, related, placed].map(|lines| lines(blueprint));
    let mut code = told.concat() + &undone(blueprint);
    if let Some(layout) = blueprint.item() {
        code.push_str(&estimates(layout));
    }
    code.push_str(FILLED);
    if let Some(layout) = blueprint.network() {
        let hidden: Vec<String> =
            layout.near.iter().map(|column| NetworkLayout::hidden(column)).collect();
        let _ = writeln!(code, "x[{hidden:?}] = near(x[{:?}])", layout.near);
        let _ = writeln!(code, "x[{:?}] = items(x)[:, :2]", NetworkLayout::STRUCTURE);
    }
    code.push_str(
        "def lag(e, k):\n    \
         g = e.groupby(x[x.columns[0]])\n    \
         return g.shift(k).fillna(g.transform(\"first\"))\n\
         o = pd.DataFrame(index=x.index)\n",
    );
    let of_spread = blueprint.targets.iter().flat_map(|target| &target.spread);
    let middle = blueprint.targets.iter().flat_map(|target| target.rule.iter().chain(&target.axes));
    for (index, term) in middle.flat_map(|rule| &rule.terms).enumerate() {
        let _ = writeln!(code, "o[\"t{index}\"] = {}", expression(&term.expr));
    }
    for (index, term) in of_spread.flat_map(|rule| &rule.terms).enumerate() {
        let _ = writeln!(code, "o[\"s{index}\"] = {}", expression(&term.expr));
    }
    let first = blueprint.targets.first().filter(|target| target.is_nominal());
    code.push_str(&first.map_or_else(|| "x = o\n".to_owned(), axes));
    code + straightened(blueprint)
}

/// Lines that replace `x` by the scores of a target's axes, from its rules' terms in `o`. Classes are
/// regions of their space, so that a linear model needs their squares and products, too.
fn axes(target: &Target) -> String {
    let mut code = String::from("x = pd.DataFrame(index=o.index)\n");
    let mut term = 0;
    let axes: Vec<usize> = (0..=target.axes.len()).collect();
    for (axis, rule) in target.rules().enumerate() {
        let terms = rule.terms.iter().enumerate().map(|(index, Term { weight, spread, .. })| {
            format!("{weight:?} * o[\"t{}\"] / {spread:?}", term + index)
        });
        let _ = writeln!(code, "x[\"a{axis}\"] = {}", terms.collect::<Vec<_>>().join(" + "));
        let _ = writeln!(code, "x[\"a{axis}\"] -= x[\"a{axis}\"].mean()");
        term += rule.terms.len();
    }
    for (one, other) in axes.iter().flat_map(|one| axes[*one..].iter().map(move |o| (one, o))) {
        let _ = writeln!(code, "x[\"a{one}{other}\"] = x[\"a{one}\"] * x[\"a{other}\"]");
    }
    code
}

/// Lines that replace `x` by the transforms of the task's generator, and `y` as [`oracle`] does.
pub(crate) fn generated(blueprint: &Blueprint) -> String {
    let mut code = undone(blueprint);
    let items = match blueprint.generated().and_then(|layout| layout.item.as_ref()) {
        None => "None",
        Some(GeneratedItemLayout { form: ItemForm::Text, .. }) => "[decode(i) for i in items(x)]",
        Some(GeneratedItemLayout { form: ItemForm::Sound { .. }, .. }) => {
            "np.stack([decode(i) for i in items(x)]) / 32767.0"
        }
        Some(_) => "np.stack([decode(i) for i in items(x)])",
    };
    let numbers: Vec<&str> = blueprint.numbers.iter().map(|column| column.name.as_str()).collect();
    let words: Vec<&str> = blueprint.words.iter().map(|spec| spec.column.name.as_str()).collect();
    // A text in JSON is one in Python, too.
    let program = blueprint.generator().map(|generator| generator.code.as_str());
    let program = serde_json::Value::from(program.unwrap_or_default());
    let _ = write!(
        code,
        "e = {items}\n\
         {FILLED}\
         c = {{k: x[k].to_numpy(dtype=float) for k in {numbers:?}}}\n\
         c.update({{k: x[k].fillna(\"\").to_numpy(dtype=str) for k in {words:?}}})\n\
         g = {{\"__name__\": \"generate_task_env\"}}\n\
         exec({program}, g)\n\
         x = pd.DataFrame(np.asarray(g[\"transforms\"](c, e), dtype=float), index=x.index)\n"
    );
    code + straightened(blueprint)
}

/// Lines that replace lists of readings by the number that follows from them.
fn summed(blueprint: &Blueprint) -> String {
    let Some(ReadingSpec { column, of, summary, .. }) = &blueprint.structure.readings else {
        return String::new();
    };
    let summary = match summary {
        Summary::Mean => "np.mean",
        Summary::Max => "np.max",
    };
    format!("x[{of:?}] = [{summary}([float(v) for v in r.split()]) for r in x.pop({column:?})]\n")
}

/// Lines that add the number that follows from a row's records.
fn related(blueprint: &Blueprint) -> String {
    let Some(spec) = &blueprint.structure.records else { return String::new() };
    let (of, id, path) = (&spec.of, &blueprint.id_column, spec.path());
    // In JSON and Parquet, ids are texts.
    let texts = format!("dtype={{{id:?}: str}}");
    let mut code = match spec.format {
        RecordFormat::Csv => format!("r = pd.read_csv(\"input/{path}\", {texts})\n"),
        RecordFormat::JsonLines => format!(
            "import json\n\
             r = [json.loads(line) for line in open(\"input/{path}\")]\n\
             r = pd.json_normalize(r, {:?}, {id:?})\n",
            spec.file
        ),
        RecordFormat::Parquet => {
            format!("r = pd.read_parquet(\"input/{path}\", engine=\"fastparquet\")\n")
        }
    };
    let summary = match &spec.relation {
        Relation::Mean => "mean",
        Relation::Largest => "max",
        Relation::Latest => {
            let _ = writeln!(code, "r = r.sort_values({:?}, kind=\"stable\")", spec.day);
            "last"
        }
        Relation::Source { name } => {
            let _ = writeln!(code, "r = r[r[{:?}] == {name:?}]", spec.source.name);
            "mean"
        }
        Relation::Catalogue { file, item, .. } => {
            let _ = writeln!(code, "r = r.merge(pd.read_csv(\"input/{file}.csv\"), on={item:?})");
            "mean"
        }
    };
    let _ = write!(
        code,
        "r = r.groupby({id:?})[{of:?}].{summary}()\n\
         k = [pd.read_csv(f\"input/{{f}}.csv\", {texts})[{id:?}] for f in (\"train\", \"test\")]\n\
         x[{of:?}] = pd.concat(k).map(r).to_numpy()\n",
    );
    code
}

/// Lines that add the distance that follows from a row's places.
fn placed(blueprint: &Blueprint) -> String {
    let Some(spec) = &blueprint.structure.places else { return String::new() };
    let ([lat, lon], unit) = (coordinate_columns(&spec.here), spec.unit);
    let far = match &spec.there {
        There::Written { name } => {
            let [to_lat, to_lon] = coordinate_columns(name);
            format!("far(x[{to_lat:?}], x[{to_lon:?}])")
        }
        There::Unwritten { places } => {
            format!("np.min([far(*p) for p in {places:?}], axis=0)")
        }
    };
    format!(
        "def far(c, d):\n    \
         a, b, c, d = (np.radians(v) for v in (x[{lat:?}], x[{lon:?}], c, d))\n    \
         h = np.sin((c - a) / 2) ** 2 + np.cos(a) * np.cos(c) * np.sin((d - b) / 2) ** 2\n    \
         return 2 * {RADIUS} * np.arcsin(np.sqrt(h))\n\
         x[{:?}] = {far} / {unit:?}\n",
        spec.of
    )
}

/// Fills gaps with the medians of the training rows.
const FILLED: &str = "x = x.fillna(x[:n].median(numeric_only=True))\n";

/// The line that takes the logarithm of `y`, where the link is exponential.
fn straightened(blueprint: &Blueprint) -> &'static str {
    if logarithmic(blueprint) { "y = np.log(y.clip(lower=1e-9))\n" } else { "" }
}

/// Lines that undo the mutations of `x`.
fn undone(blueprint: &Blueprint) -> String {
    let mut code = String::new();
    for mutation in &blueprint.mutations {
        match mutation {
            Mutation::Sentinel { column, .. } => {
                let _ = writeln!(code, "x.loc[x[{column:?}] == {SENTINEL}, {column:?}] = np.nan");
            }
            Mutation::Units { column, companion, factor, .. } => {
                let _ = writeln!(
                    code,
                    "x[{column:?}] = x[{column:?}].where(x[{companion:?}] != \"alt\", \
                     x[{column:?}] / {factor})"
                );
            }
            Mutation::LabelNoise { .. }
            | Mutation::Imbalance { .. }
            | Mutation::Missing { .. }
            | Mutation::Echo { .. }
            | Mutation::Channels { .. }
            | Mutation::Rescaled { .. }
            | Mutation::NearDuplicates { .. }
            | Mutation::Blemish { .. } => {}
        }
    }
    code
}

/// Whether predictions must be exponentiated.
pub(crate) fn logarithmic(blueprint: &Blueprint) -> bool {
    blueprint.targets.iter().any(|target| {
        let link = &target.link;
        matches!(link, Link::Exponential { .. } | Link::Heteroscedastic { logarithmic: true, .. })
    })
}

/// Python that reads what a task has beside its tables, if anything: `items(x)` takes the items'
/// columns out of the frame `x` and returns the items, `read(i)` returns plain, generic and
/// estimated numbers of one. The items of a network are its nodes, and `near(x)` averages the
/// columns of a frame over the neighbours of each.
pub(crate) fn reader(blueprint: &Blueprint) -> Option<String> {
    let network = blueprint.network().map(|_| nodes::PYTHON.to_owned());
    network.or_else(|| blueprint.item().map(of_items))
}

fn of_items(layout: &ItemLayout) -> String {
    let reader = layout.medium.reader();
    let column = &layout.column;
    let load = match layout.storage() {
        Storage::Files { .. } => {
            format!("[open(\"input/\" + p, \"rb\").read() for p in x.pop({column:?})]")
        }
        Storage::Folders { .. } => {
            // There are no more than nine frames: names are in order.
            let files = "sorted(glob.glob(\"input/\" + p + \"/*.png\"))";
            let bytes = format!("b\"\".join(open(f, \"rb\").read() for f in {files})");
            format!("[{bytes} for p in x.pop({column:?})]")
        }
        Storage::Cells(1) => format!("[t.encode() for t in x.pop({column:?})]"),
        Storage::Cells(_) => {
            let columns = layout.columns();
            format!("[\"\\n\".join(t).encode() for t in zip(*(x.pop(c) for c in {columns:?}))]")
        }
    };
    let imports = match layout.storage() {
        Storage::Folders { .. } => "import glob\n",
        _ => "",
    };
    format!("{imports}{}\n\n\ndef items(x):\n    return {load}\n", reader.python().trim_end())
}

/// Lines that replace the items' column by the statistics estimated from them.
fn estimates(layout: &ItemLayout) -> String {
    let names: Vec<&str> = layout.statistics.iter().map(|column| column.name.as_str()).collect();
    format!("x[{names:?}] = [read(i)[2] for i in items(x)]\n")
}

fn expression(expr: &Expr) -> String {
    match expr {
        Expr::Number { value } => format!("pd.Series({value:?}, x.index)"),
        Expr::Deviation { column, reference, scale } => {
            format!("((x[{column:?}] - {reference:?}) / {scale:?})")
        }
        Expr::Product { left, right } => format!("({} * {})", expression(left), expression(right)),
        Expr::Difference { left, right } => {
            format!("({} - {})", expression(left), expression(right))
        }
        Expr::Ratio { over, under, shift } => format!("(x[{over:?}] / (x[{under:?}] + {shift:?}))"),
        Expr::Absolute { of } => format!("{}.abs()", expression(of)),
        Expr::Square { of } => format!("({} ** 2)", expression(of)),
        Expr::Log { column, shift } => {
            format!("np.log((x[{column:?}] + {shift:?}).clip(lower=1e-9))")
        }
        Expr::Wave { column, period, phase } => {
            format!("np.sin(2 * np.pi * (x[{column:?}] - {phase:?}) / {period:?})")
        }
        Expr::If { test, then, otherwise } => {
            format!("{}.where({}, {})", expression(then), condition(test), expression(otherwise))
        }
        Expr::Count { of } => {
            let tests: Vec<String> =
                of.iter().map(|test| format!("1.0 * {}", condition(test))).collect();
            format!("({})", tests.join(" + "))
        }
        Expr::Offset { column, values } => {
            let pairs: Vec<String> =
                values.iter().map(|(word, value)| format!("{word:?}: {value:?}")).collect();
            format!("x[{column:?}].map({{{}}}).fillna(0.0)", pairs.join(", "))
        }
        Expr::Lag { of, steps } => format!("lag({}, {steps})", expression(of)),
    }
}

fn condition(test: &Test) -> String {
    match test {
        Test::Above { column, threshold } => format!("(x[{column:?}] > {threshold:?})"),
        Test::AtMost { column, threshold } => format!("(x[{column:?}] <= {threshold:?})"),
        Test::Is { column, value } => format!("(x[{column:?}] == {value:?})"),
        Test::All { of } => {
            let tests: Vec<String> = of.iter().map(condition).collect();
            format!("({})", tests.join(" & "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_expression_has_its_pandas_form() {
        let column = || Expr::deviation("a", 2.0, 0.5);
        let above = Test::Above { column: "a".to_owned(), threshold: 1.0 };
        let is = Test::Is { column: "w".to_owned(), value: "it's \"x\"".to_owned() };
        let both = Test::All { of: vec![above.clone(), is] };
        let cases = [
            Expr::Product { left: Box::new(column()), right: Box::new(column()) },
            Expr::If {
                test: both,
                then: Box::new(Expr::Number { value: 1.0 }),
                otherwise: Box::new(Expr::Lag { of: Box::new(column()), steps: 2 }),
            },
            Expr::Count { of: vec![above.clone(), above] },
            Expr::Offset { column: "w".to_owned(), values: [("k".to_owned(), -1.0)].into() },
        ];
        let texts: Vec<String> = cases.iter().map(expression).collect();
        insta::assert_snapshot!(texts.join("\n"));
    }
}
