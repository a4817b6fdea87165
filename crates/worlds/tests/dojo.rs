//! What holds of the suite of FT-Dojo and of its pool.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use agents::play::{Closed, EpisodeFault};
use agents::trajectory::{EnvironmentVerdict, EpisodeOutcome};
use camino::{Utf8Path, Utf8PathBuf};
use jail::exec::{Sandbox, SandboxOptions};
use jail::python::PythonEnv;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, LazyLock};
use support::reference;
use tasks::stream::Stream;
use tasks::task::TaskId;
use worlds::grams::{grams, words};
use worlds::{
    Environment, Part, PoolSource, Scale, SuiteName, SuiteRequest, TaskWorld, WorldName,
    demonstrate,
};

const REQUEST: SuiteRequest =
    SuiteRequest { suite: SuiteName::Ftdojo, scale: Scale::Tiny, seed: 11 };

/// The files of one tiny suite.
static FILES: LazyLock<BTreeMap<Utf8PathBuf, Vec<u8>>> =
    LazyLock::new(|| REQUEST.render().unwrap());

static SANDBOX: LazyLock<Arc<Sandbox>> = LazyLock::new(|| {
    let all = SuiteName::Ftdojo.worlds().iter();
    let worlds = all.map(|name| name.generate(Part::Train, Scale::Tiny, 1).unwrap());
    let modules = worlds.flat_map(|world| world.modules()).collect();
    let options = SandboxOptions { modules, warm_up: false, ..SandboxOptions::default() };
    Arc::new(Sandbox::start(&PythonEnv::locate().unwrap(), options, &[]).unwrap())
});

/// The environments of all tasks and parts.
fn environments() -> Vec<Box<dyn Environment>> {
    let folder = tempfile::tempdir().unwrap();
    let suite = REQUEST.make(&Utf8Path::from_path(folder.path()).unwrap().join("suite")).unwrap();
    let tasks = suite.tasks().iter().map(|task| suite.task(task.id.as_str()).unwrap());
    let parts = tasks.flat_map(|task| {
        let sealed = task.sealed().unwrap();
        [task.train().unwrap(), sealed.dev().unwrap(), sealed.test().unwrap()]
    });
    parts.collect()
}

fn name_of(world: &dyn Environment) -> WorldName {
    match world.spec().world {
        TaskWorld::Generated(name) => name,
        other => panic!("{other:?}"),
    }
}

/// The same with what runs programs.
fn playable() -> Vec<Box<dyn Environment>> {
    let mut all = environments();
    for world in all.iter_mut().filter(|world| world.runs_programs()) {
        world.set_runner(SANDBOX.clone());
    }
    all
}

fn verdict(closed: &Closed) -> EnvironmentVerdict {
    match &closed.outcome {
        EpisodeOutcome::World(verdict) => verdict.clone(),
        EpisodeOutcome::Mle(_) => panic!("an outcome of another environment"),
    }
}

/// The verdict on one answer.
fn answered(world: &dyn Environment, item: &TaskId, text: &str) -> EnvironmentVerdict {
    let mut play = world.open(item).unwrap();
    play.respond(text).unwrap();
    verdict(&play.close().unwrap())
}

/// Whether the environment's items can be opened; if not, the fault says what to install.
fn is_playable(world: &dyn Environment) -> bool {
    match world.open(world.items()[0]) {
        Ok(_) => true,
        Err(fault @ EpisodeFault::MissingModule { .. }) => {
            let file = match name_of(world).pool_source().unwrap() {
                PoolSource::Chemistry => "requirements-chemistry.txt",
                PoolSource::Tables => "requirements-charts.txt",
                other => panic!("{other:?} needs no package"),
            };
            assert!(fault.to_string().contains(file), "{fault}");
            false
        }
        Err(fault) => panic!("{fault}"),
    }
}

/// The rows of a file of the pool.
fn rows(path: &str) -> Vec<Value> {
    let text = std::str::from_utf8(&FILES[Utf8Path::new(path)]).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The text of the whole pool.
fn pool_text() -> String {
    let files = FILES.iter().filter(|(path, _)| path.starts_with("pool"));
    files.map(|(_, bytes)| std::str::from_utf8(bytes).unwrap().to_owned() + "\n").collect()
}

#[test]
fn a_suite_is_the_same_bytes_for_any_number_of_threads() {
    for threads in [1, 3] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        assert!(pool.install(|| REQUEST.render().unwrap()) == *FILES, "{threads} threads");
    }
    let other = SuiteRequest { seed: 12, ..REQUEST }.render().unwrap();
    for path in FILES.keys().filter(|path| path.extension() != Some("md")) {
        assert!(FILES[path] != other[path], "{path} does not depend on the seed");
    }
}

#[test]
fn bytes_of_a_suite_are_pinned() {
    // Changes with every change of a generator; then its `VERSION` rises too.
    let mut lines = Vec::new();
    for (path, bytes) in FILES.iter().filter(|(path, _)| path.as_str() != "suite.json") {
        lines.push(format!("{} {path}", &blake3::hash(bytes).to_hex()[..16]));
    }
    insta::assert_snapshot!(lines.join("\n"));
}

#[test]
fn the_solver_wins_every_item() {
    for world in playable() {
        // Programs that draw take seconds each, those that ask a package loaded before hundredths.
        let limit = match (world.runs_programs(), world.modules().is_empty()) {
            (false, _) => usize::MAX,
            (true, true) => 8,
            (true, false) => 40,
        };
        if !is_playable(&*world) {
            continue;
        }
        for item in world.items().into_iter().take(limit) {
            let turns = world.solve(item).unwrap();
            let verdict = answered(&*world, item, &turns[0]);
            assert_eq!(verdict.reward, 1.0, "{item}: {turns:?} {verdict:?}");
            assert_eq!(verdict.tags.len(), 1, "{verdict:?}");
            if world.part() == Part::Train {
                assert_eq!(demonstrate(&*world, item).unwrap().reward.total(), 1.0);
            }
        }
    }
}

#[test]
fn items_for_language_models_are_won() {
    let all = SuiteName::Ftdojo.worlds().iter();
    let worlds = all.map(|name| name.generate(Part::Test, Scale::Full, 1).unwrap());
    for world in worlds.filter(|world| !world.runs_programs()) {
        assert_eq!(world.items().len(), world.spec().items.test);
        for item in world.items() {
            let turns = world.solve(item).unwrap();
            assert_eq!(answered(&*world, item, &turns[0]).reward, 1.0, "{item}: {turns:?}");
        }
    }
}

#[test]
fn a_random_player_is_near_what_guessing_earns() {
    // The share of right answers by guessing, and by how much a sample may be off.
    let chances = [
        ("aime", 0.0, 0.02),
        ("par4pc", 0.17, 0.1),
        ("noc4pc", 0.33, 0.11),
        ("pi4pc", 0.2, 0.1),
        ("finqa", 0.25, 0.1),
        ("table-da", 0.03, 0.04),
        ("table-fc", 0.4, 0.14),
        ("table-nr", 0.02, 0.04),
    ];
    for world in environments().iter().filter(|world| !world.runs_programs()) {
        let name = world.spec().id.as_str();
        let (_, chance, off) = chances.iter().find(|(task, _, _)| *task == name).unwrap();
        let items = world.items();
        if items.len() < 100 {
            continue;
        }
        let verdicts: Vec<EnvironmentVerdict> = items
            .iter()
            .map(|item| {
                let stream = Stream::root(3).child(item.as_str());
                verdict(&world.play_at_random(item, stream).unwrap())
            })
            .collect();
        let score = world.score(&verdicts.iter().collect::<Vec<_>>()).unwrap().unwrap();
        assert!((score - chance).abs() <= *off, "{name} {}: {score}", world.part());
    }
}

/// Tokens of a vocabulary of words, single digits and single signs.
fn tokens(text: &str) -> usize {
    let mut count = 0;
    let mut in_word = false;
    for letter in text.chars() {
        let is_letter = letter.is_alphabetic();
        count += usize::from(!(letter.is_whitespace() || is_letter && in_word));
        in_word = is_letter;
    }
    count
}

#[test]
fn prompts_and_answers_for_small_policies_fit_their_limits() {
    for world in environments() {
        let limits = world.spec().limits;
        for item in world.items() {
            let prompt = world.prompt(item).unwrap();
            let prompt = tokens(&prompt.system) + tokens(&prompt.user);
            let answer = tokens(&world.solve(item).unwrap()[0]);
            assert!(answer <= limits.turn_tokens as usize, "{item}: {answer}");
            // Some are left for the words around messages.
            assert!(
                prompt + limits.turn_tokens as usize + 24 <= limits.context as usize,
                "{item}: {prompt}"
            );
        }
    }
}

#[test]
fn mistakes_of_form_are_told_apart() {
    let cases = [
        ("aime", "", "empty"),
        ("aime", "it is 7", "format"),
        ("aime", "\\boxed{7", "truncated"),
        ("aime", "\\boxed{-1}", "wrong"),
        ("par4pc", "A", "format"),
        ("par4pc", "{\"answer\": [", "truncated"),
        ("par4pc", "{\"answer\": [\"J\"]}", "format"),
        ("noc4pc", "{\"code\": \"104\"}", "format"),
        ("pi4pc", "{\"answer\": \"0\"}", "wrong"),
        ("mol-und", "2", "format"),
        ("mol-edit", "", "empty"),
        ("mol-edit", "{\"output\": \"c1cc", "truncated"),
        ("mol-opt", "{\"output\": 7}", "format"),
        ("reaction", "{\"output\": \"\"}", "empty"),
        ("finqa", "A or B", "format"),
        ("finqa", "Answer:", "truncated"),
        ("table-nr", "12", "format"),
        ("table-nr", "Final Answer:", "truncated"),
        ("table-fc", "Final Answer: maybe", "wrong"),
        ("table-da", " \n", "empty"),
    ];
    let worlds = playable();
    for (task, text, mistake) in cases {
        let world = worlds.iter().find(|world| world.spec().id.as_str() == task).unwrap();
        if !is_playable(&**world) {
            continue;
        }
        let verdict = answered(&**world, world.items()[0], text);
        assert_eq!(verdict.tags.last().unwrap(), mistake, "{task} {text:?}");
        assert_eq!(verdict.reward, 0.0);
    }
    let of = |task| worlds.iter().find(|world| name_of(&***world) == task).unwrap();
    let world = of(WorldName::MolEdit);
    if is_playable(&**world) {
        for (text, mistake) in [
            ("c1ccccc1", "wrong"),
            ("c1ccccc", "invalid"),
            ("c1ccccc1 benzene", "invalid"),
            ("CN(C)(C)(C)C", "invalid"),
        ] {
            let text = json!({"output": text}).to_string();
            let verdict = answered(&**world, world.items()[0], &text);
            assert_eq!(verdict.tags.last().unwrap(), mistake, "{text}");
        }
    }
    let world = of(WorldName::TableVis);
    if is_playable(&**world) {
        for (text, mistake) in [
            ("plt.bar([1], [2])", "format"),
            ("```python\nplt.bar(", "truncated"),
            ("```python\nplt.bar(\n```", "invalid"),
            ("```python\nimport matplotlib.pyplot as plt\nplt.bar([0], [0.5])\n```", "wrong"),
        ] {
            let verdict = answered(&**world, world.items()[0], text);
            assert_eq!(verdict.tags.last().unwrap(), mistake, "{text}");
        }
    }
}

/// What every item of a task is made from, sealed or not, by part.
fn parameters() -> BTreeMap<(String, Part), Vec<String>> {
    let mut all = BTreeMap::new();
    for task in SuiteName::Ftdojo.worlds() {
        for part in Part::ALL {
            let folder = if part.is_sealed() { "sealed" } else { "public" };
            let path = format!("{}/{folder}/{part}.jsonl", task.name());
            let lines = rows(&path).into_iter().filter(|row| row.get("item").is_some());
            let of = |row: Value| {
                let item = &row["item"];
                match task.name() {
                    "aime" => item["problem"].to_string(),
                    "finqa" => item["question"].to_string(),
                    "par4pc" | "noc4pc" | "pi4pc" => item["claim"].to_string(),
                    "mol-und" | "mol-edit" | "mol-opt" | "reaction" => {
                        item["fragments"].to_string()
                    }
                    _ => item["table"].to_string(),
                }
            };
            all.insert((task.name().to_owned(), part), lines.map(of).collect());
        }
    }
    all
}

#[test]
fn no_item_is_there_twice_and_no_part_shares_parameters_over_all_tasks_of_a_domain() {
    let all = parameters();
    for ((task, part), items) in &all {
        let different: BTreeSet<&String> = items.iter().collect();
        assert_eq!(different.len(), items.len(), "{task} {part}");
    }
    for ((task, part), items) in &all {
        let items: BTreeSet<&String> = items.iter().collect();
        for ((other, other_part), others) in all.iter().filter(|((_, other), _)| other != part) {
            let shared = others.iter().find(|one| items.contains(one));
            assert_eq!(shared, None, "{task} {part} and {other} {other_part}");
        }
    }
}

#[test]
fn the_pool_has_nothing_that_a_sealed_item_is_made_from() {
    let plain = |value: &Value| words(&value.to_string()).join(" ");
    // In a SMILES every sign counts, and whether a letter is large.
    let exact = |smiles: &str| {
        let bytes: Vec<String> = smiles.bytes().map(|byte| byte.to_string()).collect();
        bytes.join(" ")
    };
    let mut pool: BTreeMap<PoolSource, BTreeSet<String>> = BTreeMap::new();
    let mut insert = |source, texts: Vec<String>| {
        pool.entry(source).or_default().extend(texts);
    };
    let problems = rows("pool/mathematics/problems.jsonl");
    insert(PoolSource::Mathematics, problems.iter().map(|row| plain(&row["problem"])).collect());
    for file in ["par4pc", "noc4pc", "pi4pc"] {
        let claims = rows(&format!("pool/patents/{file}.jsonl"));
        insert(PoolSource::Patents, claims.iter().map(|row| plain(&row["claim"])).collect());
    }
    for file in ["mol_und", "mol_edit", "mol_opt", "reaction"] {
        let molecules = rows(&format!("pool/chemistry/{file}.jsonl"));
        let texts = molecules.iter().map(|row| exact(row["meta"]["molecule"].as_str().unwrap()));
        insert(PoolSource::Chemistry, texts.collect());
    }
    let tables = rows("pool/tables/questions.jsonl");
    insert(PoolSource::Tables, tables.iter().map(|row| plain(&row["table"]["data"])).collect());
    for (path, bytes) in FILES.iter().filter(|(path, _)| path.starts_with("pool/finance")) {
        if path.extension() == Some("csv") {
            let text = std::str::from_utf8(bytes).unwrap().lines().skip(1);
            let questions = text.map(|line| plain(&json!(line.split('"').nth(1).unwrap())));
            insert(PoolSource::Finance, questions.collect());
        }
    }
    for world in environments().iter().filter(|world| world.part().is_sealed()) {
        let pool = &pool[&name_of(&**world).pool_source().unwrap()];
        for item in world.items() {
            let question = world.question(item).unwrap();
            let own = match name_of(&**world) {
                WorldName::Aime => question,
                WorldName::Finqa => question.lines().next().unwrap().to_owned(),
                WorldName::Par4pc | WorldName::Noc4pc | WorldName::Pi4pc => {
                    let claim = question.lines().next().unwrap();
                    claim.strip_prefix("Claim: ").unwrap().to_owned()
                }
                WorldName::MolUnd
                | WorldName::MolEdit
                | WorldName::MolOpt
                | WorldName::Reaction => {
                    let molecule = question.lines().next().unwrap();
                    exact(molecule.strip_prefix("Molecule: ").unwrap())
                }
                // The table without its header, as the data of raw tables.
                _ => {
                    let table = question.split("\n\n").next().unwrap();
                    table.lines().skip(1).collect::<Vec<_>>().join(" ")
                }
            };
            assert!(!pool.contains(&plain(&json!(own))), "{item}: {own}");
        }
    }
}

#[test]
fn no_window_that_gives_a_sealed_answer_away_is_public() {
    let pool = grams(&pool_text());
    for world in environments().iter().filter(|world| world.part().is_sealed()) {
        let task = world.spec().id.as_str();
        let public: String = FILES
            .iter()
            .filter(|(path, _)| path.starts_with(task) && !path.as_str().contains("/sealed/"))
            .map(|(_, bytes)| std::str::from_utf8(bytes).unwrap())
            .collect();
        let public = grams(&public);
        for item in world.items() {
            let evidence = grams(&world.evidence(item).unwrap());
            assert!(evidence.is_disjoint(&public) && evidence.is_disjoint(&pool), "{item}");
            // And a scan for copies has something to find.
            assert!(!grams(&world.render(item).unwrap()).is_subset(&pool), "{item}");
        }
    }
}

#[test]
fn the_pool_has_the_flaws_that_its_pages_state() {
    let share = |rows: &[Value], is_flawed: fn(&Value) -> bool| {
        rows.iter().filter(|row| is_flawed(row)).count() as f64 / rows.len() as f64
    };
    let problems = rows("pool/mathematics/problems.jsonl");
    assert_eq!(problems.len(), 3000);
    let without = share(&problems, |row| row["solution"] == "");
    assert!((without - worlds::mathematics::WITHOUT_SOLUTION).abs() < 0.01, "{without}");
    let tables = rows("pool/tables/questions.jsonl");
    assert_eq!(tables.len(), 3200);
    for qtype in ["NumericalReasoning", "FactChecking", "DataAnalysis", "Visualization"] {
        let of = tables.iter().filter(|row| row["qtype"] == qtype).cloned();
        let of: Vec<Value> = of.collect();
        let programs = share(&of, |row| row["instruction_type"] == "PoT");
        assert!((programs - worlds::tables::PROGRAMS).abs() < 0.01, "{qtype}: {programs}");
    }
    for file in ["mol_und", "mol_edit", "mol_opt", "reaction"] {
        let rows = rows(&format!("pool/chemistry/{file}.jsonl"));
        assert_eq!(rows.len(), 800);
        let empty = share(&rows, |row| row["raw_cot"] == "");
        assert!((empty - worlds::chemistry::EMPTY).abs() < 0.01, "{file}: {empty}");
        let broken = share(&rows, |row| {
            let molecule = row["meta"]["molecule"].as_str().unwrap();
            let (mut count, mut in_brackets) = (0, false);
            for letter in molecule.chars() {
                in_brackets = letter == '[' || in_brackets && letter != ']';
                count += usize::from(letter.is_ascii_digit() && !in_brackets);
            }
            // A ring is opened and closed by its digit.
            count % 2 == 1
        });
        assert!((broken - worlds::chemistry::INVALID).abs() < 0.01, "{file}: {broken}");
    }
    let mut questions: BTreeMap<String, usize> = BTreeMap::new();
    let mut sizes = BTreeMap::new();
    for (path, bytes) in FILES.iter().filter(|(path, _)| path.extension() == Some("csv")) {
        let lines: Vec<&str> = std::str::from_utf8(bytes).unwrap().lines().skip(1).collect();
        sizes.insert(path.file_stem().unwrap(), lines.len());
        for line in lines {
            *questions.entry(line.to_owned()).or_default() += 1;
        }
    }
    let twice = questions.values().filter(|&&count| count == 2).count();
    assert_eq!(questions.len(), 1500);
    assert!((twice as f64 / 1500.0 - worlds::finance::TWICE).abs() < 0.01, "{twice}");
    assert!(sizes["banking"] > 8 * sizes["actuarial"], "{sizes:?}");
    assert_eq!(rows("pool/protocols/order.jsonl").len(), 1000);
    for source in PoolSource::ALL {
        let page = &FILES[&Utf8Path::new("pool").join(source.name()).join("README.md")];
        assert!(std::str::from_utf8(page).unwrap().contains("## Reasoning quality"));
    }
}

#[test]
fn programs_of_raw_tables_print_what_the_words_say() {
    let rows = rows("pool/tables/questions.jsonl");
    let programs: Vec<Value> = rows
        .into_iter()
        .filter(|row| row["instruction_type"] == "SCoT" && row["qtype"] != "Visualization")
        .collect();
    assert!(programs.len() > 250, "{}", programs.len());
    let answers = reference::ask("crates/worlds/tests/reference/raw_tables.py", programs.clone());
    for (row, answer) in programs.iter().zip(&answers) {
        let response = row["response"].as_str().unwrap();
        let expected = response.rsplit("Final Answer: ").next().unwrap();
        let found = answer.as_str().unwrap();
        let is_same = match (found.parse::<f64>(), expected.parse::<f64>()) {
            (Ok(found), Ok(expected)) => (found - expected).abs() < 0.0051,
            _ => found == expected,
        };
        assert!(is_same, "{found}, and not {expected}: {row}");
    }
}

#[test]
fn a_suite_lists_its_pool_and_others_have_none() {
    let folder = tempfile::tempdir().unwrap();
    let out = Utf8Path::from_path(folder.path()).unwrap();
    let suite = REQUEST.make(&out.join("suite")).unwrap();
    suite.check_files().unwrap();
    let pool = suite.pool().unwrap();
    for path in suite.pool_files() {
        assert!(pool.join(path).is_file(), "{path}");
    }
    assert!(suite.pool_files().contains(&Utf8Path::new("mathematics/README.md")));
    let other = SuiteRequest { suite: SuiteName::Rlbench, ..REQUEST };
    let other = other.make(&out.join("other")).unwrap();
    assert!(other.pool().is_none() && other.pool_files().is_empty());
}
