//! The HTML page of a report, in the order of its sections.

use super::table::ReportTable;
use crate::evaluation::{Evaluation, EvaluationRow, percent};
use agents::trajectory::{EpisodeOutcome, Source, Trajectory};
use camino::Utf8PathBuf;
use fs_err as fs;
use maud::{Markup, html};
use sandbox::env::EpisodeResult;
use tasks::description::glance;
use tasks::metrics::Direction;
use tasks::task::{Manifest, TaskDir};
use tasks::thresholds::Milestone;
use web::chart::{ChartRow, LadderChart, LineChart, Mark, RowChart};
use web::page::{Document, prose, scroll};

const STYLE: &str = include_str!("page.css");

/// Rows of a task's training table that are shown.
const HEAD_ROWS: usize = 5;

/// All that goes on the page. What is empty is left out.
#[derive(Debug, Clone)]
pub struct Report {
    /// Heading of the page, as plain text.
    pub title: String,
    /// Key figures of a run, one per line: name and value.
    pub facts: Vec<(String, String)>,
    /// Agents side by side.
    pub evaluation: Option<Evaluation>,
    /// Tables under headings of their own.
    pub sections: Vec<ReportSection>,
    /// Learning curves of a training run.
    pub charts: Vec<LineChart>,
    /// Stages of task making and how many tasks passed or left there, in order.
    pub funnel: Vec<(String, u64)>,
    /// Tasks to look at.
    pub tasks: Vec<TaskCard>,
    /// Episodes to read, each with a heading.
    pub trajectories: Vec<(String, Trajectory)>,
    /// Settings to look up, as written, each with a heading.
    pub settings: Vec<(String, String)>,
}

/// Tables under one heading.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReportSection {
    /// The heading, as plain text.
    pub title: String,
    /// What is said before the tables.
    pub note: String,
    /// The tables, in order.
    pub tables: Vec<ReportTable>,
}

impl ReportSection {
    /// The section in Markdown.
    pub fn markdown(&self) -> String {
        let mut text = format!("## {}\n\n{}\n", self.title, self.note);
        for table in &self.tables {
            text.push('\n');
            text.push_str(&table.markdown());
        }
        text
    }

    fn html(&self) -> Markup {
        html! {
            h2 { (self.title) }
            p { (prose(&self.note)) }
            @for table in &self.tables { (table.html()) }
        }
    }
}

/// A task as shown on the page.
#[derive(Debug, Clone)]
pub struct TaskCard {
    manifest: Manifest,
    glance: String,
    head: Vec<csv::StringRecord>,
}

/// Why a task could not be shown.
#[derive(Debug, thiserror::Error)]
pub enum CardError {
    /// A file of the task is unreadable.
    #[error("failed to read a file of the task")]
    Io(#[from] std::io::Error),
    /// The training table is no CSV file.
    #[error("failed to parse `{path}`")]
    Csv {
        /// Path of the training table.
        path: Utf8PathBuf,
        /// Where the CSV cannot be parsed.
        #[source]
        source: csv::Error,
    },
}

impl TaskCard {
    /// Reads what the page shows of a task.
    ///
    /// # Errors
    /// [`CardError`].
    pub fn of(task: &TaskDir) -> Result<Self, CardError> {
        let public = task.public();
        let description = fs::read_to_string(public.path().join("description.md"))?;
        let path = public.path().join("train.csv");
        let mut reader = csv::Reader::from_reader(fs::File::open(&path)?);
        let csv_error = |source| CardError::Csv { path: path.clone(), source };
        let mut head = vec![reader.headers().map_err(csv_error)?.clone()];
        for record in reader.records().take(HEAD_ROWS) {
            head.push(record.map_err(csv_error)?);
        }
        Ok(Self {
            manifest: task.manifest().clone(),
            glance: glance(&description).unwrap_or_default().to_owned(),
            head,
        })
    }

    fn html(&self) -> Markup {
        let manifest = &self.manifest;
        let mut rows = self.head.iter();
        let table = html! {
            table {
                @if let Some(header) = rows.next() {
                    tr { @for cell in header { th scope="col" { (cell) } } }
                }
                @for record in rows { tr { @for cell in record { td { (cell) } } } }
            }
        };
        html! {
            details {
                summary {
                    b { (manifest.title) } " " code { (manifest.id) } " from "
                    code { (manifest.seed_task) }
                }
                pre { (self.glance) }
                (scroll("the first rows of train.csv", &table))
                (ladder(manifest))
            }
        }
    }
}

/// Baselines and thresholds on one axis.
fn ladder(manifest: &Manifest) -> Markup {
    let thresholds = &manifest.thresholds;
    let chart = LadderChart {
        metric: manifest.metric.to_string(),
        lower_is_better: manifest.direction() == Direction::LowerIsBetter,
        baselines: manifest.baselines.ladder,
        ceiling: manifest.baselines.ceiling,
        milestones: [
            thresholds.median_threshold,
            thresholds.bronze_threshold,
            thresholds.silver_threshold,
            thresholds.gold_threshold,
        ],
    };
    chart.html()
}

impl Report {
    /// The whole page; nothing in it is fetched from anywhere.
    pub fn html(&self) -> String {
        let body = html! {
            h1 { (self.title) }
            @if !self.facts.is_empty() {
                h2 { "State of the run" }
                dl.facts.card {
                    @for (name, value) in &self.facts { div { dt { (name) } dd { (value) } } }
                }
            }
            @if let Some(evaluation) = &self.evaluation {
                h2 { "Comparison" }
                (comparison(evaluation))
            }
            @for section in &self.sections { (section.html()) }
            @if !self.charts.is_empty() {
                h2 { "Learning curves" }
                div.grid { @for chart in &self.charts { section.card { (chart.html()) } } }
            }
            @if !self.funnel.is_empty() {
                h2 { "How the tasks were made" }
                div.grid { section.card { (funnel(&self.funnel)) } }
            }
            @if !self.tasks.is_empty() {
                h2 { "Example tasks" }
                @for task in &self.tasks { (task.html()) }
            }
            @if !self.trajectories.is_empty() {
                h2 { "Trajectories" }
                @for (heading, trajectory) in &self.trajectories {
                    (conversation(heading, trajectory))
                }
            }
            @if !self.settings.is_empty() {
                h2 { "Settings" }
                @for (heading, text) in &self.settings {
                    details { summary { (heading) } pre { (text) } }
                }
            }
        };
        Document { title: &self.title, style: STYLE, body }.html()
    }
}

/// A bar per stage.
fn funnel(stages: &[(String, u64)]) -> Markup {
    let bar = |(name, count): &(String, u64)| (name.clone(), *count as f64, count.to_string());
    let bars: Vec<(String, f64, String)> = stages.iter().map(bar).collect();
    RowChart::bars("", "attempts", &bars).html()
}

fn comparison(evaluation: &Evaluation) -> Markup {
    let row = |row: &EvaluationRow| {
        let (low, high) = (row.reward - row.reward_error, row.reward + row.reward_error);
        let interval = Some((low, high));
        let mark = Mark::Bar { value: row.reward, series: 0, interval, target: None };
        ChartRow {
            label: row.agent.clone(),
            note: String::new(),
            detail: row.agent.clone(),
            marks: vec![(mark, format!("{:.3}", row.reward))],
        }
    };
    let chart = RowChart {
        title: String::new(),
        x_label: "reward ± standard error".to_owned(),
        rows: evaluation.rows.iter().map(row).collect(),
        reversed: false,
        reference: None,
    };
    let columns = ["reward", "valid", "median", "bronze", "silver", "gold", "turns"];
    let table = html! {
        table {
            tr {
                th scope="col" { "agent" }
                @for name in columns { th.number scope="col" { (name) } }
            }
            @for row in &evaluation.rows {
                tr {
                    th scope="row" { (row.agent) }
                    td.number { (format!("{:.3} ± {:.3}", row.reward, row.reward_error)) }
                    @for share in [row.valid, row.median, row.bronze, row.silver, row.gold] {
                        td.number { (percent(share)) }
                    }
                    td.number { (format!("{:.1}", row.turns)) }
                }
            }
        }
    };
    html! {
        p {
            (evaluation.tasks) " held-out tasks, " (evaluation.attempts) " episodes each, sampled "
            "with the same seeds for every policy. Reward ± its standard error over tasks; the "
            "shares count a tier as reached when it or a better one is."
            @if evaluation.is_guided() {
                " These episodes are guided: people could advise the agents. They are not compared with "
                "unguided ones."
            }
        }
        div.comparison.card { (chart.html()) (scroll("agents side by side", &table)) }
    }
}

fn conversation(heading: &str, trajectory: &Trajectory) -> Markup {
    let result = match &trajectory.outcome {
        EpisodeOutcome::Mle(EpisodeResult { grade: Some(grade), .. }) => {
            format!("score {:.5}, tier {}", grade.score, grade.tier.map_or("none", Milestone::name))
        }
        EpisodeOutcome::Mle(EpisodeResult { refusal: Some(refusal), .. }) => refusal.clone(),
        EpisodeOutcome::Mle(_) => "no submission".to_owned(),
        EpisodeOutcome::World(verdict) => format!("score {:.5}", verdict.score),
    };
    let hidden = |before: usize| {
        let here = trajectory.omissions.iter().filter(move |omission| omission.before == before);
        here.map(|omission| {
            let parts: Vec<String> =
                omission.segments.iter().map(|index| format!("#{}", index + 1)).collect();
            (parts.len(), parts.join(", "))
        })
    };
    let kind = |source: &Source| match source {
        Source::Prompt => ("prompt", "prompt"),
        Source::Model => ("model", "agent"),
        Source::Environment => ("environment", "environment"),
        Source::Guide => ("prompt", "advice"),
    };
    html! {
        details {
            summary {
                b { (heading) } " on " code { (trajectory.task) } ": reward "
                (format!("{:.2}", trajectory.reward.total())) ", " (result)
            }
            @for (index, segment) in trajectory.segments.iter().enumerate() {
                @for (count, parts) in hidden(index) {
                    p {
                        "From here on " (count) " of the parts above are hidden from the agent, "
                        "for lack of room: " (parts) "."
                    }
                }
                @let (class, name) = kind(&segment.source);
                div class=(format!("turn {class}")) {
                    small { "#" (index + 1) " " (name) }
                    pre { (segment.text.trim()) }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use web::chart::Curve;

    #[test]
    fn report_shows_markup_as_text_and_fetches_nothing() {
        let evil = "</style><script>alert('\"&')</script>\u{1b}";
        let points = vec![(0.0, 0.25), (1.0, 0.5)];
        let report = Report {
            title: evil.to_owned(),
            facts: vec![(evil.to_owned(), evil.to_owned())],
            evaluation: None,
            sections: vec![ReportSection {
                title: "What was learnt".to_owned(),
                note: evil.to_owned(),
                tables: vec![ReportTable {
                    title: evil.to_owned(),
                    note: evil.to_owned(),
                    columns: vec![evil.to_owned(); 2],
                    rows: vec![vec![evil.to_owned(); 2]],
                }],
            }],
            charts: vec![LineChart {
                title: evil.to_owned(),
                x_label: evil.to_owned(),
                curves: vec![Curve { name: evil.to_owned(), points }],
                y_range: None,
            }],
            funnel: vec![(evil.to_owned(), 3)],
            tasks: Vec::new(),
            trajectories: Vec::new(),
            settings: vec![("rl train".to_owned(), evil.to_owned())],
        };
        let html = report.html();
        assert!(html.contains("&lt;script&gt;") && html.contains('\u{fffd}'));
        for refused in ["<script", "\u{1b}", "http:", "https:", "src=", "href="] {
            assert!(!html.contains(refused), "{refused:?}");
        }
        for heading in ["What was learnt", "Learning curves", "How the tasks were made", "Settings"]
        {
            assert!(html.contains(&format!("<h2>{heading}</h2>")), "{heading}");
        }
        for heading in ["Comparison", "Example tasks", "Trajectories"] {
            assert!(!html.contains(&format!("<h2>{heading}</h2>")), "{heading}");
        }
    }
}
