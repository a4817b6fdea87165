//! The statement of the problem of a page: what a knowledge base is asked with. Pages are mostly
//! rules, prizes, formats and lists of files, which all pages share and which would decide what is
//! near.

use super::words::count_words;
use tasks::description::{glance, without_glance};

/// Most words of a statement.
pub const STATEMENT_WORDS: usize = 80;

/// Parts of headings of sections that are left out.
const CUT_HEADINGS: [&str; 38] = [
    "evaluation",
    "metric",
    "scor",
    "submission",
    "format",
    "file",
    "column",
    "field",
    "schema",
    "timeline",
    "dates",
    "deadline",
    "prize",
    "award",
    "reward",
    "rule",
    "eligib",
    "team",
    "citation",
    "cite",
    "acknowledg",
    "sponsor",
    "host",
    "organi",
    "faq",
    "question",
    "forum",
    "requirement",
    "tutorial",
    "resource",
    "getting started",
    "differences",
    "licen",
    "contact",
    "references",
    "note",
    "what you hand in",
    "hand-in",
];

/// Parts of sentences that are left out.
const CUT_SENTENCES: [&str; 33] = [
    "prize",
    "$",
    "deadline",
    "leaderboard",
    "kaggle",
    "submit",
    "submission",
    "rules",
    "sponsor",
    "team merg",
    "citation",
    "acknowledg",
    ".csv",
    ".zip",
    ".json",
    ".png",
    ".jpg",
    ".tsv",
    ".txt",
    "http",
    "www.",
    "copyright",
    "license",
    "forum",
    "hackathon",
    "getting started",
    "tutorial",
    "revision of",
    "maintained by",
    "stand-in",
    "test.csv",
    "train.csv",
    "confidential",
];

/// Parts of headings of sections that are much the same on all pages.
const SHARED_HEADINGS: [&str; 12] = [
    "evaluation",
    "metric",
    "submission",
    "files",
    "timeline",
    "prize",
    "rule",
    "citation",
    "acknowledg",
    "faq",
    "requirement",
    "differences",
];

/// Parts of sentences that are much the same on all pages.
const SHARED_SENTENCES: [&str; 12] = [
    ".csv",
    "test file",
    "test row",
    "training row",
    "training file",
    "left out",
    "leaderboard",
    "submi",
    "deadline",
    "stand-in",
    "whole number",
    "no header",
];

/// Parts of sentences that say what is asked for.
const CUES: [&str; 30] = [
    "predict",
    "classif",
    "identif",
    "detect",
    "segment",
    "forecast",
    "estimate",
    "recogni",
    "determine",
    "rank",
    "recommend",
    "your task",
    "your goal",
    "challenge",
    "asked",
    "goal",
    "tell apart",
    "tell ",
    "find ",
    "decide",
    "remove",
    "restore",
    "normali",
    "extract",
    "match",
    "needs",
    "wants",
    "supply",
    "assign",
    "label",
];

/// The statement of the problem of a description, at most [`STATEMENT_WORDS`] words on one line: task
/// and data of an `At a glance` list, the title, then sentences of the prose, those first that say
/// what is asked for.
///
/// # Examples
/// ```rust
/// use agents::knowledge::statement;
///
/// let page = "# Lake algae\n\nPredict whether a lake blooms.\n\n## Prizes\n\nFirst: $10,000\n";
/// assert_eq!(statement(page), "Lake algae. Predict whether a lake blooms.");
/// ```
pub fn statement(description: &str) -> String {
    let mut text = String::new();
    if let Some(list) = glance(description) {
        for name in ["- Task: ", "- Data: "] {
            if let Some(value) = list.lines().find_map(|line| line.strip_prefix(name)) {
                push(&mut text, value, STATEMENT_WORDS);
            }
        }
    }
    let page = without_glance(description);
    let sentences = sentences(&page, &CUT_HEADINGS, &CUT_SENTENCES, false);
    // The first sentences that say what is asked for, then what stands around them.
    let says = |sentence: &String| {
        let small = sentence.to_lowercase();
        CUES.iter().any(|cue| small.contains(cue))
    };
    let mut left = STATEMENT_WORDS.saturating_sub(count_words(&text));
    let mut kept = vec![false; sentences.len()];
    for is_cue in [true, false] {
        for (index, sentence) in sentences.iter().enumerate() {
            // The title stays in any case.
            let is_first = index == 0 && is_cue;
            if kept[index] || (says(sentence) != is_cue && !is_first) {
                continue;
            }
            let words = count_words(sentence);
            if words <= left {
                kept[index] = true;
                left -= words;
            }
        }
    }
    if !kept.contains(&true)
        && let Some(first) = sentences.first()
    {
        push(&mut text, first, STATEMENT_WORDS);
    }
    for (sentence, _) in sentences.iter().zip(kept).filter(|(_, kept)| *kept) {
        push(&mut text, sentence, STATEMENT_WORDS);
    }
    text
}

/// What a description says of its own problem and data, lists too; without sections that all pages
/// share, such as those on evaluation and files. The whole description if nothing else is in it.
pub(super) fn prose(description: &str) -> String {
    let sentences =
        sentences(&without_glance(description), &SHARED_HEADINGS, &SHARED_SENTENCES, true);
    if sentences.is_empty() { description.to_owned() } else { sentences.join(" ") }
}

/// Adds a sentence, cut where `most` words are reached.
fn push(text: &mut String, sentence: &str, most: usize) {
    let left = most.saturating_sub(count_words(text));
    let words: Vec<&str> = sentence.split_whitespace().take(left).collect();
    if words.is_empty() {
        return;
    }
    if !text.is_empty() {
        text.push(' ');
    }
    text.push_str(&words.join(" "));
    if !text.ends_with(['.', '!', '?', ':']) {
        text.push('.');
    }
}

/// Sentences of the title, of prose and, if asked for, of lists, without those that have one of these
/// parts and without sections whose headings have one.
fn sentences(page: &str, headings: &[&str], cut_parts: &[&str], with_lists: bool) -> Vec<String> {
    let mut found = Vec::new();
    let mut paragraph = String::new();
    // The level of a heading whose section is left out.
    let mut cut: Option<usize> = None;
    let mut in_code = false;
    let mut is_titled = false;
    for line in page.lines() {
        let line = line.trim();
        if line.starts_with("```") {
            in_code = !in_code;
            continue;
        }
        if in_code {
            continue;
        }
        let level = line.bytes().take_while(|byte| *byte == b'#').count();
        if level > 0 {
            split(&mut paragraph, &mut found, cut_parts);
            let heading = line.trim_start_matches('#').trim().trim_matches('*').to_lowercase();
            if cut.is_some_and(|above| level > above) {
                continue;
            }
            let is_cut = headings.iter().any(|part| heading.contains(part));
            let is_title = !is_titled && level == 1;
            cut = (is_cut && !is_title).then_some(level);
            let is_plain = ["overview", "description", "data", "introduction"]
                .iter()
                .any(|name| heading == *name);
            if is_title && !is_plain {
                is_titled = true;
                found.push(line.trim_start_matches('#').trim().to_owned());
            }
            continue;
        }
        let is_list = line.starts_with(['|', '-', '*', '>', '<', '!', '+'])
            || line.split_once(['.', ')']).is_some_and(|(number, _)| {
                !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
            });
        if line.is_empty() || cut.is_some() || is_list {
            split(&mut paragraph, &mut found, cut_parts);
            if cut.is_none() && with_lists && !line.starts_with('|') {
                paragraph.push_str(line.trim_start_matches(['-', '*', '>', '+', ' ']));
                split(&mut paragraph, &mut found, cut_parts);
            }
            continue;
        }
        paragraph.push_str(line);
        paragraph.push(' ');
    }
    split(&mut paragraph, &mut found, cut_parts);
    found
}

/// Moves the sentences of a paragraph that may stand in a statement.
fn split(paragraph: &mut String, found: &mut Vec<String>, cut_parts: &[&str]) {
    let text = std::mem::take(paragraph);
    let mut rest = text.trim();
    while !rest.is_empty() {
        let ends = rest.match_indices(['.', '!', '?']).map(|(at, end)| at + end.len());
        let end = ends
            .into_iter()
            .find(|end| rest[*end..].is_empty() || rest[*end..].starts_with(' '))
            .unwrap_or(rest.len());
        let (sentence, after) = rest.split_at(end);
        rest = after.trim_start();
        let small = sentence.to_lowercase();
        let is_cut = cut_parts.iter().any(|part| small.contains(part));
        if !is_cut && count_words(sentence) >= 2 {
            found.push(sentence.trim().to_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn rules_prizes_formats_and_files_are_cut() {
        let page = "# Overview\n\n## Description\n\nWhales sing. In this challenge you predict \
                    from a recording whether a whale calls. Winners share $20,000.\n\n### Evaluation\n\
                    \nArea under the curve.\n\n#### Example\n\nA row a clip.\n\n## Data\n\n\
                    - train.zip: clips\n| a | b |\n\nClips last two seconds. Read train.csv first.\n\
                    \n## Prizes\n\nPredict well and win.\n";
        assert_eq!(
            statement(page),
            "Whales sing. In this challenge you predict from a recording whether a whale calls. Clips \
             last two seconds."
        );
    }

    #[test]
    fn statement_of_a_task_of_ours_begins_with_task_and_data() {
        let page = "# Tickets per team\n\n## At a glance\n- Task: forecasting\n- Data: series\n- Id: `a`\n\n\
                    ## Background\nTeams plan rosters. The department needs `tickets` for each team.\n\n\
                    ## Files\nPredict nothing.\n";
        assert_eq!(
            statement(page),
            "forecasting. series. Tickets per team. Teams plan rosters. The department needs \
             `tickets` for each team."
        );
    }

    #[test]
    fn long_pages_keep_what_is_asked_for() {
        let filler = "Some words about the weather of last year follow here. ".repeat(20);
        let page = format!("# T\n\n{filler}\n\nPredict the yield of each field.\n");
        let text = statement(&page);
        assert!(text.ends_with("Predict the yield of each field."), "{text}");
        assert!(count_words(&text) <= STATEMENT_WORDS);
        assert_eq!(statement(""), "");
    }

    proptest! {
        #[test]
        fn statement_of_any_page_is_short(page in "([a-z.#*|`$ 0-9\n]|predict |## |\n\n){0,200}") {
            prop_assert!(count_words(&statement(&page)) <= STATEMENT_WORDS);
        }
    }
}
