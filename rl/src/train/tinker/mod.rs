//! Training on other machines over the Tinker protocol, as `SkyRL` serves it (FSDP or Megatron with
//! vLLM on several GPUs, or JAX).
//!
//! The server has the weights, the gradients and the optimizer. Tasks, episodes, rewards, masks,
//! advantages, checkpoints of the loop and metrics stay here. `docs/LEARNERS.md` has the mapping
//! from our loss to the server's and what is refused.
//!
//! ```text
//! GrpoInputs -> datum -> model (forward_backward, optim_step) -> stats
//! ```
//! Nothing is sent that the server would ignore: [`LearnerSettings::check`] refuses it before the
//! run begins.

mod client;
mod connection;
mod datum;
mod error;
mod generator;
mod learner;
mod limits;
mod loss;
mod model;
mod saved;
mod settings;
mod update;
mod wire;

pub use client::TinkerClient;
pub use connection::Connection;
pub use error::TinkerError;
pub use generator::TinkerGenerator;
pub use learner::{TinkerLearner, TinkerStart};
pub use model::{AdapterStart, RemoteModel};
pub use settings::{Backend, LearnerApi, LearnerSettings, LossFunction};
