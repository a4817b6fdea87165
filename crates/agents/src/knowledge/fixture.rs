//! A small base and doubles for the tests of this module.

use super::base::Knowledge;
use super::jobs::{Job, JobFault, JobModel};
use super::labels::LabelTree;
use super::posts::{Post, parse_posts};
use super::query::Query;
use llm::Message;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Mutex;

pub(super) const TREE: &str = r#"[[label]]
hard = "Graph Learning"
soft = ["Node Classification", "Link Prediction"]

[[label]]
hard = "General Machine Learning"
soft = ["Regression", "Classification", "Ensembles"]
"#;

/// Name, labels, title, what to do: 20 tricks.
const TRICKS: [(&str, &str, &str, &str); 20] = [
    ("same", "G/Regression", "Yield of fields", "predict the yield of each field from soil"),
    ("other-soft", "G/Classification", "Weather of fields", "rain and soil of each field"),
    ("both", "G/Classification, G/Regression", "Fields", "yield or class of soil"),
    ("all-three", "G/Classification, G/Ensembles, G/Regression", "Averages", "mean of models"),
    ("two-hard", "G/Regression, L/Link Prediction", "Neighbours", "mean over linked rows"),
    ("links", "L/Link Prediction", "Shared friends", "count neighbours in common"),
    ("nodes", "L/Node Classification", "Votes of neighbours", "spread known classes"),
    ("graph-both", "L/Link Prediction, L/Node Classification", "Walks", "embed random walks"),
    ("ratio", "G/Regression", "Ratios", "divide one column by another"),
    ("product", "G/Regression", "Products", "multiply pairs of columns"),
    ("log", "G/Regression", "Logarithms", "logarithm of skewed columns"),
    ("bins", "G/Classification", "Bins", "quantiles of numbers as classes"),
    ("blend", "G/Ensembles", "Blends", "weights of several models by ridge"),
    ("clip", "G/Regression", "Clips", "clip predictions to what was seen"),
    ("median", "G/Regression", "Medians", "fill gaps with the median"),
    ("rank", "G/Regression", "Ranks", "ranks instead of values"),
    ("trend", "G/Regression", "Trends", "slope over the season of a field"),
    ("forest", "G/Classification, G/Regression", "Forests", "average many trees"),
    ("ridge", "G/Regression", "Ridge", "penalise large weights"),
    ("boost", "G/Classification, G/Regression", "Boosting", "add small trees"),
];

/// The files of a base of 20 tricks and 6 methods.
pub(super) fn files() -> BTreeMap<String, String> {
    let full = |labels: &str| {
        let labels: Vec<String> = labels
            .split(", ")
            .map(|label| {
                let label = label.replace("G/", "General Machine Learning/");
                format!("\"{}\"", label.replace("L/", "Graph Learning/"))
            })
            .collect();
        labels.join(", ")
    };
    let mut tricks = String::new();
    for (id, labels, title, how) in TRICKS {
        let _ = write!(
            tricks,
            "[[trick]]\nid = \"{id}\"\ntitle = \"{title}\"\nstage = \"features\"\nlabels = [{}]\n\
             when = \"often\"\nhow = \"{how}\"\nwhy = \"It helps.\"\nrisk = \"none\"\n\
             cost = \"seconds\"\nneeds = []\n\n",
            full(labels)
        );
    }
    let mut methods = String::new();
    let tasks = ["regression", "classes", "links", "ranking", "sounds", "pictures"];
    for (index, task) in tasks.iter().enumerate() {
        let _ = write!(
            methods,
            "[[method]]\nid = \"method-{index}\"\ntitle = \"Method {index}\"\nauthors = \"A\"\n\
             venue = \"V\"\nyear = 2020\nlabels = [{}]\ntask = \"{task}\"\ndata = \"tables of {task}\"\n\
             domain = \"farming {index}\"\nphase = \"training\"\nidea = \"i\"\ninputs = \"x\"\nwhen = \"w\"\n\n",
            full("G/Regression")
        );
    }
    [
        ("labels.toml", TREE.to_owned()),
        ("families.toml", FAMILIES.to_owned()),
        ("tricks/all.toml", tricks),
        ("methods/all.toml", methods),
    ]
    .map(|(name, text)| (name.to_owned(), text))
    .into()
}

const FAMILIES: &str = "[[family]]\nname = \"Birds by sound\"\ncompetitions = [\"birdclef-2021\", \"birdclef-2022\"]\n";

pub(super) fn base() -> Knowledge {
    Knowledge::from_files(&files()).unwrap()
}

/// A question about a task whose description is its statement.
pub(super) fn query(statement: &str, labels: &[&str]) -> Query {
    Query {
        task: statement.to_owned(),
        statement: statement.to_owned(),
        labels: labels.iter().map(|label| label.parse().unwrap()).collect(),
        description: statement.to_owned(),
        columns: [].into(),
    }
}

/// A post of a competition with this description.
pub(super) fn post(origin: &str, introduction: &str) -> Post {
    let title = introduction.lines().next().unwrap_or_default().trim_start_matches("# ");
    let title = if title.len() < introduction.len() { title } else { origin };
    let line = serde_json::json!({
        "title": title, "introduction": introduction, "origin": origin,
        "tags": {"General Machine Learning": ["Classification"]},
        "solutions": {"1st": "A forest."},
    });
    let tree = LabelTree::parse("labels.toml", TREE).unwrap();
    parse_posts("posts.jsonl", &line.to_string(), &tree).unwrap().remove(0)
}

/// Gives the answers of a list, one after another.
#[derive(Debug)]
pub(super) struct ScriptedModel {
    answers: Vec<String>,
    asked: Mutex<Vec<Vec<Message>>>,
}

impl ScriptedModel {
    pub(super) fn new(answers: &[&str]) -> Self {
        let answers = answers.iter().map(|answer| (*answer).to_owned()).collect();
        Self { answers, asked: Mutex::default() }
    }

    /// How many answers it has given.
    pub(super) fn asked(&self) -> usize {
        self.asked.lock().unwrap().len()
    }

    /// The last conversation.
    pub(super) fn last(&self) -> Vec<Message> {
        self.asked.lock().unwrap().last().cloned().unwrap_or_default()
    }
}

impl JobModel for ScriptedModel {
    fn answer(&self, _job: Job, messages: &[Message], _sample: u64) -> Result<String, JobFault> {
        let mut asked = self.asked.lock().unwrap();
        asked.push(messages.to_vec());
        let answer = self.answers.get(asked.len() - 1);
        answer.cloned().ok_or_else(|| JobFault("there is no further answer".into()))
    }
}
