//! Galleries as a browser gets them: every kind of task, well-formed, safe, the same each time.

use camino::{Utf8Path, Utf8PathBuf};
use factory::show::gallery::{Wish, page};
use factory::spec::mix::Cell;
use fs_err as fs;
use std::io::Write as _;
use std::process::{Command, Stdio};
use support::folders::replace;

/// Complains about elements that are not closed in order, about elements that no page has, and
/// about addresses that would be fetched.
const CHECK: &str = r##"
import html.parser, sys

VOID = {"meta", "br", "img"}
KNOWN = VOID | set("html head title style body main header nav dl dt dd div article section details summary "
                   "h1 h2 h3 h4 h5 h6 p a code pre ul ol li table thead tbody tr th td figure figcaption audio "
                   "small span strong em blockquote svg g path polyline rect circle text image".split())

class Check(html.parser.HTMLParser):
    open = []

    def look(self, tag, attrs):
        assert tag in KNOWN, (tag, self.getpos())
        for name, value in attrs:
            assert not name.startswith("on"), (name, value, self.getpos())
            if name in ("href", "src"):
                assert value.startswith(("#", "data:image/png;", "data:audio/wav;")), value[:80]

    def handle_starttag(self, tag, attrs):
        self.look(tag, attrs)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.look(tag, attrs)

    def handle_endtag(self, tag):
        assert self.open and self.open[-1] == tag, (self.open[-3:], tag, self.getpos())
        self.open.pop()

check = Check()
check.feed(sys.stdin.read())
check.close()
assert not check.open, check.open
"##;

fn well_formed(html: &str) {
    let python = std::env::var("MLE_PYTHON")
        .unwrap_or_else(|_| format!("{}/../.venv/bin/python", env!("CARGO_MANIFEST_DIR")));
    let mut child = Command::new(python)
        .args(["-I", "-c", CHECK])
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("`make venv` sets up the Python environment, or name one in MLE_PYTHON");
    child.stdin.take().unwrap().write_all(html.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(!html.contains("http:") && !html.contains("https:"));
}

/// A corpus with a task of every cell.
fn corpus(desk: &tempfile::TempDir) -> Utf8PathBuf {
    let out = Utf8Path::from_path(desk.path()).unwrap().join("corpus");
    let cells = Cell::all();
    // Rounded down, since shares that are rounded up would sum to more than 1.
    let share = (1e5 / cells.len() as f64).floor() / 1e5;
    let shares: Vec<String> = cells.iter().map(|cell| format!("{cell}={share:.5}")).collect();
    let output = Command::new(env!("CARGO_BIN_EXE_factory"))
        .args(["generate", "--count", &cells.len().to_string(), "--preset", "paper"])
        .args(["--out", out.as_str()])
        .args(["--shares", &shares.join(",")])
        .output()
        .unwrap();
    // A slot may stay empty; which ones do not is looked at below.
    assert!(out.join("corpus.json").is_file(), "{}", String::from_utf8_lossy(&output.stderr));
    out
}

fn tasks(corpus: &Utf8Path) -> Vec<Utf8PathBuf> {
    let mut tasks: Vec<Utf8PathBuf> = corpus
        .read_dir_utf8()
        .unwrap()
        .map(|entry| entry.unwrap().into_path())
        .filter(|path| path.join("task.json").is_file())
        .collect();
    tasks.sort();
    tasks
}

#[test]
fn generate_with_inspect_writes_the_gallery_of_the_corpus() {
    let desk = tempfile::tempdir().unwrap();
    let out = Utf8Path::from_path(desk.path()).unwrap().join("corpus");
    let generate = |more: &[&str]| {
        Command::new(env!("CARGO_BIN_EXE_factory"))
            .args(["generate", "--count", "2", "--modality", "tabular", "--inspect"])
            .args(["--out", out.as_str()])
            .args(more)
            .output()
            .unwrap()
    };
    let file = out.join("gallery.html");
    for _ in 0..2 {
        let made = generate(&[]);
        let text = String::from_utf8(made.stderr).unwrap();
        assert!(made.status.success() && text.contains(&format!("`{file}` has")), "{text}");
        assert!(fs::read_to_string(&file).unwrap() == page(&out, &Wish::default()).unwrap());
        assert_eq!(tasks(&out).len(), 2);
    }
    assert_eq!(generate(&["--dry-run"]).status.code(), Some(2));
}

#[test]
fn every_kind_of_task_has_a_safe_and_stable_page() {
    let desk = tempfile::tempdir().unwrap();
    let corpus = corpus(&desk);
    let all = page(&corpus, &Wish::default()).unwrap();
    well_formed(&all);
    assert!(all == page(&corpus, &Wish::default()).unwrap(), "two pages of one corpus differ");
    let tasks = tasks(&corpus);
    assert!(tasks.len() * 10 >= Cell::all().len() * 9, "{} tasks", tasks.len());
    for task in &tasks {
        assert!(all.contains(&format!("id=\"{}\"", task.file_name().unwrap())), "{task}");
        let own = page(task, &Wish::default()).unwrap();
        well_formed(&own);
        // Tasks that passed verification leak nothing here either, and each shows its rule.
        assert!(!own.contains("class=\"bad\""), "{task} leaks");
        assert!(own.contains("<pre class=\"rule\">"), "{task} shows no rule");
    }
    let shown = |needle: &str| assert!(all.contains(needle), "no {needle}");
    for needle in [
        "data:image/png",
        "<audio",
        "class=\"graph\"",
        "<h3>Network</h3>",
        "<blockquote>",
        "R3 rule's terms",
    ] {
        shown(needle);
    }
    few_and_chosen_tasks(&corpus);
    hostile_text_stays_text(&tasks[0]);
    faults_name_their_file(&tasks[1]);
}

fn few_and_chosen_tasks(corpus: &Utf8Path) {
    let wish = Wish {
        limit: 2,
        modalities: vec!["text".to_owned(), "image".to_owned()],
        formulations: vec!["binary".to_owned(), "regression".to_owned()],
    };
    let html = page(corpus, &wish).unwrap();
    assert_eq!(html.matches("<article class=\"task card\"").count(), 2);
    assert!(html.contains("Kinds without room on this page: text/binary"), "{}", &html[..9000]);
    let error = page(corpus, &Wish { modalities: vec!["smell".to_owned()], ..Wish::default() });
    assert!(error.unwrap_err().to_string().contains("smell"));
}

fn hostile_text_stays_text(task: &Utf8Path) {
    let evil = "</style></title><script>alert('\"&')</script><img src=x onerror=alert(1)>";
    let manifest = task.join("task.json");
    let mut value: serde_json::Value =
        serde_json::from_slice(&fs::read(&manifest).unwrap()).unwrap();
    for key in ["title", "domain", "seed_task"] {
        value[key] = evil.into();
    }
    fs::write(&manifest, serde_json::to_vec(&value).unwrap()).unwrap();
    let blocks =
        format!("# {evil}\n\n{evil}\n- {evil}\n\n| {evil} |\n|---|\n| `{evil}` |\n\n```\n{evil}\n");
    replace(task, "prepared/public/description.md", blocks.as_bytes());
    let html = page(task, &Wish::default()).unwrap();
    well_formed(&html);
    assert!(html.contains("&lt;script&gt;") && !html.contains("<script"));
}

fn faults_name_their_file(task: &Utf8Path) {
    let complaint = |task: &Utf8Path| {
        let error = page(task, &Wish::default()).unwrap_err();
        format!("{:#}", anyhow::Error::from(error))
    };
    let table = fs::read(task.join("prepared/public/train.csv")).unwrap();
    replace(task, "prepared/public/train.csv", b"a,b\n1,2\n");
    assert!(complaint(task).contains("train.csv` cannot be shown"), "{}", complaint(task));
    replace(task, "prepared/public/train.csv", b"a,b\n1\n");
    assert!(complaint(task).contains("train.csv` cannot be shown"), "{}", complaint(task));
    replace(task, "prepared/public/train.csv", &table);
    fs::write(task.join("source/blueprint.json"), "{").unwrap();
    assert!(complaint(task).contains("`source/blueprint.json` is not what"), "{}", complaint(task));
    replace(task, "source/blueprint.json", b"{");
    assert!(complaint(task).contains("blueprint.json` cannot be shown"), "{}", complaint(task));
    fs::remove_file(task.join("prepared/public/test.csv")).unwrap();
    assert!(
        complaint(task).contains("`prepared/public/test.csv` is missing"),
        "{}",
        complaint(task)
    );
    fs::remove_file(task.join("task.json")).unwrap();
    assert!(!complaint(task).is_empty());
}
