"""Solver `network`: a small neural network, for a minute of one thread. Convolutions over pictures and
over mel spectra of sounds, an embedding and convolutions over texts, a perceptron over columns, one head
for all of them; pixel by pixel for masks and clean pictures."""

import torch
from torch import nn
from torch.nn import functional

torch.manual_seed(SEED)
# Scripts run side by side, one a core: threads of several of them would wait for each other.
torch.set_num_threads(1)
VOCABULARY = 3000
# Seconds of the processor for all fits together.
BUDGET = min(55, 0.6 * LIMIT)


def spent():
    """How much of the budget is gone; where other work leaves too little of the processor, so much that
    the rest of the wall time is enough."""
    return max(time.process_time(), (time.monotonic() - STARTED) * BUDGET / (0.8 * LIMIT))


def pictures_of(column, side=64):
    """[rows, channels, side, side], with mean 0 and spread 1. The channels of a clip are its first, its
    middle and its last frame."""
    colour = is_coloured(column) or is_clip(column)
    if is_clip(column):
        stack = np.stack([of_clip(path, (side, side)) for path in both[column]])
    else:
        stack = np.stack([picture(path, (side, side), colour) for path in both[column]])
    stack = np.moveaxis(stack, -1, 1) if colour else stack[:, None]
    return torch.tensor((stack - stack[:N].mean()) / (stack[:N].std() + EPS), dtype=torch.float32)


def of_clip(path, size):
    """[height, width, 3]"""
    seen, _ = frames(path)
    some = [Image.fromarray(seen[place]).resize(size) for place in (0, len(seen) // 2, -1)]
    return np.stack([np.asarray(frame, np.float32) for frame in some], axis=-1)


def spectra_of(column, frames=96):
    """[rows, channels, bands, frames]: a spectrum by time; of long sounds, in which calls are short, also
    what stands out from the usual of each band."""
    rows = []
    for path in both[column]:
        rate, values = sound(path)
        if is_long(rate, values):
            mel = resized_spectrum(mel_spectrum(values, rate, bands=32, step=256), 2 * frames)
            above = np.maximum(mel - np.median(mel, axis=1, keepdims=True), 0)
            rows.append(np.stack([mel, 2 * above]))
        else:
            rows.append(resized_spectrum(mel_spectrum(values, rate, bands=40), frames)[None])
    stack = np.stack(rows)
    mean = stack[:N].mean(axis=(0, 2, 3), keepdims=True)
    spread = stack[:N].std(axis=(0, 2, 3), keepdims=True) + EPS
    return torch.tensor((stack - mean) / spread, dtype=torch.float32)


def resized_spectrum(mel, frames):
    return np.asarray(
        Image.fromarray(mel.astype(np.float32)).resize((frames, len(mel)), Image.Resampling.BILINEAR)
    )


def tokens_of(column, least=300, most=900):
    """[rows, length]: numbers of words, 0 for none and 1 for rare ones. Longer texts are cut."""
    words = [re.findall(r"[a-z']+|\d+|[.;?!]", text.lower()) for text in texts(column)]
    length = min(most, max(least, int(np.median([len(row) for row in words]))))
    counts = pd.Series([word for row in words for word in row]).value_counts()
    known = {word: place + 2 for place, word in enumerate(counts.index[counts > 1][: VOCABULARY - 2])}
    rows = np.zeros((len(words), length), int)
    for place, row in enumerate(words):
        numbers = [known.get(word, 1) for word in row[:length]]
        rows[place, : len(numbers)] = numbers
    return torch.tensor(rows)


def block(channels, width, stride=(1, 1)):
    size = tuple(2 * step + 1 for step in stride)
    return nn.Sequential(
        nn.Conv2d(channels, width, size, stride, stride), nn.BatchNorm2d(width), nn.ReLU(),
        nn.Conv2d(width, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU(), nn.MaxPool2d(2),
    )  # fmt: skip


class Grid(nn.Module):
    """Convolutions over pictures or spectra; means and maxima of what they find, over all of a picture, or
    over the time of a spectrum. Its `bands` are kept apart, since what a sound is lies in its pitch."""

    def __init__(self, channels, moves, bands=0):
        super().__init__()
        # Half the resolution at once: the first convolutions cost most, and epochs gain more.
        first = block(channels, 16, (1, 2) if bands else (2, 2))
        self.layers = nn.Sequential(first, block(16, 32), block(32, 48))
        self.moves, self.over = moves, (3,) if bands else (2, 3)
        self.size = 96 * max(1, bands // 8)

    def forward(self, x):
        if self.training:
            x = moved(x, self.moves)
        x = self.layers(x)
        return torch.cat([x.mean(dim=self.over), x.amax(dim=self.over)], 1).flatten(1)


def moved(x, moves):
    """Shifted a little, lighter or darker, with a little noise. Nothing is turned or mirrored: what is
    asked for may be a direction."""
    down, right = (int(torch.randint(-most, most + 1, ())) for most in moves)
    x = torch.roll(x, (down, right), (2, 3))
    light = 1 + 0.15 * torch.randn(len(x), 1, 1, 1)
    return x * light + 0.1 * torch.randn(len(x), 1, 1, 1) + 0.1 * torch.randn_like(x)


class Prose(nn.Module):
    """Words and runs of words: their means and maxima over a text."""

    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(VOCABULARY, 32, padding_idx=0)
        self.runs = nn.ModuleList([nn.Conv1d(32, 32, width, padding=width // 2) for width in (3, 5)])
        self.size = 32 + 2 * 64

    def forward(self, x):
        mask = (x > 0).float()[:, None]
        e = functional.dropout(self.words(x), 0.3, self.training).transpose(1, 2)
        parts = [(e * mask).sum(2) / mask.sum(2).clamp(min=1)]
        for layer in self.runs:
            h = functional.relu(layer(e))[:, :, : x.shape[1]] * mask
            parts += [h.amax(2), h.sum(2) / mask.sum(2).clamp(min=1)]
        return torch.cat(parts, 1)


class Columns(nn.Module):
    """A perceptron over the columns of a table."""

    def __init__(self, width):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(width, 64), nn.ReLU(), nn.Dropout(0.2), nn.Linear(64, 48), nn.ReLU()
        )
        self.size = 48

    def forward(self, x):
        return self.layers(x + 0.05 * torch.randn_like(x) if self.training else x)


class Whole(nn.Module):
    """All readers of a row's parts, and one head."""

    def __init__(self, readers, outputs):
        super().__init__()
        self.readers = nn.ModuleList(readers)
        width = sum(reader.size for reader in readers)
        self.head = nn.Sequential(nn.Dropout(0.25), nn.Linear(width, 48), nn.ReLU(), nn.Linear(48, outputs))

    def forward(self, parts):
        return self.head(torch.cat([reader(part) for reader, part in zip(self.readers, parts)], 1))


def parts_and_readers(y):
    """The parts of all rows as tensors, and a function that makes a reader for each."""
    parts, makers = [], []
    for column in FILES:
        kind = medium(column)
        if kind == "picture":
            parts.append(pictures_of(column))
            makers.append(lambda channels=parts[-1].shape[1]: Grid(channels, (4, 4)))
        elif kind == "sound":
            parts.append(spectra_of(column))
            makers.append(lambda shape=parts[-1].shape: Grid(shape[1], (1, 8), shape[2]))
        elif kind == "text":
            parts.append(tokens_of(column))
            makers.append(Prose)
    for column in TEXTS:
        parts.append(tokens_of(column))
        makers.append(Prose)
    columns = {**plain_columns(y), **joined_tables()}
    if STEP:
        columns.update(series_features(columns))
    if os.path.exists("input/edges.csv") and ID in train:
        columns.update(node_features(columns, y))
    for column in FILES:
        if medium(column) == "links":
            columns.update(graph_features(column))
    if QUERY:
        columns.update(query_features(columns))
    if columns:
        x = framed(columns).to_numpy(float)
        x = np.clip((x - x[:N].mean(axis=0)) / (x[:N].std(axis=0) + 1e-6), -5, 5)
        parts.append(torch.tensor(x, dtype=torch.float32))
        makers.append(lambda width=x.shape[1]: Columns(width))
    if not parts:
        raise Unknown("rows with nothing that a network could read")
    return parts, makers


def loss_of(out, aim):
    if is_classes():
        return functional.cross_entropy(out, aim[:, 0])
    if KIND in ("probabilities", "flags"):
        return functional.binary_cross_entropy_with_logits(out, aim)
    if METRIC in ("mae", "median_ae", "mape", "smape"):
        return functional.smooth_l1_loss(out, aim, beta=0.3)
    return functional.mse_loss(out, aim)


def trained(make, parts, aim, rows, rest, seconds, epochs=150, batch=32):
    """A model fitted to `rows`, with the weights at which it did best on `rest`; its outputs for all."""
    model = make()
    draws = np.random.default_rng(SEED)
    begin = spent()
    optimiser = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=0.02)
    best, kept, since = np.inf, None, 0
    for epoch in range(epochs):
        share = max(epoch / epochs, (spent() - begin) / seconds)
        if (share >= 1 and kept) or since > 40:
            break
        share = min(share, 1.0)
        for group in optimiser.param_groups:
            group["lr"] = 2e-3 * (0.5 + 0.5 * np.cos(np.pi * share)) + 2e-5
        model.train()
        order = draws.permutation(rows)
        for at in range(0, len(order) - 1, batch):
            some = order[at : at + batch]
            if len(some) < 2:
                continue
            optimiser.zero_grad()
            loss_of(model([part[some] for part in parts]), aim[some]).backward()
            nn.utils.clip_grad_norm_(model.parameters(), 2.0)
            optimiser.step()
        model.eval()
        with torch.no_grad():
            value = float(loss_of(model([part[rest] for part in parts]), aim[rest]))
        since += 1
        if value < best:
            best, since = value, 0
            kept = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    model.load_state_dict(kept)
    model.eval()
    with torch.no_grad():
        chunks = [model([part[at : at + 128] for part in parts]) for at in range(0, len(both), 128)]
    return torch.cat(chunks)


class Along(nn.Module):
    """Convolutions along sequences that see further and further, with a way past each of them."""

    def __init__(self, channels, outputs, width=48):
        super().__init__()
        self.first = nn.Conv1d(channels, width, 5, padding=2)
        steps = (1, 2, 4, 8, 16)
        self.layers = nn.ModuleList(
            [nn.Conv1d(width, width, 3, padding=step, dilation=step) for step in steps]
        )
        self.out = nn.Sequential(nn.Conv1d(width, width, 1), nn.ReLU(), nn.Conv1d(width, outputs, 1))

    def forward(self, x):
        mask = x[:, :1]
        h = functional.relu(self.first(x)) * mask
        for layer in self.layers:
            h = h + functional.dropout(functional.relu(layer(h)), 0.1, self.training) * mask
        return self.out(h)


def learn_along():
    """Answers to positions: one network over whole sequences, a fold after another."""
    y = truth()
    numbers = not is_classes()
    mean, spread = (y.mean(axis=0), y.std(axis=0) + EPS) if numbers else (0.0, 1.0)
    lengths = np.array([len(one) for one in LISTS])
    ends = np.cumsum(lengths)
    whole = framed(plain_columns(y)).to_numpy(float)
    whole = (whole - whole.mean(axis=0)) / (whole.std(axis=0) + 1e-6)
    x = np.zeros((len(LISTS), 1 + whole.shape[1], lengths.max()), np.float32)
    aim = np.zeros((len(LISTS), y.shape[1], lengths.max()), np.float32)
    for row, (end, length) in enumerate(zip(ends, lengths)):
        x[row, 0, :length], x[row, 1:, :length] = 1, whole[end - length : end].T
        if end <= N:
            aim[row, :, :length] = ((y[end - length : end] - mean) / spread).T
    x, aim = torch.tensor(x), torch.tensor(aim)
    known = int((ends <= N).sum())
    fold = folds_of(y, parts=4)[ends[:known] - 1]
    outputs = class_count() if is_classes() else y.shape[1]

    def loss(model, some):
        out, mask = model(x[some]), x[some, 0] > 0
        out, right = out.transpose(1, 2)[mask], aim[some].transpose(1, 2)[mask]
        return loss_of(out, right.long() if is_classes() else right)

    held, ahead = np.zeros((N, outputs)), 0
    begin = spent()
    for part in range(4):
        model, draws = Along(x.shape[1], outputs), np.random.default_rng(SEED)
        optimiser = torch.optim.AdamW(model.parameters(), lr=4e-3, weight_decay=0.01)
        rows, rest = np.nonzero(fold != part)[0], np.nonzero(fold == part)[0]
        best, kept, epochs = np.inf, None, 60
        for epoch in range(epochs):
            share = max(epoch / epochs, (spent() - begin) * 4 / (0.5 * BUDGET) - part)
            if share >= 1 and kept:
                break
            for group in optimiser.param_groups:
                group["lr"] = 4e-3 * (0.5 + 0.5 * np.cos(np.pi * min(share, 1))) + 2e-5
            model.train()
            for some in np.array_split(draws.permutation(rows), max(1, len(rows) // 8)):
                optimiser.zero_grad()
                loss(model, some).backward()
                optimiser.step()
            model.eval()
            with torch.no_grad():
                value = float(loss(model, rest))
            if value < best:
                best, kept = value, {name: tensor.clone() for name, tensor in model.state_dict().items()}
        model.load_state_dict(kept)
        model.eval()
        with torch.no_grad():
            out = model(x).transpose(1, 2)[x[:, 0] > 0]
        values = torch.softmax(out, 1).numpy() if is_classes() else out.numpy() * spread + mean
        rest = np.isin(GROUP, rest)
        held[rest] = values[:N][rest]
        ahead = ahead + values[N:] / 4
    hand_in(held, ahead)


def learn():
    load()
    if LISTS:
        return learn_along()
    if KIND in ("mask", "pixels"):
        return learn_pixels()
    if KIND == "boxes":
        raise Unknown("boxes")
    y = truth()
    parts, makers = parts_and_readers(y)
    numbers = KIND in ("number", "numbers", "quantiles", "relevance")
    scale = to_scale(y) if numbers and on_logs(y) else y.astype(float)
    mean, spread = (scale.mean(axis=0), scale.std(axis=0) + EPS) if numbers else (0.0, 1.0)
    kind = torch.long if is_classes() else torch.float32
    aim = torch.tensor((scale - mean) / spread, dtype=kind)
    outputs = class_count() if is_classes() else y.shape[1]
    fold = folds_of(y, parts=4)
    held, ahead = None, 0
    left = max(1, BUDGET - spent())
    for part in range(4):
        rows, rest = np.nonzero(fold != part)[0], np.nonzero(fold == part)[0]
        out = trained(
            lambda: Whole([make() for make in makers], outputs),
            parts,
            aim,
            rows,
            rest,
            left / 4,
        )
        if is_classes():
            values = torch.softmax(out, 1).numpy()
        elif numbers:
            values = out.numpy() * spread + mean
            values = from_scale(values, y) if on_logs(y) else values
        else:
            values = torch.sigmoid(out).numpy()
        held = np.zeros((N, values.shape[1])) if held is None else held
        held[rest] = values[rest]
        ahead = ahead + values[N:] / 4
    hand_in(held, ahead)


class Pixels(nn.Module):
    """Convolutions that see further and further, with a way past them."""

    def __init__(self, width=20):
        super().__init__()
        steps = [1, 2, 4, 8, 1]
        layers = [nn.Conv2d(1, width, 3, padding=1), nn.ReLU()]
        for step in steps:
            layers += [
                nn.Conv2d(width, width, 3, padding=step, dilation=step),
                nn.BatchNorm2d(width),
                nn.ReLU(),
            ]
        self.layers, self.out = nn.Sequential(*layers), nn.Conv2d(width + 1, 1, 1)

    def forward(self, x):
        return self.out(torch.cat([self.layers(x), x], 1))[:, 0]


def learn_pixels():
    """Masks, or what a clean picture is above its damaged one, pixel by pixel."""
    full = picture_size()
    masks = KIND == "mask"
    scale = min(1.0, 96 / max(full)) if masks else 1.0
    size = (max(8, round(full[0] * scale)), max(8, round(full[1] * scale)))
    grey = np.stack([picture(path, size) for path in both[FILES[0]]])
    if masks:
        aim = np.stack(
            [
                np.asarray(
                    Image.fromarray(decoded(cell, full).astype(np.float32)).resize(
                        size, Image.Resampling.BILINEAR
                    )
                )
                for cell in raw[TARGET]
            ]
        )
        levels, base = 1, 0.0
    else:
        clean = np.stack([numbers_of(cell) for cell in raw[TARGET]]).reshape(N, size[1], size[0])
        levels = clean.max()
        aim, base = clean / levels - grey[:N], grey
    x = torch.tensor((grey - grey[:N].mean()) / (grey[:N].std() + EPS), dtype=torch.float32)[:, None]
    y = torch.tensor(aim, dtype=torch.float32)
    model, draws = Pixels(), np.random.default_rng(SEED)
    optimiser = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=1e-3)
    rest = draws.permutation(N)[: max(4, N // 6)]
    rows = np.setdiff1d(np.arange(N), rest)
    best, kept = np.inf, None

    def loss(some):
        out = model(x[some])
        if masks:
            weight = torch.where(y[some] > 0.5, 2.0, 1.0)
            return functional.binary_cross_entropy_with_logits(out, y[some], weight)
        return functional.l1_loss(out, y[some]) if METRIC == "mae" else functional.mse_loss(out, y[some])

    while (share := spent() / BUDGET) < 1 or kept is None:
        share = min(share, 1.0)
        for group in optimiser.param_groups:
            group["lr"] = 3e-3 * (0.5 + 0.5 * np.cos(np.pi * share))
        model.train()
        for some in np.array_split(draws.permutation(rows), max(1, len(rows) // 8)):
            optimiser.zero_grad()
            loss(some).backward()
            optimiser.step()
        model.eval()
        with torch.no_grad():
            value = float(loss(rest))
        if value < best:
            best, kept = value, {name: tensor.clone() for name, tensor in model.state_dict().items()}
    model.load_state_dict(kept)
    model.eval()
    with torch.no_grad():
        out = torch.cat([model(x[at : at + 16]) for at in range(0, len(x), 16)]).numpy()
    if not masks:
        values = np.clip(np.round((out + base)[N:] * levels), 0, levels).astype(int).reshape(len(test), -1)
        return submit({OUT[0]: [" ".join(map(str, row)) for row in values]})
    chance = 1 / (1 + np.exp(-out))
    cuts = np.linspace(0.25, 0.75, 11)

    def score(cut):
        pairs = [(chance[row] > cut, aim[row] > 0.5) for row in rest]
        return np.mean([2 * (a & b).sum() / max(1, a.sum() + b.sum()) for a, b in pairs])

    cut = max(cuts, key=score)
    wide = [
        np.asarray(Image.fromarray(p.astype(np.float32)).resize(full, Image.Resampling.BILINEAR))
        for p in chance[N:]
    ]
    submit({OUT[0]: [encoded(p > cut) for p in wide]})


solve_by(learn, constant)
