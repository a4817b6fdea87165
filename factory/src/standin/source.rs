//! What a stand-in is made from, and its page.

use super::files::PreparedFiles;
use std::fmt::Write as _;
use tasks::stream::Stream;

/// A stand-in for one competition: its data and what its page says.
#[derive(Debug, Clone, Copy)]
pub(super) struct StandInSource {
    /// Name of the competition.
    pub(super) id: &'static str,
    /// What is to be predicted from what, in one paragraph.
    pub(super) task: &'static str,
    /// How submissions are scored.
    pub(super) evaluation: &'static str,
    /// The public files and what is in them; a name that ends in `/` is a folder.
    pub(super) files: &'static [(&'static str, &'static str)],
    /// What is not as in the data of the competition, beside their origin and size.
    pub(super) differences: &'static [&'static str],
    /// Draws the files of both halves but the page.
    pub(super) make: fn(Stream) -> PreparedFiles,
}

impl StandInSource {
    /// What is not as in the data of the competition.
    pub(super) fn all_differences(&self) -> Vec<&'static str> {
        let always = ["all data are invented", "far fewer rows than the competition has"];
        always.iter().chain(self.differences).copied().collect()
    }

    /// The text of `description.md`.
    pub(super) fn page(&self) -> String {
        let mut page = format!(
            "This is a stand-in for `{}`: small invented data in the form of that competition, not \
             its data. Scores on it say nothing of the competition.\n\n## Task\n\n{}\n\n\
             ## Evaluation\n\n{}\n\n## Files\n\n",
            self.id, self.task, self.evaluation
        );
        for (name, content) in self.files {
            let _ = writeln!(page, "- `{name}`: {content}");
        }
        page.push_str("\n## Differences from the competition\n\n");
        for difference in self.all_differences() {
            let _ = writeln!(page, "- {difference}");
        }
        page
    }
}
