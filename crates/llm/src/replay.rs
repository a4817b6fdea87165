//! A model that answers from a recording and opens no connection.

use crate::chat::{ChatError, ChatModel, Completion, Purpose, Request, Role};
use crate::record::RecordedExchange;
use camino::Utf8Path;
use fs_err as fs;
use std::collections::BTreeMap;

/// Recorded completions by the key of their request.
///
/// # Examples
/// ```rust
/// use llm::{ChatError, ChatModel, Message, Purpose, Replay, Request, Role};
///
/// let replay = Replay::default();
/// let request = Request::new("m", vec![Message::new(Role::User, "2 + 2?")], 16);
/// let missing = replay.complete(&request, &Purpose::default());
/// assert!(matches!(missing, Err(ChatError::NotRecorded { .. })));
/// ```
#[derive(Debug, Default)]
pub struct Replay {
    exchanges: BTreeMap<String, (Request, Completion)>,
}

impl Replay {
    /// Reads a recording of version 1 or 2. A later completion of the same request replaces an
    /// earlier one.
    ///
    /// # Errors
    /// [`ChatError::Io`] or [`ChatError::Recording`].
    pub fn open(path: &Utf8Path) -> Result<Self, ChatError> {
        let mut replay = Self::default();
        for (index, text) in fs::read_to_string(path)?.lines().enumerate() {
            let exchange = RecordedExchange::from_json(text).map_err(|source| {
                ChatError::Recording { path: path.to_string(), line: index + 1, source }
            })?;
            replay.record(&exchange.request, exchange.completion);
        }
        Ok(replay)
    }

    /// Adds a completion.
    pub fn record(&mut self, request: &Request, completion: Completion) {
        self.exchanges.insert(request.key(), (request.clone(), completion));
    }

    /// The completion of the recorded request in which the model has said the same so far, whatever it
    /// was told in between. For agents that are told what no two runs have in common, such as times.
    /// Where several are alike, it is the one whose request is the same.
    ///
    /// # Errors
    /// [`ChatError::NotRecorded`] if there is none, or if several are alike and none is the same.
    ///
    /// # Examples
    /// ```rust
    /// use llm::{Completion, Finish, Message, Replay, Request, Role, Usage};
    ///
    /// let request = |time| Request::new("m", vec![Message::new(Role::User, time)], 16);
    /// let mut replay = Replay::default();
    /// # let answer = Completion { text: "go on".to_owned(), thoughts: None, finish: Finish::Stop,
    /// #     refusal: None, usage: Usage::default(), model: "m".to_owned(), id: String::new() };
    /// replay.record(&request("It is 10:07."), answer);
    /// assert_eq!(replay.following(&request("It is 10:09."))?.text, "go on");
    /// # Ok::<(), llm::ChatError>(())
    /// ```
    pub fn following(&self, request: &Request) -> Result<Completion, ChatError> {
        let asked = said(request);
        let mut alike =
            self.exchanges.values().filter(|(recorded, _)| said(recorded).eq(asked.clone()));
        match (alike.next(), alike.next()) {
            (Some((_, completion)), None) => Ok(completion.clone()),
            _ => self.complete(request, &Purpose::default()),
        }
    }

    /// Where the nearest recorded request differs from `request`, for an error.
    fn nearest(&self, request: &Request) -> String {
        let asked = prompt(request);
        let recorded = self.exchanges.values().map(|(request, _)| request);
        let nearest = recorded.max_by_key(|recorded| {
            (common_characters(&prompt(recorded), &asked), recorded.model == request.model)
        });
        let Some(nearest) = nearest else { return "; the recording is empty".to_owned() };
        let recorded = prompt(nearest);
        if recorded == asked {
            let names = different_fields(nearest, request).join(", ");
            return format!("; a recorded request has the same messages and another {names}");
        }
        let common = common_characters(&recorded, &asked);
        let part = |text: &str| text.chars().skip(common).take(40).collect::<String>();
        format!(
            "; the nearest recorded request goes on with `{}` after {common} characters, this one with `{}`",
            part(&recorded).escape_debug(),
            part(&asked).escape_debug()
        )
    }
}

/// What the model has said so far.
fn said(request: &Request) -> impl Iterator<Item = &str> + Clone {
    let own = request.messages.iter().filter(|message| message.role == Role::Assistant);
    own.map(|message| message.content.as_str())
}

/// All messages as one text.
fn prompt(request: &Request) -> String {
    let messages = request.messages.iter();
    let lines: Vec<String> =
        messages.map(|message| format!("{:?}: {}\n", message.role, message.content)).collect();
    lines.concat()
}

fn common_characters(a: &str, b: &str) -> usize {
    a.chars().zip(b.chars()).take_while(|(a, b)| a == b).count()
}

fn different_fields(a: &Request, b: &Request) -> Vec<String> {
    let fields = |request: &Request| match serde_json::to_value(request) {
        Ok(serde_json::Value::Object(fields)) => fields,
        other => unreachable!("a request is an object, not {other:?}"),
    };
    let (a, b) = (fields(a), fields(b));
    let different = a.into_iter().filter(|(name, value)| b.get(name) != Some(value));
    let mut names: Vec<String> = different.map(|(name, _)| name).collect();
    names.sort();
    names
}

impl ChatModel for Replay {
    fn complete(&self, request: &Request, _purpose: &Purpose) -> Result<Completion, ChatError> {
        let key = request.key();
        if let Some((_, completion)) = self.exchanges.get(&key) {
            return Ok(completion.clone());
        }
        let last = request.messages.last().map_or("", |message| &message.content);
        let begin = last.chars().take(60).collect();
        Err(ChatError::NotRecorded { key, begin, nearest: self.nearest(request) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chat::{Finish, Message, Role, Usage};

    fn request(content: &str) -> Request {
        Request::new("m", vec![Message::new(Role::User, content)], 8)
    }

    fn completion(text: &str) -> Completion {
        Completion {
            text: text.to_owned(),
            thoughts: None,
            finish: Finish::Stop,
            refusal: None,
            usage: Usage { input: 3, output: 1, ..Usage::default() },
            model: "m".to_owned(),
            id: String::new(),
        }
    }

    fn complete(replay: &Replay, request: &Request) -> Result<Completion, ChatError> {
        replay.complete(request, &Purpose::default())
    }

    #[test]
    fn recording_answers_what_it_holds_and_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let path = Utf8Path::from_path(dir.path()).unwrap().join("answers.jsonl");
        let line = |question, answer| {
            RecordedExchange::new(request(question), completion(answer)).to_line().unwrap()
        };
        fs::write(&path, [line("a", "1"), line("b", "1"), line("b", "2")].concat()).unwrap();
        let replay = Replay::open(&path).unwrap();
        assert_eq!(complete(&replay, &request("b")).unwrap(), completion("2"));
        let error = complete(&replay, &request("c")).unwrap_err();
        assert!(error.to_string().contains("begins with `c`"));
        fs::write(&path, [line("a", "1"), b"{}\n".to_vec()].concat()).unwrap();
        assert!(matches!(Replay::open(&path), Err(ChatError::Recording { line: 2, .. })));
    }

    #[test]
    fn following_request_may_differ_in_what_the_model_was_told() {
        let turn = |told: &[&str], said: &[&str]| {
            let mut messages = vec![Message::new(Role::User, told[0])];
            for (told, said) in told[1..].iter().zip(said) {
                messages.push(Message::new(Role::Assistant, *said));
                messages.push(Message::new(Role::User, *told));
            }
            Request::new("m", messages, 8)
        };
        let mut replay = Replay::default();
        replay.record(&turn(&["at 10:07"], &[]), completion("1"));
        replay.record(&turn(&["at 10:07", "5 s left"], &["1"]), completion("2"));
        let told = |request: &Request| replay.following(request).map(|found| found.text);
        assert_eq!(told(&turn(&["at 11:00"], &[])).unwrap(), "1");
        assert_eq!(told(&turn(&["at 11:00", "7 s left"], &["1"])).unwrap(), "2");
        let other = told(&turn(&["at 11:00", "7 s left"], &["another"])).unwrap_err();
        assert!(matches!(other, ChatError::NotRecorded { .. }), "{other}");
        // A second conversation that begins anew is told apart by its text.
        replay.record(&turn(&["at 12:00"], &[]), completion("3"));
        assert!(replay.following(&turn(&["at 11:00"], &[])).is_err());
        assert_eq!(replay.following(&turn(&["at 12:00"], &[])).unwrap(), completion("3"));
    }

    #[test]
    fn missing_request_names_the_nearest_difference() {
        let mut replay = Replay::default();
        let missing =
            |replay: &Replay, request| complete(replay, &request).unwrap_err().to_string();
        assert!(missing(&replay, request("x")).ends_with("; the recording is empty"));
        replay.record(&request("Write a story about ice."), completion("1"));
        replay.record(&request("Something else"), completion("2"));
        let error = missing(&replay, request("Write a story about iron."));
        let expected = "goes on with `ce.\\n` after 27 characters, this one with `ron.\\n`";
        assert!(error.ends_with(expected), "{error}");
        let hotter = Request { temperature: Some(1.0), sample: 3, ..request("Something else") };
        let error = missing(&replay, hotter);
        assert!(error.ends_with("the same messages and another sample, temperature"), "{error}");
    }
}
