//! Small colour pictures of things: cacti, cats and dogs, breeds of dogs.

use super::archive::stored;
use super::canvas::{Canvas, Channels, Color};
use super::classes;
use super::csv_rows::{CsvRows, constant_rows, even_rows, labelled_rows, one_hot_rows};
use super::files::PreparedFiles;
use super::names::{distinct, flags, hex};
use super::source::StandInSource;
use crate::numeric::draws::Draws;
use tasks::stream::Stream;

/// Is there a cactus in the picture?
pub(super) const CACTUS: StandInSource = StandInSource {
    id: "aerial-cactus-identification",
    task: "Each picture is a drawn view from above, 32 by 32 pixels in colour. Predict the \
           probability that it shows a cactus, which is a group of bright stripes.",
    evaluation: "Area under the ROC curve.",
    files: &[
        ("train.csv", "`id` (name of the picture) and `has_cactus` (0 or 1)"),
        ("train.zip", "the pictures of the training rows, without a folder"),
        ("test.zip", "the pictures of the test rows, without a folder"),
        ("sample_submission.csv", "`id` and `has_cactus`, a probability, for each test picture"),
    ],
    differences: &["pictures are drawn stripes on noise, not photographs"],
    make: cactus,
};

/// Is it a dog or a cat?
pub(super) const DOGS_AND_CATS: StandInSource = StandInSource {
    id: "dogs-vs-cats-redux-kernels-edition",
    task: "Each picture is a drawn head of a cat (ears that stand up) or of a dog (ears that hang \
           down). Predict the probability that it is a dog.",
    evaluation: "Log loss.",
    files: &[
        ("train/", "training pictures, `cat.N.jpg` and `dog.N.jpg`"),
        ("test/", "test pictures, `N.jpg`"),
        ("train.zip", "the folder `train` once more"),
        ("test.zip", "the folder `test` once more"),
        ("sample_submission.csv", "`id` (N of the test picture) and `label`, probability of a dog"),
    ],
    differences: &["pictures are drawn, and all of 48 by 48 pixels"],
    make: dogs_and_cats,
};

/// Which breed is it?
pub(super) const BREEDS: StandInSource = StandInSource {
    id: "dog-breed-identification",
    task: "Each picture shows a drawn dog of one of 120 breeds, whose coat has two colours. Predict \
           a probability for each breed.",
    evaluation: "Multiclass log loss. The probabilities of a row must add up to 1.",
    files: &[
        ("labels.csv", "`id` and `breed` of the training pictures"),
        ("train/", "training pictures, `<id>.jpg`"),
        ("test/", "test pictures, `<id>.jpg`"),
        ("sample_submission.csv", "`id` and a column of probabilities per breed"),
    ],
    differences: &[
        "pictures are drawn, and all of 48 by 48 pixels",
        "every breed has four training pictures and two test pictures",
    ],
    make: breeds,
};

fn color(draws: &mut Draws, low: f64, high: f64) -> Color {
    [0; 3].map(|_| draws.between(low, high))
}

fn desert(draws: &mut Draws, has_cactus: bool) -> Canvas {
    let ground = draws.between(90.0, 130.0);
    let mut canvas = Canvas::new(32, 32, [ground + 25.0, ground + 15.0, ground]);
    // Bushes are in all pictures.
    for _ in 0..draws.whole(1, 3) {
        let centre = [draws.between(0.0, 32.0), draws.between(0.0, 32.0)];
        canvas.disc(centre, draws.between(2.0, 4.0), [70.0, 85.0, 60.0]);
    }
    if has_cactus {
        let (left, top) = (draws.between(4.0, 16.0), draws.between(2.0, 8.0));
        for stripe in 0..4 {
            let x = left + 3.0 * f64::from(stripe);
            canvas.rectangle([x, top], [1.5, draws.between(16.0, 22.0)], [190.0, 200.0, 170.0]);
        }
    }
    canvas.grain(draws, 22.0);
    canvas
}

fn cactus(stream: Stream) -> PreparedFiles {
    let mut draws = Draws::new(stream);
    let (train, test) = (160, 80);
    let ids = distinct(&mut draws, train + test, |draws| format!("{}.jpg", hex(draws, 32)));
    let mut labels = flags(&mut draws, train, 0.7);
    labels.extend(flags(&mut draws, test, 0.7));
    let pictures: Vec<Vec<u8>> =
        labels.iter().map(|label| desert(&mut draws, *label).jpeg(Channels::Rgb)).collect();
    let members = |rows: std::ops::Range<usize>| {
        stored(rows.map(|row| (ids[row].as_str(), pictures[row].as_slice())))
    };
    let table = |rows: std::ops::Range<usize>| {
        let numbers = labels[rows.clone()].iter().map(|label| u8::from(*label));
        labelled_rows(["id", "has_cactus"], ids[rows].iter().zip(numbers))
    };
    let mut files = PreparedFiles::default();
    files.public("train.csv", table(0..train));
    files.public("train.zip", members(0..train));
    files.public("test.zip", members(train..train + test));
    let header = ["id", "has_cactus"];
    files.public("sample_submission.csv", constant_rows(&header, &ids[train..], &["0.5"]));
    files.private("test.csv", table(train..train + test));
    files
}

fn head(draws: &mut Draws, is_dog: bool) -> Canvas {
    let mut canvas = Canvas::new(48, 48, color(draws, 120.0, 220.0));
    let coat = color(draws, 30.0, 110.0);
    let (x, y) = (draws.between(21.0, 27.0), draws.between(24.0, 28.0));
    canvas.ellipse([x, y], [11.0, 10.0], coat);
    for side in [-1.0, 1.0] {
        if is_dog {
            canvas.ellipse([x + side * 13.0, y + 5.0], [4.0, 10.0], coat);
        } else {
            let tip = [x + side * 9.0, y - 18.0];
            canvas.line([x + side * 6.0, y - 7.0], tip, 6.0, coat);
        }
        canvas.disc([x + side * 4.0, y - 2.0], 1.5, [235.0, 235.0, 120.0]);
    }
    canvas.disc([x, y + 4.0], 2.0, [20.0, 20.0, 20.0]);
    canvas.grain(draws, 18.0);
    canvas
}

fn dogs_and_cats(stream: Stream) -> PreparedFiles {
    let mut draws = Draws::new(stream);
    let mut train = Vec::new();
    for (name, is_dog) in [("cat", false), ("dog", true)] {
        for number in 0..80 {
            let picture = head(&mut draws, is_dog).jpeg(Channels::Rgb);
            train.push((format!("train/{name}.{number}.jpg"), picture));
        }
    }
    let labels = flags(&mut draws, 80, 0.5);
    let mut test = Vec::new();
    let ids: Vec<String> = (1..=labels.len()).map(|id| id.to_string()).collect();
    for (id, is_dog) in ids.iter().zip(&labels) {
        test.push((format!("test/{id}.jpg"), head(&mut draws, *is_dog).jpeg(Channels::Rgb)));
    }
    let mut files = PreparedFiles::default();
    for (archive, pictures) in [("train.zip", train), ("test.zip", test)] {
        let members = pictures.iter().map(|(path, bytes)| (path.as_str(), bytes.as_slice()));
        files.public(archive, stored(members));
        for (path, bytes) in pictures {
            files.public(path, bytes);
        }
    }
    let header = ["id", "label"];
    files.public("sample_submission.csv", constant_rows(&header, &ids, &["0.5"]));
    let answers = ids.iter().zip(labels.iter().map(|label| u8::from(*label)));
    files.private("answers.csv", labelled_rows(header, answers));
    files
}

/// The colours of a breed's coat: points of a grid that is wide enough for the noise.
fn coat(breed: usize) -> [Color; 2] {
    let level = |step: usize| 40.0 + 45.0 * step as f64;
    let body = [level(breed % 5), level(breed / 5 % 5), level(breed / 25 % 5)];
    let turned = (breed * 7 + 3) % 125;
    [body, [level(turned / 25), level(turned % 5), level(turned / 5 % 5)]]
}

fn dog(draws: &mut Draws, breed: usize) -> Canvas {
    let mut canvas = Canvas::new(48, 48, color(draws, 90.0, 200.0));
    let mut colors = coat(breed);
    for channel in colors.as_flattened_mut() {
        *channel += draws.between(-9.0, 9.0);
    }
    let (x, y) = (draws.between(-1.5, 1.5), draws.between(-1.5, 1.5));
    canvas.ellipse([24.0 + x, 33.0 + y], [19.0, 12.0], colors[0]);
    canvas.disc([24.0 + x, 13.0 + y], 10.0, colors[1]);
    canvas.grain(draws, 20.0);
    canvas
}

fn breeds(stream: Stream) -> PreparedFiles {
    let mut draws = Draws::new(stream);
    let breeds = classes::breeds();
    let mut ids = distinct(&mut draws, 6 * breeds.len(), |draws| hex(draws, 32)).into_iter();
    let mut rows: Vec<usize> = (0..4 * breeds.len()).map(|row| row % breeds.len()).collect();
    draws.shuffle(&mut rows);
    let mut files = PreparedFiles::default();
    let mut labels = CsvRows::new(["id", "breed"]);
    for (breed, id) in rows.into_iter().zip(&mut ids) {
        files.public(format!("train/{id}.jpg"), dog(&mut draws, breed).jpeg(Channels::Rgb));
        labels.row([&id, &breeds[breed]]);
    }
    files.public("labels.csv", labels.bytes());

    let mut truth: Vec<usize> = (0..2 * breeds.len()).map(|row| row % breeds.len()).collect();
    draws.shuffle(&mut truth);
    let ids: Vec<String> = ids.collect();
    for (breed, id) in truth.iter().zip(&ids) {
        files.public(format!("test/{id}.jpg"), dog(&mut draws, *breed).jpeg(Channels::Rgb));
    }
    files.public("sample_submission.csv", even_rows("id", &breeds, &ids));
    files.private("test.csv", one_hot_rows("id", &breeds, ids.iter().zip(truth)));
    files
}
