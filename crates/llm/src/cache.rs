//! Completions kept by the key of their request, so that a call is paid once.

use crate::calls::CallRecord;
use crate::chat::{ChatError, ChatModel, Completion, Purpose, Request};
use crate::record::{RecordedExchange, write_whole};
use camino::{Utf8Path, Utf8PathBuf};
use fs_err as fs;
use std::io;
use std::sync::Arc;

/// Whether a cache keeps what it does not hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CacheUse {
    /// It keeps the answers of its model.
    ReadAndWrite,
    /// It keeps nothing, because its model keeps its answers in the same folder
    /// (`ChatClient::keeping_answers`).
    ReadOnly,
}

/// A model that is asked only for what a folder does not hold. Answers lie in `FOLDER/KK/KEY.json`,
/// where `KK` begins the key. Cut and refused answers are kept too: they are paid, and what is done
/// after them depends on them. Several processes may share a folder.
///
/// # Examples
/// ```rust
/// use camino::Utf8Path;
/// use llm::{CacheUse, CachedModel, Replay};
///
/// let folder = tempfile::tempdir()?;
/// let folder = Utf8Path::from_path(folder.path()).expect("UTF-8");
/// let model = CachedModel::new(Replay::default(), folder, CacheUse::ReadAndWrite, None);
/// # drop(model);
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct CachedModel<M> {
    model: M,
    folder: Utf8PathBuf,
    cache_use: CacheUse,
    calls: Option<Arc<CallRecord>>,
}

impl<M: ChatModel> CachedModel<M> {
    /// A cache in `folder` before `model`. Answers from the cache are counted in `calls`.
    pub fn new(
        model: M,
        folder: &Utf8Path,
        cache_use: CacheUse,
        calls: Option<Arc<CallRecord>>,
    ) -> Self {
        Self { model, folder: folder.to_owned(), cache_use, calls }
    }
}

impl<M: ChatModel> ChatModel for CachedModel<M> {
    fn complete(&self, request: &Request, purpose: &Purpose) -> Result<Completion, ChatError> {
        let path = entry_path(&self.folder, &request.key());
        if let Some(completion) = read_entry(&path, request)? {
            if let Some(calls) = &self.calls {
                calls.cached(request, purpose)?;
            }
            return Ok(completion);
        }
        let completion = self.model.complete(request, purpose)?;
        if self.cache_use == CacheUse::ReadAndWrite {
            write_entry(&self.folder, request, &completion)?;
        }
        Ok(completion)
    }
}

fn entry_path(folder: &Utf8Path, key: &str) -> Utf8PathBuf {
    folder.join(&key[..2]).join(format!("{key}.json"))
}

/// Keeps the answer to a request in a cache.
pub(crate) fn write_entry(
    folder: &Utf8Path,
    request: &Request,
    completion: &Completion,
) -> Result<(), ChatError> {
    let path = entry_path(folder, &request.key());
    fs::create_dir_all(path.parent().expect("the path has a folder"))?;
    let exchange = RecordedExchange::new(request.clone(), completion.clone());
    Ok(write_whole(&path, &exchange.to_line()?)?)
}

/// `None` if there is no entry, or a damaged one, which is written again.
fn read_entry(path: &Utf8Path, request: &Request) -> Result<Option<Completion>, ChatError> {
    let text = match fs::read(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    match RecordedExchange::from_json(&String::from_utf8_lossy(&text)) {
        Ok(exchange) if exchange.request == *request => Ok(Some(exchange.completion)),
        Ok(_) => {
            tracing::warn!("`{path}` holds another request; it is written again");
            Ok(None)
        }
        Err(error) => {
            tracing::warn!("`{path}` is damaged and written again: {error}");
            Ok(None)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chat::{Finish, Message, Role, Usage};
    use crate::price::PriceList;
    use crate::record::export;
    use crate::replay::Replay;
    use std::sync::atomic::{AtomicU64, Ordering};

    /// Answers with the number of its calls.
    #[derive(Debug, Default)]
    struct CountingModel {
        calls: AtomicU64,
    }

    impl ChatModel for CountingModel {
        fn complete(&self, request: &Request, _purpose: &Purpose) -> Result<Completion, ChatError> {
            let cut = request.messages[0].content == "cut";
            Ok(Completion {
                text: self.calls.fetch_add(1, Ordering::Relaxed).to_string(),
                thoughts: None,
                finish: if cut { Finish::Length } else { Finish::Stop },
                refusal: None,
                usage: Usage::default(),
                model: "m".to_owned(),
                id: String::new(),
            })
        }
    }

    fn request(content: &str) -> Request {
        Request::new("m", vec![Message::new(Role::User, content)], 8)
    }

    fn text(model: &impl ChatModel, content: &str) -> String {
        model.complete(&request(content), &Purpose::default()).unwrap().text
    }

    #[test]
    fn answers_are_kept_whole_and_cut_ones() {
        let dir = tempfile::tempdir().unwrap();
        let folder = Utf8Path::from_path(dir.path()).unwrap();
        let calls = CallRecord::open(&folder.join("calls.jsonl"), PriceList::default(), None);
        let calls = Arc::new(calls.unwrap());
        let model = CountingModel::default();
        let cache =
            CachedModel::new(&model, folder, CacheUse::ReadAndWrite, Some(Arc::clone(&calls)));
        let texts = ["a", "b", "a", "cut", "cut"].map(|content| text(&cache, content));
        assert_eq!(texts, ["0", "1", "0", "2", "2"]);
        assert_eq!(calls.totals().cached, 2);
    }

    #[test]
    fn read_only_cache_answers_what_it_holds_and_keeps_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let folder = Utf8Path::from_path(dir.path()).unwrap();
        let model = CountingModel::default();
        let keeping = CachedModel::new(&model, folder, CacheUse::ReadAndWrite, None);
        assert_eq!(text(&keeping, "a"), "0");
        let reading = CachedModel::new(&model, folder, CacheUse::ReadOnly, None);
        assert_eq!(["a", "b", "b"].map(|content| text(&reading, content)), ["0", "1", "2"]);
        assert!(!entry_path(folder, &request("b").key()).exists());
    }

    #[test]
    fn damaged_entry_is_written_again() {
        let dir = tempfile::tempdir().unwrap();
        let folder = Utf8Path::from_path(dir.path()).unwrap();
        let model = CountingModel::default();
        let cache = CachedModel::new(&model, folder, CacheUse::ReadAndWrite, None);
        text(&cache, "a");
        let path = entry_path(folder, &request("a").key());
        let whole = fs::read(&path).unwrap();
        let other = entry_path(folder, &request("b").key());
        text(&cache, "b");
        let other = fs::read(other).unwrap();
        let mut expected = 1;
        for damaged in [&b""[..], &whole[..whole.len() / 2], b"\xff", &other] {
            fs::write(&path, damaged).unwrap();
            expected += 1;
            assert_eq!(text(&cache, "a"), expected.to_string());
            assert_eq!(text(&cache, "a"), expected.to_string());
        }
    }

    #[test]
    fn export_replays_every_answer_in_the_order_of_keys() {
        let dir = tempfile::tempdir().unwrap();
        let folder = Utf8Path::from_path(dir.path()).unwrap();
        let model = CountingModel::default();
        let cache = CachedModel::new(&model, &folder.join("calls"), CacheUse::ReadAndWrite, None);
        let contents = ["a", "b", "c", "cut"];
        let texts = contents.map(|content| text(&cache, content));
        let recording = folder.join("recording.jsonl");
        assert_eq!(export(&folder.join("calls"), &recording).unwrap(), 4);
        let replay = Replay::open(&recording).unwrap();
        for (content, expected) in contents.iter().zip(&texts) {
            assert_eq!(text(&replay, content), *expected);
        }
        let text = fs::read_to_string(&recording).unwrap();
        let keys: Vec<String> = text
            .lines()
            .map(|line| RecordedExchange::from_json(line).unwrap().request.key())
            .collect();
        assert!(keys.is_sorted());
    }
}
