//! Parts of a task's description that programs read.

/// The heading of the short list that small policies are prompted with.
pub const GLANCE: &str = "## At a glance";

/// The items of the `At a glance` list of a description; `None` without such a list.
///
/// # Examples
/// ```rust
/// use tasks::description::{glance, without_glance};
///
/// let text = "# Yield\n\n## At a glance\n- Task: regression\n\n## Data\nOne row per field.\n";
/// assert_eq!(glance(text), Some("- Task: regression"));
/// assert_eq!(without_glance(text), "# Yield\n\n## Data\nOne row per field.\n");
/// ```
pub fn glance(description: &str) -> Option<&str> {
    let (_, list) = parts(description)?;
    let end = list.find("\n#").unwrap_or(list.len());
    Some(list[..end].trim()).filter(|list| !list.is_empty())
}

/// A description without its `At a glance` list and the heading of it, as language models are
/// given it.
pub fn without_glance(description: &str) -> String {
    let Some((before, list)) = parts(description) else { return description.to_owned() };
    let after = list.find("\n#").map_or("", |end| &list[end + 1..]);
    format!("{before}{after}")
}

/// What stands before the heading of the list, and what stands after it.
fn parts(description: &str) -> Option<(&str, &str)> {
    let (before, list) = description.split_once(GLANCE)?;
    Some((before, list.strip_prefix('\n')?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_ends_at_the_next_heading() {
        let description = "# T\n\ntext\n\n## At a glance\n- Task: a\n- Metric: b\n\n## Data\nx";
        assert_eq!(glance(description), Some("- Task: a\n- Metric: b"));
        assert_eq!(glance("# T\n## At a glance\n\n## Data"), None);
        assert_eq!(glance("# T"), None);
        assert_eq!(without_glance(description), "# T\n\ntext\n\n## Data\nx");
        assert_eq!(without_glance("# T\n\n## At a glance\n- Task: a"), "# T\n\n");
        assert_eq!(without_glance("# T\n\ntext"), "# T\n\ntext");
    }
}
