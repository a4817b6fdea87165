//! Recordings: JSONL files of requests and completions, which [`crate::Replay`] answers from.

use crate::chat::{ChatError, ChatModel, Completion, Finish, Purpose, Request, Usage};
use camino::{Utf8Path, Utf8PathBuf};
use fs_err as fs;
use serde::{Deserialize, Serialize};
use std::io::{self, Write as _};
use std::sync::{Mutex, PoisonError};

const VERSION: u32 = 2;

/// A request and its completion: a line of a recording, and a file of the cache.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RecordedExchange {
    version: u32,
    pub(crate) request: Request,
    pub(crate) completion: Completion,
}

/// The form of version 1, which did not state its version.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FirstExchange {
    request: Request,
    completion: FirstCompletion,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FirstCompletion {
    text: String,
    prompt_tokens: u64,
    completion_tokens: u64,
}

impl RecordedExchange {
    pub(crate) fn new(request: Request, completion: Completion) -> Self {
        Self { version: VERSION, request, completion }
    }

    /// Reads either version.
    pub(crate) fn from_json(text: &str) -> Result<Self, serde_json::Error> {
        let value: serde_json::Value = serde_json::from_str(text)?;
        if let Some(version) = value.get("version") {
            if *version != VERSION {
                return Err(serde::de::Error::custom(format!(
                    "version {version} is not one of 1 and {VERSION}"
                )));
            }
            return Self::deserialize(value);
        }
        let FirstExchange { request, completion } = FirstExchange::deserialize(value)?;
        let usage = Usage {
            input: completion.prompt_tokens,
            output: completion.completion_tokens,
            ..Usage::default()
        };
        let completion = Completion {
            text: completion.text,
            thoughts: None,
            finish: Finish::Stop,
            refusal: None,
            usage,
            model: request.model.clone(),
            id: String::new(),
        };
        Ok(Self::new(request, completion))
    }

    /// One line with its line feed.
    pub(crate) fn to_line(&self) -> Result<Vec<u8>, io::Error> {
        let mut line = serde_json::to_vec(self)?;
        line.push(b'\n');
        Ok(line)
    }
}

/// A recording that is open for appending.
#[derive(Debug)]
pub struct Recording(Mutex<fs::File>);

impl Recording {
    /// Opens the file `path`, which is made if there is none; what it holds stays.
    ///
    /// # Errors
    /// [`ChatError::Io`].
    pub fn open(path: &Utf8Path) -> Result<Self, ChatError> {
        let file = fs::OpenOptions::new().create(true).append(true).read(true).open(path)?;
        // A killed process may have left a torn last line.
        let text = fs::read(path)?;
        let whole = text.iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
        file.set_len(whole as u64)?;
        Ok(Self(Mutex::new(file)))
    }

    /// Appends a completion.
    ///
    /// # Errors
    /// [`ChatError::Io`].
    pub fn append(&self, request: &Request, completion: &Completion) -> Result<(), ChatError> {
        let line = RecordedExchange::new(request.clone(), completion.clone()).to_line()?;
        Ok(self.0.lock().unwrap_or_else(PoisonError::into_inner).write_all(&line)?)
    }
}

/// A model whose completions are appended to a recording as they come, cut and refused ones too.
#[derive(Debug)]
pub struct ChatRecorder<M> {
    model: M,
    recording: Recording,
}

impl<M: ChatModel> ChatRecorder<M> {
    /// Records the completions of `model` in the file `path`, after those that it holds.
    ///
    /// # Errors
    /// [`ChatError::Io`].
    pub fn new(model: M, path: &Utf8Path) -> Result<Self, ChatError> {
        Ok(Self { model, recording: Recording::open(path)? })
    }
}

impl<M: ChatModel> ChatModel for ChatRecorder<M> {
    fn complete(&self, request: &Request, purpose: &Purpose) -> Result<Completion, ChatError> {
        let completion = self.model.complete(request, purpose)?;
        self.recording.append(request, &completion)?;
        Ok(completion)
    }
}

/// Writes the completions of a cache to one recording, in the order of their keys, and returns
/// their number. Damaged entries are left out with a warning.
///
/// # Errors
/// [`ChatError::Io`].
pub fn export(cache: &Utf8Path, recording: &Utf8Path) -> Result<usize, ChatError> {
    let mut entries: Vec<Utf8PathBuf> = Vec::new();
    for folder in cache.read_dir_utf8()? {
        let folder = folder?;
        if folder.file_type()?.is_dir() {
            for entry in folder.path().read_dir_utf8()? {
                entries.push(entry?.into_path());
            }
        }
    }
    entries.retain(|path| path.extension() == Some("json"));
    entries.sort_by(|a, b| a.file_name().cmp(&b.file_name()));
    let mut lines = Vec::new();
    let mut count = 0;
    for path in entries {
        match RecordedExchange::from_json(&fs::read_to_string(&path)?) {
            Ok(exchange) => {
                lines.extend(exchange.to_line()?);
                count += 1;
            }
            Err(error) => tracing::warn!("`{path}` is damaged and left out: {error}"),
        }
    }
    write_whole(recording, &lines)?;
    Ok(count)
}

/// Writes a file that is wholly there or not at all.
pub(crate) fn write_whole(path: &Utf8Path, contents: &[u8]) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = path.parent().filter(|folder| !folder.as_str().is_empty());
    let mut file = tempfile::Builder::new()
        // Less what the umask takes away.
        .permissions(std::fs::Permissions::from_mode(0o666))
        .tempfile_in(folder.unwrap_or(Utf8Path::new(".")))?;
    file.write_all(contents)?;
    file.persist(path)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chat::{Message, Role};
    use crate::replay::Replay;

    fn replay(count: u64) -> (Replay, Vec<Request>) {
        let mut replay = Replay::default();
        let request = |sample| Request {
            sample,
            ..Request::new("m", vec![Message::new(Role::User, "a")], 8)
        };
        let requests: Vec<Request> = (0..count).map(request).collect();
        for (index, request) in requests.iter().enumerate() {
            let completion = Completion {
                text: index.to_string(),
                thoughts: None,
                finish: if index == 1 { Finish::Length } else { Finish::Stop },
                refusal: None,
                usage: Usage { input: 1, output: 2, ..Usage::default() },
                model: "m".to_owned(),
                id: String::new(),
            };
            replay.record(request, completion);
        }
        (replay, requests)
    }

    #[test]
    fn recorder_completions_replay_after_a_torn_line() {
        let dir = tempfile::tempdir().unwrap();
        let path = Utf8Path::from_path(dir.path()).unwrap().join("calls.jsonl");
        let (model, requests) = replay(3);
        let recorder = ChatRecorder::new(&model, &path).unwrap();
        recorder.complete(&requests[0], &Purpose::default()).unwrap();
        drop(recorder);
        let mut torn = fs::read(&path).unwrap();
        torn.extend_from_slice(b"{\"version\":2,\"requ");
        fs::write(&path, torn).unwrap();
        let recorder = ChatRecorder::new(&model, &path).unwrap();
        for request in &requests[1..] {
            recorder.complete(request, &Purpose::default()).unwrap();
        }
        let replayed = Replay::open(&path).unwrap();
        for request in &requests {
            let expected = model.complete(request, &Purpose::default()).unwrap();
            assert_eq!(replayed.complete(request, &Purpose::default()).unwrap(), expected);
        }
    }

    #[test]
    fn version_1_line_is_read() {
        let line = r#"{"request":{"model":"m","messages":[{"role":"user","content":"a"}],"temperature":0.5,"max_tokens":8},"completion":{"text":"t","prompt_tokens":3,"completion_tokens":1}}"#;
        let exchange = RecordedExchange::from_json(line).unwrap();
        let expected = Request {
            temperature: Some(0.5),
            ..Request::new("m", vec![Message::new(Role::User, "a")], 8)
        };
        assert_eq!(exchange.request, expected);
        assert_eq!((exchange.completion.usage.input, exchange.completion.usage.output), (3, 1));
        let error = RecordedExchange::from_json(r#"{"version":3}"#).unwrap_err();
        assert!(error.to_string().contains("version 3 is not one of 1 and 2"), "{error}");
        let unknown = line.replace("\"max_tokens\"", "\"x\":1,\"max_tokens\"");
        assert!(RecordedExchange::from_json(&unknown).is_err());
    }
}
