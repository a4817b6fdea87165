//! The page that shows agents side by side on a benchmark.

use crate::bench::contender::{ContenderSummary, grade};
use crate::bench::measure::{Measure, MeasureEstimate};
use crate::bench::outcome::BenchRun;
use crate::bench::paper::{PaperBeside, PaperRow};
use crate::bench::summary::BenchTable;
use crate::report::RunPages;
use maud::{Markup, html};
use tasks::task::DataSource;
use tasks::thresholds::Milestone;
use web::chart::{ChartRow, Mark, RowChart};
use web::page::{Document, scroll};

const STYLE: &str = include_str!("leaderboard.css");
const SCRIPT: &str = include_str!("leaderboard.js");

/// All that goes on the page.
#[derive(Debug, Clone)]
pub struct LeaderboardPage {
    /// Heading of the page, as plain text.
    pub title: String,
    /// Under which conditions agents ran, one per line: internet, hardware, packages, weights,
    /// limits, known leaks, who chose the submission.
    pub conditions: Vec<(String, String)>,
    /// Each kind of data, and agents that were told the test score, for themselves.
    pub tables: Vec<LeaderboardTable>,
}

/// One table, with what else belongs to it.
#[derive(Debug, Clone)]
pub struct LeaderboardTable {
    /// Agents side by side.
    pub table: BenchTable,
    /// Where the pages of runs lie.
    pub run_pages: RunPages,
    /// Rows of the paper, each with the name of an agent of ours and the differences.
    pub paper: Vec<(PaperRow, String, Vec<PaperBeside>)>,
}

impl LeaderboardPage {
    /// The whole page. It fetches nothing, and runs no script but its own.
    pub fn html(&self) -> String {
        let body = html! {
            h1 { (self.title) }
            @for table in &self.tables { (table.html()) }
            h2 { "Conditions" }
            @if self.conditions.is_empty() {
                p.note { "none recorded" }
            } @else {
                dl.facts.card {
                    @for (name, value) in &self.conditions { div { dt { (name) } dd { (value) } } }
                }
            }
        };
        Document { title: &self.title, style: STYLE, body }.html_with_script(SCRIPT)
    }
}

impl LeaderboardTable {
    fn html(&self) -> Markup {
        let table = &self.table;
        let all = table.field.competitions.len();
        html! {
            h2 {
                (table.field.name) ", " (table.data)
                @if table.exposed { ", test score told" }
            }
            @if table.data == DataSource::StandIn {
                p.band {
                    span {
                        "Stand-in data: small invented files in the formats of the real ones. "
                        "They test programs; medals and percentages on them mean nothing."
                    }
                }
            }
            @if table.exposed {
                p.flag {
                    "Agents were told their score on all test rows while they worked. These "
                    "figures must not be compared with any where they were not."
                }
            }
            section.card { (chart(table)) (scroll("agents side by side", &board(table))) }
            section.card { (scroll("what agents took", &costs(table))) }
            p.note {
                "Percentages of the " (all) " competitions, mean over seeds ± standard error over "
                "seeds; below, the 95 % interval of a bootstrap over competitions, which is the "
                "larger uncertainty. Steps, times, tokens and dollars are means per graded run. "
                "Faults are errors of ours: "
                @if table.pad_missing {
                    "with everything else that has no grade, they count as nothing here."
                } @else {
                    "they are in no percentage."
                }
                @if table.rows.iter().any(|row| table.is_partial(row)) {
                    " “a of b” is a percentage of what was played only, with that of all "
                    "competitions below: no figure to compare with others."
                }
            }
            h3 { "By competition" }
            (matrix(self))
            @if table.rows.len() > 1 {
                h3 { "Two agents at a time" }
                p.note {
                    "Any medal, on the competitions that both played; p by flipping the signs of "
                    "competitions, two-sided. With one seed, at least 6 competitions won and none "
                    "lost are needed for p < .05, so most small differences are chance."
                }
                section.card { (scroll("differences of two agents", &pairs(table))) }
            }
            @if !self.paper.is_empty() {
                h3 { "Beside the paper" }
                p.note {
                    "In competitions. The paper ran every competition once; ours are means over "
                    "seeds, and what has no grade counts as nothing."
                }
                section.card { (scroll("ours beside the paper", &paper(&self.paper))) }
            }
        }
    }
}

/// A text with a capital first letter.
fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// The headline as bars.
fn chart(table: &BenchTable) -> Markup {
    let row = |row: &ContenderSummary| {
        let estimate = row.estimate(table.field.headline());
        let marks = estimate.map(|found| {
            let (value, interval) = (found.mean, Some(found.task_interval));
            let mark = Mark::Bar { value, series: 0, interval, target: None };
            (mark, format!("{:.1}", found.mean))
        });
        ChartRow {
            label: row.label(),
            note: String::new(),
            detail: row.label(),
            marks: marks.into_iter().collect(),
        }
    };
    let chart = RowChart {
        title: capital(table.field.headline().name()),
        x_label: "% of what was played, with 95 % intervals over competitions".to_owned(),
        rows: table.rows.iter().map(row).collect(),
        reversed: false,
        reference: None,
    };
    chart.html()
}

/// A head that sorts its column, the largest first unless smaller is what one looks for.
fn head(name: &str, first: &str) -> Markup {
    html! { th.number scope="col" data-first=(first) { button type="button" { (name) } } }
}

/// A cell with the number that its column is sorted by.
fn cell(value: Option<f64>, text: &str, below: &str) -> Markup {
    html! {
        td.number data-value=[value] {
            (text) @if !below.is_empty() { small { (below) } }
        }
    }
}

/// What agents reached.
fn board(table: &BenchTable) -> Markup {
    let all = table.field.competitions.len();
    let ranked = table.rows.iter().any(|row| row.human_rank.is_some());
    html! {
        table.board {
            thead {
                tr {
                    th scope="col" data-first="ascending" { button type="button" { "agent" } }
                    th scope="col" data-first="ascending" { button type="button" { "feedback" } }
                    (head("played", "descending"))
                    @for measure in table.field.measures() { (head(measure.name(), "descending")) }
                    @if ranked { (head("HumanRank", "descending")) }
                }
            }
            tbody { @for row in &table.rows { (board_row(table, row, all, ranked)) } }
        }
    }
}

fn board_row(table: &BenchTable, row: &ContenderSummary, all: usize, ranked: bool) -> Markup {
    let runs = all * row.seeds.len();
    let seeds = match (row.missing, row.seeds.len()) {
        (0, 1) => "1 seed".to_owned(),
        (0, several) => format!("{several} seeds"),
        (missing, _) => format!("{} of {runs} runs", runs - missing),
    };
    html! {
        tr {
            th scope="row" data-value=(row.agent) { (row.agent) }
            td data-value=(row.feedback.name()) { (row.feedback.name()) }
            (cell(Some(row.played as f64), &format!("{}/{all}", row.played), &seeds))
            @for &measure in table.field.measures() { (percentage(table, row, row.estimate(measure))) }
            @match row.human_rank {
                Some(rank) => (cell(
                    Some(rank.coded),
                    &format!("{:.1}", 100.0 * rank.coded),
                    &format!("printed {:.1}", 100.0 * rank.printed),
                )),
                None if ranked => (cell(None, "–", "")),
                None => {}
            }
        }
    }
}

/// What that took.
fn costs(table: &BenchTable) -> Markup {
    html! {
        table.board {
            thead {
                tr {
                    th scope="col" data-first="ascending" { button type="button" { "agent" } }
                    @for name in ["steps", "time", "in scripts", "waiting for the model", "tokens",
                        "dollars", "dollars, all runs", "faults"]
                    {
                        (head(name, "ascending"))
                    }
                }
            }
            tbody { @for row in &table.rows { (cost_row(row)) } }
        }
    }
}

fn cost_row(row: &ContenderSummary) -> Markup {
    let costs = &row.costs;
    let known = |value: f64, text: fn(f64) -> String| match row.estimates {
        Some(_) => cell(Some(value), &text(value), ""),
        None => cell(None, "–", ""),
    };
    let dollars = |found: Option<f64>| {
        cell(found, &found.map_or_else(|| "–".to_owned(), |cost| format!("{cost:.2}")), "")
    };
    html! {
        tr {
            th scope="row" data-value=(row.agent) { (row.agent) }
            (known(costs.steps, |steps| format!("{steps:.1}")))
            (known(costs.hours, time))
            (known(costs.script_hours, time))
            (known(costs.player_hours, time))
            (known(costs.tokens, thousands))
            (dollars(costs.cost.filter(|_| row.estimates.is_some())))
            (dollars(costs.total_cost))
            (cell(Some(row.faults as f64), &row.faults.to_string(), ""))
        }
    }
}

/// A number of hours, in the unit that fits it.
fn time(hours: f64) -> String {
    let seconds = hours * 3600.0;
    match seconds {
        7200.0.. => format!("{hours:.1} h"),
        120.0.. => format!("{:.1} min", seconds / 60.0),
        _ => format!("{seconds:.1} s"),
    }
}

/// A percentage with both errors; without all grades, with what it is a percentage of.
fn percentage(
    table: &BenchTable,
    row: &ContenderSummary,
    found: Option<&MeasureEstimate>,
) -> Markup {
    let Some(found) = found else { return cell(None, "–", "") };
    let all = table.field.competitions.len();
    if table.is_partial(row) {
        let text = format!("{:.1} of {}", found.mean, row.played);
        return cell(Some(found.of_field), &text, &format!("{:.1} of {all}", found.of_field));
    }
    let (low, high) = found.task_interval;
    let text = format!("{:.1} ± {:.1}", found.mean, found.seed_error);
    cell(Some(found.of_field), &text, &format!("{low:.0} to {high:.0}"))
}

/// A number of tokens.
fn thousands(tokens: f64) -> String {
    match tokens {
        1e6.. => format!("{:.1} M", tokens / 1e6),
        1e3.. => format!("{:.1} k", tokens / 1e3),
        _ => format!("{tokens:.0}"),
    }
}

/// Letter, class and words of a run in the matrix.
fn mark(run: &BenchRun) -> (&'static str, &'static str, &'static str) {
    let Some(graded) = grade(run) else { return ("×", "fault", "a fault of ours") };
    match graded.medal {
        Some(Milestone::Gold) => ("G", "gold", "gold medal"),
        Some(Milestone::Silver) => ("S", "silver", "silver medal"),
        Some(Milestone::Bronze) => ("B", "bronze", "bronze medal"),
        _ if graded.above_median => ("M", "median", "above the median"),
        _ if graded.valid() => ("V", "valid", "valid"),
        _ => ("–", "nothing", "no valid submission"),
    }
}

fn matrix(part: &LeaderboardTable) -> Markup {
    let table = &part.table;
    let keys = [
        ("G", "gold", "gold"),
        ("S", "silver", "silver"),
        ("B", "bronze", "bronze"),
        ("M", "median", "above the median"),
        ("V", "valid", "valid"),
        ("–", "nothing", "no valid submission"),
        ("×", "fault", "a fault of ours"),
    ];
    let wide = html! {
        table.matrix {
            thead {
                tr {
                    th scope="col" { "competition" }
                    @for row in &table.rows { th scope="col" { (row.label()) } }
                }
            }
            tbody {
                @for id in &table.field.competitions {
                    tr {
                        th scope="row" { (id) }
                        @for row in &table.rows {
                            td { @for run in row.runs_on(id) { (run_mark(part, run)) } }
                        }
                    }
                }
            }
        }
    };
    html! {
        p.key-line {
            @for (letter, class, words) in keys {
                span { span class=(format!("mark-cell {class}")) { (letter) } " " (words) }
            }
            span {
                "one letter per seed"
                @if !part.run_pages.is_empty() { ", which opens its run" }
                "; blank where nothing was played"
            }
        }
        section.card { (scroll("results by competition", &wide)) }
    }
}

fn run_mark(part: &LeaderboardTable, run: &BenchRun) -> Markup {
    let (letter, class, words) = mark(run);
    let class = format!("mark-cell {class}");
    let score = grade(run).and_then(|graded| graded.score);
    let score = score.map_or_else(String::new, |score| format!(", score {score}"));
    let title = format!("seed {}: {words}{score}", run.seed);
    let link = part.run_pages.link(run);
    html! {
        @if let Some(link) = link {
            a class=(class) title=(title) aria-label=(title) href=(link) { (letter) }
        } @else {
            span class=(class) title=(title) { (letter) }
        }
    }
}

fn pairs(table: &BenchTable) -> Markup {
    let rows = table.rows.iter().enumerate().flat_map(|(index, one)| {
        let later = &table.rows[index + 1..];
        later.iter().filter_map(move |other| {
            Some((one, other, table.compare(one, other, table.field.headline())?))
        })
    });
    html! {
        table.board {
            thead {
                tr {
                    th scope="col" data-first="ascending" { button type="button" { "first" } }
                    th scope="col" data-first="ascending" { button type="button" { "second" } }
                    (head("difference", "descending"))
                    th.number scope="col" { "95 % interval" }
                    (head("won", "descending"))
                    (head("lost", "ascending"))
                    (head("of", "descending"))
                    (head("p", "ascending"))
                }
            }
            tbody {
                @for (one, other, pair) in rows {
                    tr {
                        th scope="row" data-value=(one.label()) { (one.label()) }
                        td data-value=(other.label()) { (other.label()) }
                        (cell(Some(pair.difference), &format!("{:+.1}", pair.difference), ""))
                        td.number { (format!("{:+.1} to {:+.1}", pair.interval.0, pair.interval.1)) }
                        (cell(Some(pair.won as f64), &pair.won.to_string(), ""))
                        (cell(Some(pair.lost as f64), &pair.lost.to_string(), ""))
                        (cell(Some(pair.competitions as f64), &pair.competitions.to_string(), ""))
                        (cell(Some(pair.p), &format!("{:.3}", pair.p), ""))
                    }
                }
            }
        }
    }
}

fn paper(rows: &[(PaperRow, String, Vec<PaperBeside>)]) -> Markup {
    html! {
        table.board {
            thead {
                tr {
                    th scope="col" { "paper" }
                    th scope="col" { "ours" }
                    @for measure in Measure::ALL { th.number scope="col" { (measure.name()) } }
                }
            }
            tbody {
                @for (row, agent, entries) in rows {
                    tr {
                        th scope="row" {
                            (row.label()) @if !row.note.is_empty() { " " small { (row.note) } }
                        }
                        td { (agent) }
                        @for measure in Measure::ALL {
                            @match entries.iter().find(|entry| entry.measure == measure) {
                                Some(entry) => td.number {
                                    (format!("{:+.1}", entry.difference))
                                    small { (format!("{:.1} to {:.0}", entry.ours, entry.theirs)) }
                                },
                                None => td.number { "–" },
                            }
                        }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::outcome::BenchOutcome;
    use crate::bench::outcome::tests::run;
    use crate::bench::paper::{beside, rows};
    use crate::bench::summary::BenchField;
    use camino::Utf8Path;
    use rand::RngExt as _;
    use sandbox::env::Feedback;
    use tasks::stream::Stream;

    const EVIL: &str = "</script></style><img src=x onerror=alert(1)>\u{2028}\u{1b}\"'&";

    fn runs(agents: &[&str], seeds: u64, data: DataSource) -> Vec<BenchRun> {
        let medals =
            [None, None, Some(Milestone::Bronze), Some(Milestone::Silver), Some(Milestone::Gold)];
        let mut runs = Vec::new();
        for agent in agents {
            for id in BenchField::lite().competitions {
                let mut rng = Stream::root(0).child(agent).child(&id).rng();
                for seed in 0..seeds {
                    let medal = medals[rng.random_range(0..medals.len())];
                    let mut run = run(agent, &id, seed, medal);
                    run.data = data;
                    match (&mut run.outcome, rng.random_range(0..12)) {
                        (outcome, 0) => *outcome = BenchOutcome::Fault { why: EVIL.to_owned() },
                        (BenchOutcome::Graded(graded), 1..=3) if medal.is_none() => {
                            graded.score = None;
                        }
                        (BenchOutcome::Graded(graded), 4..=6) => graded.above_median = true,
                        _ => {}
                    }
                    runs.push(run);
                }
            }
        }
        runs
    }

    fn part(runs: &[BenchRun]) -> LeaderboardTable {
        let table = BenchTable::from_runs(&BenchField::lite(), runs, false).unwrap();
        LeaderboardTable { table, run_pages: RunPages::default(), paper: Vec::new() }
    }

    fn page(tables: Vec<LeaderboardTable>) -> LeaderboardPage {
        let conditions = vec![("internet".to_owned(), "none".to_owned())];
        LeaderboardPage { title: "Agents on MLE-bench-lite".to_owned(), conditions, tables }
    }

    #[test]
    fn hostile_names_are_shown_as_text() {
        let part = part(&runs(&[EVIL, "b"], 2, DataSource::StandIn));
        let mut page = page(vec![part]);
        page.title = EVIL.to_owned();
        page.conditions.push((EVIL.to_owned(), EVIL.to_owned()));
        let html = page.html();
        assert_eq!(html.matches("</script>").count(), 1);
        assert_eq!(html.matches("</style>").count(), 1);
        for refused in ["<img", "javascript:", "\u{1b}", "http:", "https:", " style="] {
            assert!(!html.contains(refused), "{refused:?}");
        }
        assert!(html.contains("&lt;img src=x"));
        assert!(html.contains("Content-Security-Policy") && html.contains("class=\"band\""));
    }

    #[test]
    fn page_of_twenty_agents_is_small() {
        let names: Vec<String> = (0..20).map(|index| format!("agent {index}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let html = page(vec![part(&runs(&names, 3, DataSource::Real))]).html();
        assert!(html.len() < 600_000, "{}", html.len());
        assert!(!html.contains("class=\"band\"") && !html.contains("class=\"flag\""));
    }

    #[test]
    fn every_run_with_a_page_is_linked() {
        let folder = tempfile::tempdir().unwrap();
        let out = Utf8Path::from_path(folder.path()).unwrap();
        let runs = runs(&["a"], 1, DataSource::Real);
        for run in &runs[..5] {
            let path = out.join(format!("runs/{}/seed0", run.competition));
            fs_err::create_dir_all(&path).unwrap();
            fs_err::write(path.join("tree.html"), "").unwrap();
        }
        let mut part = part(&runs);
        assert!(!page(vec![part.clone()]).html().contains("href"));
        part.run_pages.find(&runs, out, out);
        assert_eq!(page(vec![part]).html().matches("href=\"runs/").count(), 5);
    }

    /// `LEADERBOARD_PAGE=FILE` writes the page, to look at it.
    #[test]
    fn page_shows_each_kind_of_runs_for_itself() {
        let names = ["aide/qwen3-30b", "aira-greedy/qwen3-30b", "react/qwen3-14b"];
        let mut all = runs(&names, 3, DataSource::Real);
        all.retain(|run| run.agent != names[2] || run.competition.as_str() < "e");
        let mut exposed = runs(&["react/qwen3-30b"], 1, DataSource::Real);
        for run in &mut exposed {
            run.feedback = Feedback::Exposed;
        }
        all.extend(exposed);
        all.extend(runs(&["script/sample", "script/reference"], 1, DataSource::StandIn));
        let groups = BenchTable::groups(&all);
        let mut tables: Vec<LeaderboardTable> = groups.iter().map(|runs| part(runs)).collect();
        let ours = tables[0].table.rows[0].clone();
        let row = rows().into_iter().find(|row| row.table == "table 2").unwrap();
        let entries = beside(&row, &tables[0].table, &ours).unwrap();
        tables[0].paper.push((row, ours.agent.clone(), entries));
        let html = page(tables).html();
        if let Ok(path) = std::env::var("LEADERBOARD_PAGE") {
            fs_err::write(path, &html).unwrap();
        }
        assert_eq!(html.matches("class=\"band\"").count(), 1);
        assert_eq!(html.matches("class=\"flag\"").count(), 1);
        for heading in ["Two agents at a time", "Beside the paper", "Conditions"] {
            assert!(html.contains(heading), "{heading}");
        }
        assert!(html.contains(" of 6<small>") && html.contains(" ± "), "both kinds of rows");
    }
}
