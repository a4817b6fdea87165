//! Random answers and submissions of every kind, small and coarse enough that ties, single
//! classes, constant columns, empty masks and missed boxes are common.

use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use tasks::boxes::{Detection, Object};
use tasks::cells;
use tasks::mask::Mask;
use tasks::metrics::images::ImageFormat;
use tasks::metrics::{Metric, MetricError};
use tasks::prediction::{Prediction, QUANTILES};
use tasks::stream::Stream;
use tasks::values::{self, Values};

/// A kind of prediction, without its settings.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum PredictionKind {
    Number,
    Probability,
    Label,
    ClassProbabilities,
    Numbers,
    Probabilities,
    Flags,
    Relevance,
    Mask,
    Boxes,
    Pixels,
    Text,
    Ids,
    Quantiles,
}

/// The kinds of prediction that a metric scores.
pub fn kinds(metric: Metric) -> Vec<PredictionKind> {
    use PredictionKind::{
        Boxes, ClassProbabilities, Flags, Ids, Label, Mask, Number, Numbers, Pixels, Probabilities,
        Probability, Quantiles, Relevance, Text,
    };
    match metric {
        Metric::BalancedAccuracy | Metric::F1 | Metric::Mcc | Metric::QuadraticKappa => vec![Label],
        Metric::Accuracy
        | Metric::MacroF1
        | Metric::MicroF1
        | Metric::WeightedF1
        | Metric::MacroJaccard => vec![Label, Flags],
        Metric::SamplesF1 | Metric::SamplesJaccard => vec![Flags],
        Metric::RocAuc | Metric::Brier => vec![Probability],
        Metric::OvrAuc => vec![ClassProbabilities],
        Metric::MeanColumnAuc => vec![Probabilities],
        Metric::AveragePrecision => vec![Probability, Probabilities],
        Metric::LogLoss => vec![Probability, ClassProbabilities, Probabilities],
        Metric::Rmse => vec![Number, Pixels],
        Metric::Mcrmse => vec![Numbers],
        Metric::Mae => vec![Number, Numbers, Pixels],
        Metric::MedianAe
        | Metric::Rmsle
        | Metric::Mape
        | Metric::Smape
        | Metric::R2
        | Metric::Pearson
        | Metric::Spearman => vec![Number, Numbers],
        Metric::MapAt5 | Metric::MapAt10 => vec![Relevance, Ids],
        Metric::NdcgAt5 | Metric::NdcgAt10 | Metric::Mrr => vec![Relevance],
        Metric::Dice | Metric::Iou | Metric::MeanIou => vec![Mask],
        Metric::BoxMap50 | Metric::BoxMap50To95 => vec![Boxes],
        Metric::Psnr | Metric::Ssim => vec![Pixels],
        Metric::ExactMatch | Metric::WordJaccard | Metric::MeanEditDistance => vec![Text],
        Metric::MeanPinballLoss => vec![Quantiles],
    }
}

/// Answers and a submission, with what `sandbox` makes of them.
#[derive(Debug)]
pub struct MetricCase {
    pub metric: Metric,
    pub prediction: Prediction,
    pub truth: Values,
    pub predicted: Values,
    pub score: Result<f64, MetricError>,
}

impl MetricCase {
    /// The cells of one side, row by row.
    pub fn cells(&self, values: &Values) -> Vec<Vec<String>> {
        (0..values.len()).map(|row| cells::write(&self.prediction, values, row).unwrap()).collect()
    }
}

/// A cell as it stands in a table.
pub fn quoted(cell: &str) -> String {
    if cell.contains([',', '"', '\n']) {
        return format!("\"{}\"", cell.replace('"', "\"\""));
    }
    cell.to_owned()
}

/// Cells as a line of a table, without its end.
pub fn line(cells: &[String]) -> String {
    cells.iter().map(|cell| quoted(cell)).collect::<Vec<_>>().join(",")
}

/// A random case.
pub fn case(metric: Metric, kind: PredictionKind, stream: Stream) -> MetricCase {
    let mut draws = RandomValues::new(metric, stream);
    let (prediction, truth, predicted) = draws.sides(kind);
    let score = values::score(metric, &truth, &predicted);
    MetricCase { metric, prediction, truth, predicted, score }
}

struct RandomValues {
    rng: ChaCha8Rng,
    rows: usize,
    /// Numbers are multiples of 1 / grid.
    grid: f64,
    /// The least number that the metric takes.
    low: f64,
}

impl RandomValues {
    fn new(metric: Metric, stream: Stream) -> Self {
        let mut rng = stream.rng();
        let rows = rng.random_range(1..40);
        let grid = [1.0, 4.0, 1e6][rng.random_range(0..3)];
        let low = if metric == Metric::Rmsle { 0.0 } else { -5.0 };
        Self { rng, rows, grid, low }
    }

    fn numbers(&mut self, count: usize, low: f64, high: f64) -> Vec<f64> {
        let grid = self.grid;
        (0..count).map(|_| (self.rng.random_range(low..high) * grid).round() / grid).collect()
    }

    fn indices(&mut self, classes: usize) -> Vec<usize> {
        (0..self.rows).map(|_| self.rng.random_range(0..classes)).collect()
    }

    fn flags(&mut self, count: usize) -> Vec<bool> {
        let share = self.rng.random_range(0.0..1.0);
        (0..count).map(|_| self.rng.random_bool(share)).collect()
    }

    fn sides(&mut self, kind: PredictionKind) -> (Prediction, Values, Values) {
        let column = "y".to_owned();
        let width = self.rng.random_range(2..6);
        let names = || (0..width).map(|index| format!("c{index}")).collect::<Vec<_>>();
        let (rows, low) = (self.rows, self.low);
        match kind {
            PredictionKind::Number => {
                let mut side = || Values::Numbers(self.numbers(rows, low, 5.0));
                (Prediction::Number { column }, side(), side())
            }
            PredictionKind::Probability => {
                let truth = Values::Labels(self.indices(2));
                let predicted = Values::Numbers(self.numbers(rows, 0.0, 1.0));
                (Prediction::Probability { column }, truth, predicted)
            }
            PredictionKind::Label => {
                let mut side = || Values::Labels(self.indices(width));
                (Prediction::Label { column, classes: names() }, side(), side())
            }
            PredictionKind::ClassProbabilities => {
                let truth = Values::Labels(self.indices(width));
                let mut values = self.numbers(rows * width, 0.0, 1.0);
                for row in values.chunks_exact_mut(width) {
                    let sum: f64 = row.iter().map(|value| value + 1e-3).sum();
                    for value in row {
                        *value = (*value + 1e-3) / sum;
                    }
                }
                let predicted = Values::Matrix { values, columns: width };
                (Prediction::ClassProbabilities { column, classes: names() }, truth, predicted)
            }
            PredictionKind::Numbers => {
                let mut side = || {
                    let values = self.numbers(rows * width, low, 5.0);
                    Values::Matrix { values, columns: width }
                };
                (Prediction::Numbers { columns: names() }, side(), side())
            }
            PredictionKind::Probabilities => {
                let truth = Values::Flags { values: self.flags(rows * width), labels: width };
                let values = self.numbers(rows * width, 0.0, 1.0);
                let predicted = Values::Matrix { values, columns: width };
                (Prediction::Probabilities { columns: names() }, truth, predicted)
            }
            PredictionKind::Flags => {
                let mut side = || Values::Flags { values: self.flags(rows * width), labels: width };
                (Prediction::Flags { column, labels: names() }, side(), side())
            }
            PredictionKind::Relevance => {
                let grade = |index: usize| [0, 0, 0, 1, 2, 3][index];
                let grades = self.indices(6).into_iter().map(grade).collect();
                let queries = self.indices(width).iter().map(|query| format!("q{query}")).collect();
                let predicted = Values::Numbers(self.numbers(rows, low, 5.0));
                let query = "query".to_owned();
                let truth = Values::Grades { grades, queries };
                (Prediction::Relevance { column, query }, truth, predicted)
            }
            PredictionKind::Mask => {
                let (width, height) = (width + 3, self.rng.random_range(1..9));
                let mut side = || {
                    let mask = |_| Mask::from_pixels(&self.flags(width * height), width, height);
                    Values::Masks((0..rows).map(mask).collect())
                };
                let (truth, predicted) = (side(), side());
                (Prediction::Mask { column, width, height }, truth, predicted)
            }
            PredictionKind::Boxes => {
                self.rows = self.rows.min(8);
                let truth: Vec<Vec<Object>> = (0..self.rows).map(|_| self.objects(width)).collect();
                let predicted = truth.iter().map(|row| self.detections(row, width)).collect();
                let prediction = Prediction::Boxes { column, classes: names() };
                (prediction, Values::Objects(truth), Values::Detections(predicted))
            }
            PredictionKind::Pixels => {
                self.rows = self.rows.min(5);
                let levels = [2, 16, 256, 65536][self.rng.random_range(0..4)];
                let (width, height) = (self.rng.random_range(5..14), self.rng.random_range(6..12));
                let frame = ImageFormat { width, height, levels };
                let truth: Vec<Vec<u16>> = (0..self.rows).map(|_| self.image(frame)).collect();
                let predicted = truth.iter().map(|image| self.restored(image, frame)).collect();
                (
                    Prediction::Pixels { column, width, height, levels },
                    Values::Images { images: truth, frame },
                    Values::Images { images: predicted, frame },
                )
            }
            PredictionKind::Text => {
                let truth: Vec<String> = (0..rows).map(|_| self.text()).collect();
                let predicted = truth
                    .iter()
                    .map(|text| if self.rng.random_bool(0.4) { text.clone() } else { self.text() });
                let predicted = Values::Texts(predicted.collect());
                (Prediction::Text { column }, Values::Texts(truth), predicted)
            }
            PredictionKind::Ids => {
                let most = self.rng.random_range(1..12);
                let truth = Values::Ids((0..rows).map(|_| self.ids(1, 8)).collect());
                let predicted = Values::Ids((0..rows).map(|_| self.ids(0, most)).collect());
                (Prediction::Ids { column, most }, truth, predicted)
            }
            PredictionKind::Quantiles => {
                // In no order: quantiles that cross each other are scored, too.
                let columns = QUANTILES.len();
                let values = self.numbers(rows * columns, low, 5.0);
                let truth = Values::Numbers(self.numbers(rows, low, 5.0));
                (Prediction::quantiles(&column), truth, Values::Matrix { values, columns })
            }
        }
    }

    /// Words of which many are alike but for their case, a comma or an umlaut.
    fn text(&mut self) -> String {
        let words = ["a", "A", "B,", "b", "Äß", "äß", "\"c\"", "1/2", "c'"];
        let count = self.rng.random_range(0..5);
        let word = |_| words[self.rng.random_range(0..words.len())];
        (0..count).map(word).collect::<Vec<_>>().join(" ")
    }

    /// Different identifiers out of a dozen.
    fn ids(&mut self, least: usize, most: usize) -> Vec<String> {
        let count = self.rng.random_range(least..most + 1);
        let mut ids: Vec<String> = Vec::new();
        while ids.len() < count {
            let id = format!("w_{}", self.rng.random_range(0..12));
            if !ids.contains(&id) {
                ids.push(id);
            }
        }
        ids
    }

    fn object(&mut self, classes: usize) -> Object {
        let side = |rng: &mut ChaCha8Rng, low: u8, high: u8| f64::from(rng.random_range(low..high));
        Object {
            class: self.rng.random_range(0..classes),
            x: side(&mut self.rng, 0, 12),
            y: side(&mut self.rng, 0, 12) / 2.0,
            w: side(&mut self.rng, 1, 10),
            h: side(&mut self.rng, 1, 10),
        }
    }

    fn objects(&mut self, classes: usize) -> Vec<Object> {
        (0..self.rng.random_range(0..5)).map(|_| self.object(classes)).collect()
    }

    /// Some of the true boxes, moved or kept, some twice, and some of nothing.
    fn detections(&mut self, truth: &[Object], classes: usize) -> Vec<Detection> {
        let mut objects = self.objects(classes);
        for object in truth.iter().chain(truth) {
            if self.rng.random_bool(0.6) {
                let shift = [0.0, 0.0, 0.25, 1.0][self.rng.random_range(0..4)];
                objects.push(Object { x: object.x + shift, ..*object });
            }
        }
        let grid = [4.0, 1e6][self.rng.random_range(0..2)];
        let detection = |object| {
            let confidence = (self.rng.random_range(0.0..1.0f64) * grid).round() / grid;
            Detection { object, confidence }
        };
        objects.into_iter().map(detection).collect()
    }

    fn intensity(&mut self, levels: u32) -> u16 {
        u16::try_from(self.rng.random_range(0..levels)).unwrap()
    }

    fn image(&mut self, frame: ImageFormat) -> Vec<u16> {
        if self.rng.random_bool(0.2) {
            return vec![self.intensity(frame.levels); frame.width * frame.height];
        }
        (0..frame.width * frame.height).map(|_| self.intensity(frame.levels)).collect()
    }

    fn restored(&mut self, image: &[u16], frame: ImageFormat) -> Vec<u16> {
        let share = [0.0, 0.1, 1.0][self.rng.random_range(0..3)];
        let pixel = |pixel: &u16| {
            if self.rng.random_bool(share) { self.intensity(frame.levels) } else { *pixel }
        };
        image.iter().map(pixel).collect()
    }
}
