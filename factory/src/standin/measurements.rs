//! Tables of measurements: fares of taxis, energies of crystals.

use super::csv_rows::{CsvRows, constant_rows, decimal, labelled_rows};
use super::files::PreparedFiles;
use super::names::distinct;
use super::source::StandInSource;
use crate::numeric::draws::Draws;
use std::fmt::Write as _;
use tasks::stream::Stream;

/// What does the ride cost?
pub(super) const FARES: StandInSource = StandInSource {
    id: "new-york-city-taxi-fare-prediction",
    task: "Each row is an invented ride: when it began, where it began and ended, with how many \
           passengers. Predict its fare in dollars, which follows from distance and hour.",
    evaluation: "Root mean squared error.",
    files: &[
        (
            "labels.csv",
            "`key`, `fare_amount`, `pickup_datetime`, `pickup_longitude`, `pickup_latitude`, \
             `dropoff_longitude`, `dropoff_latitude`, `passenger_count`",
        ),
        ("test.csv", "the same without `fare_amount`"),
        ("sample_submission.csv", "`key` and `fare_amount`"),
        ("GCP-Coupons-Instructions.rtf", "nothing of use"),
    ],
    differences: &["fares follow a formula and noise", "no place or fare is impossible"],
    make: fares,
};

/// What are the energies of the crystal?
pub(super) const CONDUCTORS: StandInSource = StandInSource {
    id: "nomad2018-predict-transparent-conductors",
    task: "Each row is an invented crystal of aluminium, gallium, indium and oxygen. Predict its \
           formation energy and its band gap. Submissions are compared row by row, in the order of \
           the test table.",
    evaluation: "Mean of the root mean squared logarithmic errors of the two columns.",
    files: &[
        (
            "train.csv",
            "`id`, `spacegroup`, `number_of_total_atoms`, `percent_atom_al`, `percent_atom_ga`, \
             `percent_atom_in`, three lattice vectors in angstrom, three lattice angles in degrees, \
             `formation_energy_ev_natom`, `bandgap_energy_ev`",
        ),
        ("test.csv", "the same without the two energies"),
        ("train/", "`<id>/geometry.xyz`: lattice vectors, then atoms and their places"),
        ("test/", "the same for test rows"),
        ("sample_submission.csv", "`id` and the two energies"),
    ],
    differences: &["energies follow a formula and noise", "atoms stand at random places"],
    make: conductors,
};

const COUPONS: &str =
    "{\\rtf1\\ansi This file stands where the competition has one on coupons.\\par}\n";

/// Kilometres per degree of longitude and of latitude at the place.
const SCALE: [f64; 2] = [84.4, 111.2];

/// A ride: its cells behind the key, and its fare in dollars.
fn ride(draws: &mut Draws, hour: usize, moment: &str) -> (Vec<String>, f64) {
    let from = [draws.between(-74.01, -73.93), draws.between(40.70, 40.80)];
    let distance = 1.0 + draws.between(0.0, 3.4) * draws.between(0.0, 3.4);
    let turn = draws.between(0.0, std::f64::consts::TAU);
    let way = [distance * libm::cos(turn), distance * libm::sin(turn)];
    let to = [from[0] + way[0] / SCALE[0], from[1] + way[1] / SCALE[1]];
    let night = if (6..20).contains(&hour) { 0.0 } else { 3.0 };
    let fare = 2.5 + 2.1 * distance + night + 0.9 * draws.normal();
    let mut cells = vec![format!("{moment} UTC")];
    cells.extend([from[0], from[1], to[0], to[1]].map(|degrees| decimal(degrees, 6)));
    cells.push(draws.whole(1, 6).to_string());
    // Fares are in steps of ten cents, and never below the basic fare.
    (cells, libm::round(fare.max(2.5) * 10.0) / 10.0)
}

fn fares(stream: Stream) -> PreparedFiles {
    let mut draws = Draws::new(stream);
    let (train, test) = (2000, 300);
    let moments = distinct(&mut draws, train + test, |draws| {
        let (month, day) = (draws.whole(1, 12), draws.whole(1, 28));
        let [hour, minute, second] = [23, 59, 59].map(|most| draws.whole(0, most));
        format!("2031-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}")
    });
    let columns = [
        "key",
        "fare_amount",
        "pickup_datetime",
        "pickup_longitude",
        "pickup_latitude",
        "dropoff_longitude",
        "dropoff_latitude",
        "passenger_count",
    ];
    let mut table = CsvRows::new(columns);
    let mut test_table = CsvRows::new(columns.iter().filter(|name| **name != "fare_amount"));
    let (mut keys, mut truth) = (Vec::new(), Vec::new());
    for (row, moment) in moments.iter().enumerate() {
        let hour = moment[11..13].parse().unwrap_or_default();
        let (cells, fare) = ride(&mut draws, hour, moment);
        let key = format!("{moment}.{:07}", draws.whole(1, 9));
        if row < train {
            table.row([&key, &fare.to_string()].into_iter().chain(&cells));
        } else {
            test_table.row(std::iter::once(&key).chain(&cells));
            keys.push(key);
            truth.push(fare);
        }
    }
    let header = ["key", "fare_amount"];
    let mut files = PreparedFiles::default();
    files.public("labels.csv", table.bytes());
    files.public("test.csv", test_table.bytes());
    files.public("sample_submission.csv", constant_rows(&header, &keys, &["11.35"]));
    files.public("GCP-Coupons-Instructions.rtf", COUPONS);
    files.private("test.csv", labelled_rows(header, keys.iter().zip(truth)));
    files
}

const CRYSTAL: [&str; 12] = [
    "id",
    "spacegroup",
    "number_of_total_atoms",
    "percent_atom_al",
    "percent_atom_ga",
    "percent_atom_in",
    "lattice_vector_1_ang",
    "lattice_vector_2_ang",
    "lattice_vector_3_ang",
    "lattice_angle_alpha_degree",
    "lattice_angle_beta_degree",
    "lattice_angle_gamma_degree",
];
const ENERGIES: [&str; 2] = ["formation_energy_ev_natom", "bandgap_energy_ev"];
/// Space groups, and how much each adds to the formation energy.
const GROUPS: [(u32, f64); 6] =
    [(12, 0.0), (33, 0.02), (167, 0.05), (194, 0.1), (206, 0.07), (227, 0.14)];

/// A crystal: its cells behind the id, its energies, and the text of its geometry.
fn crystal(draws: &mut Draws) -> (Vec<String>, [String; 2], String) {
    let (group, strain) = *draws.pick(&GROUPS);
    let atoms = *draws.pick(&[10_usize, 20, 30, 40, 60, 80]);
    let metals = atoms * 2 / 5;
    let aluminium = draws.whole(0, metals);
    let gallium = draws.whole(0, metals - aluminium);
    let counts = [aluminium, gallium, metals - aluminium - gallium];
    let shares = counts.map(|count| count as f64 / metals as f64);
    // Indium is the largest of the three.
    let size = 1.0 + 0.05 * shares[1] + 0.14 * shares[2];
    let vectors = [5.0, 8.0, 12.0].map(|side| side * size * draws.between(0.98, 1.02));
    let angles = [90.0, 90.0, if group == 194 { 120.0 } else { 90.0 }]
        .map(|angle| angle + draws.between(-0.05, 0.05));
    let mixed = 1.0 - shares.iter().map(|share| share * share).sum::<f64>();
    let formation = 0.03 + strain + 0.22 * mixed + 0.012 * draws.normal();
    let gap = 1.1 + 3.6 * shares[0] + 1.7 * shares[1] - 1.2 * strain + 0.1 * draws.normal();

    let mut cells = vec![group.to_string(), atoms.to_string()];
    cells.extend(shares.map(|share| decimal(share, 4)));
    cells.extend(vectors.iter().chain(&angles).map(|value| decimal(*value, 4)));
    let energies = [formation, gap].map(|value| decimal(value.max(0.0), 4));

    let mut geometry = "#\n#\n#\n".to_owned();
    for (axis, length) in vectors.iter().enumerate() {
        let mut vector = [0.0; 3];
        vector[axis] = *length;
        let _ =
            writeln!(geometry, "lattice_vector {:.6} {:.6} {:.6}", vector[0], vector[1], vector[2]);
    }
    let kinds = [("Al", counts[0]), ("Ga", counts[1]), ("In", counts[2]), ("O", atoms - metals)];
    for (kind, count) in kinds {
        for _ in 0..count {
            let [x, y, z] = vectors.map(|length| draws.between(0.0, length));
            let _ = writeln!(geometry, "atom {x:.6} {y:.6} {z:.6} {kind}");
        }
    }
    (cells, energies, geometry)
}

fn conductors(stream: Stream) -> PreparedFiles {
    let mut draws = Draws::new(stream);
    let mut files = PreparedFiles::default();
    let scored = || std::iter::once("id").chain(ENERGIES);
    for (half, rows) in [("train", 240), ("test", 60)] {
        let is_train = half == "train";
        let energies: &[&str] = if is_train { &ENERGIES } else { &[] };
        let mut table = CsvRows::new(CRYSTAL.iter().chain(energies));
        let mut answers = CsvRows::new(scored());
        // Rows are counted from 1 in both halves.
        let ids: Vec<String> = (1..=rows).map(|row| row.to_string()).collect();
        for id in &ids {
            let (cells, energies, geometry) = crystal(&mut draws);
            let front = std::iter::once(id).chain(&cells);
            if is_train {
                table.row(front.chain(&energies));
            } else {
                table.row(front);
            }
            answers.row(std::iter::once(id).chain(&energies));
            files.public(format!("{half}/{id}/geometry.xyz"), geometry);
        }
        files.public(format!("{half}.csv"), table.bytes());
        if !is_train {
            let columns: Vec<&str> = scored().collect();
            let sample = constant_rows(&columns, &ids, &["0.1779", "1.8892"]);
            files.public("sample_submission.csv", sample);
            files.private("test.csv", answers.bytes());
        }
    }
    files
}
