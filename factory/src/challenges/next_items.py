# Ranks items by what people do: `answers(a, b, t)`, by RULE.


def next_items(words, number, chosen):
    mover = words[RULE["mover"]]
    move = next(one for one in RULE["moves"] if one["word"] == mover)
    step = move["above"] if number > RULE["threshold"] else move["below"]
    liked = words[1 - RULE["mover"]]
    liked = next(one["items"] for one in RULE["likings"] if one["word"] == liked)
    items, shape = RULE["items"], RULE["shape"]
    gap = {"turn": 1, "leap": 2}.get(shape, step)
    place = items.index(chosen[-gap])
    if shape in ("turn", "leap"):
        kind = (place // 4 + step) % 6
        fit = items[4 * kind : 4 * kind + 4]
        known = [item for item in chosen if item in fit]
        if RULE["repeats"] == "fresh":
            fit = [item for item in fit if item not in chosen[-3:]]
        elif RULE["repeats"] == "faithful" and known:
            fit = known[-1:]
    else:
        fit = [items[(place + (shape == "sequel")) % len(items)]]
    return sorted(items, key=lambda item: (item not in fit, item not in liked))[:5]


def answers(a, b, t):
    rows = zip(b.iloc[:, 1], b.iloc[:, 2], b.iloc[:, 3].astype(float), b.iloc[:, 4])
    return [" ".join(next_items((v, w), x, chosen.split())) for v, w, x, chosen in rows]


