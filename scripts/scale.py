#!/usr/bin/env python3
"""The arithmetic of docs/SCALE.md: the paper's runs on 1, 8 and 64 GPUs.

Prints the page's tables. `--check` compares them with the page and exits with code 1 if one differs;
`--write` puts them there, between `<!-- scale:NAME -->` and `<!-- end -->`. Standard library only.
Memory of one GPU follows `rl::train::plan`, operations and floors `rl::bench::floor`.
"""

import pathlib
import re
import sys

PAGE = pathlib.Path(__file__).resolve().parent.parent / "docs/SCALE.md"
GIB, GB = 2**30, 1e9
CONTEXT, LOGIT_TOKENS, RANK, VOCAB = 40960, 1024, 32, 151936  # of configs/sandmle.toml; LoRA is ours
TASKS, GROUP, STEPS, VALIDATION, EVERY = 16, 4, 100, 64, 5

# Name -> value, as the page shows it, meaning, source.
GPU = "measured ([BUDGETS.md](BUDGETS.md#what-a-gpu-does))"
CORPUS = "measured ([BUDGETS.md](BUDGETS.md#a-corpus-of-every-kind-2026-11-22))"
INPUTS = {
    "memory": (139, "139 GiB", "free memory of an H200", f"{GPU}: 139.8"),
    "bandwidth": (4.2e12, "4.2 TB/s", "copies on an H200", GPU),
    "products": (675e12, "675 TFLOP/s", "products of bf16 matrices on an H200", f"{GPU}: 660 to 690"),
    "launch": (8e-6, "8 µs", "a launch; a decoding step of 36 layers has 850", GPU),
    "update_full": (0.67, "67 %", "of its floor that an update reaches, full", f"{GPU}: SFT step"),
    "update_lora": (0.58, "58 %", "the same with LoRA", f"{GPU}: SFT step"),
    "script": (1.51, "1.51 s", "processor time of a script",
               f"{CORPUS}: reference scripts, p50; p95 2.64 s"),
    "script_paper": (14.31, "14.31 s", "the same in the paper", "SandMLE, figure 6: mean wall time"),
    "sampled": (6000, "6,000", "tokens sampled in an episode", "**assumed**"),
    "length": (11000, "11,000", "tokens of an episode, prompt and observations included", "**assumed**"),
    "longest": (2.0, "2", "the longest episode of a batch over the mean", "**assumed**"),
    "scripts": (8, "8", "scripts of an episode; the longest has 15", "**assumed**; 15 turns are the limit"),
    "engine": (0.6, "60 %", "of its floor at which vLLM or SGLang decode", "**assumed**"),
    "engine_step": (4e-3, "4 ms", "their shortest decoding step", "**assumed**"),
    "prefill": (0.5, "50 %", "of products' speed at which prompts are read", "**assumed**"),
    "experts": (0.5, "50 %", "speed of updates with experts, over dense ones", "**assumed**"),
    "expert_launches": (1.84, "1.84", "launches of a layer with experts, over a dense one", "**assumed**"),
    "sharded": (300e12, "300 TFLOP/s", "a GPU of a sharded learner", "**assumed**"),
    "link": (25e9, "25 GB/s", "between host memory and a GPU", "**assumed** (PCIe 5)"),
    "folder": (2e9, "2 GB/s", "writing a checkpoint to a folder in memory; loading one", "**assumed**"),
    "network": (3e9, "3 GB/s", "between machines of 8 GPUs", "**assumed** (25 Gbit/s)"),
    "collective": (20e9, "20 GB/s", "weights from a sharded learner to engines", "**assumed** (NCCL)"),
}  # fmt: skip
IN = {name: value[0] for name, value in INPUTS.items()}


class Model:
    def __init__(self, name, layers, hidden, inner, heads, kv_heads, experts=None, active=None):
        self.name, self.layers, self.hidden = name, layers, hidden
        self.q, self.k, self.inner = heads * 128, kv_heads * 128, inner
        self.heads, self.kv_heads, self.experts, self.active = heads, kv_heads, experts, active
        self.head = VOCAB * hidden
        self.attention = hidden * (2 * self.q + 2 * self.k)
        expert = 3 * hidden * inner
        self.block = expert if not experts else experts * (expert + hidden)
        norms = 2 * hidden + 2 * 128
        self.parameters = layers * (self.attention + self.block + norms) + 2 * self.head + hidden
        self.token_bytes = 2 * layers * self.k * 2

    def per_token(self, experts=None):
        """Weights of all layers that `experts` of them, by default those of one token, use."""
        used = self.block
        if self.experts:
            used = (experts or self.active) * 3 * self.hidden * self.inner + self.experts * self.hidden
        return self.layers * (self.attention + used)

    def adapters(self):
        sides = 2 * (self.hidden + self.q) + 2 * (self.hidden + self.k)
        sides += 0 if self.experts else 3 * (self.hidden + self.inner)
        return self.layers * RANK * sides

    def activations(self):
        """Elements that one layer keeps of one token, as in `rl::train::plan`."""
        c, d, h, k = self.hidden, 128, self.heads, self.kv_heads
        attention = 3 * c + (h + 2 * k) * d + 4 * (h + k) * d + 2 * h * d
        if not self.experts:
            return attention + 3 * c + 4 * self.inner
        return attention + 3 * c + 2 * self.experts + self.active * (4 * self.inner + 3 * c)

    def decode(self, rows, context):
        """Least time of a decoding step, in seconds."""
        used = self.experts and self.experts * (1 - (1 - self.active / self.experts) ** rows)
        read = 2 * (self.per_token(used) + self.head) + rows * context * self.token_bytes
        return read / IN["bandwidth"]

    def operations(self, length, lora):
        """Operations of an update for one episode, with recompute."""
        frozen = 0 if lora else 1
        products = 2 * self.per_token() * (3 + frozen) + (8 * self.adapters() if lora else 0)
        output = 2 * self.head * (2 + frozen) * IN["sampled"] / IN["length"]
        attention = 4 * length / 2 * self.layers * self.q * 4
        return length * (products + output + attention)


MODELS = [
    Model("qwen3-8b", 36, 4096, 12288, 32, 8),
    Model("qwen3-14b", 40, 5120, 17408, 40, 8),
    Model("qwen3-30b-a3b", 48, 2048, 768, 32, 4, 128, 8),
]


def plan(model, lora, offload=False, merged=False):
    """Bytes on one GPU by purpose, as `rl plan --config sandmle` has them; the cache gets the rest."""
    trained = model.adapters() if lora else model.parameters
    weights = 2 * (model.parameters + (trained if lora else 0))
    state = 4 * trained + (0 if offload else 8 * trained)
    buffers = (0 if lora else 2 * model.head) + min(trained, 2**24) * 20
    inside = CONTEXT * model.activations() * 2
    update = 4 * trained + buffers + model.layers * CONTEXT * model.hidden * 2 + 2 * inside
    update += LOGIT_TOKENS * VOCAB * 16
    copies = 2 * model.layers * (model.attention + (0 if model.experts else model.block)) if merged else 0
    reading = 8192 * model.activations() + 8192**2 * (model.heads // model.kv_heads) * 2 + 3 * 64 * VOCAB * 4
    row = (CONTEXT + 1) * model.token_bytes
    room = IN["memory"] * GIB / 1.08 - weights - state - copies - reading
    cache = min(64 * row, room / (1 + 1 / (2 * model.layers)))
    fits = (weights + state + update) * 1.08 <= IN["memory"] * GIB and cache >= row
    cache = cache if fits else row
    peak = 1.08 * (weights + state + max(update, copies + reading + cache * (1 + 1 / (2 * model.layers))))
    return {
        "weights": weights, "state": state, "update": update, "copies": copies, "cache": cache,
        "host": 8 * trained if offload else 0, "peak": peak, "fits": fits, "rows": int(cache // row),
    }  # fmt: skip


def rollout(model, gpus, episodes, native, script, cache):
    """Seconds of a rollout, and decoded tokens a second."""
    share = episodes / gpus
    mean = IN["length"] / 2  # half of its final length, on average over an episode's time
    reach = mean * (IN["longest"] if native else 1)  # rows of the native cache are as long as the longest
    rows = max(1, min(share, 64 if native else 256, cache / model.token_bytes / reach))

    def step(rows, context):
        least = model.decode(rows, context)
        if native:
            launches = 850 / 36 * model.layers * (IN["expert_launches"] if model.experts else 1)
            return least + IN["launch"] * launches
        return max(IN["engine_step"], least / IN["engine"])

    decoding = IN["sampled"] * step(rows, reach) * max(1, share / rows)
    tail = IN["sampled"] * (IN["longest"] - 1) * step(max(1, rows / 4), IN["length"])
    read = share * (IN["length"] - IN["sampled"]) * 2 * model.per_token() / IN["products"] / IN["prefill"]
    return decoding + tail + read + 15 * script


def update(model, gpus, episodes, lora, native, length=IN["length"]):
    """Seconds of an update; no GPU ends before its longest episode."""
    operations, longest = (model.operations(length * x, lora) for x in (1, IN["longest"]))
    if native:
        rate = IN["products"] * (IN["update_lora"] if lora else IN["update_full"])
    else:
        rate = IN["sharded"]
    rate *= IN["experts"] if model.experts else 1
    return max(episodes * operations / gpus, longest if gpus > 1 else 0) / rate


def publish(model, lora, route, machines):
    size = 2 * (model.adapters() if lora else model.parameters)
    if route == "native":
        return size, 0.0
    if route == "sharded":
        return size, size / IN["collective"]
    return size, 2 * size / IN["folder"] + (machines - 1) * size / IN["network"]


def table(header, rows):
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def gib(value):
    return f"{value / GIB:.1f}"


def number(value):
    return f"{value:,.0f}" if value >= 20 else f"{value:.1f}" if value >= 1 else f"{value:.2g}"


def inputs():
    rows = [[meaning, shown, source] for _, shown, meaning, source in INPUTS.values()]
    return table(["input", "value", "source"], rows)


def checks():
    """What the formulas give where something was measured."""
    model, rows = MODELS[0], []
    for context, measured in ((2048, 14.9), (4096, 21.0)):
        step = 1e3 * (model.decode(64, context) + 850 * IN["launch"])
        rows.append([f"decoding step, 64 x {context}", f"{step:.1f} ms", f"{measured} ms"])
    for lora, measured in ((False, 7814), (True, 7895)):
        speed = 4096 / (update(model, 1, 1, lora, True, 4096))
        what = "LoRA 32" if lora else "full"
        rows.append(
            [f"update of a GRPO step, 64 x 4096, {what}", f"{speed:,.0f} tokens/s", f"{measured:,} tokens/s"]
        )
    return table(["Qwen3-8B on an H200", "computed", "measured"], rows)


def models():
    rows = [
        [m.name, f"{m.parameters / 1e9:.2f}", f"{(m.per_token() + m.head) / 1e9:.2f}", gib(2 * m.parameters),
         f"{m.token_bytes / 1024:.0f}", f"{m.token_bytes * CONTEXT / GIB:.2f}", f"{m.adapters() / 1e6:.0f}"]
        for m in MODELS
    ]  # fmt: skip
    header = ["model", "weights, 10⁹", "read for a token, 10⁹", "bf16, GiB", "cache of a token, KiB",
              "of 40,960, GiB", "LoRA 32, 10⁶"]  # fmt: skip
    return table(header, rows)


ONE_GPU = [(0, False, True, False), (0, True, False, True), (1, False, True, False), (1, True, False, False),
           (2, False, True, False), (2, True, False, True)]  # fmt: skip


def one_gpu():
    rows = []
    for index, lora, offload, merged in ONE_GPU:
        p = plan(MODELS[index], lora, offload, merged)
        parts = [gib(p[name]) for name in ("weights", "state", "update", "copies", "cache", "host", "peak")]
        fits = f"{p['rows']} of 64" if p["fits"] else "**does not fit**"
        rows.append([MODELS[index].name, "LoRA 32" if lora else "full", *parts, fits])
    header = ["model", "trained", "weights", "f32 weights, moments", "an update", "merged copies", "KV cache",
              "in host memory", "at most", "conversations of 40,960"]  # fmt: skip
    return table(header, rows)


def sharded():
    rows = []
    for m in MODELS:
        inside = (
            2 * CONTEXT * m.activations() * 2 + m.layers * CONTEXT * m.hidden * 2 + LOGIT_TOKENS * VOCAB * 16
        )
        gathered = 2 * 2 * (m.attention + m.block)
        for gpus in (8, 64):
            state = 18 * m.parameters / gpus
            most = 1.08 * (state + inside + gathered)
            rows.append([m.name, str(gpus), gib(state), gib(gathered), gib(inside), gib(most)])
    header = ["model", "GPUs", "weights, gradients, moments", "two gathered layers", "activations", "at most"]
    return table(header, rows)


def servers():
    rows = []
    for m in MODELS:
        left = 0.9 * IN["memory"] * GIB - 2 * m.parameters - 4 * GIB
        tokens = left / m.token_bytes
        rows.append([m.name, gib(2 * m.parameters), gib(left), f"{tokens / 1e3:,.0f}",
                     str(int(tokens // IN["length"])), str(int(tokens // CONTEXT))])  # fmt: skip
    header = [
        "model",
        "weights, GiB",
        "KV cache, GiB",
        "1,000 tokens",
        "conversations of 11,000",
        "of 40,960",
    ]
    return table(header, rows)


# Model, trained, route, learner's GPUs, rollout GPUs, episodes.
RUNS = [
    (0, False, "native", 1, 1, 64), (0, True, "native", 1, 1, 64), (1, True, "native", 1, 1, 64),
    (2, True, "native", 1, 1, 64), (0, False, "servers", 1, 7, 64), (0, True, "servers", 1, 7, 64),
    (1, True, "servers", 1, 7, 64), (2, True, "servers", 1, 7, 64), (0, False, "sharded", 8, 8, 64),
    (1, False, "sharded", 8, 8, 64), (2, False, "sharded", 8, 8, 64), (0, False, "sharded", 64, 64, 64),
    (1, False, "sharded", 64, 64, 64), (2, False, "sharded", 64, 64, 64), (0, False, "sharded", 64, 64, 1024),
    (1, False, "sharded", 64, 64, 1024), (2, False, "sharded", 64, 64, 1024),
]  # fmt: skip


def times(run, script):
    index, lora, route, learner, generators, episodes = run
    model, native = MODELS[index], route == "native"
    known = {(i, lo): (off, merge) for i, lo, off, merge in ONE_GPU}[index, lora]
    cache = (
        plan(model, lora, *known)["cache"]
        if native
        else 0.9 * IN["memory"] * GIB - 2 * model.parameters - 4 * GIB
    )
    made = rollout(model, generators, episodes, native, IN[script], cache)
    changed = update(model, learner, episodes, lora, route != "sharded")
    if route != "sharded" and not lora and index == 0:
        changed += 2 * 8 * model.parameters / IN["link"]  # moments in host memory, there and back
    machines = -(-(learner if route == "sharded" else learner + generators) // 8)
    sent = publish(model, lora, route, machines)[1]
    return made, changed, sent, made + changed + sent


def steps():
    rows = []
    for run in RUNS:
        made, changed, sent, whole = times(run, "script")
        slow = times(run, "script_paper")[3]
        hours = STEPS * (whole + made / EVERY * VALIDATION / run[5]) / 3600
        gpus = run[3] if run[2] != "servers" else run[3] + run[4]
        rows.append([str(gpus), run[2], MODELS[run[0]].name, "LoRA 32" if run[1] else "full", f"{run[5]:,}",
                     number(made), number(changed), number(sent), number(3600 / whole),
                     f"{hours:.1f}", number(3600 / slow)])  # fmt: skip
    header = ["GPUs", "route", "model", "trained", "episodes a step", "rollout, s", "update, s", "publish, s",
              "steps an hour", "hours for 100", "steps an hour, scripts of 14.3 s"]  # fmt: skip
    return table(header, rows)


def publishing():
    rows = []
    for m in MODELS:
        for lora in (False, True):
            size, one = publish(m, lora, "servers", 1)
            eight, nccl = publish(m, lora, "servers", 8)[1], publish(m, lora, "sharded", 1)[1]
            what = "LoRA 32" if lora else "full"
            rows.append([m.name, what, f"{size / GB:.2f}", number(one), number(eight), number(nccl)])
    header = [
        "model",
        "trained",
        "GB",
        "folder, one machine, s",
        "folder, eight machines, s",
        "collective, s",
    ]
    return table(header, rows)


def sandboxes():
    rows = []
    for run in (RUNS[0], RUNS[4], RUNS[8], RUNS[11], RUNS[14]):
        cells = []
        for script in ("script", "script_paper"):
            made = times(run, script)[0]
            scripts = run[5] * IN["scripts"] / made
            cells += [number(scripts), number(scripts * IN[script])]
        gpus = run[3] if run[2] != "servers" else run[3] + run[4]
        made = times(run, "script")[0]
        rows.append([str(gpus), run[2], f"{run[5]:,}", f"{run[5] / made:.2f}", *cells, f"{run[5]:,}"])
    header = ["GPUs", "route", "episodes a step", "episodes a second", "scripts a second", "cores busy",
              "scripts a second of 14.3 s", "cores busy", "cores with which none ever waits"]  # fmt: skip
    return table(header, rows)


def main():
    tables = [inputs, checks, models, one_gpu, sharded, servers, publishing, steps, sandboxes]
    if not sys.argv[1:]:
        print("\n\n".join(f"{part.__name__}\n\n{part()}" for part in tables))
        return
    page = PAGE.read_text(encoding="utf-8")
    known = {part.__name__: part for part in tables}
    block = re.compile(r"(<!-- scale:(\w+) -->\n).*?(?=\n<!-- end -->)", re.DOTALL)
    found = {match[2] for match in block.finditer(page)}
    assert found == set(known), f"{PAGE.name} has the tables {sorted(found)}, not {sorted(known)}"
    fresh = block.sub(lambda match: f"{match[1]}\n{known[match[2]]()}\n", page)
    if sys.argv[1:] == ["--write"]:
        PAGE.write_text(fresh, encoding="utf-8")
    elif fresh != page:
        sys.exit(f"{PAGE.name} has other tables than scripts/scale.py prints; run `scripts/scale.py --write`")
    print(f"scale: {len(known)} tables")


main()
