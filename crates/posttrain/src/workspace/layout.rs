//! The workspace on the host, and how a box shows it.

use super::environment::AgentPlaces;
use super::instructions::Instructions;
use crate::task_set::{TaskSet, TaskSetError};
use camino::{Utf8Path, Utf8PathBuf};
use fs_err as fs;
use jail::isolation::root::Bind;
use std::io;
use std::os::unix::fs::symlink;

/// The folders that are the agent's.
const OWN: [&str; 3] = ["code", "output", "reports"];
/// Where a box shows the workspace, the agent's folder and the toolbox.
const IN_BOX: [&str; 3] = ["/workspace", "/agent", "/toolbox"];

/// The folders of a run that an agent sees, on the host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Workspace {
    run: Utf8PathBuf,
    base: Utf8PathBuf,
    base_name: String,
}

impl Workspace {
    /// The workspace of the run in the folder `run`, whose base is in `base`.
    ///
    /// # Errors
    /// An I/O error if one of the folders is not there.
    pub fn new(run: &Utf8Path, base: &Utf8Path) -> io::Result<Self> {
        let (run, base) = (run.canonicalize_utf8()?, base.canonicalize_utf8()?);
        let base_name = base.file_name().unwrap_or("base").to_owned();
        Ok(Self { run, base, base_name })
    }

    /// Makes it, or makes anew what of it is not the agent's.
    ///
    /// # Errors
    /// An I/O error naming the file.
    pub fn build(
        &self,
        tasks: &TaskSet,
        instructions: &Instructions<'_>,
    ) -> Result<(), TaskSetError> {
        let folder = self.folder();
        for name in OWN {
            fs::create_dir_all(folder.join(name))?;
        }
        fs::create_dir_all(self.views())?;
        let data = folder.join("data");
        if data.exists() {
            fs::remove_dir_all(&data)?;
        }
        tasks.write_public(&data)?;
        fs::write(folder.join("description.md"), tasks.description())?;
        fs::write(folder.join("instructions.md"), instructions.text())?;
        // For an agent without a box; a box mounts what they lead to.
        fs::create_dir_all(folder.join("models"))?;
        link(&self.base, &folder.join("models").join(&self.base_name))?;
        link(&self.views(), &folder.join("views"))?;
        Ok(())
    }

    /// The workspace itself.
    pub fn folder(&self) -> Utf8PathBuf {
        self.run.join("workspace")
    }

    /// Where the agent puts models.
    pub fn output(&self) -> Utf8PathBuf {
        self.folder().join("output")
    }

    /// Where the agent's code is.
    pub fn code(&self) -> Utf8PathBuf {
        self.folder().join("code")
    }

    /// Where the server writes its views.
    pub fn views(&self) -> Utf8PathBuf {
        self.run.join("views")
    }

    /// The copy of the agent's own folder.
    pub fn agent(&self) -> Utf8PathBuf {
        self.run.join("agent")
    }

    /// The toolbox.
    pub fn toolbox(&self) -> Utf8PathBuf {
        self.run.join("toolbox")
    }

    /// The name of the base.
    pub fn base_name(&self) -> &str {
        &self.base_name
    }

    /// Where an agent on the host finds everything.
    pub fn on_host(&self, python: Option<Utf8PathBuf>, url: String) -> AgentPlaces {
        let (agent, toolbox) = (self.agent(), self.toolbox());
        AgentPlaces { workspace: self.folder(), agent, toolbox, python, url }
    }

    /// Where an agent in a box does.
    pub fn in_box(python: Option<Utf8PathBuf>, url: String) -> AgentPlaces {
        let [workspace, agent, toolbox] = IN_BOX.map(Utf8PathBuf::from);
        AgentPlaces { workspace, agent, toolbox, python, url }
    }

    /// What a box shows read-only: data, and the agent's programs.
    pub fn read_only(&self) -> (Vec<Bind>, Vec<Bind>) {
        let [workspace, agent, _] = IN_BOX.map(Utf8Path::new);
        let folder = self.folder();
        let mut data: Vec<Bind> = ["data", "description.md", "instructions.md"]
            .map(|name| bind(&folder.join(name), &workspace.join(name)))
            .into();
        data.push(bind(&self.base, &workspace.join("models").join(&self.base_name)));
        data.push(bind(&self.views(), &workspace.join("views")));
        (data, vec![bind(&self.agent(), agent)])
    }

    /// What an agent in a box can write to.
    pub fn writable(&self) -> Vec<Bind> {
        let (folder, inside) = (self.folder(), Utf8Path::new(IN_BOX[0]));
        OWN.map(|name| bind(&folder.join(name), &inside.join(name))).into()
    }
}

fn bind(source: &Utf8Path, target: &Utf8Path) -> Bind {
    Bind { source: source.as_str().to_owned(), target: target.as_str().to_owned() }
}

/// A link at `path`, in place of another one.
fn link(target: &Utf8Path, path: &Utf8Path) -> io::Result<()> {
    if path.is_symlink() {
        fs::remove_file(path)?;
    }
    symlink(target, path)
}
