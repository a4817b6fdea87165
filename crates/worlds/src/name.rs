//! The kinds of environments by name, and what suites and folders do with each.

use crate::arithmetic::Arithmetic;
use crate::generate::{GenerateError, as_text, generate};
use crate::household::Household;
use crate::instructions::Instructions;
use crate::kind::{Kind, Outline, Scale};
use crate::part::Part;
use crate::programs::Programs;
use crate::search::Search;
use crate::shop::Shop;
use crate::spec::TaskSpec;
use crate::world::{Environment, GeneratedWorld};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use tasks::stream::Stream;
use tasks::task::TaskId;

/// A kind of environment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorldName {
    /// Word problems ([`crate::arithmetic`]).
    Arithmetic,
    /// Functions to write ([`crate::programs`]).
    Programs,
    /// Short texts with checkable wishes ([`crate::instructions`]).
    Instructions,
    /// Rooms, things and goals ([`crate::household`]).
    Household,
    /// A catalogue and a purchase ([`crate::shop`]).
    Shop,
    /// An encyclopedia and questions ([`crate::search`]).
    Search,
}

/// A task's lines as they are written: one item a line.
#[derive(Debug)]
pub(crate) struct TaskLines {
    /// What all items share; `None` if nothing.
    pub(crate) ground: Option<String>,
    pub(crate) parts: BTreeMap<Part, String>,
}

/// A line of a file of items.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line<I> {
    id: TaskId,
    item: I,
}

/// Calls a function that is generic over the kind.
macro_rules! dispatch {
    ($name:expr, $function:ident ( $($argument:expr),* )) => {
        match $name {
            WorldName::Arithmetic => $function::<Arithmetic>($($argument),*),
            WorldName::Programs => $function::<Programs>($($argument),*),
            WorldName::Instructions => $function::<Instructions>($($argument),*),
            WorldName::Household => $function::<Household>($($argument),*),
            WorldName::Shop => $function::<Shop>($($argument),*),
            WorldName::Search => $function::<Search>($($argument),*),
        }
    };
}

impl WorldName {
    /// All kinds.
    pub const ALL: [Self; 6] = [
        Self::Arithmetic,
        Self::Programs,
        Self::Instructions,
        Self::Household,
        Self::Shop,
        Self::Search,
    ];

    /// The name as in files and ids.
    pub fn name(self) -> &'static str {
        fn name<K: Kind>() -> &'static str {
            K::NAME
        }
        dispatch!(self, name())
    }

    /// The version of its generator.
    pub fn version(self) -> u32 {
        fn version<K: Kind>() -> u32 {
            K::VERSION
        }
        dispatch!(self, version())
    }

    /// Sizes, limits and wording.
    pub fn outline(self, scale: Scale) -> Outline {
        fn outline<K: Kind>(scale: Scale) -> Outline {
            K::outline(scale)
        }
        dispatch!(self, outline(scale))
    }

    /// The page that an agent reads of the task.
    pub fn describe(self, scale: Scale) -> String {
        fn describe<K: Kind>(scale: Scale) -> String {
            K::describe(scale)
        }
        dispatch!(self, describe(scale))
    }

    /// The environment with freshly drawn items of one part, as a suite with this seed has them.
    ///
    /// # Errors
    /// [`GenerateError`].
    pub fn generate(
        self,
        part: Part,
        scale: Scale,
        seed: u64,
    ) -> Result<Box<dyn Environment>, GenerateError> {
        fn world<K: Kind>(
            spec: TaskSpec,
            part: Part,
            seed: u64,
        ) -> Result<Box<dyn Environment>, GenerateError> {
            let stream = task_stream(&spec.id, seed);
            let mut drawn = generate::<K>(&spec.id, spec.scale(), &spec.items, stream)?;
            let items = drawn.parts.remove(&part).unwrap_or_default();
            Ok(Box::new(GeneratedWorld::<K>::new(spec, part, drawn.ground, items)))
        }
        let spec = self.spec(scale, seed)?;
        dispatch!(self, world(spec, part, seed))
    }

    /// The spec of the task in a suite with this seed.
    ///
    /// # Errors
    /// [`GenerateError::Id`], which no shipped name causes.
    pub(crate) fn spec(self, scale: Scale, seed: u64) -> Result<TaskSpec, GenerateError> {
        let outline = self.outline(scale);
        let id = TaskId::new(self.name())?;
        Ok(TaskSpec::generated(id, self, &outline, seed, self.version(), scale))
    }

    /// The lines of all parts of a task.
    ///
    /// # Errors
    /// [`GenerateError`].
    pub(crate) fn lines(self, spec: &TaskSpec, seed: u64) -> Result<TaskLines, GenerateError> {
        fn lines<K: Kind>(spec: &TaskSpec, seed: u64) -> Result<TaskLines, GenerateError> {
            let stream = task_stream(&spec.id, seed);
            let drawn = generate::<K>(&spec.id, spec.scale(), &spec.items, stream)?;
            let ground = as_text(&drawn.ground);
            let line = |(id, item)| as_text(&Line { id, item }) + "\n";
            let parts = drawn.parts.into_iter();
            let parts = parts.map(|(part, items)| (part, items.into_iter().map(line).collect()));
            let parts = parts.collect();
            Ok(TaskLines { ground: (ground != "null").then(|| ground + "\n"), parts })
        }
        dispatch!(self, lines(spec, seed))
    }

    /// The environment of these lines.
    ///
    /// # Errors
    /// The number of the line, from 1, that cannot be read, or 0 for the ground, and why.
    pub(crate) fn read(
        self,
        spec: TaskSpec,
        part: Part,
        ground: Option<&str>,
        lines: &str,
    ) -> Result<Box<dyn Environment>, (usize, serde_json::Error)> {
        fn read<K: Kind>(
            spec: TaskSpec,
            part: Part,
            ground: Option<&str>,
            lines: &str,
        ) -> Result<Box<dyn Environment>, (usize, serde_json::Error)> {
            let ground =
                serde_json::from_str(ground.unwrap_or("null")).map_err(|error| (0, error))?;
            let mut items = BTreeMap::new();
            for (number, line) in lines.lines().enumerate() {
                let line: Line<K::Item> =
                    serde_json::from_str(line).map_err(|error| (number + 1, error))?;
                items.insert(line.id, line.item);
            }
            Ok(Box::new(GeneratedWorld::<K>::new(spec, part, ground, items)))
        }
        dispatch!(self, read(spec, part, ground, lines))
    }
}

/// The root of all draws of a task.
fn task_stream(task: &TaskId, seed: u64) -> Stream {
    Stream::root(seed).child("worlds").child(task.as_str())
}
