"""The reference side of the model tests: transformers on random weights.

reference.py make FOLDER            tiny random checkpoints, their logits, answers and gradients
reference.py logits FOLDER...       logits of somebody else's checkpoints on the same ids
reference.py adapters BASE FOLDER   logits of somebody else's adapters on the same ids
reference.py tokens FOLDER...       conversations in somebody else's layout, as text and ids
"""

import json
import sys
from pathlib import Path

try:
    import torch
    from peft import LoraConfig, PeftModel, get_peft_model
    from safetensors.torch import save_file
    from transformers import (
        AutoModelForCausalLM,
        AutoTokenizer,
        Qwen2Config,
        Qwen2ForCausalLM,
        Qwen3Config,
        Qwen3ForCausalLM,
        Qwen3MoeConfig,
        Qwen3MoeForCausalLM,
    )
except ImportError as error:
    sys.exit(f"the reference environment is incomplete: {error}")

YARN = dict(rope_type="yarn", factor=4.0, original_max_position_embeddings=32)
DENSE = {
    "tied": dict(num_attention_heads=4, num_key_value_heads=2, head_dim=16, tie_word_embeddings=True),
    "untied": dict(num_attention_heads=4, num_key_value_heads=4, head_dim=8, tie_word_embeddings=False),
    "one-key-head": dict(num_attention_heads=6, num_key_value_heads=1, head_dim=10, tie_word_embeddings=True),
    "wide-heads": dict(num_attention_heads=2, num_key_value_heads=1, head_dim=64, tie_word_embeddings=False),
    "deep": dict(
        num_attention_heads=4, num_key_value_heads=2, head_dim=8, num_hidden_layers=7, rms_norm_eps=1e-5
    ),
    "yarn": dict(num_attention_heads=4, num_key_value_heads=2, head_dim=16, rope_parameters=YARN),
    "linear-rope": dict(
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=16,
        rope_parameters=dict(rope_type="linear", factor=2.0),
    ),
}
EXPERTS = {
    "experts": dict(
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=8,
        num_experts=8,
        num_experts_per_tok=2,
        moe_intermediate_size=24,
        norm_topk_prob=True,
        tie_word_embeddings=False,
    ),
    "some-experts": dict(
        num_attention_heads=4,
        num_key_value_heads=1,
        head_dim=16,
        num_experts=6,
        num_experts_per_tok=3,
        moe_intermediate_size=16,
        norm_topk_prob=False,
        decoder_sparse_step=2,
        mlp_only_layers=[3],
        num_hidden_layers=6,
        rope_parameters=YARN,
    ),
}
QWEN2 = {
    "qwen2-tied": dict(num_attention_heads=4, num_key_value_heads=2, tie_word_embeddings=True),
    "qwen2-untied": dict(
        num_attention_heads=2, num_key_value_heads=1, tie_word_embeddings=False, num_hidden_layers=5
    ),
    "qwen2-yarn": dict(num_attention_heads=4, num_key_value_heads=1, rope_parameters=YARN),
}
CASES = DENSE | EXPERTS | QWEN2
IDS = [(7 * i * i + 3 * i + 1) % 97 for i in range(40)]
# Four lengths of five, so that each length is one batch without padding.
PROMPTS = [[(11 * i * i + 5 * i * j + 3 * j + 2) % 95 for i in range(5 + 6 * (j % 4))] for j in range(20)]
ANSWER = 64
END = [95, 96]


def checkpoint(name: str, index: int):
    """A model whose gains and matrices are far enough from their usual start to show a mistake."""
    torch.manual_seed(index)
    shape = CASES[name]
    shape = dict(num_hidden_layers=3, rope_parameters={"rope_type": "default"}) | shape
    shape["rope_parameters"] = {"rope_theta": 1e4 * (index + 1)} | shape["rope_parameters"]
    if name in EXPERTS:
        kind, model = Qwen3MoeConfig, Qwen3MoeForCausalLM
    elif name in QWEN2:
        kind, model = Qwen2Config, Qwen2ForCausalLM
    else:
        kind, model = Qwen3Config, Qwen3ForCausalLM
    config = kind(
        vocab_size=97,
        hidden_size=32,
        intermediate_size=56,
        max_position_embeddings=128,
        eos_token_id=END,
        **shape,
    )
    model = model(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.randn_like(parameter) * 0.3 + (1.0 if parameter.dim() == 1 else 0.0))
    return model


def make(folder: Path) -> None:
    for index, name in enumerate(CASES):
        model = checkpoint(name, index)
        case = folder / name
        # One case is written in shards, as large models are.
        model.save_pretrained(case, max_shard_size="20KB" if name.endswith("untied") else "5GB")
        if name in QWEN2:
            as_released(case / "config.json")
        write_logits(model, case / "logits.safetensors")
        answers = greedy(model)
        (case / "greedy.json").write_text(json.dumps(answers))
        (case / "certain.json").write_text(json.dumps(certain(model, answers)))
        write_gradients(model, case / "gradients.safetensors")
        write_logits(model.to(torch.bfloat16), case / "logits-bf16.safetensors")
    for base in ("tied", "qwen2-tied"):
        make_adapters(folder / base, folder / f"{base}-adapters")
    (folder / "ids.json").write_text(json.dumps(IDS))
    (folder / "prompts.json").write_text(json.dumps(PROMPTS))


def as_released(path: Path) -> None:
    """Gives a configuration of Qwen2 the keys of the release, which is older than transformers 5."""
    config = json.loads(path.read_text())
    rope = config.pop("rope_parameters")
    released = {key: value for key, value in config.items() if key != "layer_types"}
    released |= {
        "rope_theta": rope.pop("rope_theta"),
        "sliding_window": 131072,
        "torch_dtype": released.pop("dtype"),
        "transformers_version": "4.43.1",
        "use_sliding_window": False,
    }
    if rope["rope_type"] != "default":
        released["rope_scaling"] = {"type": rope.pop("rope_type")} | rope
    path.write_text(json.dumps(released))


def make_adapters(base: Path, folder: Path) -> None:
    torch.manual_seed(100)
    settings = LoraConfig(
        r=3, lora_alpha=5, target_modules=["q_proj", "v_proj", "down_proj"], task_type="CAUSAL_LM"
    )
    model = get_peft_model(AutoModelForCausalLM.from_pretrained(base, dtype=torch.float32), settings).eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "lora_" in name:
                parameter.copy_(torch.randn_like(parameter) * 0.3)
    model.save_pretrained(folder)
    write_logits(model, folder / "logits.safetensors")
    prefix = "base_model.model."
    write_gradients(
        model,
        folder / "gradients.safetensors",
        lambda name: name.removeprefix(prefix).replace(".default", ""),
    )


def adapters(base: Path, folder: Path) -> None:
    model = AutoModelForCausalLM.from_pretrained(base, dtype=torch.float32)
    write_logits(PeftModel.from_pretrained(model, folder).eval(), folder / "logits.safetensors")


def greedy(model) -> list[list[int]]:
    """The most likely continuation of every prompt, up to and with a token that ends it."""
    answers = {}
    for length in {len(prompt) for prompt in PROMPTS}:
        rows = [index for index, prompt in enumerate(PROMPTS) if len(prompt) == length]
        ids = torch.tensor([PROMPTS[row] for row in rows])
        with torch.no_grad():
            # Without a mask, every 0 of a prompt would be taken for padding.
            out = model.generate(
                ids,
                attention_mask=torch.ones_like(ids),
                do_sample=False,
                max_new_tokens=ANSWER,
                eos_token_id=END,
                pad_token_id=0,
            )
        for row, ids in zip(rows, out[:, length:].tolist(), strict=True):
            end = next((place + 1 for place, id in enumerate(ids) if id in END), len(ids))
            answers[row] = ids[:end]
    return [answers[row] for row in range(len(PROMPTS))]


def certain(model, answers: list[list[int]]) -> list[int]:
    """How many tokens of each answer do not hang on rounding, which differs between processors: up
    to the first where the two likeliest tokens, or an expert that is asked and one that is not,
    are as good as tied."""
    routed = hasattr(model.config, "num_experts_per_tok")
    counts = []
    for prompt, answer in zip(PROMPTS, answers, strict=True):
        with torch.no_grad():
            extra = {"output_router_logits": True} if routed else {}
            out = model(torch.tensor([prompt + answer[:-1]]), use_cache=False, **extra)
        first, second = out.logits[0].topk(2).values.T
        tied = first - second < 2e-4
        for router in out.router_logits if routed else ():
            ranked = router.softmax(-1).sort(-1, descending=True).values
            asked = model.config.num_experts_per_tok
            if asked < ranked.shape[-1]:
                # A tie in a prompt counts for the whole answer.
                tied |= (ranked[:, asked - 1] - ranked[:, asked] < 1e-6).cumsum(0) > 0
        tied = tied[len(prompt) - 1 :].tolist()
        counts.append(tied.index(True) if True in tied else len(answer))
    return counts


def write_logits(model, path: Path) -> None:
    with torch.no_grad():
        logits = model(torch.tensor([IDS])).logits[0].float().contiguous()
    save_file({"logits": logits}, path)


def write_gradients(model, path: Path, rename=lambda name: name) -> None:
    """Of the mean negative log-likelihood of ids 20 to 39, with projections joined as ours are."""
    logits = model(torch.tensor([IDS])).logits[0]
    torch.nn.functional.cross_entropy(logits[19:39], torch.tensor(IDS[20:])).backward()
    named = model.named_parameters()
    found = {rename(name): parameter.grad for name, parameter in named if parameter.grad is not None}
    joined = {}
    for name, gradient in found.items():
        place, _, part = name.rpartition(".")
        if place.endswith((".k_proj", ".v_proj", ".up_proj")) and "experts" not in place:
            continue
        if place.endswith(".q_proj"):
            stem = place.removesuffix("q_proj")
            joined[f"{stem}qkv_proj.{part}"] = torch.cat([found[f"{stem}{x}_proj.{part}"] for x in "qkv"])
        elif name.endswith(".gate_proj.weight"):
            stem = name.removesuffix("gate_proj.weight")
            joined[f"{stem}gate_up_proj.weight"] = torch.cat([gradient, found[f"{stem}up_proj.weight"]])
        else:
            joined[name if name.endswith((".weight", ".bias")) else f"{name}.weight"] = gradient
    save_file({name: gradient.contiguous() for name, gradient in joined.items()}, path)
    model.zero_grad()


def logits(*folders: Path) -> None:
    for folder in folders:
        model, report = AutoModelForCausalLM.from_pretrained(
            folder, dtype=torch.float32, output_loading_info=True
        )
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
            answers.append(
                {
                    "text": tokenizer.apply_chat_template(case["messages"], tokenize=False, **options),
                    "ids": tokenizer.apply_chat_template(
                        case["messages"], tokenize=True, return_dict=False, **options
                    ),
                }
            )
        (folder / "answers.json").write_text(json.dumps(answers))


if __name__ == "__main__":
    command, *paths = sys.argv[1:]
    {"make": make, "logits": logits, "adapters": adapters, "tokens": tokens}[command](*map(Path, paths))
