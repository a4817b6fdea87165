//! Names, times and headers of files that tell something.

use super::*;
use std::collections::BTreeSet;
use std::time::{Duration, SystemTime};
use tasks::file_label;

fn bench(modality: Modality) -> Bench {
    Bench::of(Cell { modality, formulation: Formulation::Binary })
}

/// Every row's file within the public half, with the row's truth.
fn rows(bench: &Bench) -> Vec<(String, f64)> {
    let assets = &bench.staged.draft.facts.assets;
    let files = bench.staged.draft.files.clone();
    let path = |id: &String| {
        let own =
            |path: &&String| path.contains(&format!("/{id}.")) || path.contains(&format!(".{id}."));
        let path = files.keys().find(own).unwrap();
        path.strip_prefix("prepared/public/").unwrap().to_owned()
    };
    let train = assets.train_ids.iter().zip(assets.train_truth.as_numbers());
    let test = assets.test_ids.iter().zip(assets.test_truth.as_numbers());
    train.chain(test).map(|(id, truth)| (path(id), truth)).collect()
}

/// The task with other names of its files: of folder, rest of the name, and place by truth.
fn renamed(bench: &Bench, name: impl Fn(&str, &str, f64, usize) -> String) -> Staged {
    let mut rows = rows(bench);
    rows.sort_by(|a, b| a.1.total_cmp(&b.1));
    bench.with_files(|files| {
        for (place, (old, truth)) in rows.iter().enumerate() {
            let (folder, rest) = old.split_once('/').unwrap();
            let new = name(folder, rest, *truth, place);
            let bytes = files.remove(&format!("prepared/public/{old}")).unwrap();
            files.insert(format!("prepared/public/{new}"), bytes);
            for table in ["train.csv", "test.csv"] {
                let table = files.get_mut(&format!("prepared/public/{table}")).unwrap();
                *table = String::from_utf8_lossy(table).replace(old, &new).into_bytes();
            }
        }
    })
}

#[test]
fn names_that_tell_are_seen_for_every_kind_of_file() {
    for (modality, format) in [
        (Modality::Image, Format::Png),
        (Modality::Image, Format::Jpeg),
        (Modality::Audio, Format::Wav),
        (Modality::Text, Format::Text),
        (Modality::Graph, Format::Csv),
    ] {
        let cell = Cell { modality, formulation: Formulation::Binary };
        let bench = Bench::written_as(cell, Some(format));
        let prefixed =
            renamed(&bench, |folder, rest, truth, _| format!("{folder}/{}-{rest}", word(truth)));
        assert_eq!(code(check(&prefixed)), "name_leak", "{format:?}");
        let harmless = renamed(&bench, |folder, rest, _, _| format!("{folder}/item-{rest}"));
        check(&harmless).unwrap();
    }
}

fn word(truth: f64) -> &'static str {
    if truth > 0.5 { "sick" } else { "sound" }
}

#[test]
fn names_that_tell_in_any_way_are_seen() {
    let bench = bench(Modality::Graph);
    for (what, task) in [
        ("folder", renamed(&bench, |f, rest, truth, _| format!("{f}/{}/{rest}", word(truth)))),
        ("order", renamed(&bench, |f, _, _, place| format!("{f}/{place:05}.csv"))),
        (
            "length",
            renamed(&bench, |f, rest, truth, _| {
                if truth > 0.5 { format!("{f}/{rest}") } else { format!("{f}/0{rest}") }
            }),
        ),
    ] {
        assert_eq!(code(leaks::say_nothing(&task, &[Carrier::Name])), "name_leak", "{what}");
    }
}

#[test]
fn labels_in_names_of_training_files_are_the_answers_and_test_files_have_none() {
    for (modality, formulation, format) in [
        (Modality::Image, Formulation::Binary, Format::Png),
        (Modality::Audio, Formulation::Multiclass, Format::Wav),
    ] {
        let cell = Cell { modality, formulation };
        let bench = Bench::labelled(cell, Some(format), &Labels::FileNames);
        check(&bench.staged).unwrap();
        rebuilds(&bench.staged, &bench.story, Rebuild::Data).unwrap();
        let assets = &bench.staged.draft.facts.assets;
        let known = assets.train_ids.len();
        let files = rows(&bench);
        let answers = assets.train_truth.class_names().unwrap();
        for ((path, _), answer) in files.iter().zip(&answers) {
            assert_eq!(file_label::label_of(path), Some(*answer));
        }
        assert!(files[known..].iter().all(|(path, _)| file_label::label_of(path).is_none()));

        let one = |place: usize, name: &dyn Fn(&str, &str) -> String| {
            let chosen = files[place].0.clone();
            renamed(&bench, |folder, rest, _, _| {
                let old = format!("{folder}/{rest}");
                if old == chosen { name(folder, rest) } else { old }
            })
        };
        let (label, rest) = files[0].0.split_once('/').unwrap().1.split_once('.').unwrap();
        let other = answers.iter().find(|answer| **answer != label).unwrap();
        let wrong = one(0, &|folder, _| format!("{folder}/{other}.{rest}"));
        assert_eq!(code(check(&wrong)), "contract");
        let none = one(0, &|folder, _| format!("{folder}/{rest}"));
        assert_eq!(code(check(&none)), "contract");
        let told = one(known, &|folder, rest| format!("{folder}/{label}.{rest}"));
        assert_eq!(code(check(&told)), "metadata_leak");

        // Beside the label, names must tell nothing, on either side.
        let test: BTreeSet<&str> =
            files[known..].iter().filter_map(|(path, _)| Some(path.split_once('/')?.1)).collect();
        let leaking = renamed(&bench, |folder, rest, truth, _| {
            let tells = test.contains(rest) && truth > 0.5;
            format!("{folder}/{rest}").replacen('/', if tells { "/x" } else { "/" }, 1)
        });
        assert_eq!(code(leaks::say_nothing(&leaking, &[Carrier::Name])), "name_leak");
    }
}

#[test]
fn a_file_with_a_time_of_its_own_is_seen() {
    let bench = bench(Modality::Image);
    let (path, _) = rows(&bench).remove(7);
    for moved in
        [package::MODIFIED + Duration::from_mins(1), package::MODIFIED + Duration::from_micros(1)]
    {
        let task = bench.with(|_| {});
        let file =
            fs::OpenOptions::new().write(true).open(task.dir.public().path().join(&path)).unwrap();
        file.set_modified(SystemTime::UNIX_EPOCH + moved).unwrap();
        assert_eq!(code(check(&task)), "time_leak");
    }
}

/// The task with one row's file changed.
fn one_changed(bench: &Bench, change: impl Fn(&mut Vec<u8>)) -> Staged {
    let (path, _) = rows(bench).remove(7);
    bench.with_files(|files| change(files.get_mut(&format!("prepared/public/{path}")).unwrap()))
}

/// The task with the files of one class changed.
fn class_changed(bench: &Bench, change: impl Fn(&mut Vec<u8>)) -> Staged {
    let rows = rows(bench);
    bench.with_files(|files| {
        for (path, _) in rows.iter().filter(|(_, truth)| *truth > 0.5) {
            change(files.get_mut(&format!("prepared/public/{path}")).unwrap());
        }
    })
}

/// A chunk of a PNG file; its checksum is not verified.
fn chunk(name: &[u8], data: &[u8]) -> Vec<u8> {
    let size = u32::try_from(data.len()).unwrap().to_be_bytes();
    [&size[..], name, data, &[0; 4]].concat()
}

/// Where a PNG file's header ends.
const AFTER_HEADER: usize = 33;

#[test]
fn pictures_that_carry_more_than_pixels_are_seen() {
    let cell = Cell { modality: Modality::Image, formulation: Formulation::Binary };
    let bench = Bench::written_as(cell, Some(Format::Png));
    let insert = |file: &mut Vec<u8>, at: usize, bytes: Vec<u8>| {
        file.splice(at..at, bytes);
    };
    let seen = |task: Staged| assert_eq!(code(check(&task)), "metadata_leak");
    seen(one_changed(&bench, |file| insert(file, AFTER_HEADER, chunk(b"tEXt", b"Comment\0sick"))));
    seen(class_changed(&bench, |file| insert(file, AFTER_HEADER, chunk(b"gAMA", &[0, 0, 1, 0]))));
    seen(class_changed(&bench, |file| insert(file, AFTER_HEADER, chunk(b"PLTE", &[1, 2, 3]))));
    seen(one_changed(&bench, |file| file.extend(b"sick")));
    // Bytes inside the last chunk.
    seen(one_changed(&bench, |file| {
        let end = file.len() - 12;
        file.splice(end.., chunk(b"IEND", b"sick"));
    }));
    // An empty piece of data more.
    seen(one_changed(&bench, |file| {
        let end = file.len() - 12;
        insert(file, end, chunk(b"IDAT", b""));
    }));
    // Interlaced, it says.
    seen(class_changed(&bench, |file| file[28] = 1));
    seen(one_changed(&bench, |file| file.truncate(60)));
    seen(one_changed(&bench, |file| file[0] = 0));
}

#[test]
fn folders_of_frames_that_differ_in_more_than_pixels_are_seen() {
    let cell = Cell { modality: Modality::Image, formulation: Formulation::Binary };
    let bench = Bench::written_as(cell, Some(Format::Frames));
    let seen = |change: fn(&mut BTreeMap<String, Vec<u8>>, &str)| {
        let task = bench.with_files(|files| {
            let last = files.keys().rfind(|path| path.ends_with("/7.png")).unwrap().clone();
            change(files, &last);
        });
        assert_eq!(code(check(&task)), "metadata_leak");
    };
    seen(|files, last| drop(files.remove(last)));
    seen(|files, last| drop(files.insert(last.replace("/7.", "/8."), files[last].clone())));
    seen(|files, last| {
        let text = chunk(b"tEXt", b"Comment\0sick");
        files.get_mut(last).unwrap().splice(AFTER_HEADER..AFTER_HEADER, text);
    });
}

/// A segment of a JPEG file.
fn segment(kind: u8, data: &[u8]) -> Vec<u8> {
    let size = u16::try_from(data.len() + 2).unwrap().to_be_bytes();
    [&[0xFF, kind], &size[..], data].concat()
}

/// Where a JPEG file's JFIF header ends.
const AFTER_JFIF: usize = 20;

#[test]
fn jpeg_pictures_that_carry_more_than_pixels_are_seen() {
    let cell = Cell { modality: Modality::Image, formulation: Formulation::Binary };
    let bench = Bench::written_as(cell, Some(Format::Jpeg));
    let insert = |file: &mut Vec<u8>, at: usize, bytes: Vec<u8>| {
        file.splice(at..at, bytes);
    };
    let scan = |file: &[u8]| file.windows(2).position(|pair| pair == [0xFF, 0xDA]).unwrap();
    let seen = |task: Staged| assert_eq!(code(check(&task)), "metadata_leak");
    seen(one_changed(&bench, |file| insert(file, AFTER_JFIF, segment(0xE1, b"Exif\0\0sick"))));
    seen(one_changed(&bench, |file| insert(file, 2, segment(0xE1, b"Exif\0\0sick"))));
    seen(class_changed(&bench, |file| insert(file, AFTER_JFIF, segment(0xFE, b"sick"))));
    // A comment right before the pixels, restarts and fill bytes among them.
    seen(one_changed(&bench, |file| insert(file, scan(file), segment(0xFE, b"sick"))));
    seen(one_changed(&bench, |file| insert(file, file.len() - 2, vec![0xFF, 0xD0])));
    seen(one_changed(&bench, |file| insert(file, file.len() - 2, vec![0xFF])));
    seen(one_changed(&bench, |file| file.extend(b"sick")));
    seen(class_changed(&bench, |file| file.extend([0xFF, 0xD9])));
    // Other dots per inch, a table of steps more, a second header.
    seen(class_changed(&bench, |file| file[15] ^= 1));
    seen(class_changed(&bench, |file| {
        insert(file, AFTER_JFIF, segment(0xDB, &[&[3], &[9; 64][..]].concat()));
    }));
    seen(one_changed(&bench, |file| {
        let header = file[2..AFTER_JFIF].to_vec();
        insert(file, AFTER_JFIF, header);
    }));
    seen(one_changed(&bench, |file| file.truncate(file.len() - 2)));
    seen(one_changed(&bench, |file| file[0] = 0));
}

#[test]
fn recordings_that_carry_more_than_samples_are_seen() {
    let bench = bench(Modality::Audio);
    let sized = |file: &mut Vec<u8>| {
        let size = u32::try_from(file.len() - 8).unwrap();
        file[4..8].copy_from_slice(&size.to_le_bytes());
    };
    let list = b"LIST\x08\0\0\0INFOsick";
    let seen = |task| assert_eq!(code(check(&task)), "metadata_leak");
    seen(one_changed(&bench, |file| {
        file.extend(list);
        sized(file);
    }));
    seen(one_changed(&bench, |file| {
        file.splice(12..12, *list);
        sized(file);
    }));
    seen(one_changed(&bench, |file| file.extend(b"sick")));
    seen(one_changed(&bench, |file| file[4] ^= 2));
    seen(class_changed(&bench, |file| file[24..28].copy_from_slice(&8001_u32.to_le_bytes())));
}

#[test]
fn tables_of_links_that_carry_more_than_links_are_seen() {
    let bench = bench(Modality::Graph);
    let text = |file: &mut Vec<u8>, from: &str, to: &str| {
        *file = String::from_utf8_lossy(file).replacen(from, to, 1).into_bytes();
    };
    let seen = |task| assert_eq!(code(check(&task)), "metadata_leak");
    seen(class_changed(&bench, |file| text(file, "weight", "Weight")));
    seen(one_changed(&bench, |file| text(file, "\n", "\r\n")));
    seen(one_changed(&bench, |file| text(file, "\n", "\n\n")));
    seen(one_changed(&bench, |file| file.extend(b"\n")));
    seen(one_changed(&bench, |file| file.truncate(file.len() - 1)));
}

#[test]
fn documents_that_carry_more_than_words_are_seen() {
    let cell = Cell { modality: Modality::Text, formulation: Formulation::Binary };
    let bench = Bench::written_as(cell, Some(Format::Text));
    let text = |file: &mut Vec<u8>, from: &str, to: &str| {
        *file = String::from_utf8_lossy(file).replacen(from, to, 1).into_bytes();
    };
    for (from, to) in [(" ", "  "), ("\n\n", " \n\n")] {
        let task = class_changed(&bench, |file| text(file, from, to));
        assert_eq!(code(check(&task)), "metadata_leak", "{from:?} as {to:?}");
    }
    for (from, to) in [("\n\n", "\n\n\n"), (" ", "\u{a0}"), ("\n", "\r\n")] {
        let task = one_changed(&bench, |file| text(file, from, to));
        assert_eq!(code(check(&task)), "metadata_leak", "{from:?} as {to:?}");
    }
    let edges: [fn(&mut Vec<u8>); 3] = [
        |file| file.extend(b"\n"),
        |file| file.insert(0, b'\n'),
        |file| file.truncate(file.len() - 1),
    ];
    for change in edges {
        assert_eq!(code(check(&one_changed(&bench, change))), "metadata_leak");
    }
}

#[test]
fn files_that_no_row_names_are_seen() {
    let bench = binary();
    let task = bench.with_files(|files| {
        let answers = files["prepared/private/answer.csv"].clone();
        files.insert("prepared/public/answer.csv".to_owned(), answers);
    });
    assert_eq!(code(files::none_is_astray(&task)), "stray_file");
    assert_eq!(code(check(&task)), "stray_file");
    let bench =
        Bench::of(Cell { modality: Modality::Image, formulation: Formulation::Segmentation });
    let task = bench.with_files(|files| {
        let assets = &bench.staged.draft.facts.assets;
        let mask = files[&format!("prepared/public/masks/{}.png", assets.train_ids[0])].clone();
        files.insert(format!("prepared/public/masks/{}.png", assets.test_ids[0]), mask);
    });
    assert_eq!(code(check(&task)), "stray_file");
}
