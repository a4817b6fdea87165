//! `instructions.md`: what an agent is told.

use crate::agents::Mode;
use crate::gateway::Caps;
use crate::ledger::{Protocol, SubmissionLimits};
use std::fmt::Write as _;
use tasks::units::Span;
use worlds::TaskSpec;

/// What `instructions.md` is written from.
#[derive(Debug, Clone)]
pub struct Instructions<'a> {
    /// The task, without its seed.
    pub task: &'a TaskSpec,
    /// The name of the base.
    pub base: &'a str,
    /// The mode.
    pub mode: Mode,
    /// What submissions are scored on.
    pub protocol: Protocol,
    /// The agent's time.
    pub budget: Span,
    /// Whether the time stands still while a submission is graded.
    pub is_paused: bool,
    /// How often it may submit.
    pub limits: SubmissionLimits,
    /// Programs on the path.
    pub has_rl: bool,
    /// What it may take from chat models; none for an agent that asks none.
    pub chat: Option<Caps>,
}

impl Instructions<'_> {
    /// The text.
    pub fn text(&self) -> String {
        let Self { task, base, mode, budget, .. } = self;
        let mut text = String::new();
        let scored = match self.protocol {
            Protocol::Sealed => format!(
                "Submissions are scored on {} hidden items. After the end the base, your best \
                 submission and your last one are scored on {} other hidden items, once. That is the \
                 result.",
                task.items.dev, task.items.test
            ),
            Protocol::Paper => format!(
                "Submissions are scored on {} hidden items. The best one counts.",
                task.items.test
            ),
        };
        let clock = if self.is_paused { "stands still" } else { "runs on" };
        let rest = if self.is_paused { ", as you do" } else { "" };
        let submissions = self.limits.submissions.map_or_else(
            || "as often as you like".to_owned(),
            |most| format!("at most {most} times"),
        );
        let share = self.limits.grading_share.map_or_else(String::new, |share| {
            format!(" All gradings together may take {share} of your time.")
        });
        let _ = write!(
            text,
            "# Instructions\n\n\
             Make the base model `{base}` better at the task `{}`, which `description.md` describes. You \
             have {}, and the time {clock} while a submission is graded{rest}.\n\n\
             ## What counts\n\n{scored} A run without a valid submission has the score {}.\n\n\
             Mode: **{mode}**. {}\n\n",
            task.id,
            budget.in_words(),
            task.failure_score,
            mode.rule()
        );
        text += "## The loop\n\n\
                 Read the task and its data, train, save the model below `output/`, submit it, look at the \
                 score, adjust. Submit something early: the base itself shows whether the way works. \
                 `timer` prints what is left of your time, and `GET /v1/time` says it in JSON. When the time \
                 is over, every process of yours gets SIGTERM, and ten seconds later SIGKILL.\n\n\
                 If a submission is answered `busy`, your own training holds the device that grading needs. \
                 That counts for nothing: free the device and submit again.\n\n";
        text += "## Where things are\n\n\
                 | path | variable | what |\n| --- | --- | --- |\n\
                 | `code/` | | yours; you start here, and it is kept at every submission |\n\
                 | `output/` | `OUTPUT_DIR` | yours, for models |\n\
                 | `reports/` | | yours, for what you want to say, such as `reports/summary.md` |\n\
                 ";
        text += if self.mode == Mode::Multi {
            "| `data/` | `DATA_PATH` | a folder for each task, with its training items, in `data/TASK/public/` |\n"
        } else {
            "| `data/` | `DATA_PATH` | the task with its training items, in `data/public/` |\n"
        };
        let _ =
            writeln!(text, "| `models/{base}` | `MODEL_PATH` | the base, named in `BASE_MODEL` |");
        text += "| `views/` | | `scores.json` and `run_meta.json`, written by the server and never read by it |\n\
                 | | `WORKSPACE` | the folder with all of these |\n\
                 | | `TOOLBOX` | programs, each with `--help` |\n\n\
                 Only `code/`, `output/`, `reports/` and `/tmp` can be written to; `/tmp` is memory.\n\n";
        if self.has_rl {
            let task = if self.mode == Mode::Multi { "$DATA_PATH/TASK" } else { "$DATA_PATH" };
            let mut programs = String::new();
            programs += "`rl sft --world \"$DATA_PATH\"` imitates an expert on the training items, `rl sft --data` \
                     your own examples, `rl sample --world \"$DATA_PATH\"` makes examples of a policy's own \
                     answers with their rewards, `rl eval --world \"$DATA_PATH\" --part train` plays training \
                     items, `rl schema sft` lists every setting.";
            if mode.refused_commands().is_none() {
                programs += " `rl train --world \"$DATA_PATH\"` reinforces by the task's reward, `rl prefer \
                             --data` learns from pairs of answers.";
            }
            text += &programs.replace("$DATA_PATH", task);
            text += "\n\n";
        }
        text += &self.chat.map(chat).unwrap_or_default();
        let _ = write!(
            text,
            "## Submitting\n\n\
             `posttrain submit output/step-100 --wait`, or any client:\n\n\
             ```sh\n\
             curl -s \"$GRADING_SERVER_URL/v1/submit\" -H \"Authorization: Bearer $GRADING_TOKEN\" \\\n  \
             -H 'Content-Type: application/json' -d '{{\"model_path\": \"output/step-100\", \"wait\": true}}'\n\
             ```\n\n\
             You may submit {submissions}.{share} `GET /v1/submissions` has all of them and the best, \
             `GET /v1/task` the task.\n\n"
        );
        text += "A submission is a folder below `output/`: a whole model (`config.json` and `*.safetensors`, of \
                 the base's shape), or a LoRA adapter as PEFT writes it, which the server merges. Weights alone \
                 count: the base's tokenizer and chat template are used. A submission with the base's weights \
                 has the base's score. Do not copy the base into `code/`.\n\n\
                 ## What is forbidden\n\n\
                 Training on the items that are hidden, by whatever way you come to them. Weights of other \
                 models. Leaving the workspace, or interfering with the server. The hosts of the network cannot \
                 be reached.\n\n\
                 ## What is recorded\n\n\
                 Every submission with its time, hash and score; `code/` at each of them; what you print; uses of \
                 `rl`, with their settings and losses.\n";
        text
    }
}

/// How chat models are asked.
fn chat(caps: Caps) -> String {
    let limit = match (caps.tokens, caps.cost) {
        (None, None) => String::new(),
        (Some(tokens), None) => {
            format!(" You may take {tokens} tokens, read and written together.")
        }
        (None, Some(cost)) => format!(" They may cost {cost}."),
        (Some(tokens), Some(cost)) => {
            format!(" You may take {tokens} tokens, read and written together, for at most {cost}.")
        }
    };
    format!(
        "## Chat models\n\n\
         `CHAT_MODEL` names a chat model that you may ask, and `GET $OPENAI_BASE_URL/models` lists all. \
         `CHAT_PROTOCOL` says whether it speaks OpenAI's protocol (`OPENAI_BASE_URL`, `OPENAI_API_KEY`) or \
         Anthropic's (`ANTHROPIC_BASE_URL`, `ANTHROPIC_API_KEY`); the key is a token of this run.{limit} A \
         request beyond that is answered with status 429, and says what is left.\n\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const TASK: &str = r#"
id = "household"
level = 3
world = "household"
kind = "interactive"
direction = "higher"
failure_score = 0.0
objective = "Carry out an errand."
output = "one action a line"
turns = 25
turn_tokens = 16
context = 1536
sampling = { temperature = 0.0 }
score = { metric = "success", threshold = 0.0 }
items = { train = 400, dev = 60, test = 134 }
audit = { forbidden = [] }
source = { kind = "generated", seed = 4711, version = 1, scale = "tiny" }
"#;

    fn text(mode: Mode, protocol: Protocol) -> String {
        let spec = TaskSpec::from_toml(TASK).unwrap();
        let limits = SubmissionLimits {
            submissions: Some(200),
            refusals: 1_000,
            grading_share: Some(0.5),
            waiting: 8,
        };
        let instructions = Instructions {
            task: &spec,
            base: "tiny-base",
            mode,
            protocol,
            budget: Span::seconds(600),
            is_paused: true,
            limits,
            has_rl: true,
            chat: (mode == Mode::Free).then_some(Caps { tokens: Some(70_000), cost: None }),
        };
        instructions.text()
    }

    #[test]
    fn instructions_of_several_tasks_name_a_folder_for_each() {
        let several = text(Mode::Multi, Protocol::Sealed);
        assert!(several.contains("`rl sft --world \"$DATA_PATH/TASK\"`"), "{several}");
        assert!(several.contains("`data/TASK/public/`"), "{several}");
        assert!(several.contains("the mean of its scores"), "{several}");
        let free = text(Mode::Free, Protocol::Sealed);
        assert!(!free.contains("/TASK"), "{free}");
        assert!(free.contains("You may take 70000 tokens"), "{free}");
        assert!(!several.contains("CHAT_MODEL"), "it asks none");
    }

    #[test]
    fn instructions_say_what_the_protocol_and_the_mode_mean_and_never_the_seed() {
        let sealed = text(Mode::SftOnly, Protocol::Sealed);
        assert!(sealed.contains("scored on 60 hidden items"), "{sealed}");
        assert!(sealed.contains("134 other hidden items"), "{sealed}");
        assert!(sealed.contains("`rl train` and `rl prefer` are refused"), "{sealed}");
        assert!(!sealed.contains("`rl train --world"), "{sealed}");
        assert!(!sealed.contains("rl prefer --data"), "{sealed}");
        assert!(sealed.contains("`rl sample --world") && sealed.contains("`rl schema"), "{sealed}");
        assert!(!sealed.contains("4711"), "{sealed}");
        let paper = text(Mode::RlOriented, Protocol::Paper);
        assert!(paper.contains("scored on 134 hidden items. The best one counts"), "{paper}");
        assert!(paper.contains("`rl train --world"), "{paper}");
    }
}
