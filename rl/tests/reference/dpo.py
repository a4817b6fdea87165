"""The reference side of the comparison with TRL: its `DPOTrainer`, unmodified, on stored pairs.

dpo.py FOLDER    reads the checkpoint in FOLDER, `pairs.json` and `cases.json`, and writes for every case
                 TRL's loss as `<case>.json` and its gradients as `<case>.safetensors`

Log-probabilities of the reference model, which TRL would compute itself, are replaced by stored ones, so
that differences are far from 0.
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
    from trl import DPOConfig, DPOTrainer
    from trl.trainer.dpo_trainer import DataCollatorForPreference
except ImportError as error:
    sys.exit(f"the environment is incomplete: {error}; `make venv-trl` makes it anew")


def trainer_of(folder: Path, options: dict, output: str) -> DPOTrainer:
    config = DPOConfig(
        output_dir=output,
        precompute_ref_log_probs=True,
        use_cpu=True,
        bf16=False,
        gradient_checkpointing=False,
        max_length=None,
        report_to="none",
        **options,
    )
    return DPOTrainer(
        model=AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32),
        processing_class=AutoTokenizer.from_pretrained(folder),
        args=config,
        train_dataset=Dataset.from_dict({"prompt": ["a"], "chosen": ["b"], "rejected": ["c"]}),
    )


def main(folder: Path) -> None:
    rows = json.loads((folder / "pairs.json").read_text())
    for case in json.loads((folder / "cases.json").read_text()):
        with tempfile.TemporaryDirectory() as output:
            trainer = trainer_of(folder, case["options"], output)
            model = trainer.model.to(torch.float64).eval()
            inputs = DataCollatorForPreference(pad_token_id=0)(rows)
            for key in ("ref_chosen_logps", "ref_rejected_logps"):
                inputs[key] = inputs[key].to(torch.float64)
            model.zero_grad()
            loss = trainer.compute_loss(model, inputs)
            loss.backward()
        gradients = {name: parameter.grad.clone() for name, parameter in model.named_parameters()}
        (folder / f"{case['name']}.json").write_text(json.dumps({"loss": loss.item()}))
        save_file(gradients, folder / f"{case['name']}.safetensors")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
