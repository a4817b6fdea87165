//! The Python that scripted agents write to get numbers from what stands in no table.
//!
//! Each reads an item in about five lines and uses nothing that the factory alone knows of it.
//! Policies are trained to imitate these scripts, also small ones, so the scripts stay short.
//! Columns are found by position (items first, then the table), because small policies cannot
//! copy a name.

use crate::prompt::Prompt;

/// The items that rows have besides their columns, from `Data` in the description.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ItemKind {
    /// Picture files, one per row.
    Pictures,
    /// TIFF files of several frames, one per row.
    Clips,
    /// Folders of PNG files, one per row.
    Frames,
    /// WAV files, one per row.
    Recordings,
    /// WAV files of several seconds, one per row.
    Soundscapes,
    /// A column of text.
    Texts,
    /// Text files, one per row.
    Documents,
    /// Two columns of text.
    Pairs,
    /// Files that list links.
    Graphs,
    /// Links between the rows.
    Network,
}

impl ItemKind {
    /// What the description names, if it names any.
    pub(super) fn from_prompt(prompt: &Prompt) -> Option<Self> {
        Self::from_data(prompt.data.as_deref()?)
    }

    /// What a description's `Data` names, if it names any.
    pub(crate) fn from_data(data: &str) -> Option<Self> {
        let items = [
            ("pictures", Self::Pictures),
            ("clips", Self::Clips),
            ("folders of frames", Self::Frames),
            ("recordings", Self::Recordings),
            ("soundscapes", Self::Soundscapes),
            ("texts", Self::Texts),
            ("documents", Self::Documents),
            ("pairs of texts", Self::Pairs),
            ("graphs", Self::Graphs),
            ("a network", Self::Network),
        ];
        items.into_iter().find(|(name, _)| data.starts_with(name)).map(|(_, item)| item)
    }

    /// Lines that replace the items in the frame `x` of all rows by numbers. `pd`, `np` and the
    /// tables `a` and `b` are there.
    pub(crate) fn reading(self) -> String {
        let lines: &[&str] = match self {
            Self::Pictures => &[PICTURES],
            Self::Clips => &[IN_FILES, CLIPS],
            Self::Frames => &[IN_FOLDERS, CLIPS],
            Self::Recordings => &[RECORDINGS],
            Self::Soundscapes => &[SOUNDSCAPES],
            Self::Texts => &[COUNTING, CELLS, WORDS],
            Self::Documents => &[COUNTING, FILES, WORDS],
            Self::Pairs => &[PAIRS],
            Self::Graphs => &[GRAPHS],
            Self::Network => &[NETWORK],
        };
        lines.concat()
    }
}

/// Brightness, contrast, edges in two directions, the strongest wave, bright and dark spots.
const PICTURES: &str = r#"from PIL import Image
from scipy import ndimage as nd
d = []
for p in x.pop(x.columns[0]):
    g = np.array(Image.open("input/" + p).convert("L"), float)
    m = g.mean()
    f = abs(np.fft.rfft2(g - m))
    k = np.unravel_index(f.argmax(), f.shape)
    h = [nd.label(e)[1] for e in (g > m + 20, g > m + 60, g < m - 20)]
    q = np.quantile(g, [0.02, 0.25, 0.75, 0.98])
    w = g[:, :8].mean() - g[:, -8:].mean()
    d.append([m, g.std(), w, f.max(), np.diff(g).std(), np.diff(g.T).std(), *q, *k, *h])
x = x.join(pd.DataFrame(d).add_prefix("r"))
"#;

/// The frames of a TIFF file.
const IN_FILES: &str = "from PIL import Image, ImageSequence
frames = lambda p: ImageSequence.Iterator(Image.open(p))
";

/// The frames of a folder.
const IN_FOLDERS: &str = r#"from PIL import Image
from glob import glob
frames = lambda p: [Image.open(f) for f in sorted(glob(p + "/*.png"))]
"#;

/// Light and bright and dark spots halfway through, and what changes from the first frame to the
/// last: brightness, spots, the mean place of what stands out.
const CLIPS: &str = r#"from scipy import ndimage as nd
d = []
for p in x.pop(x.columns[0]):
    g = [np.array(f, float) for f in frames("input/" + p)]
    g = [f - np.median(f) for f in g if f.mean() > 5] or [np.zeros((9, 9))] * 2
    h = [abs(f) > 0.5 * np.quantile(abs(f), 0.99) for f in g]
    c = [nd.center_of_mass(abs(f) * e + 1e-9) for f, e in zip(g, h)]
    k = [nd.label(e)[1] for e in h]
    q = np.quantile(g[len(g) // 2], [0.01, 0.25, 0.75, 0.99])
    d.append([*np.subtract(c[-1], c[0]), h[0].mean(), h[-1].mean(), np.median(k), *q])
x = x.join(pd.DataFrame(d).add_prefix("r"))
"#;

/// Loudness in parts of the time and of the spectrum.
const RECORDINGS: &str = r#"from scipy.io import wavfile
d = []
for p in x.pop(x.columns[0]):
    w = wavfile.read("input/" + p)[1].astype(float)
    f = abs(np.fft.rfft(w))
    k = [e.mean() for e in np.array_split(f, 12)]
    h = [e.std() for e in np.array_split(w, 24)]
    d.append([w.std(), f.argmax(), h[0], h[-1], np.mean(h), np.std(h), *np.log(1 + np.array(k))])
x = x.join(pd.DataFrame(d).add_prefix("r"))
"#;

/// Loudness of quiet, usual and loud moments and of each third, the colour of the background, and how
/// many bursts of sound there are, in how many groups.
const SOUNDSCAPES: &str = r#"from scipy.io import wavfile
d = []
for p in x.pop(x.columns[0]):
    w = wavfile.read("input/" + p)[1].astype(float)
    f = np.log(1 + abs(np.fft.rfft(w[: len(w) // 256 * 256].reshape(-1, 256))) ** 2)
    m = np.median(f, 0)
    e = np.sort(f - m)[:, -8:].mean(1)
    i = np.flatnonzero(np.diff((e > (e.max() + np.median(e)) / 2).astype(int)) > 0)
    g = np.diff(i) if len(i) > 1 else np.ones(1)
    q = np.quantile(f.mean(1), [0.1, 0.3, 0.5, 0.9])
    t = [k.max() for k in np.array_split(f.sum(1), 3)]
    b = [k.mean() for k in np.array_split(m, 10)]
    d.append([w.std(), len(i), sum(g > 2 * np.median(g)), g.mean(), *q, *t, *b])
x = x.join(pd.DataFrame(d).add_prefix("r"))
"#;

const COUNTING: &str = "from sklearn.feature_extraction.text import CountVectorizer\n";

/// How often the commonest words of the texts `p` occur, how long they are, and their numbers.
const WORDS: &str = r#"d = CountVectorizer(max_features=30).fit_transform(p).toarray()
x = x.join(pd.DataFrame(d).add_prefix("r"))
for c in ["[0-9]+", "[A-Z]", "ly ", " "]:
    x[c] = p.str.count(c)
x["n"] = p.str.extract("([0-9]+)")[0].astype(float)
"#;

const CELLS: &str = "p = x.pop(x.columns[0])\n";
const FILES: &str = "p = x.pop(x.columns[0]).map(lambda p: open(\"input/\" + p).read())\n";

/// What two texts share, and how their numbers differ.
const PAIRS: &str = r#"d = []
for p, q in zip(x.pop(x.columns[0]), x.pop(x.columns[0])):
    k = [sum(int(w) for w in t.split() if w.isdigit()) for t in (p, q)]
    p, q = set(p.lower().split()), set(q.lower().split())
    d.append([len(p), len(q), len(p) / len(q), len(p & q) / len(p | q), abs(k[0] - k[1])])
x = x.join(pd.DataFrame(d).add_prefix("r"))
"#;

/// Links, nodes, degrees at both ends, and weights.
const GRAPHS: &str = r#"d = []
for p in x.pop(x.columns[0]):
    e = pd.read_csv("input/" + p)
    i, j = e.iloc[:, 0].value_counts(), e.iloc[:, 1].value_counts()
    k = i.add(j, fill_value=0)
    w = e.iloc[:, 2:].agg(["mean", "std", "max"]).values.ravel()
    d.append([len(e), len(k), k.mean(), k.std(), k.max(), i.max(), j.max(), *w])
x = x.join(pd.DataFrame(d).add_prefix("r"))
"#;

/// A row's number of links, and its neighbours' means.
const NETWORK: &str = r#"e = pd.read_csv("input/edges.csv").values
e = pd.DataFrame(np.r_[e, e[:, ::-1]])
i = pd.concat([a, b]).iloc[:, 0]
z = x.select_dtypes("number").set_axis(i).reindex(e[1])
z = z.groupby(e[0].values).mean().reindex(i).reset_index(drop=True)
x = x.join(z.add_prefix("r"))
x["l"] = i.map(e[0].value_counts()).values
"#;
