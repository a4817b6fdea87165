//! What a session may take.

/// What a session may take.
///
/// | field | meaning | default |
/// | --- | --- | --- |
/// | `turns` | answers of the model | 100 |
/// | `tokens` | tokens read and written; none for what the gateway allows | none |
/// | `answer` | tokens of one answer, thoughts included | 8,192 |
/// | `context` | tokens of a conversation, at four characters each; beyond it the oldest observations are left out | 60,000 |
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReactLimits {
    /// Answers of the model.
    pub turns: u64,
    /// Tokens read and written.
    pub tokens: Option<u64>,
    /// Tokens of one answer.
    pub answer: u32,
    /// Tokens of a conversation.
    pub context: usize,
}

impl Default for ReactLimits {
    fn default() -> Self {
        Self { turns: 100, tokens: None, answer: 8_192, context: 60_000 }
    }
}
