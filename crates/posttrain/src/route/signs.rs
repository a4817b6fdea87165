//! What in a piece of code, or in an agent's own words, shows a way of training.

use super::code::{flat, has_word, is_code, lines};
use super::kind::Route;
use std::collections::BTreeSet;

/// Lines below a condition in which something is kept.
const NEAR: usize = 4;
/// Lines of code that are shown as the key ones, and their length.
const KEY_LINES: usize = 5;
const KEY_LENGTH: usize = 160;

/// Words that show a way of training if all of a list stand in a text. One that begins with `$ ` is a
/// command, in a shell's line or in a list of arguments.
const SIGNS: [(Route, &[&[&str]]); 9] = [
    (
        Route::Sft,
        &[
            &["SFTTrainer"],
            &["SFTConfig"],
            &["$ rl sft"],
            &["cross_entropy", "backward"],
            &["CrossEntropyLoss", "backward"],
            &["labels", "backward"],
            &["labels", "Trainer", "train"],
        ],
    ),
    (
        // `merge_and_unload` puts an adapter into its base, and is no merge of models.
        Route::Merge,
        &[
            &["$ rl merge"],
            &["$ mergekit*"],
            &["mergekit"],
            &["slerp"],
            &["task_vector*"],
            &["task_arithmetic"],
            &["merge_models"],
            &["model_soup"],
            &["average_weights"],
            &["average_checkpoints"],
            &["add_weighted_adapter"],
        ],
    ),
    (Route::Rft, &[&["$ rl sft", "--episodes"]]),
    (Route::Dagger, &[&["dagger"], &["relabel*", "rollout*"], &["expert_action*", "rollout*"]]),
    (
        Route::Grpo,
        &[
            &["GRPOTrainer"],
            &["GRPOConfig"],
            &["$ rl train"],
            &["advantage*", "group*", "backward"],
        ],
    ),
    (
        Route::Ppo,
        &[
            &["PPOTrainer"],
            &["PPOConfig"],
            &["advantage*", "critic", "backward"],
            &["advantage*", "value_head", "backward"],
        ],
    ),
    (
        Route::Dpo,
        &[
            &["DPOTrainer"],
            &["DPOConfig"],
            &["$ rl prefer"],
            &["chosen*", "rejected*", "logsigmoid"],
        ],
    ),
    (Route::KtoOrpo, &[&["KTOTrainer"], &["KTOConfig"], &["ORPOTrainer"], &["ORPOConfig"]]),
    (Route::Other, &[&["RLOOTrainer"], &["OnlineDPOTrainer"], &["backward", "step"]]),
];

/// Words that stand for what is sampled from a policy.
pub(super) const SAMPLING: [&str; 8] = [
    "generate",
    "rollout*",
    "SamplingParams",
    "sample*",
    "episodes",
    "play*",
    "respond",
    "$ rl eval",
];
/// Words that stand for success, in a condition.
const SUCCESS: [&str; 9] =
    ["reward*", "verified", "passed", "passes", "correct", "success*", "won", "solved", "score*"];
/// What keeps something.
const KEEPING: [&str; 5] = [".append(", ".extend(", ".write(", "dump(", "yield "];

/// Whether a text has a sign.
pub(super) fn has(text: &str, flat: &str, sign: &str) -> bool {
    match sign.strip_prefix("$ ") {
        Some(command) => match command.strip_suffix('*') {
            Some(begin) => flat.contains(&format!(" {begin}")),
            None => flat.contains(&format!(" {command} ")),
        },
        None => has_word(text, sign),
    }
}

/// The ways of training that files show together, by path and text. What is no code is passed over.
///
/// # Examples
/// ```rust
/// use posttrain::route::{Route, in_code};
///
/// let train = "# later: GRPOTrainer\nSFTTrainer(model, args).train()\n";
/// assert_eq!(in_code([("train.py", train)]), [Route::Sft].into());
/// ```
pub fn in_code<'a>(files: impl IntoIterator<Item = (&'a str, &'a str)>) -> BTreeSet<Route> {
    let text = together(files);
    let flat = flat(&text);
    let shows = |signs: &&[&str]| signs.iter().all(|sign| has(&text, &flat, sign));
    let mut found: BTreeSet<Route> = SIGNS
        .iter()
        .filter(|(_, alternatives)| alternatives.iter().any(&shows))
        .map(|(route, _)| *route)
        .collect();
    if found.contains(&Route::Sft)
        && SAMPLING.iter().any(|sign| has(&text, &flat, sign))
        && keeps_successes(&text)
    {
        found.insert(Route::Rft);
    }
    if found.len() > 1 {
        // A step of an optimizer alone says only that something is trained.
        found.remove(&Route::Other);
    }
    found
}

/// The code of several files, without comments.
pub(super) fn together<'a>(files: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
    let code = files.into_iter().filter(|(path, _)| is_code(path));
    let mut text = String::new();
    for (_, line) in code.flat_map(|(_, text)| lines(text)) {
        text.push_str(&line);
        text.push('\n');
    }
    text
}

/// Whether something is kept on condition of a success; counting successes keeps nothing.
fn keeps_successes(text: &str) -> bool {
    let all: Vec<&str> = text.lines().collect();
    all.iter().enumerate().any(|(at, line)| {
        let condition = line.trim_start().strip_prefix("if ").or_else(|| {
            let (_, condition) = line.split_once(" if ")?;
            Some(condition)
        });
        let Some(condition) = condition else { return false };
        let is_comprehension = line.contains(" for ") && line.contains('[');
        let near = &all[at..all.len().min(at + NEAR)];
        let keeps = is_comprehension
            || near.iter().any(|line| KEEPING.iter().any(|word| line.contains(word)));
        keeps && SUCCESS.iter().any(|word| has_word(condition, word))
    })
}

/// The way of training that an agent's own words name first; none if they name none.
pub fn in_words(text: &str) -> Option<Route> {
    const WORDS: [(&str, Route); 16] = [
        ("grpo", Route::Grpo),
        ("ppo", Route::Ppo),
        ("dpo", Route::Dpo),
        ("kto", Route::KtoOrpo),
        ("orpo", Route::KtoOrpo),
        ("dagger", Route::Dagger),
        ("rft", Route::Rft),
        ("rejection", Route::Rft),
        ("expert iteration", Route::Rft),
        ("own successes", Route::Rft),
        ("merge", Route::Merge),
        ("merged", Route::Merge),
        ("soup", Route::Merge),
        ("sft", Route::Sft),
        ("fine-tuning", Route::Sft),
        ("fine-tuned", Route::Sft),
    ];
    let text = text.to_lowercase();
    let place =
        |(word, route): &(&str, Route)| has_word(&text, word).then(|| (text.find(word), *route));
    WORDS.iter().filter_map(place).min_by_key(|(place, _)| *place).map(|(_, route)| route)
}

/// The lines of files that show a way of training, as `path:line: code`, at most five.
pub fn key_lines<'a>(
    files: impl IntoIterator<Item = (&'a str, &'a str)>,
    route: Route,
) -> Vec<String> {
    let mut words: BTreeSet<&str> = BTreeSet::new();
    for (_, alternatives) in SIGNS.iter().filter(|(known, _)| *known == route) {
        words.extend(alternatives.iter().copied().flatten());
    }
    if route == Route::Rft {
        words.extend(SAMPLING.iter().chain(&SUCCESS));
    }
    words.extend(["learning_rate", "epochs", "lr"]);
    let mut found = Vec::new();
    for (path, text) in files.into_iter().filter(|(path, _)| is_code(path)) {
        for (number, line) in lines(text) {
            let flat = flat(&line);
            if words.iter().any(|word| has(&line, &flat, word)) && found.len() < KEY_LINES {
                let line: String = line.trim().chars().take(KEY_LENGTH).collect();
                found.push(format!("{path}:{number}: {line}"));
            }
        }
    }
    found
}

/// Where words stand in code, as `path:line` with the word; comments are passed over.
pub(crate) fn lines_with<'a>(
    files: impl IntoIterator<Item = (&'a str, &'a str)>,
    words: &'a [String],
) -> Vec<(String, &'a str)> {
    let mut found = Vec::new();
    for (path, text) in files.into_iter().filter(|(path, _)| is_code(path)) {
        for (number, line) in lines(text) {
            let here = words.iter().find(|word| has_word(&line, word));
            found.extend(here.map(|word| (format!("{path}:{number}"), word.as_str())));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Vec<Route> {
        in_code([("train.py", text)]).into_iter().collect()
    }

    #[test]
    fn trainers_and_losses_show_their_way_of_training() {
        for (text, route) in [
            ("trainer = SFTTrainer(model=m)\ntrainer.train()", Route::Sft),
            ("loss = F.cross_entropy(a, b)\nloss.backward()\nopt.step()", Route::Sft),
            ("subprocess.run(['rl', 'sft', '--world', d])", Route::Sft),
            ("rl train --world \"$DATA_PATH\"", Route::Grpo),
            ("GRPOTrainer(reward_funcs=[f]).train()", Route::Grpo),
            ("adv = advantages(r, group)\nloss.backward()\nopt.step()", Route::Grpo),
            ("DPOTrainer(m)", Route::Dpo),
            ("l = -F.logsigmoid(beta * (chosen - rejected))\nl.backward()\nopt.step()", Route::Dpo),
            ("ORPOTrainer(m)", Route::KtoOrpo),
            ("PPOTrainer(m)", Route::Ppo),
            ("rl merge --model a --model b", Route::Merge),
            ("w = slerp(a, b, 0.5)", Route::Merge),
            ("loss.backward()\nopt.step()", Route::Other),
        ] {
            assert_eq!(of(text), [route], "{text}");
        }
    }

    #[test]
    fn what_only_looks_like_a_way_of_training_shows_none() {
        for text in [
            "# SFTTrainer\nprint('hello')",
            "\"\"\"GRPOTrainer would be next.\"\"\"",
            "model = model.merge_and_unload()",
            "rl eval --world d",
            "labels = read()",
            "curl trainers",
            "chosen = pick(rejected)",
        ] {
            assert_eq!(of(text), [], "{text}");
        }
        assert!(in_code([("notes.md", "SFTTrainer")]).is_empty(), "notes are no code");
        assert!(in_code([("log.txt", "SFTTrainer")]).is_empty());
    }

    #[test]
    fn imitation_of_kept_successes_is_rft_and_counting_them_is_not() {
        let sft = "SFTTrainer(model, data).train()\n";
        let kept = "for answer in model.generate(x):\n    if passed(answer):\n        data.append(answer)\n";
        assert!(of(&format!("{kept}{sft}")).contains(&Route::Rft));
        let comprehension = "data = [a for a in model.generate(x) if verified(a)]\n";
        assert!(of(&format!("{comprehension}{sft}")).contains(&Route::Rft));
        let counted =
            "for answer in model.generate(x):\n    if passed(answer):\n        count += 1\n";
        assert_eq!(of(&format!("{counted}{sft}")), [Route::Sft]);
        assert_eq!(of(kept), [], "nothing is trained");
        let files = [("collect.py", kept), ("train.py", sft)];
        assert!(in_code(files).contains(&Route::Rft), "over two files");
    }

    #[test]
    fn words_of_an_agent_name_what_stands_first() {
        assert_eq!(in_words("GRPO, 10 updates after SFT"), Some(Route::Grpo));
        assert_eq!(in_words("merged two SFT models"), Some(Route::Merge));
        assert_eq!(in_words("RFT, round 2"), Some(Route::Rft));
        assert_eq!(in_words("a shift of rates"), None);
        assert_eq!(in_words(""), None);
    }

    #[test]
    fn key_lines_name_file_and_line() {
        let text = "import x\n# SFTTrainer\nlr = 2e-5\nSFTTrainer(m).train()\n";
        let found = key_lines([("a/train.py", text)], Route::Sft);
        assert_eq!(found, ["a/train.py:3: lr = 2e-5", "a/train.py:4: SFTTrainer(m).train()"]);
    }
}
