"""Two steps of TRL's GRPOTrainer with `environment_factory`: a policy calls the tools of `sandbox serve`.

environment.py CHECKPOINT URL TASKS OUT: the checkpoint as it is, the address of the server's socket, names of
tasks, separated by commas, and a folder. Prints the trainer's log as JSON.
"""

import json
import sys

from websockets.sync.client import connect

try:
    from datasets import Dataset
    from transformers import AutoTokenizer
    from trl import GRPOConfig, GRPOTrainer
except ImportError as error:
    sys.exit(f"the environment is incomplete: {error}")

CHECKPOINT, URL, TASKS, OUT = sys.argv[1], sys.argv[2], sys.argv[3].split(","), sys.argv[4]


class Environment:
    """An episode of `sandbox serve`, with its tools as methods."""

    def __init__(self):
        self._socket = None

    def reset(self, task, **_):
        if self._socket:
            self._socket.close()
        self._socket, self._done, self._paid = connect(URL), False, 0.0
        self._request("reset", {"task": task})

    def python(self, code: str) -> str:
        """Runs a Python script.

        Args:
            code: The script.

        Returns:
            What it printed.
        """
        return self._call("python", {"code": code})

    def score(self) -> str:
        """Grades the current submission.

        Returns:
            The grade.
        """
        return self._call("score", {})

    def get_reward(self):
        if not self._done:
            self._call("submit", {})
        return self._paid

    def _call(self, tool, arguments):
        step = {"type": "call_tool", "tool_name": tool, "arguments": arguments}
        return str(self._request("step", step)["result"])

    def _request(self, kind, data):
        self._socket.send(json.dumps({"type": kind, "data": data}))
        answer = json.loads(self._socket.recv())
        if answer["type"] == "error":
            raise RuntimeError(f"the server refuses `{kind}`: {answer['data']['message']}")
        answer = answer["data"]
        self._done, self._paid = answer["done"], self._paid + (answer["reward"] or 0.0)
        return answer["observation"]


def main():
    trainer = GRPOTrainer(
        model=CHECKPOINT,
        args=GRPOConfig(
            output_dir=OUT,
            max_steps=2,
            per_device_train_batch_size=8,
            num_generations=4,
            max_completion_length=300,
            max_tool_calling_iterations=2,
            gradient_checkpointing=False,
            bf16=False,
            use_cpu=True,
            logging_steps=1,
            report_to="none",
            save_strategy="no",
            disable_tqdm=True,
        ),
        train_dataset=Dataset.from_list(
            [{"prompt": [{"role": "user", "content": "Solve the task."}], "task": task} for task in TASKS]
        ),
        processing_class=AutoTokenizer.from_pretrained(CHECKPOINT, padding_side="left"),
        environment_factory=Environment,
    )
    trainer.train()
    print(json.dumps(trainer.state.log_history))


if __name__ == "__main__":
    main()
