//! What takes submissions: a task of every metric and kind of prediction, competitions, and tasks
//! so large that a valid submission fills the limit.

use camino::Utf8Path;
use support::random::{self, PredictionKind};
use support::tables;
use tasks::metrics::Metric;
use tasks::mlebench::frame::{FrameLimits, PandasFrame};
use tasks::mlebench::graders::GRADERS;
use tasks::prediction::Prediction;
use tasks::stream::Stream;
use tasks::submission::{Part, Submission, read_answers};

type GradeFunction = Box<dyn Fn(&[u8]) -> Result<f64, String> + Send + Sync>;

/// Something that grades, and a submission that it takes.
pub(crate) struct GradingTarget {
    pub(crate) name: String,
    pub(crate) header: Vec<String>,
    pub(crate) rows: Vec<Vec<String>>,
    pub(crate) grade: GradeFunction,
    /// What grading may take, however small the submission is.
    pub(crate) allowance: usize,
}

impl GradingTarget {
    /// The submission that it takes.
    pub(crate) fn valid(&self) -> Vec<u8> {
        let mut file = self.header.join(",").into_bytes();
        file.push(b'\n');
        for row in &self.rows {
            for (column, cell) in row.iter().enumerate() {
                file.extend((column > 0).then_some(b','));
                file.extend_from_slice(cell.as_bytes());
            }
            file.push(b'\n');
        }
        file
    }
}

fn task(
    name: String,
    metric: Metric,
    prediction: Prediction,
    truth: &[Vec<String>],
    predicted: Vec<Vec<String>>,
    part: Part,
) -> GradingTarget {
    let id = |row: usize| format!("r{row}");
    let lines =
        truth.iter().enumerate().map(|(row, cells)| format!("r{row},{}\n", random::line(cells)));
    let columns = prediction.answer_columns().join(",");
    let folder = tempfile::tempdir().unwrap();
    let path = Utf8Path::from_path(folder.path()).unwrap().join("answer.csv");
    fs_err::write(&path, format!("id,{columns}\n{}", lines.collect::<String>())).unwrap();
    let answers = read_answers(&path, "id", &prediction).unwrap();
    let header = [vec!["id"], prediction.columns()].concat().into_iter().map(str::to_owned);
    let header = header.collect();
    let with_id = |(row, cells): (usize, Vec<String>)| {
        let cells = cells.iter().map(|cell| random::quoted(cell)).collect();
        [vec![id(row)], cells].concat()
    };
    let rows = predicted.into_iter().enumerate().map(with_id).collect();
    let grade = move |csv: &[u8]| {
        let read = Submission::parse(csv, &answers, &prediction);
        let read = read.map_err(|error| error.to_string())?;
        read.score(&answers, metric, part).map_err(|error| error.to_string())
    };
    GradingTarget { name, header, rows, grade: Box::new(grade), allowance: 1 << 20 }
}

/// A small task of every metric and kind.
pub(crate) fn tasks() -> Vec<GradingTarget> {
    let mut targets = Vec::new();
    for (index, (metric, kind)) in pairs().into_iter().enumerate() {
        let stream = Stream::root(8).index(index as u64);
        // Some random answers have only one class, on which a metric is not defined.
        let mut cases = (0..1000).map(|index| random::case(metric, kind, stream.index(index)));
        let case = cases.find(|case| case.score.is_ok() && case.truth.len() > 3).unwrap();
        let (truth, predicted) = (case.cells(&case.truth), case.cells(&case.predicted));
        let name = format!("{metric} of {kind:?}");
        targets.push(task(name, case.metric, case.prediction, &truth, predicted, Part::All));
    }
    targets
}

/// Every competition, with answers of which each text has so many bytes more.
pub(crate) fn competitions(padding: usize) -> Vec<GradingTarget> {
    let target = |(name, grader): (&'static str, tasks::mlebench::graders::GradeFn)| {
        // Some cases are mistakes, some too short to score.
        let mut cases =
            (0..1000).map(|index| tables::case(name, Stream::root(7).child(name).index(index)));
        let scores = |[answers, submission]: &[String; 2]| {
            let [answers, frame] = [answers, submission]
                .map(|text| PandasFrame::read(text.as_bytes()).unwrap_or_default());
            frame.rows() > 3 && grader(&frame, &answers).is_ok()
        };
        let [answers, submission] = cases.find(scores).unwrap();
        let answers = PandasFrame::read(answers.as_bytes()).unwrap();
        // As if texts that nobody compares stood beside.
        let mut limits = FrameLimits::for_submissions(&answers);
        limits.bytes += padding;
        let mut lines = submission.lines().map(|line| line.split(',').map(str::to_owned).collect());
        let (header, rows) = (lines.next().unwrap(), lines.collect());
        let grade = move |csv: &[u8]| {
            let frame = PandasFrame::read_within(csv, limits).map_err(|error| error.to_string())?;
            let score = grader(&frame, &answers).map_err(|error| error.to_string())?;
            Ok(score.rounded())
        };
        let allowance = (1 << 20) + 64 * limits.cells;
        GradingTarget { name: name.to_owned(), header, rows, grade: Box::new(grade), allowance }
    };
    GRADERS.into_iter().map(target).collect()
}

/// Every metric with the kinds that it scores.
pub(crate) fn pairs() -> Vec<(Metric, PredictionKind)> {
    let kinds = |metric| random::kinds(metric).into_iter().map(move |kind| (metric, kind));
    Metric::ALL.into_iter().flat_map(kinds).collect()
}

/// A task whose valid submissions have about `size` bytes.
pub(crate) fn large(metric: Metric, kind: PredictionKind, size: usize) -> GradingTarget {
    let column = || "y".to_owned();
    let names = |count: usize| (0..count).map(|name| format!("c{name:02}")).collect::<Vec<_>>();
    // A number with 17 digits.
    let share = |row: usize| format!("{}", ((row * 7919) % 104_729) as f64 / 104_729.0);
    // So many rows as a task may well have; the rest is in the cells.
    let rows = match kind {
        PredictionKind::Pixels => (size / (256 * 256 * 4)).max(2),
        PredictionKind::Mask => (size / (64 << 10)).max(2),
        PredictionKind::Boxes => (size / 4_000).max(2),
        _ => (size / 640).max(2),
    };
    let cells = |cell: &dyn Fn(usize) -> String| -> Vec<Vec<String>> {
        (0..rows).map(|row| vec![cell(row)]).collect()
    };
    let many = |cell: &dyn Fn(usize) -> String| -> Vec<Vec<String>> {
        let row = |row| (0..30).map(|column| cell(row * 30 + column)).collect();
        (0..rows).map(row).collect()
    };
    // Numbers padded with zeros to 620 bytes.
    let number = |row: usize| format!("{:0<620}", share(row + 1));
    let class = |row: usize| format!("c{:02}", row % 30);
    let (prediction, truth, predicted) = match kind {
        PredictionKind::Number => {
            (Prediction::Number { column: column() }, cells(&share), cells(&number))
        }
        PredictionKind::Probability => (
            Prediction::Probability { column: column() },
            cells(&|row| (row % 2).to_string()),
            cells(&number),
        ),
        PredictionKind::Label => (
            Prediction::Label { column: column(), classes: names(30) },
            cells(&class),
            cells(&|row| format!("{}{}", " ".repeat(600), class(row * 3))),
        ),
        PredictionKind::ClassProbabilities => (
            Prediction::ClassProbabilities { column: column(), classes: names(30) },
            cells(&class),
            many(&|cell| {
                let likely = (cell / 30 * 3) % 30 == cell % 30;
                format!("{:.18}", if likely { 0.71 } else { 0.01 })
            }),
        ),
        PredictionKind::Numbers => (
            Prediction::Numbers { columns: names(30) },
            many(&share),
            many(&|cell| share(cell + 1)),
        ),
        PredictionKind::Quantiles => (
            Prediction::quantiles("y"),
            cells(&number),
            (0..rows).map(|row| (0..3).map(|at| number(row + at)).collect()).collect(),
        ),
        PredictionKind::Probabilities => (
            Prediction::Probabilities { columns: names(30) },
            many(&|cell| u8::from(cell % 7 == 0).to_string()),
            many(&share),
        ),
        PredictionKind::Flags => (
            Prediction::Flags { column: column(), labels: names(30) },
            cells(&class),
            cells(&|row| format!("{}{}", class(row), " ".repeat(100))),
        ),
        PredictionKind::Relevance => (
            Prediction::Relevance { column: column(), query: "q".to_owned() },
            (0..rows).map(|row| vec![(row % 4).to_string(), format!("q{}", row / 20)]).collect(),
            cells(&number),
        ),
        PredictionKind::Mask => {
            // Every second pixel of a square.
            let runs = |row: usize| {
                let run = |run: usize| format!("{} 1", 10_001 + 2 * run + row % 2);
                (0..8_000).map(run).collect::<Vec<_>>().join(" ")
            };
            let prediction = Prediction::Mask { column: column(), width: 512, height: 512 };
            (prediction, cells(&runs), cells(&|row| runs(row + 1)))
        }
        PredictionKind::Boxes => {
            let boxes = |row: usize, count: usize, confidence: &str| {
                let one = |number: usize| {
                    let at = (row * 31 + number * 17) % 100;
                    format!("{}{confidence} {at}.25 {at}.5 10.125 10.75", class(number))
                };
                (0..count).map(one).collect::<Vec<_>>().join(" ")
            };
            (
                Prediction::Boxes { column: column(), classes: names(30) },
                cells(&|row| boxes(row, 30, "")),
                cells(&|row| {
                    boxes(row + 1, 100, &format!(" {}", &share(row)[..share(row).len().min(6)]))
                }),
            )
        }
        PredictionKind::Pixels => {
            let image = |row: usize| {
                let pixel = |pixel: usize| ((pixel * 31 + row * 7) % 256).to_string();
                (0..256 * 256).map(pixel).collect::<Vec<_>>().join(" ")
            };
            (
                Prediction::Pixels { column: column(), width: 256, height: 256, levels: 256 },
                cells(&image),
                cells(&|row| image(row + 1)),
            )
        }
        PredictionKind::Text => {
            let text = |row: usize| format!("{row} {}", "ab ".repeat(300));
            (Prediction::Text { column: column() }, cells(&text), cells(&|row| text(row + 1)))
        }
        PredictionKind::Ids => {
            let ids = |from: usize| {
                let id = |id: usize| format!("individual_{:06}", (from + id) % rows);
                (0..10).map(id).collect::<Vec<_>>().join(" ")
            };
            let prediction = Prediction::Ids { column: column(), most: 10 };
            (prediction, cells(&ids), cells(&|row| ids(row + 3)))
        }
    };
    let name = format!("{metric} of {kind:?}, {rows} rows");
    let part = Part::Final(0.3);
    task(name, metric, prediction, &truth, predicted, part)
}
