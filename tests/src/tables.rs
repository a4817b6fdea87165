//! Answers and submissions to each competition of low complexity: valid ones in every order,
//! and such that went wrong in one place or more.

use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::Rng;
use tasks::stream::Stream;

/// What the cells of a competition hold.
#[derive(Debug, Clone, Copy, PartialEq)]
enum CellKind {
    /// A class of two, and a probability.
    Binary,
    /// The same, but now and then a row whose labels are all -1.
    Toxicity,
    /// 1 for one class of the row, and a distribution over them.
    Classes,
    /// 0 to 4.
    Grade,
    /// 1 to 7.
    Cover,
    /// A number in [0, 1].
    Pixel,
    /// A number from 0.
    Amount,
    /// A word or a number.
    Token,
}

struct CompetitionForm {
    id: &'static str,
    columns: &'static [&'static str],
    kind: CellKind,
    numbered: bool,
}

fn form(competition: &str) -> CompetitionForm {
    let form = |id, columns, kind, numbered| CompetitionForm { id, columns, kind, numbered };
    match competition {
        "aerial-cactus-identification" => form("id", &["has_cactus"], CellKind::Binary, false),
        "aptos2019-blindness-detection" => form("id_code", &["diagnosis"], CellKind::Grade, false),
        "denoising-dirty-documents" => form("id", &["value"], CellKind::Pixel, false),
        "detecting-insults-in-social-commentary" => {
            form("Comment", &["Insult"], CellKind::Binary, false)
        }
        "dog-breed-identification" => {
            form("id", &["afghan", "beagle", "boxer"], CellKind::Classes, false)
        }
        "dogs-vs-cats-redux-kernels-edition" => form("id", &["label"], CellKind::Binary, true),
        "histopathologic-cancer-detection" => form("id", &["label"], CellKind::Binary, false),
        "jigsaw-toxic-comment-classification-challenge" => form(
            "id",
            &["toxic", "severe_toxic", "obscene", "threat", "insult", "identity_hate"],
            CellKind::Toxicity,
            false,
        ),
        "leaf-classification" => {
            form("id", &["Acer", "Alnus", "Betula", "Quercus"], CellKind::Classes, true)
        }
        "mlsp-2013-birds" => form("Id", &["Probability"], CellKind::Binary, true),
        "new-york-city-taxi-fare-prediction" => {
            form("key", &["fare_amount"], CellKind::Amount, false)
        }
        "nomad2018-predict-transparent-conductors" => {
            form("id", &["formation_energy_ev_natom", "bandgap_energy_ev"], CellKind::Amount, true)
        }
        "plant-pathology-2020-fgvc7" => form(
            "image_id",
            &["healthy", "multiple_diseases", "rust", "scab"],
            CellKind::Binary,
            false,
        ),
        "random-acts-of-pizza" => {
            form("request_id", &["requester_received_pizza"], CellKind::Binary, false)
        }
        "ranzcr-clip-catheter-line-classification" => form(
            "StudyInstanceUID",
            &[
                "ETT - Abnormal",
                "ETT - Borderline",
                "ETT - Normal",
                "NGT - Abnormal",
                "NGT - Borderline",
                "NGT - Incompletely Imaged",
                "NGT - Normal",
                "CVC - Abnormal",
                "CVC - Borderline",
            ],
            CellKind::Binary,
            false,
        ),
        "siim-isic-melanoma-classification" => {
            form("image_name", &["target"], CellKind::Binary, false)
        }
        "spooky-author-identification" => {
            form("id", &["EAP", "HPL", "MWS"], CellKind::Classes, false)
        }
        "tabular-playground-series-dec-2021" => form("Id", &["Cover_Type"], CellKind::Cover, true),
        "tabular-playground-series-may-2022" => form("id", &["target"], CellKind::Binary, true),
        "text-normalization-challenge-english-language"
        | "text-normalization-challenge-russian-language" => {
            form("id", &["after"], CellKind::Token, false)
        }
        "the-icml-2013-whale-challenge-right-whale-redux" => {
            form("clip", &["probability"], CellKind::Binary, false)
        }
        other => panic!("{other} has no form"),
    }
}

const TOKENS: [&str; 12] =
    ["the", "The", ".", "7", "007", "7.0", "NA", "", "null", "1e3", "True", "twenty one"];

const ODD: [&str; 18] = [
    "",
    "NA",
    "x",
    "inf",
    "-inf",
    "1.5",
    "-0.1",
    "-1.5",
    "True",
    "false",
    "1_0",
    "1e400",
    " 1",
    "99999999999999999999",
    "0",
    "1",
    "1.00000001",
    "2.0",
];

fn chance(rng: &mut ChaCha8Rng, percent: u32) -> bool {
    rng.random_range(0..100) < percent
}

/// A number in [0, 1], coarse so that there are ties.
fn share(rng: &mut ChaCha8Rng) -> f64 {
    match rng.random_range(0..3) {
        0 => f64::from(rng.random_range(0..=4)) / 4.0,
        1 => f64::from(rng.random_range(0..=1000)) / 1000.0,
        _ => rng.random(),
    }
}

fn truth(rng: &mut ChaCha8Rng, form: &CompetitionForm) -> Vec<String> {
    let columns = form.columns.len();
    let hit = rng.random_range(0..columns);
    let ignored = form.kind == CellKind::Toxicity && chance(rng, 20);
    (0..columns)
        .map(|column| match form.kind {
            CellKind::Toxicity if ignored => "-1".to_owned(),
            CellKind::Binary | CellKind::Toxicity => rng.random_range(0..2).to_string(),
            CellKind::Classes => u8::from(column == hit).to_string(),
            CellKind::Grade => rng.random_range(0..5).to_string(),
            CellKind::Cover => rng.random_range(1..8).to_string(),
            CellKind::Pixel => share(rng).to_string(),
            CellKind::Amount => (share(rng) * 30.0).to_string(),
            CellKind::Token => TOKENS[rng.random_range(0..TOKENS.len())].to_owned(),
        })
        .collect()
}

fn prediction(rng: &mut ChaCha8Rng, form: &CompetitionForm, truth: &[String]) -> Vec<String> {
    let known = chance(rng, 50);
    match form.kind {
        CellKind::Classes => {
            let weights: Vec<f64> = truth.iter().map(|_| share(rng) + 0.01).collect();
            let total: f64 = weights.iter().sum();
            weights.iter().map(|weight| (weight / total).to_string()).collect()
        }
        CellKind::Binary | CellKind::Toxicity => {
            truth.iter().map(|_| share(rng).to_string()).collect()
        }
        _ if known => truth.to_vec(),
        _ => self::truth(rng, form),
    }
}

fn shuffle<T>(rng: &mut ChaCha8Rng, items: &mut [T]) {
    for last in (1..items.len()).rev() {
        items.swap(last, rng.random_range(0..=last));
    }
}

fn csv(rows: &[Vec<String>]) -> String {
    rows.iter().map(|row| row.join(",") + "\n").collect()
}

/// What goes wrong in a submission, header first.
fn mutate(rng: &mut ChaCha8Rng, rows: &mut Vec<Vec<String>>) {
    let (height, width) = (rows.len(), rows[0].len());
    let row = rng.random_range(0..height);
    let column = rng.random_range(0..width);
    let odd = ODD[rng.random_range(0..ODD.len())].to_owned();
    match rng.random_range(0..9) {
        0 => rows.iter_mut().for_each(|row| {
            row.remove(column);
        }),
        1 => rows.iter_mut().for_each(|row| row.insert(column, "extra".to_owned())),
        2 if height > 2 => {
            rows.remove(row.max(1));
        }
        3 => rows.push(rows[height - 1].clone()),
        4 if height > 2 => {
            let other = rows[2][0].clone();
            rows[1][0] = other;
        }
        5 => rows[0][column].push('x'),
        _ if height > 1 => rows[row.max(1)][column] = odd,
        _ => {}
    }
}

/// Answers and a submission, as CSV.
pub fn case(competition: &str, stream: Stream) -> [String; 2] {
    let rng = &mut stream.rng();
    let form = form(competition);
    let count = if chance(rng, 8) { rng.random_range(100..400) } else { rng.random_range(1..30) };
    let header: Vec<String> =
        [form.id].iter().chain(form.columns).map(|name| (*name).to_owned()).collect();
    let (mut answers, mut submission) = (Vec::new(), Vec::new());
    for row in 0..count {
        let id =
            if form.numbered { row.to_string() } else { format!("{:08x}_{row}", rng.next_u32()) };
        let truth = truth(rng, &form);
        let prediction = prediction(rng, &form, &truth);
        answers.push([vec![id.clone()], truth].concat());
        submission.push([vec![id], prediction].concat());
    }
    if form.id != "id" || form.numbered {
        shuffle(rng, &mut answers);
    }
    if chance(rng, 60) {
        shuffle(rng, &mut submission);
    }
    answers.insert(0, header.clone());
    submission.insert(0, header);
    if chance(rng, 30) {
        // Another order of columns.
        let mut order: Vec<usize> = (0..submission[0].len()).collect();
        shuffle(rng, &mut order);
        for row in &mut submission {
            *row = order.iter().map(|column| row[*column].clone()).collect();
        }
    }
    if chance(rng, 45) {
        for _ in 0..rng.random_range(1..3) {
            if submission[0].len() > 1 {
                mutate(rng, &mut submission);
            }
        }
    }
    [csv(&answers), csv(&submission)]
}
