//! What a planner wants to try: which data, which training settings, and what it expects of them.

use crate::dojo::DatasetInfo;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// By how much the shares of sources may miss 1, for sums of decimals.
const SHARES: f64 = 1e-6;
/// Characters of a text for people.
const TEXT: usize = 4_000;

/// One object, as a planner writes it. It is untrusted: [`Proposal::check`] comes first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Proposal {
    /// Why this is tried.
    pub reason: String,
    /// Which half changes.
    pub focus: Focus,
    /// What is trained on.
    pub data: DataProposal,
    /// Training settings by their dotted keys, as `rl schema sft` lists them; those that are left out
    /// keep their defaults.
    pub training: BTreeMap<String, Value>,
    /// The failure that was seen and that this is to mend.
    pub addresses: String,
    /// The primary metric that is expected.
    pub expects: f64,
    /// Whether script and data of the parent are kept.
    pub reuse_data: bool,
    /// Whether it is meant that the filters together drop nearly everything.
    #[serde(default)]
    pub accept_retention: bool,
}

/// Which half of an experiment differs from its parent's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Focus {
    /// The data.
    Data,
    /// The training settings.
    Training,
    /// Both.
    Both,
}

/// What is trained on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DataProposal {
    /// Where the samples come from; the shares make 1.
    pub sources: Vec<SourceShare>,
    /// What is dropped, each in words.
    pub filters: Vec<String>,
    /// Which samples come first.
    pub sampling: SamplingRule,
    /// What a model writes.
    pub synthesis: Synthesis,
    /// Samples of a full run.
    pub target_samples: u32,
}

/// A source of the pool and its share of the samples.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SourceShare {
    /// The name of its folder.
    pub source: String,
    /// Which part of it; all if none is named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subset: Option<String>,
    /// Its share, above 0 and at most 1.
    pub share: f64,
}

/// Which samples are preferred.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SamplingRule {
    /// The best reasoning.
    Quality,
    /// The most different ones.
    Diversity,
    /// The hardest ones that are not too hard.
    Difficulty,
}

/// What a model writes for the data.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Synthesis {
    /// Which one.
    pub teacher: Teacher,
    /// What it writes; empty without a teacher.
    pub what: String,
}

/// A tier of models that write data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Teacher {
    /// None: code alone makes the data.
    None,
    /// A cheap one.
    Weak,
    /// A dear one.
    Strong,
}

impl Teacher {
    /// The name as in proposals.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Weak => "weak",
            Self::Strong => "strong",
        }
    }
}

/// What a proposal is checked against.
#[derive(Debug, Clone, Copy)]
pub struct ProposalBounds<'a> {
    /// The raw data.
    pub pool: &'a DatasetInfo,
    /// Most samples that may be trained on.
    pub samples: u32,
    /// The tiers of models that write data, none of them among these.
    pub teachers: &'a [Teacher],
    /// Whether it is made from an experiment, and not from nothing.
    pub has_parent: bool,
}

/// What is wrong with a proposal.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{key}` {problem}")]
pub struct BadProposal {
    /// The key.
    pub key: String,
    /// What it must be, what it is.
    pub problem: String,
}

impl Proposal {
    /// Whether it can be carried out on this pool, within these limits.
    ///
    /// # Errors
    /// [`BadProposal`] for the first key that is wrong.
    pub fn check(&self, bounds: ProposalBounds<'_>) -> Result<(), BadProposal> {
        let bad = |key: &str, problem: String| BadProposal { key: key.to_owned(), problem };
        for (key, text) in [("reason", &self.reason), ("addresses", &self.addresses)] {
            if text.trim().is_empty() || text.chars().count() > TEXT {
                return Err(bad(key, format!("must have 1 to {TEXT} characters")));
            }
        }
        if !self.expects.is_finite() {
            return Err(bad("expects", "must be a number".to_owned()));
        }
        if !bounds.has_parent && (self.reuse_data || self.focus != Focus::Both) {
            let problem = "must be `both`, without `reuse_data`: there is no experiment yet whose data \
                           or settings could be kept";
            return Err(bad("focus", problem.to_owned()));
        }
        if self.reuse_data != (self.focus == Focus::Training) {
            let problem = "must be true if the focus is `training`, and false otherwise";
            return Err(bad("reuse_data", problem.to_owned()));
        }
        self.data.check(bounds)
    }

    /// Whether it would do the same as an earlier one, in whatever words.
    pub fn repeats(&self, earlier: &Self) -> bool {
        (&self.data, &self.training) == (&earlier.data, &earlier.training)
    }
}

impl DataProposal {
    fn check(&self, bounds: ProposalBounds<'_>) -> Result<(), BadProposal> {
        let bad = |key: String, problem: String| Err(BadProposal { key, problem });
        let known: Vec<&str> = bounds.pool.sources.iter().map(|it| it.name.as_str()).collect();
        for (place, SourceShare { source, share, .. }) in self.sources.iter().enumerate() {
            let key = format!("data.sources[{place}]");
            if !known.contains(&source.as_str()) {
                let problem = format!("is `{source}`, and the pool has {}", known.join(", "));
                return bad(key + ".source", problem);
            }
            if !(*share > 0.0 && *share <= 1.0) {
                return bad(
                    key + ".share",
                    format!("must be above 0 and at most 1, and is {share}"),
                );
            }
        }
        let sum: f64 = self.sources.iter().map(|it| it.share).sum();
        if (sum - 1.0).abs() > SHARES {
            return bad(
                "data.sources".to_owned(),
                format!("must have shares that make 1, and make {sum}"),
            );
        }
        if !(1..=bounds.samples).contains(&self.target_samples) {
            let found = self.target_samples;
            let problem = format!("must be 1 to {}, and is {found}", bounds.samples);
            return bad("data.target_samples".to_owned(), problem);
        }
        let Synthesis { teacher, what } = &self.synthesis;
        if !bounds.teachers.contains(teacher) {
            let known: Vec<&str> = bounds.teachers.iter().map(|it| it.name()).collect();
            let (found, known) = (teacher.name(), known.join(", "));
            let problem = format!("is `{found}`, and this run has {known}");
            return bad("data.synthesis.teacher".to_owned(), problem);
        }
        if (*teacher == Teacher::None) != what.trim().is_empty() {
            let problem = "must be empty without a teacher, and say what one writes with it";
            return bad("data.synthesis.what".to_owned(), problem.to_owned());
        }
        Ok(())
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::dojo::SourceInfo;
    use serde_json::json;

    /// A proposal that can be carried out on [`pool`].
    pub(in crate::ft) fn proposal() -> Proposal {
        serde_json::from_value(json!({
            "reason": "a first try", "focus": "both",
            "data": {
                "sources": [{"source": "mathematics", "share": 1.0}], "filters": ["has a solution"],
                "sampling": "quality", "synthesis": {"teacher": "none", "what": ""},
                "target_samples": 500,
            },
            "training": {"epochs": 3}, "addresses": "nothing yet", "expects": 0.3,
            "reuse_data": false,
        }))
        .unwrap()
    }

    pub(in crate::ft) fn pool() -> DatasetInfo {
        let source = |name: &str| SourceInfo {
            name: name.to_owned(),
            readme: String::new(),
            files: Vec::new(),
        };
        DatasetInfo { sources: ["finance", "mathematics"].map(source).into() }
    }

    fn refused(change: impl FnOnce(&mut Proposal), has_parent: bool) -> String {
        let mut changed = proposal();
        change(&mut changed);
        let pool = pool();
        let teachers = [Teacher::None, Teacher::Weak];
        let bounds = ProposalBounds { pool: &pool, samples: 2000, teachers: &teachers, has_parent };
        changed.check(bounds).unwrap_err().to_string()
    }

    #[test]
    fn proposal_that_cannot_be_carried_out_is_refused_by_its_key() {
        let pool = pool();
        let teachers = [Teacher::None];
        let bounds =
            ProposalBounds { pool: &pool, samples: 2000, teachers: &teachers, has_parent: false };
        assert_eq!(proposal().check(bounds), Ok(()));
        let cases: [(&str, String); 10] = [
            ("`reason` must have 1", refused(|it| it.reason = " ".into(), false)),
            ("`expects`", refused(|it| it.expects = f64::NAN, false)),
            ("`focus` must be `both`", refused(|it| it.focus = Focus::Data, false)),
            ("`reuse_data` must be true", refused(|it| it.focus = Focus::Training, true)),
            (
                "`data.sources[0].source` is `poetry`, and the pool has finance, mathematics",
                refused(|it| it.data.sources[0].source = "poetry".into(), false),
            ),
            ("`data.sources[0].share`", refused(|it| it.data.sources[0].share = -1.0, false)),
            ("and make 0.5", refused(|it| it.data.sources[0].share = 0.5, false)),
            ("1 to 2000, and is 3000", refused(|it| it.data.target_samples = 3000, false)),
            (
                "`data.synthesis.what`",
                refused(|it| it.data.synthesis.teacher = Teacher::Weak, false),
            ),
            (
                "`data.synthesis.teacher` is `strong`, and this run has none, weak",
                refused(|it| it.data.synthesis.teacher = Teacher::Strong, false),
            ),
        ];
        for (expected, found) in cases {
            assert!(found.contains(expected), "{expected}: {found}");
        }
    }

    #[test]
    fn proposal_in_other_words_is_the_same_one() {
        let (first, mut second) = (proposal(), proposal());
        (second.reason, second.expects) = ("another reason".into(), 0.9);
        assert!(second.repeats(&first));
        second.training.insert("epochs".into(), json!(4));
        assert!(!second.repeats(&first));
    }
}
