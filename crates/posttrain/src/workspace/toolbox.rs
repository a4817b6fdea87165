//! The programs that an agent finds on its path.
//!
//! The programs themselves lie in `toolbox/programs`; what is on the path are wrappers, which set what a
//! program needs, refuse what the mode of the run rules out, and have uses of trainers written down
//! ([`crate::record`]). An agent can call a program past its wrapper, and then nothing of this happens.

use crate::agents::Mode;
use camino::{Utf8Path, Utf8PathBuf};
use fs_err as fs;
use jail::isolation::root::Bind;
use std::io;
use std::os::unix::fs::{PermissionsExt as _, symlink};

/// Programs of this project that an agent may use, and what they find beside them.
const PROGRAMS: [&str; 4] = ["rl", "posttrain", "sandbox", "libjail.so"];
/// The folder of a toolbox with shared libraries.
const LIBRARIES: &str = "lib";
/// Of these, the ones that are on the path.
const ON_PATH: [&str; 2] = ["rl", "posttrain"];

/// The first argument with which the wrapper of a trainer calls `posttrain`, to have it started and the
/// use written down.
pub const TOOL: &str = "__toolbox";
/// The same, to have a use refused.
pub const REFUSED: &str = "__toolbox-refused";

/// The programs of a toolbox, on the host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Toolbox {
    programs: Vec<(&'static str, Utf8PathBuf)>,
    libraries: Option<Utf8PathBuf>,
}

/// Why there is no toolbox.
#[derive(Debug, thiserror::Error)]
pub enum ToolboxError {
    /// A file could not be read or written.
    #[error("failed to make the toolbox")]
    Io(#[from] io::Error),
    /// The folder of libraries is none.
    #[error("`{0}` is no folder of libraries")]
    Libraries(Utf8PathBuf),
}

impl Toolbox {
    /// The programs in `folder`, and `posttrain` in any case, which is `program`. `rl` finds shared
    /// libraries, such as libtorch's, in `libraries`.
    ///
    /// # Errors
    /// [`ToolboxError`].
    pub fn find(
        folder: &Utf8Path,
        program: &Utf8Path,
        libraries: Option<&Utf8Path>,
    ) -> Result<Self, ToolboxError> {
        let mut programs = Vec::new();
        for name in PROGRAMS {
            let path = if name == "posttrain" { program.to_owned() } else { folder.join(name) };
            if path.is_file() {
                programs.push((name, path.canonicalize_utf8()?));
            }
        }
        let libraries = match libraries {
            Some(path) if path.is_dir() => Some(path.canonicalize_utf8()?),
            Some(path) => return Err(ToolboxError::Libraries(path.to_owned())),
            None => None,
        };
        Ok(Self { programs, libraries })
    }

    /// Whether a program is in it.
    pub fn has(&self, name: &str) -> bool {
        self.programs.iter().any(|(known, _)| *known == name)
    }

    /// Where an agent finds the libraries: on the host, or in a box that shows these `trees`, or else
    /// in the toolbox that it has at `target`. Libraries refer to others beside them, so a tree that has
    /// them all is the better place.
    ///
    /// # Errors
    /// [`ToolboxError`] if one of the trees is not there.
    pub fn libraries_seen(
        &self,
        boxed: Option<(&Utf8Path, &[Bind])>,
    ) -> Result<Option<Utf8PathBuf>, ToolboxError> {
        let Some(libraries) = &self.libraries else { return Ok(None) };
        let Some((target, trees)) = boxed else { return Ok(Some(libraries.clone())) };
        for tree in trees {
            let source = Utf8Path::new(&tree.source).canonicalize_utf8()?;
            if let Ok(inside) = libraries.strip_prefix(source) {
                return Ok(Some(Utf8Path::new(&tree.target).join(inside)));
            }
        }
        Ok(Some(target.join(LIBRARIES)))
    }

    /// Writes the toolbox into `folder`, anew: wrappers, and links for whoever is on the host.
    /// `libraries` is where the agent finds those.
    ///
    /// # Errors
    /// [`ToolboxError`].
    pub fn write(
        &self,
        folder: &Utf8Path,
        mode: Mode,
        libraries: Option<&Utf8Path>,
    ) -> Result<(), ToolboxError> {
        if folder.exists() {
            fs::remove_dir_all(folder)?;
        }
        let (bin, programs) = (folder.join("bin"), folder.join("programs"));
        fs::create_dir_all(&bin)?;
        fs::create_dir_all(&programs)?;
        for (name, path) in &self.programs {
            symlink(path, programs.join(name))?;
            if ON_PATH.contains(name) {
                write_program(&bin.join(name), &wrapper(name, mode, libraries))?;
            }
        }
        write_program(&bin.join("timer"), TIMER)
    }

    /// The same for a box that shows it at `target`; `folder` is where it was written, and `libraries`
    /// where the agent finds those.
    pub fn binds(
        &self,
        folder: &Utf8Path,
        target: &Utf8Path,
        libraries: Option<&Utf8Path>,
    ) -> Vec<Bind> {
        let bind = |source: &Utf8Path, inside: &str| Bind {
            source: source.as_str().to_owned(),
            target: target.join(inside).into_string(),
        };
        let mut binds = vec![bind(&folder.join("bin"), "bin")];
        for (name, path) in &self.programs {
            binds.push(bind(path, &format!("programs/{name}")));
        }
        let is_own = libraries.is_some_and(|path| path == target.join(LIBRARIES));
        binds.extend(self.libraries.iter().filter(|_| is_own).map(|path| bind(path, LIBRARIES)));
        binds
    }
}

/// What is left of the time.
const TIMER: &str = "#!/bin/sh\nexec \"${0%/*}/posttrain\" time \"$@\"\n";

/// How a wrapper begins to name the folder of the programs.
const PROGRAMS_OF: &str = "\"${0%/*}/../programs";

/// A script that starts a program of the toolbox.
fn wrapper(name: &str, mode: Mode, libraries: Option<&Utf8Path>) -> String {
    let mut lines = vec!["#!/bin/sh".to_owned()];
    if let ("rl", Some((commands, why))) = (name, mode.refused_commands()) {
        let commands = commands.join("|");
        // The reason is a constant of ours, without quotes.
        lines.push(format!(
            "case \"$1\" in {commands}) exec {PROGRAMS_OF}/posttrain\" {REFUSED} '{why}' {name} \"$@\";; esac"
        ));
    }
    if let ("rl", Some(libraries)) = (name, libraries) {
        let quoted = libraries.as_str().replace('\'', "'\\''");
        lines.push(format!("export LD_LIBRARY_PATH='{quoted}'"));
    }
    lines.push(if name == "posttrain" {
        format!("exec {PROGRAMS_OF}/{name}\" \"$@\"\n")
    } else {
        format!("exec {PROGRAMS_OF}/posttrain\" {TOOL} {PROGRAMS_OF}/{name}\" \"$@\"\n")
    });
    lines.join("\n")
}

fn write_program(path: &Utf8Path, text: &str) -> Result<(), ToolboxError> {
    fs::write(path, text)?;
    fs::set_permissions(path, std::fs::Permissions::from_mode(0o755))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn wrapper_passes_arguments_on_and_refuses_what_the_mode_rules_out() {
        let kept = tempfile::tempdir().unwrap();
        let folder = Utf8Path::from_path(kept.path()).unwrap();
        let real = folder.join("real");
        fs::create_dir_all(&real).unwrap();
        write_program(&real.join("rl"), "#!/bin/sh\necho \"$LD_LIBRARY_PATH:$1:$2\"\n").unwrap();
        // As `posttrain` does it.
        let posttrain = real.join("posttrain");
        let text = format!(
            "#!/bin/sh\ncase \"$1\" in {TOOL}) shift; exec \"$@\";; \
             {REFUSED}) echo \"$2\" >&2; exit 2;; esac\n"
        );
        write_program(&posttrain, &text).unwrap();
        let found = Toolbox::find(&real, &posttrain, Some(&real)).unwrap();
        assert!(found.has("rl") && found.has("posttrain") && !found.has("sandbox"));
        let toolbox = folder.join("toolbox");
        let at = |boxed| found.libraries_seen(boxed).unwrap().unwrap();
        let call = |mode, command: &str| {
            found.write(&toolbox, mode, Some(&at(None))).unwrap();
            let rl = toolbox.join("bin/rl");
            let mut command = Command::new(rl).args([command, "a b"]).output().unwrap();
            command.stdout.append(&mut command.stderr);
            (command.status.code().unwrap(), String::from_utf8(command.stdout).unwrap())
        };
        let (code, text) = call(Mode::Free, "train");
        assert!(code == 0 && text.ends_with("/real:train:a b\n"), "{text}");
        assert_eq!(call(Mode::SftOnly, "sft").0, 0);
        let (code, text) = call(Mode::SftOnly, "train");
        assert!(code == 2 && text.contains("use `rl sft`"), "{text}");
        assert_eq!(call(Mode::SftOnly, "prefer").0, 2);
        for command in ["prefer", "sample", "schema"] {
            assert_eq!(call(Mode::Free, command).0, 0, "{command}");
        }
        let inside = Utf8Path::new("/toolbox");
        let own = at(Some((inside, &[])));
        let binds = found.binds(&toolbox, inside, Some(&own));
        let targets: Vec<&str> = binds.iter().map(|bind| bind.target.as_str()).collect();
        let expected =
            ["/toolbox/bin", "/toolbox/programs/rl", "/toolbox/programs/posttrain", "/toolbox/lib"];
        assert_eq!(targets, expected);
        let tree = Bind { source: folder.as_str().to_owned(), target: "/opt/venv".to_owned() };
        let seen = at(Some((inside, std::slice::from_ref(&tree))));
        assert_eq!(seen, "/opt/venv/real");
        assert_eq!(found.binds(&toolbox, inside, Some(&seen)).len(), 3);
    }
}
