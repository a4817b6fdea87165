//! What is written, and when nothing is.

use super::{all, make};
use factory::standin::{StandInError, StandInSettings, competitions, write};
use fs_err as fs;
use std::sync::atomic::AtomicBool;
use support::folders::{TemporaryFolder, files};

/// Most bytes and files of all 22.
const BYTES: usize = 40 << 20;
const FILES: usize = 9_000;

#[test]
fn all_22_are_small() {
    let files = files(&all());
    let bytes: usize = files.values().map(Vec::len).sum();
    assert!(bytes <= BYTES && files.len() <= FILES, "{bytes} bytes in {} files", files.len());
    assert_eq!(all().read_dir_utf8().unwrap().count(), 23, "the note is the 23rd");
}

#[test]
fn bytes_depend_on_the_seed_and_not_on_the_threads() {
    let only = [
        "leaf-classification",
        "spooky-author-identification",
        "nomad2018-predict-transparent-conductors",
    ];
    let folder = TemporaryFolder::new();
    let made = |name: &str, threads: usize, seed: u64| {
        let out = folder.path().join(name);
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| make(&out, &only, seed));
        files(&out)
    };
    let one = made("one", 1, 0);
    assert!(one == made("three", 3, 0));
    for (name, bytes) in files(&all()).iter().filter(|(name, _)| one.contains_key(*name)) {
        assert!(one[name] == *bytes, "{name}");
    }
    assert!(one != made("other", 2, 1));
}

#[test]
fn folders_of_others_are_refused_and_stay_as_they_are() {
    let folder = TemporaryFolder::new();
    let path = folder.write("notes.txt", "mine");
    let try_to_write = |only: &str| {
        let settings = StandInSettings { only: vec![only.to_owned()], seed: 0 };
        write(folder.path(), &settings, &AtomicBool::new(false)).unwrap_err()
    };
    let refused = try_to_write("spooky-author-identification");
    assert!(matches!(refused, StandInError::Foreign(_)), "{refused}");
    assert_eq!(fs::read_to_string(path).unwrap(), "mine");
    let refused = try_to_write("spooky").to_string();
    assert!(competitions().all(|id| refused.contains(id)), "{refused}");
}

#[test]
fn stand_ins_replace_stand_ins_and_not_true_competitions() {
    let folder = TemporaryFolder::new();
    let id = "spooky-author-identification";
    let out = folder.path().join("out");
    make(&out, &[id], 0);
    // As a killed run leaves it.
    folder.write(&format!("out/.{id}.1.tmp/prepared/public/train.csv"), "half");
    make(&out, &[id], 1);
    assert_eq!(out.read_dir_utf8().unwrap().count(), 2);
    fs::remove_file(out.join(id).join("stand-in.json")).unwrap();
    let settings = StandInSettings::default();
    let refused = write(&out, &settings, &AtomicBool::new(false)).unwrap_err();
    assert!(matches!(refused, StandInError::Real(_)), "{refused}");
}

#[test]
fn nothing_is_begun_once_stopped() {
    let folder = TemporaryFolder::new();
    let out = folder.path().join("out");
    let written = write(&out, &StandInSettings::default(), &AtomicBool::new(true)).unwrap();
    assert!(written.is_empty());
    assert_eq!(out.read_dir_utf8().unwrap().count(), 1);
}
