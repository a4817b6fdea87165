//! What is imitated: an episode, a conversation, or plain text.

use crate::text::template::TemplateError;
use crate::text::template::{ChatMessage, ChatRole, ChatTemplate, ChatTemplateOptions};
use crate::text::tokenizer::Tokenizer;
use crate::train::batch::TrainSequence;
use agents::guide::advice::advice_message;
use agents::guide::export::Sample;
use agents::trajectory::{Segment, Source, Trajectory};

/// One example.
#[derive(Debug, Clone)]
pub(super) enum Example {
    /// An episode.
    Episode(Box<Trajectory>),
    /// A sample of a guided run.
    Guided(Box<Sample>),
    /// A conversation, whose assistant's messages are imitated.
    Conversation(Vec<ChatMessage>),
    /// A text without roles, all of which is imitated.
    Text(String),
}

/// An example with a name for people.
#[derive(Debug, Clone)]
pub(super) struct NamedExample {
    /// Where it comes from, such as `data.jsonl line 3`.
    pub(super) name: String,
    /// The example.
    pub(super) example: Example,
}

impl NamedExample {
    /// An episode, named after its task.
    pub(super) fn of_episode(episode: Trajectory) -> Self {
        let name = format!("{} attempt {}, {}", episode.task, episode.attempt, episode.agent);
        Self { name, example: Example::Episode(Box::new(episode)) }
    }
}

impl Example {
    /// Its tokens with their loss mask.
    ///
    /// # Errors
    /// [`TemplateError`] if the template refuses it, or its text cannot be encoded.
    pub(super) fn sequence(
        &self,
        template: &ChatTemplate<&Tokenizer>,
    ) -> Result<TrainSequence, TemplateError> {
        match self {
            Self::Episode(episode) => TrainSequence::from_demonstration(episode, template),
            Self::Guided(sample) => TrainSequence::from_sample(sample, template),
            Self::Conversation(messages) => conversation(messages, 0, template),
            Self::Text(text) => {
                let mut sequence = TrainSequence::default();
                let tokenizer = template.tokenizer();
                sequence.push(&tokenizer.encode(text)?, true);
                sequence.push(&[tokenizer.control().end_of_text], true);
                Ok(sequence)
            }
        }
    }

    /// Its texts, in order, for a vocabulary.
    pub(super) fn texts(&self) -> Vec<String> {
        match self {
            Self::Episode(episode) => texts_of(episode),
            Self::Guided(sample) => texts_of(&sample.trajectory),
            Self::Conversation(messages) => {
                messages.iter().filter_map(|message| message.content.clone()).collect()
            }
            Self::Text(text) => vec![text.clone()],
        }
    }
}

fn texts_of(episode: &Trajectory) -> Vec<String> {
    let read = |segment: &Segment| match segment.source {
        // With what stands around it, which is to be in the vocabulary, too.
        Source::Guide => advice_message(&segment.text),
        Source::Prompt | Source::Model | Source::Environment => segment.text.clone(),
    };
    episode.segments.iter().map(read).collect()
}

/// The messages before the assistant's first as the template opens a conversation; then message
/// after message, as rollouts lay them out. The assistant's messages are trained on, those before
/// message `from` excepted.
///
/// # Errors
/// [`TemplateError`] if the template refuses it, or its text cannot be encoded.
pub(in crate::train) fn conversation(
    messages: &[ChatMessage],
    from: usize,
    template: &ChatTemplate<&Tokenizer>,
) -> Result<TrainSequence, TemplateError> {
    let is_answer = |message: &ChatMessage| message.role == ChatRole::Assistant;
    let first = messages.iter().position(is_answer).unwrap_or(messages.len());
    let (opening, turns) = messages.split_at(first);
    let mut sequence = TrainSequence::default();
    sequence.push(&template.apply(opening, &ChatTemplateOptions::default())?, false);
    let mut replies = Vec::new();
    for (place, message) in (first..).zip(turns) {
        if is_answer(message) {
            sequence.push_replies(&mut replies, template)?;
            let text = message.content.as_deref().unwrap_or_default();
            sequence.push(&template.answer(text)?, place >= from);
        } else {
            replies.push(message.clone());
        }
    }
    Ok(sequence)
}
