"""GRPO with TRL on the tasks of `sandbox serve`, under the rules of `rl train`: turns are read by the same
grammar, and trained as the tokens that were sampled. For `scripts/trl_beside_us.sh`.

    sandbox serve CORPUS &
    python scripts/trl_rollout/grpo.py --model CHECKPOINT --demonstrations SFT/demonstrations.jsonl \
        --output_dir OUT --gradient_checkpointing false

Tasks, and the messages that open an episode, are those of the demonstrations that `rl sft` leaves. The other
flags are those of GRPOConfig; `--max_completion_length` is the length of a turn. Needs trl and websockets.
"""

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import torch
from datasets import Dataset
from episode import Episode
from transformers import AutoTokenizer
from trl import GRPOConfig, GRPOTrainer, TrlParser


@dataclass
class Options:
    model: str = field(metadata={"help": "folder of a checkpoint"})
    demonstrations: str = field(metadata={"help": "`demonstrations.jsonl` of a run of `rl sft`"})
    url: str = field(default="ws://127.0.0.1:8765/ws", metadata={"help": "address of the server"})
    context: int = field(default=1536, metadata={"help": "most tokens of a conversation"})


def openings(path):
    """The messages that open an episode, by task."""
    found = {}
    with open(path) as lines:
        for trajectory in map(json.loads, lines):
            texts = [part["text"] for part in trajectory["segments"] if part["source"] == "prompt"]
            found[trajectory["task"]] = [
                {"role": role, "content": text} for role, text in zip(("system", "user"), texts, strict=True)
            ]
    return found


def generate(trainer, contexts):
    """A sampled turn for each context, up to and with the token that ends it."""
    batch = trainer.processing_class.pad({"input_ids": contexts}, return_tensors="pt")
    model, end = trainer.accelerator.unwrap_model(trainer.model), trainer.processing_class.eos_token_id
    with torch.no_grad():
        rows = model.generate(**batch.to(model.device), generation_config=trainer.generation_config)
    turns = rows[:, batch["input_ids"].shape[1] :].tolist()
    return [turn[: turn.index(end) + 1] if end in turn else turn for turn in turns]


def main():
    options, config = TrlParser((Options, GRPOConfig)).parse_args_and_config()
    if config.gradient_checkpointing:
        raise SystemExit(
            "error: with gradient checkpointing, generation fails; add --gradient_checkpointing false"
        )
    messages = openings(options.demonstrations)

    def rollout(tasks, trainer):
        def start(task):
            return Episode(options.url, trainer.processing_class, options.context, task, messages[task])

        with ThreadPoolExecutor(len(tasks)) as pool:
            episodes = list(pool.map(start, tasks))
            while playing := [episode for episode in episodes if not episode.done]:
                turns = generate(trainer, [episode.prompt + episode.completion for episode in playing])
                list(pool.map(Episode.play, playing, turns))
        return {
            "prompt_ids": [episode.prompt for episode in episodes],
            "completion_ids": [episode.completion for episode in episodes],
            "env_mask": [episode.sampled for episode in episodes],
            "logprobs": None,  # TRL computes them where it needs them
            "episode_reward": [episode.reward() for episode in episodes],
        }

    def reward(completions, episode_reward, **_):
        return episode_reward

    trainer = GRPOTrainer(
        model=options.model,
        args=config,
        # A rollout is given prompts alone, and several tasks have the same: names tell them apart.
        train_dataset=Dataset.from_dict({"prompt": sorted(messages)}),
        processing_class=AutoTokenizer.from_pretrained(options.model, padding_side="left"),
        rollout_func=rollout,
        reward_funcs=reward,
    )
    trainer.train()
    trainer.save_model()
    trainer.save_state()


if __name__ == "__main__":
    main()
