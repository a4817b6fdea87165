//! Turns that fail, and what must come of them.

use jail::exec::Outcome;
use sandbox::env::Action;

/// A turn that goes wrong through its agent's own fault.
#[derive(Debug, Clone, Copy)]
pub(crate) enum FailingTurn {
    /// A script that computes past its time.
    OverTime,
    /// A script that takes memory until there is none.
    OverMemory,
    /// A script with an exception.
    Exception,
    /// No turn at all.
    Malformed,
}

impl FailingTurn {
    /// What a thread's episode begins with, if it begins badly. Over time is the rarest, for it
    /// keeps a place from all others for as long as a script may run.
    pub(crate) fn for_episode(thread: usize, episode: u64) -> Option<Self> {
        Some(match (thread as u64 + episode) % 64 {
            0 => Self::OverTime,
            16 | 48 => Self::OverMemory,
            8 | 24 | 40 | 56 => Self::Exception,
            4 | 20 | 36 | 52 => Self::Malformed,
            _ => return None,
        })
    }

    pub(crate) fn turn(self) -> String {
        let code = match self {
            Self::OverTime => "while True:\n    pass",
            Self::OverMemory => "held = []\nwhile True:\n    held.append(bytearray(1 << 25))",
            Self::Exception => "import pandas as pd\npd.read_csv('input/no_such_table.csv')",
            Self::Malformed => return "I shall think about it.".to_owned(),
        };
        agents::grammar::python_turn("This cannot work.", code)
    }

    /// Whether what came of it is what must.
    pub(crate) fn fits(self, action: &Action, outcome: Option<&Outcome>) -> bool {
        match (self, outcome) {
            (Self::OverTime, Some(Outcome::TimedOut))
            | (Self::OverMemory, Some(Outcome::OutOfMemory)) => true,
            (Self::Exception, Some(Outcome::Raised { exception })) => {
                exception == "FileNotFoundError"
            }
            (Self::Malformed, None) => matches!(action, Action::Malformed { .. }),
            _ => false,
        }
    }
}
