//! TensorBoard's event files, with the numbers of `metrics.jsonl`.
//!
//! ```text
//! file    = record*
//! record  = length: u64, masked crc32c of these 8 bytes: u32, data, masked crc32c of data: u32
//! data    = protobuf Event { wall_time = 1: double, step = 2: int64, file_version = 3: string,
//!                            summary = 5: Summary, session_log = 7: SessionLog }
//! Summary = { value = 1: repeated { tag = 1: string, simple_value = 2: float } }
//! ```
//! All numbers are little-endian; a crc is masked by turning it right by 15 bits and adding
//! 0xa282ead8. Source: `tensorflow/core/util/event.proto`, `summary.proto` and
//! `core/lib/io/record_writer.h`.
//!
//! The file has exactly the numbers of `metrics.jsonl`, which is authoritative: a resumed run
//! compares the two and writes the file anew if lines were removed. The new file gets the next
//! number in its name, because TensorBoard keeps reading the file that it has open. Each file
//! begins with a session start, at which TensorBoard drops the content of the last one.

use crate::run::metrics::parse_line;
use camino::{Utf8Path, Utf8PathBuf};
use crc::{CRC_32_ISCSI, Crc};
use fs_err as fs;
use serde_json::Value;
use std::io::{self, Write};
use tasks::files;

/// What readers take as the mark of the format's second version, in which a session start makes
/// them forget.
const FILE_VERSION: &str = "brain.Event:2";

const CRC: Crc<u32> = Crc::<u32>::new(&CRC_32_ISCSI);

/// Numbers of the protobuf wire format.
const VARINT: u8 = 0;
const DOUBLE: u8 = 1;
const BYTES: u8 = 2;
const FLOAT: u8 = 5;

/// The event file of one run.
#[derive(Debug)]
pub struct Events {
    path: Utf8PathBuf,
}

impl Events {
    /// Opens `<run>/tensorboard/events.out.tfevents.N.rl` with the numbers of `metrics`, the text of
    /// `metrics.jsonl`.
    ///
    /// # Errors
    /// An I/O error naming the file.
    pub fn open(run: &Utf8Path, metrics: &str) -> io::Result<Self> {
        let folder = run.join("tensorboard");
        fs::create_dir_all(&folder)?;
        files::remove_leftovers(&folder)?;
        let mut numbers = Vec::new();
        for entry in folder.read_dir_utf8()? {
            numbers.extend(number(entry?.file_name()));
        }
        numbers.sort_unstable();
        let mut content = opening();
        for line in metrics.lines() {
            content.extend(records(line));
        }
        let last = numbers.last().copied().unwrap_or(0);
        let mut path = folder.join(name(last));
        if last == 0 || fs::read(&path)? != content {
            path = folder.join(name(last + 1));
            files::write_atomic(&path, &content)?;
        }
        for old in numbers.into_iter().map(|number| folder.join(name(number))) {
            if old != path {
                fs::remove_file(&old)?;
            }
        }
        Ok(Self { path })
    }

    /// Appends the numbers of a line of `metrics.jsonl`.
    ///
    /// # Errors
    /// An I/O error naming the file.
    pub fn append(&mut self, line: &str) -> io::Result<()> {
        fs::OpenOptions::new().append(true).open(&self.path)?.write_all(&records(line))
    }
}

fn name(number: u32) -> String {
    format!("events.out.tfevents.{number:010}.rl")
}

fn number(name: &str) -> Option<u32> {
    name.strip_prefix("events.out.tfevents.")?.strip_suffix(".rl")?.parse().ok()
}

/// What every file begins with.
fn opening() -> Vec<u8> {
    let mut version = ProtobufMessage::default();
    version.double(1, 0.0).bytes(3, FILE_VERSION.as_bytes());
    let mut session = ProtobufMessage::default();
    // SessionLog { status = 1: START = 1 }
    session.varint(1, 1);
    let mut start = ProtobufMessage::default();
    start.double(1, 0.0).varint(2, 0).bytes(7, &session.0);
    [record(&version.0), record(&start.0)].concat()
}

/// A line's numbers as one record; nothing if it has no step.
fn records(line: &str) -> Vec<u8> {
    let line = parse_line(line).unwrap_or_default();
    let Some(step) = line.get("step").and_then(Value::as_u64) else { return Vec::new() };
    let seconds = line.get("unix_seconds").and_then(Value::as_f64).unwrap_or(0.0);
    let mut summary = ProtobufMessage::default();
    for (tag, value) in scalars(&line) {
        let mut entry = ProtobufMessage::default();
        #[expect(clippy::cast_possible_truncation, reason = "the format has f32 only")]
        entry.bytes(1, tag.as_bytes()).float(2, value as f32);
        summary.bytes(1, &entry.0);
    }
    let mut event = ProtobufMessage::default();
    event.double(1, seconds).varint(2, step).bytes(5, &summary.0);
    record(&event.0)
}

/// The numbers of a line with their tags: `validation/…` for what is nested there, `time/…` for
/// durations, `memory/…` for bytes, `train/…` for the rest.
pub fn scalars(line: &Value) -> Vec<(String, f64)> {
    let mut scalars = Vec::new();
    for (name, value) in line.as_object().into_iter().flatten() {
        if name == "step" || name == "unix_seconds" {
            continue;
        }
        let group = match name {
            name if name.ends_with("_seconds") || name.ends_with("_per_second") => "time",
            name if name.ends_with("_bytes") => "memory",
            _ => "train",
        };
        if let Some(nested) = value.as_object() {
            let nested = nested.iter().filter_map(|(key, value)| Some((key, value.as_f64()?)));
            scalars.extend(nested.map(|(key, value)| (format!("{name}/{key}"), value)));
        }
        scalars.extend(value.as_f64().map(|value| (format!("{group}/{name}"), value)));
    }
    scalars
}

fn record(data: &[u8]) -> Vec<u8> {
    let length = (data.len() as u64).to_le_bytes();
    let crc = |bytes: &[u8]| masked(CRC.checksum(bytes)).to_le_bytes();
    [&length[..], &crc(&length), data, &crc(data)].concat()
}

fn masked(crc: u32) -> u32 {
    crc.rotate_right(15).wrapping_add(0xa282_ead8)
}

/// A protobuf message under construction.
#[derive(Default)]
struct ProtobufMessage(Vec<u8>);

impl ProtobufMessage {
    fn key(&mut self, field: u8, kind: u8) -> &mut Self {
        self.0.push(field << 3 | kind);
        self
    }

    fn number(&mut self, mut number: u64) -> &mut Self {
        // Seven bits a byte, the lowest first; the eighth is set if more follow.
        while number >= 0x80 {
            self.0.push(number.to_le_bytes()[0] | 0x80);
            number >>= 7;
        }
        self.0.push(number.to_le_bytes()[0]);
        self
    }

    fn varint(&mut self, field: u8, number: u64) -> &mut Self {
        self.key(field, VARINT).number(number)
    }

    fn double(&mut self, field: u8, value: f64) -> &mut Self {
        self.key(field, DOUBLE).0.extend(value.to_le_bytes());
        self
    }

    fn float(&mut self, field: u8, value: f32) -> &mut Self {
        self.key(field, FLOAT).0.extend(value.to_le_bytes());
        self
    }

    fn bytes(&mut self, field: u8, bytes: &[u8]) -> &mut Self {
        self.key(field, BYTES).number(bytes.len() as u64).0.extend(bytes);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // RFC 3720 (iSCSI), appendix B.4, as numbers rather than in the order of bytes on the wire.
    #[test]
    fn published_checksums() {
        let ascending: Vec<u8> = (0..32).collect();
        let descending: Vec<u8> = (0..32).rev().collect();
        for (data, expected) in [
            (&[0; 32][..], 0x8a91_36aa),
            (&[0xff; 32], 0x62a8_ab43),
            (&ascending, 0x46dd_794e),
            (&descending, 0x113f_db5c),
        ] {
            assert_eq!(CRC.checksum(data), expected);
        }
    }

    // python: ((c >> 15) | (c << 17)) + 0xa282ead8 & 0xffffffff for the first of them
    #[test]
    fn checksums_are_masked() {
        assert_eq!(masked(0x8a91_36aa), 0x0fd7_fffa);
    }

    // protobuf.dev, "Encoding": 150 is 96 01, and "testing" in field 2 is 12 07 74 65 73 74 69 6e 67.
    #[test]
    fn published_encodings() {
        let mut message = ProtobufMessage::default();
        message.varint(1, 150).bytes(2, b"testing");
        assert_eq!(message.0, b"\x08\x96\x01\x12\x07testing");
    }

    #[test]
    fn every_number_has_a_tag() {
        let line = serde_json::json!({
            "step": 3, "reward": 0.5, "rollout_seconds": 2, "tokens_per_second": 9.5,
            "resident_bytes": 7, "unix_seconds": 1e9, "nothing": null, "validation": {"gold": 0.25},
        });
        let mut found = scalars(&line);
        found.sort_by(|a, b| a.0.cmp(&b.0));
        let expected = [
            ("memory/resident_bytes", 7.0),
            ("time/rollout_seconds", 2.0),
            ("time/tokens_per_second", 9.5),
            ("train/reward", 0.5),
            ("validation/gold", 0.25),
        ];
        assert_eq!(found, expected.map(|(tag, value)| (tag.to_owned(), value)));
    }

    #[test]
    fn the_file_follows_the_metrics() {
        let dir = tempfile::tempdir().unwrap();
        let dir = Utf8Path::from_path(dir.path()).unwrap();
        let files = || -> Vec<String> {
            let entries = dir.join("tensorboard").read_dir_utf8().unwrap();
            entries.map(|entry| entry.unwrap().file_name().to_owned()).collect()
        };
        let lines = ["{\"step\":1,\"loss\":2.5}\n", "{\"step\":2,\"loss\":1.5}\n"];
        let mut events = Events::open(dir, "").unwrap();
        for line in lines {
            events.append(line).unwrap();
        }
        assert_eq!(files(), [name(1)]);
        let whole = fs::read(dir.join("tensorboard").join(name(1))).unwrap();

        // Gone on undisturbed: the same file. Killed between the two writes, or wound back: another.
        assert_eq!(Events::open(dir, &lines.concat()).unwrap().path, events.path);
        fs::write(&events.path, &whole[..whole.len() - 5]).unwrap();
        Events::open(dir, &lines.concat()).unwrap();
        assert_eq!(files(), [name(2)]);
        assert_eq!(fs::read(dir.join("tensorboard").join(name(2))).unwrap(), whole);
        let mut events = Events::open(dir, lines[0]).unwrap();
        assert_eq!(files(), [name(3)]);
        events.append(lines[1]).unwrap();
        assert_eq!(fs::read(&events.path).unwrap(), whole);
    }
}
