//! The fragments that molecules are put together from: ring systems, links between them, and groups.

use super::graph::Molecule;
use std::sync::LazyLock;

/// A ring system: the most atoms that are joined by rings.
#[derive(Debug)]
pub(super) struct RingSystem {
    pub(super) smiles: &'static str,
    pub(super) rings: usize,
    /// Other ring systems that are found in it as a substructure.
    pub(super) holds: &'static [&'static str],
    pub(super) molecule: Molecule,
    /// Where something can be attached.
    pub(super) carbons: Vec<usize>,
    pub(super) nitrogens: Vec<usize>,
}

const BENZENE: &str = "c1ccccc1";
const PYRIDINE: &str = "c1ccncc1";

const RING_SYSTEMS: [(&str, usize, &[&str]); 26] = [
    (BENZENE, 1, &[]),
    (PYRIDINE, 1, &[]),
    ("c1cncnc1", 1, &[]),
    ("c1cnccn1", 1, &[]),
    ("c1ccoc1", 1, &[]),
    ("c1ccsc1", 1, &[]),
    ("c1cc[nH]c1", 1, &[]),
    ("c1c[nH]cn1", 1, &[]),
    ("c1cn[nH]c1", 1, &[]),
    ("c1cscn1", 1, &[]),
    ("c1cocn1", 1, &[]),
    ("C1CC1", 1, &[]),
    ("C1CCC1", 1, &[]),
    ("C1CCCC1", 1, &[]),
    ("C1CCCCC1", 1, &[]),
    ("C1CCNC1", 1, &[]),
    ("C1CCNCC1", 1, &[]),
    ("C1CNCCN1", 1, &[]),
    ("C1COCCN1", 1, &[]),
    ("C1CCOC1", 1, &[]),
    ("c1ccc2ccccc2c1", 2, &[BENZENE]),
    ("c1ccc2ncccc2c1", 2, &[BENZENE, PYRIDINE]),
    ("c1ccc2[nH]ccc2c1", 2, &[BENZENE, "c1cc[nH]c1"]),
    ("c1ccc2occc2c1", 2, &[BENZENE, "c1ccoc1"]),
    ("c1ccc2sccc2c1", 2, &[BENZENE, "c1ccsc1"]),
    ("c1ccc2CCCc2c1", 2, &[BENZENE]),
];

/// All ring systems.
pub(super) static RINGS: LazyLock<Vec<RingSystem>> = LazyLock::new(|| {
    let make = |(smiles, rings, holds)| {
        let molecule = read(smiles);
        let (carbons, nitrogens) = (molecule.carbon_sites(), molecule.nitrogen_sites());
        RingSystem { smiles, rings, holds, molecule, carbons, nitrogens }
    };
    RING_SYSTEMS.map(make).into()
});

/// What joins two ring systems.
#[derive(Debug)]
pub(super) struct Link {
    /// The SMILES of what is between them, from its first atom to its last; empty for a bond.
    pub(super) smiles: &'static str,
    /// Its last atom.
    pub(super) end: usize,
    /// The functional group that it is.
    pub(super) group: Option<&'static str>,
    /// Whether it can be at a nitrogen atom without becoming another group.
    pub(super) at_nitrogen: bool,
}

pub(super) static LINKS: [Link; 6] = [
    Link { smiles: "", end: 0, group: None, at_nitrogen: true },
    Link { smiles: "C", end: 0, group: None, at_nitrogen: true },
    Link { smiles: "CC", end: 1, group: None, at_nitrogen: true },
    Link { smiles: "O", end: 0, group: Some("ether"), at_nitrogen: false },
    Link { smiles: "S", end: 0, group: Some("thioether"), at_nitrogen: false },
    Link { smiles: "C(=O)N", end: 2, group: Some("amide"), at_nitrogen: false },
];

/// A group at a ring, written as the molecule that it is with a hydrogen in the place of the ring. Its
/// first atom is bound to the ring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Group {
    pub(super) smiles: &'static str,
    /// The functional group that it is; `None` of chains and branches of carbon.
    pub(super) name: Option<&'static str>,
    /// How often it is drawn.
    pub(super) weight: u32,
}

const fn group(smiles: &'static str, name: &'static str) -> Group {
    Group { smiles, name: Some(name), weight: 3 }
}

const fn chain(smiles: &'static str) -> Group {
    Group { smiles, name: None, weight: 4 }
}

/// All groups. The first of a functional group is the one that edits add.
pub(super) static GROUPS: [Group; 32] = [
    group("O", "hydroxyl"),
    group("CO", "hydroxyl"),
    group("N", "amino"),
    group("CN", "amino"),
    group("C(=O)O", "carboxyl"),
    group("CC(=O)O", "carboxyl"),
    group("C=O", "aldehyde"),
    group("C(C)=O", "ketone"),
    group("C(=O)OC", "ester"),
    group("C(N)=O", "amide"),
    group("NC(C)=O", "amide"),
    group("C#N", "nitrile"),
    group("[NH+](=O)[O-]", "nitro"),
    group("F", "fluoro"),
    group("Cl", "chloro"),
    group("Br", "bromo"),
    group("CBr", "bromo"),
    group("I", "iodo"),
    group("S", "thiol"),
    group("OC", "ether"),
    group("SC", "thioether"),
    group("S(N)(=O)=O", "sulfonamide"),
    group("S(C)(=O)=O", "sulfone"),
    group("C=C", "alkene"),
    group("C#C", "alkyne"),
    group("C(F)(F)F", "trifluoromethyl"),
    group("NC(N)=O", "urea"),
    chain("C"),
    chain("CC"),
    chain("CCC"),
    chain("C(C)C"),
    chain("C(C)(C)C"),
];

impl Group {
    /// The group as it is written in a molecule.
    pub(super) fn shown(&self) -> String {
        self.smiles.replace("[NH+]", "[N+]")
    }

    /// The group that edits add or take away by this name.
    pub(super) fn named(name: &str) -> Option<Self> {
        GROUPS.iter().copied().find(|group| group.name == Some(name))
    }
}

/// The functional groups that are counted, with the pattern by which RDKit counts them.
pub(super) const FUNCTIONAL: [(&str, &str); 22] = [
    ("hydroxyl", "[OX2H][#6;!$([#6]=[O,N,S])]"),
    ("amino", "[NX3H2][#6;!$([#6]=[O,N,S])]"),
    ("carboxyl", "[CX3](=O)[OX2H]"),
    ("aldehyde", "[CX3H1](=O)[#6]"),
    ("ketone", "[CX3](=O)([#6])[#6]"),
    ("ester", "[CX3](=O)[OX2H0][#6]"),
    ("amide", "[CX3]([#6])(=O)[NX3]"),
    ("nitrile", "[CX2]#[NX1]"),
    ("nitro", "[N+](=O)[O-]"),
    ("fluoro", "[F;!$(FC(F)F)]"),
    ("chloro", "Cl"),
    ("bromo", "Br"),
    ("iodo", "I"),
    ("thiol", "[SX2H]"),
    ("ether", "[OX2;!R]([#6;!$([#6]=O)])[#6;!$([#6]=O)]"),
    ("thioether", "[SX2;!R]([#6])[#6]"),
    ("sulfonamide", "[SX4](=O)(=O)[NX3]"),
    ("sulfone", "[SX4](=O)(=O)([#6])[#6]"),
    ("alkene", "[CX3;!R]=[CX3;!R]"),
    ("alkyne", "[CX2]#[CX2]"),
    ("trifluoromethyl", "[CX4](F)(F)F"),
    ("urea", "[NX3][CX3](=O)[NX3]"),
];

/// A molecule of the tables of this crate.
pub(super) fn read(smiles: &str) -> Molecule {
    Molecule::read(smiles).expect("the tables have molecules that can be read")
}
