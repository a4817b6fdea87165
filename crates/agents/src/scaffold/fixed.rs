//! A player that has one script.

use crate::automind::answer::fixed_answer;
use crate::linear;
use crate::run::player::{Answer, Ask, Asked, Player, PlayerFault};

/// A player that gives the same script whenever it is asked for one: a sample submission, a
/// reference solution. A linear agent runs it in its first turn, and is done.
#[derive(Debug, Clone)]
pub struct FixedScript {
    name: String,
    code: String,
}

impl FixedScript {
    /// Answers with `code`, under a name for reports.
    pub fn new(name: impl Into<String>, code: impl Into<String>) -> Self {
        Self { name: name.into(), code: code.into() }
    }
}

impl Player for FixedScript {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn answer(&self, ask: &Ask<'_>) -> Result<Answer, PlayerFault> {
        Ok(Answer::whole(match ask.what {
            Asked::Script(_) | Asked::Judgement => {
                format!("The script as it is.\n\n```python\n{}\n```\n", self.code)
            }
            Asked::Turn(agent) if ask.node.0 == 0 => {
                linear::script_turn(agent, "The script as it is.", &self.code)
            }
            Asked::AutoMind(job) => fixed_answer(job, &self.code),
            Asked::Knowledge(_) => {
                let why = "a script answers no questions about knowledge";
                return Err(PlayerFault::Refused(why.to_owned()));
            }
            Asked::Summary(_) => "There is one script, and it has run.".to_owned(),
            Asked::Turn(agent) => linear::last_turn(agent, "The script has run."),
        }))
    }
}
