"""What these agents share: models whose score is known, and requests to the server."""

import json
import os
import shutil
import struct
import urllib.error
import urllib.request
from pathlib import Path

URL = os.environ["GRADING_SERVER_URL"]
OUTPUT = Path(os.environ["OUTPUT_DIR"])
OWN = {"Authorization": "Bearer " + os.environ["GRADING_TOKEN"], "Content-Type": "application/json"}


def ask(path, body=None, headers=OWN, method=None):
    """Status and answer of a request."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(URL + path, data, headers, method=method)
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def model(name, share):
    """A model that wins this share of the items; what is submitted."""
    folder = OUTPUT / name
    shutil.copytree(os.environ["MODEL_PATH"], folder)
    weights = folder / "model.safetensors"
    content = bytearray(weights.read_bytes())
    (length,) = struct.unpack_from("<Q", content)
    header = json.loads(content[8 : 8 + length])
    begin, _ = header["model.embed_tokens.weight"]["data_offsets"]
    struct.pack_into("<f", content, 8 + length + begin, share)
    weights.chmod(0o600)
    weights.write_bytes(content)
    return f"output/{name}"


def submit(path, headers=OWN):
    return ask("/v1/submit", {"model_path": path, "wait": True}, headers)


def fails(action, *arguments):
    """What an action that must not succeed raised."""
    try:
        result = action(*arguments)
    except OSError as error:
        return error
    raise AssertionError(f"{action} with {arguments} gave {result!r}")


def hint(name):
    """What the test tells an agent that an agent could only guess."""
    return json.loads((Path(__file__).parent / "hints.json").read_text())[name]
