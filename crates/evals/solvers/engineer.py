"""Solver `engineer`: careful work with ordinary means. Repaired columns and ordinary features of items,
three models compared by cross-validation on the right loss, predictions tuned to the metric."""


def careful():
    load()
    if KIND in ("mask", "boxes", "pixels"):
        return {"mask": plain_masks, "boxes": plain_boxes, "pixels": plain_pixels}[KIND]()
    y = truth()
    x = ordinary(y).to_numpy(float)
    fold = folds_of(y)
    aim, back = y, lambda values: values
    if on_logs(y):
        aim, back = to_scale(y), lambda values: from_scale(values, y)
    results = []
    # Forests of thousands of positions take too long.
    for model in (line, boosted) if LISTS else (line, trees, boosted):
        if results and left() < 15:
            break
        held, ahead = crossed(model, x, aim, fold)
        results.append((error(y, back(held)), back(held), back(ahead)))
    results.sort(key=lambda result: result[0])
    # The mean of the two best, unless the second is far behind.
    best, others = results[0], results[1:2]
    for second in others:
        both_held, both_ahead = (best[1] + second[1]) / 2, (best[2] + second[2]) / 2
        if error(y, both_held) < best[0]:
            best = (error(y, both_held), both_held, both_ahead)
    hand_in(best[1], best[2], widths_of(y, best[1], x, fold))


solve_by(careful, constant)
