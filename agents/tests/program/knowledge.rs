//! `agents knowledge`, and the base with the vectors of a provider.

use agents::knowledge::{
    Embedder as _, Exclusions, Knowledge, ProviderEmbedder, Query, RetrievalSettings, retrieve,
};
use camino::Utf8Path;
use llm::{ChatClient, Endpoint, Endpoints, RetryPolicy};
use serde_json::{Value, json};
use std::process::{Command, Output};
use std::sync::Arc;
use std::time::Duration;
use support::provider::{FakeProvider, Piece, SeenRequest, answer};
use support::shifts;

fn agents(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_agents")).arg("knowledge").args(args).output().unwrap()
}

fn read(args: &[&str]) -> String {
    let output = agents(args);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn error(args: &[&str], code: i32) -> String {
    let output = agents(args);
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(code), "{error}");
    error
}

#[test]
fn cards_are_listed_shown_and_counted() {
    let base = Knowledge::shipped();
    let list = read(&["list"]);
    assert_eq!(list.lines().count(), 1 + base.tricks().len() + base.methods().len());
    let trick = &base.tricks()[0];
    let shown = read(&["show", trick.id.as_str()]);
    assert!(shown.contains(&trick.how) && shown.contains(&trick.title), "{shown}");
    let method = &base.methods()[0];
    assert!(read(&["show", method.id.as_str()]).contains(&method.idea));
    let stats = read(&["stats"]);
    assert!(stats.contains("Computer Vision") && stats.contains(base.hash()), "{stats}");
    assert!(read(&["list", "--label", "computer vision"]).lines().count() > 1);
    let models = read(&["list", "--stage", "model"]);
    assert!(models.lines().skip(1).all(|line| line.contains(" model ")), "{models}");
    assert!(error(&["show", "no-such-card"], 1).contains("there is no card `no-such-card`"));
    assert!(error(&["show", "No"], 1).contains("small letters"));
    assert!(
        error(&["list", "--stage", "models"], 1).contains("there is no stage `models`; one of")
    );
    assert!(error(&["list", "--label", "zzz"], 1).contains("no card has that stage and label"));
    assert!(error(&["list", "--knowledge", "/nowhere.jsonl"], 1).contains("/nowhere.jsonl"));
}

#[test]
fn question_about_a_task_shows_every_term() {
    let folder = tempfile::tempdir().unwrap();
    let folder = Utf8Path::from_path(folder.path()).unwrap();
    let task = shifts::write(folder);
    let said = read(&["query", "--task", task.as_str()]);
    for part in ["statement  ", "labels     ", "score", "shared labels", "* the "] {
        assert!(said.contains(part), "{part}: {said}");
    }
    let ranked = said.lines().filter(|line| line.contains("(mean ")).count();
    assert!(ranked >= 1, "{said}");
    let message = error(&["query", "--task", folder.join("nothing").as_str()], 1);
    assert!(message.contains("nothing"), "{message}");
    // A card that names a column of the task is refused.
    let audited = agents(&["audit", "--tasks", task.as_str()]);
    assert!(matches!(audited.status.code(), Some(0 | 1)));
}

#[test]
fn code_of_cards_is_run_and_what_breaks_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let folder = Utf8Path::from_path(folder.path()).unwrap();
    let task = shifts::write(folder);
    let base = folder.join("base");
    fs_err::create_dir_all(base.join("tricks")).unwrap();
    fs_err::create_dir_all(base.join("methods")).unwrap();
    let own = Utf8Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/agents/knowledge");
    for file in ["labels.toml", "families.toml"] {
        fs_err::copy(own.join(file), base.join(file)).unwrap();
    }
    let card = |id: &str, code: &str| {
        format!(
            "[[trick]]\nid = \"{id}\"\ntitle = \"{id}\"\nstage = \"features\"\nlabels = \
             [\"General Machine Learning/Classification\", \"General Machine Learning/Regression\"]\nwhen = \"a\"\nhow = \"b\"\nwhy = \
             \"c\"\nrisk = \"d\"\ncost = \"seconds\"\nneeds = [\"pandas\"]\nslot = \
             \"features\"\ncode = \"{code}\"\n\n"
        )
    };
    let cards = [
        card("ones", "x['one'] = 1.0"),
        card("unknown-name", "x['one'] = one"),
        card("loud", "import warnings; warnings.warn('loud')"),
    ];
    fs_err::write(base.join("tricks/general-machine-learning.toml"), cards.concat()).unwrap();
    let tried = |more: &[&str]| {
        agents(&[&["try", "--tasks", task.as_str(), "--knowledge", base.as_str()], more].concat())
    };
    let output = tried(&["--card", "ones"]);
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(said.contains("1 scripts, 0 of them with something wrong"), "{said}");
    let output = tried(&[]);
    let said = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("unknown-name") && said.contains("raised NameError"), "{said}");
    assert!(said.contains("it warned") && said.contains("3 scripts, 2 of them"), "{said}");
    let output = tried(&["--card", "nobody"]);
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(error.contains("there is no trick `nobody`"), "{error}");
}

#[test]
fn posts_are_labelled_and_the_own_competition_is_excluded() {
    let folder = tempfile::tempdir().unwrap();
    let folder = Utf8Path::from_path(folder.path()).unwrap();
    let task = shifts::write(folder);
    let line = |origin: &str| {
        let post = json!({
            "title": "A post", "introduction": "Classify chest images by what they show.",
            "solutions": {"1st": "A net."}, "origin": origin,
        });
        format!("{post}\n")
    };
    let (posts, out) = (folder.join("posts.jsonl"), folder.join("base.jsonl"));
    let lines = [line("night-shifts"), line("chest-images"), line("chest-images")].concat();
    fs_err::write(&posts, lines).unwrap();
    let build = |out: &Utf8Path| {
        vec!["build", "--posts", posts.as_str(), "--out"]
            .into_iter()
            .chain([out.as_str()])
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let args = build(&out);
    let said = read(&args.iter().map(String::as_str).collect::<Vec<_>>());
    assert!(
        said.contains("2 posts in") && said.contains("2 of them labelled here, 1 left out"),
        "{said}"
    );
    let built = fs_err::read_to_string(&out).unwrap();
    assert_eq!(built.matches(r#""tags":{"Computer Vision":["Image Classification"]}"#).count(), 2);
    let said =
        read(&["query", "--task", task.as_str(), "--knowledge", out.as_str(), "--show", "999"]);
    let excluded: Vec<&str> =
        said.lines().filter(|line| line.starts_with("excluded: post-")).collect();
    assert_eq!(excluded.len(), 1, "{said}");
    assert!(excluded[0].contains("it comes from `night-shifts`, this competition"), "{said}");
    assert_eq!(said.lines().filter(|line| line.contains("  post-")).count(), 1, "{said}");

    let wrong = build(&folder.join("base.json"));
    let message = error(&wrong.iter().map(String::as_str).collect::<Vec<_>>(), 1);
    assert!(message.contains("end it with `.jsonl`"), "{message}");
    fs_err::write(&posts, "{\"title\": 1}\n").unwrap();
    let message = error(&args.iter().map(String::as_str).collect::<Vec<_>>(), 1);
    assert!(message.contains("posts.jsonl, line 1: invalid type"), "{message}");
}

/// An endpoint at a provider, with short waits.
fn embedder(provider: &FakeProvider) -> ProviderEmbedder {
    let text = format!(
        "[endpoint.fake]\nprotocol = \"openai\"\nbase_url = \"http://{}/v1\"\nfree = true",
        provider.address
    );
    let endpoint = Endpoints::from_toml(&text).unwrap().endpoint("fake").unwrap();
    let retry = RetryPolicy {
        tries: 3,
        base: Duration::from_millis(1),
        most: Duration::from_millis(2),
        ..RetryPolicy::default()
    };
    let client = ChatClient::new(Endpoint { retry, ..endpoint }, None).unwrap();
    ProviderEmbedder::new(Arc::new(client), "vectors")
}

/// A vector for each text: how often it has some letters, far from the origin.
fn vectors(request: &SeenRequest) -> String {
    let body: Value = serde_json::from_str(&request.body).unwrap();
    let texts = body["input"].as_array().unwrap();
    let vector = |text: &Value| -> Vec<f64> {
        let text = text.as_str().unwrap().to_lowercase();
        let count = |c: char| 50.0 + text.matches(c).count() as f64 / text.len().max(1) as f64;
        "aeiourstln".chars().map(count).collect()
    };
    let data: Vec<Value> = texts
        .iter()
        .enumerate()
        .map(|(index, text)| json!({"index": index, "embedding": vector(text)}))
        .collect();
    json!({"data": data, "model": "vectors"}).to_string()
}

#[test]
fn vectors_of_a_provider_rank_the_base_through_faults() {
    let provider = FakeProvider::start(|number, request| {
        let json = [("content-type", "application/json")];
        vec![Piece::Bytes(match number {
            0 => answer(429, &json, r#"{"error":{"message":"slow down"}}"#),
            1 => answer(200, &[("content-type", "text/html")], "<html>Welcome</html>"),
            _ => answer(200, &json, &vectors(request)),
        })]
    });
    let embedder = embedder(&provider);
    let base = Knowledge::shipped();
    let query = Query {
        task: "yield".to_owned(),
        statement: "Predict the yield of fields.".to_owned(),
        labels: ["General Machine Learning/Regression".parse().unwrap()].into_iter().collect(),
        description: String::new(),
        columns: [].into(),
    };
    let settings = RetrievalSettings::default();
    let rank = || retrieve(base, &query, &Exclusions::default(), &settings, &embedder).unwrap();
    let ranked = rank();
    assert_eq!(ranked.entries.len(), base.tricks().len());
    assert_eq!(ranked, rank(), "the same vectors give the same ranking");
    // The mean is subtracted: far from the origin all cosines would be nearly 1.
    assert!(ranked.entries.iter().any(|entry| entry.d < 0.5), "{:?}", ranked.entries);
    assert!(ranked.entries[0].labels.iter().all(|term| term.mean > 0.99));
}

#[test]
fn provider_without_vectors_is_an_error() {
    let provider = FakeProvider::start(|_, _| vec![Piece::Bytes(answer(200, &[], "<html>"))]);
    let failed = embedder(&provider).embed(&["a"]).unwrap_err();
    let cause = std::error::Error::source(&failed).unwrap().to_string();
    assert!(cause.contains("no answer after 3 tries"), "{cause}");
    assert_eq!(provider.count(), 3);
}
