"""OpenAI's own client against `rl serve` with a model that says one thing.

client.py ADDRESS KEY SCRIPT
"""

import asyncio
import sys
from pathlib import Path

try:
    import openai
except ImportError as error:
    sys.exit(f"the reference environment is incomplete: {error}")

ADDRESS, KEY, SCRIPT = sys.argv[1], sys.argv[2], Path(sys.argv[3]).read_text()
URL = f"http://{ADDRESS}/v1"
THOUGHT, WORDS = SCRIPT.removeprefix("<think>").split("<tool_call>")[0].split("</think>")
MESSAGES = [{"role": "system", "content": "Say it."}, {"role": "user", "content": "x"}]
TOOLS = [{"type": "function", "function": {"name": "score", "description": "", "parameters": {}}}]


def refused(kind, call):
    try:
        call()
    except kind as error:
        assert error.body["message"], error
        return error
    raise AssertionError(f"no {kind.__name__}")


def main():
    client = openai.OpenAI(base_url=URL, api_key=KEY, max_retries=0)
    assert [model.id for model in client.models.list()] == ["tiny"]
    assert client.models.retrieve("tiny").object == "model"
    create = client.chat.completions.create

    answer = create(model="tiny", messages=MESSAGES, tools=TOOLS, temperature=0, logprobs=True)
    choice = answer.choices[0]
    assert choice.finish_reason == "tool_calls" and choice.message.content == WORDS
    assert choice.message.reasoning_content == THOUGHT
    assert choice.message.tool_calls[0].function.arguments == '{"b": 1, "a": []}'
    said = b"".join(bytes(token.bytes) for token in choice.logprobs.content)
    assert said.decode() == SCRIPT + "<|im_end|>"
    assert answer.usage.completion_tokens == len(choice.logprobs.content)

    # What the client has read, it can send back.
    history = [
        *MESSAGES,
        choice.message,
        {"role": "tool", "tool_call_id": choice.message.tool_calls[0].id, "content": "0.5"},
    ]
    again = create(model="tiny", messages=history, tools=TOOLS, temperature=0)
    assert again.choices[0].message.content == WORDS

    with client.chat.completions.stream(
        model="tiny", messages=MESSAGES, tools=TOOLS, temperature=0, stream_options={"include_usage": True}
    ) as stream:
        for _ in stream:
            pass
        whole = stream.get_final_completion()
    assert whole.choices[0].message.content == WORDS
    assert whole.usage.total_tokens == answer.usage.total_tokens
    assert whole.choices[0].message.tool_calls[0].function.arguments == '{"b": 1, "a": []}'

    prompt = "<|im_start|>assistant\n"
    text = client.completions.create(
        model="tiny",
        prompt=prompt,
        temperature=0,
        max_tokens=500,
        logprobs=0,
        extra_body={"return_token_ids": True, "top_k": 5, "min_p": 0.0},
    )
    choice = text.choices[0]
    assert (choice.text, choice.finish_reason) == (SCRIPT, "stop")
    assert len(choice.token_ids) == len(choice.logprobs.token_logprobs) == text.usage.completion_tokens
    offsets = zip(choice.logprobs.tokens, choice.logprobs.text_offset, strict=True)
    assert all(
        SCRIPT.startswith(token, offset)
        for token, offset in offsets
        if "\ufffd" not in token and token != "<|im_end|>"
    )
    for given in (choice.prompt_token_ids, [choice.prompt_token_ids, choice.prompt_token_ids]):
        same = client.completions.create(model="tiny", prompt=given, temperature=0, max_tokens=500, n=2)
        assert {choice.text for choice in same.choices} == {SCRIPT}
        assert [choice.index for choice in same.choices] == list(range(len(same.choices)))

    # Half a stream is enough for some.
    stream = client.completions.create(
        model="tiny", prompt=prompt, temperature=0, max_tokens=500, stream=True
    )
    first = next(iter(stream))
    assert SCRIPT.startswith(first.choices[0].text)
    stream.close()

    refused(openai.NotFoundError, lambda: create(model="gpt", messages=MESSAGES))
    error = refused(
        openai.BadRequestError, lambda: create(model="tiny", messages=MESSAGES, frequency_penalty=3.0)
    )
    assert error.param == "frequency_penalty"
    wrong = openai.OpenAI(base_url=URL, api_key="open", max_retries=0)
    refused(openai.AuthenticationError, wrong.models.list)

    async def many():
        client = openai.AsyncOpenAI(base_url=URL, api_key=KEY, max_retries=0)

        async def one(number):
            if number % 2:
                answer = await client.chat.completions.create(
                    model="tiny", messages=MESSAGES, tools=TOOLS, temperature=0
                )
                return answer.choices[0].message.content
            parts = []
            stream = await client.chat.completions.create(
                model="tiny", messages=MESSAGES, tools=TOOLS, temperature=0, stream=True
            )
            async for chunk in stream:
                parts.append(chunk.choices[0].delta.content or "")
            return "".join(parts)

        return await asyncio.gather(*(one(number) for number in range(40)))

    assert asyncio.run(many()) == [WORDS] * 40


main()
