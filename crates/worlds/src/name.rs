//! The kinds of environments by name, and what suites and folders do with each.

use crate::arithmetic::Arithmetic;
use crate::chemistry::{MolEdit, MolOpt, MolUnd, Reaction};
use crate::finance::Finqa;
use crate::generate::{GenerateError, as_text, generate};
use crate::household::Household;
use crate::instructions::Instructions;
use crate::kind::{Aggregate, Kind, Outline, Scale};
use crate::mathematics::Aime;
use crate::part::{Part, item_id};
use crate::patents::{Noc4pc, Par4pc, Pi4pc};
use crate::pool::{PoolSource, RawRow};
use crate::programs::Programs;
use crate::search::Search;
use crate::shop::Shop;
use crate::single::Single;
use crate::spec::TaskSpec;
use crate::tables::{TableDa, TableFc, TableNr, TableVis};
use crate::world::{Environment, GeneratedWorld};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use tasks::stream::Stream;
use tasks::task::{TaskError, TaskId};

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
    /// Problems of competition mathematics ([`crate::mathematics`]).
    Aime,
    /// Documents that a claim is not new over ([`crate::patents`]).
    Par4pc,
    /// Whether a claim is new ([`crate::patents`]).
    Noc4pc,
    /// The paragraph that discloses an element of a claim ([`crate::patents`]).
    Pi4pc,
    /// Structures of molecules ([`crate::chemistry`]).
    #[serde(rename = "mol-und")]
    MolUnd,
    /// Edits of molecules ([`crate::chemistry`]).
    #[serde(rename = "mol-edit")]
    MolEdit,
    /// Properties of molecules to raise ([`crate::chemistry`]).
    #[serde(rename = "mol-opt")]
    MolOpt,
    /// Reactions ([`crate::chemistry`]).
    Reaction,
    /// Questions of examinations in finance ([`crate::finance`]).
    Finqa,
    /// Analyses of tables ([`crate::tables`]).
    #[serde(rename = "table-da")]
    TableDa,
    /// Statements about tables ([`crate::tables`]).
    #[serde(rename = "table-fc")]
    TableFc,
    /// Numbers from tables ([`crate::tables`]).
    #[serde(rename = "table-nr")]
    TableNr,
    /// Charts of tables ([`crate::tables`]).
    #[serde(rename = "table-vis")]
    TableVis,
}

/// A task's lines as they are written: one item a line.
#[derive(Debug)]
pub(crate) struct TaskLines {
    /// What all items share; `None` if nothing.
    pub(crate) ground: Option<String>,
    pub(crate) parts: BTreeMap<Part, String>,
    /// The raw data that the task has for the pool.
    pub(crate) raw: Vec<RawRow>,
}

/// A line of a file of items.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Line<I> {
    pub(crate) id: TaskId,
    pub(crate) item: I,
}

/// The lines of each part, the items numbered in their order.
///
/// # Errors
/// [`TaskError::BadId`] if the task's id leaves no room for the rest of an item's.
pub(crate) fn item_lines<I: Serialize>(
    task: &TaskId,
    parts: BTreeMap<Part, Vec<I>>,
) -> Result<BTreeMap<Part, String>, TaskError> {
    let mut lines = BTreeMap::new();
    for (part, items) in parts {
        let mut text = String::new();
        for (number, item) in items.into_iter().enumerate() {
            let id = item_id(task, part, number)?;
            text.push_str(&(as_text(&Line { id, item }) + "\n"));
        }
        lines.insert(part, text);
    }
    Ok(lines)
}

/// What cannot be read: the number of its line, from 1, or 0 for what all items share; and why.
pub(crate) type BadLine = (usize, serde_json::Error);

/// What all items share, and the items of these lines.
///
/// # Errors
/// [`BadLine`].
pub(crate) fn read_lines<G: DeserializeOwned, I: DeserializeOwned>(
    ground: Option<&str>,
    lines: &str,
) -> Result<(G, BTreeMap<TaskId, I>), BadLine> {
    let ground = serde_json::from_str(ground.unwrap_or("null")).map_err(|error| (0, error))?;
    let mut items = BTreeMap::new();
    for (number, line) in lines.lines().enumerate() {
        let line: Line<I> = serde_json::from_str(line).map_err(|error| (number + 1, error))?;
        items.insert(line.id, line.item);
    }
    Ok((ground, items))
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
            WorldName::Aime => $function::<Single<Aime>>($($argument),*),
            WorldName::Par4pc => $function::<Single<Par4pc>>($($argument),*),
            WorldName::Noc4pc => $function::<Single<Noc4pc>>($($argument),*),
            WorldName::Pi4pc => $function::<Single<Pi4pc>>($($argument),*),
            WorldName::MolUnd => $function::<Single<MolUnd>>($($argument),*),
            WorldName::MolEdit => $function::<Single<MolEdit>>($($argument),*),
            WorldName::MolOpt => $function::<Single<MolOpt>>($($argument),*),
            WorldName::Reaction => $function::<Single<Reaction>>($($argument),*),
            WorldName::Finqa => $function::<Single<Finqa>>($($argument),*),
            WorldName::TableDa => $function::<Single<TableDa>>($($argument),*),
            WorldName::TableFc => $function::<Single<TableFc>>($($argument),*),
            WorldName::TableNr => $function::<Single<TableNr>>($($argument),*),
            WorldName::TableVis => $function::<Single<TableVis>>($($argument),*),
        }
    };
}

impl WorldName {
    /// All kinds.
    pub const ALL: [Self; 19] = [
        Self::Arithmetic,
        Self::Programs,
        Self::Instructions,
        Self::Household,
        Self::Shop,
        Self::Search,
        Self::Aime,
        Self::Par4pc,
        Self::Noc4pc,
        Self::Pi4pc,
        Self::MolUnd,
        Self::MolEdit,
        Self::MolOpt,
        Self::Reaction,
        Self::Finqa,
        Self::TableDa,
        Self::TableFc,
        Self::TableNr,
        Self::TableVis,
    ];

    /// The source of the pool that its raw data is part of; `None` for kinds that have none.
    pub fn pool_source(self) -> Option<PoolSource> {
        match self {
            Self::Aime => Some(PoolSource::Mathematics),
            Self::Par4pc | Self::Noc4pc | Self::Pi4pc => Some(PoolSource::Patents),
            Self::MolUnd | Self::MolEdit | Self::MolOpt | Self::Reaction => {
                Some(PoolSource::Chemistry)
            }
            Self::Finqa => Some(PoolSource::Finance),
            Self::TableDa | Self::TableFc | Self::TableNr | Self::TableVis => {
                Some(PoolSource::Tables)
            }
            Self::Arithmetic
            | Self::Programs
            | Self::Instructions
            | Self::Household
            | Self::Shop
            | Self::Search => None,
        }
    }

    /// Its part of the words of [`base_text`](crate::base_text()), as a number beside the others'. In
    /// suites after RL-Bench about such that a small policy begins at the level that is wanted
    /// (`docs/LOG.md`).
    pub fn text_weight(self) -> f64 {
        match self {
            Self::Household => 7.0,
            Self::Search => 16.0,
            Self::Arithmetic => 7.5,
            Self::Programs => 0.7,
            _ => 1.0,
        }
    }

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

    /// How the score of a policy follows from its verdicts.
    pub fn aggregate(self) -> Aggregate {
        fn aggregate<K: Kind>() -> Aggregate {
            K::AGGREGATE
        }
        dispatch!(self, aggregate())
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
            let raw = K::raw(&drawn.pooled, stream.child("raw"));
            let ground = as_text(&drawn.ground);
            let line = |(id, item)| as_text(&Line { id, item }) + "\n";
            let parts = drawn.parts.into_iter();
            let parts = parts.map(|(part, items)| (part, items.into_iter().map(line).collect()));
            let parts = parts.collect();
            Ok(TaskLines { ground: (ground != "null").then(|| ground + "\n"), parts, raw })
        }
        dispatch!(self, lines(spec, seed))
    }

    /// The environment of these lines.
    ///
    /// # Errors
    /// [`BadLine`].
    pub(crate) fn read(
        self,
        spec: TaskSpec,
        part: Part,
        ground: Option<&str>,
        lines: &str,
    ) -> Result<Box<dyn Environment>, BadLine> {
        fn read<K: Kind>(
            spec: TaskSpec,
            part: Part,
            ground: Option<&str>,
            lines: &str,
        ) -> Result<Box<dyn Environment>, BadLine> {
            let (ground, items) = read_lines(ground, lines)?;
            Ok(Box::new(GeneratedWorld::<K>::new(spec, part, ground, items)))
        }
        dispatch!(self, read(spec, part, ground, lines))
    }
}

/// The root of all draws of a task.
fn task_stream(task: &TaskId, seed: u64) -> Stream {
    Stream::root(seed).child("worlds").child(task.as_str())
}
