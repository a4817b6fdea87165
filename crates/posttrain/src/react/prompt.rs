//! What the model is told before its first turn.

use super::limits::ReactLimits;
use super::step::FORM;
use super::tools::shortened;
use camino::{Utf8Path, Utf8PathBuf};
use fs_err as fs;
use std::fmt::Write as _;
use std::io::{self, BufRead as _, BufReader};

/// Entries of a folder that are listed, and how deep.
const LISTED: (usize, usize) = (40, 4);
/// Rows of the training items that are shown, and characters of one.
const ROWS: (usize, usize) = (5, 600);

/// What a model is told of its task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Briefing {
    /// Who it is, what it can do, how it answers.
    pub system: String,
    /// The task: description, instructions, what is in the workspace, some training items.
    pub task: String,
}

impl Briefing {
    /// Of the workspace in `folder`.
    ///
    /// # Errors
    /// An I/O error naming the file.
    pub fn read(folder: &Utf8Path, limits: &ReactLimits) -> io::Result<Self> {
        let description = fs::read_to_string(folder.join("description.md"))?;
        let instructions = fs::read_to_string(folder.join("instructions.md"))?;
        let mut listing = String::new();
        list(folder, folder, 1, &mut listing)?;
        let mut task = format!(
            "{}\n\n{}\n\n# What is in the workspace\n\n```\n{listing}```\n",
            description.trim(),
            instructions.trim()
        );
        for file in training_files(folder)? {
            let name = file.strip_prefix(folder).unwrap_or(&file);
            let _ = write!(task, "\n# The first items of {name}\n\n```\n{}```\n", rows(&file)?);
        }
        task += "\nBegin.";
        Ok(Self { system: system(limits), task })
    }
}

/// Role, tools, budgets and habits.
fn system(limits: &ReactLimits) -> String {
    let tokens = limits.tokens.map_or_else(String::new, |tokens| {
        format!(" and {tokens} tokens, those that you read included")
    });
    format!(
        "You are a research engineer who improves a language model by post-training. You work alone, in a \
         workspace with a shell, and what you submit is scored on hidden items.\n\n\
         Each of your answers is one JSON object and nothing else:\n{FORM}\n\n\
         One tool a turn; you are told what came of it before the next one. Paths are relative to `code/`, \
         where you start.\n\n\
         | tool | arguments | does |\n| --- | --- | --- |\n\
         | `shell` | `command`, `seconds` (optional) | runs it with bash; you see the beginning and the end of \
         what it prints |\n\
         | `read` | `path`, `from`, `lines` (optional) | shows lines of a file |\n\
         | `write` | `path`, `content` | writes a file anew |\n\
         | `patch` | `path`, `old`, `new` | replaces a text that stands in the file exactly once |\n\
         | `submit` | `path`, `note` (optional) | submits a model below `output/` and waits for its score |\n\
         | `time` | none: `{{}}` | says how much time is left |\n\
         | `finish` | `summary` | ends your work |\n\n\
         You have {} turns{tokens}. Your time is in the instructions.\n\n\
         Habits that pay:\n\
         - Find out how a submission is scored, and in what form the model is asked, before you train \
         anything. A model that was trained on another form of prompt can fall below the base.\n\
         - Play one item of the task by hand before you train on many.\n\
         - Repair the form of answers before you add data, and add good data before you add training.\n\
         - Try every program on a few items and a few steps first, and look at what it made.\n\
         - Submit early, so that the way from training to a score is known to work.\n\
         - Change one thing at a time, and write down in `../reports/summary.md` what you changed and what \
         came of it.\n\
         - Start long work with a limit of time, and keep time for a last submission.\n",
        limits.turns
    )
}

/// The entries of a folder, in order, with sizes of files.
fn list(top: &Utf8Path, folder: &Utf8Path, depth: usize, listing: &mut String) -> io::Result<()> {
    let mut entries: Vec<_> = folder.read_dir_utf8()?.collect::<Result<_, _>>()?;
    entries.sort_by(|one, other| one.file_name().cmp(other.file_name()));
    for (index, entry) in entries.iter().enumerate() {
        if index == LISTED.0 {
            let _ = writeln!(listing, "{}… {} more", "  ".repeat(depth - 1), entries.len() - index);
            break;
        }
        let inside = entry.path().strip_prefix(top).unwrap_or(entry.path());
        // The base and the views are links on the host.
        let facts = fs::metadata(entry.path())?;
        if facts.is_dir() {
            let _ = writeln!(listing, "{inside}/");
            if depth < LISTED.1 && !entry.file_type()?.is_symlink() {
                list(top, entry.path(), depth + 1, listing)?;
            }
        } else {
            let _ = writeln!(listing, "{inside}  {} bytes", facts.len());
        }
    }
    Ok(())
}

/// The training items of the task, or of each task.
fn training_files(folder: &Utf8Path) -> io::Result<Vec<Utf8PathBuf>> {
    let data = folder.join("data");
    let mut folders = vec![data.clone()];
    for entry in data.read_dir_utf8()? {
        folders.push(entry?.into_path());
    }
    folders.sort();
    let files = folders.into_iter().map(|folder| folder.join("public/train.jsonl"));
    Ok(files.filter(|file| file.is_file()).collect())
}

fn rows(file: &Utf8Path) -> io::Result<String> {
    let mut text = String::new();
    for line in BufReader::new(fs::File::open(file)?).lines().take(ROWS.0) {
        let line = line?;
        let shown: String = line.chars().take(ROWS.1).collect();
        let more = if shown.len() < line.len() { " …" } else { "" };
        let _ = writeln!(text, "{shown}{more}");
    }
    Ok(shortened(&text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn briefing_has_task_tools_budgets_and_the_first_items() {
        let kept = tempfile::tempdir().unwrap();
        let folder = Utf8Path::from_path(kept.path()).unwrap();
        for name in ["code", "output", "data/public"] {
            fs::create_dir_all(folder.join(name)).unwrap();
        }
        fs::write(folder.join("description.md"), "# Household\n").unwrap();
        fs::write(folder.join("instructions.md"), "# Instructions\n").unwrap();
        let items: Vec<String> = (0..9).map(|n| format!("{{\"id\": {n}}}\n")).collect();
        fs::write(folder.join("data/public/train.jsonl"), items.concat()).unwrap();
        let limits = ReactLimits { tokens: Some(70_000), ..ReactLimits::default() };
        let Briefing { system, task } = Briefing::read(folder, &limits).unwrap();
        assert!(system.contains("and 70000 tokens") && system.contains(FORM), "{system}");
        assert!(system.contains("| `time` | none: `{}`"), "{system}");
        assert!(task.starts_with("# Household\n\n# Instructions\n"), "{task}");
        assert!(task.contains("data/public/train.jsonl  90 bytes"), "{task}");
        assert!(task.contains("{\"id\": 4}") && !task.contains("{\"id\": 5}"), "{task}");
        assert_eq!(Briefing::read(folder, &limits).unwrap().task, task);
    }
}
