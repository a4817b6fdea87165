//! What kinds of tasks a corpus is made of, and in which shares.
//!
//! A [`Cell`] is a modality with a formulation. The default [`Mix`] follows figure 3 of the
//! paper over the cells that this version makes; a request may leave cells out, or ask for
//! other shares of modalities, formulations, single cells and domains.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use tasks::task::{Formulation, Modality};

/// A kind of task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Cell {
    /// Kind of data that the task offers.
    pub modality: Modality,
    /// Kind of prediction that the task asks for.
    pub formulation: Formulation,
}

/// Every kind of task that is made, with its share in percent. Modalities and formulations
/// sum to the paper's figure 3, which counts series with tables.
const CELLS: [(Modality, Formulation, f64); 34] = [
    (Modality::Image, Formulation::Binary, 8.0),
    (Modality::Image, Formulation::Multiclass, 14.5),
    (Modality::Image, Formulation::Multilabel, 4.5),
    (Modality::Image, Formulation::Regression, 4.0),
    (Modality::Image, Formulation::Segmentation, 7.5),
    (Modality::Image, Formulation::Detection, 5.0),
    (Modality::Image, Formulation::Reconstruction, 5.2),
    (Modality::Tabular, Formulation::Binary, 6.0),
    (Modality::Tabular, Formulation::Multiclass, 4.5),
    (Modality::Tabular, Formulation::Multilabel, 1.5),
    (Modality::Tabular, Formulation::Regression, 3.9),
    (Modality::Tabular, Formulation::MultiTarget, 1.0),
    (Modality::Tabular, Formulation::Quantiles, 0.6),
    (Modality::Tabular, Formulation::Ranking, 1.8),
    (Modality::Tabular, Formulation::Retrieval, 0.7),
    (Modality::Tabular, Formulation::Recommendation, 0.7),
    (Modality::Tabular, Formulation::Positions, 0.7),
    (Modality::TimeSeries, Formulation::Forecasting, 3.4),
    (Modality::Text, Formulation::Binary, 3.0),
    (Modality::Text, Formulation::Multiclass, 2.5),
    (Modality::Text, Formulation::Regression, 1.5),
    (Modality::Text, Formulation::Matching, 0.9),
    (Modality::Text, Formulation::Normalisation, 0.7),
    (Modality::Text, Formulation::Extraction, 0.7),
    (Modality::Text, Formulation::Ranking, 1.1),
    (Modality::Multimodal, Formulation::Binary, 2.5),
    (Modality::Multimodal, Formulation::Multiclass, 5.4),
    (Modality::Multimodal, Formulation::Regression, 2.4),
    (Modality::Audio, Formulation::Binary, 0.9),
    (Modality::Audio, Formulation::Multiclass, 0.9),
    (Modality::Audio, Formulation::Multilabel, 0.5),
    (Modality::Graph, Formulation::Binary, 1.0),
    (Modality::Graph, Formulation::Multiclass, 1.2),
    (Modality::Graph, Formulation::Regression, 1.3),
];

/// Shares of the domains that the paper names; the rest is spread evenly over the others.
const DOMAINS: [(&str, f64); 4] =
    [("healthcare", 0.25), ("retail", 0.182), ("manufacturing", 0.143), ("it_operations", 0.132)];

/// Shares are written by hand: so much may be missing from a sum of 1.
const ROUNDING: f64 = 1e-3;
/// Rounds of fitting; overlapping shares that can be met are met long before.
const ROUNDS: usize = 200;

/// Shares of cells and domains, each summing to 1.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mix {
    /// Share of each cell, in [0, 1].
    pub cells: BTreeMap<Cell, f64>,
    /// By domain; domains that are not named share the rest evenly.
    pub domains: BTreeMap<String, f64>,
}

/// Why shares cannot be used.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum MixError {
    /// Not of the form `name=share`.
    #[error("`{0}` is not `name=share` with a share from 0 to 1, such as `image=0.5`")]
    Form(String),
    /// Neither a modality nor a formulation, a cell or a domain.
    #[error("there is nothing called `{name}`; known are {}", known.join(", "))]
    Unknown {
        /// The name that was given.
        name: String,
        /// All names that can be given, sorted.
        known: Vec<String>,
    },
    /// A modality with a formulation that it has not.
    #[error("no `{cell}` tasks are made; the cells are {}", known.join(", "))]
    NoCell {
        /// The cell that was given.
        cell: String,
        /// All cells of which tasks are made.
        known: Vec<String>,
    },
    /// The filters exclude every kind of task.
    #[error("`--modality` and `--formulation` leave no kind of task; the cells are {}", .0.join(", "))]
    Nothing(Vec<String>),
    /// Shares of one kind sum to more than 1.
    #[error("the {kind} shares sum to {sum:.3}, more than 1; lower some of them")]
    TooMuch {
        /// `modality`, `formulation`, `cell` or `domain`.
        kind: &'static str,
        /// The sum of the given shares of this kind.
        sum: f64,
    },
    /// A share of something that is left out, or less than 1 with nothing to take the rest.
    #[error("the share of `{0}` cannot be reached with what is left to choose from")]
    Unreachable(String),
    /// Shares that exclude each other.
    #[error(
        "the shares contradict each other: `{name}` comes to {reached:.3} instead of {asked:.3}"
    )]
    Contradiction {
        /// One of the names whose share is not reached.
        name: String,
        /// The share that the fit reaches, in [0, 1].
        reached: f64,
        /// The share that was given for it, in [0, 1].
        asked: f64,
    },
}

impl Cell {
    /// All cells, in order of their names.
    pub fn all() -> Vec<Self> {
        let mut cells: Vec<Self> = CELLS
            .iter()
            .map(|(modality, formulation, _)| Self {
                modality: *modality,
                formulation: *formulation,
            })
            .collect();
        cells.sort();
        cells
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", name(&self.modality), name(&self.formulation))
    }
}

impl From<Cell> for String {
    fn from(cell: Cell) -> Self {
        cell.to_string()
    }
}

impl TryFrom<String> for Cell {
    type Error = MixError;
    fn try_from(text: String) -> Result<Self, MixError> {
        text.parse()
    }
}

impl FromStr for Cell {
    type Err = MixError;
    fn from_str(text: &str) -> Result<Self, MixError> {
        Self::all()
            .into_iter()
            .find(|cell| cell.to_string() == text)
            .ok_or_else(|| MixError::NoCell { cell: text.to_owned(), known: names(&Self::all()) })
    }
}

/// The name that serde writes.
pub fn name(value: &impl Serialize) -> String {
    serde_json::to_value(value)
        .ok()
        .and_then(|value| value.as_str().map(str::to_owned))
        .unwrap_or_default()
}

fn names(cells: &[Cell]) -> Vec<String> {
    cells.iter().map(ToString::to_string).collect()
}

/// Whether a cell is among those whose property is named; every cell is if none is named.
///
/// # Errors
/// [`MixError::Unknown`] for a name that no cell has.
pub fn chosen<'a>(
    asked: &'a [String],
    property: impl Fn(Cell) -> String + 'a,
) -> Result<impl Fn(Cell) -> bool + 'a, MixError> {
    let mut known: Vec<String> = Cell::all().into_iter().map(&property).collect();
    known.sort();
    known.dedup();
    if let Some(name) = asked.iter().find(|name| !known.contains(name)) {
        return Err(MixError::Unknown { name: name.clone(), known });
    }
    Ok(move |cell| asked.is_empty() || asked.contains(&property(cell)))
}

impl Mix {
    /// The paper's shares over all cells.
    pub fn paper() -> Self {
        let cells = CELLS.map(|(modality, formulation, percent)| {
            (Cell { modality, formulation }, percent / 100.0)
        });
        let domains = DOMAINS.map(|(domain, share)| (domain.to_owned(), share));
        let mut mix = Self { cells: cells.into(), domains: domains.into() };
        mix.normalise();
        mix
    }

    /// The mix without what `keeps` does not hold for.
    ///
    /// # Errors
    /// [`MixError::Nothing`].
    pub fn only(mut self, keeps: impl Fn(Cell) -> bool) -> Result<Self, MixError> {
        self.cells.retain(|cell, _| keeps(*cell));
        if self.cells.is_empty() {
            return Err(MixError::Nothing(names(&Cell::all())));
        }
        self.normalise();
        Ok(self)
    }

    /// The mix with some shares as asked, `name=share` each; what is not named keeps its
    /// proportions. Shares of overlapping kinds are met together by iterative proportional
    /// fitting (Deming and Stephan 1940).
    ///
    /// # Errors
    /// [`MixError`] if they cannot be.
    pub fn with_shares(
        mut self,
        shares: &[String],
        all_domains: &[String],
    ) -> Result<Self, MixError> {
        let mut asked: BTreeMap<&'static str, BTreeMap<String, f64>> = BTreeMap::new();
        for text in shares {
            let form = || MixError::Form(text.clone());
            let (name, share) = text.split_once('=').ok_or_else(form)?;
            let share: f64 = share.trim().parse().map_err(|_| form())?;
            if !(0.0..=1.0).contains(&share) {
                return Err(form());
            }
            let name = name.trim().to_owned();
            asked.entry(kind(&name, all_domains)?).or_default().insert(name, share);
        }
        for (kind, shares) in &asked {
            let sum: f64 = shares.values().sum();
            if sum > 1.0 + 1e-9 {
                return Err(MixError::TooMuch { kind, sum });
            }
        }
        if let Some(domains) = asked.remove("domain") {
            self.fit_domains(domains);
        }
        for _ in 0..ROUNDS {
            for shares in asked.values() {
                self.fit(shares)?;
            }
        }
        for (name, asked) in asked.values().flatten() {
            let reached = self.share(name);
            if (reached - asked).abs() > ROUNDING {
                let name = name.clone();
                return Err(MixError::Contradiction { name, reached, asked: *asked });
            }
        }
        self.cells.retain(|_, share| *share > 1e-6);
        self.normalise();
        Ok(self)
    }

    /// Sets the requested shares of domains; the others share the rest in their proportions.
    fn fit_domains(&mut self, asked: BTreeMap<String, f64>) {
        let before: f64 = asked.keys().filter_map(|domain| self.domains.remove(domain)).sum();
        let left = (1.0 - asked.values().sum::<f64>()).max(0.0);
        self.domains.values_mut().for_each(|share| *share *= left / (1.0 - before));
        self.domains.extend(asked);
    }

    /// Scales the cells so that the named shares are met, the others keeping their proportions.
    fn fit(&mut self, shares: &BTreeMap<String, f64>) -> Result<(), MixError> {
        let named = |cell: &Cell| shares.keys().find(|name| belongs(*cell, name)).cloned();
        let rest: f64 = 1.0 - shares.values().sum::<f64>();
        let mut sums: BTreeMap<Option<String>, f64> = BTreeMap::new();
        for (cell, share) in &self.cells {
            *sums.entry(named(cell)).or_default() += share;
        }
        for (name, share) in shares {
            if *share > 0.0 && sums.get(&Some(name.clone())).is_none_or(|sum| *sum <= 0.0) {
                return Err(MixError::Unreachable(name.clone()));
            }
        }
        let others = sums.get(&None).copied().unwrap_or(0.0);
        if rest > ROUNDING && others <= 0.0 {
            let name = shares.keys().next().cloned().unwrap_or_default();
            return Err(MixError::Unreachable(name));
        }
        for (cell, share) in &mut self.cells {
            let group = named(cell);
            let target = group.as_ref().map_or(rest, |name| shares[name]);
            let sum = sums[&group];
            *share *= if sum > 0.0 { target.max(0.0) / sum } else { 0.0 };
        }
        Ok(())
    }

    /// The share of a modality, a formulation or a cell.
    pub fn share(&self, name: &str) -> f64 {
        self.cells.iter().filter(|(cell, _)| belongs(**cell, name)).map(|(_, share)| share).sum()
    }

    fn normalise(&mut self) {
        let sum: f64 = self.cells.values().sum();
        self.cells.values_mut().for_each(|share| *share /= sum);
    }
}

fn belongs(cell: Cell, to: &str) -> bool {
    name(&cell.modality) == to || name(&cell.formulation) == to || cell.to_string() == to
}

/// What a name is the name of.
fn kind(asked: &str, domains: &[String]) -> Result<&'static str, MixError> {
    let cells = Cell::all();
    if domains.iter().any(|domain| domain == asked) {
        return Ok("domain");
    }
    if cells.iter().any(|cell| name(&cell.modality) == asked) {
        return Ok("modality");
    }
    if cells.iter().any(|cell| name(&cell.formulation) == asked) {
        return Ok("formulation");
    }
    if cells.iter().any(|cell| cell.to_string() == asked) {
        return Ok("cell");
    }
    let mut known: Vec<String> =
        cells.iter().flat_map(|cell| [name(&cell.modality), name(&cell.formulation)]).collect();
    known.extend(names(&cells));
    known.extend(domains.iter().cloned());
    known.sort();
    known.dedup();
    if asked.contains('/') {
        return Err(MixError::NoCell { cell: asked.to_owned(), known: names(&Cell::all()) });
    }
    Err(MixError::Unknown { name: asked.to_owned(), known })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shares(texts: &[&str]) -> Result<Mix, MixError> {
        let texts: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
        let domains = ["healthcare", "retail", "energy"].map(str::to_owned);
        Mix::paper().with_shares(&texts, &domains)
    }

    #[test]
    fn the_papers_mix_sums_to_one_and_names_round_trip() {
        let mix = Mix::paper();
        assert!((mix.cells.values().sum::<f64>() - 1.0).abs() < 1e-12);
        for cell in Cell::all() {
            assert_eq!(cell.to_string().parse::<Cell>().unwrap(), cell);
        }
    }

    #[test]
    fn shares_of_overlapping_kinds_are_met_together() {
        let mix = shares(&["image=0.3", "tabular=0.5", "binary=0.4", "healthcare=0.6"]).unwrap();
        for (name, share) in [("image", 0.3), ("tabular", 0.5), ("binary", 0.4)] {
            assert!((mix.share(name) - share).abs() < 1e-3, "{name}: {}", mix.share(name));
        }
        assert_eq!(mix.domains["healthcare"], 0.6);
        assert!(mix.domains.values().sum::<f64>() < 1.0);
    }

    #[test]
    fn one_share_of_one_leaves_nothing_else() {
        let mix = shares(&["graph=1"]).unwrap();
        assert!(mix.cells.keys().all(|cell| cell.modality == Modality::Graph));
    }

    #[test]
    fn nonsense_is_refused() {
        assert!(matches!(shares(&["image"]), Err(MixError::Form(_))));
        assert!(matches!(shares(&["image=1.2"]), Err(MixError::Form(_))));
        assert!(matches!(shares(&["imgae=0.2"]), Err(MixError::Unknown { .. })));
        assert!(matches!(shares(&["audio/ranking=0.2"]), Err(MixError::NoCell { .. })));
        let error = shares(&["image=0.7", "tabular=0.6"]).unwrap_err();
        assert!(matches!(error, MixError::TooMuch { kind: "modality", .. }));
        let error = shares(&["tabular=1", "forecasting=0.5"]).unwrap_err();
        assert!(matches!(error, MixError::Unreachable(_) | MixError::Contradiction { .. }));
        let tables = Mix::paper().only(|cell| cell.modality == Modality::Tabular).unwrap();
        let error = tables.with_shares(&["image=0.5".to_owned()], &[]).unwrap_err();
        assert_eq!(error, MixError::Unreachable("image".to_owned()));
        assert!(Mix::paper().only(|_| false).is_err());
    }
}
