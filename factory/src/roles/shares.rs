//! How the layers of a rule share its variance.

use crate::spec::levels::Levels;

/// How a rule's variance is divided, were its terms uncorrelated.
#[derive(Debug, Clone, Copy)]
pub struct Shares {
    /// The floor's share, at least and at most.
    pub floor: (f64, f64),
    /// The step's share, at least and at most.
    pub step: (f64, f64),
    /// What the mechanism's shares are multiplied by.
    pub mechanism: f64,
}

impl Shares {
    /// For columns that every solver reads as they are.
    pub const WRITTEN: Self = Self { floor: (0.28, 0.33), step: (0.22, 0.26), mechanism: 1.0 };
    /// For means over neighbours, which only the top rung looks at: the others need more of the
    /// rest.
    pub const SURROUNDED: Self = Self { floor: (0.28, 0.33), step: (0.32, 0.36), mechanism: 0.7 };
    /// For statistics that all but the top rung read imperfectly: without more of what they do
    /// read, the lower rungs would drown in noise.
    pub const CARRIED: Self = Self { floor: (0.33, 0.36), step: (0.46, 0.50), mechanism: 0.4 };

    /// For one of the axes of classes without an order. A row's class is known by all of them
    /// together, so what a rung does not read of each adds up.
    pub fn of_axis(axes: usize) -> Self {
        match axes {
            2 => Self { floor: (0.28, 0.33), step: (0.34, 0.38), mechanism: 0.7 },
            _ => Self { floor: (0.40, 0.44), step: (0.34, 0.38), mechanism: 0.5 },
        }
    }

    /// The same with more for what columns do together.
    #[must_use]
    pub fn interacting(self) -> Self {
        Self { mechanism: 1.5 * self.mechanism, ..self }
    }

    /// The same where a rule of the spread is to be found, too: more for the step, since a forest sees
    /// less of it where many rows are noisy, and less for the mechanism.
    #[must_use]
    pub fn beside_a_spread(self) -> Self {
        let step = (1.3 * self.step.0, 1.3 * self.step.1);
        Self { step, mechanism: 0.6 * self.mechanism, ..self }
    }

    /// The same with as much for the step as makes tasks of the named levels likely: what a forest
    /// finds beyond a line is what has to be found for a medal.
    #[must_use]
    pub fn at(self, levels: Levels) -> Self {
        let Some(middle) = levels.middle() else { return self };
        let factor = libm::pow(STEP_PER_LEVEL, middle - USUAL_LEVEL);
        let step = (factor * self.step.0, factor * self.step.1);
        Self { step, ..self }
    }
}

/// What the step's share is multiplied by to make a task one level harder.
const STEP_PER_LEVEL: f64 = 1.5;
/// The mean level of tasks of which no level is asked.
const USUAL_LEVEL: f64 = 3.5;
