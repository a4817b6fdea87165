//! The overview of a public folder, on files as competitions have them and on files that nobody
//! should have.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use agents::overview::DataOverview;
use camino::{Utf8Path, Utf8PathBuf};
use std::fmt::Write as _;
use std::io::{Cursor, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::time::Instant;
use support::mutation::{FuzzTarget, fuzz};
use tasks::stream::Stream;
use zip::write::{FileOptions, ZipWriter};

fn folder() -> (tempfile::TempDir, Utf8PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = Utf8PathBuf::from_path_buf(folder.path().to_owned()).unwrap();
    (folder, path)
}

fn put(folder: &Utf8Path, name: &str, bytes: impl AsRef<[u8]>) {
    let path = folder.join(name);
    fs_err::create_dir_all(path.parent().unwrap()).unwrap();
    fs_err::write(path, bytes).unwrap();
}

fn archive(names: &[&str]) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    let options = FileOptions::default().compression_method(zip::CompressionMethod::Stored);
    for name in names {
        writer.start_file(*name, options).unwrap();
        writer.write_all(b"x").unwrap();
    }
    writer.finish().unwrap().into_inner()
}

#[test]
fn overview_of_a_competition_names_what_a_first_script_needs() {
    let (_guard, root) = folder();
    put(&root, "description.md", "# The page\nwhich every prompt has\n");
    put(
        &root,
        "train.csv",
        "id,age,when,place,note,blank\n1,2.5,2026-01-02,Rome,\"a, b\nc\",\n\
         2,NA,2026-03-01,Oslo,d,\n3,-1e-9,2025-12-31,Rome,e,\n",
    );
    put(&root, "sample_submission.csv", "id,y\n4,0.5\n5,0.5\n");
    put(&root, "meta.json", "[{\"id\": 1, \"votes\": [2], \"text\": null}, {}]");
    put(&root, "turns.jsonl", "{\"a\": \"b\"}\n{\"a\": \"c\"}\n");
    put(&root, "readme.txt", "two\nlines\n");
    let names: Vec<String> = (0..12).map(|index| format!("test/{index:02}.jpg")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    put(&root, "test.zip", archive(&names));
    for index in 0..40 {
        put(&root, &format!("images/{index:03}.jpg"), [0; 1500]);
    }
    put(&root, "structures/1/geometry.xyz", "1\n");
    let text = DataOverview::of(&root);
    insta::assert_snapshot!(text);
    assert_eq!(text, DataOverview::of(&root));
}

#[test]
fn overview_of_much_is_the_short_form_and_never_longer_than_its_limit() {
    let (_guard, root) = folder();
    let mut header: Vec<String> = Vec::new();
    for index in 0..200 {
        header.push(format!("a_rather_long_name_of_a_column_{index}"));
    }
    let row = vec!["some text"; 200].join(",");
    for name in ["a.csv", "b.csv", "c.csv", "d.csv"] {
        put(&root, name, format!("{}\n{row}\n{row}\n", header.join(",")));
    }
    let text = DataOverview::of(&root);
    assert!(text.chars().count() <= 6000 && text.contains("200 columns: a_rather"), "{text}");
    assert!(!text.contains("texts of"), "{text}");
    // Wide and deep at once.
    for folder in 0..30 {
        for file in 0..9 {
            let name = format!("{}{folder}/{}{file}.csv", "f".repeat(60), "n".repeat(60));
            put(&root, &name, format!("{}\n", header.join(",")));
        }
    }
    let text = DataOverview::of(&root);
    assert_eq!(text.chars().count(), 6000);
    assert!(text.ends_with("(the overview is cut here)\n"), "{text}");
}

#[test]
fn overview_follows_no_link_and_opens_no_pipe() {
    let (_guard, root) = folder();
    let (_other, elsewhere) = folder();
    put(&elsewhere, "secret.csv", "answer\n42\n");
    let link = |target: &Utf8Path, name: &str| {
        std::os::unix::fs::symlink(target, root.join(name)).unwrap();
    };
    link(&elsewhere.join("secret.csv"), "train.csv");
    link(&elsewhere, "images");
    link(&root, "loop");
    let pipe = root.join("pipe.csv");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    fs_err::write(Path::new(&root).join(std::ffi::OsStr::from_bytes(b"\xff\n.csv")), "a\n")
        .unwrap();
    let text = DataOverview::of(&root);
    insta::assert_snapshot!(text);
    assert!(!text.contains("secret") && !text.contains("42"));
    assert_eq!(DataOverview::of(&root.join("nowhere")), "(cannot be read)\n");
}

#[test]
fn overview_of_fifty_thousand_files_takes_less_than_a_second() {
    let (_guard, root) = folder();
    let mut names = String::new();
    for index in 0..50_000 {
        let _ = write!(names, "{index:05}.png ");
    }
    fs_err::create_dir(root.join("train")).unwrap();
    for name in names.split_whitespace() {
        fs_err::File::create(root.join("train").join(name)).unwrap();
    }
    let started = Instant::now();
    let text = DataOverview::of(&root);
    let seconds = started.elapsed().as_secs_f64();
    assert!(text.contains("… 49,996 more files"), "{text}");
    assert!(seconds < 1.0, "{seconds} s");
}

/// A folder with one file of a kind.
struct OddFile;

const KINDS: [&str; 6] = ["a.csv", "a.tsv", "a.json", "a.jsonl", "a.zip", "a.txt"];

impl FuzzTarget for OddFile {
    fn aims(&self) -> usize {
        KINDS.len()
    }

    fn seed(&self, aim: usize, _: Stream) -> Vec<u8> {
        match aim {
            0 => b"id,when,x\n1,2026-01-02,0.5\n2,,nan\n".to_vec(),
            1 => b"id\tx\n1\t\"a\tb\"\n".to_vec(),
            2 => b"{\"a\": [1, {\"b\": null}], \"c\": \"d\"}".to_vec(),
            3 => b"{\"a\": 1}\n{\"a\": 2}\n".to_vec(),
            4 => archive(&["a/b.png", "c.txt"]),
            _ => b"some\nlines\n".to_vec(),
        }
    }

    fn words(&self) -> &'static [&'static str] {
        &[
            "\"",
            ",",
            "\t",
            "\r\n",
            "\u{feff}",
            "1e308",
            "-0",
            "99999999999999999999",
            "NaN",
            "[[[[",
            "{\"",
            "PK\u{1}\u{2}",
            "PK\u{5}\u{6}",
            "PK\u{6}\u{6}",
            "../",
            "\0",
            "\u{202e}",
        ]
    }

    fn take(&self, aim: usize, input: &[u8]) -> String {
        let (_guard, root) = folder();
        put(&root, KINDS[aim], input);
        let text = DataOverview::of(&root);
        assert!(text.starts_with(KINDS[aim]), "{text}");
        assert!(text.chars().count() <= 6000 && !text.contains(['\r', '\0', '\u{202e}']), "{text}");
        let kinds =
            ["cannot", "not JSON", "not a ZIP", "whole", "numbers", "dates", "texts", "list"];
        kinds.into_iter().filter(|kind| text.contains(kind)).collect::<Vec<_>>().join(" ")
    }
}

#[test]
fn any_file_has_an_overview() {
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/files"));
    fuzz("overview", folder, &OddFile);
}
