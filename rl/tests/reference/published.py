"""Stand-ins for models of the hub, with all their files and names, narrow and untrained.

published.py CACHE NAME    writes CACHE/models--Qwen--NAME as `hf download` leaves it; NAME is
                           Qwen3-8B, Qwen2.5-7B or Qwen2.5-7B-Instruct

Ids of control tokens are the published ones. So is the size of the vocabulary; all but its bytes
and a few hundred merges are fillers that no text has.
"""

import hashlib
import json
import shutil
import sys
from pathlib import Path

try:
    import torch
    from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers
    from transformers import Qwen2Config, Qwen2ForCausalLM, Qwen3Config, Qwen3ForCausalLM
except ImportError as error:
    sys.exit(f"the reference environment is incomplete: {error}")

# What `config.json` of Qwen3-8B says, with other widths.
CONFIG = {
    "architectures": ["Qwen3ForCausalLM"],
    "attention_bias": False,
    "attention_dropout": 0.0,
    "bos_token_id": 151643,
    "eos_token_id": 151645,
    "head_dim": 16,
    "hidden_act": "silu",
    "hidden_size": 64,
    "initializer_range": 0.02,
    "intermediate_size": 192,
    "max_position_embeddings": 40960,
    "max_window_layers": 36,
    "model_type": "qwen3",
    "num_attention_heads": 4,
    "num_hidden_layers": 36,
    "num_key_value_heads": 1,
    "rms_norm_eps": 1e-06,
    "rope_scaling": None,
    "rope_theta": 1000000,
    "sliding_window": None,
    "tie_word_embeddings": False,
    "torch_dtype": "bfloat16",
    "transformers_version": "4.51.0",
    "use_cache": True,
    "use_sliding_window": False,
    "vocab_size": 151936,
}
# The same of Qwen2.5-7B-Instruct; the base model differs in the lines below.
QWEN2_5 = {
    "architectures": ["Qwen2ForCausalLM"],
    "attention_dropout": 0.0,
    "bos_token_id": 151643,
    "eos_token_id": 151645,
    "hidden_act": "silu",
    "hidden_size": 64,
    "initializer_range": 0.02,
    "intermediate_size": 192,
    "max_position_embeddings": 32768,
    "max_window_layers": 28,
    "model_type": "qwen2",
    "num_attention_heads": 4,
    "num_hidden_layers": 28,
    "num_key_value_heads": 2,
    "rms_norm_eps": 1e-06,
    "rope_theta": 1000000.0,
    "sliding_window": 131072,
    "tie_word_embeddings": False,
    "torch_dtype": "bfloat16",
    "transformers_version": "4.43.1",
    "use_cache": True,
    "use_sliding_window": False,
    "vocab_size": 152064,
}
QWEN2_5_BASE = QWEN2_5 | {
    "eos_token_id": 151643,
    "max_position_embeddings": 131072,
    "transformers_version": "4.40.1",
    "use_mrope": False,
}
GENERATION = {
    "bos_token_id": 151643,
    "do_sample": True,
    "eos_token_id": [151645, 151643],
    "pad_token_id": 151643,
    "temperature": 0.6,
    "top_k": 20,
    "top_p": 0.95,
    "transformers_version": "4.51.0",
}
MODELS = {"Qwen3-8B": CONFIG, "Qwen2.5-7B": QWEN2_5_BASE, "Qwen2.5-7B-Instruct": QWEN2_5}
WORDS = 151643
CONTROL = (
    "<|endoftext|> <|im_start|> <|im_end|> <|object_ref_start|> <|object_ref_end|> <|box_start|> "
    "<|box_end|> <|quad_start|> <|quad_end|> <|vision_start|> <|vision_end|> <|vision_pad|> "
    "<|image_pad|> <|video_pad|>"
).split()
MARKS = (
    "<tool_call> </tool_call> <|fim_prefix|> <|fim_middle|> <|fim_suffix|> <|fim_pad|> <|repo_name|> "
    "<|file_sep|> <tool_response> </tool_response> <think> </think>"
).split()
PIECES = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)


def write_model(folder: Path, name: str) -> None:
    torch.manual_seed(0)
    config = MODELS[name]
    if config["model_type"] == "qwen2":
        model = Qwen2ForCausalLM(Qwen2Config(**config)).to(torch.bfloat16)
        with torch.no_grad():
            for key, parameter in model.named_parameters():
                if key.endswith(".bias"):
                    parameter.normal_(0.0, 0.1)
    else:
        model = Qwen3ForCausalLM(Qwen3Config(**config)).to(torch.bfloat16)
    size = sum(parameter.numel() * 2 for parameter in model.parameters())
    # Embeddings and the output layer are most of it, and a shard each.
    model.save_pretrained(folder, max_shard_size=size // 3)
    (folder / "config.json").write_text(json.dumps(config, indent=2))
    (folder / "generation_config.json").write_text(json.dumps(GENERATION, indent=2))


def write_tokenizer(folder: Path, name: str) -> None:
    is_qwen2 = MODELS[name]["model_type"] == "qwen2"
    # Those of the release before Qwen3, which brought the last four.
    marks = MARKS[:-4] if is_qwen2 else MARKS
    here = Path(__file__)
    split = pre_tokenizers.Split(Regex(PIECES), "isolated")
    before = pre_tokenizers.Sequence(
        [split, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]
    )
    learnt = Tokenizer(models.BPE())
    learnt.pre_tokenizer = before
    trainer = trainers.BpeTrainer(
        vocab_size=600, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False
    )
    learnt.train_from_iterator([here.read_text()], trainer)
    model = json.loads(learnt.to_str())["model"]
    vocab = model["vocab"] | {f"[filler {index}]": index for index in range(len(model["vocab"]), WORDS)}
    merges = [tuple(merge) for merge in model["merges"]]

    tokenizer = Tokenizer(models.BPE(vocab=vocab, merges=merges))
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = before
    tokenizer.decoder = decoders.ByteLevel()
    whole = json.loads(tokenizer.to_str())
    whole["added_tokens"] = [
        {
            "id": WORDS + place,
            "content": content,
            "single_word": False,
            "lstrip": False,
            "rstrip": False,
            "normalized": False,
            "special": content in CONTROL,
        }
        for place, content in enumerate(CONTROL + marks)
    ]
    (folder / "tokenizer.json").write_text(json.dumps(whole, ensure_ascii=False))
    (folder / "vocab.json").write_text(json.dumps(vocab, ensure_ascii=False))
    (folder / "merges.txt").write_text("".join(f"{left} {right}\n" for left, right in merges))
    decoder = {str(token.pop("id")): token for token in whole["added_tokens"]}
    config = {
        "add_bos_token": False,
        "add_prefix_space": False,
        "added_tokens_decoder": decoder,
        "additional_special_tokens": CONTROL[1:],
        "bos_token": None,
        "chat_template": (here.parent / ("qwen2_5.jinja" if is_qwen2 else "thinking.jinja")).read_text(),
        "clean_up_tokenization_spaces": False,
        "eos_token": "<|endoftext|>" if name == "Qwen2.5-7B" else "<|im_end|>",
        "errors": "replace",
        "model_max_length": 131072,
        "pad_token": "<|endoftext|>",
        "split_special_tokens": False,
        "tokenizer_class": "Qwen2Tokenizer",
        "unk_token": None,
    }
    (folder / "tokenizer_config.json").write_text(json.dumps(config, ensure_ascii=False))


def download(files: Path, repository: Path) -> None:
    """Moves files to where a download puts them: blobs by their hash, and links to them."""
    snapshot = repository / "snapshots" / "b968826d9c46dd6066d109eabc6255188de91218"
    blobs = repository / "blobs"
    for folder in (snapshot, blobs, repository / "refs"):
        folder.mkdir(parents=True)
    for file in files.iterdir():
        blob = hashlib.sha256(file.read_bytes()).hexdigest()
        shutil.move(file, blobs / blob)
        (snapshot / file.name).symlink_to(Path("../../blobs") / blob)
    (repository / "refs" / "main").write_text(snapshot.name)


if __name__ == "__main__":
    cache, name = Path(sys.argv[1]), sys.argv[2]
    made = cache / "made"
    made.mkdir(parents=True)
    write_model(made, name)
    write_tokenizer(made, name)
    (made / "LICENSE").write_text("Apache License 2.0, of the model that this stands in for.\n")
    (made / "README.md").write_text("Random weights.\n")
    download(made, cache / f"models--Qwen--{name}")
    made.rmdir()
