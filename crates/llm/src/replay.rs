//! A double that answers from a recording and never reaches out.

use crate::chat::{ChatError, ChatModel, Completion, Request};
use camino::Utf8Path;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Recorded answers by request key.
#[derive(Debug, Default)]
pub struct Replay {
    answers: BTreeMap<String, Completion>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Exchange {
    request: Request,
    completion: Completion,
}

impl Replay {
    /// Reads a JSONL file of `{"request": …, "completion": …}` lines. A later answer to the same
    /// request replaces an earlier one.
    ///
    /// # Errors
    /// [`ChatError::Io`] or [`ChatError::Recording`].
    pub fn open(path: &Utf8Path) -> Result<Self, ChatError> {
        let mut replay = Self::default();
        for (index, line) in fs_err::read_to_string(path)?.lines().enumerate() {
            let exchange: Exchange = serde_json::from_str(line)
                .map_err(|source| ChatError::Recording { line: index + 1, source })?;
            replay.record(&exchange.request, exchange.completion);
        }
        Ok(replay)
    }

    /// Adds an answer.
    pub fn record(&mut self, request: &Request, completion: Completion) {
        self.answers.insert(request.key(), completion);
    }
}

impl ChatModel for Replay {
    fn complete(&self, request: &Request) -> Result<Completion, ChatError> {
        let key = request.key();
        self.answers.get(&key).cloned().ok_or_else(|| {
            let last = request.messages.last().map_or("", |message| &message.content);
            ChatError::NotRecorded { key, begin: last.chars().take(60).collect() }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chat::{Message, Role};

    fn request(content: &str) -> Request {
        let message = Message { role: Role::User, content: content.to_owned() };
        Request { model: "m".to_owned(), messages: vec![message], temperature: 0.0, max_tokens: 8 }
    }

    fn completion(text: &str) -> Completion {
        Completion { text: text.to_owned(), prompt_tokens: 3, completion_tokens: 1 }
    }

    #[test]
    fn a_recording_answers_what_it_holds_and_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let path = Utf8Path::from_path(dir.path()).unwrap().join("answers.jsonl");
        let line = |question, answer| {
            let exchange = Exchange { request: request(question), completion: completion(answer) };
            serde_json::to_string(&exchange).unwrap()
        };
        fs_err::write(&path, format!("{}\n{}\n", line("a", "1"), line("b", "2"))).unwrap();
        let replay = Replay::open(&path).unwrap();
        assert_eq!(replay.complete(&request("b")).unwrap(), completion("2"));
        let error = replay.complete(&request("c")).unwrap_err();
        assert!(matches!(error, ChatError::NotRecorded { .. }));
        assert!(error.to_string().contains("begins with `c`"));
        fs_err::write(&path, format!("{}\n{{}}\n", line("a", "1"))).unwrap();
        assert!(matches!(Replay::open(&path), Err(ChatError::Recording { line: 2, .. })));
    }

    #[test]
    fn every_field_is_part_of_the_key() {
        let base = request("a");
        let mut others = vec![request("b"), Request { model: "n".to_owned(), ..base.clone() }];
        others.push(Request { temperature: 0.5, ..base.clone() });
        others.push(Request { max_tokens: 9, ..base.clone() });
        for other in others {
            assert_ne!(base.key(), other.key());
        }
    }
}
