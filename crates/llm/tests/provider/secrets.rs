//! Keys are shown nowhere, whatever a provider does with them.

use crate::{KEY, endpoint, request};
use camino::Utf8Path;
use llm::{
    CacheUse, CachedModel, CallRecord, ChatClient, ChatModel as _, ChatRecorder, PriceList, Purpose,
};
use std::io::Write;
use std::sync::{Arc, Mutex};
use support::provider::{FakeProvider, Piece, USAGE, answer, openai_events, stream};

/// Logs in memory.
#[derive(Clone, Default)]
struct Logs(Arc<Mutex<Vec<u8>>>);

impl Write for Logs {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Answers of a provider that quotes the key in every place that it fills.
fn quoting(number: usize) -> Vec<u8> {
    let error =
        format!(r#"{{"error":{{"message":"bad key {KEY}","type":"{KEY}","code":"{KEY}"}}}}"#);
    let headers = [("x-request-id", KEY), ("location", KEY)];
    match number % 8 {
        0 => answer(401, &headers, &error),
        1 => answer(500, &headers, &error),
        2 => answer(307, &headers, &error),
        3 => answer(400, &headers, &format!("Authorization: Bearer {KEY}")),
        4 => stream(&[format!("data: {error}\n\n")]),
        5 => stream(&[format!("data: {KEY}\n\n")]),
        6 => answer(200, &headers, KEY),
        // In two pieces, which no line holds whole.
        _ => stream(&openai_events(&["the key is tEsT-pRiV", "aTe-0123456789!"], USAGE)),
    }
}

#[test]
fn key_quoted_by_the_provider_is_shown_nowhere() {
    let dir = tempfile::tempdir().unwrap();
    let folder = Utf8Path::from_path(dir.path()).unwrap();
    let logs = Logs::default();
    let writer = logs.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_ansi(false)
        .with_writer(move || writer.clone())
        .finish();
    // Other threads log too.
    tracing::subscriber::set_global_default(subscriber).unwrap();
    let provider = FakeProvider::start(|number, _| vec![Piece::Bytes(quoting(number))]);
    let calls = folder.join("calls.jsonl");
    let record = Arc::new(CallRecord::open(&calls, PriceList::default(), None).unwrap());
    let endpoint = endpoint(&provider, "openai", "");
    let mut shown = format!("{endpoint:?}");
    let client = ChatClient::new(endpoint, Some(Arc::clone(&record))).unwrap();
    shown.extend([format!("{client:?}")]);
    let recorder = ChatRecorder::new(client, &folder.join("recording.jsonl")).unwrap();
    let model = CachedModel::new(recorder, &folder.join("cache"), CacheUse::ReadAndWrite, None);
    let mut answers = 0;
    for number in 0..60 {
        match model.complete(&request(&number.to_string()), &Purpose::default()) {
            Ok(completion) => {
                assert_eq!(completion.text, "the key is ***!");
                answers += 1;
            }
            Err(error) => shown.extend([format!("{error} {error:?}\n")]),
        }
    }
    assert!(answers > 3 && record.totals().tries > 100, "{:?}", record.totals());
    shown += &fs_err::read_to_string(&calls).unwrap();
    shown += &fs_err::read_to_string(folder.join("recording.jsonl")).unwrap();
    for shard in folder.join("cache").read_dir_utf8().unwrap() {
        for entry in shard.unwrap().path().read_dir_utf8().unwrap() {
            shown += &fs_err::read_to_string(entry.unwrap().path()).unwrap();
        }
    }
    shown += &String::from_utf8(logs.0.lock().unwrap().clone()).unwrap();
    assert!(shown.contains("***") && shown.contains("a call is repeated"));
    assert!(!shown.contains(KEY), "{shown}");
    assert!(!shown.contains("aTe-0123456789"), "{shown}");
}
