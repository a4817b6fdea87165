//! The pool: raw data of all tasks of a suite, with the flaws that raw data has.
//!
//! `items of the tasks -> rows with flaws -> pool/SOURCE/FILE, pool/SOURCE/README.md`
//!
//! The items are drawn like training items and no task has one of them. Flaws come in exact
//! shares ([`exactly`]), so that a README can state them.

use crate::kind::Scale;
use crate::{chemistry, finance, mathematics, patents, protocols, tables};
use camino::{Utf8Path, Utf8PathBuf};
use rand::seq::SliceRandom as _;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use tasks::json::sorted;
use tasks::stream::Stream;

/// The folder of a suite that has the raw data.
pub(crate) const POOL: &str = "pool";
const README: &str = "README.md";

/// One line of raw data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawRow {
    /// Path of its file below the folder of its source.
    pub file: String,
    /// The line, without its end.
    pub line: String,
}

impl RawRow {
    /// A row that is an object of JSON, with its keys in the order of the alphabet.
    pub(crate) fn json(file: &str, row: Value) -> Self {
        Self { file: file.to_owned(), line: sorted(row).to_string() }
    }
}

/// A source of raw data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum PoolSource {
    /// Problems of competition mathematics.
    Mathematics,
    /// Claims of patents, and documents that they are compared with.
    Patents,
    /// Questions about molecules and reactions.
    Chemistry,
    /// Questions of examinations in finance.
    Finance,
    /// Questions about tables, and charts.
    Tables,
    /// Protocols of a laboratory, which no task is about.
    Protocols,
}

impl PoolSource {
    /// All sources, in the order of their folders' names.
    pub const ALL: [Self; 6] = [
        Self::Chemistry,
        Self::Finance,
        Self::Mathematics,
        Self::Patents,
        Self::Protocols,
        Self::Tables,
    ];

    /// The name of its folder.
    pub fn name(self) -> &'static str {
        match self {
            Self::Mathematics => "mathematics",
            Self::Patents => "patents",
            Self::Chemistry => "chemistry",
            Self::Finance => "finance",
            Self::Tables => "tables",
            Self::Protocols => "protocols",
        }
    }

    /// The page about it, without its list of files.
    fn readme(self) -> &'static str {
        match self {
            Self::Mathematics => mathematics::README,
            Self::Patents => patents::README,
            Self::Chemistry => chemistry::README,
            Self::Finance => finance::README,
            Self::Tables => tables::README,
            Self::Protocols => protocols::README,
        }
    }

    /// The first line of its files, if they have one.
    fn header(self) -> Option<&'static str> {
        (self == Self::Finance).then_some(finance::HEADER)
    }
}

/// The files of the pool, by path in the suite, from the rows that the tasks have of each source.
/// They depend on the arguments alone.
pub(crate) fn render(
    mut rows: BTreeMap<PoolSource, Vec<RawRow>>,
    scale: Scale,
    seed: u64,
) -> BTreeMap<Utf8PathBuf, Vec<u8>> {
    let stream = Stream::root(seed).child("worlds").child(POOL);
    rows.insert(PoolSource::Protocols, protocols::rows(scale, &stream.child("protocols")));
    let mut files = BTreeMap::new();
    for (source, rows) in rows {
        let folder = Utf8Path::new(POOL).join(source.name());
        let mut by_file: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for row in rows {
            by_file.entry(row.file).or_default().push(row.line);
        }
        let mut page = format!("{}\n## Files\n\n| file | rows |\n| --- | --- |\n", source.readme());
        for (file, mut lines) in by_file {
            lines.shuffle(&mut stream.child(source.name()).child(&file).rng());
            // Writing to a text cannot fail.
            let _ = writeln!(page, "| `{file}` | {} |", lines.len());
            let header = source.header().map(|header| format!("{header}\n")).unwrap_or_default();
            let text = header + &lines.join("\n") + "\n";
            files.insert(folder.join(file), text.into_bytes());
        }
        files.insert(folder.join(README), page.into_bytes());
    }
    files
}

/// `count` marks, of which exactly the nearest whole number to `share` of them is set, in drawn
/// order.
pub(crate) fn exactly(share: f64, count: usize, stream: &Stream) -> Vec<bool> {
    let set = (share * count as f64).round();
    let mut marks: Vec<bool> = (0..count).map(|number| (number as f64) < set).collect();
    marks.shuffle(&mut stream.rng());
    marks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_exact_and_their_order_is_drawn() {
        let stream = Stream::root(1);
        let marks = exactly(0.82, 300, &stream);
        assert_eq!(marks.iter().filter(|&&mark| mark).count(), 246);
        assert!(marks[..100].iter().any(|&mark| !mark));
        assert_eq!(marks, exactly(0.82, 300, &stream));
        assert_ne!(marks, exactly(0.82, 300, &stream.child("other")));
        assert!(exactly(0.5, 0, &stream).is_empty());
    }
}
