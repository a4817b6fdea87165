//! What the scripted engineer answers to questions about a knowledge base: labels by rules, tricks as
//! the first words of solutions.

use crate::fence::{FencedBlock, blocks};
use crate::knowledge::{Job, label_text};
use llm::Message;
use serde::Serialize;
use serde_json::json;
use std::collections::BTreeSet;

/// Words of a solution that become a trick.
const WORDS: usize = 40;

#[derive(Serialize)]
struct TrickAnswer {
    stage: String,
    text: String,
    from: Vec<String>,
}

/// The answer to a question; empty if it is not one of ours.
pub(super) fn answer(job: Job, messages: &[Message]) -> String {
    let Some(prompt) = messages.first().map(|message| message.content.as_str()) else {
        return String::new();
    };
    let Ok(blocks) = blocks(prompt) else { return String::new() };
    let body = |index: usize| blocks.get(index).map_or("", |block| block.body.as_str());
    let answer = match job {
        Job::Label => json!({"why": "By the words of the page.", "labels": label_text(body(0))}),
        Job::SameTask => {
            json!({"why": "By the words that both have.", "same": are_alike(body(0), body(1))})
        }
        Job::Distil => json!({"tricks": distilled(prompt, &blocks)}),
        Job::Queries => {
            let words: Vec<&str> = body(0).split_whitespace().take(WORDS).collect();
            let text = words.join(" ");
            json!({"task": text, "data": text, "domain": text, "phase": "model and training"})
        }
        Job::Fit => json!({"tricks": listed(body(1))}),
    };
    format!("```json\n{answer}\n```\n")
}

/// Whether two texts share more than half of their words.
fn are_alike(one: &str, other: &str) -> bool {
    let words = |text: &str| text.split_whitespace().map(str::to_lowercase).collect();
    let (one, other): (BTreeSet<String>, BTreeSet<String>) = (words(one), words(other));
    let (shared, all) = (one.intersection(&other).count(), one.union(&other).count());
    2 * shared > all
}

/// A trick of each solution that a prompt shows.
fn distilled(prompt: &str, blocks: &[FencedBlock]) -> Vec<TrickAnswer> {
    let names = prompt
        .lines()
        .filter_map(|line| line.strip_prefix("Solution `")?.strip_suffix("`:").map(str::to_owned));
    names
        .zip(blocks)
        .map(|(name, block)| TrickAnswer {
            stage: "model".to_owned(),
            text: block.body.split_whitespace().take(WORDS).collect::<Vec<_>>().join(" "),
            from: vec![name],
        })
        .collect()
}

/// The tricks of a list, as they are.
fn listed(list: &str) -> Vec<TrickAnswer> {
    let read = |line: &str| {
        let (stage, rest) = line.strip_prefix("- ")?.split_once(" (from ")?;
        let (from, text) = rest.split_once("): ")?;
        Some(TrickAnswer {
            stage: stage.to_owned(),
            text: text.to_owned(),
            from: from.split(", ").map(str::to_owned).collect(),
        })
    };
    list.lines().filter_map(read).collect()
}
