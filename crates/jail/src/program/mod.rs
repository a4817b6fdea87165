//! A long program in a box of its own: an agent that works for hours, with what it starts.
//!
//! `spec -> launcher (its own process) -> keeper (first process of the box) -> program`
//!
//! The layers are those of scripts ([`crate::isolation`]), with three differences: the box has a
//! loopback, with listeners that the caller holds ([`Program::listeners`]); folders of the host can be
//! written to; and seccomp lets sockets of IP through, which reach nothing but that loopback. A program
//! of this crate's user starts the launcher: it hands over to [`launch`] if its first argument is
//! [`LAUNCH`].
//!
//! The environment of a box is what the spec says and nothing of the host's. Whatever ends a program,
//! no process of it is left.

mod disk;
mod inside;
mod keeper;
mod launched;
mod report;
mod running;
mod spec;

pub use inside::{LAUNCH, launch};
pub use report::{Directive, EndCause, ExitHow, ProgramReport};
pub use running::Program;
pub use spec::{BoxedPython, Isolation, ProgramError, ProgramLimits, ProgramSpec};
