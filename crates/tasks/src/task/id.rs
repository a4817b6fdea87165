//! The name of a task.

use super::error::TaskError;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The name of a task, which is also its folder's name: lower-case letters, digits and dashes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct TaskId(String);

impl TaskId {
    /// Checks and wraps a name.
    ///
    /// # Errors
    /// [`TaskError::BadId`] unless it is 1 to 100 lower-case letters, digits and inner dashes.
    ///
    /// # Examples
    /// ```rust
    /// use tasks::task::TaskId;
    ///
    /// assert_eq!(TaskId::new("crop-yield-0007")?.as_str(), "crop-yield-0007");
    /// assert!(TaskId::new("../crop-yield").is_err());
    /// # Ok::<(), tasks::task::TaskError>(())
    /// ```
    pub fn new(name: &str) -> Result<Self, TaskError> {
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        let valid = (1..=100).contains(&name.len())
            && name.chars().all(plain)
            && !name.starts_with('-')
            && !name.ends_with('-');
        if valid { Ok(Self(name.to_owned())) } else { Err(TaskError::BadId(name.to_owned())) }
    }

    /// The id of a folder that was not named by us: letters become lower-case, and everything
    /// that an id must not hold becomes a dash.
    ///
    /// # Errors
    /// [`TaskError::BadId`] if nothing is left of it, or too much.
    pub fn from_folder_name(name: &str) -> Result<Self, TaskError> {
        let plain = |c: char| {
            let c = c.to_ascii_lowercase();
            if c.is_ascii_lowercase() || c.is_ascii_digit() { c } else { '-' }
        };
        let id: String = name.chars().map(plain).collect();
        Self::new(id.trim_matches('-')).map_err(|_| TaskError::BadId(name.to_owned()))
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for TaskId {
    type Error = TaskError;
    fn try_from(name: String) -> Result<Self, TaskError> {
        Self::new(&name)
    }
}

impl From<TaskId> for String {
    fn from(id: TaskId) -> Self {
        id.0
    }
}

impl fmt::Display for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_names_become_ids() {
        let id = |name: &str| TaskId::from_folder_name(name).unwrap().to_string();
        assert_eq!(id("Leaf_Classification.v2"), "leaf-classification-v2");
        assert_eq!(id("_a b_"), "a-b");
        assert!(
            matches!(TaskId::from_folder_name("__"), Err(TaskError::BadId(name)) if name == "__")
        );
    }
}
