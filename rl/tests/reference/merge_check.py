"""The reference side of `rl merge`: PEFT's arithmetic on the same checkpoints.

merge_check.py BASE FIRST SECOND MERGED METHOD NUMBER...   prints the largest difference
"""

import sys

import torch
from peft.utils.merge_utils import task_arithmetic, ties
from transformers import AutoModelForCausalLM, AutoTokenizer


def weights(folder):
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    return {name: weight.detach() for name, weight in model.state_dict().items()}


def main(base, first, second, merged, method, *numbers):
    numbers = torch.tensor([float(number) for number in numbers])
    base, first, second = (weights(folder) for folder in (base, first, second))
    found = weights(merged)
    AutoTokenizer.from_pretrained(merged)
    assert found.keys() == base.keys(), "other weights"
    largest = 0.0
    for name, weight in found.items():
        tasks = [model[name] - base[name] for model in (first, second)]
        if method == "linear":
            expected = torch.stack([first[name], second[name]]).mean(dim=0)
        elif method == "task-arithmetic":
            expected = base[name] + task_arithmetic(tasks, numbers)
        else:
            expected = base[name] + ties(tasks, numbers[:2], density=numbers[2].item())
        largest = max(largest, (weight - expected).abs().max().item())
    assert largest <= 1e-6, f"{method} differs by {largest}"


main(*sys.argv[1:])
