//! Records of rows in a file of their own: in each format they are the same table to pandas, and tasks
//! with them are sound and played by programs that read the public files alone.

use crate::ladder;
use camino::{Utf8Path, Utf8PathBuf};
use factory::data::records::{Record, Records};
use factory::spec::blueprint::Blueprint;
use factory::spec::scenario::WordColumn;
use factory::spec::structure::{RecordFormat, RecordSpec, Relation};
use fs_err as fs;
use jail::exec::SandboxOptions;
use sandbox::env::TaskSuite;
use serde_json::json;
use std::process::{Command, Output};
use support::reference;
use tasks::rating::{Ratings, Solver};
use tasks::task::{Corpus, Opening};

/// Corpora that are made until each format has turned up; one in seven is Parquet.
const CORPORA: u64 = 60;

fn factory(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_factory")).args(args).output().unwrap()
}

fn done(args: &[&str]) -> String {
    let output = factory(args);
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn parquet_is_to_pandas_what_csv_is() {
    let desk = tempfile::tempdir().unwrap();
    let desk = Utf8Path::from_path(desk.path()).unwrap();
    let record = |place: usize| Record {
        row: place * 7 % 300,
        day: 17_000 + i32::try_from(place % 211).unwrap(),
        source: place % 3,
        item: Some(place % 4),
        value: (place % 613) as f64 / 100.0 - 2.0,
    };
    let items = ["AB012", "CD345", "EF678", "GH901"];
    let catalogue = items.iter().zip([0.25, 1.5, 2.0, -3.75]);
    let catalogue = catalogue.map(|(item, value)| ((*item).to_owned(), value)).collect();
    let records = Records { all: (0..2000).map(record).collect(), catalogue };
    let names: Vec<String> = (0..300).map(|row| format!("{:04}", 9000 - row)).collect();
    let ids: Vec<&str> = names.iter().map(String::as_str).collect();
    let of_catalogue =
        Relation::Catalogue { file: "items".to_owned(), item: "item".to_owned(), items: 4 };
    let questions = [("mean", Relation::Mean), ("items", of_catalogue)].map(|(name, relation)| {
        let [csv, parquet] = [RecordFormat::Csv, RecordFormat::Parquet].map(|format| {
            let spec = RecordSpec {
                of: "load".to_owned(),
                relation: relation.clone(),
                file: name.to_owned(),
                day: "noted_on".to_owned(),
                source: WordColumn::try_from("noted_by: device hand import".to_owned()).unwrap(),
                least: 1,
                most: 20,
                format,
            };
            let path = desk.join(spec.path());
            let bytes = &records.files(&spec, "row_id", &ids, 1)[&spec.path()];
            fs::write(&path, bytes).unwrap();
            path
        });
        json!({"parquet": parquet, "csv": csv, "id": "row_id"})
    });
    let answers = reference::ask("factory/tests/reference/records.py", questions.into());
    let text = "object";
    assert_eq!(answers[0], json!({"same": true, "kinds": [text, text, text, "float64"]}));
    assert_eq!(answers[1], json!({"same": true, "kinds": [text, text, text, text]}));
}

/// The format of the records of the one task of a corpus; none if there is no task.
fn format_of(corpus: &Utf8Path) -> Option<RecordFormat> {
    let corpus = Corpus::open(corpus).unwrap();
    let text = fs::read(corpus.tasks().first()?.path().join("source/blueprint.json")).unwrap();
    let blueprint: Blueprint = serde_json::from_slice(&text).unwrap();
    let spec = blueprint.structure.records?;
    assert!(corpus.tasks()[0].public().path().join(spec.path()).is_file());
    Some(spec.format)
}

/// A corpus of one table with records in this format.
fn corpus(desk: &Utf8Path, format: RecordFormat) -> Utf8PathBuf {
    let seed =
        concat!(env!("CARGO_MANIFEST_DIR"), "/../seeds/mlebench/champs-scalar-coupling.toml");
    let made = |number: u64| {
        let (number, out) =
            (number.to_string(), desk.join(format!("{}-{number}", format.ending())));
        let output = factory(&[
            "generate",
            "--count",
            "1",
            "--val-count",
            "0",
            "--seed",
            &number,
            "--seeds",
            seed,
            "--modality",
            "tabular",
            "--formulation",
            "regression",
            "--out",
            out.as_str(),
        ]);
        // 3: the slot stays empty.
        assert!(matches!(output.status.code(), Some(0 | 3)), "{output:?}");
        out
    };
    let found = (0..CORPORA).map(made).find(|corpus| format_of(corpus) == Some(format));
    found.unwrap_or_else(|| panic!("no records are {format:?}"))
}

#[test]
fn tasks_with_records_in_every_format_are_sound_and_played() {
    let desk = tempfile::tempdir().unwrap();
    let desk = Utf8Path::from_path(desk.path()).unwrap();
    for format in RecordFormat::ALL {
        let root = corpus(desk, format);
        // A reference script reads the records, too.
        done(&["verify", root.as_str(), "--run"]);
        done(&["stats", root.as_str()]);

        let options = SandboxOptions::default;
        let suite = TaskSuite::open(&root, &Opening::default(), options()).unwrap();
        let task = suite.tasks().first().unwrap();
        // That the scripts of all levels run is part of it; that of the rule reads the records.
        let ([constant, .., oracle], bronze) = ladder::gains(&suite, task);
        assert!(
            constant < bronze && bronze <= oracle,
            "{format:?}: {constant}, {bronze}, {oracle}"
        );

        let solvers = ["--solvers", "constant,engineer", "--timeout", "60s"];
        done(&[&["rate", root.as_str()][..], &solvers].concat());
        let ratings = Ratings::read(&root).unwrap();
        let way = |solver: Solver| {
            let manifest = task.ours().unwrap().manifest();
            let rating = ratings.of(manifest).find(|rating| rating.solver == solver).unwrap();
            assert!(rating.ending == "finished" && rating.note.is_none(), "{rating:?}");
            rating.way
        };
        assert!(way(Solver::Engineer) > way(Solver::Constant), "{format:?}");
        let task = task.ours().unwrap().path();
        done(&["inspect", task.as_str()]);
    }
}
