//! Agents side by side on one benchmark.

use super::contender::ContenderSummary;
use super::measure::{Measure, MeasureEstimate, draws};
use super::outcome::BenchRun;
use super::steps::StepTable;
use super::way::WayEstimate;
use crate::statistics::{bootstrap, mean, sign_flip};
use sandbox::env::Feedback;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::{self, Write as _};
use tasks::mlebench::board::competitions;
use tasks::task::DataSource;

/// The competitions of a benchmark, played or not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BenchField {
    /// Name of the benchmark.
    pub name: String,
    /// Names of its competitions, in the order of tables.
    pub competitions: Vec<String>,
}

impl BenchField {
    /// What agents are compared by, where there are no places among people.
    pub fn headline(&self) -> Measure {
        if self.name == "mle-dojo" { Measure::Valid } else { Measure::AnyMedal }
    }

    /// What is counted of its runs: MLE-Dojo has no medals and no medians.
    pub fn measures(&self) -> &'static [Measure] {
        if self.name == "mle-dojo" { &[Measure::Valid] } else { &Measure::ALL }
    }

    /// The 22 competitions of MLE-bench-lite.
    pub fn lite() -> Self {
        let low = competitions().filter(|competition| competition.split == "low");
        Self {
            name: "mlebench-lite".to_owned(),
            competitions: low.map(|competition| competition.id.to_owned()).collect(),
        }
    }
}

/// Agents side by side: all on the same kind of data, and either all or none with the test score
/// before their eyes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BenchTable {
    /// What was to be played.
    pub field: BenchField,
    /// What the files of the competitions are.
    pub data: DataSource,
    /// Whether agents were told the score on all test rows.
    pub exposed: bool,
    /// Whether what has no grade counts as nothing, faults included, as mle-bench counts it with
    /// `--pad-missing`. Otherwise it is in no percentage.
    pub pad_missing: bool,
    /// Most medals first.
    pub rows: Vec<ContenderSummary>,
}

/// Why runs are no table.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BenchTableError {
    /// Nothing to show.
    #[error("there are no runs; play some with `agents eval` first")]
    Empty,
    /// Scores that mean something beside scores that do not.
    #[error(
        "`{agent}` ran on {other}, others on {one}; report each kind of data in a table of its own"
    )]
    MixedData {
        /// The agent with another kind of data than the first run.
        agent: String,
        /// The data of the first run.
        one: DataSource,
        /// The data of the agent's run.
        other: DataSource,
    },
    /// Agents that saw the test score beside agents that did not.
    #[error(
        "some agents were told the test score (`exposed`), `{agent}` or others were not; report them in a table of their own"
    )]
    MixedFeedback {
        /// An agent whose feedback differs from that of the first run.
        agent: String,
    },
    /// A run on something else.
    #[error(
        "`{agent}` ran on `{competition}`, which is not one of the {count} competitions of {field}; leave it out, or name the benchmark that it belongs to"
    )]
    UnknownCompetition {
        /// Name of the agent.
        agent: String,
        /// What it played.
        competition: String,
        /// Name of the benchmark.
        field: String,
        /// Its number of competitions.
        count: usize,
    },
    /// A choice between two results is nobody's to make.
    #[error(
        "`{agent}` has two runs on `{competition}` with seed {seed}; keep one folder of results per run"
    )]
    Twice {
        /// Name of the agent.
        agent: String,
        /// What it played.
        competition: String,
        /// The seed of both.
        seed: u64,
    },
}

/// Two agents on the competitions that both have grades on.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct PairedDifference {
    /// Number of those competitions.
    pub competitions: usize,
    /// First minus second, in percentage points.
    pub difference: f64,
    /// Its 95 % interval, from a bootstrap over competitions.
    pub interval: (f64, f64),
    /// Competitions on which the first is better.
    pub won: usize,
    /// Competitions on which the second is better.
    pub lost: usize,
    /// Two-sided, by flipping the signs of competitions.
    pub p: f64,
}

impl BenchTable {
    /// Summarises all runs. `pad_missing` is explained at the field of that name.
    ///
    /// # Errors
    /// [`BenchTableError`].
    pub fn from_runs(
        field: &BenchField,
        runs: &[BenchRun],
        pad_missing: bool,
    ) -> Result<Self, BenchTableError> {
        let first = runs.first().ok_or(BenchTableError::Empty)?;
        let exposed = first.feedback == Feedback::Exposed;
        let mut by_contender: BTreeMap<_, BTreeMap<(String, u64), BenchRun>> = BTreeMap::new();
        for run in runs {
            let agent = || run.agent.clone();
            if run.data != first.data {
                let (one, other) = (first.data, run.data);
                return Err(BenchTableError::MixedData { agent: agent(), one, other });
            }
            if (run.feedback == Feedback::Exposed) != exposed {
                return Err(BenchTableError::MixedFeedback { agent: agent() });
            }
            if !field.competitions.contains(&run.competition) {
                return Err(BenchTableError::UnknownCompetition {
                    agent: agent(),
                    competition: run.competition.clone(),
                    field: field.name.clone(),
                    count: field.competitions.len(),
                });
            }
            let runs = by_contender.entry((agent(), run.feedback)).or_default();
            if runs.insert((run.competition.clone(), run.seed), run.clone()).is_some() {
                return Err(BenchTableError::Twice {
                    agent: agent(),
                    competition: run.competition.clone(),
                    seed: run.seed,
                });
            }
        }
        let row = |((agent, feedback), runs)| {
            ContenderSummary::from_runs(agent, feedback, runs, field, pad_missing)
        };
        let mut rows: Vec<ContenderSummary> = by_contender.into_iter().map(row).collect();
        let medals = |row: &ContenderSummary| {
            row.estimate(field.headline()).map_or(f64::NEG_INFINITY, |of| of.of_field)
        };
        // Stable: equals stay in the order of their names.
        rows.sort_by(|a, b| medals(b).total_cmp(&medals(a)));
        Ok(Self { field: field.clone(), data: first.data, exposed, pad_missing, rows })
    }

    /// The runs that may stand in one table, each group for itself.
    pub fn groups(runs: &[BenchRun]) -> Vec<Vec<BenchRun>> {
        let mut groups: BTreeMap<(DataSource, bool), Vec<BenchRun>> = BTreeMap::new();
        for run in runs {
            let key = (run.data, run.feedback == Feedback::Exposed);
            groups.entry(key).or_default().push(run.clone());
        }
        groups.into_values().collect()
    }

    /// How far a row came after `steps` steps, or at the end: a mean over tasks. `None` on
    /// competitions, which have no ladder.
    pub fn way(&self, row: &ContenderSummary, steps: Option<usize>) -> Option<WayEstimate> {
        let tasks: Vec<f64> =
            self.field.competitions.iter().filter_map(|id| row.way_on(id, steps)).collect();
        WayEstimate::from_tasks(&tasks, draws("way"))
    }

    /// The difference of two rows in that, over the tasks that both have grades on.
    pub fn way_between(
        &self,
        one: &ContenderSummary,
        other: &ContenderSummary,
    ) -> Option<WayEstimate> {
        let ids = self.field.competitions.iter();
        let pairs = ids.filter_map(|id| Some(one.way_on(id, None)? - other.way_on(id, None)?));
        WayEstimate::from_tasks(&pairs.collect::<Vec<f64>>(), draws("way"))
    }

    /// Lines on how far the rows came, for the terminal.
    fn way_lines(&self) -> String {
        let mut lines = String::new();
        let found: Vec<_> =
            self.rows.iter().filter_map(|row| Some((row, self.way(row, None)?))).collect();
        if found.is_empty() {
            return lines;
        }
        lines.push_str("\nShare of the way from R0 to the ceiling, by steps:\n");
        let longest = found.iter().map(|(row, _)| row.longest()).max().unwrap_or(0);
        let steps: Vec<usize> =
            [1, 2, 5, 10, 20, 50, 100, 200, 500].into_iter().filter(|at| *at < longest).collect();
        for (row, end) in &found {
            let _ = write!(lines, "{}:", row.label());
            for &at in &steps {
                if let Some(found) = self.way(row, Some(at)) {
                    let _ = write!(lines, " {at}: {:.3},", found.mean);
                }
            }
            let (low, high) = end.interval;
            let mean = end.mean;
            let _ = writeln!(lines, " end: {mean:.3} [{low:.3}, {high:.3}], {} tasks", end.tasks);
        }
        for (index, (one, _)) in found.iter().enumerate() {
            for (other, _) in &found[index + 1..] {
                let Some(WayEstimate { mean, interval: (low, high), p, .. }) =
                    self.way_between(one, other)
                else {
                    continue;
                };
                let (one, other) = (one.label(), other.label());
                let _ = writeln!(
                    lines,
                    "{one} − {other}: {mean:+.3} [{low:+.3}, {high:+.3}], p {p:.3}"
                );
            }
        }
        lines
    }

    /// The figure of a row as it may be quoted: with both errors if all is there, else with what
    /// it is a share of.
    pub fn headline(&self, row: &ContenderSummary, measure: Measure) -> String {
        let (name, all) = (measure.name(), self.field.competitions.len());
        let Some(found) = row.estimate(measure) else { return format!("{name}: nothing played") };
        if self.is_partial(row) {
            let MeasureEstimate { mean, of_field, .. } = found;
            let grades = match row.seeds.len() {
                1 => String::new(),
                seeds => format!(", {} of {} runs", all * seeds - row.missing, all * seeds),
            };
            return format!(
                "{name} {mean:.1} % of {} played{grades} ({of_field:.1} % of {all})",
                row.played
            );
        }
        let (low, high) = found.task_interval;
        let runs = all * row.seeds.len();
        let lost = match row.missing {
            0 => String::new(),
            missing => {
                let rest = if self.pad_missing { ", the rest counted as nothing" } else { "" };
                format!(", {} of {runs} runs graded{rest}", runs - missing)
            }
        };
        format!(
            "{name} {:.1} % ± {:.1} over seeds, {low:.1} to {high:.1} over competitions{lost}",
            found.mean, found.seed_error
        )
    }

    /// Whether competitions are missing from the percentages of a row, so that they must not be
    /// compared with others.
    pub fn is_partial(&self, row: &ContenderSummary) -> bool {
        !self.pad_missing && row.played < self.field.competitions.len()
    }

    /// Two rows of this table. `None` if they have no competition in common.
    pub fn compare(
        &self,
        one: &ContenderSummary,
        other: &ContenderSummary,
        measure: Measure,
    ) -> Option<PairedDifference> {
        let differences: Vec<f64> = self
            .field
            .competitions
            .iter()
            .filter_map(|id| Some(one.share(id, measure)? - other.share(id, measure)?))
            .collect();
        let interval = bootstrap(&differences, draws("pairs"))?.interval;
        Some(PairedDifference {
            competitions: differences.len(),
            difference: 100.0 * mean(differences.iter().copied()),
            interval: (100.0 * interval.0, 100.0 * interval.1),
            won: differences.iter().filter(|difference| **difference > 0.0).count(),
            lost: differences.iter().filter(|difference| **difference < 0.0).count(),
            p: sign_flip(&differences, draws("signs")),
        })
    }
}

impl fmt::Display for BenchTable {
    /// The table for the terminal.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = self.field.competitions.len();
        write!(f, "{}, {}, {all} competitions", self.field.name, self.data)?;
        f.write_str(if self.exposed { ", agents were told the test score\n" } else { "\n" })?;
        if self.data == DataSource::StandIn {
            f.write_str("Stand-ins are small invented files: these figures mean nothing.\n")?;
        }
        let longest = self.rows.iter().map(|row| row.agent.chars().count()).max().unwrap_or(0);
        let width = longest.max(5);
        write!(
            f,
            "\n{:width$}  {:9} {:>6} {:>7} {:>6}",
            "agent", "feedback", "seeds", "played", "faults"
        )?;
        self.field
            .measures()
            .iter()
            .try_for_each(|measure| write!(f, "  {:>12}", measure.name()))?;
        let ranked = self.rows.iter().any(|row| row.human_rank.is_some());
        if ranked {
            write!(f, "  {:>9}", "HumanRank")?;
        }
        for row in &self.rows {
            let played = format!("{}/{all}", row.played);
            write!(
                f,
                "\n{:width$}  {:9} {:>6} {played:>7} {:>6}",
                row.agent,
                row.feedback.name(),
                row.seeds.len(),
                row.faults,
            )?;
            for &measure in self.field.measures() {
                let text = match row.estimate(measure) {
                    Some(found) if self.is_partial(row) => {
                        format!("{:.1} ({:.1})", found.mean, found.of_field)
                    }
                    Some(found) => format!("{:.1} ± {:.1}", found.mean, found.seed_error),
                    None => "–".to_owned(),
                };
                write!(f, "  {text:>12}")?;
            }
            if ranked {
                let rank = row
                    .human_rank
                    .map_or_else(|| "–".to_owned(), |rank| format!("{:.2}", 100.0 * rank.coded));
                write!(f, "  {rank:>9}")?;
            }
        }
        f.write_str("\n\n")?;
        if self.rows.iter().any(|row| self.is_partial(row)) {
            let text =
                "a (b): a % of what was played, b % of all; no figure to compare with others";
            writeln!(f, "{text}")?;
        }
        let measure = self.field.headline();
        let mut lines = String::new();
        for row in &self.rows {
            let _ = writeln!(lines, "{}: {}", row.label(), self.headline(row, measure));
        }
        for (index, one) in self.rows.iter().enumerate() {
            for other in &self.rows[index + 1..] {
                let Some(pair) = self.compare(one, other, measure) else { continue };
                let _ = writeln!(
                    lines,
                    "{} − {}: {} {:+.1} points [{:+.1}, {:+.1}], won {}, lost {} of {}, p {:.3}",
                    one.label(),
                    other.label(),
                    measure.name(),
                    pair.difference,
                    pair.interval.0,
                    pair.interval.1,
                    pair.won,
                    pair.lost,
                    pair.competitions,
                    pair.p,
                );
            }
        }
        f.write_str(&lines)?;
        for row in &self.rows {
            if let Some(steps) = StepTable::of(row) {
                writeln!(
                    f,
                    "\n{}, had its {} runs ended after fewer steps, in %:",
                    row.label(),
                    steps.runs
                )?;
                write!(f, "{steps}")?;
            }
        }
        f.write_str(&self.way_lines())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::outcome::BenchOutcome;
    use crate::bench::outcome::tests::run;
    use tasks::thresholds::Milestone;

    const IDS: [&str; 4] = ["a", "b", "c", "d"];

    fn field() -> BenchField {
        BenchField { name: "four".to_owned(), competitions: IDS.map(str::to_owned).to_vec() }
    }

    /// Runs of one agent: for each seed a letter per competition, G S B for medals, `v` for a
    /// valid submission, `-` for none, `x` for a fault, and a blank for no run.
    fn runs(agent: &str, seeds: &[&str]) -> Vec<BenchRun> {
        let mut runs = Vec::new();
        for (seed, letters) in seeds.iter().enumerate() {
            for (id, letter) in IDS.iter().zip(letters.chars().filter(|letter| *letter != ' ')) {
                let medal = match letter {
                    'G' => Some(Milestone::Gold),
                    'S' => Some(Milestone::Silver),
                    'B' => Some(Milestone::Bronze),
                    '.' => continue,
                    _ => None,
                };
                let mut run = run(agent, id, seed as u64, medal);
                match (letter, &mut run.outcome) {
                    ('x', outcome) => *outcome = BenchOutcome::Fault { why: "disk".to_owned() },
                    ('-', BenchOutcome::Graded(graded)) => graded.score = None,
                    _ => {}
                }
                runs.push(run);
            }
        }
        runs
    }

    fn table(runs: &[BenchRun]) -> BenchTable {
        BenchTable::from_runs(&field(), runs, false).unwrap()
    }

    #[test]
    fn percentages_have_errors_over_seeds_and_over_competitions() {
        let table = table(&runs("one", &["GSv-", "Gvv-", "GBvv"]));
        let row = &table.rows[0];
        let of = |measure| *row.estimate(measure).unwrap();
        let any = of(Measure::AnyMedal);
        // Seeds: 50, 25, 50. scipy.stats.sem([50, 25, 50]) = 8.333333333333334.
        assert!((any.mean - 125.0 / 3.0).abs() < 1e-9, "{any:?}");
        assert!((any.seed_error - 25.0 / 3.0).abs() < 1e-9, "{any:?}");
        assert!((any.seed_interval.0 - 25.333_333_333).abs() < 1e-6, "{any:?}");
        assert!((any.seed_interval.1 - 58.0).abs() < 1e-6, "{any:?}");
        // Competitions: 100, 66.7, 0, 0, whose standard deviation is 43.301 (ddof 0), over 2.
        assert!((any.task_error - 21.650_635).abs() < 0.4, "{any:?}");
        assert_eq!(any.of_field, any.mean);
        let means = Measure::ALL.map(|measure| of(measure).mean.round());
        assert_eq!(means, [83.0, 42.0, 8.0, 8.0, 25.0, 42.0].map(|mean: f64| mean));
        assert_eq!((row.missing, row.faults, row.played), (0, 0, 4));
        assert!((row.costs.hours - 100.0 / 3600.0).abs() < 1e-12);
        assert_eq!((row.costs.tokens, row.costs.total_cost), (1100.0, Some(3.0)));
    }

    #[test]
    fn faults_and_missing_competitions_are_in_no_percentage() {
        let runs = runs("one", &["Gx..", "Gv.."]);
        let unpadded = table(&runs);
        let row = &unpadded.rows[0];
        let any = row.estimate(Measure::AnyMedal).unwrap();
        // Of what was graded: 1 of 1, and 1 of 2.
        assert_eq!((any.mean, any.of_field), (75.0, 25.0));
        assert_eq!((row.played, row.missing, row.faults), (2, 5, 1));
        assert_eq!(
            unpadded.headline(row, Measure::AnyMedal),
            "any medal 75.0 % of 2 played, 3 of 8 runs (25.0 % of 4)"
        );
        let padded = BenchTable::from_runs(&field(), &runs, true).unwrap();
        assert_eq!(padded.rows[0].estimate(Measure::AnyMedal).unwrap().mean, 25.0);
        let text = padded.headline(&padded.rows[0], Measure::AnyMedal);
        assert!(text.starts_with("any medal 25.0 % ± 0.0 over seeds"), "{text}");
        assert!(text.ends_with("3 of 8 runs graded, the rest counted as nothing"), "{text}");
    }

    #[test]
    fn fault_of_one_seed_leaves_a_percentage_of_all_competitions() {
        let table = table(&runs("one", &["GGvx", "GGvv"]));
        let row = &table.rows[0];
        assert!(!table.is_partial(row));
        let any = row.estimate(Measure::AnyMedal).unwrap();
        // 2 of 3 and 2 of 4.
        assert!((any.mean - 175.0 / 3.0).abs() < 1e-9, "{any:?}");
        let text = table.headline(row, Measure::AnyMedal);
        assert!(text.ends_with("7 of 8 runs graded"), "{text}");
    }

    #[test]
    fn agent_with_nothing_but_faults_has_no_percentage() {
        let table = table(&runs("one", &["xxxx"]));
        assert_eq!(table.rows[0].estimates, None);
        assert_eq!(table.headline(&table.rows[0], Measure::Valid), "valid: nothing played");
        let padded = BenchTable::from_runs(&field(), &runs("one", &["xxxx"]), true).unwrap();
        assert_eq!(padded.rows[0].estimates, None);
    }

    #[test]
    fn three_of_the_22_competitions_are_no_headline() {
        let field = BenchField::lite();
        assert_eq!(field.competitions.len(), 22);
        let medal = |at| (at == 0).then_some(Milestone::Gold);
        let ids = field.competitions.iter().take(3).enumerate();
        let runs: Vec<BenchRun> = ids.map(|(at, id)| run("one", id, 0, medal(at))).collect();
        let table = BenchTable::from_runs(&field, &runs, false).unwrap();
        let text = table.headline(&table.rows[0], Measure::AnyMedal);
        assert_eq!(text, "any medal 33.3 % of 3 played (4.5 % of 22)");
    }

    #[test]
    fn pairs_are_compared_by_competition() {
        let mut all = runs("one", &["GSBv", "GSvv"]);
        all.extend(runs("two", &["vSvG", "vxvv"]));
        let table = table(&all);
        assert_eq!(table.rows[0].agent, "one");
        let pair = table.compare(&table.rows[0], &table.rows[1], Measure::AnyMedal).unwrap();
        // 1, 0, 0.5, -0.5: signs give sums of at least 1 in 6 of 8 cases.
        assert_eq!((pair.competitions, pair.won, pair.lost), (4, 2, 1));
        assert_eq!((pair.difference, pair.p), (25.0, 0.75));
        assert!(pair.interval.0 < 0.0 && pair.interval.1 > 50.0, "{pair:?}");
        let back = table.compare(&table.rows[1], &table.rows[0], Measure::AnyMedal).unwrap();
        assert_eq!((back.difference, back.p, back.won), (-25.0, 0.75, 1));
    }

    #[test]
    fn errors_of_a_comparison_cover_the_truth_as_often_as_they_say() {
        // 25 % of 22: the standard error is 9.2 points.
        let field = BenchField::lite();
        let medal = |at| (at % 4 == 0).then_some(Milestone::Gold);
        let ids = field.competitions.iter().enumerate();
        let runs: Vec<BenchRun> = ids.map(|(at, id)| run("one", id, 0, medal(at))).collect();
        let table = BenchTable::from_runs(&field, &runs, false).unwrap();
        let any = table.rows[0].estimate(Measure::AnyMedal).unwrap();
        assert!((any.task_error - 9.5).abs() < 0.2, "{any:?}");
        assert_eq!(any.seed_error, 0.0);
    }

    #[test]
    fn runs_that_cannot_stand_in_one_table_are_refused() {
        let error = |change: &dyn Fn(&mut BenchRun)| {
            let mut all = runs("one", &["GSBv"]);
            let mut other = runs("two", &["G..."]);
            other.iter_mut().for_each(change);
            all.extend(other);
            BenchTable::from_runs(&field(), &all, false).unwrap_err().to_string()
        };
        let texts = [
            error(&|run| run.data = DataSource::StandIn),
            error(&|run| run.feedback = Feedback::Exposed),
            error(&|run| run.competition = "e".to_owned()),
            error(&|run| run.agent = "one".to_owned()),
            BenchTable::from_runs(&field(), &[], false).unwrap_err().to_string(),
        ];
        insta::assert_snapshot!(texts.join("\n"));
    }

    #[test]
    fn groups_part_what_no_table_may_mix() {
        let mut all = runs("one", &["GSBv"]);
        all[1].data = DataSource::StandIn;
        all[2].feedback = Feedback::Exposed;
        all[3].feedback = Feedback::Tier;
        let groups = BenchTable::groups(&all);
        assert_eq!(groups.iter().map(Vec::len).collect::<Vec<_>>(), [2, 1, 1]);
        assert!(groups.iter().all(|runs| BenchTable::from_runs(&field(), runs, false).is_ok()));
    }

    #[test]
    fn table_shows_what_can_be_quoted() {
        let mut all = runs("aide/strong", &["GSBv", "GSvv"]);
        all.extend(runs("react/weak", &["vx.-"]));
        insta::assert_snapshot!(table(&all));
    }
}
