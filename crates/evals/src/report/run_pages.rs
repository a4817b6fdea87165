//! Where the pages of runs lie, seen from a leaderboard.

use crate::bench::outcome::BenchRun;
use crate::bench::runner::RUN_PAGE;
use camino::{Utf8Path, Utf8PathBuf};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use std::collections::BTreeMap;

/// What stays as it is in a relative link. A colon must not: it would make a scheme of a name.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'/').remove(b'.').remove(b'-').remove(b'_');

/// Links from a leaderboard to the pages of its runs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunPages(BTreeMap<(String, String, u64), String>);

impl RunPages {
    /// Looks for the pages of `runs`, which the evaluation in the folder `out` played, for a
    /// leaderboard in the folder `page`. What has no page gets no link.
    pub fn find(&mut self, runs: &[BenchRun], out: &Utf8Path, page: &Utf8Path) {
        for run in runs {
            if let Some(found) = locate(run, out).and_then(|found| relative(&found, page)) {
                let link = utf8_percent_encode(found.as_str(), ENCODED).to_string();
                self.0.insert(key(run), link);
            }
        }
    }

    /// Whether no run has a page.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The link to the page of a run.
    pub fn link(&self, run: &BenchRun) -> Option<&str> {
        self.0.get(&key(run)).map(String::as_str)
    }
}

fn key(run: &BenchRun) -> (String, String, u64) {
    (run.agent.clone(), run.competition.clone(), run.seed)
}

/// The page of a run: in the folder itself, as `agents eval` has it, or in that of the policy, as
/// `rl eval --bench`; or `out` is the folder of the run.
fn locate(run: &BenchRun, out: &Utf8Path) -> Option<Utf8PathBuf> {
    let below = Utf8Path::new("runs").join(&run.competition).join(format!("seed{}", run.seed));
    let policy = run.agent.split_once('/').map_or("", |(_, policy)| policy);
    let folders = [out.join(&below), out.join(policy).join(&below), out.to_owned()];
    folders.into_iter().map(|folder| folder.join(RUN_PAGE)).find(|page| page.is_file())
}

fn relative(found: &Utf8Path, page: &Utf8Path) -> Option<Utf8PathBuf> {
    let (found, page) = (found.canonicalize_utf8().ok()?, page.canonicalize_utf8().ok()?);
    pathdiff::diff_utf8_paths(found, page)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::outcome::tests::run;
    use fs_err as fs;

    #[test]
    fn pages_are_found_where_each_program_leaves_them() {
        let folder = tempfile::tempdir().unwrap();
        let out = Utf8Path::from_path(folder.path()).unwrap();
        let page = |path: &str| {
            fs::create_dir_all(out.join(path)).unwrap();
            fs::write(out.join(path).join(RUN_PAGE), "").unwrap();
        };
        page("eval/runs/leaf/seed0");
        page("ours: 8b #1/runs/leaf/seed1");
        let mut pages = RunPages::default();
        let chat = run("aide/chat", "leaf", 0, None);
        let own = run("react/ours: 8b #1", "leaf", 1, None);
        let missing = BenchRun { seed: 7, ..chat.clone() };
        pages.find(&[chat.clone(), missing.clone()], &out.join("eval"), out);
        pages.find(std::slice::from_ref(&own), out, &out.join("eval"));
        assert_eq!(pages.link(&chat), Some("eval/runs/leaf/seed0/tree.html"));
        assert_eq!(pages.link(&own), Some("../ours%3A%208b%20%231/runs/leaf/seed1/tree.html"));
        assert_eq!(pages.link(&missing), None);
    }
}
