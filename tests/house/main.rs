//! Tests of several crates together.

mod kinds;
