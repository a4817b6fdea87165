//! Generators as a capable model would write them, for the columns and items of a blueprint.

use factory::spec::blueprint::Blueprint;
use factory::spec::generated::ItemForm;
use factory::spec::scenario::{NumberColumn, Shape};
use std::fmt::Write as _;

/// What a rule can be made of: a term's expression in Python and its share of the variance.
struct Parts {
    /// What a straight line finds.
    floors: Vec<String>,
    /// What a forest finds.
    steps: Vec<String>,
    /// What has to be discovered.
    products: Vec<String>,
    /// Shares of the three in a score.
    shares: [f64; 3],
}

/// The file for a blueprint; slots differ in signs and in the columns that act together.
pub(crate) fn generator(blueprint: &Blueprint) -> String {
    let layout = blueprint.generated().unwrap();
    let form = layout.item.as_ref().map(|item| item.form);
    let turn = usize::try_from(blueprint.origin.slot).unwrap() + blueprint.numbers.len();
    let parts = match form {
        None => of_columns(blueprint, turn),
        Some(form) => of_items(blueprint, form),
    };
    let terms: Vec<&String> =
        parts.floors.iter().chain(&parts.steps).chain(&parts.products).collect();
    let mut code = match form {
        None => "import numpy as np\n\nVERSION = 1\n".to_owned(),
        Some(ItemForm::Picture { height, colour, .. }) => include_str!("generators/picture.py")
            .replace("SIDE = 48", &format!("SIDE = {height}"))
            .replace("COLOUR = True", if colour { "COLOUR = True" } else { "COLOUR = False" }),
        Some(ItemForm::Sound { samples }) => include_str!("generators/sound.py")
            .replace("SAMPLES = 8192", &format!("SAMPLES = {samples}")),
        Some(ItemForm::Text) => include_str!("generators/text.py").to_owned(),
    };
    code += &columns(blueprint, form.is_some());
    code += "\n\ndef terms(c):\n    return np.column_stack([\n";
    for term in &terms {
        let _ = writeln!(code, "        {term},");
    }
    code += "    ])\n\n\ndef score(columns):\n    return terms(columns) @ np.array([\n";
    for target in 0..blueprint.targets.len() {
        let mut weights = weights(&parts, turn + target);
        // No two tasks have the same rule.
        weights[0] += 0.002 * blueprint.origin.slot as f64;
        let _ = writeln!(code, "        {weights:.3?},");
    }
    code += "    ]).T\n\n\ndef transforms(columns, items):\n    c = dict(columns)\n";
    if form.is_some() {
        code += "    c.update(measured(items))\n";
    }
    code + "    return terms(c)\n"
}

/// The weight of each term in a target's score: one floor, one step, two products.
fn weights(parts: &Parts, turn: usize) -> Vec<f64> {
    let sign = |bit: usize| if turn >> bit & 1 == 1 { -1.0 } else { 1.0 };
    let weight = |share: f64, bit: usize| (share.sqrt() * sign(bit) * 1000.0).round() / 1000.0;
    let [floor, step, product] = parts.shares;
    let chosen = |count: usize, index: usize| turn % count == index;
    let floors = (0..parts.floors.len())
        .map(|index| if chosen(parts.floors.len(), index) { weight(floor, 0) } else { 0.0 });
    let steps = (0..parts.steps.len())
        .map(|index| if chosen(parts.steps.len(), index) { weight(step, 1) } else { 0.0 });
    let count = parts.products.len();
    let products = (0..count).map(|index| {
        let both = [turn % count, (turn + 1) % count];
        if both.contains(&index) {
            weight(product / if count > 1 { 2.0 } else { 1.0 }, 2)
        } else {
            0.0
        }
    });
    floors.chain(steps).chain(products).collect()
}

/// Terms over the columns of a table.
fn of_columns(blueprint: &Blueprint, turn: usize) -> Parts {
    let numbers: Vec<String> = blueprint.numbers.iter().take(5).map(deviation).collect();
    let at = |index: usize| &numbers[(turn + index) % numbers.len()];
    let product = |one: usize, other: usize| format!("{} * {}", at(one), at(other));
    let several = blueprint.targets.len() > 1;
    let (floors, products) = if several {
        (
            vec![at(0).clone(), at(3).clone()],
            vec![product(1, 2), product(3, 4), product(0, 2), product(1, 4)],
        )
    } else {
        (vec![at(0).clone()], vec![product(1, 2), product(3, 4)])
    };
    Parts { floors, steps: vec![offsets(blueprint)], products, shares: [0.31, 0.25, 0.6] }
}

/// Terms over what items show, and the columns beside them.
fn of_items(blueprint: &Blueprint, form: ItemForm) -> Parts {
    // Names of hidden columns with their mean and standard deviation: one that anyone sees, one
    // that common features show, one that must be measured.
    let [seen, shown, hidden] = match form {
        ItemForm::Picture { .. } => {
            [("light", 115.0, 20.0), ("grain", 8.0, 3.5), ("stripes", 6.0, 2.0)]
        }
        ItemForm::Sound { .. } => {
            [("level", -14.0, 3.5), ("pitch", 550.0, 200.0), ("beats", 9.0, 2.9)]
        }
        ItemForm::Text => [("notes", 8.0, 2.6), ("leaks", 3.0, 1.4), ("visits", 3.0, 1.4)],
    };
    let deviation_of = |(name, mean, spread): (&str, f64, f64)| {
        format!("((c[\"item.{name}\"] - {mean:?}) / {spread:?})")
    };
    let (seen, shown, hidden) = (deviation_of(seen), deviation_of(shown), deviation_of(hidden));
    let own: Vec<String> = blueprint.numbers.iter().take(1).map(deviation).collect();
    // The first product is of what common features show, so that a search for products finds it.
    let mut products = vec![format!("{seen} * {shown}"), format!("{hidden} * {shown}")];
    products.extend(own.first().map(|column| format!("{shown} * {column}")));
    let steps = vec![format!("np.tanh(2 * {shown})")];
    Parts { floors: vec![seen], steps, products, shares: [0.35, 0.3, 0.9] }
}

/// A number column in units of its spread, as a term.
fn deviation(column: &NumberColumn) -> String {
    let NumberColumn { name, low, high, shape, .. } = column;
    let (middle, width) = (f64::midpoint(*low, *high), high - low);
    match shape {
        Shape::Uniform | Shape::Count => {
            format!("((c[{name:?}] - {middle:?}) / {:?})", short(width / 12.0_f64.sqrt()))
        }
        Shape::Bell => format!("((c[{name:?}] - {middle:?}) / {:?})", short(width / 5.0)),
        Shape::Skew => {
            let (center, spread) = (f64::midpoint(low.ln(), high.ln()), (high / low).ln() / 5.0);
            format!("((np.log(c[{name:?}]) - {:?}) / {:?})", short(center), short(spread))
        }
    }
}

fn short(value: f64) -> f64 {
    format!("{value:.2e}").parse().unwrap()
}

/// An offset per word of the first word column, as a term.
fn offsets(blueprint: &Blueprint) -> String {
    let column = &blueprint.words[0].column;
    let count = column.words.len();
    let tests = column.words.iter().enumerate().map(|(index, word)| {
        let value = short(3.4 * (index as f64 / (count - 1) as f64 - 0.5));
        format!("{value:?} * (c[{:?}] == {word:?})", column.name)
    });
    tests.collect::<Vec<_>>().join(" + ")
}

/// The function `columns`.
fn columns(blueprint: &Blueprint, has_items: bool) -> String {
    let mut code = "\n\ndef columns(rng, n):\n    c = {}\n".to_owned();
    for spec in &blueprint.numbers {
        let NumberColumn { name, low, high, shape, .. } = spec;
        let (middle, width) = (f64::midpoint(*low, *high), high - low);
        let drawn = match shape {
            Shape::Uniform => format!("rng.uniform({low:?}, {high:?}, n)"),
            Shape::Count => format!("rng.integers({low:.0}, {high:.0} + 1, n).astype(float)"),
            Shape::Bell => {
                format!("np.clip(rng.normal({middle:?}, {:?}, n), {low:?}, {high:?})", width / 5.0)
            }
            Shape::Skew => {
                let (center, spread) =
                    (f64::midpoint(low.ln(), high.ln()), (high / low).ln() / 5.0);
                format!("np.clip(np.exp(rng.normal({center:?}, {spread:?}, n)), {low:?}, {high:?})")
            }
        };
        let _ = writeln!(code, "    c[{name:?}] = {drawn}");
    }
    for spec in &blueprint.words {
        let (name, words) = (&spec.column.name, &spec.column.words);
        let _ = writeln!(code, "    c[{name:?}] = rng.choice({words:?}, n).tolist()");
    }
    if has_items {
        code += "    c.update(hidden(rng, n))\n";
    }
    code + "    return c\n"
}
