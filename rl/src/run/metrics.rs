//! `metrics.jsonl`: one line per step, never a step lost or doubled; and the same for TensorBoard.
//!
//! The names are explained in `docs/METRICS.md`.

use crate::run::tensorboard::Events;
use camino::{Utf8Path, Utf8PathBuf};
use fs_err as fs;
use serde::Serialize;
use serde_json::Value;
use std::io::{self, Write};
use std::time::SystemTime;
use tasks::files;

/// Metrics of the previous release, each with its name now.
pub const RENAMED_METRICS: [(&str, &str); 8] = [
    ("rate", "learning_rate"),
    ("clipped", "clip_fraction"),
    ("importance", "tis_weight"),
    ("draws", "sampling_rounds"),
    ("reread_tokens", "recomputed_tokens"),
    ("reading_seconds", "prefill_seconds"),
    ("generating_seconds", "decode_seconds"),
    ("differentiating_seconds", "forward_backward_seconds"),
];

/// A line of `metrics.jsonl` as JSON, with the names of this release whichever wrote it.
///
/// # Errors
/// If the line is not JSON.
pub fn parse_line(line: &str) -> serde_json::Result<Value> {
    let mut line: Value = serde_json::from_str(line)?;
    if let Some(fields) = line.as_object_mut() {
        for (old, new) in RENAMED_METRICS {
            if let Some(value) = fields.remove(old) {
                fields.insert(new.to_owned(), value);
            }
        }
    }
    Ok(line)
}

/// The metrics file of one run.
#[derive(Debug)]
pub struct Metrics {
    path: Utf8PathBuf,
    events: Events,
}

/// A line with the time at which it was written.
#[derive(Serialize)]
struct Stamped<'a, L> {
    #[serde(flatten)]
    line: &'a L,
    unix_seconds: f64,
}

impl Metrics {
    /// Opens `<run>/metrics.jsonl` for a run that continues after `step`: lines of later steps,
    /// which will be made again, and a torn last line are removed.
    ///
    /// # Errors
    /// An I/O error naming the file.
    pub fn resume(run: &Utf8Path, step: u64) -> io::Result<Self> {
        let path = run.join("metrics.jsonl");
        let mut kept = String::new();
        if path.is_file() {
            let text = fs::read_to_string(&path)?;
            kept = text
                .split_inclusive('\n')
                .filter(|line| {
                    line.ends_with('\n') && step_of(line).is_some_and(|found| found <= step)
                })
                .collect();
            if kept != text {
                files::write_atomic(&path, kept.as_bytes())?;
            }
        }
        Ok(Self { path, events: Events::open(run, &kept)? })
    }

    /// Opens `<run>/metrics.jsonl` for a run that starts over.
    ///
    /// # Errors
    /// An I/O error naming the file.
    pub fn restart(run: &Utf8Path) -> io::Result<Self> {
        let path = run.join("metrics.jsonl");
        if path.is_file() {
            fs::remove_file(&path)?;
        }
        Ok(Self { path, events: Events::open(run, "")? })
    }

    /// Appends one line, with the time, and flushes it to disk.
    ///
    /// # Errors
    /// An I/O error naming the file.
    pub fn append(&mut self, line: &impl Serialize) -> io::Result<()> {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let line = Stamped { line, unix_seconds: now.as_secs_f64() };
        let mut text = serde_json::to_string(&line)?;
        text.push('\n');
        let mut file = fs::OpenOptions::new().create(true).append(true).open(&self.path)?;
        file.write_all(text.as_bytes())?;
        file.sync_data()?;
        self.events.append(&text)
    }
}

fn step_of(line: &str) -> Option<u64> {
    parse_line(line).ok()?.get("step")?.as_u64()
}

/// This process's resident memory in bytes, where the system reports it.
pub fn resident_memory() -> Option<u64> {
    let text = fs::read_to_string("/proc/self/status").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_resumed_run_keeps_what_its_checkpoint_knows() {
        let dir = tempfile::tempdir().unwrap();
        let dir = Utf8Path::from_path(dir.path()).unwrap();
        let mut metrics = Metrics::resume(dir, 0).unwrap();
        for step in 1..=5_u64 {
            metrics.append(&serde_json::json!({"step": step})).unwrap();
        }
        let path = dir.join("metrics.jsonl");
        let torn = format!("{}{{\"step\": 2", fs::read_to_string(&path).unwrap());
        fs::write(&path, torn).unwrap();
        Metrics::resume(dir, 3).unwrap();
        let kept = fs::read_to_string(&path).unwrap();
        let steps: Vec<u64> = kept.lines().map(|line| step_of(line).unwrap()).collect();
        assert_eq!(steps, [1, 2, 3]);
    }

    #[test]
    fn a_line_of_the_previous_release_has_the_new_names() {
        for (old, new) in RENAMED_METRICS {
            let line = parse_line(&format!("{{\"step\":1,\"{old}\":0.5}}")).unwrap();
            assert_eq!(line, serde_json::json!({"step": 1, new: 0.5}));
        }
    }
}
