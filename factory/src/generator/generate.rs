//! From the code of a generator to rows: runs in the jail, and checks between them.
//!
//! | run | what | why |
//! | --- | --- | --- |
//! | – | read as text | imports and form, before anything is executed |
//! | 1 | rows, scores and items | |
//! | 3 | run 1 once more, elsewhere | the bytes must be equal |
//! | 4 | scores and items of the rows of run 1, then other rows | nothing kept in memory or files can carry a score; fresh test rows can be made |
//! | 2 | transforms of what is public, in another order | what solvers should discover, from what they see |

use super::jailed::{GeneratorJail, Inspection, Keys, MadeRows};
use super::refusal::{GeneratorError, GeneratorFlaw, GeneratorRefusal};
use super::rows::{GeneratedRows, take_columns};
use super::spec::GeneratorSpec;
use super::{checks, repeats};
use crate::numeric::draws::Draws;
use crate::spec::rule::Frame;
use tasks::stream::Stream;

/// Rows of run 4 from another random stream.
const FRESH: usize = 64;
/// Items that are made again in run 4.
const SAMPLE: usize = 32;

/// A generator that passed every check, and its rows.
#[derive(Debug, Clone, PartialEq)]
pub struct Generation {
    /// Rows in an order of ours, which says nothing.
    pub rows: GeneratedRows,
    /// What is known of the code.
    pub inspection: Inspection,
}

/// Runs a generator four times and checks its rows. The same code, `spec` and `stream` give the
/// same rows on one machine; between processors, functions of NumPy may differ in the last bits.
///
/// # Errors
/// [`GeneratorError::Refused`] with the flaw, for the author of the generator;
/// [`GeneratorError::Fault`] if the generator could not be judged.
pub fn generate(
    jail: &GeneratorJail,
    code: &str,
    spec: &GeneratorSpec,
    stream: Stream,
) -> Result<Generation, GeneratorError> {
    spec.check()?;
    let stream = stream.child("generator");
    let inspection = jail.inspect(code, spec)?;

    let keys = Keys::new(stream.child("rows"));
    let (made, bytes) = jail.make(code, spec, keys)?;
    checks::made(spec, &made)?;
    if jail.make(code, spec, keys)?.1 != bytes {
        let detail = "the same call gives other rows, scores or items; every random number must \
                      come from `rng`";
        return Err(GeneratorRefusal::new(GeneratorFlaw::NotDeterministic, detail).into());
    }

    let mut order: Vec<usize> = (0..spec.rows).collect();
    Draws::new(stream.child("order")).shuffle(&mut order);
    let MadeRows { columns, scores, items } = made;
    let made = MadeRows {
        columns: take_columns(&columns, &order),
        scores: scores.select(ndarray::Axis(0), &order),
        items: items.take(&order),
    };
    let other = keys.with_columns_of(Keys::new(stream.child("fresh")));
    let renewal = jail.renew(code, spec, other, (&made.columns, &order), (SAMPLE, FRESH))?;
    repeats::renewed(&made, &renewal)?;
    repeats::fresh(spec, &made, &renewal)?;

    let transforms = jail.transform(code, spec, &written(spec, &made.columns), &made.items)?;
    checks::transforms(&made.scores, &transforms)?;
    let MadeRows { columns, scores, items } = made;
    Ok(Generation { rows: GeneratedRows { columns, scores, items, transforms }, inspection })
}

/// The columns of the table alone: hidden ones are not public.
fn written(spec: &GeneratorSpec, columns: &Frame) -> Frame {
    let mut written = columns.clone();
    written.numbers.retain(|name, _| spec.numbers.iter().any(|column| column.name == *name));
    written
}
