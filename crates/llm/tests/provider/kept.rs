//! Answers that the client keeps in the folder of a cache.

use crate::{endpoint, request};
use camino::{Utf8Path, Utf8PathBuf};
use llm::{
    CacheUse, CachedModel, CallRecord, ChatClient, ChatError, ChatModel, Completion, PriceList,
    Purpose, Request,
};
use std::sync::Arc;
use support::provider::{FakeProvider, hello};

/// Where a cache in `folder` keeps the answer to `request`.
fn entry(folder: &Utf8Path, request: &Request) -> Utf8PathBuf {
    let key = request.key();
    folder.join(&key[..2]).join(format!("{key}.json"))
}

/// A model that replaces each file that the client has kept, so that a second writing shows.
#[derive(Debug)]
struct ReplacingModel {
    client: ChatClient,
    folder: Utf8PathBuf,
}

impl ChatModel for ReplacingModel {
    fn complete(&self, request: &Request, purpose: &Purpose) -> Result<Completion, ChatError> {
        let completion = self.client.complete(request, purpose)?;
        let path = entry(&self.folder, request);
        assert!(path.exists(), "the client keeps its answers");
        fs_err::write(path, "replaced")?;
        Ok(completion)
    }
}

#[test]
fn answer_behind_a_read_only_cache_is_written_once_and_read_again() {
    let dir = tempfile::tempdir().unwrap();
    let folder = Utf8Path::from_path(dir.path()).unwrap();
    let provider = FakeProvider::start(|_, _| hello());
    let record = CallRecord::open(&folder.join("calls.jsonl"), PriceList::default(), None);
    let record = Arc::new(record.unwrap());
    let client = || {
        ChatClient::new(endpoint(&provider, "openai", ""), Some(Arc::clone(&record)))
            .unwrap()
            .keeping_answers(folder)
    };
    let watched = ReplacingModel { client: client(), folder: folder.to_owned() };
    let calls = || Some(Arc::clone(&record));
    let cache = CachedModel::new(watched, folder, CacheUse::ReadOnly, calls());
    let asked = request("hi");
    let first = cache.complete(&asked, &Purpose::default()).unwrap();
    assert_eq!(fs_err::read_to_string(entry(folder, &asked)).unwrap(), "replaced");
    // The damaged file is written again by the client, and then read.
    let cache = CachedModel::new(client(), folder, CacheUse::ReadOnly, calls());
    for _ in 0..2 {
        assert_eq!(cache.complete(&asked, &Purpose::default()).unwrap(), first);
    }
    assert_eq!((provider.count(), record.totals().cached), (2, 1));
}
