"""What RDKit says of molecules, asked directly: a question as JSON a line in, its answer out."""

import io
import json
import sys
from contextlib import redirect_stdout
from functools import cache

from rdkit import Chem, DataStructs, RDLogger
from rdkit.Chem import Crippen, Descriptors, rdFingerprintGenerator, rdMolDescriptors
from rdkit.Chem.QED import qed
from rdkit.Chem.Scaffolds import MurckoScaffold

RDLogger.DisableLog("rdApp.*")
MORGAN = rdFingerprintGenerator.GetMorganGenerator(radius=2, fpSize=1024)


def read(smiles):
    molecule = Chem.MolFromSmiles(smiles) if smiles and " " not in smiles else None
    return molecule if molecule is not None and molecule.GetNumAtoms() else None


def canonical(smiles):
    molecule = read(smiles)
    return Chem.MolToSmiles(molecule) if molecule else None


def fingerprint(molecule):
    return MORGAN.GetFingerprint(molecule)


@cache
def pattern(smarts):
    return Chem.MolFromSmarts(smarts)


def counts(molecule, patterns):
    items = patterns.items()
    return {name: len(molecule.GetSubstructMatches(pattern(smarts))) for name, smarts in items}


def solubility(molecule):
    aromatic = len(molecule.GetAromaticAtoms()) / molecule.GetNumHeavyAtoms()
    return (
        0.261211
        - 0.00661388 * Descriptors.MolWt(molecule)
        - 0.741674 * Descriptors.MolLogP(molecule)
        + 0.00345155 * Descriptors.NumRotatableBonds(molecule)
        - 0.426248 * aromatic
    )


PROPERTIES = {"log_p": Crippen.MolLogP, "qed": qed, "solubility": solubility}


def molecule(smiles, patterns, rings):
    """All that the generator claims to know of a molecule."""
    found = read(smiles)
    scaffold = MurckoScaffold.MurckoScaffoldSmiles(mol=found)
    return {
        "smiles": Chem.MolToSmiles(found),
        "counts": counts(found, patterns),
        "rings": rdMolDescriptors.CalcNumRings(found),
        "scaffold": canonical(scaffold),
        "bits": list(fingerprint(found).GetOnBits()),
        "holds": [found.HasSubstructMatch(Chem.MolFromSmiles(ring)) for ring in rings],
        **{name: function(found) for name, function in PROPERTIES.items()},
    }


def similarity(truth, answer):
    """Tanimoto similarity, 0 for what is no molecule."""
    molecules = [read(truth), read(answer)]
    if None in molecules:
        return 0.0
    return DataStructs.TanimotoSimilarity(*map(fingerprint, molecules))


def edited(source, answer, patterns, changes):
    """Whether each group is there as often as in the source, and so much more or less."""
    molecules = [read(source), read(answer)]
    if None in molecules:
        return False
    before, after = (counts(one, patterns) for one in molecules)
    return all(after[name] == before[name] + change for name, change in changes.items())


def forest(trees, found):
    """The mean of trees on a fingerprint."""
    values = []
    for tree in trees:
        path = sum(found.GetBit(bit) << level for level, bit in enumerate(tree["bits"]))
        values.append(tree["leaves"][path])
    return sum(values) / len(values)


def gained(source, answer, name, trees):
    """Whether a property is higher, by more than rounding."""
    molecules = [read(source), read(answer)]
    if None in molecules:
        return False
    # Sums depend on the order of atoms.
    before, after = (Chem.MolFromSmiles(Chem.MolToSmiles(one)) for one in molecules)
    if trees is None:
        gain = PROPERTIES[name](after) - PROPERTIES[name](before)
    else:
        gain = forest(trees, fingerprint(after)) - forest(trees, fingerprint(before))
    return gain > 1e-6


def run(script):
    """What a script prints."""
    printed = io.StringIO()
    with redirect_stdout(printed):
        exec(compile(script, "script", "exec"), {"__name__": "__main__"})  # noqa: S102
    return printed.getvalue()


FUNCTIONS = {
    "canonical": canonical,
    "edited": edited,
    "gained": gained,
    "molecule": molecule,
    "run": run,
    "similarity": similarity,
}

for line in sys.stdin:
    name, *arguments = json.loads(line)
    print(json.dumps(FUNCTIONS[name](*arguments)))
