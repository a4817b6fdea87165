//! Tables of the playground series: kinds of forest, and a state of a machine.

use super::csv_rows::{CsvRows, constant_rows, decimal, labelled_rows};
use super::files::PreparedFiles;
use super::names::{flags, spread, text};
use super::source::StandInSource;
use crate::numeric::draws::Draws;
use tasks::stream::Stream;

/// Which trees grow there?
pub(super) const FOREST_COVER: StandInSource = StandInSource {
    id: "tabular-playground-series-dec-2021",
    task: "Each row is an invented place in the mountains. Predict its kind of forest, 1 to 7, which \
           follows from elevation above all.",
    evaluation: "Accuracy.",
    files: &[
        ("train.csv", "`Id`, 54 columns of the place, `Cover_Type`; kind 5 occurs once"),
        ("test.csv", "the same without `Cover_Type`"),
        ("sample_submission.csv", "`Id` and `Cover_Type`"),
    ],
    differences: &["kinds are bands of elevation"],
    make: forest_cover,
};

/// Is the machine in state 1?
pub(super) const MACHINE_STATE: StandInSource = StandInSource {
    id: "tabular-playground-series-may-2022",
    task: "Each row is an invented machine, described by 30 numbers and a text of ten letters. Predict \
           the probability that its state is 1. Two columns count together, and so do letters.",
    evaluation: "Area under the ROC curve.",
    files: &[
        ("train.csv", "`id`, `f_00` to `f_30` (`f_27` holds the letters), `target` (0 or 1)"),
        ("test.csv", "the same without `target`"),
        ("sample_submission.csv", "`id` and `target`, a probability"),
    ],
    differences: &["two columns and the letters tell the state"],
    make: machine_state,
};

const PLACE: [&str; 10] = [
    "Elevation",
    "Aspect",
    "Slope",
    "Horizontal_Distance_To_Hydrology",
    "Vertical_Distance_To_Hydrology",
    "Horizontal_Distance_To_Roadways",
    "Hillshade_9am",
    "Hillshade_Noon",
    "Hillshade_3pm",
    "Horizontal_Distance_To_Fire_Points",
];
/// Most likely elevation in meters of each kind but 5.
const ELEVATIONS: [f64; 7] = [3150.0, 2850.0, 2350.0, 2150.0, 2700.0, 2550.0, 3420.0];

/// The cells behind a place's number.
fn place(draws: &mut Draws, kind: usize) -> Vec<String> {
    let elevation = ELEVATIONS[kind] + 65.0 * draws.normal();
    let slope = draws.between(0.0, 40.0);
    let whole = |draws: &mut Draws, low: f64, high: f64| decimal(draws.between(low, high), 0);
    let mut cells = vec![decimal(elevation, 0), whole(draws, 0.0, 360.0), decimal(slope, 0)];
    cells.push(whole(draws, 0.0, 700.0));
    cells.push(whole(draws, -50.0, 200.0));
    cells.push(decimal(draws.between(0.0, 3000.0) + elevation / 2.0, 0));
    for shade in [212.0, 223.0, 140.0] {
        cells.push(decimal(shade - slope * draws.between(0.0, 1.0), 0));
    }
    cells.push(whole(draws, 0.0, 6000.0));
    let wilderness = if elevation < 2450.0 { 3 } else { draws.whole(0, 2) };
    let soil = draws.whole(0, 39);
    let mark = |place: usize, of: usize| {
        (0..of).map(move |column| if column == place { "1" } else { "0" }.to_owned())
    };
    cells.extend(mark(wilderness, 4));
    cells.extend(mark(soil, 40));
    cells
}

fn forest_cover(stream: Stream) -> PreparedFiles {
    let mut draws = Draws::new(stream);
    let (train, test) = (2000, 500);
    // Without kind 5, which is put into one training row below.
    let shares = [0.35, 0.54, 0.05, 0.01, 0.02, 0.03];
    let kind = |class: usize| if class >= 4 { class + 1 } else { class };
    let mut kinds: Vec<usize> = spread(&mut draws, train, &shares).into_iter().map(kind).collect();
    let rarest = draws.whole(0, train - 1);
    kinds[rarest] = 4;
    kinds.extend(spread(&mut draws, test, &shares).into_iter().map(kind));
    let columns = PLACE.iter().map(ToString::to_string);
    let columns = columns.chain((1..=4).map(|area| format!("Wilderness_Area{area}")));
    let columns: Vec<String> =
        columns.chain((1..=40).map(|soil| format!("Soil_Type{soil}"))).collect();
    let [id, target] = ["Id", "Cover_Type"].map(str::to_owned);
    let front = std::iter::once(&id).chain(&columns);
    let mut table = CsvRows::new(front.clone().chain([&target]));
    let mut test_table = CsvRows::new(front);
    let ids: Vec<String> = (0..train + test).map(|row| row.to_string()).collect();
    for (row, kind) in kinds.iter().enumerate() {
        let cells = place(&mut draws, *kind);
        let label = (kind + 1).to_string();
        let cells = std::iter::once(&ids[row]).chain(&cells);
        if row < train { table.row(cells.chain([&label])) } else { test_table.row(cells) }
    }
    let header = [id.as_str(), &target];
    let truth = kinds[train..].iter().map(|kind| kind + 1);
    let mut files = PreparedFiles::default();
    files.public("train.csv", table.bytes());
    files.public("test.csv", test_table.bytes());
    files.public("sample_submission.csv", constant_rows(&header, &ids[train..], &["2"]));
    files.private("test.csv", labelled_rows(header, ids[train..].iter().zip(truth)));
    files
}

/// Columns of whole numbers among `f_00` to `f_30`; `f_27` is a text, and the others are decimals.
const WHOLE: [usize; 14] = [7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 29, 30];
const LETTERS: usize = 27;

/// The cells of a machine behind its number. In state 1, `f_02` and `f_21` mostly have the same
/// sign, and the text mostly has several of the letters A to D.
fn machine(draws: &mut Draws, state: bool) -> Vec<String> {
    let mut numbers: Vec<f64> = (0..31).map(|_| 1.2 * draws.normal()).collect();
    let has_same_sign = state == draws.chance(0.8);
    if (numbers[2] * numbers[21] > 0.0) != has_same_sign {
        numbers[21] = -numbers[21];
    }
    let early = if state == draws.chance(0.75) { 4 } else { 1 };
    let letters = text(draws, b"ABCD", early) + &text(draws, b"EFGHIJKLMNOPQRST", 10 - early);
    let mut letters: Vec<char> = letters.chars().collect();
    draws.shuffle(&mut letters);
    let mut cells = Vec::with_capacity(numbers.len());
    for (column, value) in numbers.into_iter().enumerate() {
        cells.push(if column == LETTERS {
            letters.iter().collect()
        } else if WHOLE.contains(&column) {
            draws.whole(0, if column < 29 { 8 } else { 2 }).to_string()
        } else {
            decimal(value, 6)
        });
    }
    cells
}

fn machine_state(stream: Stream) -> PreparedFiles {
    let mut draws = Draws::new(stream);
    let (train, test) = (2000, 500);
    let mut states = flags(&mut draws, train, 0.49);
    states.extend(flags(&mut draws, test, 0.49));
    let columns: Vec<String> = (0..31).map(|column| format!("f_{column:02}")).collect();
    let [id, target] = ["id", "target"].map(str::to_owned);
    let front = std::iter::once(&id).chain(&columns);
    let header = [id.as_str(), &target];
    let mut table = CsvRows::new(front.clone().chain([&target]));
    let mut test_table = CsvRows::new(front.clone());
    let mut answers = CsvRows::new(front.chain([&target]));
    let ids: Vec<String> = (0..train + test).map(|row| row.to_string()).collect();
    for (row, state) in states.iter().enumerate() {
        let cells = machine(&mut draws, *state);
        let label = u8::from(*state).to_string();
        let cells = std::iter::once(&ids[row]).chain(&cells);
        if row < train {
            table.row(cells.chain([&label]));
        } else {
            test_table.row(cells.clone());
            answers.row(cells.chain([&label]));
        }
    }
    let truth = states[train..].iter().map(|state| u8::from(*state));
    let mut files = PreparedFiles::default();
    files.public("train.csv", table.bytes());
    files.public("test.csv", test_table.bytes());
    files.public("sample_submission.csv", constant_rows(&header, &ids[train..], &["0.5"]));
    files.private("test.csv", answers.bytes());
    files.private("gold_submission.csv", labelled_rows(header, ids[train..].iter().zip(truth)));
    files
}
