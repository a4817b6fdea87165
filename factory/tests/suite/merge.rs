//! `factory generate --shard` and `factory merge`: parts that come to the same whole.

use camino::{Utf8Path, Utf8PathBuf};
use fs_err as fs;
use std::collections::BTreeMap;
use std::process::{Command, Output};

fn factory(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_factory")).args(args).output().unwrap()
}

fn generate(out: &Utf8Path, more: &[&str]) {
    let fixed = ["generate", "--count", "7", "--modality", "tabular,text", "--out", out.as_str()];
    let output = factory(&[&fixed, more].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

fn merge(out: &Utf8Path, shards: &[&Utf8PathBuf]) -> Output {
    let shards: Vec<&str> = shards.iter().map(|path| path.as_str()).collect();
    factory(&[&["merge", out.as_str()][..], &shards[..]].concat())
}

fn refused(out: &Utf8Path, shards: &[&Utf8PathBuf]) -> String {
    let output = merge(out, shards);
    assert_eq!(output.status.code(), Some(1));
    assert!(!out.exists(), "a folder was left");
    String::from_utf8(output.stderr).unwrap()
}

/// Every file by path, but durations.
fn files(corpus: &Utf8Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = support::folders::files(corpus);
    found.remove("times.jsonl").unwrap();
    found
}

#[test]
fn parts_come_to_the_same_whole_and_strangers_are_refused() {
    let desk = tempfile::tempdir().unwrap();
    let desk = Utf8Path::from_path(desk.path()).unwrap();
    let [whole, one, two, three, merged, other] =
        ["whole", "1", "2", "3", "merged", "other"].map(|name| desk.join(name));
    generate(&whole, &[]);
    for (out, shard) in [(&one, "1/3"), (&two, "2/3"), (&three, "3/3")] {
        generate(out, &["--shard", shard]);
        let record = fs::read_to_string(out.join("corpus.json")).unwrap();
        assert!(record.contains(&format!("\"shard\": \"{shard}\"")));
    }
    generate(&other, &["--shard", "2/3", "--seed", "1"]);

    let text = refused(&merged, &[&one, &three]);
    assert!(text.contains("shards are missing: 2/3"), "{text}");
    let text = refused(&merged, &[&one, &two, &one, &three]);
    assert!(text.contains("both shard 1/3"), "{text}");
    let text = refused(&merged, &[&one, &other, &three]);
    assert!(text.contains("`seed` is 0 in the first and 1 in the second"), "{text}");
    let text = refused(&merged, &[&whole, &two, &three]);
    assert!(text.contains("a whole corpus, not a shard"), "{text}");
    let text = refused(&merged, &[&desk.join("nowhere")]);
    assert!(text.contains("holds no `corpus.json`"), "{text}");

    // A part that lost a task, and one whose task was changed.
    let lost = tasks::task::Corpus::open(&two).unwrap().tasks()[0].clone();
    let aside = desk.join("aside");
    fs::rename(lost.path(), &aside).unwrap();
    let text = refused(&merged, &[&one, &two, &three]);
    assert!(text.contains("not finished: slots 1 are missing"), "{text}");
    fs::rename(&aside, lost.path()).unwrap();
    let train = lost.public().path().join("train.csv");
    let bytes = fs::read(&train).unwrap();
    fs::write(&train, "id\n1\n").unwrap();
    let text = refused(&merged, &[&one, &two, &three]);
    assert!(text.contains("is damaged"), "{text}");
    fs::write(&train, bytes).unwrap();

    let output = merge(&merged, &[&three, &one, &two]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(files(&whole) == files(&merged), "the corpora differ");
    // Again, over what is there: nothing changes.
    assert!(merge(&merged, &[&one, &two, &three]).status.success());
    assert!(files(&whole) == files(&merged), "the corpora differ");
    // A shard is not where the whole can go.
    let output = merge(&one, &[&one, &two, &three]);
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(text.contains("`shard` = 1/3, not none"), "{text}");
}
