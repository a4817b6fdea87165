//! Generators in the jail: honest ones make rows, hostile ones are refused with the right code and
//! leave nothing. The sandbox's launcher must have been built (`cargo build -p sandbox`).

mod program;

use factory::generator::{
    GeneratedRows, GeneratorError, GeneratorFault, GeneratorJail, GeneratorSpec, generate,
};
use factory::spec::generated::ItemForm;
use jail::limits::RunLimits;
use program::{HostileGenerator, honest, spec};
use std::collections::BTreeSet;
use std::time::{Duration, Instant};
use support::process::{self, Process};
use tasks::stream::Stream;
use tasks::units::Span;

const HONEST: [&str; 4] = ["table", "picture", "sound", "text"];

fn jail() -> GeneratorJail {
    GeneratorJail::start(1).unwrap()
}

/// The code of the refusal, or `accepted`.
fn verdict(jail: &GeneratorJail, code: &str, spec: &GeneratorSpec) -> (String, String) {
    match generate(jail, code, spec, Stream::root(5)) {
        Ok(_) => ("accepted".to_owned(), String::new()),
        Err(GeneratorError::Refused(refusal)) => (refusal.code().to_owned(), refusal.detail),
        Err(GeneratorError::Fault(fault)) => panic!("{}", tasks::text::with_causes(&fault)),
    }
}

#[test]
fn honest_generators_make_rows_that_are_kept_byte_for_byte() {
    let jail = jail();
    for name in HONEST {
        let (code, spec) = (honest(name), spec(name));
        let made = generate(&jail, &code, &spec, Stream::root(5)).unwrap();
        let bytes = made.rows.to_bytes();
        assert_eq!(GeneratedRows::from_bytes(&bytes).unwrap(), made.rows, "{name}");
        assert_eq!(made.rows.columns.rows, spec.rows);
        // Another start of the sandbox, another process, the same rows.
        let again = generate(&self::jail(), &code, &spec, Stream::root(5)).unwrap();
        assert!(again.rows.to_bytes() == bytes && again.inspection == made.inspection, "{name}");
        let other = generate(&jail, &code, &spec, Stream::root(6)).unwrap();
        assert_ne!(other.rows.scores, made.rows.scores);
    }
}

#[test]
fn hostile_generators_are_refused_with_their_code_and_leave_nothing() {
    let limits = RunLimits { time_limit: Span::seconds(4), ..GeneratorJail::limits() };
    let jail = jail().with_limits(limits);
    let honest = honest("table");
    assert_eq!(verdict(&jail, &honest, &spec("table")).0, "accepted");
    let before = traces(&jail);
    let mut wrong = Vec::new();
    for HostileGenerator { name, base, must, code, .. } in HostileGenerator::all() {
        let (found, detail) = verdict(&jail, &code, &spec(&base));
        if found != must {
            wrong.push(format!("{name}: {found} instead of {must}: {detail}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(traces(&jail), before);
    assert!(!camino::Utf8Path::new("/tmp/pickled").exists());
    assert_eq!(verdict(&jail, &honest, &spec("table")).0, "accepted");
}

/// Processes below the launcher, mounts that it sees, and files of this process; taken at rest.
fn traces(jail: &GeneratorJail) -> (usize, Option<usize>, Option<usize>) {
    let launcher = jail.sandbox().launcher_pid();
    let count = || Process::tree(launcher).len();
    let deadline = Instant::now() + Duration::from_secs(10);
    let mut processes = count();
    // A spare process is forked a moment after the last was used.
    while Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(500));
        let now = count();
        if now == processes {
            break;
        }
        processes = now;
    }
    (processes, process::mounts(launcher), process::descriptors(std::process::id()))
}

#[test]
fn hostile_generators_are_many_and_each_has_a_line_in_the_docs() {
    if std::env::var_os("PROGRAMS").is_some() {
        return;
    }
    let all = HostileGenerator::all();
    let refused = all.iter().filter(|one| one.must != "accepted").count();
    let codes: BTreeSet<&str> = all.iter().map(|one| one.must.as_str()).collect();
    assert!(refused >= 30 && codes.len() >= 20, "{refused} with {} codes", codes.len());
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/THREATS.md");
    let docs = fs_err::read_to_string(path).unwrap();
    let (begin, end) = ("<!-- generators: begin -->\n", "<!-- generators: end -->");
    let start = docs.find(begin).unwrap() + begin.len();
    let stop = docs.find(end).unwrap();
    let row = |one: &HostileGenerator| {
        let later = one.later.as_ref().map_or(String::new(), |later| format!(" ({later})"));
        format!("| `{}` | {} | {}{later} |\n", one.name, one.tries, one.must)
    };
    let rows: String = all.iter().map(row).collect();
    let table = format!("| generator | what it tries | result |\n| --- | --- | --- |\n{rows}");
    if std::env::var_os("UPDATE_THREATS").is_some() {
        fs_err::write(path, format!("{}{table}{}", &docs[..start], &docs[stop..])).unwrap();
    } else {
        assert!(docs[start..stop] == table, "run this test with UPDATE_THREATS=1");
    }
}

#[test]
fn refusal_quotes_the_line_of_the_generator() {
    let code = honest("table").replace("columns[\"age\"] / columns[\"speed\"]", "columns[\"aeg\"]");
    let (code, detail) = verdict(&jail(), &code, &spec("table"));
    assert_eq!(code, "raised");
    assert_eq!(detail, "KeyError: 'aeg' (line 22, in `parts`: `wear = np.log(columns[\"aeg\"])`)");
}

#[test]
fn file_that_is_no_python_is_refused_with_its_line() {
    let code = "VERSION = 1\n\ndef columns(rng, n)\n    return {}\n";
    let (code, detail) = verdict(&jail(), code, &spec("table"));
    assert_eq!(
        (code.as_str(), detail.as_str()),
        ("bad_syntax", "line 3: expected ':': `def columns(rng, n)`")
    );
}

#[test]
fn rule_hash_ignores_names_notes_and_small_digits_and_nothing_else() {
    let jail = jail();
    let hash = |code: &str| jail.inspect(code, &spec("table")).unwrap().into_record(code).rule_hash;
    let code = honest("table");
    let first = hash(&code);
    let renamed = code
        .replace("slow", "by_wood")
        .replace("OAK", "WEIGHT")
        .replace("parts", "pieces")
        .replace("import numpy as np", "import numpy")
        .replace("np.", "numpy.")
        .replace("1.3", "1.3001")
        .replace(
            "def score(columns):",
            "def score(columns):\n    \"\"\"The score.\"\"\"\n    # A note.",
        );
    assert_eq!(hash(&renamed), first);
    for (from, to) in [("1.3", "1.4"), ("load * speed", "load + speed"), ("np.log", "np.sqrt")] {
        assert!(code.contains(from));
        assert_ne!(hash(&code.replace(from, to)), first, "{to}");
    }
    // What is drawn is not the rule.
    assert_eq!(hash(&code.replace("rng.uniform(1, 9, n)", "rng.uniform(2, 8, n)")), first);
    let inspection = jail.inspect(&code, &spec("table")).unwrap();
    assert!(
        inspection.clauses.iter().any(|text| text == "np.log(columns['age'] / columns['speed'])")
    );
    assert!(inspection.clauses.iter().any(|text| text == "1.3"), "{:?}", inspection.clauses);
}

#[test]
fn more_than_a_result_holds_is_a_fault_and_no_refusal() {
    let spec = GeneratorSpec { rows: 1 << 20, ..spec("table") };
    let error = generate(&jail(), &honest("table"), &spec, Stream::root(5)).unwrap_err();
    assert!(matches!(error, GeneratorError::Fault(GeneratorFault::Spec(_))), "{error}");
}

/// The aims are 6 and 15 s on one core; a tenth and eight tenths of a second are usual.
#[test]
fn all_runs_of_a_generator_take_seconds() {
    let jail = jail();
    let large = ItemForm::Picture { height: 96, width: 96, colour: false };
    let pictures = GeneratorSpec { rows: 800, item: Some(large), ..spec("picture") };
    let tables = GeneratorSpec { rows: 1200, ..spec("table") };
    let wide = honest("picture").replace("SIDE = 24", "SIDE = 96");
    for (code, spec, most) in [(honest("table"), tables, 6), (wide, pictures, 15)] {
        let started = Instant::now();
        let made = generate(&jail, &code, &spec, Stream::root(5)).unwrap();
        let time = started.elapsed();
        let kept = made.rows.to_bytes().len();
        println!("{} rows: {:.2} s, kept in {kept} bytes", spec.rows, time.as_secs_f64());
        assert!(time < Duration::from_secs(most), "{} rows: {time:?}", spec.rows);
    }
}
