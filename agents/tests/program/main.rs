//! The program `agents`, as a user starts it.

mod kills;
mod runs;
