"""Describes molecules with RDKit: the texts and what is asked about them in, one line of JSON out.

It has an answer and what the question shows, never the truth, which is compared outside.
"""

import json

from rdkit import Chem, RDLogger
from rdkit.Chem import Crippen, Descriptors, rdFingerprintGenerator, rdMolDescriptors
from rdkit.Chem.QED import qed
from rdkit.Chem.Scaffolds import MurckoScaffold

RDLogger.DisableLog("rdApp.*")
MORGAN = rdFingerprintGenerator.GetMorganGenerator(radius=2, fpSize=1024)


def bits(molecule):
    return list(MORGAN.GetFingerprint(molecule).GetOnBits())


def scaffold(molecule):
    found = MurckoScaffold.GetScaffoldForMol(molecule)
    return {"smiles": Chem.MolToSmiles(found), "bits": bits(found)}


def solubility(molecule):
    """Delaney 2004 with the coefficients of a later fit."""
    aromatic = sum(atom.GetIsAromatic() for atom in molecule.GetAtoms())
    return (
        0.261211
        - 0.00661388 * Descriptors.MolWt(molecule)
        - 0.741674 * Crippen.MolLogP(molecule)
        + 0.00345155 * rdMolDescriptors.CalcNumRotatableBonds(molecule)
        - 0.426248 * aromatic / molecule.GetNumAtoms()
    )


FUNCTIONS = {
    "bits": bits,
    "log_p": Crippen.MolLogP,
    "qed": qed,
    "scaffold": scaffold,
    "solubility": solubility,
}


def describe(smiles, wanted, groups):
    """What is wanted of a molecule, or nothing if the text is none."""
    molecule = Chem.MolFromSmiles(smiles)
    if molecule is None or molecule.GetNumAtoms() == 0:
        return None
    # From its own text, so that no property depends on the order of atoms in the answer.
    canonical = Chem.MolToSmiles(molecule)
    molecule = Chem.MolFromSmiles(canonical)
    if molecule is None:
        return None
    found = {name: FUNCTIONS[name](molecule) for name in wanted}
    patterns = {name: Chem.MolFromSmarts(smarts) for name, smarts in groups.items()}
    counts = {name: len(molecule.GetSubstructMatches(one)) for name, one in patterns.items()}
    return {"smiles": canonical, "groups": counts, **found}


def answer(question):
    """Descriptions of all molecules of a question, in order."""
    wanted, groups = question["wanted"], question["groups"]
    return json.dumps([describe(smiles, wanted, groups) for smiles in question["molecules"]])
