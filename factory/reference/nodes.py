"""Rows are the nodes of one network: what a node's neighbours are like, and their labels."""
from scipy import sparse

links = pd.read_csv("input/edges.csv")
place = {node: i for i, node in enumerate(x[ID].astype(str))}
a, b = (links[name].astype(str).map(place) for name in links.columns[:2])
known = a.notna() & b.notna() & (a != b)
a, b = a[known].astype(int), b[known].astype(int)
near = sparse.coo_matrix((np.ones(len(a)), (a, b)), (len(x), len(x))).tocsr()
near = ((near + near.T) > 0).astype(float)
degree = np.asarray(near.sum(axis=1)).ravel()


def around(values):
    """The mean over a node's neighbours; over all nodes where it has none."""
    mean = near @ np.asarray(values, float) / np.maximum(1, degree)
    return np.where(degree > 0, mean, np.mean(values))


own = dict(columns)
for name, values in own.items():
    columns[f"{name} near"] = around(values)
    columns[f"{name} near twice"] = around(columns[f"{name} near"])
columns["degree"], columns["degree near"] = degree, around(degree)
columns["triangles"] = np.asarray((near @ near).multiply(near).sum(axis=1)).ravel() / 2
# Labels of the neighbours, each pulled towards the shares of all; a node's own is not among them.
for kind in sorted(train[TARGETS[0]].astype(str).unique()):
    held = np.zeros(len(x))
    held[:N] = train[TARGETS[0]].astype(str) == kind
    labelled = np.zeros(len(x))
    labelled[:N] = 1
    columns[f"label {kind} near"] = (near @ held + held[:N].mean()) / (near @ labelled + 1)

