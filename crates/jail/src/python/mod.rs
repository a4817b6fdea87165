//! The Python environment of scripts, and the program that keeps an interpreter warm.

mod env;

pub use env::{PythonEnv, PythonError, VARIABLE};

/// The zygote's program; see its own comments.
pub(crate) const ZYGOTE: &str = concat!(
    include_str!("../../python/worker.py"),
    "\n\n",
    include_str!("../../python/bare.py"),
    "\n\n",
    include_str!("../../python/warm.py"),
    "\n\n",
    include_str!("../../python/run.py"),
    "\n\n",
    include_str!("../../python/zygote.py"),
);

/// The plain fork server that the jail is compared with; see its own comments.
pub(crate) const FORK: &str = include_str!("../../python/fork.py");
