//! Many sessions that all have a large submission graded at the same time.

use crate::meter::{Cost, measure};
use camino::Utf8Path;
use sandbox::graders::{self, Graders};
use support::manifest::manifest;
use tasks::collect::read_file;
use tasks::submission::{MOST_BYTES, Part};
use tasks::task::{Opening, Task};

/// Grades a file of `size` bytes in `count` threads, each of which does as an episode does.
pub(crate) fn grade_at_once(count: usize, size: usize) -> Cost {
    let folder = tempfile::tempdir().unwrap();
    let folder = Utf8Path::from_path(folder.path()).unwrap();
    let root = folder.join("alpha");
    for half in ["public", "private"] {
        fs_err::create_dir_all(root.join("prepared").join(half)).unwrap();
    }
    let ids: Vec<String> = (0..1000).map(|row| format!("r{row}")).collect();
    let lines = ids.iter().enumerate().map(|(row, id)| format!("{id},{}\n", row % 2));
    let answers = format!("id,y\n{}", lines.collect::<String>());
    fs_err::write(root.join("prepared/private/answer.csv"), &answers).unwrap();
    let manifest = manifest("alpha", ids.len(), [0.9, 0.8, 0.7, 0.6]);
    fs_err::write(root.join("task.json"), manifest).unwrap();
    let task = Task::open(&root, &Opening::default()).unwrap();
    let graders = Graders::default();
    // Refused at the end: each row of a valid table is as long as rows may be, and one is missing.
    let padded = ids[1..].iter().map(|id| format!("{id},{:0<2000}\n", "0.5"));
    let mut file = format!("id,y\n{}", padded.collect::<String>()).into_bytes();
    file.resize(size.max(file.len()), b'\n');
    let path = folder.join("submission.csv");
    fs_err::write(&path, &file).unwrap();
    drop(file);
    let (graded, cost) = measure(|| {
        std::thread::scope(|scope| {
            let session = || {
                let grader = graders.open(&task).unwrap();
                let _share = graders::memory().acquire(grader.memory(size as u64));
                let bytes = read_file(&path, MOST_BYTES).unwrap();
                grader.grade(&bytes, Part::All).unwrap_err().to_string()
            };
            let threads: Vec<_> = (0..count).map(|_| scope.spawn(session)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
        })
    });
    assert!(graded.iter().all(|text| text.contains("1 of 1000 test ids")), "{graded:?}");
    cost
}
