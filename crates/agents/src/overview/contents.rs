//! What is in a file: columns, keys, members, or the text itself.

use super::table::TablePreview;
use super::words::{grouped, one_line};
use camino::Utf8Path;
use fs_err as fs;
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _};

/// Largest file whose lines are counted.
const COUNTED: u64 = 64 << 20;
/// Largest JSON file, or first line of one, that is parsed.
const PARSED: u64 = 16 << 20;
/// Members of a ZIP file that are named.
const MEMBERS: usize = 8;
/// A text of this many lines is not shown.
const TEXT_LINES: usize = 30;
/// Nor is one of more bytes.
const TEXT_BYTES: u64 = 4096;
/// Keys that are shown of an object.
const KEYS: usize = 40;
/// Characters of a key or a member's name that are shown.
const NAME: usize = 80;
/// The task's page, which every prompt has.
const TASK_PAGE: &str = "description.md";

/// What is known of the contents of a file, in two lengths.
#[derive(Debug)]
pub(super) struct FilePreview {
    /// With all details.
    pub(super) full: String,
    /// In a line.
    pub(super) brief: String,
}

#[derive(Debug, Clone, Copy)]
enum FileFormat {
    Table,
    Json,
    JsonLines,
    Zip,
    Text,
}

fn format_of(name: &str) -> Option<FileFormat> {
    let path = Utf8Path::new(name);
    Some(match path.extension().map(str::to_ascii_lowercase).as_deref() {
        _ if name == TASK_PAGE => return None,
        Some("csv" | "tsv") => FileFormat::Table,
        Some("json") => FileFormat::Json,
        Some("jsonl" | "ndjson") => FileFormat::JsonLines,
        Some("zip") => FileFormat::Zip,
        Some("txt" | "md" | "rst" | "yaml" | "yml") => FileFormat::Text,
        _ => return None,
    })
}

/// Whether the overview says more of a file of this name than its size.
pub(super) fn is_readable(name: &str) -> bool {
    format_of(name).is_some()
}

impl FilePreview {
    /// `None` if nothing more can be said of the file.
    pub(super) fn read(path: &Utf8Path) -> Option<Self> {
        let (full, brief) = match format_of(path.file_name()?)? {
            FileFormat::Table => {
                let table = TablePreview::read(path)?;
                let lines = lines(path);
                (format!("{lines}, {}", table.full()), format!("{lines}, {}", table.brief()))
            }
            FileFormat::Json => {
                let text = json(path)?;
                (text.clone(), text)
            }
            FileFormat::JsonLines => {
                let text = format!("{}, the first with {}", lines(path), first_line(path)?);
                (text.clone(), text)
            }
            FileFormat::Zip => members(path)?,
            FileFormat::Text => (text(path)?, lines(path)),
        };
        Some(Self { full, brief })
    }
}

/// How many lines a file has, in words.
fn lines(path: &Utf8Path) -> String {
    let count = || -> std::io::Result<Option<u64>> {
        let mut file = fs::File::open(path)?.take(COUNTED + 1);
        let (mut buffer, mut count, mut last, mut bytes) = (vec![0; 1 << 16], 0, b'\n', 0);
        loop {
            let read = file.read(&mut buffer)?;
            let Some(end) = buffer[..read].last() else { break };
            last = *end;
            bytes += read as u64;
            count += buffer[..read].split(|byte| *byte == b'\n').count() as u64 - 1;
        }
        let torn = u64::from(last != b'\n');
        Ok((bytes <= COUNTED).then_some(count + torn))
    };
    match count() {
        Ok(Some(1)) => "1 line".to_owned(),
        Ok(Some(count)) => format!("{} lines", grouped(count)),
        Ok(None) => "more than 64 MiB of lines".to_owned(),
        Err(_) => "cannot be read".to_owned(),
    }
}

fn json(path: &Utf8Path) -> Option<String> {
    let mut bytes = Vec::new();
    fs::File::open(path).ok()?.take(PARSED + 1).read_to_end(&mut bytes).ok()?;
    if bytes.len() as u64 > PARSED {
        return Some("JSON, too large to be looked at here".to_owned());
    }
    match serde_json::from_slice(&bytes) {
        Ok(value) => Some(shape(&value)),
        Err(_) => Some("not JSON, though its name says so".to_owned()),
    }
}

fn first_line(path: &Utf8Path) -> Option<String> {
    let mut line = Vec::new();
    let file = fs::File::open(path).ok()?.take(PARSED);
    BufReader::new(file).read_until(b'\n', &mut line).ok()?;
    match serde_json::from_slice(&line) {
        Ok(value) => Some(shape(&value)),
        Err(_) => Some("no JSON".to_owned()),
    }
}

/// What a JSON value is: of a list, its length and its first element; of an object, its keys.
fn shape(value: &Value) -> String {
    match value {
        Value::Array(list) => match list.first() {
            None => "an empty list".to_owned(),
            Some(first) => {
                format!("a list of {}, the first: {}", grouped(list.len() as u64), keys(first))
            }
        },
        other => keys(other),
    }
}

/// The keys of an object with the kinds of their values; of anything else, its kind.
fn keys(value: &Value) -> String {
    let Value::Object(map) = value else { return kind(value).to_owned() };
    let key =
        |(key, value): (&String, &Value)| format!("{} ({})", one_line(key, NAME), kind(value));
    // In the same order in every build: see `tasks::json`.
    let sorted: BTreeMap<&String, &Value> = map.iter().collect();
    let mut shown: Vec<String> = sorted.into_iter().take(KEYS).map(key).collect();
    if map.len() > KEYS {
        shown.push(format!("… {} more", grouped((map.len() - KEYS) as u64)));
    }
    format!("an object of {} keys: {}", grouped(map.len() as u64), shown.join(", "))
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "number",
        Value::String(_) => "text",
        Value::Array(_) => "list",
        Value::Object(_) => "object",
    }
}

/// The members of a ZIP file, from the list at its end.
fn members(path: &Utf8Path) -> Option<(String, String)> {
    let file = fs::File::open(path).ok()?;
    let Ok(archive) = zip::ZipArchive::new(BufReader::new(file)) else {
        let refused = "not a ZIP file, though its name says so".to_owned();
        return Some((refused.clone(), refused));
    };
    let mut names: Vec<&str> = archive.file_names().filter(|name| !name.ends_with('/')).collect();
    names.sort_unstable();
    let brief = format!("{} members", grouped(names.len() as u64));
    let shown: Vec<String> = names.iter().take(MEMBERS).map(|name| one_line(name, NAME)).collect();
    let more = if names.len() > MEMBERS { ", …" } else { "" };
    let full = match shown.as_slice() {
        [] => brief.clone(),
        shown => format!("{brief}: {}{more}", shown.join(", ")),
    };
    Some((full, brief))
}

/// A short text as it stands; the number of lines of a long one.
fn text(path: &Utf8Path) -> Option<String> {
    let mut bytes = Vec::new();
    fs::File::open(path).ok()?.take(TEXT_BYTES + 1).read_to_end(&mut bytes).ok()?;
    let counted = lines(path);
    let Ok(text) = std::str::from_utf8(&bytes) else { return Some(counted) };
    if bytes.len() as u64 > TEXT_BYTES || text.lines().count() >= TEXT_LINES {
        return Some(counted);
    }
    let shown: Vec<String> = text.lines().map(|line| one_line(line, 400)).collect();
    Some(format!("{counted}:\n{}", shown.join("\n")))
}
