//! logP by the contributions of atoms: Wildman & Crippen 1999, table 1, in the order in which RDKit
//! tries them.
//!
//! Left out: metals, phosphorus, ions of halogens, and carbon at elements that no molecule here has.

use super::element::Element;
use super::molecule::{Atom, Molecule};
use super::pattern::Pattern;
use std::sync::LazyLock;

/// What an atom without hydrogens contributes; the first pattern that begins at it counts.
#[rustfmt::skip]
const CONTRIBUTIONS: [(&str, f64); 86] = [
    ("[CH4]", 0.1441),
    ("[CH3]C", 0.1441),
    ("[CH2](C)C", 0.1441),
    ("[CH](C)(C)C", 0.0),
    ("[C](C)(C)(C)C", 0.0),
    ("[CH3][N,O,P,S,F,Cl,Br,I]", -0.2035),
    ("[CH2X4]([N,O,P,S,F,Cl,Br,I])[A]", -0.2035),
    ("[CH1X4]([N,O,P,S,F,Cl,Br,I])([A])[A]", -0.2051),
    ("[CH0X4]([N,O,P,S,F,Cl,Br,I])([A])([A])[A]", -0.2051),
    ("[C]=[!C;A]", -0.2783),
    ("[CH2]=C", 0.1551),
    ("[CH1](=C)[A]", 0.1551),
    ("[CH0](=C)([A])[A]", 0.1551),
    ("[C](=C)=C", 0.1551),
    ("[CX2]#[A]", 0.0017),
    ("[CH3]c", 0.08452),
    ("[CH3]a", -0.1444),
    ("[CH2X4]a", -0.0516),
    ("[CHX4]a", 0.1193),
    ("[CH0X4]a", -0.0967),
    ("[c][#9]", 0.0),
    ("[c][#17]", 0.245),
    ("[c][#35]", 0.198),
    ("[c][#53]", 0.0),
    ("[cH]", 0.1581),
    ("[c](:a)(:a):a", 0.2955),
    ("[c](:a)(:a)-a", 0.2713),
    ("[c](:a)(:a)-C", 0.136),
    ("[c](:a)(:a)-N", 0.4619),
    ("[c](:a)(:a)-O", 0.5437),
    ("[c](:a)(:a)-S", 0.1893),
    ("[c](:a)(:a)=[C,N,O]", -0.8186),
    ("[C](=C)(a)[A]", 0.264),
    ("[C](=C)(c)a", 0.264),
    ("[CH1](=C)a", 0.264),
    ("[C]=c", 0.264),
    ("[#6]", 0.08129),
    ("[NH2+0][A]", -1.019),
    ("[NH+0]([A])[A]", -0.7096),
    ("[NH2+0]a", -1.027),
    ("[NH1+0]([*])a", -0.5188),
    ("[NH+0]=[*]", 0.08387),
    ("[N+0](=[*])[*]", 0.1836),
    ("[N+0]([A])([A])[A]", -0.3187),
    ("[N+0](a)([*])[A]", -0.4458),
    ("[N+0](a)(a)a", -0.4458),
    ("[N+0]#[A]", 0.01508),
    ("[NH3,NH2,NH;+,+2,+3]", -1.95),
    ("[n+0]", -0.3239),
    ("[n;+,+2,+3]", -1.119),
    ("[NH0;+,+2,+3]([A])([A])([A])[A]", -0.3396),
    ("[NH0;+,+2,+3](=[A])([A])[*]", -0.3396),
    ("[NH0;+,+2,+3](=[#6])=[#7]", -0.3396),
    ("[N;+,+2,+3]#[A]", 0.2887),
    ("[N;-,-2,-3]", 0.2887),
    ("[N;+,+2,+3](=[N;-,-2,-3])=N", 0.2887),
    ("[#7]", -0.4806),
    ("[o]", 0.1552),
    ("[OH,OH2]", -0.2893),
    ("[O]([A])[A]", -0.0684),
    ("[O](a)[*]", -0.4195),
    ("[O]=[#7,#8]", 0.0335),
    ("[OX1;-,-2,-3][#7]", 0.0335),
    ("[OX1;-,-2,-2][#16]", -0.3339),
    ("[O;-0]=[#16;-0]", -0.3339),
    ("[O-]C(=O)", -1.326),
    ("[OX1;-,-2,-3][!#1;!N;!S]", -1.189),
    ("[O]=c", 0.1788),
    ("[O]=[CH]C", -0.1526),
    ("[O]=C(C)([A])", -0.1526),
    ("[O]=[CH][N,O]", -0.1526),
    ("[O]=[CH2]", -0.1526),
    ("[O]=[CX2]=O", -0.1526),
    ("[O]=[CH]c", 0.1129),
    ("[O]=C([C,c])[a]", 0.1129),
    ("[O]=C(c)[A]", 0.1129),
    ("[O]=C([!#1;!#6])[!#1;!#6]", 0.4833),
    ("[#8]", -0.1188),
    ("[#9-0]", 0.4202),
    ("[#17-0]", 0.6895),
    ("[#35-0]", 0.8456),
    ("[#53-0]", 0.8857),
    ("[S;-,-2,-3,-4,+1,+2,+3,+5,+6]", -0.0024),
    ("[S-0]=[N,O,P,S]", -0.0024),
    ("[S;A]", 0.6482),
    ("[s;a]", 0.6237),
];

static PATTERNS: LazyLock<Vec<(Pattern, f64)>> = LazyLock::new(|| {
    let read = |(smarts, share): (&str, f64)| {
        (Pattern::read(smarts).expect("the table has patterns that can be read"), share)
    };
    CONTRIBUTIONS.map(read).into()
});

/// What each hydrogen of an atom contributes.
fn hydrogen(molecule: &Molecule, atom: usize) -> f64 {
    const OF_CARBON: f64 = 0.123;
    const OF_ALCOHOL: f64 = -0.2677;
    const OF_NITROGEN: f64 = 0.2142;
    const OF_ACID: f64 = 0.298;
    const OTHER: f64 = 0.1125;
    let Atom { element, .. } = molecule.atoms[atom];
    match element {
        Element::C => OF_CARBON,
        Element::N => OF_NITROGEN,
        Element::O => match molecule.neighbours(atom).next().map(|(other, _)| other) {
            None => OTHER,
            Some(other) => {
                let Atom { element, is_aromatic, hydrogens, .. } = molecule.atoms[other];
                let is_saturated = molecule.degree(other) + usize::from(hydrogens) == 4;
                match element {
                    Element::C if is_aromatic || is_saturated => OF_ALCOHOL,
                    Element::C => OF_ACID,
                    Element::N => OF_NITROGEN,
                    _ => OF_ALCOHOL,
                }
            }
        },
        _ => OF_ALCOHOL,
    }
}

/// Crippen's logP.
pub(in crate::chemistry) fn log_p(molecule: &Molecule) -> f64 {
    let contribution = |atom: usize| {
        let mut patterns = PATTERNS.iter();
        let found = patterns.find(|(pattern, _)| pattern.begins_at(molecule, atom));
        let own = found.map_or(0.0, |(_, share)| *share);
        own + f64::from(molecule.atoms[atom].hydrogens) * hydrogen(molecule, atom)
    };
    (0..molecule.len()).map(contribution).sum()
}
