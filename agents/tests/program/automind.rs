//! `AutoMind` as a user starts it: killed (`SEARCH_KILLS` times, 3 by default), replayed, and with models of its own for roles.

use crate::kills::{kills, timeless};
use crate::runs::held_out;
use agents::run::journal::{JournalLine, journal_path, read_lines};
use camino::{Utf8Path, Utf8PathBuf};
use fs_err as fs;
use rand::RngExt as _;
use serde_json::Value;
use std::collections::BTreeSet;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use support::provider::{FakeProvider, Piece, USAGE, answer, hello, openai_events, stream};
use support::shifts;
use tasks::stream::Stream;

/// Longest time between the line after which a run is killed and the kill.
const LATER: Duration = Duration::from_millis(100);
/// A run that writes nothing for so long is stuck.
const STUCK: Duration = Duration::from_mins(1);

/// A run with tricks, some broken lines, and scripts that are written in both ways.
fn run(task: &Utf8Path, out: &Utf8Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_agents"));
    command
        .args(["run", "--scaffold", "automind-micro", "--model", "script:engineer:slip=0.02"])
        .args(["--task", task.as_str(), "--out", out.as_str(), "--seed", "3"])
        .args(["--set", "steps=8", "--set", "automind.policy.drafts=2"])
        .args(["--set", "automind.coder.threshold=1.5"])
        .stdin(Stdio::null())
        .stdout(Stdio::null());
    command
}

fn finished(mut command: Command) {
    let output = command.stderr(Stdio::piped()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Whole lines of a journal: those of the run, and the notes that it went on.
fn lines(out: &Utf8Path) -> (usize, usize) {
    let journal = fs::read_to_string(journal_path(out)).unwrap_or_default();
    let whole = journal.rfind('\n').map_or("", |end| &journal[..end]);
    let notes = whole.lines().filter(|line| line.starts_with("{\"line\":\"resumed\"")).count();
    (whole.lines().count() - notes, notes)
}

/// Waits until the journal has so many lines and a note of each of so many starts, and a little
/// longer, and kills. Whether the run was still at work then.
fn killed_after(
    child: &mut Child,
    out: &Utf8Path,
    (count, starts): (usize, usize),
    later: Duration,
) -> bool {
    let started = Instant::now();
    let is_there = || {
        let (written, notes) = lines(out);
        written >= count && notes >= starts
    };
    while !is_there() && child.try_wait().unwrap().is_none() {
        assert!(started.elapsed() < STUCK, "no line came after {:?}", lines(out));
        std::thread::sleep(Duration::from_millis(2));
    }
    std::thread::sleep(later);
    let was_at_work = child.try_wait().unwrap().is_none();
    child.kill().unwrap();
    child.wait().unwrap();
    was_at_work
}

/// The task, and a run on it that nothing disturbed.
fn undisturbed(folder: &Utf8Path) -> (Utf8PathBuf, Utf8PathBuf) {
    let (task, whole) = (shifts::write(folder), folder.join("whole"));
    finished(run(&task, &whole));
    (task, whole)
}

#[test]
fn automind_killed_at_random_moments_ends_as_an_undisturbed_run() {
    let folder = tempfile::tempdir().unwrap();
    let folder = Utf8Path::from_path(folder.path()).unwrap();
    let (task, whole) = undisturbed(folder);
    let killed = folder.join("killed");

    // Moments are random lines of the journal and a random time after each, in their order. The last
    // line that is drawn lies before the last three scripts, so that every kill finds the run at work.
    let all = read_lines(&journal_path(&whole)).unwrap();
    let is_code = |line: &JournalLine| matches!(line, JournalLine::Asked(facts) if facts.what.name().starts_with("code"));
    let codes: Vec<usize> = (0..all.len()).filter(|&place| is_code(&all[place])).collect();
    let most = codes[codes.len() - 3];
    let mut draws = Stream::root(11).child("kills").rng();
    let mut moments: Vec<(usize, Duration)> = (0..kills())
        .map(|_| (draws.random_range(1..=most), LATER.mul_f64(draws.random::<f64>())))
        .collect();
    moments.sort_unstable();
    let mut at_work = 0_u64;
    let mut reached = BTreeSet::new();
    for (starts, (count, later)) in moments.into_iter().enumerate() {
        let mut child = run(&task, &killed).stderr(Stdio::null()).spawn().unwrap();
        at_work += u64::from(killed_after(&mut child, &killed, (count, starts), later));
        reached.insert(lines(&killed).0);
    }
    assert_eq!(at_work, kills(), "a kill found the run over");
    // Answers come at once, so most of the time goes into scripts, and many kills hit the same one.
    assert!(reached.len() as u64 * 4 >= kills(), "kills hit at few places: {reached:?}");
    finished(run(&task, &killed));
    assert_eq!(timeless(&killed), timeless(&whole));

    let lines = read_lines(&journal_path(&killed)).unwrap();
    let resumed = lines.iter().filter(|line| matches!(line, JournalLine::Resumed { .. })).count();
    assert_eq!(resumed as u64, kills(), "every start but the first went on");
    let mut asked = BTreeSet::new();
    for line in lines {
        if let JournalLine::Asked(facts) = line {
            assert!(asked.insert((facts.node, facts.what, facts.attempt)), "asked twice");
        }
    }
}

#[test]
fn recorded_automind_replays_to_the_same_tree_without_its_player() {
    let folder = tempfile::tempdir().unwrap();
    let folder = Utf8Path::from_path(folder.path()).unwrap();
    let (task, whole) = undisturbed(folder);
    let again = folder.join("again");
    let output = Command::new(env!("CARGO_BIN_EXE_agents"))
        .args(["replay", whole.as_str(), "--task", task.as_str(), "--out", again.as_str()])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    assert!(said.contains("all 8 steps came out as before"), "{said}");
    assert_eq!(timeless(&again), timeless(&whole));
}

/// A script that copies the sample and reports a score.
const SAMPLE: &str = "import shutil\nshutil.copy('input/sample_submission.csv', 'submission.csv')\n\
    open('validation.json', 'w').write('{\"metric\": 0.5}')\nprint('validation: 0.5')";

#[test]
fn models_of_roles_answer_their_questions_and_reports_name_their_costs() {
    let folder = tempfile::tempdir().unwrap();
    let folder = Utf8Path::from_path(folder.path()).unwrap();
    let data = held_out(folder);
    let provider = FakeProvider::start(|_, request| {
        let body: Value = serde_json::from_str(&request.body).unwrap();
        let first = body["messages"][0]["content"].as_str().unwrap();
        if !first.starts_with("job: ") {
            return hello();
        }
        assert!(first.starts_with("job: code\n"), "only the coder is asked: {first}");
        let code = format!("```python\n{SAMPLE}\n```\n");
        vec![Piece::Bytes(stream(&openai_events(&[&code], USAGE)))]
    });
    let (models, prices) = (folder.join("models.toml"), folder.join("prices.toml"));
    let address = provider.address;
    let endpoint =
        format!("[endpoint.fake]\nprotocol = \"openai\"\nbase_url = \"http://{address}/v1\"\n");
    fs::write(&models, endpoint).unwrap();
    let price = "[[price]]\nmodel = \"m-1\"\ninput = \"1.00\"\noutput = \"1000.00\"\n";
    fs::write(&prices, price).unwrap();
    let (out, name) = (folder.join("eval"), "automind/engineer, coder=m-1");
    let output = Command::new(env!("CARGO_BIN_EXE_agents"))
        .args(["eval", "--bench", "synthetic", "--data", data.as_str(), "--seeds", "1"])
        .args(["--preset", "automind-micro", "--set", "steps=2", "--out", out.as_str()])
        .args(["--set", "automind.coder.mode=one-pass", "--set", "automind.policy.drafts=2"])
        .args(["--model", "script:engineer", "--role", "coder=fake:m-1"])
        .args(["--models", models.as_str(), "--prices", prices.as_str(), "--budget-usd", "20"])
        .output()
        .unwrap();
    let (said, table) =
        (String::from_utf8_lossy(&output.stderr), String::from_utf8_lossy(&output.stdout));
    assert!(output.status.success(), "{said}");
    assert!(table.contains(name), "{table}");

    let run = out.join("runs/night-shifts/seed0");
    let graded: Value = serde_json::from_slice(&fs::read(run.join("run.json")).unwrap()).unwrap();
    let of = |role: &str| {
        let roles = graded["roles"].as_array().unwrap();
        roles.iter().find(|used| used["role"] == role).unwrap_or(&Value::Null).clone()
    };
    assert_eq!(of("planner")["model"], "engineer");
    assert_eq!((&of("planner")["questions"], &of("planner")["cost"]), (&2.into(), &0.0.into()));
    let coder = of("coder");
    assert_eq!((&coder["model"], &coder["questions"]), (&"m-1".into(), &2.into()));
    assert!(coder["cost"].as_f64().unwrap() > 0.0, "{coder}");
    assert_eq!(coder["cost"], graded["cost"]);
    for line in read_lines(&journal_path(&run)).unwrap() {
        match line {
            JournalLine::Header(header) => assert_eq!(header.player, "engineer, coder=m-1"),
            JournalLine::Asked(facts) => {
                let model = if facts.what.name() == "code" { "m-1" } else { "engineer" };
                assert_eq!(facts.by.as_deref(), Some(model), "{facts:?}");
            }
            _ => {}
        }
    }
    let tree = Command::new(env!("CARGO_BIN_EXE_agents")).args(["tree", run.as_str()]).output();
    let tree = String::from_utf8(tree.unwrap().stdout).unwrap();
    assert!(tree.contains("coder: m-1, 2 questions") && tree.contains("$0.0"), "{tree}");
}

/// The counts of the letters of each text as vectors, once two requests have failed.
fn embeddings(number: usize, body: &str) -> Vec<Piece> {
    let whole = |status, body: &str| {
        vec![Piece::Bytes(answer(status, &[("content-type", "application/json")], body))]
    };
    match number {
        0 => return whole(503, "busy"),
        1 => return whole(200, "<html>Welcome</html>"),
        _ => {}
    }
    let body: Value = serde_json::from_str(body).unwrap();
    let counts = |text: &str| -> Vec<usize> {
        ('a'..='z').map(|letter| text.to_lowercase().matches(letter).count()).collect()
    };
    let texts = body["input"].as_array().unwrap();
    let data: Vec<Value> = (0..)
        .zip(texts)
        .map(|(index, text): (usize, _)| {
            serde_json::json!({"index": index, "embedding": counts(text.as_str().unwrap())})
        })
        .collect();
    let usage = serde_json::json!({"prompt_tokens": 9});
    whole(200, &serde_json::json!({"model": "e-1", "data": data, "usage": usage}).to_string())
}

#[test]
fn vectors_of_a_provider_rank_tricks_are_kept_and_not_asked_for_again() {
    let folder = tempfile::tempdir().unwrap();
    let folder = Utf8Path::from_path(folder.path()).unwrap();
    let task = shifts::write(folder);
    let models = folder.join("models.toml");
    let serve = |provider: &FakeProvider| {
        let address = provider.address;
        let endpoint = format!(
            "[endpoint.fake]\nprotocol = \"openai\"\nbase_url = \"http://{address}/v1\"\nfree = \
             true\n"
        );
        fs::write(&models, endpoint).unwrap();
    };
    let provider = FakeProvider::start(|number, request| {
        assert!(request.head.starts_with("post /v1/embeddings "), "{}", request.head);
        embeddings(number, &request.body)
    });
    serve(&provider);
    let run = |name: &str, more: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_agents"))
            .args(["run", "--scaffold", "automind-micro", "--model", "script:engineer"])
            .args(["--task", task.as_str(), "--out", folder.join(name).as_str()])
            .args(["--set", "steps=1", "--embedder", "fake:e-1", "--models", models.as_str()])
            .args(more)
            .output()
            .unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    let tricks = |name: &str| {
        let lines = read_lines(&journal_path(&folder.join(name))).unwrap();
        let JournalLine::Header(header) = &lines[0] else { panic!("the first line is a header") };
        let facts = header.knowledge.clone().unwrap();
        let ready = folder.join(name).join("blobs").join(&facts.ready.0);
        assert!(fs::read_to_string(ready).unwrap().contains("\"embedder\":\"e-1\""));
        facts.tricks
    };
    let (code, said) = run("first", &[]);
    assert_eq!(code, Some(0), "{said}");
    assert!(provider.count() > 2, "faults are repeated");
    assert_eq!(tricks("first").len(), 12);

    // Nothing is asked for twice, in the same folder or from kept vectors.
    let asked = provider.count();
    assert_eq!(run("first", &[]).0, Some(0));
    let kept = folder.join("first/embeddings");
    assert_eq!(run("second", &["--embeddings", kept.as_str()]).0, Some(0));
    assert_eq!(provider.count(), asked);
    assert_eq!(tricks("second"), tricks("first"));
    let (first, again) = (folder.join("first"), folder.join("again"));
    let replayed = Command::new(env!("CARGO_BIN_EXE_agents"))
        .args(["replay", first.as_str(), "--task", task.as_str(), "--out", again.as_str()])
        .status()
        .unwrap();
    assert!(replayed.success());
    assert_eq!((provider.count(), tricks("again")), (asked, tricks("first")));

    // A provider that declines lets the run wait, and another start goes on.
    let closed = FakeProvider::start(|_, _| {
        let body = r#"{"error":{"message":"no such key","code":"invalid_api_key"}}"#;
        vec![Piece::Bytes(answer(401, &[], body))]
    });
    serve(&closed);
    let (code, said) = run("waits", &[]);
    assert_eq!(code, Some(3), "{said}");
    assert!(said.contains("paused: ") && said.contains("failed to embed texts"), "{said}");
    serve(&provider);
    assert_eq!(run("waits", &[]).0, Some(0));
    assert_eq!(tricks("waits"), tricks("first"));
}
