"""The reference side of the model tests: transformers on random weights.

    reference.py make FOLDER            tiny random checkpoints, their logits and greedy answers
    reference.py logits FOLDER...       logits of somebody else's checkpoints on the same ids
    reference.py tokens FOLDER...       conversations in somebody else's layout, as text and ids
"""

import json
import sys
from pathlib import Path

try:
    import torch
    from safetensors.torch import save_file
    from transformers import AutoModelForCausalLM, AutoTokenizer, Qwen3Config, Qwen3ForCausalLM
except ImportError as error:
    sys.exit(f"the reference environment is incomplete: {error}")

CASES = {
    "tied": dict(num_attention_heads=4, num_key_value_heads=2, head_dim=16, tie_word_embeddings=True),
    "untied": dict(num_attention_heads=4, num_key_value_heads=4, head_dim=8, tie_word_embeddings=False),
    "one-key-head": dict(num_attention_heads=6, num_key_value_heads=1, head_dim=10, tie_word_embeddings=True),
    "wide-heads": dict(num_attention_heads=2, num_key_value_heads=1, head_dim=64, tie_word_embeddings=False),
}
IDS = [(7 * i * i + 3 * i + 1) % 97 for i in range(40)]


def make(folder: Path) -> None:
    for index, (name, shape) in enumerate(CASES.items()):
        torch.manual_seed(index)
        config = Qwen3Config(
            vocab_size=97, hidden_size=32, intermediate_size=56, num_hidden_layers=3,
            max_position_embeddings=128, rope_parameters={"rope_theta": 1e4 * (index + 1), "rope_type": "default"},
            eos_token_id=[95, 96], **shape,
        )
        model = Qwen3ForCausalLM(config).eval()
        # Fresh gains are all one and fresh matrices are small: neither would show a mistake.
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.copy_(torch.randn_like(parameter) * 0.3 + (1.0 if parameter.dim() == 1 else 0.0))
        case = folder / name
        # The second case is written in shards, as large models are.
        model.save_pretrained(case, max_shard_size="20KB" if name == "untied" else "5GB")
        write_logits(model, case / "logits.safetensors")
        with torch.no_grad():
            greedy = model.generate(
                torch.tensor([IDS[:9]]), do_sample=False, max_new_tokens=24, eos_token_id=[95, 96], pad_token_id=0
            )
        (case / "greedy.json").write_text(json.dumps(greedy[0, 9:].tolist()))
    (folder / "ids.json").write_text(json.dumps(IDS))


def write_logits(model, path: Path) -> None:
    with torch.no_grad():
        logits = model(torch.tensor([IDS])).logits[0].float().contiguous()
    save_file({"logits": logits}, path)


def logits(*folders: Path) -> None:
    for folder in folders:
        model, report = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, output_loading_info=True)
        for kind in ("missing_keys", "unexpected_keys", "mismatched_keys"):
            if report[kind]:
                sys.exit(f"{kind}: {report[kind]}")
        write_logits(model.eval(), folder / "logits.safetensors")


def tokens(*folders: Path) -> None:
    for folder in folders:
        tokenizer = AutoTokenizer.from_pretrained(folder)
        answers = []
        for case in json.loads((folder / "conversations.json").read_text()):
            options = dict(tools=case["tools"] or None, add_generation_prompt=True)
            if case["thinking"] is not None:
                options["enable_thinking"] = case["thinking"]
            answers.append({
                "text": tokenizer.apply_chat_template(case["messages"], tokenize=False, **options),
                "ids": tokenizer.apply_chat_template(case["messages"], tokenize=True, return_dict=False, **options),
            })
        (folder / "answers.json").write_text(json.dumps(answers))


if __name__ == "__main__":
    command, *paths = sys.argv[1:]
    {"make": make, "logits": logits, "tokens": tokens}[command](*map(Path, paths))
