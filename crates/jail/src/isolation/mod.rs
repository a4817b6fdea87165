//! The jail: isolation of scripts from the machine that they run on.
//!
//! Two boxes, one inside the other:
//! 1. [`launcher`] builds the **outer box** once: its own root with read-only system, Python and
//!    public task data, and namespaces of its own. The warmed interpreter (zygote) lives in it.
//! 2. [`enter`] puts each run into an **inner box**: its own namespaces, scratch space, limits and
//!    filters. Its only caller is the zygote's forked child, through the C interface in [`abi`].
//!
//! A host without user namespaces offers no boxes; [`bare`] isolates runs there. Long programs have one
//! box with the same layers: see [`crate::program`].
//!
//! Each file has one barrier. [`Protection`] reports which of them are up, [`IsolationLevel`] sums
//! that up. The supervisor sets the bounds over a whole run ([`cgroup`]). This is the only module of
//! the workspace with `unsafe` code: kernel interfaces that have no safe wrapper.

pub mod abi;
pub mod bare;
pub mod capabilities;
pub mod cgroup;
pub mod enter;
pub mod gpus;
pub mod hierarchy;
pub mod landlock;
pub mod launcher;
pub mod layer;
pub mod mounts;
pub mod namespaces;
pub(crate) mod owner;
pub(crate) mod process;
pub mod reaper;
pub mod rlimits;
pub mod root;
pub mod seccomp;
mod seccomp_program;
pub mod tier;
pub mod tree;

pub use layer::{Layer, LayerState, Protection};
pub use tier::IsolationLevel;
