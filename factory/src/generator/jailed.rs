//! Generators in the jail: one process and one work dir for each step.
//!
//! A step hands over the generator, what is asked for and, for some steps, rows; it collects one
//! file. Nothing of one step is there in another, so that a step can use nothing but what it gets.

use super::framed::{self, FramedArray, FramedValues, MOST_FRAMED};
use super::refusal::{GeneratorError, GeneratorFault, GeneratorFlaw, GeneratorRefusal};
use super::rows::{FramedRows, GeneratedItems, RowsError, arrays_of};
use super::spec::GeneratorSpec;
use crate::spec::generated::{GeneratorRecord, ItemForm};
use crate::spec::rule::Frame;
use jail::exec::{Outcome, Run, Sandbox, SandboxOptions, Workspace};
use jail::limits::RunLimits;
use jail::python::PythonEnv;
use ndarray::{Array2, ArrayD};
use rand::RngExt as _;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use tasks::collect::CollectError;
use tasks::stream::Stream;
use tasks::units::{ByteSize, Span};

/// The program that reads a generator as text.
const INSPECTION: &str =
    concat!(include_str!("driver/step.py"), "\n\n", include_str!("driver/inspection.py"));
/// The program that calls a generator.
const CALLS: &str = concat!(
    include_str!("driver/step.py"),
    "\n\n",
    include_str!("driver/framed.py"),
    "\n\n",
    include_str!("driver/calls.py")
);
/// The file of a generator, in its work dir and in `source/`.
pub const FILE: &str = "generate_task_env.py";
/// The step that executes nothing of a generator.
const INSPECT: &str = "inspect";
/// The longest inspection and the longest refusal that are read, in bytes.
const MOST_JSON: u64 = 1 << 20;
/// Libraries that a generator may use, and what evaluators use, imported once for all runs.
const MODULES: [&str; 8] = [
    "numpy",
    "pandas",
    "scipy",
    "scipy.stats",
    "scipy.optimize",
    "scipy.signal",
    "PIL.Image",
    "sklearn.metrics",
];

/// Where generators run. Clones share the sandbox.
#[derive(Debug, Clone)]
pub struct GeneratorJail {
    sandbox: Sandbox,
    limits: RunLimits,
}

/// What is known of a generator without executing it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Inspection {
    /// The syntax tree of its rule as text: two generators with the same text ask for the same
    /// discoveries.
    rule: String,
    /// The expressions of its rule, as a page must not print them.
    pub clauses: Vec<String>,
    /// Version of the Python that runs it.
    pub python: String,
    /// Version of NumPy.
    pub numpy: String,
    /// What NumPy uses of the processor. Rows are equal to the bit where this and the versions
    /// are equal.
    pub processor: Vec<String>,
}

impl Inspection {
    /// What a blueprint keeps of a generator.
    pub fn into_record(self, code: &str) -> GeneratorRecord {
        let Self { rule, clauses, python, numpy, processor } = self;
        let rule_hash = blake3::hash(rule.as_bytes()).to_hex()[..16].to_owned();
        GeneratorRecord { code: code.to_owned(), rule_hash, clauses, python, numpy, processor }
    }
}

/// What runs 1 and 3 return.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct MadeRows {
    pub(super) columns: Frame,
    /// `[rows, targets]`.
    pub(super) scores: Array2<f64>,
    pub(super) items: GeneratedItems,
}

/// What run 4 returns.
#[derive(Debug)]
pub(super) struct Renewal {
    /// Scores of the given rows, `[rows, targets]`.
    pub(super) scores: Array2<f64>,
    /// Items of the first given rows.
    pub(super) items: GeneratedItems,
    /// Columns of rows from another random stream.
    pub(super) fresh: Frame,
    /// Their scores.
    pub(super) fresh_scores: Array2<f64>,
}

/// The keys of the random streams of a generator: one for columns, one for items.
#[derive(Debug, Clone, Copy)]
pub(super) struct Keys {
    columns: u128,
    items: u128,
}

impl Keys {
    pub(super) fn new(stream: Stream) -> Self {
        let key = |name: &str| stream.child(name).rng().random::<u128>();
        Self { columns: key("columns"), items: key("items") }
    }

    /// The same items of rows from another stream of columns.
    pub(super) fn with_columns_of(self, other: Self) -> Self {
        Self { columns: other.columns, ..self }
    }
}

/// What the driver reads as `request.json`.
#[derive(Debug, Serialize)]
struct DriverRequest<'a> {
    step: &'static str,
    rows: usize,
    /// Rows whose items are made again.
    sample: usize,
    targets: usize,
    decimals: BTreeMap<&'a str, usize>,
    words: Vec<&'a str>,
    item: Option<ItemForm>,
    columns_key: String,
    items_key: String,
}

/// What the driver writes as `refusal.json`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct DriverRefusal {
    code: GeneratorFlaw,
    detail: String,
}

impl GeneratorJail {
    /// Starts a sandbox in which `slots` generators run at once.
    ///
    /// # Errors
    /// [`GeneratorFault`] if there is no Python, or the host offers no jail.
    pub fn start(slots: usize) -> Result<Self, GeneratorFault> {
        let options = SandboxOptions {
            slots,
            spares: slots,
            modules: MODULES.map(str::to_owned).to_vec(),
            // No generator fits models.
            warm_up: false,
            ..SandboxOptions::default()
        };
        let sandbox = Sandbox::start(&PythonEnv::locate()?, options, &[])?;
        Ok(Self { sandbox, limits: Self::limits() })
    }

    /// The limits of a step: 60 s, 2 GiB, 16 processes, no GPU, no network.
    pub fn limits() -> RunLimits {
        RunLimits {
            time_limit: Span::seconds(60),
            memory: ByteSize::gib(2),
            processes: 16,
            file_size: ByteSize::mib(64),
            output_limit: ByteSize::mib(1),
            ..RunLimits::default()
        }
    }

    /// The same sandbox with other limits.
    #[must_use]
    pub fn with_limits(self, limits: RunLimits) -> Self {
        Self { limits, ..self }
    }

    /// The sandbox that generators run in.
    pub fn sandbox(&self) -> &Sandbox {
        &self.sandbox
    }

    /// Reads a generator as text and executes nothing of it.
    ///
    /// # Errors
    /// `bad_syntax`, `bad_import`, `bad_form`, or a fault.
    pub fn inspect(&self, code: &str, spec: &GeneratorSpec) -> Result<Inspection, GeneratorError> {
        let request = request(INSPECT, spec, None);
        let workspace = self.step(code, &request, None)?;
        let json = workspace
            .collect("inspection.json", MOST_JSON)
            .map_err(|error| GeneratorFault::Driver(error.to_string()))?;
        let inspection = serde_json::from_slice(&json)
            .map_err(|error| GeneratorFault::Driver(error.to_string()))?;
        Ok(inspection)
    }

    /// Runs 1 and 3: draws rows, and what follows from them. Also returns the bytes that hold
    /// them.
    pub(super) fn make(
        &self,
        code: &str,
        spec: &GeneratorSpec,
        keys: Keys,
    ) -> Result<(MadeRows, Vec<u8>), GeneratorError> {
        let workspace = self.step(code, &request("make", spec, Some(keys)), None)?;
        let bytes = collect(&workspace)?;
        let mut parts = parts(framed::decode(&bytes).map_err(RowsError::from), spec.rows)?;
        let mut read = || -> Result<_, RowsError> {
            let (columns, scores) = (parts.columns()?, parts.matrix("scores")?);
            let items = parts.items()?;
            parts.end()?;
            Ok(MadeRows { columns, scores, items })
        };
        let made = read().map_err(|error| malformed(&error))?;
        Ok((made, bytes))
    }

    /// Run 4: scores and the first `sample` items of `columns` once more, in a process that has
    /// not drawn them, then `fresh` rows of another stream. `places` are those of the rows in run 1.
    pub(super) fn renew(
        &self,
        code: &str,
        spec: &GeneratorSpec,
        keys: Keys,
        (columns, places): (&Frame, &[usize]),
        (sample, fresh): (usize, usize),
    ) -> Result<Renewal, GeneratorError> {
        let mut given = arrays_of(columns, &GeneratedItems::None);
        let places = ArrayD::from_shape_fn(vec![places.len()], |at| places[at[0]] as f64);
        given.push(FramedArray {
            name: "numbers".to_owned(),
            values: FramedValues::Numbers(places),
        });
        let request = DriverRequest { rows: fresh, sample, ..request("renew", spec, Some(keys)) };
        let workspace = self.step(code, &request, Some(&framed::encode(&given)))?;
        let arrays = framed::decode(&collect(&workspace)?)
            .map_err(|error| malformed(&RowsError::from(error)))?;
        let group = |prefix: &'static str| {
            let array = move |array: &FramedArray| {
                let name = array.name.strip_prefix(prefix)?.to_owned();
                Some(FramedArray { name, ..array.clone() })
            };
            arrays.iter().filter_map(array).collect::<Vec<_>>()
        };
        let again = group("again/");
        let items: Vec<_> = again.iter().filter(|array| array.name == "items").cloned().collect();
        let scores: Vec<_> = again.into_iter().filter(|array| array.name == "scores").collect();
        let fresh_rows: Vec<_> =
            arrays.iter().filter(|array| !array.name.starts_with("again/")).cloned().collect();
        let sample = if spec.item.is_some() { sample.min(columns.rows) } else { 0 };
        let mut scores = self::parts(Ok(scores), columns.rows)?;
        let mut items = self::parts(Ok(items), sample)?;
        let mut fresh_rows = self::parts(Ok(fresh_rows), fresh)?;
        let mut read = || -> Result<_, RowsError> {
            Ok(Renewal {
                scores: scores.matrix("scores")?,
                items: items.items()?,
                fresh: fresh_rows.columns()?,
                fresh_scores: fresh_rows.matrix("scores")?,
            })
        };
        read().map_err(|error| malformed(&error))
    }

    /// Run 2: the transforms of rows as solvers see them, `[rows, 2..=8]`: the columns of the
    /// table after repair, and items as they are decoded.
    ///
    /// # Errors
    /// [`GeneratorError`].
    pub fn transform(
        &self,
        code: &str,
        spec: &GeneratorSpec,
        columns: &Frame,
        items: &GeneratedItems,
    ) -> Result<Array2<f64>, GeneratorError> {
        let given = framed::encode(&arrays_of(columns, items));
        let request = DriverRequest { rows: columns.rows, ..request("transform", spec, None) };
        let workspace = self.step(code, &request, Some(&given))?;
        let arrays = framed::decode(&collect(&workspace)?).map_err(RowsError::from);
        let transforms = parts(arrays, columns.rows)?.matrix("transforms");
        let transforms = transforms.map_err(|error| malformed(&error))?;
        let count = transforms.ncols();
        if !(2..=8).contains(&count) {
            let detail = format!("`transforms` returns {count} columns instead of 2 to 8");
            return Err(GeneratorRefusal::new(GeneratorFlaw::BadShape, &detail).into());
        }
        let bad = transforms.indexed_iter().find(|(_, value)| !value.is_finite());
        if let Some(((row, column), value)) = bad {
            let detail = format!("transform {column} is {value} in row {row}");
            return Err(GeneratorRefusal::new(GeneratorFlaw::BadValue, &detail).into());
        }
        Ok(transforms)
    }

    /// Takes one step in a work dir of its own, which is returned if the step has a result.
    fn step(
        &self,
        code: &str,
        request: &DriverRequest<'_>,
        given: Option<&[u8]>,
    ) -> Result<Workspace, GeneratorError> {
        let workspace = self.sandbox.empty_workspace().map_err(GeneratorFault::from)?;
        let json = serde_json::to_vec(request)
            .map_err(|error| GeneratorFault::Driver(error.to_string()))?;
        let files = [(FILE, code.as_bytes()), ("request.json", &json[..])];
        for (name, bytes) in files.into_iter().chain(given.map(|bytes| ("given.bin", bytes))) {
            workspace.place(name, bytes).map_err(GeneratorFault::from)?;
        }
        let program = if request.step == INSPECT { INSPECTION } else { CALLS };
        let run = workspace.run(program, &self.limits).map_err(GeneratorFault::from)?;
        match self.refusal(&run, &workspace) {
            Some(refusal) => Err(refusal.into()),
            None => Ok(workspace),
        }
    }

    /// What a run is refused for; none if it came to its end.
    fn refusal(&self, run: &Run, workspace: &Workspace) -> Option<GeneratorRefusal> {
        let limits = &self.limits;
        let (flaw, detail) = match &run.outcome {
            Outcome::TimedOut => {
                (GeneratorFlaw::TimedOut, format!("it takes more than {}", limits.time_limit))
            }
            Outcome::OutOfMemory => {
                (GeneratorFlaw::OutOfMemory, format!("it takes more than {}", limits.memory))
            }
            Outcome::DiskLimit => (
                GeneratorFlaw::DiskLimit,
                "it writes too much; a generator returns arrays and writes no files".to_owned(),
            ),
            Outcome::OutputLimit => (
                GeneratorFlaw::OutputLimit,
                "it prints too much; a generator prints nothing".to_owned(),
            ),
            Outcome::Killed { .. } | Outcome::Exited { .. } => {
                (GeneratorFlaw::Crashed, format!("its process {}", run.outcome))
            }
            Outcome::Raised { exception } => {
                let text = run.stderr.text();
                let last = text.trim_end().lines().last().unwrap_or(exception).to_owned();
                (GeneratorFlaw::Raised, last)
            }
            Outcome::Finished => match workspace.collect("refusal.json", MOST_JSON) {
                Err(CollectError::Missing { .. }) => return None,
                Err(error) => (GeneratorFlaw::BadResult, error.to_string()),
                Ok(json) => match serde_json::from_slice(&json) {
                    Ok(DriverRefusal { code, detail }) => (code, detail),
                    Err(error) => (GeneratorFlaw::BadResult, format!("its refusal: {error}")),
                },
            },
        };
        Some(GeneratorRefusal::new(flaw, &detail))
    }
}

fn request<'a>(
    step: &'static str,
    spec: &'a GeneratorSpec,
    keys: Option<Keys>,
) -> DriverRequest<'a> {
    let key = |key: fn(&Keys) -> u128| {
        keys.as_ref().map_or(String::new(), |keys| format!("{:032x}", key(keys)))
    };
    DriverRequest {
        step,
        rows: spec.rows,
        sample: 0,
        targets: spec.targets,
        decimals: spec
            .numbers
            .iter()
            .map(|column| (column.name.as_str(), column.decimals))
            .collect(),
        words: spec.words.iter().map(|column| column.name.as_str()).collect(),
        item: spec.item,
        columns_key: key(|keys| keys.columns),
        items_key: key(|keys| keys.items),
    }
}

/// The file of rows that a step left.
fn collect(workspace: &Workspace) -> Result<Vec<u8>, GeneratorError> {
    let collected = workspace.collect("result.bin", MOST_FRAMED.bytes());
    collected.map_err(|error| {
        let flaw = match error {
            CollectError::TooLarge { .. } => GeneratorFlaw::TooLarge,
            _ => GeneratorFlaw::BadResult,
        };
        GeneratorRefusal::new(flaw, &error.to_string()).into()
    })
}

/// Arrays of so many rows; there may be none of no rows.
fn parts(
    arrays: Result<Vec<FramedArray>, RowsError>,
    rows: usize,
) -> Result<FramedRows, GeneratorError> {
    let parts = arrays.and_then(FramedRows::new).map_err(|error| malformed(&error))?;
    if parts.rows() == rows {
        return Ok(parts);
    }
    let detail = format!("it returns {} rows instead of {rows}", parts.rows());
    Err(GeneratorRefusal::new(GeneratorFlaw::BadShape, &detail).into())
}

/// A file that the driver did not write so.
fn malformed(error: &RowsError) -> GeneratorError {
    GeneratorRefusal::new(GeneratorFlaw::BadResult, &tasks::text::with_causes(error)).into()
}
