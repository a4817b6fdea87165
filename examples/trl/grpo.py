"""GRPO with TRL on the tasks of `sandbox serve`, for models that call tools.

    python examples/rows.py http://127.0.0.1:8765 rows.jsonl
    python examples/trl/grpo.py --model Qwen/Qwen3-0.6B --rows rows.jsonl --output_dir OUT

An episode ends with a turn without a call. The other flags are those of GRPOConfig. Needs trl and websockets.
"""

import json
from dataclasses import dataclass, field

from datasets import Dataset
from trl import GRPOConfig, GRPOTrainer, TrlParser
from websockets.sync.client import connect


@dataclass
class Options:
    model: str = field(metadata={"help": "name of a model, or folder of a checkpoint"})
    rows: str = field(metadata={"help": "what examples/rows.py wrote"})
    url: str = field(default="http://127.0.0.1:8765", metadata={"help": "address of the server"})


class Environment:
    """An episode after another; public methods are the model's tools."""

    def __init__(self, url):
        self._socket = connect(url.replace("http", "ws", 1) + "/ws", max_size=None)

    def reset(self, task, **_):
        self._paid = 0.0
        self._request("reset", {"task": task})

    def python(self, code: str) -> str:
        """Runs a Python script in the folder of the episode.

        Args:
            code: The script.
        """
        return self._call("python", {"code": code})

    def score(self) -> str:
        """Grades the present submission on some of the rows."""
        return self._call("score", {})

    def get_reward(self):
        self._call("submit", {})  # only a submission has a grade
        return self._paid

    def _call(self, tool, arguments):
        if self._done:
            return "the episode is over"
        return self._request("step", {"tool_name": tool, "arguments": arguments})["result"]

    def _request(self, kind, data):
        self._socket.send(json.dumps({"type": kind, "data": data}))
        message = json.loads(self._socket.recv())
        answer = message["data"]
        if message["type"] == "error":
            raise RuntimeError(f"the server refuses `{kind}`: {answer['message']}")
        self._done, self._paid = answer["done"], self._paid + (answer["reward"] or 0.0)
        return answer["observation"]


def main():
    options, config = TrlParser((Options, GRPOConfig)).parse_args_and_config()
    with open(options.rows) as lines:
        rows = [{key: row[key] for key in ("prompt", "task")} for row in map(json.loads, lines)]
    trainer = GRPOTrainer(
        model=options.model,
        args=config,
        train_dataset=Dataset.from_list(rows),
        environment_factory=lambda: Environment(options.url),
    )
    trainer.train()
    trainer.save_model()
    trainer.save_state()


if __name__ == "__main__":
    main()
