//! Scenes: pictures whose truth is not a word or a number but a mask, boxes, or a better picture.
//!
//! A scene's parameters are the task's hidden rule: they say what belongs and what only looks
//! like it. A [`Scene`] draws pictures together with their truth, and fits its own ladder to
//! them, because rungs over pixels have little in common with rungs over rows.
//! `layout -> pictures and truth -> rungs`; beside [`crate::media`], which carries numbers.

mod canvas;
pub mod constants;
pub mod detection;
pub mod files;
mod fitting;
mod kind;
mod python;
pub mod reconstruction;
mod scene;
pub mod segmentation;
mod strategy;

pub use scene::{Annotation, Drawn, Material, Scene, Strengths};
pub use strategy::strategise;
