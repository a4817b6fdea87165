"""OpenAI's own client against the gateway: `openai_client.py URL TOKEN`.

The provider answers the first request whole, the second as a stream, the third with 429, the fourth whole.
"""

import sys

try:
    import openai
except ImportError as error:
    sys.exit(f"the test environment is incomplete: {error}")

URL, TOKEN = sys.argv[1:]
MESSAGES = [{"role": "user", "content": "Say hello."}]


def refused(kind, call):
    try:
        call()
    except kind as error:
        assert error.body["message"], error
        return error
    raise AssertionError(f"no {kind.__name__}")


client = openai.OpenAI(base_url=URL, api_key=TOKEN)
assert [model.id for model in client.models.list()] == ["m", "a", "d"]
assert client.models.retrieve("m").object == "model"
create = client.chat.completions.create

answer = create(model="m", messages=MESSAGES, max_tokens=20)
assert answer.choices[0].message.content == "hello"
assert answer.usage.total_tokens == 14

pieces = create(model="m", messages=MESSAGES, max_tokens=20, stream=True)
assert "".join(piece.choices[0].delta.content or "" for piece in pieces) == "hello"

# It is told to come back, and does.
assert create(model="m", messages=MESSAGES, max_tokens=20).choices[0].message.content == "hello"

error = refused(openai.PermissionDeniedError, lambda: create(model="other", messages=MESSAGES))
assert "it has m, a, d" in error.message, error
wrong = openai.OpenAI(base_url=URL, api_key="another token of a run")
refused(openai.AuthenticationError, lambda: wrong.chat.completions.create(model="m", messages=MESSAGES))

# A cap that is reached is not tried again.
error = refused(openai.RateLimitError, lambda: create(model="m", messages=MESSAGES, max_tokens=5000))
assert error.body["cap"] == "tokens" and error.body["left"] == 3000 - 3 * 14, error.body
