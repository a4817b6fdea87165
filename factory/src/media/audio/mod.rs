//! Recordings: one second or less of a gliding, trembling tone with clicks in it; soundscapes: 5 to 10
//! seconds with calls of several notes; and sounds that are given.
//!
//! A recording is a harmonic tone whose pitch, timbre and swelling are statistics, hiss, a few
//! short pings (the clicks) and the drone of the place. What the ear notes first is in the level
//! of its segments; timbre and pitch are in its spectrum; the glide, the rate of the trembling
//! and the number of clicks only show once the tone is followed and taken out.
//! `values -> scene -> samples -> wav`, and back: `wav -> spectrogram -> envelopes -> readings`.

mod clicks;
mod envelope;
mod features;
pub(crate) mod given;
mod level;
mod oscillator;
mod recording;
mod scene;
mod site;
mod soundscape;
mod spectrogram;
mod timbre;
mod tremolo;
pub(crate) mod wav;

pub use given::GivenSound;
pub use recording::Recording;
pub(crate) use soundscape::course;
pub use soundscape::{Soundscape, Source};
