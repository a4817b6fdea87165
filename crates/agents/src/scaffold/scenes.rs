//! The Python that scripted agents write for pictures whose answer is a mask, boxes or a better
//! picture.
//!
//! Each level is a script of its own over a shared opening: one threshold or filter; usual
//! features (forests over pixels or pieces, a small linear filter); more of them, tuned on the
//! training rows; and the hidden rule's own measure, whose function (`maps`, `powers` or `fill`)
//! the factory records.

use super::recipe::Recipe;
use super::scripted::ScriptedLevel;
use tasks::prediction::Prediction;

/// The tables, and the pictures from 0 (black) to 1 (white).
const OPENING: &str = r#"import numpy as np
import pandas as pd
from PIL import Image
from scipy import ndimage as nd
a = pd.read_csv("input/train.csv")
b = pd.read_csv("input/test.csv")
s = pd.read_csv("input/sample_submission.csv")
t = s.columns[1]
def load(p):
    return np.array([np.array(Image.open("input/" + q)) for q in p])
u = load(a.iloc[:, 1]) / 255
v = load(b.iloc[:, 1]) / 255
"#;

/// Training masks, and how masks are written and compared.
const MASKS: &str = r#"m = load("masks/" + a.iloc[:, 0].astype(str) + ".png") > 0
def rle(k):
    d = np.flatnonzero(np.diff(np.pad(k.T.ravel(), 1).astype(int))) + 1
    d[1::2] -= d[::2]
    return " ".join(map(str, d))
def dice(k):
    return 2 * (k & m).sum() / (k.sum() + m.sum())
"#;

const MASKS_THRESHOLD: &str = r"u, v = [nd.gaussian_filter(g, (0, 1, 1)) for g in (u, v)]
f = np.sign(u[m].mean() - u[~m].mean())
q = max(np.quantile(f * u, np.arange(0.3, 1, 0.05)), key=lambda q: dice(f * u > q))
p = f * v
";

/// Brightness and edges around a pixel.
const MASKS_EDGES: &str = r"def maps(g):
    e = np.hypot(nd.sobel(g, 1), nd.sobel(g, 2))
    r = [nd.gaussian_filter(h, (0, k, k)) for h in (g, e) for k in (1, 2)]
    return np.stack(r, -1).reshape(-1, len(r))
";

/// Brightness, the products of slopes, which distinguish directions, and fine detail.
const MASKS_SLOPES: &str = r"def maps(g):
    y, x = nd.sobel(g, 1), nd.sobel(g, 2)
    d = g - nd.gaussian_filter(g, (0, 1, 1))
    r = [nd.gaussian_filter(h, (0, 2, 2)) for h in (g, y * y, x * x, x * y, d * d)]
    r.append(nd.gaussian_filter(g, (0, 1, 1)))
    return np.stack(r, -1).reshape(-1, len(r))
";

const MASKS_SAMPLE: &str = r"x = maps(u)
i = np.random.default_rng(0).choice(len(x), 4000)
";

const MASKS_SMOOTH: &str = r"def smooth(g):
    p = c.predict_proba(maps(g))[:, 1].reshape(g.shape)
    return nd.gaussian_filter(p, (0, 1, 1))
p = smooth(u)
q = max(np.arange(0.2, 0.8, 0.05), key=lambda q: dice(p > q))
p = smooth(v)
";

/// Training boxes, and the pieces of pictures that stand out.
const BOXES: &str = r#"def boxes(r):
    w = r.split()
    return [(w[j], *map(float, w[j + 1:j + 5])) for j in range(0, len(w), 5)]
y = [boxes(r) for r in a[t].fillna("")]
e = [g[int(r[2] + r[4] / 2), int(r[1] + r[3] / 2)] for g, k in zip(u, y) for r in k]
f = np.sign(np.mean(e) - u.mean())
def pieces(d):
    for i, g in enumerate(d):
        h = nd.gaussian_filter(f * g, 1.2)
        l, n = nd.label(h > np.quantile(h, [0.4, 0.97]).mean())
        for j, q in enumerate(nd.find_objects(l)):
            k = l[q] == j + 1
            if k.sum() >= 20:
                o = q[1].start, q[0].start, *k.shape[::-1]
                yield i, o, g[q], k
o = [""] * len(v)
"#;

const BOXES_COMMON: &str = r#"c = pd.Series([r[0] for k in y for r in k]).mode()[0]
for i, k, g, m in pieces(v):
    o[i] += " ".join([c, "0.5", *map(str, k), ""])
"#;

/// A forest names pieces from their features.
const BOXES_NAMED: &str = r#"def name(i, k):
    for r in y[i]:
        if abs(r[1] + r[3] / 2 - k[0] - k[2] / 2) + abs(r[2] + r[4] / 2 - k[1] - k[3] / 2) < 5:
            return r[0]
    return ""
p = list(pieces(u))
c.fit([features(*k) for k in p], [name(*k[:2]) for k in p])
p = list(pieces(v))
for k, z in zip(p, c.predict_proba([features(*k) for k in p])):
    for n, q in zip(c.classes_, z):
        if n and q > 0.03:
            o[k[0]] += " ".join([n, *map(str, [q, *k[1]]), ""])
"#;

/// Clean training pictures, and how pictures are written.
const PIXELS: &str = r#"y = np.array([r.split() for r in a[t]], float).reshape(u.shape)
k = y.max()
def write(p):
    return [" ".join(map(str, r)) for r in p.round().clip(0, k).astype(int).reshape(len(p), -1)]
"#;

/// One filter, and the straight line that undoes what the damage did to brightness.
const PIXELS_BLUR: &str = r"def blur(g, w):
    return nd.gaussian_filter(g, (0, w, w))
w = max([0, 0.5, 0.8, 1.2], key=lambda w: np.corrcoef(blur(u, w).ravel(), y.ravel())[0, 1])
p = np.polyfit(blur(u, w).ravel(), y.ravel(), 1)
s[t] = write(np.polyval(p, blur(v, w)))
";

/// The pixels around each in every layer, `d` to each side.
const PIXELS_PATCHES: &str = r#"def patches(g):
    h = [np.pad(m, ((0, 0), (d, d), (d, d)), "edge") for m in layers(g)]
    z = [sliding_window_view(m, (2 * d + 1, 2 * d + 1), (1, 2)) for m in h]
    return np.concatenate([m.reshape(g.size, -1) for m in z], 1)
"#;

/// The script of a level for a prediction of a picture, given what the factory recorded of the
/// hidden rule. Without a record (tasks from elsewhere) the oracle is the best level below it.
pub(crate) fn script(recipe: &Recipe, prediction: &Prediction, hidden: &str) -> Option<String> {
    let approach = match recipe.approach {
        ScriptedLevel::Oracle if hidden.is_empty() => ScriptedLevel::Operators,
        approach => approach,
    };
    let solve = match prediction {
        Prediction::Mask { .. } => masks,
        Prediction::Boxes { .. } => boxes,
        Prediction::Pixels { .. } => pixels,
        _ => return None,
    };
    let body = solve(recipe, approach, hidden)?;
    Some(format!("{OPENING}{body}s.to_csv(\"submission.csv\", index=False)"))
}

fn masks(recipe: &Recipe, approach: ScriptedLevel, hidden: &str) -> Option<String> {
    // There are thousands of pixels, so leaves may be larger and fewer trees do.
    let (trees, leaf) = (recipe.trees / 2, 4 * recipe.leaf);
    let ensemble = "from sklearn.ensemble import RandomForestClassifier\n";
    let forest = |more: &str| {
        format!(
            "c = RandomForestClassifier({trees}, min_samples_leaf={leaf}{more}, random_state=0)\n\
             c.fit(x[i], m.ravel()[i])\n"
        )
    };
    let body = match approach {
        ScriptedLevel::Constant => return None,
        ScriptedLevel::Linear => MASKS_THRESHOLD.to_owned(),
        ScriptedLevel::Forest => format!(
            "{ensemble}{MASKS_EDGES}{MASKS_SAMPLE}{}\
             p = c.predict_proba(maps(v))[:, 1].reshape(v.shape)\n\
             q = 0.5\n",
            forest(", class_weight=\"balanced\"")
        ),
        ScriptedLevel::Operators => {
            format!("{ensemble}{MASKS_SLOPES}{MASKS_SAMPLE}{}{MASKS_SMOOTH}", forest(""))
        }
        ScriptedLevel::Oracle => format!(
            "from sklearn.linear_model import LogisticRegression\n\
             from sklearn.pipeline import make_pipeline\n\
             from sklearn.preprocessing import PolynomialFeatures, StandardScaler\n\
             {hidden}{MASKS_SAMPLE}\
             c = LogisticRegression(C={}, max_iter=500)\n\
             c = make_pipeline(StandardScaler(), PolynomialFeatures(), c)\n\
             c.fit(x[i], m.ravel()[i])\n{MASKS_SMOOTH}",
            recipe.strength
        ),
    };
    Some(format!("{MASKS}{body}s[t] = [rle(k) for k in p > q]\n"))
}

fn boxes(recipe: &Recipe, approach: ScriptedLevel, hidden: &str) -> Option<String> {
    let Recipe { trees, leaf, .. } = recipe;
    // Size and tone; what slopes add; what the rule's own filters add.
    let (prepare, more) = match approach {
        ScriptedLevel::Constant => return None,
        ScriptedLevel::Linear => return Some(format!("{BOXES}{BOXES_COMMON}s[t] = o\n")),
        ScriptedLevel::Forest => ("", ""),
        ScriptedLevel::Operators => (
            "    d, e = np.diff(g, axis=0)[k[1:]], np.diff(g, axis=1)[k[:, 1:]]\n",
            ", d.std(), e.std()",
        ),
        ScriptedLevel::Oracle => ("", ", *powers(o, g, k)"),
    };
    let hidden = if approach == ScriptedLevel::Oracle { hidden } else { "" };
    Some(format!(
        "from sklearn.ensemble import RandomForestClassifier\n{BOXES}{hidden}\
         def features(i, o, g, k):\n{prepare}    \
         return [*o[2:], k.sum(), g[k].mean(), g[k].std(){more}]\n\
         c = RandomForestClassifier({trees}, min_samples_leaf={leaf}, random_state=0)\n\
         {BOXES_NAMED}s[t] = o\n"
    ))
}

fn pixels(recipe: &Recipe, approach: ScriptedLevel, hidden: &str) -> Option<String> {
    let (reach, layers) = match approach {
        ScriptedLevel::Constant => return None,
        ScriptedLevel::Linear => return Some(format!("{PIXELS}{PIXELS_BLUR}")),
        ScriptedLevel::Forest => (1, "g, nd.median_filter(g, (1, 3, 3))"),
        ScriptedLevel::Operators => (2, "[g, *(nd.median_filter(g, (1, k, k)) for k in (3, 5))]"),
        ScriptedLevel::Oracle => (4, "[fill(g)]"),
    };
    let hidden = if approach == ScriptedLevel::Oracle { hidden } else { "" };
    let strength = recipe.strength;
    Some(format!(
        "from numpy.lib.stride_tricks import sliding_window_view\n\
         from sklearn.linear_model import Ridge\n\
         {PIXELS}{hidden}d = {reach}\n\
         def layers(g):\n    return {layers}\n{PIXELS_PATCHES}\
         m = Ridge({strength}).fit(patches(u), y.ravel())\n\
         s[t] = write(m.predict(patches(v)).reshape(v.shape))\n"
    ))
}
