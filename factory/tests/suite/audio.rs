//! The Python twins of recordings and soundscapes against their Rust readers.

use factory::media::audio::{Recording, Soundscape};
use factory::media::{Format, Look, Medium, Reading};
use factory::numeric::draws::Draws;
use fs_err as fs;
use std::collections::BTreeMap;
use std::process::Command;
use tasks::stream::Stream;

/// Of each number, relative to its size or 1.
const TOLERANCE: f64 = 1e-6;

/// Reads the files that it is given and prints a JSON list per file.
const DRIVER: &str = r#"
import json, runpy, sys
read = runpy.run_path(sys.argv[1])["read"]
print(json.dumps([read(open(path, "rb").read()) for path in sys.argv[2:]]))
"#;

/// Twelve items of as many tasks: clean, and under every blemish at its middle and worst.
fn items(medium: &dyn Medium) -> Vec<Vec<u8>> {
    let statistics = medium.statistics();
    let mut looks = vec![BTreeMap::new(); 4];
    for blemish in medium.blemishes() {
        for strength in [0.5 * (blemish.low + blemish.high), blemish.high] {
            looks.push(BTreeMap::from([(blemish.name.to_owned(), strength)]));
        }
    }
    let item = |(index, blemishes): (u64, &BTreeMap<String, f64>)| {
        let stream = Stream::root(12).index(index);
        let mut draws = Draws::new(stream.child("item"));
        let value = |s: &factory::media::Statistic| draws.between(s.low, s.high);
        let values: Vec<f64> = statistics.iter().map(value).collect();
        let look = Look {
            format: Format::Wav,
            stream,
            vocabulary: &[],
            subject: None,
            genre: None,
            source: None,
            samples: None,
            blemishes,
        };
        medium.render(&values, &look, &mut draws)
    };
    (0..).zip(&looks).map(item).collect()
}

#[test]
fn python_reads_recordings_as_rust_does() {
    check_twins(&Recording);
}

#[test]
fn python_reads_soundscapes_as_rust_does() {
    check_twins(&Soundscape);
}

fn check_twins(medium: &dyn Medium) {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("reader.py");
    fs::write(&script, medium.python()).unwrap();
    let items = items(medium);
    let mut python = Command::new(std::env::var("MLE_PYTHON").unwrap_or_else(|_| {
        concat!(env!("CARGO_MANIFEST_DIR"), "/../.venv/bin/python").to_owned()
    }));
    python.arg("-c").arg(DRIVER).arg(&script);
    for (index, item) in items.iter().enumerate() {
        let path = folder.path().join(format!("{index}.wav"));
        fs::write(&path, item).unwrap();
        python.arg(path);
    }
    let output = python
        .output()
        .expect("`make venv` sets up the Python environment, or name one in MLE_PYTHON");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let theirs: Vec<[Vec<f64>; 3]> = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(theirs.len(), items.len());
    for (index, (item, theirs)) in items.iter().zip(theirs).enumerate() {
        let Reading { plain, generic, estimates } = medium.read(item).unwrap();
        for (kind, (ours, theirs)) in [plain, generic, estimates].iter().zip(theirs).enumerate() {
            assert_eq!(ours.len(), theirs.len(), "item {index}, list {kind}");
            for (place, (ours, theirs)) in ours.iter().zip(theirs).enumerate() {
                let error = (ours - theirs).abs() / theirs.abs().max(1.0);
                assert!(error <= TOLERANCE, "item {index}, list {kind}, {place}: {ours} {theirs}");
            }
        }
    }
}

/// The same bits on every machine, and changes of the bits only on purpose.
#[test]
fn sounds_keep_their_bytes() {
    let hashes = |medium: &dyn Medium| -> String {
        items(medium).iter().map(|item| blake3::hash(item).to_hex()[..8].to_owned()).collect()
    };
    let expected = "\
        6fde52d65bbba99fe516d9753815f8706ed842683baf32ac\
        a99682311031e5d7eff684d1700165bef87c7e40c0c97c9b";
    assert_eq!(hashes(&Recording), expected);
    let expected = "\
        7bf22df6873895e9ab746eee1611bed1c619fb7a4289a110\
        232c551ca8b70aa9afc74e518e5fc75ccee9f5d6666f006d";
    assert_eq!(hashes(&Soundscape), expected);
}
