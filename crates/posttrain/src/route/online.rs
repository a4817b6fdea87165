//! Strict online reinforcement learning: rollouts by the current weights, a reward, a gradient, again.

use super::code::{flat, has_word, is_code, lines, loops};
use super::signs::{SAMPLING, has};

/// Trainers that collect their own rollouts between updates.
const TRAINERS: [&str; 4] = ["GRPOTrainer", "PPOTrainer", "RLOOTrainer", "OnlineDPOTrainer"];
/// What a rollout is judged by.
const REWARD: [&str; 5] = ["reward*", "score*", "passed", "verify*", "success*"];
/// What makes a gradient one of the reward, and not of imitation.
const WEIGHT: [&str; 6] = ["advantage*", "log_prob*", "logprob*", "logp", "ratio", "returns"];

/// Where in these files the loop of strict online reinforcement learning closes, as `path:line`; none if
/// it does not. In one loop, with the functions that it calls, must stand a collection, a reward, and an
/// update whose gradient is weighted by it; or a trainer that does all of that must be started.
pub fn closes_its_loop<'a>(files: impl IntoIterator<Item = (&'a str, &'a str)>) -> Option<String> {
    files.into_iter().filter(|(path, _)| is_code(path)).find_map(|(path, text)| {
        let lines = lines(text);
        let all: Vec<&str> = lines.iter().map(|(_, line)| line.as_str()).collect();
        let is_started = all.iter().any(|line| line.contains(".train("));
        let begins = |(number, line): &(usize, String)| {
            let trains = TRAINERS.iter().any(|name| line.contains(&format!("{name}(")));
            let commands = flat(line).contains(" rl train ");
            ((trains && is_started) || commands).then_some(*number)
        };
        let number = lines.iter().find_map(begins).or_else(|| {
            let closes = |(number, text): (usize, String)| is_closed(&text).then_some(number);
            loops(&lines).into_iter().find_map(closes)
        })?;
        Some(format!("{path}:{number}"))
    })
}

fn is_closed(text: &str) -> bool {
    let flat = flat(text);
    let any = |words: &[&str]| words.iter().any(|word| has(text, &flat, word));
    any(&SAMPLING)
        && any(&REWARD)
        && any(&WEIGHT)
        && text.contains(".backward(")
        && has_word(text, "step")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Option<String> {
        closes_its_loop([("train.py", text)])
    }

    const CLOSED: &str = "def update(batch):\n    loss = -(batch.advantages * log_probs(batch)).mean()\n    \
                          loss.backward()\n    optimizer.step()\n\n\
                          for step in range(100):\n    batch = model.generate(prompts)\n    \
                          batch.reward = judge(batch)\n    update(batch)\n";

    #[test]
    fn loop_with_collection_reward_and_update_is_closed() {
        assert_eq!(at(CLOSED).as_deref(), Some("train.py:6"));
        assert!(at("trainer = GRPOTrainer(m, reward_funcs=[f])\ntrainer.train()").is_some());
        assert!(at("while true; do\n  rl train --world d --out o\ndone").is_some());
    }

    #[test]
    fn loop_that_lacks_one_of_them_is_not_closed() {
        let without = |word: &str, other: &str| at(&CLOSED.replace(word, other));
        assert_eq!(without("model.generate(prompts)", "load(prompts)"), None);
        assert_eq!(without("batch.reward = judge(batch)", "pass"), None);
        assert_eq!(without("loss.backward()", "pass"), None);
        let imitation = CLOSED.replace("batch.advantages * log_probs(batch)", "nll(batch)");
        assert_eq!(at(&imitation), None, "successes are imitated, not weighted");
        // Everything is collected before the first update.
        let apart = "batches = []\nfor p in prompts:\n    b = model.generate(p)\n    b.reward = judge(b)\n    \
                     batches.append(b)\nfor b in batches:\n    loss = -(b.advantage * log_prob(b)).mean()\n    \
                     loss.backward()\n    optimizer.step()\n";
        assert_eq!(at(apart), None);
        assert_eq!(at("GRPOTrainer(m)  # not started"), None);
        assert_eq!(at("# rl train --world d"), None);
    }
}
