"""Compares what lm-eval got from `rl serve` with transformers on the same checkpoint.

lm_eval_check.py MODEL RESULTS
"""

import json
import sys
from pathlib import Path

try:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer
except ImportError as error:
    sys.exit(f"the reference environment is incomplete: {error}")

MODEL, RESULTS = sys.argv[1], Path(sys.argv[2])
TOLERANCE = 1e-4
STOP, MOST = "e", 24  # as in rl_generate.yaml


def samples(task):
    (path,) = RESULTS.rglob(f"samples_{task}_*.jsonl")
    return [json.loads(line) for line in path.read_text().splitlines()]


def arguments(request):
    """The positional arguments of a logged request: a list, or a dictionary by position."""
    return list(request.values()) if isinstance(request, dict) else request


def main():
    tokenizer = AutoTokenizer.from_pretrained(MODEL)
    model = AutoModelForCausalLM.from_pretrained(MODEL, dtype=torch.float32).eval()

    def encode(text):
        return tokenizer(text, add_special_tokens=False).input_ids

    def score(context, continuation):
        """The log-likelihood of a continuation, and whether greedy decoding would give it."""
        blanks = len(context) - len(context.rstrip())
        if blanks > 0:  # lm-eval moves them to the continuation
            context, continuation = context[:-blanks], context[-blanks:] + continuation
        whole, start = encode(context + continuation), len(encode(context))
        with torch.no_grad():
            rows = model(torch.tensor([whole])).logits[0].log_softmax(-1)[start - 1 : -1]
        targets = torch.tensor(whole[start:])
        own = rows.gather(1, targets[:, None])[:, 0]
        return own.sum().item(), bool((rows.argmax(-1) == targets).all())

    compared = 0
    for sample in samples("rl_choice"):
        requests = sample["arguments"]
        requests = requests.values() if isinstance(requests, dict) else requests
        for request, answer in zip(requests, sample["filtered_resps"], strict=True):
            context, continuation = arguments(request)[:2]
            expected, greedy = score(context, continuation)
            found = float(answer[0])
            assert abs(found - expected) < TOLERANCE, (context, continuation, found, expected)
            assert str(answer[1]) == str(greedy), (context, continuation, answer)
            compared += 1
    assert compared == 16, f"{compared} continuations"

    lengths = []
    for sample in samples("rl_generate"):
        requests = sample["arguments"]
        request = next(iter(requests.values())) if isinstance(requests, dict) else requests[0]
        ids = encode(arguments(request)[0])
        with torch.no_grad():
            out = model.generate(
                torch.tensor([ids]),
                attention_mask=torch.ones(1, len(ids)),
                max_new_tokens=MOST,
                do_sample=False,
                eos_token_id=[
                    tokenizer.convert_tokens_to_ids(name) for name in ("<|im_end|>", "<|endoftext|>")
                ],
                pad_token_id=tokenizer.convert_tokens_to_ids("<|endoftext|>"),
            )
        text = tokenizer.decode(out[0, len(ids) :], skip_special_tokens=True).split(STOP)[0]
        assert sample["filtered_resps"] == [text], (sample["filtered_resps"], text)
        lengths.append(len(text))
    assert len(lengths) == 4 and any(lengths), lengths
    print(f"{compared} continuations and {len(lengths)} texts as in transformers")


main()
