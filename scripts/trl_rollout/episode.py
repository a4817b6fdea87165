"""One episode on `sandbox serve`, as the tokens of a conversation."""

import json
import re

from websockets.sync.client import connect


def parse(turn):
    """The tool that a turn calls, its arguments, and whether the turn opens with a thought."""
    head = re.match(r"\s*<think>(.*?)</think>", turn, re.DOTALL)
    rest = turn[head.end() :] if head else turn
    thought = head is not None and head[1].strip() != "" and "<think>" not in head[1]
    is_open = head is None and turn.lstrip().startswith("<think>")
    outside = re.sub(r"<code>.*</code>", "", rest, flags=re.DOTALL)
    if not is_open and len(re.findall("<tool_call>|<answer>", outside)) == 1:
        call = re.search(r"<tool_call>\s*(.*\S)\s*</tool_call>", rest, re.DOTALL)
        if script := call and re.fullmatch(r"python\s*<code>(.*)</code>", call[1], re.DOTALL):
            return "python", {"code": script[1].strip("\r\n")}, thought
        if call and re.fullmatch(r'\{\s*"name"\s*:\s*"Score".*\}', call[1], re.DOTALL):
            return "score", {}, thought
        if re.search(r"<answer>.*</answer>", rest, re.DOTALL):
            return "submit", {}, thought
    return "malformed", {}, False  # there is no such tool: the turn counts, and the answer says so


class Episode:
    """The prompt's tokens, those after it, and a mask that has 1 for those that were sampled."""

    def __init__(self, url, tokenizer, context, task, messages):
        self.tokenizer, self.context = tokenizer, context
        self.prompt = tokenizer.apply_chat_template(messages, add_generation_prompt=True, return_dict=False)
        self.completion, self.sampled, self.thoughts = [], [], []
        self.done, self.late, self.paid = False, False, 0.0
        self.socket = connect(url)
        self._request("reset", {"task": task})

    def play(self, ids):
        """Carries out a turn that the policy sampled, and appends the observation."""
        self._append(ids, 1)
        if ids[-1] != self.tokenizer.eos_token_id:  # cut off
            return self._end()
        tool, arguments, thought = parse(self.tokenizer.decode(ids[:-1]))
        self.thoughts.append(thought)
        observation = self._call(tool, arguments)
        self.late |= (observation["metadata"]["outcome"] or {}).get("outcome") == "timed_out"
        # Only the new message is rendered: tokens that were sampled are never made from text again.
        message = {"role": "tool", "content": observation["result"]}
        text = self.tokenizer.apply_chat_template([message], add_generation_prompt=True, tokenize=False)
        answer = self.tokenizer.encode("\n" + text, add_special_tokens=False)
        if self.done or len(self.prompt + self.completion + answer) >= self.context:
            return self._end()
        self._append(answer, 0)

    def reward(self):
        """As in `rl train`: what the server pays, and 0.1 for turns that open with a thought. `None` masks
        an episode in which a script hit its time limit."""
        thoughts = sum(self.thoughts) / max(1, len(self.thoughts))
        return None if self.late else self.paid + 0.1 * thoughts

    def _append(self, ids, sampled):
        self.completion += ids
        self.sampled += [sampled] * len(ids)

    def _end(self):
        if not self.done:
            self._call("submit", {})
        self.socket.close()

    def _call(self, tool, arguments):
        step = {"type": "call_tool", "tool_name": tool, "arguments": arguments}
        while True:
            observation = self._request("step", step)
            if (observation["error"] or {}).get("error_type") != "timeout":
                return observation  # else no slot was free, which costs no turn

    def _request(self, kind, data):
        self.socket.send(json.dumps({"type": kind, "data": data}))
        answer = json.loads(self.socket.recv())
        if answer["type"] == "error":
            raise RuntimeError(f"the server refuses `{kind}`: {answer['data']['message']}")
        answer = answer["data"]
        self.done, self.paid = answer["done"], self.paid + (answer["reward"] or 0.0)
        return answer["observation"]
