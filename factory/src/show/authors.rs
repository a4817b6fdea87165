//! Who made a task: the built-in roles, or which models.

use tasks::task::Manifest;

/// The models that made parts of a task and what they made, in words.
pub fn authors(manifest: &Manifest) -> String {
    let roles = &manifest.provenance["roles"];
    let Some(authors) = roles["authors"].as_object() else {
        return "built-in roles".to_owned();
    };
    let mode = roles["mode"].as_str().unwrap_or("unknown");
    let parts: Vec<String> = authors
        .iter()
        .map(|(role, author)| format!("{role} {}", author["model"].as_str().unwrap_or("unknown")))
        .collect();
    if parts.is_empty() {
        return format!("built-in roles, because no work of a model was accepted (mode {mode})");
    }
    format!("{}; the other roles are built in (mode {mode})", parts.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn with_roles(roles: &serde_json::Value) -> String {
        let text = support::manifest::manifest("t", 4, [0.9, 0.8, 0.7, 0.6]);
        let mut manifest: serde_json::Value = serde_json::from_str(&text).unwrap();
        manifest["provenance"] = json!({ "roles": roles });
        authors(&serde_json::from_value(manifest).unwrap())
    }

    #[test]
    fn authors_are_named_by_role() {
        assert_eq!(with_roles(&json!("builtin")), "built-in roles");
        let models = json!({ "mode": "blueprint", "authors": {
            "strategist": { "model": "a:b", "prompt": "0f" },
            "writer": { "model": "c:d", "prompt": "0e" },
        } });
        assert_eq!(
            with_roles(&models),
            "strategist a:b, writer c:d; the other roles are built in (mode blueprint)"
        );
        let none = with_roles(&json!({ "mode": "writer", "authors": {} }));
        assert!(none.contains("no work of a model was accepted"), "{none}");
    }
}
