//! Draws tasks: a family, its parameters, examples, and tests that tell it from its neighbours.

use super::family::{Family, Topic};
use super::value::Value;
use super::{ProgramItem, ProgramTest, dictionaries, integers, lists, strings};
use crate::kind::Scale;
use crate::part::Part;
use rand::RngExt as _;
use rand::seq::{IndexedRandom as _, SliceRandom as _};
use rand_chacha::ChaCha8Rng;
use std::collections::BTreeSet;
use tasks::stream::Stream;

/// How many of ten sealed items are of families that training never has.
const NEW_FAMILIES: f64 = 0.1;
/// Random arguments that tests are chosen from.
const POOL: usize = 60;
/// Examples in a docstring.
const EXAMPLES: usize = 2;
/// Tests at edges, at most.
const EDGES: usize = 3;
/// Tests of an item, at least and at most.
pub(super) const TESTS: std::ops::RangeInclusive<usize> = 5..=12;

/// All families with their topics.
pub(super) fn families() -> impl Iterator<Item = (Topic, &'static Family)> {
    let of =
        |topic, families: &'static [Family]| families.iter().map(move |family| (topic, family));
    of(Topic::Integers, &integers::FAMILIES)
        .chain(of(Topic::Strings, &strings::FAMILIES))
        .chain(of(Topic::Lists, &lists::FAMILIES))
        .chain(of(Topic::Dictionaries, &dictionaries::FAMILIES))
}

/// One candidate for a part; `None` if no tests tell the function from its neighbours.
pub(super) fn draw(part: Part, scale: Scale, stream: Stream) -> Option<ProgramItem> {
    let mut rng = stream.rng();
    let is_new = part.is_sealed() && rng.random_bool(NEW_FAMILIES);
    let only = is_new.then_some(part);
    let all: Vec<_> = families().filter(|(_, family)| family.only == only).collect();
    let &(topic, family) = all.choose(&mut rng)?;
    let parameters: Vec<i64> =
        family.parameters.iter().map(|parameter| rng.random_range(parameter.range())).collect();
    with_parameters(topic, family, &parameters, scale, &mut rng)
}

/// One candidate of a family.
pub(super) fn with_parameters(
    topic: Topic,
    family: &Family,
    parameters: &[i64],
    scale: Scale,
    rng: &mut ChaCha8Rng,
) -> Option<ProgramItem> {
    let test = |arguments: Vec<Value>| {
        let result = family.solve(&arguments, parameters)?;
        Some(ProgramTest { arguments, result })
    };
    let mut pool: Vec<ProgramTest> = (0..POOL)
        .filter_map(|_| {
            test(family.arguments.iter().map(|(_, shape)| shape.draw(scale, rng)).collect())
        })
        .collect();
    let mut seen = BTreeSet::new();
    pool.retain(|test| seen.insert(test.arguments.clone()));
    // What a reader of the docstring sees is not among the tests.
    let examples = examples(&mut pool)?;
    let mut edges: Vec<ProgramTest> = edges(family).into_iter().filter_map(test).collect();
    edges.retain(|edge| examples.iter().all(|example| example.arguments != edge.arguments));
    edges.shuffle(rng);
    edges.truncate(EDGES);
    let mut tests = edges;
    pool.retain(|test| tests.iter().all(|chosen| chosen.arguments != test.arguments));

    for other in neighbours(family, parameters) {
        let tells = |test: &ProgramTest| {
            family.solve(&test.arguments, &other).as_ref() != Some(&test.result)
        };
        if !tests.iter().any(tells) {
            let position = pool.iter().position(tells)?;
            tests.push(pool.swap_remove(position));
        }
    }
    // No constant passes, and no argument handed back.
    for is_passed in [
        |test: &ProgramTest, first: &ProgramTest| test.result == first.result,
        |test: &ProgramTest, _: &ProgramTest| test.arguments.contains(&test.result),
    ] {
        let first = tests.first().or(pool.first())?.clone();
        if tests.iter().all(|test| is_passed(test, &first)) {
            let position = pool.iter().position(|test| !is_passed(test, &first))?;
            tests.push(pool.swap_remove(position));
        }
    }
    let count = rng.random_range(TESTS);
    while tests.len() < count {
        tests.push(pool.pop()?);
    }
    if !TESTS.contains(&tests.len()) {
        return None;
    }
    tests.shuffle(rng);
    Some(ProgramItem {
        topic: topic.name().to_owned(),
        family: family.name.to_owned(),
        parameters: parameters.to_vec(),
        is_new_family: family.only.is_some(),
        prompt: prompt(family, parameters, &examples),
        entry_point: family.name.to_owned(),
        canonical_solution: family.body(parameters),
        tests,
    })
}

/// Takes two examples out of the pool, with different results.
fn examples(pool: &mut Vec<ProgramTest>) -> Option<Vec<ProgramTest>> {
    let mut examples = vec![pool.pop()?];
    while examples.len() < EXAMPLES {
        let is_new = |test: &ProgramTest| examples.iter().all(|e| e.result != test.result);
        let position = pool.iter().position(is_new)?;
        examples.push(pool.swap_remove(position));
    }
    Some(examples)
}

/// Arguments at their edges: each edge of each argument with each of the others.
fn edges(family: &Family) -> Vec<Vec<Value>> {
    let mut all = vec![Vec::new()];
    for (_, shape) in family.arguments {
        let edges = shape.edges();
        if edges.is_empty() {
            return Vec::new();
        }
        let longer = |before: &Vec<Value>| {
            let before = before.clone();
            edges.iter().map(move |edge| [before.clone(), vec![edge.clone()]].concat())
        };
        all = all.iter().flat_map(longer).collect();
    }
    all
}

/// Parameters that differ in one place, by one.
fn neighbours(family: &Family, parameters: &[i64]) -> Vec<Vec<i64>> {
    let mut all = Vec::new();
    for (position, parameter) in family.parameters.iter().enumerate() {
        for step in [-1, 1] {
            let mut other = parameters.to_vec();
            other[position] += step;
            if parameter.range().contains(&other[position]) {
                all.push(other);
            }
        }
    }
    all
}

/// The signature and the docstring, as the policy reads them.
fn prompt(family: &Family, parameters: &[i64], examples: &[ProgramTest]) -> String {
    let mut lines =
        vec![family.signature(), format!("    \"\"\"{}", family.told(parameters)), String::new()];
    for example in examples {
        let call = example.call(family.name);
        // The order in which Python writes a dictionary is no part of the result.
        let shown = match &example.result {
            result @ Value::Table(_) => format!("    >>> {call} == {result}\n    True"),
            result => format!("    >>> {call}\n    {result}"),
        };
        lines.push(shown);
    }
    lines.push("    \"\"\"\n".to_owned());
    lines.join("\n")
}
