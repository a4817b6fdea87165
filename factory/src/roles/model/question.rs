//! A question to a chat model: a prompt, and the form of its answer.

use llm::AnswerSchema;

/// A question to a chat model. Its text depends on the slot, the attempt and the feedback alone,
/// never on other slots, so that a recording of the answers makes the same corpus again.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    /// What is asked for, such as `story`; one lower-case word.
    pub name: &'static str,
    /// Standing instructions.
    pub system: String,
    /// The question itself, feedback included.
    pub prompt: String,
    /// The form of an answer in JSON; `None` where it is code.
    pub schema: Option<AnswerSchema>,
    /// Sampling temperature of the first answer; repairs are sampled at 0.
    pub temperature: f64,
    /// Largest number of tokens of an answer; a thinking model gets three times as many.
    pub max_tokens: u32,
    /// Longest answer that is read, in bytes.
    pub max_bytes: usize,
}
