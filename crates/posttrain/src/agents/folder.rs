//! An agent as a folder that a box can show.

use super::mode::Mode;
use super::shipped::shipped;
use super::spec::{AgentSpec, SpecError};
use crate::digest::Digest;
use camino::{Utf8Path, Utf8PathBuf};
use fs_err as fs;
use std::io;

/// Files of an agent's folder, which is no place for data.
const FILES: usize = 1_000;

/// An agent that was found.
#[derive(Debug, Clone)]
pub struct AgentFolder {
    spec: AgentSpec,
    /// Content by path in the folder.
    files: Vec<(Utf8PathBuf, Vec<u8>)>,
}

/// Why an agent cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    /// There is none of that name.
    #[error(
        "there is no agent `{0}`: `posttrain agents` lists those of this program, and a folder with \
         `agent.toml` is one too"
    )]
    Unknown(String),
    /// Its `agent.toml` is wrong.
    #[error("the agent's `agent.toml` cannot be used")]
    Spec(#[from] SpecError),
    /// A file could not be read or written.
    #[error("failed to read or write the agent's files")]
    Io(#[from] io::Error),
    /// The folder holds something else than a few files.
    #[error("`{0}`: an agent's folder has at most 1,000 plain files and folders, and no links")]
    Files(Utf8PathBuf),
    /// It does not know the mode.
    #[error("`{name}` does not know the mode {mode}; it knows {known}")]
    Mode {
        /// The agent.
        name: String,
        /// The mode that was asked for.
        mode: Mode,
        /// Those that it knows.
        known: String,
    },
}

impl AgentFolder {
    /// The agent of this name, or in this folder.
    ///
    /// # Errors
    /// [`AgentError`].
    pub fn find(name: &str) -> Result<Self, AgentError> {
        if let Some(agent) = shipped().iter().find(|agent| agent.name == name) {
            let files = vec![
                (Utf8PathBuf::from("agent.toml"), agent.spec.as_bytes().to_vec()),
                (Utf8PathBuf::from("start.sh"), agent.script.as_bytes().to_vec()),
            ];
            return Ok(Self { spec: AgentSpec::from_toml(agent.spec)?, files });
        }
        let folder = Utf8Path::new(name);
        if !folder.join("agent.toml").is_file() {
            return Err(AgentError::Unknown(name.to_owned()));
        }
        let mut files = Vec::new();
        read_folder(folder, Utf8Path::new(""), &mut files)?;
        files.sort();
        let spec = AgentSpec::from_toml(&fs::read_to_string(folder.join("agent.toml"))?)?;
        Ok(Self { spec, files })
    }

    /// What it says of itself.
    pub fn spec(&self) -> &AgentSpec {
        &self.spec
    }

    /// The hash of its files.
    pub fn digest(&self) -> Digest {
        let mut hasher = blake3::Hasher::new();
        for (path, content) in &self.files {
            for bytes in [path.as_str().as_bytes(), content] {
                hasher.update(&(bytes.len() as u64).to_le_bytes()).update(bytes);
            }
        }
        hasher.finalize().into()
    }

    /// Whether it knows a mode.
    ///
    /// # Errors
    /// [`AgentError::Mode`].
    pub fn check_mode(&self, mode: Mode) -> Result<(), AgentError> {
        if self.spec.modes.contains(&mode) {
            return Ok(());
        }
        let known: Vec<&str> = self.spec.modes.iter().map(|mode| mode.name()).collect();
        Err(AgentError::Mode { name: self.spec.name.clone(), mode, known: known.join(", ") })
    }

    /// Writes its files into `folder`, anew.
    ///
    /// # Errors
    /// An I/O error naming the file.
    pub fn write(&self, folder: &Utf8Path) -> Result<(), AgentError> {
        if folder.exists() {
            fs::remove_dir_all(folder)?;
        }
        for (path, content) in &self.files {
            let path = folder.join(path);
            fs::create_dir_all(path.parent().unwrap_or(folder))?;
            fs::write(&path, content)?;
        }
        Ok(())
    }

    /// The words that start it, if its folder is at `folder` in its box.
    pub fn start(&self, folder: &Utf8Path) -> Vec<String> {
        let is_file = |word: &str| self.files.iter().any(|(path, _)| path == word);
        let place = |word: &String| {
            if is_file(word) { folder.join(word).into_string() } else { word.clone() }
        };
        self.spec.start.iter().map(place).collect()
    }
}

fn read_folder(
    folder: &Utf8Path,
    inside: &Utf8Path,
    files: &mut Vec<(Utf8PathBuf, Vec<u8>)>,
) -> Result<(), AgentError> {
    for entry in folder.join(inside).read_dir_utf8()? {
        let entry = entry?;
        let path = inside.join(entry.file_name());
        let kind = entry.file_type()?;
        if kind.is_dir() {
            read_folder(folder, &path, files)?;
        } else if kind.is_file() && files.len() < FILES {
            files.push((path, fs::read(entry.path())?));
        } else {
            return Err(AgentError::Files(entry.path().to_owned()));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folder_of_an_agent_is_found_and_written_and_links_are_refused() {
        let kept = tempfile::tempdir().unwrap();
        let folder = Utf8Path::from_path(kept.path()).unwrap().join("mine");
        fs::create_dir_all(folder.join("lib")).unwrap();
        let toml =
            "name = 'mine'\ndescription = 'd'\nstart = ['python3', 'lib/a.py']\nmodes = ['free']\n";
        fs::write(folder.join("agent.toml"), toml).unwrap();
        fs::write(folder.join("lib/a.py"), "print(1)").unwrap();
        let agent = AgentFolder::find(folder.as_str()).unwrap();
        assert_eq!(agent.start(Utf8Path::new("/agent")), ["python3", "/agent/lib/a.py"]);
        assert!(agent.check_mode(Mode::SftOnly).unwrap_err().to_string().contains("it knows free"));
        let copy = folder.parent().unwrap().join("copy");
        agent.write(&copy).unwrap();
        assert_eq!(AgentFolder::find(copy.as_str()).unwrap().digest(), agent.digest());
        std::os::unix::fs::symlink("/etc/passwd", folder.join("link")).unwrap();
        assert!(matches!(AgentFolder::find(folder.as_str()), Err(AgentError::Files(_))));
        assert!(matches!(AgentFolder::find("scripted/none"), Err(AgentError::Unknown(_))));
    }
}
