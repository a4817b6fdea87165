//! The box for evaluators: a sandbox of its own, which no agent's run ever shares.

use crate::exec::{Options, Sandbox, StartError};
use crate::python::PythonEnv;
use crate::task::{Bundle, PublicDir, TaskId};
use std::sync::{Mutex, PoisonError};

/// A sandbox that shows each evaluator its bundle's folder as it was released, answers included.
/// It starts when the first evaluator is needed.
#[derive(Debug, Default)]
pub struct Evaluators(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    folders: Vec<(TaskId, PublicDir)>,
    options: Option<Options>,
    sandbox: Option<Sandbox>,
}

impl Evaluators {
    /// Sets how the box will be built: with the layers that the operator can do without, and as
    /// many runs at a time as agents have. Default: two at a time, and no layer is dispensable
    /// but those that [`Options`] leave out anyway.
    pub fn configure(&self, options: Options) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.options = Some(options);
        state.sandbox = None;
    }

    /// Adds a bundle.
    pub(crate) fn add(&self, bundle: &Bundle) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.folders.push((bundle.id().clone(), bundle.whole().clone()));
        state.sandbox = None;
    }

    /// The box, started if it is not up.
    pub(super) fn sandbox(&self) -> Result<Sandbox, StartError> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(sandbox) = &state.sandbox {
            return Ok(sandbox.clone());
        }
        // Evaluators are small: imports done once are worth it, warmed-up models are not.
        let default = || Options { slots: 2, ..Options::default() };
        let options = state.options.clone().unwrap_or_else(default);
        let options = Options { warm_up: false, ..options };
        let sandbox = Sandbox::start(&PythonEnv::locate()?, options, &state.folders)?;
        state.sandbox = Some(sandbox.clone());
        Ok(sandbox)
    }
}
