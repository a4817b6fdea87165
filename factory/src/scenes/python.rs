//! A scene's rule as Python, for the scripted oracle that calibrates corpora.
//!
//! The measures of rung R3, written over numpy arrays: what they return is what rung R3 hands to
//! its model. Like the code of tables, they stay in the manifest and are never shown to other
//! agents. The script around them has imported `np` and `nd`, which is `scipy.ndimage`.

use crate::spec::scene::{Damage, Reconstruction, SceneRule, Segmentation, Stripes};

/// Maps of pictures of many rows, one column per map: brightness, and the logarithm of each
/// texture's power at either reach.
const MAPS: &str = r#"def maps(g):
    def blur(g, k):
        j = int(np.ceil(2.5 * k))
        return nd.gaussian_filter(g, (0, k, k), radius=(0, j, j), mode="nearest")
    y, x = np.indices(g.shape[1:])
    r, e = [blur(g, 1)], g - blur(g, 3)
    for p, q in WAVES:
        z = e * np.exp(2j * np.pi * (p * x + q * y))
        r += [np.log(blur(z.real, k) ** 2 + blur(z.imag, k) ** 2 + 1e-5) for k in (1.7, 2.8)]
    return np.stack(r, -1).reshape(-1, len(r))
"#;

/// The logarithm of each texture's power over a piece, and of the first over the others: `o` is
/// its left and upper edge, `g` the picture and `k` the set pixels within its box.
const POWERS: &str = r"def powers(o, g, k):
    y, x = np.nonzero(k)
    e = g[k] - g[k].mean()
    def power(p, q):
        z = (e * np.exp(2j * np.pi * (p * (x + o[0]) + q * (y + o[1])))).mean()
        return np.log(abs(z) ** 2 + 1e-6)
    r = [power(p, q) for p, q in WAVES]
    return r + [r[0] - p for p in r[1:]]
";

/// Pictures of many rows with their lost pixels replaced by the mean of the nearest ones that
/// are left, nearer ones counting more.
const FILL: &str = r#"def fill(g):
    m, w = LEFT, np.indices((7, 7)) - 3
    d, w = abs(w).max(0), 1 / (w ** 2).sum(0).clip(1) ** 2
    r = np.full(g.shape, 0.5)
    for k in 3, 2, 1:
        i = np.where((d > 0) & (d <= k), w, 0)[None]
        o = nd.convolve(1.0 * m, i, mode="constant")
        r = np.where(o > 1e-9, nd.convolve(g * m, i, mode="constant") / o.clip(1e-9), r)
    return np.where(m, g, r)
"#;

/// The function that measures what the rule asks for: `maps`, `powers` or `fill`.
pub(crate) fn oracle(rule: &SceneRule) -> String {
    match rule {
        SceneRule::Segmentation(Segmentation { belongs, lookalike, .. }) => {
            MAPS.replace("WAVES", &waves(&[*belongs, *lookalike]))
        }
        SceneRule::Detection(scene) => POWERS.replace("WAVES", &waves(&scene.textures())),
        SceneRule::Reconstruction(Reconstruction { damage, .. }) => match damage {
            Damage::None => "def fill(g):\n    return g\n".to_owned(),
            Damage::Lines { .. } => FILL.replace("LEFT", "g > 0"),
            Damage::Scratches { .. } => FILL.replace("LEFT", "g < 1"),
        },
    }
}

/// Cycles per pixel across and down, for each pattern.
fn waves(stripes: &[Stripes]) -> String {
    let wave = |stripes: &Stripes| {
        let (x, y) = stripes.cycles();
        format!("({x:?}, {y:?})")
    };
    format!("[{}]", stripes.iter().map(wave).collect::<Vec<String>>().join(", "))
}
