//! The HTML page of a report, in the order of its sections.

use crate::evaluation::{Evaluation, percent};
use agents::prompt::glance;
use agents::trajectory::{EpisodeOutcome, Source, Trajectory};
use camino::Utf8PathBuf;
use fs_err as fs;
use sandbox::env::EpisodeResult;
use std::fmt::Write as _;
use tasks::task::{Manifest, TaskDir};
use tasks::thresholds::Milestone;
use web::chart::Chart;
use web::html::escape;

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
    /// Learning curves of a training run.
    pub charts: Vec<Chart>,
    /// Stages of task making and how many tasks passed or left there, in order.
    pub funnel: Vec<(String, u64)>,
    /// Tasks to look at.
    pub tasks: Vec<TaskCard>,
    /// Episodes to read, each with a heading.
    pub trajectories: Vec<(String, Trajectory)>,
    /// Settings to look up, as written, each with a heading.
    pub settings: Vec<(String, String)>,
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

    fn html(&self) -> String {
        let manifest = &self.manifest;
        let mut html = format!(
            "<details><summary><b>{}</b> <code>{}</code> from <code>{}</code></summary><pre>{}</pre>",
            escape(&manifest.title),
            manifest.id,
            escape(&manifest.seed_task),
            escape(&self.glance)
        );
        html.push_str("<div class=\"scroll\"><table>");
        for (index, record) in self.head.iter().enumerate() {
            let tag = if index == 0 { "th" } else { "td" };
            html.push_str("<tr>");
            for cell in record {
                let _ = write!(html, "<{tag}>{}</{tag}>", escape(cell));
            }
            html.push_str("</tr>");
        }
        html.push_str("</table></div>");
        html.push_str(&ladder(manifest));
        html.push_str("</details>");
        html
    }
}

/// Baselines and thresholds on one line, the better end to the right.
fn ladder(manifest: &Manifest) -> String {
    let direction = manifest.direction();
    let mut marks: Vec<(String, f64, bool)> = Vec::new();
    for (rung, score) in manifest.baselines.ladder.iter().enumerate() {
        marks.push((format!("R{rung}"), *score, true));
    }
    marks.push(("ceiling".to_owned(), manifest.baselines.ceiling, true));
    for (tier, threshold) in manifest.thresholds.ascending() {
        marks.push((tier.name().to_owned(), threshold, false));
    }
    let gains: Vec<f64> = marks.iter().map(|(_, value, _)| direction.gain(*value)).collect();
    let low = gains.iter().copied().fold(f64::INFINITY, f64::min);
    let high = gains.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let spread = if high > low { high - low } else { 1.0 };
    let mut html = format!(
        "<svg viewBox=\"0 0 640 96\" class=\"ladder\" role=\"img\" aria-label=\"baselines above, \
         thresholds below, {} better to the right\"><line class=\"grid\" x1=\"30\" x2=\"610\" \
         y1=\"48\" y2=\"48\"/>",
        manifest.metric
    );
    // Neighbours alternate in height so that close labels stay readable.
    let mut order: Vec<usize> = (0..marks.len()).collect();
    order.sort_by(|a, b| gains[*a].total_cmp(&gains[*b]));
    let mut turns = [0usize; 2];
    for index in order {
        let (name, value, baseline) = &marks[index];
        let x = 30.0 + (gains[index] - low) / spread * 580.0;
        let turn = &mut turns[usize::from(*baseline)];
        let lift = if *turn % 2 == 0 { 0.0 } else { 12.0 };
        *turn += 1;
        let y = if *baseline { 34.0 - lift } else { 70.0 + lift };
        let _ = write!(
            html,
            "<circle cx=\"{x:.1}\" cy=\"48\" r=\"4\" class=\"{}\"/><text x=\"{x:.1}\" y=\"{y}\" \
             text-anchor=\"middle\">{name} {value:.3}</text>",
            if *baseline { "rung" } else { "tier" },
        );
    }
    html.push_str("</svg>");
    html
}

impl Report {
    /// The whole page; nothing in it is fetched from anywhere.
    pub fn html(&self) -> String {
        let mut html = format!(
            "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
             <title>{title}</title><style>{STYLE}</style></head><body><h1>{title}</h1>",
            title = escape(&self.title)
        );
        html.push_str(&table("State of the run", &self.facts));
        if let Some(evaluation) = &self.evaluation {
            html.push_str("<h2>Comparison</h2>");
            html.push_str(&comparison(evaluation));
        }
        if !self.charts.is_empty() {
            html.push_str("<h2>Learning curves</h2><div class=\"charts\">");
            html.extend(self.charts.iter().map(Chart::html));
            html.push_str("</div>");
        }
        html.push_str(&table("How the tasks were made", &self.funnel));
        if !self.tasks.is_empty() {
            html.push_str("<h2>Example tasks</h2>");
            html.extend(self.tasks.iter().map(TaskCard::html));
        }
        if !self.trajectories.is_empty() {
            html.push_str("<h2>Trajectories</h2>");
        }
        for (heading, trajectory) in &self.trajectories {
            html.push_str(&conversation(heading, trajectory));
        }
        if !self.settings.is_empty() {
            html.push_str("<h2>Settings</h2>");
        }
        for (heading, text) in &self.settings {
            let (heading, text) = (escape(heading), escape(text));
            let _ =
                write!(html, "<details><summary>{heading}</summary><pre>{text}</pre></details>");
        }
        html.push_str("</body></html>\n");
        html
    }
}

/// Names and what stands beside them, below a heading; nothing without any.
fn table(heading: &str, rows: &[(String, impl std::fmt::Display)]) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let mut html = format!("<h2>{heading}</h2><table class=\"facts\">");
    for (name, value) in rows {
        let (name, value) = (escape(name), escape(&value.to_string()));
        let _ = write!(html, "<tr><th>{name}</th><td>{value}</td></tr>");
    }
    html.push_str("</table>");
    html
}

fn comparison(evaluation: &Evaluation) -> String {
    let mut html = format!(
        "<p>{} held-out tasks, {} episodes each, sampled with the same seeds for every \
         policy. Reward ± its standard error over tasks; the shares count a tier as reached \
         when it or a better one is.</p><div class=\"scroll\"><table><tr><th>agent</th>\
         <th>reward</th><th></th><th>valid</th><th>median</th><th>bronze</th><th>silver</th>\
         <th>gold</th><th>turns</th></tr>",
        evaluation.tasks, evaluation.attempts
    );
    for row in &evaluation.rows {
        let _ = write!(
            html,
            "<tr><th>{}</th><td>{:.3} ± {:.3}</td><td><div class=\"bar\" \
             style=\"width:{:.0}px\"></div></td><td>{}</td><td>{}</td><td>{}</td><td>{}</td>\
             <td>{}</td><td>{:.1}</td></tr>",
            escape(&row.agent),
            row.reward,
            row.reward_error,
            row.reward * 120.0,
            percent(row.valid),
            percent(row.median),
            percent(row.bronze),
            percent(row.silver),
            percent(row.gold),
            row.turns,
        );
    }
    html.push_str("</table></div>");
    html
}

fn conversation(heading: &str, trajectory: &Trajectory) -> String {
    let result = match &trajectory.outcome {
        EpisodeOutcome::Mle(EpisodeResult { grade: Some(grade), .. }) => {
            format!("score {:.5}, tier {}", grade.score, grade.tier.map_or("none", Milestone::name))
        }
        EpisodeOutcome::Mle(EpisodeResult { refusal: Some(refusal), .. }) => refusal.clone(),
        EpisodeOutcome::Mle(_) => "no submission".to_owned(),
        EpisodeOutcome::World(verdict) => format!("score {:.5}", verdict.score),
    };
    let mut html = format!(
        "<details><summary><b>{}</b> on <code>{}</code>: reward {:.2}, {}</summary>",
        escape(heading),
        trajectory.task,
        trajectory.reward.total(),
        escape(&result)
    );
    for (index, segment) in trajectory.segments.iter().enumerate() {
        for omission in trajectory.omissions.iter().filter(|omission| omission.before == index) {
            let count = omission.segments.len();
            let _ = write!(
                html,
                "<p>From here on {count} of the parts above are hidden from the agent, for lack of room: {}.</p>",
                omission
                    .segments
                    .iter()
                    .map(|index| format!("#{}", index + 1))
                    .collect::<Vec<_>>()
                    .join(", ")
            );
        }
        let (class, name) = match segment.source {
            Source::Prompt => ("prompt", "prompt"),
            Source::Model => ("model", "agent"),
            Source::Environment => ("environment", "environment"),
            Source::Guide => ("prompt", "advice"),
        };
        let _ = write!(
            html,
            "<div class=\"{class}\"><span>#{} {name}</span><pre>{}</pre></div>",
            index + 1,
            escape(segment.text.trim())
        );
    }
    html.push_str("</details>");
    html
}

const STYLE: &str = include_str!("page.css");
