# --- calls of a generator --------------------------------------------------------------------------
# Follows `step.py` and `framed.py`.

import linecache
import sys
import types

import numpy as np


def load(source):
    """The generator as a module, not as the main program."""
    module = types.ModuleType("generate_task_env")
    module.__file__ = FILE
    sys.modules[module.__name__] = module
    lines = source.decode().splitlines(keepends=True)
    # Lets tracebacks show the generator's lines.
    linecache.cache[FILE] = (len(source), None, lines, FILE)
    exec(compile(source, FILE, "exec"), module.__dict__)
    return module


def generator_at(key, row=0):
    """A stream of random numbers of its own for each row."""
    return np.random.Generator(np.random.Philox(key=int(key, 16), counter=[0, 0, 0, row]))


def wrong(what, expected, found):
    return Refused("bad_shape", f"{what} must be {expected}, and it is {found}")


def described(value):
    if isinstance(value, np.ndarray):
        return f"an array of shape {value.shape} and type {value.dtype}"
    return f"a `{type(value).__name__}`"


def as_numbers(what, values, shape):
    """A float array; of the wrong shape or kind it is refused."""
    try:
        array = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise wrong(what, f"a float array of shape {shape}", described(values)) from None
    if array.shape != shape:
        raise wrong(what, f"a float array of shape {shape}", described(array))
    return array


def as_words(what, values, rows):
    words = values.tolist() if hasattr(values, "tolist") else values
    if not isinstance(words, (list, tuple)) or len(words) != rows:
        raise wrong(what, f"a list of {rows} texts", described(values))
    for word in words:
        if not isinstance(word, str) or "\0" in word:
            raise wrong(what, "a list of texts", f"a list with {word!r:.40}")
    return [str(word) for word in words]


def make_columns(generator, request, key, rows):
    """Columns as they will be written: numbers are rounded before anything follows from them."""
    made = generator.columns(generator_at(key), rows)
    if not isinstance(made, dict) or not all(isinstance(name, str) for name in made):
        raise wrong("what `columns` returns", "a dict of columns by name", described(made))
    columns = {}
    for name, values in made.items():
        is_declared = name in request["words"] or name in request["decimals"]
        if not (is_declared or name.startswith("item.")):
            raise Refused("bad_name", f"`columns` returns `{name:.60}`, which is no column of the task")
        what = f"the column `{name:.60}`"
        if name in request["words"]:
            columns[name] = as_words(what, values, rows)
            continue
        numbers = as_numbers(what, values, (rows,))
        if name in request["decimals"]:
            decimals = request["decimals"][name]
            # No negative zero in files.
            numbers = np.array([round(float(value), decimals) + 0.0 for value in numbers])
        columns[name] = numbers
    return columns


def handed_over(columns):
    """Copies for a function of the generator: float arrays and arrays of texts."""
    return {name: np.array(values) for name, values in columns.items()}


def make_scores(generator, request, columns, rows):
    made = generator.score(handed_over(columns))
    if request["targets"] == 1 and np.shape(made) == (rows,):
        made = np.reshape(made, (rows, 1))
    shape = (rows, request["targets"])
    return as_numbers("what `score` returns", made, shape)


def as_picture(made, form):
    shape = (form["height"], form["width"]) + ((3,) if form["colour"] else ())
    array = np.asarray(made)
    if array.shape != shape or array.dtype != np.uint8:
        raise wrong("what `item` returns", f"a uint8 array of shape {shape}", described(array))
    return array


def as_sound(made, form):
    array = as_numbers("what `item` returns", made, (form["samples"],))
    if not np.all(np.abs(array) <= 1.0):
        raise Refused("bad_value", "what `item` returns has samples that are NaN or beyond -1 to 1")
    return np.round(array * 32767.0).astype(np.int16)


def as_text(made, _):
    if not isinstance(made, str) or "\0" in made:
        raise wrong("what `item` returns", "a text", described(made))
    return str(made)


AS_ITEM = {"picture": as_picture, "sound": as_sound, "text": as_text}


def make_items(generator, request, columns, numbers):
    """Items of the rows of `columns`, whose places in the first run are `numbers`; none for tables."""
    form = request["item"]
    if form is None:
        return None
    items = []
    for place, number in enumerate(numbers):
        row = {
            name: values[place] if isinstance(values, list) else float(values[place])
            for name, values in columns.items()
        }
        made = generator.item(row, generator_at(request["items_key"], int(number)))
        items.append(AS_ITEM[form["form"]](made, form))
    return items if form["form"] == "text" else np.stack(items)


def rows_of(columns, scores=None, items=None, prefix=""):
    """Arrays of a file, by name."""
    arrays = {f"{prefix}columns/{name}": values for name, values in columns.items()}
    if scores is not None:
        arrays[f"{prefix}scores"] = scores
    if items is not None:
        arrays[f"{prefix}items"] = items
    return arrays


def columns_of(arrays):
    return {
        name.removeprefix("columns/"): values for name, values in arrays.items() if name.startswith("columns/")
    }


def make(generator, request):
    """Runs 1 and 3: rows, their scores and items."""
    rows = request["rows"]
    columns = make_columns(generator, request, request["columns_key"], rows)
    scores = make_scores(generator, request, columns, rows)
    items = make_items(generator, request, columns, range(rows))
    return rows_of(columns, scores, items)


def renew(generator, request):
    """Run 4: scores and items once more of rows that this process has not drawn, then other rows."""
    given = read_rows("given.bin")
    columns, numbers = columns_of(given), given["numbers"]
    try:
        scores = make_scores(generator, request, columns, len(numbers))
        some = {name: values[: request["sample"]] for name, values in columns.items()}
        items = make_items(generator, request, some, numbers[: request["sample"]])
    except Exception as error:
        if is_a_limit(error):
            raise
        detail = error.detail if isinstance(error, Refused) else said(error)
        raise Refused(
            "kept_state",
            "`score` or `item` fails in a process that has not called `columns`; each must follow "
            f"from its arguments alone: {detail}",
        ) from None
    arrays = rows_of({}, scores, items, "again/")
    fresh = make_columns(generator, request, request["columns_key"], request["rows"])
    return arrays | rows_of(fresh, make_scores(generator, request, fresh, request["rows"]))


def transform(generator, request):
    """Run 2: transforms of what solvers see."""
    given = read_rows("given.bin")
    columns, items = columns_of(given), given.get("items")
    form = request["item"]
    if form is not None and form["form"] == "sound":
        items = items / 32767.0
    made = generator.transforms(handed_over(columns), items)
    shape = np.shape(made)
    rows = request["rows"]
    if len(shape) != 2 or shape[0] != rows or not 2 <= shape[1] <= 8:
        expected = f"a float array of shape ({rows}, k) with k from 2 to 8"
        raise wrong("what `transforms` returns", expected, f"of shape {shape}")
    return {"transforms": as_numbers("what `transforms` returns", made, shape)}


def step(function):
    """A step that calls the generator and writes rows."""

    def taken(source, request):
        write_rows("result.bin", function(load(source), request))

    return taken


take({"make": step(make), "renew": step(renew), "transform": step(transform)})
