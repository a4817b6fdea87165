//! GPUs: the device nodes of NVIDIA's driver, which a run gets only if its policy asks for them.
//!
//! The host's nodes are picked up with the outer box, where no run sees them, and the chosen ones
//! are put into the `/dev` of a run's inner box; without a box, Landlock opens them.
//!
//! What CUDA needs, and what stood in its way here. None of it was tried on a GPU.
//!
//! | what | source | here |
//! | --- | --- | --- |
//! | `nvidiactl`, `nvidia-uvm`, `nvidia-uvm-tools`, a node per GPU | `nvc_mount.c` of libnvidia-container, for the capability `compute` | these, and no others: `nvidia-modeset` is for displays, `nvidia-caps` for slices of a GPU (MIG) |
//! | `ioctl` | `nv-ioctl-numbers.h`, `uvm_ioctl.h` | Landlock and [`super::seccomp`] let through what these files name |
//! | address space far beyond what is used: 64 GB for 2 GB on a device | tensorflow issue 10040 | [`super::rlimits`] bounds private writable memory |
//! | `memfd_create` | NVIDIA/OpenShell issue 1696: without it `cuInit` returns 304 | allowed, but for huge pages |
//! | names of threads, written to `/proc/<pid>/task/<tid>/comm` | NVIDIA/OpenShell issue 1486: without it `cuInit` returns 304 | Landlock allows it; in tier 3, of the run's first process only |
//! | `/proc/driver/nvidia` and `/proc/driver/nvidia-uvm` | nolabs-ai/nono pull request 673 | in a box part of every process list; in tier 3 Landlock allows them |
//! | `/sys` | nixpkgs' nix-required-mounts lists device nodes and libraries, no `/sys`; nono's issue 658 finds one GPU to do without | not there |
//! | locked memory | no evidence was found | none, as for every run |
//! | `libcuda.so.1` | NVIDIA's packages | below `/usr/lib` or `/usr/local/lib`, which are visible; elsewhere (`/usr/local/nvidia` of some clouds) it is not |
//!
//! A zygote never opens a node, and sees no GPU in its environment: a CUDA context does not
//! survive a fork, while libraries that were imported before it are of use after it.

use crate::isolation::mounts::{self, MountError};
use crate::isolation::root::{self, Bind};
use crate::limits::Gpus;
use camino::{Utf8Path, Utf8PathBuf};
use fs_err as fs;
use rustix::fd::AsFd;
use rustix::fs::{Access, FileType};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// Where the outer box holds the nodes of all GPUs; covered in the inner box.
pub const GPUS: &str = "/gpus";
/// Tells CUDA which of the GPUs that it finds it may use, by their place; none if it is empty.
pub const VARIABLE: &str = "CUDA_VISIBLE_DEVICES";

/// Nodes that every program opens, whichever GPU it uses.
const SHARED: [&str; 2] = ["nvidiactl", "nvidia-uvm"];
/// Opened too if it is there.
const TOOLS: &str = "nvidia-uvm-tools";

/// The GPUs of a host, as its device nodes show them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostGpus {
    folder: Utf8PathBuf,
    /// By name: whether it is of use.
    nodes: BTreeMap<String, Result<(), Obstacle>>,
}

/// Why a node is of no use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Obstacle {
    Missing,
    NoDevice,
    Shut,
}

impl fmt::Display for Obstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Missing => "is not there",
            Self::NoDevice => "is no device",
            Self::Shut => "may not be read and written by the user that scripts run as",
        })
    }
}

/// A host has not what a policy asks for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "the policy asks for GPUs (`gpus = \"{asked}\"`), and {obstacle}; see `sandbox check` for \
     what there is (`nvidia-modprobe -u -c 0` makes the nodes of NVIDIA's driver), or leave \
     `gpus` out"
)]
pub struct NoGpu {
    asked: String,
    obstacle: String,
}

/// What a run with GPUs gets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Devices {
    /// The nodes' paths: in the outer box, or the host's for a run without a box.
    pub paths: Vec<String>,
    /// The value of [`VARIABLE`]. In a box with some of a host's GPUs CUDA numbers those.
    pub visible: String,
}

impl HostGpus {
    /// Looks for device nodes in `folder`, which is `/dev` on a host.
    pub fn find(folder: &Utf8Path) -> Self {
        let names = folder.read_dir_utf8().into_iter().flatten().flatten();
        let mut nodes: BTreeMap<_, _> = names
            .map(|entry| entry.file_name().to_owned())
            .filter(|name| index(name).is_some() || name == TOOLS)
            .map(|name| (name.clone(), look_at(&folder.join(&name))))
            .collect();
        for name in SHARED {
            nodes.insert(name.to_owned(), look_at(&folder.join(name)));
        }
        Self { folder: folder.to_owned(), nodes }
    }

    /// The indices of those that a run may have.
    pub fn indices(&self) -> BTreeSet<u32> {
        let shared = SHARED.iter().all(|name| self.useful().any(|useful| useful == *name));
        self.useful().filter(|_| shared).filter_map(index).collect()
    }

    /// What is wrong with which node.
    pub fn obstacles(&self) -> Vec<String> {
        let wrong = |(name, found): (&String, &Result<_, _>)| {
            found.err().map(|obstacle| self.sentence(name, obstacle))
        };
        let mut all: Vec<_> = self.nodes.iter().filter_map(wrong).collect();
        if !self.nodes.keys().any(|name| index(name).is_some()) {
            all.push(format!("{} has no node of a GPU", self.folder));
        }
        all
    }

    /// Whether runs can have these GPUs.
    ///
    /// # Errors
    /// A [`NoGpu`] with the first node that is of no use.
    pub fn check(&self, asked: &Gpus) -> Result<(), NoGpu> {
        self.devices(asked, true).map(drop)
    }

    /// All that are of use, for the outer box.
    pub(crate) fn binds(&self) -> Vec<Bind> {
        let bind =
            |name| Bind { source: self.folder.join(name).into(), target: format!("{GPUS}/{name}") };
        self.useful().map(bind).collect()
    }

    /// What a run with these GPUs gets, in a box or not; none if it asks for none.
    ///
    /// # Errors
    /// A [`NoGpu`] with the first node that is of no use.
    pub(crate) fn devices(&self, asked: &Gpus, boxed: bool) -> Result<Option<Devices>, NoGpu> {
        let indices: BTreeSet<_> = match asked {
            Gpus::None => return Ok(None),
            Gpus::All => self.nodes.keys().filter_map(|name| index(name)).collect(),
            Gpus::Only(indices) => indices.clone(),
        };
        let no_gpu = |obstacle| NoGpu { asked: asked.to_string(), obstacle };
        if indices.is_empty() {
            return Err(no_gpu(format!("{} has no node of a GPU", self.folder)));
        }
        let own = indices.iter().map(|index| format!("nvidia{index}"));
        let names = SHARED.map(str::to_owned).into_iter().chain(own);
        let tools = self.useful().filter(|name| *name == TOOLS).map(str::to_owned);
        let names: Vec<_> = names.chain(tools).collect();
        for name in &names {
            let found = self.nodes.get(name).copied().unwrap_or(Err(Obstacle::Missing));
            found.map_err(|obstacle| no_gpu(self.sentence(name, obstacle)))?;
        }
        let folder = if boxed { Utf8Path::new(GPUS) } else { &self.folder };
        let places: Vec<_> = (0..indices.len()).map(|place| place.to_string()).collect();
        Ok(Some(Devices {
            paths: names.iter().map(|name| folder.join(name).into()).collect(),
            visible: places.join(","),
        }))
    }

    fn useful(&self) -> impl Iterator<Item = &str> {
        self.nodes.iter().filter(|(_, found)| found.is_ok()).map(|(name, _)| name.as_str())
    }

    fn sentence(&self, name: &str, obstacle: Obstacle) -> String {
        format!("{} {obstacle}", self.folder.join(name))
    }
}

/// The index of the GPU that a node belongs to.
fn index(name: &str) -> Option<u32> {
    let digits = name.strip_prefix("nvidia")?;
    // No `+1`, which is a number too.
    digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok())?
}

fn look_at(path: &Utf8Path) -> Result<(), Obstacle> {
    let Ok(about) = rustix::fs::stat(path.as_str()) else { return Err(Obstacle::Missing) };
    if FileType::from_raw_mode(about.st_mode) != FileType::CharacterDevice {
        return Err(Obstacle::NoDevice);
    }
    // Root's scripts run as somebody else, everybody else's as their own.
    let open = if rustix::process::geteuid().is_root() {
        about.st_mode & 0o006 == 0o006
    } else {
        rustix::fs::access(path.as_str(), Access::READ_OK | Access::WRITE_OK).is_ok()
    };
    if open { Ok(()) } else { Err(Obstacle::Shut) }
}

/// Covers `/dev` in a box by one that has the nodes at `paths` besides.
pub(super) fn mount(paths: &[String]) -> Result<(), MountError> {
    let own = root::DEVICES.into_iter().map(|path| (path, path.to_owned()));
    let added = paths.iter().map(|path| (path.as_str(), inside(path)));
    let picked: Vec<_> = own
        .chain(added)
        .map(|(path, target)| Ok((mounts::pick_up(path)?, target)))
        .collect::<Result<_, MountError>>()?;
    mounts::tmpfs("/dev", "mode=0755,size=64k,nr_inodes=256")?;
    root::make_directory("/dev/shm")?;
    root::link_streams("")?;
    for (tree, target) in picked {
        root::place(&target, fs::write(&target, ""))?;
        mounts::attach(tree.as_fd(), &target)?;
    }
    mounts::freeze("/dev")
}

/// Where a run in a box finds the node that the outer box holds at `path`.
pub(super) fn inside(path: &str) -> String {
    path.replacen(GPUS, "/dev", 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(nodes: &[(&str, Result<(), Obstacle>)]) -> HostGpus {
        let nodes = nodes.iter().map(|(name, found)| ((*name).to_owned(), *found)).collect();
        HostGpus { folder: "/dev".into(), nodes }
    }

    #[test]
    fn device_node_names_are_classified() {
        assert_eq!((index("nvidia0"), index("nvidia12")), (Some(0), Some(12)));
        for other in ["nvidia", "nvidia+1", "nvidiactl", "nvidia-uvm", "null", "nvidia99999999999"]
        {
            assert_eq!(index(other), None, "{other}");
        }
    }

    #[test]
    fn run_gets_only_the_gpus_that_it_asks_for() {
        let ok = Ok(());
        let nodes = ["nvidia0", "nvidia10", "nvidia2", "nvidia-uvm", "nvidiactl"].map(|n| (n, ok));
        let host = host(&nodes);
        assert_eq!(host.devices(&Gpus::None, true), Ok(None));
        assert_eq!(host.indices(), [0, 2, 10].into());
        let some = host.devices(&Gpus::Only([2, 10].into()), true).unwrap().unwrap();
        let paths = ["/gpus/nvidiactl", "/gpus/nvidia-uvm", "/gpus/nvidia2", "/gpus/nvidia10"];
        assert_eq!((some.paths, some.visible.as_str()), (paths.map(str::to_owned).to_vec(), "0,1"));
        let all = host.devices(&Gpus::All, false).unwrap().unwrap();
        assert_eq!((all.paths.len(), all.visible.as_str()), (5, "0,1,2"));
        assert!(all.paths.contains(&"/dev/nvidia0".to_owned()), "{:?}", all.paths);
        assert!(host.obstacles().is_empty());
    }

    #[test]
    fn missing_gpus_are_named_in_the_error() {
        let said =
            |host: &HostGpus, asked: &Gpus| host.devices(asked, true).unwrap_err().to_string();
        let nothing = host(&[("nvidia-uvm", Err(Obstacle::Missing)), ("nvidiactl", Ok(()))]);
        assert!(said(&nothing, &Gpus::All).contains("/dev has no node of a GPU"));
        assert!(said(&nothing, &Gpus::Only([3].into())).contains("/dev/nvidia-uvm is not there"));
        assert_eq!((nothing.indices(), nothing.obstacles().len()), ([].into(), 2));
        let shut =
            [("nvidia-uvm", Ok(())), ("nvidia0", Err(Obstacle::Shut)), ("nvidiactl", Ok(()))];
        let shut = host(&shut);
        // All means all: a run does not get fewer than it believes.
        for asked in [Gpus::All, Gpus::Only([0].into())] {
            assert!(said(&shut, &asked).contains("/dev/nvidia0 may not be read"));
        }
        let other = said(&shut, &Gpus::Only([1].into()));
        assert!(other.contains("/dev/nvidia1 is not there") && other.contains("gpus = \"1\""));
    }
}
