//! Pictures: close views of textured surfaces, scattered things, clips of drifting ones, scenes, and
//! pictures that are given.
//!
//! A medium draws a scene in grey; `camera` makes a file of it, with the task's size, tint
//! and blemishes. Reading starts from the file's grey values: `features` are what solvers
//! compute of any picture, and each medium has its own estimator beside it.

mod blobs;
pub(crate) mod camera;
mod clip;
pub(crate) mod features;
pub(crate) mod frames;
pub(crate) mod given;
pub(crate) mod jpeg;
mod objects;
pub(crate) mod picture;
mod plane;
pub(crate) mod scenery;
mod spectrum;
pub(crate) mod stack;
mod stripes;
mod surface;
#[cfg(test)]
mod tests;
pub(crate) mod wave;

pub use clip::Clip;
pub use given::GivenPicture;
pub use objects::Objects;
pub use scenery::{Scenery, Subject};
pub use surface::Surface;
