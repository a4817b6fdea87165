//! What the tests of several crates share.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
#![expect(missing_docs, reason = "fields and variants that are only named in tests")]
#![expect(clippy::print_stdout, reason = "long runs report their progress")]

pub mod dojo;
pub mod folders;
pub mod manifest;
pub mod mutation;
pub mod process;
pub mod provider;
pub mod random;
pub mod reference;
pub mod rounds;
pub mod servers;
pub mod shifts;
pub mod tables;
pub mod trend;
