# --- the framed format of `framed.rs` --------------------------------------------------------------
# Follows `step.py`.

import json
import math

import numpy as np

MAGIC = b"MLEROWS1"


def encode(values):
    """Kind, shape and bytes of an array or of a list of texts."""
    if isinstance(values, list):
        data = b"".join(text.encode() + b"\0" for text in values)
        return "utf8", [len(values), len(data)], data
    kind = {"f": "f64", "u": "u8", "i": "i16"}[values.dtype.kind]
    little = values.dtype.newbyteorder("<")
    return kind, list(values.shape), np.ascontiguousarray(values, little).tobytes()


def write_rows(path, arrays):
    header, payload, offset = [], [], 0
    for name, values in arrays.items():
        kind, shape, data = encode(values)
        header.append({"name": name, "kind": kind, "shape": shape, "offset": offset})
        payload.append(data)
        offset += len(data)
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(MAGIC + len(text).to_bytes(8, "little") + text)
        file.writelines(payload)


def read_rows(path):
    with open(path, "rb") as file:
        data = file.read()
    start = len(MAGIC) + 8 + int.from_bytes(data[len(MAGIC) : len(MAGIC) + 8], "little")
    arrays = {}
    for entry in json.loads(data[len(MAGIC) + 8 : start]):
        offset, shape = start + entry["offset"], entry["shape"]
        if entry["kind"] == "utf8":
            texts = data[offset : offset + shape[1]].split(b"\0")[: shape[0]]
            arrays[entry["name"]] = [text.decode() for text in texts]
        else:
            kind = {"f64": "<f8", "u8": "u1", "i16": "<i2"}[entry["kind"]]
            flat = np.frombuffer(data, kind, math.prod(shape), offset)
            arrays[entry["name"]] = flat.reshape(shape).copy()
    return arrays
