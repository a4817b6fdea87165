"""The reference side of the comparison with TRL: its `GRPOTrainer`, unmodified, on a stored batch.

grpo.py FOLDER    reads the checkpoint in FOLDER, `batch.json` and `cases.json`, and writes for every case
                  TRL's advantages and loss as `<case>.json` and its gradients as `<case>.safetensors`

The batch goes in where users put theirs: a `rollout_func` returns its tokens, a reward function its
rewards. Old log-probabilities and those of the reference model, which TRL would compute itself, are
replaced by stored ones, so that ratios are far from 1 and tokens are clipped.
"""

import json
import sys
import tempfile
from pathlib import Path

try:
    import torch
    from datasets import Dataset
    from safetensors.torch import save_file
    from transformers import AutoModelForCausalLM, AutoTokenizer
    from trl import GRPOConfig, GRPOTrainer
except ImportError as error:
    sys.exit(f"the environment is incomplete: {error}; `make venv-trl` makes it anew")


def trainer_of(folder: Path, batch: dict, options: dict, output: str) -> GRPOTrainer:
    rows = batch["trajectories"]

    def rollout(prompts, trainer):
        return {
            "prompt_ids": [row["prompt"] for row in rows],
            "completion_ids": [row["completion"] for row in rows],
            "env_mask": [row["sampled"] for row in rows],
            "logprobs": None,
            "stored_reward": [row["reward"] for row in rows],
        }

    def reward(completions, stored_reward, **_):
        return stored_reward

    config = GRPOConfig(
        output_dir=output,
        per_device_train_batch_size=len(rows),
        per_device_eval_batch_size=len(rows),
        num_generations=batch["group_size"],
        epsilon=batch["epsilon"],
        epsilon_high=batch["epsilon_high"],
        use_cpu=True,
        bf16=False,
        gradient_checkpointing=False,
        report_to="none",
        **options,
    )
    return GRPOTrainer(
        model=AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32),
        processing_class=AutoTokenizer.from_pretrained(folder),
        args=config,
        train_dataset=Dataset.from_dict({"prompt": ["stored"] * len(rows)}),
        rollout_func=rollout,
        reward_funcs=reward,
    )


def spread(rows: list[dict], key: str, kind: torch.dtype) -> torch.Tensor:
    """Values of sampled tokens at their places in the completions: [B, T], 0 elsewhere."""
    found = torch.zeros(len(rows), max(len(row["completion"]) for row in rows), dtype=kind)
    for target, row in zip(found, rows, strict=True):
        sampled = torch.tensor(row["sampled"], dtype=torch.bool)
        target[: len(sampled)][sampled] = torch.tensor(row[key], dtype=kind)
    return found


def differentiate(trainer: GRPOTrainer, rows: list[dict], inputs: dict, kind: torch.dtype):
    """TRL's loss in this type, and the gradient of every parameter by its published name."""
    model = trainer.model.to(kind)
    inputs = {
        **inputs,
        "advantages": inputs["advantages"].to(kind),
        "old_per_token_logps": spread(rows, "sampler", kind),
        "ref_per_token_logps": spread(rows, "reference", kind),
    }
    model.zero_grad()
    loss = trainer.compute_loss(model, inputs)
    loss.backward()
    return loss.item(), {name: parameter.grad.clone() for name, parameter in model.named_parameters()}


def largest(gradients: dict) -> float:
    return max(gradient.abs().max().item() for gradient in gradients.values())


def main(folder: Path) -> None:
    batch = json.loads((folder / "batch.json").read_text())
    rows = batch["trajectories"]
    for case in json.loads((folder / "cases.json").read_text()):
        with tempfile.TemporaryDirectory() as output:
            trainer = trainer_of(folder, batch, case["options"], output)
            # Without gradient accumulation, training and evaluation have the same loss; a call from
            # outside of `train` finds only the latter ready.
            trainer.model.eval()
            inputs = trainer._generate_and_score_completions([{"prompt": "stored"} for _ in rows])
            _, narrow = differentiate(trainer, rows, inputs, torch.float32)
            loss, gradients = differentiate(trainer, rows, inputs, torch.float64)
        rounding = largest({name: narrow[name] - gradients[name] for name in narrow}) / largest(gradients)
        found = {"loss": loss, "advantages": inputs["advantages"].tolist(), "rounding": rounding}
        (folder / f"{case['name']}.json").write_text(json.dumps(found))
        save_file(gradients, folder / f"{case['name']}.safetensors")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
