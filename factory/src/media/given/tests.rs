use super::*;
use crate::media::image::picture::encode;
use crate::media::{Blemish, Format, Reading};
use ndarray::{Array2, ArrayD, s};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::process::{Command, Stdio};
use tasks::stream::Stream;

const STORY: &str = "The Pump at gate 12 ran for 3.5 hours; it was LOUD, and nobody knew why.\n\n\
    Was the valve (no. 7) open? Carla wrote: \"pressure fell to -4 overnight...\" The inspector \
    came on Tuesday; every gasket was replaced. Nothing else happened.";

/// One item of each kind and form.
fn items() -> Vec<DecodedItem> {
    let mut draws = Draws::new(Stream::root(5));
    let mut items = Vec::new();
    for (side, channels) in [(48, 1), (56, 3), (64, 3), (17, 1)] {
        let slopes = [draws.between(0.5, 3.0), draws.between(0.5, 3.0), draws.between(20.0, 60.0)];
        let level = |(y, x, c): (usize, usize, usize)| {
            let value = slopes[0] * y as f64 + slopes[1] * x as f64 + slopes[2] * c as f64;
            u8::try_from(crate::numeric::draws::floor(value) % 256).unwrap()
        };
        items.push(DecodedItem::Picture(Array3::from_shape_fn((side, side, channels), level)));
    }
    for (samples, pitch) in [(LEAST_SAMPLES, 0.11), (6144, 0.03), (MOST_SAMPLES, 0.29)] {
        let sample = |i: usize| {
            let (t, swell) = (i as f64, 1.0 + i as f64 / samples as f64);
            4000.0 * swell * (libm::sin(pitch * t) + 0.4 * libm::sin(2.3 * pitch * t + 1.0))
        };
        #[expect(clippy::cast_possible_truncation, reason = "at most 11,200 in size")]
        let steps = (0..samples).map(|i| sample(i) as i16).collect();
        items.push(DecodedItem::Sound(steps));
    }
    items.push(DecodedItem::Text(STORY.to_owned()));
    items.push(DecodedItem::Text(format!("{}the end", "weather, wind; rain.\n".repeat(60))));
    items.push(DecodedItem::Text("42 -- 7".to_owned()));
    items
}

fn formats(item: &DecodedItem) -> &'static [Format] {
    item.view().kind().reader().formats()
}

/// An item with these blemishes, of the stream that belongs to `seed`.
fn written(item: &DecodedItem, format: Format, blemishes: &[(&str, f64)], seed: u64) -> Vec<u8> {
    let blemishes: BTreeMap<String, f64> =
        blemishes.iter().map(|(name, strength)| ((*name).to_owned(), *strength)).collect();
    let stream = Stream::root(seed);
    let look = Look {
        format,
        stream,
        vocabulary: &[],
        subject: None,
        genre: None,
        source: None,
        samples: None,
        blemishes: &blemishes,
    };
    write(item.view(), &look, &mut Draws::new(stream.child("item"))).unwrap()
}

/// The same, read back.
fn blemished(item: &DecodedItem, name: &str, strength: f64) -> DecodedItem {
    let bytes = written(item, formats(item)[0], &[(name, strength)], 9);
    decode(item.view().kind(), &bytes).unwrap()
}

fn pictures() -> impl Iterator<Item = (DecodedItem, Array3<u8>)> {
    items().into_iter().filter_map(|item| match &item {
        DecodedItem::Picture(levels) => Some((item.clone(), levels.clone())),
        _ => None,
    })
}

fn levels(item: DecodedItem) -> Array3<u8> {
    let DecodedItem::Picture(levels) = item else { panic!("no picture: {item:?}") };
    levels
}

fn sounds() -> impl Iterator<Item = (DecodedItem, Vec<f64>)> {
    let sounds = items().into_iter().filter(|item| item.view().kind() == MediumKind::Sound);
    sounds.map(|item| (item.clone(), samples(item)))
}

fn samples(item: DecodedItem) -> Vec<f64> {
    let DecodedItem::Sound(steps) = item else { panic!("no sound: {item:?}") };
    steps.into_iter().map(f64::from).collect()
}

/// Root mean square.
fn level(samples: impl Iterator<Item = f64>) -> f64 {
    let squares: Vec<f64> = samples.map(|sample| sample * sample).collect();
    (squares.iter().sum::<f64>() / squares.len() as f64).sqrt()
}

fn gaps(before: &[f64], after: &[f64]) -> Vec<f64> {
    before.iter().zip(after).map(|(before, after)| after - before).collect()
}

#[test]
fn items_without_blemishes_come_back_as_they_were() {
    for item in items() {
        for format in formats(&item) {
            let back = decode(item.view().kind(), &written(&item, *format, &[], 1)).unwrap();
            match (&item, format) {
                (DecodedItem::Text(text), Format::Cells) => {
                    assert_eq!(back, DecodedItem::Text(text.replace('\n', " ")));
                }
                _ => assert_eq!(back, item),
            }
        }
    }
    let every = Array3::from_shape_fn((16, 16, 1), |(y, x, _)| u8::try_from(16 * y + x).unwrap());
    let every = DecodedItem::Picture(every);
    let back = decode(MediumKind::Picture, &written(&every, Format::Png, &[], 1)).unwrap();
    assert_eq!(back, every, "every level");
}

#[test]
fn items_of_one_stream_have_the_same_bytes() {
    for item in items() {
        for blemish in item.view().kind().reader().blemishes() {
            let with =
                |seed| written(&item, formats(&item)[0], &[(blemish.name, blemish.high)], seed);
            assert_eq!(with(3), with(3), "{}", blemish.name);
        }
    }
    // The same bits on every machine, and changes of the bits only on purpose.
    let mut hasher = blake3::Hasher::new();
    for item in items() {
        let known = item.view().kind().reader().blemishes();
        let all: Vec<(&str, f64)> = known.iter().map(|known| (known.name, known.low)).collect();
        hasher.update(&written(&item, formats(&item)[0], &all, 4));
    }
    assert_eq!(&hasher.finalize().to_hex()[..16], "7e8329eec4d38787");
}

#[test]
fn file_sizes_depend_on_the_form_alone() {
    for (item, levels) in pictures() {
        let sizes: BTreeSet<usize> = [
            written(&item, Format::Png, &[], 1),
            written(&item, Format::Png, &[("noise", 0.2), ("dead_pixels", 0.3)], 2),
            written(&DecodedItem::Picture(Array3::zeros(levels.dim())), Format::Png, &[], 3),
        ]
        .map(|file| file.len())
        .into();
        assert_eq!(sizes.len(), 1, "{:?}: {sizes:?}", levels.dim());
        assert!(sizes.first().unwrap() > &levels.len());
    }
    for (item, samples) in sounds() {
        for blemishes in [&[][..], &[("hiss", 0.3), ("clipping", 0.5)]] {
            assert_eq!(written(&item, Format::Wav, blemishes, 1).len(), 44 + 2 * samples.len());
        }
    }
}

#[test]
fn noise_moves_all_channels_by_its_strength_apart_from_each_other() {
    let grey = DecodedItem::Picture(Array3::from_elem((64, 64, 3), 128));
    let noisy = levels(blemished(&grey, "noise", 0.03)).mapv(|level| f64::from(level) - 128.0);
    for channel in noisy.axis_iter(Axis(2)) {
        assert!(channel.mean().unwrap().abs() < 0.5);
        assert!((level(channel.iter().copied()) - 0.03 * 255.0).abs() < 0.3);
    }
    let [red, blue] = [0, 2].map(|channel| noisy.index_axis(Axis(2), channel));
    let covariance = (&red * &blue).mean().unwrap() / (0.03_f64 * 255.0).powi(2);
    assert!(covariance.abs() < 0.06, "{covariance}");
}

#[test]
fn dead_pixels_are_black_or_white_in_all_channels_and_the_rest_is_unchanged() {
    for (item, before) in pictures() {
        let after = levels(blemished(&item, "dead_pixels", 0.1));
        let mut dead = 0;
        for (before, after) in before.lanes(Axis(2)).into_iter().zip(after.lanes(Axis(2))) {
            if before != after {
                assert!([0, 255].iter().any(|end| after.iter().all(|level| level == end)));
                dead += 1;
            }
        }
        let share = f64::from(dead) / (before.len() / before.len_of(Axis(2))) as f64;
        assert!((share - 0.1).abs() < 0.06, "{share}");
    }
}

#[test]
fn bar_is_one_black_strip_over_all_channels() {
    for (item, before) in pictures() {
        let after = levels(blemished(&item, "bar", 0.1));
        let side = before.dim().0;
        let width = (side + 5) / 10;
        let strip = |axis: usize, from: usize| {
            let mut covered = before.clone();
            covered.slice_axis_mut(Axis(axis), (from..from + width).into()).fill(0);
            covered
        };
        let mut strips = (0..2).flat_map(|axis| (0..=side - width).map(move |from| (axis, from)));
        assert!(strips.any(|(axis, from)| strip(axis, from) == after), "side {side}");
    }
}

#[test]
fn coarse_levels_are_few_and_near() {
    for (item, before) in pictures() {
        let after = levels(blemished(&item, "coarse_levels", 0.05));
        let kinds: BTreeSet<u8> = after.iter().copied().collect();
        assert!(kinds.len() <= 21, "{kinds:?}");
        assert!(before.iter().zip(&after).all(|(before, after)| before.abs_diff(*after) <= 7));
    }
}

#[test]
fn hiss_and_hum_are_as_strong_as_said_against_the_sound() {
    for (item, before) in sounds() {
        let own = level(before.iter().copied());
        let hiss = gaps(&before, &samples(blemished(&item, "hiss", 0.3)));
        assert!((level(hiss.iter().copied()) / own - 0.3).abs() < 0.02);
        // White: neighbours have nothing to do with each other.
        let pairs = hiss.windows(2).map(|pair| pair[0] * pair[1]).sum::<f64>();
        assert!((pairs / hiss.iter().map(|gap| gap * gap).sum::<f64>()).abs() < 0.1);

        // The mains and their octave repeat after a tenth of a second, at 50 Hz and at 60 Hz.
        let hum = gaps(&before, &samples(blemished(&item, "hum", 0.3)));
        let strength = 0.3 * (1.2_f64 * 1.2 + 0.7 * 0.7).sqrt();
        assert!((level(hum.iter().copied()) / own - strength).abs() < 0.02);
        assert!(hum.iter().zip(&hum[800..]).all(|(gap, later)| (gap - later).abs() <= 2.0));
    }
    let silence = DecodedItem::Sound(vec![0; LEAST_SAMPLES]);
    assert_eq!(blemished(&silence, "hiss", 0.3), silence);
}

#[test]
fn echo_begins_after_its_delay_and_repeats_the_sound() {
    let mut click = vec![0; 6144];
    click[100] = 20_000;
    let after = samples(blemished(&DecodedItem::Sound(click), "echo", 0.25));
    let heard: Vec<usize> = (0..after.len()).filter(|place| after[*place] != 0.0).collect();
    let [100, first, second, third] = heard[..] else { panic!("{heard:?}") };
    assert!((420..=580).contains(&first) && first < second && second < third);
    assert_eq!([100, first, second, third].map(|at| after[at]), [20_000.0, 5000.0, 1250.0, 313.0]);
}

#[test]
fn clipping_cuts_the_share_of_the_peak_and_leaves_quiet_samples() {
    for (item, before) in sounds() {
        let after = samples(blemished(&item, "clipping", 0.4));
        let limit = 0.6 * before.iter().fold(0.0, |peak: f64, sample| peak.max(sample.abs()));
        for (before, after) in before.iter().zip(&after) {
            assert!((after - before.clamp(-limit, limit)).abs() <= 0.5, "{before} {after}");
        }
    }
}

#[test]
fn typos_change_long_words_of_letters_and_nothing_else() {
    let item = DecodedItem::Text(STORY.to_owned());
    let typed = |strength: f64| {
        let file = written(&item, Format::Text, &[("typos", strength)], 9);
        String::from_utf8(file).unwrap()
    };
    let after = typed(1.0);
    let gaps = |text: &str| text.split(|c: char| c.is_ascii_graphic()).collect::<String>();
    assert_eq!(gaps(STORY) + "\n", gaps(&after));
    let mut changed = 0;
    for (before, after) in STORY.split_whitespace().zip(after.split_whitespace()) {
        let core = before.trim_matches(|c: char| !c.is_ascii_alphanumeric());
        let is_long_word = core.len() >= 5 && core.bytes().all(|b| b.is_ascii_alphabetic());
        assert!(is_long_word || before == after, "{before} {after}");
        assert!(before.len().abs_diff(after.len()) <= 1, "{before} {after}");
        changed += usize::from(before != after);
    }
    // A swap of equal letters, or of the last inner one, changes nothing.
    assert!(changed > 10, "{changed}: {after}");
    assert_eq!(typed(0.0), format!("{STORY}\n"));
}

#[test]
fn blanks_of_a_text_that_part_nothing_are_dropped() {
    let item = DecodedItem::Text("\n  One  word,\n \n\n then another. \n".to_owned());
    let kept = |format| String::from_utf8(written(&item, format, &[], 9)).unwrap();
    assert_eq!(kept(Format::Text), "One word,\n\nthen another.\n");
    assert_eq!(kept(Format::Cells), "One word,  then another.");
}

#[test]
fn bare_texts_miss_full_stops_and_semicolons_and_nothing_else() {
    let item = DecodedItem::Text(STORY.to_owned());
    let file = written(&item, Format::Text, &[("bare", 1.0)], 9);
    let after = String::from_utf8(file).unwrap();
    let mut missing = 0;
    for (before, after) in STORY.split_whitespace().zip(after.split_whitespace()) {
        let bared = before.strip_suffix(['.', ';']);
        assert_eq!(bared.unwrap_or(before), after);
        missing += usize::from(bared.is_some());
    }
    assert_eq!(missing, 6, "{after}");
}

#[test]
fn items_that_do_not_fit_are_refused_with_what_to_give() {
    let picture = |dim| DecodedItem::Picture(Array3::zeros(dim));
    let text = |text: &str| DecodedItem::Text(text.to_owned());
    let cases = [
        (picture((48, 40, 1)), "16 to 256 pixels a side"),
        (picture((15, 15, 3)), "15 x 15"),
        (picture((257, 257, 1)), "257 x 257"),
        (picture((48, 48, 2)), "1 or 3 channels"),
        (DecodedItem::Sound(vec![0; LEAST_SAMPLES - SAMPLES_STEP]), "4096 to 8192"),
        (DecodedItem::Sound(vec![0; MOST_SAMPLES + SAMPLES_STEP]), "4096 to 8192"),
        (DecodedItem::Sound(vec![0; LEAST_SAMPLES + 1]), "a multiple of 256"),
        (text("a \u{fc}ber text"), "ASCII"),
        (text("a\tb"), "line feeds"),
        (text("nan"), "give 2 or more"),
        (text(" \n "), "0 words"),
        (text(&"ab ".repeat(MOST_TEXT / 3 + 1)), "at most 4096"),
    ];
    for (item, said) in cases {
        let error = item.view().check().unwrap_err().to_string();
        assert!(error.contains(said), "{error} (expected {said})");
        let look = Look {
            format: formats(&item)[0],
            stream: Stream::root(1),
            vocabulary: &[],
            subject: None,
            genre: None,
            source: None,
            samples: None,
            blemishes: &BTreeMap::new(),
        };
        assert!(write(item.view(), &look, &mut Draws::new(look.stream)).is_err());
        let look = Look { format: Format::Jpeg, ..look };
        let fitting = items().swap_remove(0);
        let error = write(fitting.view(), &look, &mut Draws::new(look.stream)).unwrap_err();
        assert!(error.to_string().contains("choose one of [Png]"), "{error}");
    }
    for (shape, fits) in [(vec![16, 16], true), (vec![16, 16, 3], true), (vec![16], false)] {
        let levels = ArrayD::zeros(shape);
        assert_eq!(
            GivenItem::from_levels(levels.view()).is_ok_and(|item| item.check().is_ok()),
            fits
        );
    }
}

#[test]
fn files_of_other_kinds_are_refused() {
    let jpeg = encode(Format::Jpeg, Array3::from_elem((48, 48, 1), 90).view());
    let png = encode(Format::Png, Array3::from_elem((48, 48, 1), 90).view());
    for (kind, bytes) in [
        (MediumKind::Picture, &jpeg[..]),
        (MediumKind::Picture, &png[..png.len() / 2]),
        (MediumKind::Picture, b""),
        (MediumKind::Sound, &png),
        (MediumKind::Sound, b"RIFF"),
        (MediumKind::Text, &png),
        (MediumKind::Text, b"word"),
        (MediumKind::Surface, &png),
    ] {
        assert!(decode(kind, bytes).is_err(), "{kind:?}");
        assert!(kind == MediumKind::Surface || kind.reader().read(bytes).is_err(), "{kind:?}");
    }
    assert!(decode(MediumKind::Picture, &png).is_ok());
}

#[test]
fn readings_of_empty_items_are_finite_and_no_longer_than_allowed() {
    let mut all = items();
    all.extend([
        DecodedItem::Picture(Array3::zeros((16, 16, 1))),
        DecodedItem::Picture(Array3::from_elem((256, 256, 3), 255)),
        DecodedItem::Sound(vec![0; LEAST_SAMPLES]),
        DecodedItem::Sound(vec![i16::MIN; MOST_SAMPLES]),
        DecodedItem::Text("-- ...".to_owned()),
    ]);
    for item in all {
        let reader = item.view().kind().reader();
        let Reading { plain, generic, estimates } =
            reader.read(&written(&item, formats(&item)[0], &[], 1)).unwrap();
        assert!(estimates.is_empty());
        for features in [plain, generic] {
            assert!((1..=32).contains(&features.len()), "{}", features.len());
            assert!(features.iter().all(|value| value.is_finite()), "{features:?}");
        }
    }
}

#[test]
fn coloured_pictures_of_equal_green_have_different_readings() {
    let mut cold = Array3::from_elem((48, 48, 3), 100);
    cold.slice_mut(s![.., .., 2]).fill(200);
    let mut warm = Array3::from_elem((48, 48, 3), 100);
    warm.slice_mut(s![.., .., 0]).fill(200);
    let read = |levels: Array3<u8>| {
        let item = DecodedItem::Picture(levels);
        MediumKind::Picture.reader().read(&written(&item, Format::Png, &[], 1)).unwrap()
    };
    let (cold, warm) = (read(cold), read(warm));
    assert_eq!((cold.plain.len(), cold.generic.len()), (28, 32));
    assert_ne!(cold.plain[..25], warm.plain[..25], "brightness");
    let near = |found: &[f64], expected: &[f64]| {
        found.iter().zip(expected).all(|(found, expected)| (found - expected).abs() < 1e-12)
    };
    let (low, high) = (100.0 / 255.0, 200.0 / 255.0);
    assert!(
        near(&cold.plain[25..], &[low, low, high]) && near(&warm.plain[25..], &[high, low, low])
    );
    assert!(near(&cold.generic[28..], &[0.0, 0.0, low, 0.0]), "{:?}", &cold.generic[28..]);
}

/// Reads one item per line in hexadecimal, writes what `read` and `decode` return.
const DRIVER: &str = "
import json, sys

def answer(data):
    item = decode(data)
    if isinstance(item, str):
        return [read(data), 'str', [len(item)], [ord(c) for c in item]]
    return [read(data), str(item.dtype), list(item.shape), item.ravel().tolist()]

for line in sys.stdin:
    print(json.dumps(answer(bytes.fromhex(line))))
";

/// What `read` returns, the type of what `decode` returns, its shape and its values in a row.
type Answer = ([Vec<f64>; 3], String, Vec<usize>, Vec<i32>);

fn by_python(kind: MediumKind, files: &[Vec<u8>]) -> Vec<Answer> {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
    let python = std::env::var("MLE_PYTHON").unwrap_or_else(|_| format!("{root}/.venv/bin/python"));
    let mut child = Command::new(python)
        .args(["-c", &format!("{}{DRIVER}", kind.reader().python())])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("`make venv` sets up the Python environment that this test compares with");
    let mut stdin = child.stdin.take().unwrap();
    let line = |file: &Vec<u8>| {
        file.iter().map(|byte| format!("{byte:02x}")).chain(["\n".to_owned()]).collect::<String>()
    };
    let lines: String = files.iter().map(line).collect();
    let writer = std::thread::spawn(move || stdin.write_all(lines.as_bytes()).unwrap());
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    assert!(output.status.success());
    let lines = String::from_utf8(output.stdout).unwrap();
    lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn python_reads_and_decodes_given_items_as_rust_does() {
    for kind in [MediumKind::Picture, MediumKind::Sound, MediumKind::Text] {
        let mut files = Vec::new();
        for item in items().iter().filter(|item| item.view().kind() == kind) {
            files.extend(formats(item).iter().map(|format| written(item, *format, &[], 6)));
            let blemished = |Blemish { name, high, .. }: &Blemish| {
                written(item, *formats(item).last().unwrap(), &[(name, *high)], 7)
            };
            files.extend(kind.reader().blemishes().iter().map(blemished));
        }
        let answers = by_python(kind, &files);
        assert_eq!(answers.len(), files.len());
        for (file, (readings, dtype, shape, values)) in files.iter().zip(answers) {
            let Reading { plain, generic, estimates } = kind.reader().read(file).unwrap();
            for (ours, theirs) in [plain, generic, estimates].iter().zip(&readings) {
                assert_eq!(ours.len(), theirs.len(), "{kind:?}");
                for (place, (ours, theirs)) in ours.iter().zip(theirs).enumerate() {
                    let close = (ours - theirs).abs() <= 1e-6 * ours.abs().max(1e-3);
                    assert!(close, "{kind:?} {place}: ours {ours}, theirs {theirs}");
                }
            }
            let (expected, dim, own): (&str, Vec<usize>, Vec<i32>) =
                match decode(kind, file).unwrap() {
                    DecodedItem::Picture(levels) => {
                        let axes = if levels.dim().2 == 1 { 2 } else { 3 };
                        let own = levels.iter().map(|level| i32::from(*level)).collect();
                        ("uint8", levels.shape()[..axes].to_vec(), own)
                    }
                    DecodedItem::Sound(steps) => {
                        ("int16", vec![steps.len()], steps.into_iter().map(i32::from).collect())
                    }
                    DecodedItem::Text(text) => {
                        ("str", vec![text.len()], text.bytes().map(i32::from).collect())
                    }
                };
            assert_eq!((dtype.as_str(), shape), (expected, dim));
            assert_eq!(values, own);
        }
    }
}

#[test]
fn grey_pictures_with_one_axis_less_are_the_same_item() {
    let grey = Array2::from_shape_fn((48, 48), |(y, x)| u8::try_from(2 * y + x).unwrap());
    let levels = grey.clone().into_dyn();
    let item = GivenItem::from_levels(levels.view()).unwrap();
    assert_eq!(item, GivenItem::Picture(grey.view().insert_axis(Axis(2))));
}
