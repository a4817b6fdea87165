//! Which task an episode is played on.
//!
//! A client names a task, or a split and the place of a task in it, or gives a seed, or nothing, in
//! which case tasks come in turn. Draws by seed and in turn are from one split: the one that the
//! client names, else the one that the operator chose ([`DrawnTasks`]). Held-out tasks are
//! therefore never drawn unless somebody asked for them.

use super::protocol::{Code, ProtocolError};
use super::server::ServerState;
use crate::env::Label;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::sync::atomic::Ordering;
use std::time::{SystemTime, UNIX_EPOCH};
use tasks::stream::Stream;
use tasks::task::{Split, Task, TaskId};

/// The longest name of an episode.
const EPISODE_ID: usize = 255;

/// The tasks that are drawn where a client names neither a task nor a split.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DrawnTasks {
    /// Those to be trained on.
    Train,
    /// The held-out ones.
    Val,
    /// All of them.
    All,
}

impl DrawnTasks {
    /// The split that it stands for; `None` for all tasks.
    pub(super) fn split(self) -> Option<Split> {
        match self {
            Self::Train => Some(Split::Train),
            Self::Val => Some(Split::Val),
            Self::All => None,
        }
    }
}

/// How to begin an episode.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(super) struct Reset {
    /// Chooses the task where none is named.
    pub(super) seed: Option<u64>,
    /// What the client calls the episode.
    pub(super) episode_id: Option<String>,
    /// The task's name. Without it and without a seed, the next in turn.
    #[serde(alias = "task_id")]
    pub(super) task: Option<String>,
    /// The split to choose from.
    pub(super) split: Option<String>,
    /// The task's place in the split, from 0.
    pub(super) index: Option<u64>,
    /// All other keys. Trainers pass every column of a row of their data, so they are no error.
    #[serde(flatten)]
    pub(super) others: Map<String, Value>,
}

/// A task, and what its episode is called.
#[derive(Debug, Clone)]
pub(super) struct ChosenTask {
    pub(super) task: Task,
    pub(super) label: Label,
    /// The name of the record's file, without its ending.
    pub(super) file: String,
    /// The arguments of the reset that decided nothing.
    pub(super) ignored: Vec<String>,
}

fn invalid(message: impl Into<String>) -> ProtocolError {
    ProtocolError::new(Code::ValidationError, message)
}

/// The split of that name. The name in data sets, `validation`, stands for `val` too.
///
/// # Errors
/// Which names there are.
pub(super) fn parse_split(name: &str) -> Result<Split, ProtocolError> {
    match name {
        "train" => Ok(Split::Train),
        "val" | "validation" => Ok(Split::Val),
        _ => Err(invalid(format!("there is no split `{name}`; there are `train` and `val`"))),
    }
}

/// The name of a split.
pub(super) fn split_name(split: Split) -> &'static str {
    match split {
        Split::Train => "train",
        Split::Val => "val",
    }
}

impl Reset {
    /// Reads the data of a message of type `reset`.
    ///
    /// # Errors
    /// A known key has a value of the wrong kind, or the two names of a task differ.
    pub(super) fn parse(mut data: Map<String, Value>) -> Result<Self, ProtocolError> {
        // A row of data may have both.
        if let (Some(task), Some(id)) = (data.get("task"), data.get("task_id")) {
            if !task.is_null() && !id.is_null() && task != id {
                let message = format!("`task` is {task} and `task_id` is {id}; send one of them");
                return Err(invalid(message));
            }
            data.remove(if task.is_null() { "task" } else { "task_id" });
        }
        let reset: Self = serde_json::from_value(Value::Object(data))
            .map_err(|error| invalid(format!("invalid message: {error}")))?;
        if reset.episode_id.as_ref().is_some_and(|name| name.len() > EPISODE_ID) {
            return Err(invalid(format!("`episode_id` is longer than {EPISODE_ID} bytes")));
        }
        Ok(reset)
    }

    /// The same from the query of a URL, such as `split=train&index=3`. Values are taken as they
    /// are written: names of tasks and splits have no characters that a URL must encode.
    ///
    /// # Errors
    /// As for [`Self::parse`], and for unknown keys: a URL is written by hand.
    pub(super) fn from_query(query: &str) -> Result<Self, ProtocolError> {
        let mut data = Map::new();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            let value = match key {
                "seed" | "index" => value.parse::<u64>().map(Value::from).map_err(|_| {
                    invalid(format!("`{key}` in the URL is `{value}`; it must be a whole number"))
                })?,
                "task" | "task_id" | "split" => value.into(),
                _ => {
                    let known = "`task`, `split`, `index` and `seed`";
                    return Err(invalid(format!(
                        "`{key}` in the URL is not known; there are {known}"
                    )));
                }
            };
            data.insert(key.to_owned(), value);
        }
        Self::parse(data)
    }
}

impl ServerState {
    /// The task that a client asks for, and what its episode is called.
    pub(super) fn choose(&self, reset: &Reset) -> Result<ChosenTask, ProtocolError> {
        let number = self.begun.fetch_add(1, Ordering::Relaxed);
        let split = reset.split.as_deref().map(parse_split).transpose()?;
        let mut ignored: Vec<String> = reset.others.keys().cloned().collect();
        let task = if let Some(name) = &reset.task {
            ignored.extend(reset.index.map(|_| "index".to_owned()));
            self.named(name, split)?
        } else {
            let drawn = self.drawn(split)?;
            let count = drawn.len() as u64;
            let wrapped = |at: u64| drawn[usize::try_from(at % count).unwrap_or_default()];
            match (reset.index, reset.seed) {
                (Some(index), _) if index >= count => {
                    let message = format!(
                        "there is no task at the index {index}; there are {count}, counted from 0"
                    );
                    return Err(invalid(message));
                }
                (Some(index), _) => wrapped(index),
                (None, Some(seed)) => wrapped(Stream::root(seed).child("task").seed()),
                (None, None) => wrapped(number),
            }
        };
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let file = format!("{}-{}-{number}", since.as_millis(), std::process::id());
        let episode = reset.episode_id.clone().unwrap_or_else(|| format!("{}/{file}", task.id()));
        let label = Label { episode, seed: reset.seed };
        Ok(ChosenTask { task: task.clone(), label, file, ignored })
    }

    fn named(&self, name: &str, split: Option<Split>) -> Result<&Task, ProtocolError> {
        let Some(task) = TaskId::new(name).ok().and_then(|id| self.suite.task(&id)) else {
            let tasks = self.suite.tasks();
            let first = tasks.first().map_or("", |task| task.id().as_str());
            let known = format!("there are {}, `{first}` the first of them", tasks.len());
            return Err(invalid(format!("there is no task `{name}`; {known}")));
        };
        match (split, task.split()) {
            (Some(asked), Some(stated)) if asked != stated => {
                let (asked, stated) = (split_name(asked), split_name(stated));
                Err(invalid(format!("the task `{name}` is of the split `{stated}`, not `{asked}`")))
            }
            _ => Ok(task),
        }
    }

    /// The tasks to draw from; never empty.
    fn drawn(&self, split: Option<Split>) -> Result<Vec<&Task>, ProtocolError> {
        match split.or(self.config.drawn.split()) {
            Some(split) => self.suite.split(split).map_err(|_| {
                let name = split_name(split);
                let hint = "name a task or a split that has some, or serve with another `--draw`";
                invalid(format!("the split `{name}` has no tasks to draw from; {hint}"))
            }),
            None => Ok(self.suite.tasks().iter().collect()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn parse(data: Value) -> Result<Reset, ProtocolError> {
        let Value::Object(data) = data else { unreachable!("the data of a reset is an object") };
        Reset::parse(data)
    }

    #[test]
    fn resets_take_a_row_of_data() {
        let row = json!({"task": "a", "task_id": "a", "split": "val", "index": 3, "prompt": [], "seed": null});
        let reset = parse(row).unwrap();
        assert_eq!((reset.task.as_deref(), reset.split.as_deref()), (Some("a"), Some("val")));
        assert_eq!((reset.index, reset.seed), (Some(3), None));
        assert_eq!(reset.others.keys().collect::<Vec<_>>(), ["prompt"]);
        assert_eq!(
            parse(json!({"task": null, "task_id": "a"})).unwrap().task.as_deref(),
            Some("a")
        );
        assert_eq!(
            parse(json!({"task": "a", "task_id": null})).unwrap().task.as_deref(),
            Some("a")
        );
    }

    #[test]
    fn resets_with_mistakes_are_refused_with_the_reason() {
        for (data, words) in [
            (json!({"seed": -1}), "expected u64"),
            (json!({"index": 1.5}), "expected u64"),
            (json!({"task": 3}), "expected a string"),
            (json!({"task": "a", "task_id": "b"}), "send one of them"),
            (json!({"episode_id": "x".repeat(256)}), "longer than 255"),
        ] {
            let error = parse(data).unwrap_err();
            assert_eq!(error.code, Code::ValidationError);
            assert!(error.message.contains(words), "{}", error.message);
        }
        assert!(parse_split("test").unwrap_err().message.contains("`train` and `val`"));
    }

    #[test]
    fn urls_choose_tasks_as_resets_do() {
        let reset = Reset::from_query("split=train&index=3").unwrap();
        assert_eq!((reset.split.as_deref(), reset.index), (Some("train"), Some(3)));
        assert_eq!(Reset::from_query("").unwrap(), Reset::default());
        assert_eq!(Reset::from_query("task_id=a").unwrap().task.as_deref(), Some("a"));
        for (query, words) in [("index=x", "a whole number"), ("prompt=1", "not known")] {
            let error = Reset::from_query(query).unwrap_err();
            assert!(error.message.contains(words), "{}", error.message);
        }
    }
}
