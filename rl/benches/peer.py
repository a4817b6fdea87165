"""The other side of `cargo bench -p rl --bench transformers`: transformers and PyTorch on the same
weights. Reads one JSON request a line, writes one JSON answer a line.

    {"do": "load", "folder": F, "dtype": "float32"}
    {"do": "decode", "way": W, "prompts": [[id]], "tokens": N, "sampled": false}
    {"do": "train", "way": W, "samples": [{"ids": [id], "trained": [bool]}], "rate": R}
"""

import json
import sys
import time

try:
    import torch
    from torch.nn.functional import cross_entropy
    from torch.nn.utils.rnn import pad_sequence
    from transformers import DynamicCache, GenerationConfig, LogitsProcessor, Qwen3ForCausalLM, StaticCache
except ImportError as error:
    sys.exit(f"the reference environment is incomplete: {error}")


class Clock(LogitsProcessor):
    """Remembers when the prompt had been read."""

    first = None

    def __call__(self, input_ids, scores):
        if self.first is None:
            self.first = time.perf_counter()
        return scores


class Peer:
    def load(self, folder, dtype):
        self.model = Qwen3ForCausalLM.from_pretrained(folder, dtype=getattr(torch, dtype))
        # No token ends an answer.
        self.model.generation_config = GenerationConfig(pad_token_id=0)
        matrices = [p for p in self.model.parameters() if p.dim() > 1]
        gains = [p for p in self.model.parameters() if p.dim() < 2]
        groups = [{"params": matrices, "weight_decay": 0.01}, {"params": gains, "weight_decay": 0.0}]
        self.optimizer = torch.optim.AdamW(groups, betas=(0.9, 0.95), eps=1e-8, fused=True)
        return {"parameters": sum(p.numel() for p in self.model.parameters())}

    def use(self, way):
        torch.set_num_threads(way["threads"])
        self.model.set_attn_implementation(way["attention"])

    @torch.inference_mode()
    def decode(self, way, prompts, tokens, sampled):
        self.use(way)
        self.model.eval()
        ids = torch.tensor(prompts)
        begin = time.perf_counter()
        if way["loop"] == "generate":
            clock = Clock()
            out = self.model.generate(
                ids,
                attention_mask=torch.ones_like(ids),
                max_new_tokens=tokens,
                do_sample=sampled,
                **({"top_k": 0, "top_p": 1.0, "temperature": 1.0} if sampled else {}),
                cache_implementation="static" if way["cache"] == "static" else None,
                disable_compile=True,
                logits_processor=[clock],
            )
            first, answers = clock.first, out[:, ids.shape[1] :]
        else:
            if way["cache"] == "static":
                cache = StaticCache(config=self.model.config, max_cache_len=ids.shape[1] + tokens)
            else:
                cache = DynamicCache(config=self.model.config)
            feed, said, first = ids, [], None
            for _ in range(tokens):
                out = self.model(input_ids=feed, past_key_values=cache, use_cache=True, logits_to_keep=1)
                first = first or time.perf_counter()
                logits = out.logits[:, -1]
                feed = (
                    torch.multinomial(logits.float().softmax(-1), 1)
                    if sampled
                    else logits.argmax(-1, keepdim=True)
                )
                said.append(feed)
            answers = torch.cat(said, 1)
        end = time.perf_counter()
        assert answers.shape[1] == tokens, answers.shape
        return {"prefill": first - begin, "decode": end - first, "answers": answers.tolist()}

    def train(self, way, samples, rate):
        self.use(way)
        self.model.train()
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        begin = time.perf_counter()
        total = sum(sum(sample["trained"][1:]) for sample in samples)
        loss = 0.0
        for batch in batches(samples, way["order"], way["budget"]):
            ids = pad_sequence([torch.tensor(s["ids"]) for s in batch], batch_first=True)
            trained = pad_sequence([torch.tensor(s["trained"]) for s in batch], batch_first=True)
            seen = pad_sequence(
                [torch.ones(len(s["ids"]), dtype=torch.long) for s in batch], batch_first=True
            )
            # Without padding there is no mask, which lets the attention be plainly causal.
            seen = None if bool(seen.all()) else seen
            if way["logits"] == "all":
                labels = ids.masked_fill(~trained, -100)
                part = self.model(
                    input_ids=ids,
                    attention_mask=seen,
                    labels=labels,
                    use_cache=False,
                    num_items_in_batch=total,
                ).loss
            else:
                hidden = self.model.model(
                    input_ids=ids, attention_mask=seen, use_cache=False
                ).last_hidden_state
                chosen = trained[:, 1:]
                logits = self.model.lm_head(hidden[:, :-1][chosen]).float()
                part = cross_entropy(logits, ids[:, 1:][chosen], reduction="sum") / total
            part.backward()
            loss += part.item()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        return {"seconds": time.perf_counter() - begin, "loss": loss}


def batches(samples, order, budget):
    """Lists of samples whose padded tokens are within `budget`; longest first where grouped."""
    if order == "grouped":
        samples = sorted(samples, key=lambda sample: -len(sample["ids"]))
    batch, longest = [], 0
    for sample in samples:
        longest = max(longest, len(sample["ids"]))
        if batch and longest * (len(batch) + 1) > budget:
            yield batch
            batch, longest = [], len(sample["ids"])
        batch.append(sample)
    yield batch


def main():
    peer = Peer()
    for line in sys.stdin:
        request = json.loads(line)
        print(json.dumps(getattr(peer, request.pop("do"))(**request)), flush=True)


main()
