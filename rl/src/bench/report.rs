//! The results of `rl bench`, as JSON and as tables.

use super::machine::{Machine, MemoryUse};
use super::parity::Check;
use camino::{Utf8Path, Utf8PathBuf};
use fs_err as fs;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use tasks::files;

/// The version of the file.
const VERSION: u32 = 1;

/// A value and what it is to be compared with.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Figures {
    /// The measured value, in `unit`.
    pub value: f64,
    /// The unit of the value.
    pub unit: String,
    /// The value that the device's own measured speed allows; see `floor`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_floor: Option<f64>,
    /// Memory of the device before and during the case.
    #[serde(default)]
    pub memory: MemoryUse,
    /// Further numbers, by name.
    #[serde(default)]
    pub details: BTreeMap<String, f64>,
}

/// How a case ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "ending", rename_all = "kebab-case")]
pub enum CaseResult {
    /// The case has figures.
    Measured(Figures),
    /// Comparisons were made, whether or not they hold.
    Compared {
        /// The comparisons, with their limits.
        checks: Vec<Check>,
    },
    /// By `rl plan`, it does not fit.
    TooLarge {
        /// The plan that does not fit.
        reason: String,
    },
    /// Memory ran out during the case.
    OutOfMemory {
        /// The error of the allocator.
        reason: String,
    },
    /// The case failed with another error.
    Broken {
        /// The error message.
        reason: String,
    },
    /// The case was skipped.
    NotRun {
        /// Why the case was not run.
        reason: String,
    },
}

impl CaseResult {
    /// Why there is nothing to compare with anything; empty where there is.
    pub fn reason(&self) -> &str {
        match self {
            Self::Measured(_) | Self::Compared { .. } => "",
            Self::TooLarge { reason }
            | Self::OutOfMemory { reason }
            | Self::Broken { reason }
            | Self::NotRun { reason } => reason,
        }
    }
}

/// One case on one machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Measurement {
    /// The name of the case, unique among the results of a machine.
    pub name: String,
    /// The machine that it was measured on.
    pub machine: Machine,
    /// The settings that it was measured with.
    #[serde(default)]
    pub settings: BTreeMap<String, serde_json::Value>,
    /// How the case ended, with its figures.
    #[serde(flatten)]
    pub ending: CaseResult,
}

impl Measurement {
    /// Whether something is wrong: a case that broke, or a comparison that does not hold. Too
    /// little memory is a result.
    pub fn is_wrong(&self) -> bool {
        match &self.ending {
            CaseResult::Broken { .. } => true,
            CaseResult::Compared { checks } => !checks.iter().all(Check::holds),
            _ => false,
        }
    }
}

/// Why results could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum BenchReportError {
    /// A file could not be read or written.
    #[error("failed to read or write results")]
    Io(#[from] std::io::Error),
    /// Not results of this program.
    #[error("`{path}` holds no results of `rl bench`")]
    Parse {
        /// The path of the results.
        path: Utf8PathBuf,
        /// The parser's error, with line and column.
        #[source]
        source: serde_json::Error,
    },
    /// Results of another version.
    #[error("`{path}` has version {found}; this program reads version {VERSION}")]
    Version {
        /// The path of the results.
        path: Utf8PathBuf,
        /// The version that was found.
        found: u32,
    },
}

/// Everything that was measured, in order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BenchReport {
    version: u32,
    /// The measurements, one per case.
    pub results: Vec<Measurement>,
}

impl Default for BenchReport {
    fn default() -> Self {
        Self { version: VERSION, results: Vec::new() }
    }
}

impl BenchReport {
    /// Reads a file that [`Self::write`] has written.
    ///
    /// # Errors
    /// [`BenchReportError`].
    pub fn read(path: &Utf8Path) -> Result<Self, BenchReportError> {
        let parse = |source| BenchReportError::Parse { path: path.to_owned(), source };
        let report: Self = serde_json::from_slice(&fs::read(path)?).map_err(parse)?;
        if report.version != VERSION {
            return Err(BenchReportError::Version { path: path.to_owned(), found: report.version });
        }
        Ok(report)
    }

    /// Writes all results.
    ///
    /// # Errors
    /// [`BenchReportError::Io`].
    pub fn write(&self, path: &Utf8Path) -> Result<(), BenchReportError> {
        Ok(files::write_json(path, self)?)
    }

    /// Adds a result, in place of one with the same name on the same device.
    pub fn add(&mut self, result: Measurement) {
        let same = |old: &&mut Measurement| {
            old.name == result.name && old.machine.device == result.machine.device
        };
        match self.results.iter_mut().find(same) {
            Some(old) => *old = result,
            None => self.results.push(result),
        }
    }
}

/// Markdown: the machines, the results, the comparisons that were made, and further numbers.
impl fmt::Display for BenchReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut machines: Vec<String> = Vec::new();
        for Measurement { machine, .. } in &self.results {
            let Machine { device, name, memory, threads } = machine;
            let Some(name) = name else { continue };
            let memory = memory.map_or("memory unknown".to_owned(), gib);
            let threads = threads.map_or(String::new(), |n| format!(", {n} threads"));
            let line = match device.as_str() {
                "cpu" => format!("`{device}`: {name}{threads}"),
                _ => format!("`{device}`: {name}, {memory}"),
            };
            if !machines.contains(&line) {
                machines.push(line);
            }
        }
        for line in machines {
            writeln!(f, "{line}\n")?;
        }
        writeln!(
            f,
            "| case | measured | at the floor | of it | memory before | at most | by `rl plan` | with |"
        )?;
        writeln!(f, "| --- | --- | --- | --- | --- | --- | --- | --- |")?;
        for result in &self.results {
            writeln!(f, "{}", row(result))?;
        }
        for Measurement { name, ending, .. } in &self.results {
            if let CaseResult::Compared { checks } = ending {
                writeln!(f, "\n{name}:\n\n| comparison | apart | limit | holds |")?;
                writeln!(f, "| --- | --- | --- | --- |")?;
                for check in checks {
                    let Check { name, found, limit } = check;
                    let holds = if check.holds() { "yes" } else { "**no**" };
                    writeln!(f, "| {name} | {found:.2e} | {limit:.2e} | {holds} |")?;
                }
            }
        }
        for Measurement { name, ending, .. } in &self.results {
            if let CaseResult::Measured(Figures { details, .. }) = ending
                && !details.is_empty()
            {
                let details: Vec<String> = details
                    .iter()
                    .map(|(name, value)| format!("{} {}", name.replace('_', " "), number(*value)))
                    .collect();
                writeln!(f, "\n{name}: {}", details.join(", "))?;
            }
        }
        Ok(())
    }
}

/// One line of the table.
fn row(result: &Measurement) -> String {
    let Measurement { name, settings, ending, .. } = result;
    let none = || "–".to_owned();
    let (value, figures) = match ending {
        CaseResult::Measured(figures) => {
            (format!("{} {}", number(figures.value), figures.unit), Some(figures))
        }
        CaseResult::Compared { checks } => {
            let hold = checks.iter().filter(|check| check.holds()).count();
            (format!("{hold} of {} comparisons hold", checks.len()), None)
        }
        CaseResult::TooLarge { reason } => (format!("does not fit: {}", cell(reason)), None),
        CaseResult::OutOfMemory { reason } => (format!("out of memory: {}", cell(reason)), None),
        CaseResult::Broken { reason } => (format!("**broken**: {}", cell(reason)), None),
        CaseResult::NotRun { reason } => (format!("not run: {}", cell(reason)), None),
    };
    let at_floor = figures.and_then(|figures| figures.at_floor);
    let share = figures.zip(at_floor).map_or_else(none, |(figures, at_floor)| {
        format!("{:.0} %", 100.0 * figures.value / at_floor)
    });
    let at_floor = at_floor.map_or_else(none, number);
    let memory = figures.map(|figures| figures.memory).unwrap_or_default();
    let [before, peak, planned] =
        [memory.before, memory.peak, memory.planned].map(|bytes| bytes.map_or_else(none, gib));
    let settings: Vec<String> = settings
        .iter()
        .map(|(name, value)| match value {
            serde_json::Value::String(text) => format!("{name}={text}"),
            other => format!("{name}={other}"),
        })
        .collect();
    let settings = cell(&settings.join(" "));
    format!(
        "| {name} | {value} | {at_floor} | {share} | {before} | {peak} | {planned} | {settings} |"
    )
}

/// Text as it may stand in a cell: one line, and not a long one.
fn cell(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default().replace('|', "/");
    match line.char_indices().nth(160) {
        Some((end, _)) => format!("{} ...", &line[..end]),
        None => line,
    }
}

/// Three digits that mean something, or all digits of a large number.
fn number(value: f64) -> String {
    let size = value.abs();
    let decimals = if size >= 100.0 || size == 0.0 {
        0
    } else if size >= 10.0 {
        1
    } else if size >= 1.0 {
        2
    } else {
        3
    };
    format!("{value:.decimals$}")
}

fn gib(bytes: u64) -> String {
    format!("{:.2} GiB", bytes as f64 / f64::from(1 << 30))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measurement(name: &str, ending: CaseResult) -> Measurement {
        let machine = Machine {
            device: "cuda:0".into(),
            name: Some("Abacus 9000".into()),
            memory: Some(80 << 30),
            threads: Some(2),
        };
        let settings = BTreeMap::from([("rows".to_owned(), 64.into())]);
        Measurement { name: name.into(), machine, settings, ending }
    }

    fn report() -> BenchReport {
        let reason = "the device has less\nand a table follows".to_owned();
        let figures = Figures {
            value: 4321.0,
            unit: "tokens/s".into(),
            at_floor: Some(8642.0),
            memory: MemoryUse {
                before: Some(1 << 29),
                peak: Some(30 << 30),
                planned: Some(31 << 30),
            },
            details: BTreeMap::from([("floor_ms".to_owned(), 7.2)]),
        };
        let checks = [(1e-6, "logits"), (0.25, "gradients")].map(|(found, name)| Check {
            name: name.into(),
            found,
            limit: 1e-4,
        });
        let mut report = BenchReport::default();
        for (name, ending) in [
            ("decode 64 x 2048", CaseResult::Measured(figures)),
            ("parity", CaseResult::Compared { checks: checks.into() }),
            ("sft", CaseResult::TooLarge { reason: reason.clone() }),
            ("grpo", CaseResult::OutOfMemory { reason: reason.clone() }),
            ("sft with adapters", CaseResult::Broken { reason: reason.clone() }),
            ("grpo with adapters", CaseResult::NotRun { reason }),
        ] {
            report.add(measurement(name, ending));
        }
        report
    }

    #[test]
    fn report_is_printed_as_a_table() {
        insta::assert_snapshot!(report());
    }

    #[test]
    fn results_round_trip_and_are_replaced_by_name() {
        let dir = tempfile::tempdir().unwrap();
        let path = Utf8Path::from_path(dir.path()).unwrap().join("bench.json");
        let before = report();
        before.write(&path).unwrap();
        let mut after = BenchReport::read(&path).unwrap();
        assert_eq!(after, before);
        let again = measurement("sft", CaseResult::NotRun { reason: "because".into() });
        after.add(again.clone());
        assert_eq!((after.results.len(), &after.results[2]), (6, &again));

        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, text.replace("\"version\": 1", "\"version\": 9")).unwrap();
        assert!(BenchReport::read(&path).unwrap_err().to_string().contains("version 9"));
        fs::write(&path, "{}").unwrap();
        assert!(BenchReport::read(&path).unwrap_err().to_string().contains("no results"));
    }

    #[test]
    fn too_little_memory_is_a_result_and_a_difference_is_wrong() {
        let wrong: Vec<bool> = report().results.iter().map(Measurement::is_wrong).collect();
        assert_eq!(wrong, [false, true, false, false, true, false]);
    }
}
