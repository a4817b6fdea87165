//! Pairs from the user's files, in the format of TRL's `DPOTrainer`.
//!
//! One JSON object a line, or one list of such objects, with `prompt`, `chosen` and `rejected`, each a
//! text or a list of messages. Without `prompt`, it is the messages that both sides begin with. Messages
//! of others than the assistant within an answer are context. Other keys are ignored.

use super::PreferError;
use super::settings::PreferSettings;
use crate::text::template::{ChatMessage, ChatRole, ChatTemplate};
use crate::text::tokenizer::Tokenizer;
use crate::train::batch::TrainSequence;
use crate::train::choice::{Chosen, LeftOut, write_left_out};
use crate::train::records::{self, Message, RecordError, RecordsError, Side, conversation};
use crate::train::sft::example;
use camino::{Utf8Path, Utf8PathBuf};
use serde::Deserialize;
use tasks::stream::Stream;

/// What a record must have.
const EXPECTED: &str = "`prompt`, `chosen` and `rejected`, each a text or a list of messages";

/// A record as it is written.
#[derive(Debug, Deserialize)]
struct Record {
    #[serde(default)]
    prompt: Option<Side>,
    chosen: Side,
    rejected: Side,
}

/// Two conversations that begin alike.
#[derive(Debug)]
pub(super) struct PairRecord {
    chosen: Vec<ChatMessage>,
    rejected: Vec<ChatMessage>,
    /// How many messages are the prompt.
    prompt: usize,
}

/// The pairs of all `files` with their names, in their order.
///
/// # Errors
/// [`RecordsError`] naming the first record that is none.
pub(super) fn read(files: &[Utf8PathBuf]) -> Result<Vec<(String, PairRecord)>, RecordsError> {
    records::read(files, pair)
}

fn pair(record: &str) -> Result<PairRecord, RecordError> {
    let Record { prompt, chosen, rejected } = serde_json::from_str(record)
        .map_err(|source| RecordError::Format { expected: EXPECTED, source })?;
    if chosen == rejected {
        return Err(RecordError::SameSides);
    }
    let [chosen, rejected] = [chosen, rejected].map(|side| side.messages(ChatRole::Assistant));
    let opening: Vec<Message> = match prompt {
        Some(prompt) => prompt.messages(ChatRole::User),
        None => Vec::new(),
    };
    let shared = chosen.iter().zip(&rejected).take_while(|(a, b)| a == b).count();
    let prompt = if opening.is_empty() { shared } else { opening.len() };
    let whole = |answer: Vec<Message>| conversation([opening.clone(), answer].concat());
    Ok(PairRecord { chosen: whole(chosen)?, rejected: whole(rejected)?, prompt })
}

/// Both answers as tokens, each behind the prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pair {
    pub(super) chosen: TrainSequence,
    pub(super) rejected: TrainSequence,
}

/// Pairs as tokens.
#[derive(Debug)]
pub(super) struct Pairs {
    /// What is trained on.
    pub(super) train: Vec<Pair>,
    /// What the loss is measured on.
    pub(super) held_out: Vec<Pair>,
    /// What is too long, of both.
    pub(super) left_out: Vec<LeftOut>,
}

impl Pairs {
    /// Draws and lays out the pairs.
    ///
    /// # Errors
    /// [`PreferError`] if a pair cannot be laid out, or nothing is left.
    pub(super) fn new(
        records: Vec<(String, PairRecord)>,
        settings: &PreferSettings,
        template: &ChatTemplate<&Tokenizer>,
        stream: Stream,
    ) -> Result<Self, PreferError> {
        let PreferSettings { max_samples, validation_share: share, context, .. } = *settings;
        let parts = Chosen::draw(records, max_samples, share, stream)?;
        let mut left_out = Vec::new();
        let mut fitting = |records: &[(String, PairRecord)]| {
            let mut pairs = Vec::new();
            for (name, record) in records {
                let lay =
                    |side: &[ChatMessage]| example::conversation(side, record.prompt, template);
                let pair = Pair { chosen: lay(&record.chosen)?, rejected: lay(&record.rejected)? };
                let tokens = pair.chosen.ids.len().max(pair.rejected.ids.len());
                if tokens <= context {
                    pairs.push(pair);
                } else {
                    left_out.push(LeftOut { example: name.clone(), tokens });
                }
            }
            Ok::<_, PreferError>(pairs)
        };
        let (train, held_out) = (fitting(&parts.train)?, fitting(&parts.held_out)?);
        if train.is_empty() || (held_out.is_empty() && !parts.held_out.is_empty()) {
            return Err(PreferError::NothingFits(context));
        }
        Ok(Self { train, held_out, left_out })
    }

    /// Names what was left out.
    ///
    /// # Errors
    /// An I/O error.
    pub(super) fn write_left_out(&self, out: &Utf8Path, context: usize) -> std::io::Result<()> {
        write_left_out(&self.left_out, out, context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::tokenizer::Pieces;
    use crate::train::presets::Scale;

    #[test]
    fn formats_of_trl_are_read_and_have_the_same_prompt() {
        let text = r#"{"prompt": "q", "chosen": "a", "rejected": "b", "reward": 1}"#;
        let lists = r#"{"prompt": [{"role": "user", "content": "q"}],
            "chosen": [{"role": "assistant", "content": "a"}],
            "rejected": [{"role": "assistant", "content": "b"}]}"#;
        let implicit = r#"{"chosen": [{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}],
            "rejected": [{"role": "user", "content": "q"}, {"role": "assistant", "content": "b"}]}"#;
        for record in [text, lists, implicit] {
            let found = pair(record).unwrap();
            let said = |side: &[ChatMessage]| -> Vec<String> {
                side.iter().filter_map(|message| message.content.clone()).collect()
            };
            assert_eq!(
                (said(&found.chosen), said(&found.rejected)),
                (vec!["q".to_owned(), "a".to_owned()], vec!["q".to_owned(), "b".to_owned()],)
            );
            assert_eq!(found.prompt, 1, "{record}");
        }
        let same = r#"{"prompt": "q", "chosen": "a", "rejected": "a"}"#;
        assert!(matches!(pair(same), Err(RecordError::SameSides)));
        assert!(matches!(pair(r#"{"chosen": "a"}"#), Err(RecordError::Format { .. })));
    }

    #[test]
    fn answers_alone_are_trained_on_and_long_pairs_are_named() {
        let texts = vec!["question one two\nanswer yes no\n".to_owned(); 4];
        let tokenizer = Tokenizer::train(&texts, 320, Pieces::Words).unwrap();
        let template = ChatTemplate::new(&tokenizer).unwrap();
        let record = |prompt: &str| {
            pair(&format!(r#"{{"prompt": "{prompt}", "chosen": "yes", "rejected": "no no"}}"#))
                .unwrap()
        };
        let earlier = r#"{"prompt": [{"role": "user", "content": "one"}, {"role": "assistant", "content": "yes"},
            {"role": "user", "content": "two"}], "chosen": "yes", "rejected": "no"}"#;
        let records = vec![
            ("a".to_owned(), record("one")),
            ("b".to_owned(), record(&"two ".repeat(200))),
            ("c".to_owned(), pair(earlier).unwrap()),
        ];
        let settings = PreferSettings { context: 100, ..PreferSettings::defaults(Scale::Tiny) };
        let pairs = Pairs::new(records, &settings, &template, Stream::root(1)).unwrap();
        assert_eq!((pairs.train.len(), &*pairs.left_out[0].example), (2, "b"));
        let trained = |sequence: &TrainSequence| -> Vec<i64> {
            let kept = sequence.ids.iter().zip(&sequence.trained).filter(|(_, trained)| **trained);
            kept.map(|(id, _)| *id).collect()
        };
        for pair in &pairs.train {
            assert_eq!(trained(&pair.chosen), template.answer("yes").unwrap());
        }
        assert_eq!(trained(&pairs.train[0].rejected), template.answer("no no").unwrap());
        assert_eq!(trained(&pairs.train[1].rejected), template.answer("no").unwrap());
    }
}
