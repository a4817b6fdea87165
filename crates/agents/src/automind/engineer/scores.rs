//! The Python that scores held-out rows: a function `score(y, o)` by the metric that the page names,
//! or by a plain one of the same direction.

use super::reading::{Form, Reading};

/// Lines that define `score`, for predictions of columns. `_labels` are the classes, `_pick` turns
/// probabilities into classes, and `_queries` are the queries of a ranking.
pub(super) fn of_columns(reading: &Reading) -> String {
    let metric = reading.metric.as_str();
    match reading.form {
        Form::Number | Form::Numbers => of_numbers(metric, reading.higher),
        Form::Quantiles => PINBALL.to_owned(),
        Form::Relevance => {
            let most = metric.rsplit('_').next().filter(|most| most.parse::<u32>().is_ok());
            NDCG.replace("{most}", most.unwrap_or("5"))
        }
        Form::Probabilities | Form::Flags => of_flags(metric, reading.higher),
        Form::Unknown => {
            let numbers = if reading.higher { "r2" } else { "rmse" };
            let classes = if reading.higher { "accuracy" } else { "log_loss" };
            format!(
                "if is_class:\n{}else:\n{}",
                indented(&of_classes(classes, reading.higher)),
                indented(&of_numbers(numbers, reading.higher))
            )
        }
        _ => of_classes(metric, reading.higher),
    }
}

/// `code` one level deeper.
pub(super) fn indented(code: &str) -> String {
    let deeper = |line: &str| {
        if line.trim().is_empty() { "\n".to_owned() } else { format!("    {line}\n") }
    };
    code.lines().map(deeper).collect()
}

fn of_numbers(metric: &str, higher: bool) -> String {
    let known = [
        ("rmse", "np.sqrt(np.mean(e ** 2))"),
        ("mcrmse", "np.mean(np.sqrt(np.mean(e ** 2, axis=0)))"),
        ("mae", "np.mean(abs(e))"),
        ("median_ae", "np.median(abs(e))"),
        ("rmsle", "np.sqrt(np.mean((np.log1p(np.clip(o, 0, None)) - np.log1p(y)) ** 2))"),
        ("mape", "np.mean(abs(e) / np.maximum(abs(y), 1e-9))"),
        ("smape", "np.mean(2 * abs(e) / np.maximum(abs(y) + abs(o), 1e-9))"),
        ("r2", "1 - np.sum(e ** 2) / np.sum((y - y.mean(axis=0)) ** 2)"),
        ("pearson", "np.corrcoef(np.ravel(y), np.ravel(o))[0, 1]"),
        ("spearman", "pd.Series(np.ravel(y)).corr(pd.Series(np.ravel(o)), method=\"spearman\")"),
    ];
    let plain = if higher { "r2" } else { "rmse" };
    let find = |name: &str| known.iter().find(|(known, _)| *known == name).map(|(_, code)| *code);
    let value = find(metric).or_else(|| find(plain)).unwrap_or_default();
    format!(
        "def _score(y, o):\n    y, o = np.asarray(y, float), np.asarray(o, float)\n    e = o - y\n    \
         return float({value})\n"
    )
}

const PICK: &str = "\
def _pick(o):
    return np.array(_labels)[(o > 0.5).astype(int) if o.ndim == 1 else o.argmax(1)]
def _both(o):
    return np.column_stack([1 - o, o]) if o.ndim == 1 else o
";

fn of_classes(metric: &str, higher: bool) -> String {
    let known = [
        ("accuracy", "", "np.mean(_pick(o) == np.array(y))"),
        ("balanced_accuracy", "balanced_accuracy_score", "balanced_accuracy_score(y, _pick(o))"),
        ("f1", "f1_score", "f1_score(y, _pick(o), pos_label=_labels[-1])"),
        ("macro_f1", "f1_score", "f1_score(y, _pick(o), average=\"macro\")"),
        ("micro_f1", "f1_score", "f1_score(y, _pick(o), average=\"micro\")"),
        ("weighted_f1", "f1_score", "f1_score(y, _pick(o), average=\"weighted\")"),
        ("mcc", "matthews_corrcoef", "matthews_corrcoef(y, _pick(o))"),
        (
            "quadratic_kappa",
            "cohen_kappa_score",
            "cohen_kappa_score(y, _pick(o), weights=\"quadratic\")",
        ),
        ("roc_auc", "roc_auc_score", "roc_auc_score(y == _labels[-1], _both(o)[:, -1])"),
        (
            "ovr_auc",
            "roc_auc_score",
            "np.mean([roc_auc_score(y == c, _both(o)[:, k]) for k, c in enumerate(_labels) \
             if 0 < sum(y == c) < len(y)])",
        ),
        (
            "average_precision",
            "average_precision_score",
            "average_precision_score(y == _labels[-1], _both(o)[:, -1])",
        ),
        (
            "log_loss",
            "",
            "-np.mean(np.log(np.clip(_both(o)[range(len(y)), [_labels.index(c) for c in y]], 1e-6, 1)))",
        ),
        ("brier", "", "np.mean((_both(o)[:, -1] - (y == _labels[-1])) ** 2)"),
    ];
    let plain = if higher { "accuracy" } else { "log_loss" };
    let find = |name: &str| known.iter().find(|(known, ..)| *known == name);
    let (_, import, value) =
        find(metric).or_else(|| find(plain)).copied().unwrap_or(("", "", "0.0"));
    let import = if import.is_empty() {
        String::new()
    } else {
        format!("from sklearn.metrics import {import}\n")
    };
    format!("{import}{PICK}def _score(y, o):\n    return float({value})\n")
}

fn of_flags(metric: &str, higher: bool) -> String {
    let averaged = |function: &str, average: &str| {
        format!("{function}(y, o > 0.5, average=\"{average}\", zero_division=0)")
    };
    let (import, value) = match (metric, higher) {
        ("macro_f1" | "f1", _) => ("f1_score", averaged("f1_score", "macro")),
        ("micro_f1", _) => ("f1_score", averaged("f1_score", "micro")),
        ("weighted_f1", _) => ("f1_score", averaged("f1_score", "weighted")),
        ("samples_f1", _) => ("f1_score", averaged("f1_score", "samples")),
        ("macro_jaccard", _) => ("jaccard_score", averaged("jaccard_score", "macro")),
        ("samples_jaccard", _) => ("jaccard_score", averaged("jaccard_score", "samples")),
        (_, true) => (
            "roc_auc_score",
            "np.mean([roc_auc_score(y[c], o[:, k]) for k, c in enumerate(y) if y[c].nunique() > 1])"
                .to_owned(),
        ),
        (_, false) => (
            "log_loss",
            "np.mean([log_loss(y[c], np.clip(o[:, k], 1e-6, 1 - 1e-6), labels=[0, 1]) \
             for k, c in enumerate(y)])"
                .to_owned(),
        ),
    };
    format!("from sklearn.metrics import {import}\ndef _score(y, o):\n    return float({value})\n")
}

const PINBALL: &str = "\
def _score(y, o):
    e = np.asarray(y, float)[:, None] - o
    return float(np.mean(np.maximum(e * [0.1, 0.5, 0.9], e * [-0.9, -0.5, -0.1])))
";

const NDCG: &str = "\
def _score(y, o):
    found = []
    for _, k in pd.DataFrame({\"y\": y.values, \"o\": o, \"g\": _queries.loc[y.index].values}).groupby(\"g\"):
        w = 1 / np.log2(np.arange(2, 2 + min({most}, len(k))))
        v = [k.sort_values(c, ascending=False)[\"y\"].values[:{most}] for c in \"oy\"]
        v = [((2.0 ** r - 1) * w).sum() for r in v]
        found += [v[0] / v[1]] if v[1] > 0 else []
    return float(np.mean(found))
";

/// Lines that define `score` of cells of text `o`, where the truth is `y`, for predictions that are
/// drawn.
pub(super) fn of_cells(reading: &Reading) -> String {
    let metric = reading.metric.as_str();
    match reading.form {
        Form::Mask => MASKS.replace("{value}", if metric == "dice" { DICE } else { IOU }),
        Form::Quantiles => PINBALL.to_owned(),
        Form::Boxes => BOXES.to_owned(),
        Form::Pixels => {
            let value = match (metric, reading.higher) {
                ("mae", _) => "np.mean(abs(e))",
                (_, true) => "20 * np.log10(255 / (np.sqrt(np.mean(e ** 2)) + 1e-9))",
                _ => "np.sqrt(np.mean(e ** 2))",
            };
            PIXELS.replace("{value}", value)
        }
        Form::Text => match (metric, reading.higher) {
            ("word_jaccard", _) => WORDS.to_owned(),
            (_, false) => EDITS.to_owned(),
            _ => EXACT.to_owned(),
        },
        Form::Ids => {
            let most = metric.rsplit('_').next().filter(|most| most.parse::<u32>().is_ok());
            FOUND.replace("{most}", most.unwrap_or("5"))
        }
        _ => of_positions(reading),
    }
}

/// Positions of sequences: predictions are classes or numbers, in columns.
fn of_positions(reading: &Reading) -> String {
    if !reading.form.is_class() {
        return of_numbers(&reading.metric, reading.higher);
    }
    let value = match reading.metric.as_str() {
        "macro_f1" => "f1_score(y, o, average=\"macro\")",
        "weighted_f1" => "f1_score(y, o, average=\"weighted\")",
        "balanced_accuracy" => "balanced_accuracy_score(y, o)",
        "mcc" => "matthews_corrcoef(y, o)",
        _ if reading.higher => "np.mean(y == o)",
        _ => "np.mean(y != o)",
    };
    format!(
        "from sklearn.metrics import balanced_accuracy_score, f1_score, matthews_corrcoef\n\
         def _score(y, o):\n    y, o = np.ravel(y), np.ravel(o)\n    return float({value})\n"
    )
}

const DICE: &str = "2 * len(u & v) / (len(u) + len(v))";
const IOU: &str = "len(u & v) / len(u | v)";

const MASKS: &str = "\
def _cells(r):
    r = [int(v) for v in r.split()] if isinstance(r, str) else []
    return {k for i in range(0, len(r), 2) for k in range(r[i], r[i] + r[i + 1])}
def _score(y, o):
    pairs = [(_cells(u), _cells(v)) for u, v in zip(y, o)]
    return float(np.mean([{value} if u | v else 1.0 for u, v in pairs]))
";

const BOXES: &str = "\
def _overlap(u, v):
    w = [max(0, min(u[k] + u[k + 2], v[k] + v[k + 2]) - max(u[k], v[k])) for k in (0, 1)]
    return w[0] * w[1] / (u[2] * u[3] + v[2] * v[3] - w[0] * w[1])
def _precision(c, true, seen):
    hits, left = [], [[u[1:] for u in r if u[0] == c] for r in true]
    for _, row, v in sorted(((-u[1], row, u[2:]) for row, r in enumerate(seen) for u in r if u[0] == c)):
        best = max(left[row], key=lambda u: _overlap(u, v), default=None)
        hits.append(best is not None and _overlap(best, v) >= 0.5)
        left[row] = [u for u in left[row] if not (hits[-1] and u is best)]
    total = sum(u[0] == c for r in true for u in r)
    return sum(np.mean(hits[:k + 1]) for k, h in enumerate(hits) if h) / total
def _cut(r, k):
    w = r.split() if isinstance(r, str) else []
    return [(w[i], *map(float, w[i + 1:i + k])) for i in range(0, len(w), k)]
def _score(y, o):
    true, seen = [_cut(r, 5) for r in y], [_cut(r, 6) for r in o]
    return float(np.mean([_precision(c, true, seen) for c in sorted({u[0] for r in true for u in r})]))
";

const PIXELS: &str = "\
def _score(y, o):
    y, o = (np.array([k.split() for k in r], float) for r in (y, o))
    e = y - o
    return float({value})
";

const EXACT: &str = "\
def _score(y, o):
    return float(np.mean([str(u).strip() == str(v).strip() for u, v in zip(y, o)]))
";

const WORDS: &str = "\
def _score(y, o):
    pairs = [(set(str(u).lower().split()), set(str(v).lower().split())) for u, v in zip(y, o)]
    return float(np.mean([len(u & v) / len(u | v) if u | v else 1.0 for u, v in pairs]))
";

const EDITS: &str = "\
def _edits(u, v):
    row = list(range(len(v) + 1))
    for i, c in enumerate(u):
        last, row = row, [i + 1]
        for j, d in enumerate(v):
            row.append(min(last[j] + (c != d), last[j + 1] + 1, row[j] + 1))
    return row[-1]
def _score(y, o):
    return float(np.mean([_edits(str(u), str(v)) for u, v in zip(y, o)]))
";

const FOUND: &str = "\
def _score(y, o):
    found = []
    for u, v in zip(y, o):
        u, v = str(u).split(), str(v).split()[:{most}]
        hits = np.cumsum([k in u for k in v])
        precise = [h / (k + 1) for k, h in enumerate(hits) if v[k] in u]
        found.append(sum(precise) / min(len(u), {most}) if u else 0.0)
    return float(np.mean(found))
";
