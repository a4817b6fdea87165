//! Carrying out steps: commands, files, the grading server.

use super::step::Tool;
use camino::{Utf8Path, Utf8PathBuf};
use fs_err as fs;
use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::{Command, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Characters of an observation: of its beginning, and of its end.
const SHOWN: (usize, usize) = (2_500, 5_500);
/// Lines of a file that are shown if no number is named.
const LINES: usize = 200;
/// Time of a command if none is named, and the longest.
const SECONDS: (u64, u64) = (3_600, 86_400);
/// Time between two looks at a command.
const LOOK: Duration = Duration::from_millis(20);
/// What of a submission's answer is shown; times and the like are not.
const SCORED: [&str; 10] = [
    "submission_id",
    "state",
    "score",
    "baseline_score",
    "improvement",
    "is_best",
    "same_as",
    "code",
    "error",
    "facts",
];

/// The grading server: asks a route, with a body if it is a POST, and hands over the JSON of the answer.
pub type GradingAccess<'a> = dyn Fn(&str, Option<&Value>) -> Result<Value, String> + 'a;

/// Where steps are carried out.
pub struct Workbench<'a> {
    /// Where commands are started, and what paths are relative to.
    pub folder: Utf8PathBuf,
    /// The grading server.
    pub server: &'a GradingAccess<'a>,
}

impl std::fmt::Debug for Workbench<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Workbench").field("folder", &self.folder).finish_non_exhaustive()
    }
}

impl Workbench<'_> {
    /// Carries out a tool; what the model is told of it. What fails is told as well.
    pub fn carry_out(&self, tool: &Tool) -> String {
        let done = match tool {
            Tool::Shell { command, seconds } => self.shell(command, *seconds),
            Tool::Read { path, from, lines } => self.read(path, *from, *lines),
            Tool::Write { path, content } => self.write(path, content),
            Tool::Patch { path, old, new } => self.patch(path, old, new),
            Tool::Submit { path, note } => self.submit(path, note.as_deref()),
            Tool::Time => self.time(),
            Tool::Finish { .. } => Ok("finished".to_owned()),
        };
        done.unwrap_or_else(|error| format!("error: {error}"))
    }

    fn path(&self, path: &str) -> Utf8PathBuf {
        self.folder.join(path)
    }

    fn shell(&self, command: &str, seconds: Option<u64>) -> Result<String, String> {
        let said = |error: std::io::Error| error.to_string();
        let limit = Duration::from_secs(seconds.unwrap_or(SECONDS.0).min(SECONDS.1));
        // A file and no pipe: what a command leaves running holds nothing up.
        let mut output = tempfile::tempfile().map_err(said)?;
        let mut child = Command::new("bash")
            .args(["-c", command])
            .current_dir(&self.folder)
            .stdin(Stdio::null())
            .stdout(output.try_clone().map_err(said)?)
            .stderr(output.try_clone().map_err(said)?)
            .process_group(0)
            .spawn()
            .map_err(said)?;
        let began = Instant::now();
        let status = loop {
            if let Some(status) = child.try_wait().map_err(said)? {
                break Some(status);
            }
            if began.elapsed() >= limit {
                // It may have ended just now.
                let _ = kill_process_group(Pid::from_child(&child), Signal::KILL);
                child.wait().map_err(said)?;
                break None;
            }
            sleep(LOOK);
        };
        output.seek(SeekFrom::Start(0)).map_err(said)?;
        let printed = ends_of(&output).map_err(said)?;
        let ended = match status {
            Some(status) => how(status),
            None => {
                format!("killed after {} s; name more `seconds` if it needs them", limit.as_secs())
            }
        };
        Ok(if printed.is_empty() {
            format!("{ended}, no output")
        } else {
            format!("{printed}\n{ended}")
        })
    }

    fn read(
        &self,
        path: &str,
        from: Option<usize>,
        lines: Option<usize>,
    ) -> Result<String, String> {
        let bytes = fs::read(self.path(path)).map_err(|error| error.to_string())?;
        let text = String::from_utf8_lossy(&bytes);
        let (from, count) = (from.unwrap_or(1).max(1), lines.unwrap_or(LINES));
        let all = text.lines().count();
        if from > all {
            return Err(format!("the file has {all} lines"));
        }
        let mut shown = String::new();
        for (number, line) in text.lines().enumerate().skip(from - 1).take(count) {
            let _ = writeln!(shown, "{:>5}  {line}", number + 1);
        }
        let last = (from - 1 + count).min(all);
        let rest =
            if last < all { format!("lines {from} to {last} of {all}") } else { String::new() };
        Ok(shortened(&shown) + &rest)
    }

    fn write(&self, path: &str, content: &str) -> Result<String, String> {
        let path = self.path(path);
        let folder = path.parent().unwrap_or(Utf8Path::new("."));
        fs::create_dir_all(folder)
            .and_then(|()| fs::write(&path, content))
            .map_err(|error| error.to_string())?;
        Ok(format!("{} bytes were written", content.len()))
    }

    fn patch(&self, path: &str, old: &str, new: &str) -> Result<String, String> {
        let path = self.path(path);
        let text = fs::read_to_string(&path).map_err(|error| error.to_string())?;
        match text.matches(old).count() {
            _ if old.is_empty() => Err("`old` is empty; use `write`".to_owned()),
            1 => {
                fs::write(&path, text.replacen(old, new, 1)).map_err(|error| error.to_string())?;
                Ok("replaced".to_owned())
            }
            0 => Err("`old` does not stand in the file; read it again".to_owned()),
            several => Err(format!("`old` stands in the file {several} times; name more of it")),
        }
    }

    fn submit(&self, path: &str, note: Option<&str>) -> Result<String, String> {
        let body = json!({ "model_path": path, "note": note, "wait": true });
        let answer = (self.server)("/v1/submit", Some(&body))?;
        let shown: Vec<String> = SCORED
            .iter()
            .filter(|name| !answer[**name].is_null())
            .map(|name| format!("{name}: {}", answer[*name]))
            .collect();
        Ok(shown.join("\n"))
    }

    fn time(&self) -> Result<String, String> {
        let answer = (self.server)("/v1/time", None)?;
        let number = |name: &str| answer[name].as_f64().unwrap_or_default();
        Ok(format!(
            "{:.0} s of {:.0} s are left",
            number("remaining_seconds"),
            number("limit_seconds")
        ))
    }
}

fn how(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit code {code}"),
        (None, Some(signal)) => format!("ended by signal {signal}"),
        (None, None) => "ended".to_owned(),
    }
}

/// The beginning and the end of what a command printed, without reading what is between them.
fn ends_of(mut output: &std::fs::File) -> std::io::Result<String> {
    let length = output.metadata()?.len();
    // A character has four bytes at most.
    let (begin, end) = (4 * SHOWN.0 as u64, 4 * SHOWN.1 as u64);
    let mut bytes = Vec::new();
    if length <= begin + end {
        output.read_to_end(&mut bytes)?;
        return Ok(shortened(String::from_utf8_lossy(&bytes).trim_end()));
    }
    output.take(begin).read_to_end(&mut bytes)?;
    let first: String = String::from_utf8_lossy(&bytes).chars().take(SHOWN.0).collect();
    output.seek(SeekFrom::End(-i64::try_from(end).unwrap_or(i64::MAX)))?;
    bytes.clear();
    output.read_to_end(&mut bytes)?;
    let last = String::from_utf8_lossy(&bytes);
    let skipped = last.chars().count().saturating_sub(SHOWN.1);
    let last: String = last.chars().skip(skipped).collect();
    Ok(format!("{first}\n[… {length} bytes in all …]\n{}", last.trim_end()))
}

/// A text whose middle is left out where it is long.
pub(super) fn shortened(text: &str) -> String {
    let count = text.chars().count();
    if count <= SHOWN.0 + SHOWN.1 {
        return text.to_owned();
    }
    let first: String = text.chars().take(SHOWN.0).collect();
    let last: String = text.chars().skip(count - SHOWN.1).collect();
    format!("{first}\n[… {} characters left out …]\n{last}", count - SHOWN.0 - SHOWN.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bench(carry_out: impl FnOnce(&Workbench<'_>)) {
        let kept = tempfile::tempdir().unwrap();
        let folder = Utf8Path::from_path(kept.path()).unwrap().to_owned();
        let server = |path: &str, body: Option<&Value>| match (path, body) {
            ("/v1/submit", Some(body)) => Ok(
                json!({"state": "graded", "score": 0.5, "timestamp": "now", "note": body["note"]}),
            ),
            ("/v1/time", None) => Ok(json!({"remaining_seconds": 7.4, "limit_seconds": 60})),
            _ => Err("no such route".to_owned()),
        };
        carry_out(&Workbench { folder, server: &server });
    }

    fn shell(command: &str, seconds: Option<u64>) -> Tool {
        Tool::Shell { command: command.to_owned(), seconds }
    }

    #[test]
    fn command_tells_its_output_its_end_and_its_time_limit() {
        bench(|bench| {
            let told = bench.carry_out(&shell("echo a; echo b >&2; exit 3", None));
            assert_eq!(told, "a\nb\nexit code 3");
            assert_eq!(bench.carry_out(&shell("true", None)), "exit code 0, no output");
            assert!(bench.carry_out(&shell("kill -9 $$", None)).contains("signal 9"));
            let began = Instant::now();
            let told = bench.carry_out(&shell("echo begun; sleep 100 & wait", Some(1)));
            assert!(told.starts_with("begun\nkilled after 1 s"), "{told}");
            // What runs on in the background is not waited for.
            bench.carry_out(&shell("sleep 3 &", None));
            assert!(began.elapsed() < Duration::from_secs(3));
        });
    }

    #[test]
    fn long_output_keeps_its_beginning_and_its_end() {
        bench(|bench| {
            let told = bench.carry_out(&shell("echo first; yes | head -c 300000; echo last", None));
            assert!(told.starts_with("first\n") && told.ends_with("last\nexit code 0"), "{told}");
            assert!(told.contains("300011 bytes in all") && told.len() < 9_000, "{}", told.len());
        });
        let long = "ä".repeat(9_000);
        assert!(shortened(&long).contains("[… 1000 characters left out …]"));
    }

    #[test]
    fn files_are_written_read_and_patched() {
        bench(|bench| {
            let file = || "deep/a.py".to_owned();
            let content = "one\ntwo\nthree\n".to_owned();
            assert_eq!(
                bench.carry_out(&Tool::Write { path: file(), content }),
                "14 bytes were written"
            );
            let read = |from, lines| bench.carry_out(&Tool::Read { path: file(), from, lines });
            assert_eq!(read(Some(2), Some(1)), "    2  two\nlines 2 to 2 of 3");
            assert!(read(Some(4), None).contains("has 3 lines"));
            let patch = |old: &str, new: &str| {
                bench.carry_out(&Tool::Patch {
                    path: file(),
                    old: old.to_owned(),
                    new: new.to_owned(),
                })
            };
            assert_eq!(patch("two", "2"), "replaced");
            assert!(patch("two", "2").contains("does not stand in"));
            assert!(patch("e\n", "").contains("2 times"));
            assert!(patch("", "x").contains("use `write`"));
            assert!(read(None, None).contains("    2  2"));
            let none =
                bench.carry_out(&Tool::Read { path: "none".to_owned(), from: None, lines: None });
            assert!(none.starts_with("error: "), "{none}");
        });
    }

    #[test]
    fn server_is_asked_and_times_of_submissions_are_not_shown() {
        bench(|bench| {
            let submit = Tool::Submit { path: "output/a".to_owned(), note: None };
            assert_eq!(bench.carry_out(&submit), "state: \"graded\"\nscore: 0.5");
            assert_eq!(bench.carry_out(&Tool::Time), "7 s of 60 s are left");
        });
    }
}
