//! An answer in the making, of either protocol.

use crate::anthropic::AnthropicAnswer;
use crate::capabilities::WireProtocol;
use crate::chat::{Completion, Usage};
use crate::openai::OpenAiAnswer;
use crate::sse::SseEvent;
use crate::wire::WireFault;

/// An answer in the making, of either protocol.
#[derive(Debug)]
pub(crate) enum Answer {
    OpenAi(OpenAiAnswer),
    Anthropic(AnthropicAnswer),
}

impl Answer {
    pub(crate) fn new(protocol: WireProtocol) -> Self {
        match protocol {
            WireProtocol::OpenAi => Self::OpenAi(OpenAiAnswer::default()),
            WireProtocol::Anthropic => Self::Anthropic(AnthropicAnswer::default()),
        }
    }

    pub(crate) fn whole(&mut self, text: &str) -> Result<(), WireFault> {
        match self {
            Self::OpenAi(answer) => answer.whole(text),
            Self::Anthropic(answer) => answer.whole(text),
        }
    }

    pub(crate) fn event(&mut self, event: &SseEvent) -> Result<(), WireFault> {
        match self {
            Self::OpenAi(answer) => answer.event(event),
            Self::Anthropic(answer) => answer.event(event),
        }
    }

    /// Whether nothing more is needed.
    pub(crate) fn is_complete(&self) -> bool {
        match self {
            Self::OpenAi(answer) => answer.is_complete(),
            Self::Anthropic(answer) => answer.is_complete(),
        }
    }

    /// Its tokens so far: as the provider counts them, or estimated from `input_bytes` and what came.
    pub(crate) fn usage(&self, input_bytes: usize) -> Usage {
        match self {
            Self::OpenAi(answer) => answer.usage(input_bytes),
            Self::Anthropic(answer) => answer.usage(input_bytes),
        }
    }

    /// The texts that came so far: answer, thoughts, arguments of tools.
    pub(crate) fn texts(&self) -> [&str; 3] {
        match self {
            Self::OpenAi(answer) => answer.texts(),
            Self::Anthropic(answer) => answer.texts(),
        }
    }

    /// The model that answers, in the provider's words; empty before that is known.
    pub(crate) fn model(&self) -> &str {
        match self {
            Self::OpenAi(answer) => answer.model(),
            Self::Anthropic(answer) => answer.model(),
        }
    }

    pub(crate) fn finish(self, input_bytes: usize) -> Result<Completion, WireFault> {
        match self {
            Self::OpenAi(answer) => answer.finish(input_bytes),
            Self::Anthropic(answer) => answer.finish(input_bytes),
        }
    }
}
