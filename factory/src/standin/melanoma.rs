//! Pictures of moles, as JPEG, DICOM and `TFRecord` files.

use super::canvas::{Canvas, Channels};
use super::csv_rows::{CsvRows, constant_rows, labelled_rows};
use super::dicom::{self, DicomHeader};
use super::files::PreparedFiles;
use super::names::{distinct, flags, text};
use super::source::StandInSource;
use super::tfrecord::{Feature, record};
use crate::numeric::draws::Draws;
use tasks::stream::Stream;

/// Is the mole malignant?
pub(super) const MELANOMA: StandInSource = StandInSource {
    id: "siim-isic-melanoma-classification",
    task: "Each picture is a drawn mole. Malignant ones, which are rare, are darker, less even, and \
           more frequent among older patients. Predict the probability that a mole is malignant.",
    evaluation: "Area under the ROC curve.",
    files: &[
        (
            "train.csv",
            "`image_name`, `patient_id`, `sex`, `age_approx`, `anatom_site_general_challenge`, \
             `diagnosis`, `benign_malignant`, `target` (0 or 1)",
        ),
        ("test.csv", "the first five of these columns"),
        ("train/", "training pictures as DICOM, `<image_name>.dcm`"),
        ("test/", "test pictures as DICOM, `<image_name>.dcm`"),
        ("jpeg/train/", "the training pictures as JPEG"),
        ("jpeg/test/", "the test pictures as JPEG"),
        ("tfrecords/", "the same as TFRecord files, `trainNN-<rows>.tfrec`, `testNN-<rows>.tfrec`"),
        (
            "sample_submission.csv",
            "`image_name` and `target`, a probability, for each test picture",
        ),
    ],
    differences: &[
        "pictures are drawn, and all of 64 by 64 pixels",
        "no patient has two pictures",
        "one mole in eight is malignant, not one in sixty",
    ],
    make: melanoma,
};

const SITES: [&str; 6] =
    ["head/neck", "lower extremity", "oral/genital", "palms/soles", "torso", "upper extremity"];
/// Records of a `TFRecord` file.
const RECORDS: usize = 40;

/// A patient with one picture.
struct Patient {
    name: String,
    sex: &'static str,
    /// Years, in steps of five.
    age: usize,
    site: usize,
    is_malignant: bool,
}

impl Patient {
    fn new(draws: &mut Draws, name: String, is_malignant: bool) -> Self {
        let age = if is_malignant { draws.whole(9, 17) } else { draws.whole(4, 15) };
        Self {
            name,
            sex: if draws.chance(0.5) { "female" } else { "male" },
            age: 5 * age,
            site: draws.whole(0, SITES.len() - 1),
            is_malignant,
        }
    }

    /// The cells of the test table behind the picture's name.
    fn cells(&self) -> [String; 4] {
        let site = SITES[self.site].to_owned();
        [self.name.clone(), self.sex.to_owned(), format!("{}.0", self.age), site]
    }
}

fn mole(draws: &mut Draws, is_malignant: bool) -> Canvas {
    let skin = draws.between(-15.0, 15.0);
    let mut canvas = Canvas::new(64, 64, [222.0 + skin, 180.0 + skin, 160.0 + skin]);
    let [x, y] = [draws.between(27.0, 37.0), draws.between(27.0, 37.0)];
    // Both kinds overlap a little in how dark they are.
    let dark = if is_malignant { draws.between(40.0, 85.0) } else { draws.between(75.0, 125.0) };
    let color = [dark + 30.0, dark, dark - 20.0];
    canvas.ellipse([x, y], [draws.between(10.0, 14.0), draws.between(9.0, 13.0)], color);
    for _ in 0..if is_malignant { 5 } else { 1 } {
        let centre = [x + draws.between(-14.0, 14.0), y + draws.between(-14.0, 14.0)];
        canvas.disc(centre, draws.between(2.0, 4.0), color.map(|value| value - 15.0));
    }
    canvas.grain(draws, 14.0);
    canvas
}

fn melanoma(stream: Stream) -> PreparedFiles {
    let mut draws = Draws::new(stream);
    let (train, test) = (160, 80);
    let digits = b"0123456789";
    let ids =
        distinct(&mut draws, train + test, |draws| format!("ISIC_{}", text(draws, digits, 7)));
    let names =
        distinct(&mut draws, train + test, |draws| format!("IP_{}", text(draws, digits, 7)));
    let mut labels = flags(&mut draws, train, 0.12);
    labels.extend(flags(&mut draws, test, 0.12));
    let patients: Vec<Patient> = names
        .into_iter()
        .zip(labels)
        .map(|(name, is_malignant)| Patient::new(&mut draws, name, is_malignant))
        .collect();

    let mut files = PreparedFiles::default();
    let columns = [
        "image_name",
        "patient_id",
        "sex",
        "age_approx",
        "anatom_site_general_challenge",
        "diagnosis",
        "benign_malignant",
        "target",
    ];
    let (mut table, mut test_table) = (CsvRows::new(columns), CsvRows::new(&columns[..5]));
    let mut records = Vec::new();
    for (row, (id, patient)) in ids.iter().zip(&patients).enumerate() {
        let half = if row < train { "train" } else { "test" };
        let picture = mole(&mut draws, patient.is_malignant);
        let header = DicomHeader {
            number: row as u64 + 2,
            patient: &patient.name,
            sex: if patient.sex == "male" { "M" } else { "F" },
            age: &format!("{:03}Y", patient.age),
            part: SITES[patient.site],
        };
        files.public(format!("{half}/{id}.dcm"), dicom::encode(&picture, header));
        let jpeg = picture.jpeg(Channels::Rgb);
        records.push(example(id, patient, &jpeg, row < train));
        files.public(format!("jpeg/{half}/{id}.jpg"), jpeg);
        let mut cells = vec![id.clone()];
        cells.extend(patient.cells());
        if row < train {
            let (kind, target) =
                if patient.is_malignant { ("malignant", "1") } else { ("benign", "0") };
            let diagnosis = if patient.is_malignant { "melanoma" } else { "unknown" };
            cells.extend([diagnosis, kind, target].map(str::to_owned));
            table.row(&cells);
        } else {
            test_table.row(&cells);
        }
    }
    for (half, records) in [("train", &records[..train]), ("test", &records[train..])] {
        for (number, records) in records.chunks(RECORDS).enumerate() {
            let path = format!("tfrecords/{half}{number:02}-{}.tfrec", records.len());
            files.public(path, records.concat());
        }
    }
    let header = ["image_name", "target"];
    files.public("train.csv", table.bytes());
    files.public("test.csv", test_table.bytes());
    files.public("sample_submission.csv", constant_rows(&header, &ids[train..], &["0"]));
    let truth = patients[train..].iter().map(|patient| u8::from(patient.is_malignant));
    files.private("test.csv", labelled_rows(header, ids[train..].iter().zip(truth)));
    files
}

/// A picture's record; that of a test picture has no target.
fn example(id: &str, patient: &Patient, jpeg: &[u8], is_labelled: bool) -> Vec<u8> {
    let mut features = vec![
        ("age_approx", Feature::Count(patient.age as u64)),
        ("anatom_site_general_challenge", Feature::Count(patient.site as u64)),
        ("image", Feature::Bytes(jpeg)),
        ("image_name", Feature::Bytes(id.as_bytes())),
        ("sex", Feature::Count(u64::from(patient.sex == "male"))),
    ];
    if is_labelled {
        features.push(("target", Feature::Count(u64::from(patient.is_malignant))));
    }
    record(&features)
}
