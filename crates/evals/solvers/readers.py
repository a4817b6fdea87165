"""Opens the items of rows: pictures, sounds, texts, graphs. Cheap statistics of each."""

import io
import json
import wave

from PIL import Image, ImageSequence

PICTURES = (".png", ".jpg", ".jpeg", ".tif", ".tiff", ".bmp", ".gif", ".webp")


def ending(path):
    return os.path.splitext(path)[1].lower()


def medium(column):
    """What the files of a column are."""
    some = both[column].dropna().astype(str).iloc[0]
    end = ending(files_of(some)[0])
    if end in PICTURES:
        return "picture"
    if end in (".wav", ".wave"):
        return "sound"
    if end == ".npy":
        return "array"
    if end in (".csv", ".tsv", ".edges") and re.search(r"^\w+[,\t]\w+", text_of(some)):
        return "links"
    if end in (".txt", ".md", ".html", ".json", ".xml", ".log"):
        return "text"
    return "bytes"


def opened(path):
    """A file of one or more pictures; of a folder, the first."""
    return Image.open(f"input/{files_of(path)[0]}")


def frames(path):
    """The frames of a clip that are not wholly black, as [frames, height, width] from 0 to 1, and
    their times; the only frame of a picture."""
    seen = []
    for file in files_of(path):
        for image in ImageSequence.Iterator(Image.open(f"input/{file}")):
            seen.append(np.asarray(image.convert("L"), np.float32) / 255)
    kept = [time for time, frame in enumerate(seen) if frame.any()] or [0]
    return np.stack([seen[time] for time in kept]), np.array(kept, float)


def is_clip(column):
    return has_frames(both[column].dropna().iloc[0])


def has_frames(path):
    return len(files_of(path)) > 1 or getattr(opened(path), "n_frames", 1) > 1


def picture(path, size=None, colour=False):
    """Intensities from 0 to 1: [height, width], or [height, width, 3] in colour. Of a clip, the frame
    halfway through."""
    image = opened(path)
    if has_frames(path):
        seen, _ = frames(path)
        image = Image.fromarray((255 * seen[len(seen) // 2]).round().astype(np.uint8))
    if image.mode in ("I;16", "I", "F"):
        values = np.asarray(image, float)
        values = (values - values.min()) / max(EPS, values.max() - values.min())
        image = Image.fromarray((255 * values).astype(np.uint8))
    image = image.convert("RGB" if colour else "L")
    if size is not None and image.size != size:
        image = image.resize(size, Image.Resampling.BILINEAR)
    return np.asarray(image, np.float32) / 255


def is_coloured(column):
    return opened(both[column].dropna().iloc[0]).mode in ("RGB", "RGBA", "P", "CMYK")


def working_size(column, most=96):
    """Width and height at which the pictures of a column are worked on: their own, up to a bound."""
    width, height = opened(both[column].dropna().iloc[0]).size
    scale = min(1.0, most / max(width, height))
    return max(8, round(width * scale)), max(8, round(height * scale))


def sound(path):
    """Rate in hertz and samples from -1 to 1, of one channel."""
    with wave.open(f"input/{path}") as file:
        width, channels = file.getsampwidth(), file.getnchannels()
        data = file.readframes(file.getnframes())
        rate = file.getframerate()
    kind = {1: np.uint8, 2: "<i2", 4: "<i4"}.get(width)
    if kind is None:
        raise Unknown(f"sounds of {width} bytes a sample")
    values = np.frombuffer(data, kind).astype(np.float32)
    values = (values - 128) / 128 if width == 1 else values / 2 ** (8 * width - 1)
    return rate, values.reshape(-1, channels).mean(axis=1)


def is_long(rate, values):
    """Whether a sound is one in which something may be heard again and again."""
    return len(values) > 3 * rate


def links(path):
    """Names of both ends and weight of each line of a file of links, below its header."""
    lines = text_of(path).splitlines()[1:]
    cells = [re.split(r"[,;\t]", line) for line in lines if line.strip()]
    frame = pd.DataFrame(cells)
    ones = pd.Series(1.0, frame.index)
    weight = pd.to_numeric(frame[2], errors="coerce").fillna(1) if frame.shape[1] > 2 else ones
    return frame[0], frame[1], weight


def texts(column):
    """The texts of all rows of a column, which may name files."""
    cells = both[column].fillna("").astype(str)
    if column in FILES:
        return [text_of(cell) if cell else "" for cell in cells]
    return list(cells)


def plain_picture(path):
    grey = picture(path)
    down, across = np.diff(grey, axis=0), np.diff(grey, axis=1)
    out = [
        grey.mean(),
        grey.std(),
        *np.quantile(grey, [0.05, 0.5, 0.95]),
        np.abs(down).mean(),
        np.abs(across).mean(),
    ]
    out += [
        grey[: len(grey) // 2].mean() - grey.mean(),
        grey[:, : grey.shape[1] // 2].mean() - grey.mean(),
        grey.size,
    ]
    colours = picture(path, colour=True)
    return out + [*colours.mean(axis=(0, 1))]


def plain_sound(path):
    rate, values = sound(path)
    power = np.abs(np.fft.rfft(values)) ** 2 + EPS
    pitch = np.fft.rfftfreq(len(values), 1 / rate)
    centre = (pitch * power).sum() / power.sum()
    return [
        len(values) / rate,
        np.log(values.std() + 1e-6),
        np.abs(values).max(),
        (np.diff(np.signbit(values)) != 0).mean(),
        centre,
        np.sqrt(((pitch - centre) ** 2 * power).sum() / power.sum()),
    ]


def plain_text(text):
    words = text.split()
    return [
        len(text),
        len(words),
        np.mean([len(word) for word in words]) if words else 0,
        len({word.lower() for word in words}) / max(1, len(words)),
        sum(letter.isdigit() for letter in text),
        sum(letter.isupper() for letter in text),
        sum(letter in ".,;:!?" for letter in text),
    ]


def plain_links(path):
    a, b, weight = links(path)
    ends = pd.concat([a, b]).value_counts()
    return [len(a), len(ends), ends.mean(), ends.max(), ends.std(ddof=0), weight.mean(), weight.std(ddof=0)]


def plain_bytes(path):
    return [os.path.getsize(f"input/{path}")]


def plain_items():
    """A frame of cheap statistics of all items of all rows."""
    frames = []
    for column in [*FILES, *TEXTS]:
        kind = medium(column) if column in FILES else "text"
        if kind == "text":
            rows = [plain_text(text) for text in texts(column)]
        else:
            measure = {"picture": plain_picture, "sound": plain_sound, "links": plain_links}.get(
                kind, plain_bytes
            )
            known = {path: measure(path) for path in both[column].dropna().unique()}
            width = len(next(iter(known.values())))
            rows = [known.get(path, [np.nan] * width) for path in both[column]]
        frames.append(pd.DataFrame(rows).add_prefix(f"{column}: "))
    return pd.concat(frames, axis=1) if frames else pd.DataFrame(index=both.index)
