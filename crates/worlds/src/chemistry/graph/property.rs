//! Drug-likeness and solubility.

use super::crippen::log_p;
use super::element::Element;
use super::molecule::{Molecule, Order};
use super::pattern::Pattern;
use std::sync::LazyLock;

/// Structural alerts of Brenk et al. 2008 as QED uses them: those that molecules put together here
/// can have.
const ALERTS: [&str; 39] = [
    "[CX4][Cl,Br,I]",
    "[CH1](=O)",
    "[C;!R]=[N;!R]",
    "[#6](=O)[#6](=O)",
    "[#7][NH2]",
    "n1c([F,Cl,Br,I])cccc1",
    "[$([CH2]),$([CH][CX4]),$(C([CX4])[CX4])]=[$([CH2]),$([CH][CX4]),$(C([CX4])[CX4])]",
    "c1cc([NH2])ccc1",
    "I",
    "[N+](=O)[O-]",
    "[SH]",
    "c1ccc([Cl,Br,I,F])c([Cl,Br,I,F])c1[Cl,Br,I,F]",
    "c1cc([Cl,Br,I,F])cc([Cl,Br,I,F])c1[Cl,Br,I,F]",
    "C#C",
    "[#6](=O)[CX4,CR0X3,O][#6](=O)",
    "[NX3,NX4][F,Cl,Br,I]",
    "c1ccccc1OC(=O)[#6]",
    "[CR0]=[CR0][CR0]=[CR0]",
    "c1c([OH])c([OH,NH2,NH])ccc1",
    "[OH]c1ccc([OH,NH2,NH])cc1",
    "c1ccccc1OC(=O)O",
    "[SX2]O",
    "[SX2H0][N]",
    "[N,O,S]C#N",
    "N[CH2]C#N",
    "NC[F,Cl,Br,I]",
    "[OR0,NR0][OR0,NR0]",
    "c1ccccc1[C;!R]=[C;!R]c2ccccc2",
    "[NX3R0,NX4R0,OR0,SX2R0][CX4][NX3R0,NX4R0,OR0,SX2R0]",
    "[R0;D2][R0;D2][R0;D2][R0;D2]",
    "C=!@CC=[O,S]",
    "[#6,#8,#16][#6](=O)O[#6]",
    "c[C;R0](=[O,S])[#6]",
    "c[SX2][C;!R]",
    "c1nc([F,Cl,Br,I,S])ncc1",
    "c1ncnc([F,Cl,Br,I,S])c1",
    "[#6]S(=O)(=O)c1ccc(cc1)F",
    "F.F.F.F",
    "C(=O)O[C,H1].C(=O)O[C,H1].C(=O)O[C,H1]",
];

/// What QED counts as acceptors of hydrogen bonds.
const ACCEPTORS: [&str; 11] = [
    "[oH0;X2]",
    "[OH1;X2;v2]",
    "[OH0;X2;v2]",
    "[OH0;X1;v2]",
    "[O-;X1]",
    "[SH0;X2;v2]",
    "[SH0;X1;v2]",
    "[S-;X1]",
    "[nH0;X2]",
    "[NH0;X1;v3]",
    "[$([N;+0;X3;v3]);!$(N[C,S]=O)]",
];

const DONOR: &str = "[N&!H0&v3,N&!H0&+1&v4,O&H1&+0,S&H1&+0,n&H1&+0]";

/// Bonds that turn, but not those of amides, esters and ends that look the same when turned.
const ROTOR: &str = "[!$(*#*)&!D1&!$(C(F)(F)F)&!$(C(Cl)(Cl)Cl)&!$(C(Br)(Br)Br)&\
    !$(C([CH3])([CH3])[CH3])&!$([CD3](=[N,O,S])-!@[#7,O,S!D1])&!$([#7,O,S!D1]-!@[CD3]=[N,O,S])&\
    !$([CD3](=[N+])-!@[#7!D1])&!$([#7!D1]-!@[CD3]=[N+])]-,:;!@[!$(*#*)&!D1&!$(C(F)(F)F)&\
    !$(C(Cl)(Cl)Cl)&!$(C(Br)(Br)Br)&!$(C([CH3])([CH3])[CH3])]";

struct Patterns {
    alerts: Vec<Pattern>,
    acceptors: Vec<Pattern>,
    donor: Pattern,
    rotor: Pattern,
}

static PATTERNS: LazyLock<Patterns> = LazyLock::new(|| {
    let read = |smarts| Pattern::read(smarts).expect("the tables have patterns that can be read");
    Patterns {
        alerts: ALERTS.map(read).into(),
        acceptors: ACCEPTORS.map(read).into(),
        donor: read(DONOR),
        rotor: read(ROTOR),
    }
});

fn weight(molecule: &Molecule) -> f64 {
    let of = |atom: &super::molecule::Atom| {
        atom.element.weight() + f64::from(atom.hydrogens) * Element(1).weight()
    };
    molecule.atoms.iter().map(of).sum()
}

/// The polar surface in Å², of nitrogen and oxygen. Ertl et al. 2000, table 3, without small rings.
fn polar_surface(molecule: &Molecule) -> f64 {
    let of = |number: usize| {
        let atom = &molecule.atoms[number];
        let has = |order| molecule.neighbours(number).any(|(_, bond)| bond.order == order);
        let (double, triple) = (has(Order::Double), has(Order::Triple));
        let degree = molecule.degree(number);
        match (atom.element, atom.is_aromatic, atom.charge) {
            (Element::O, true, _) => 13.14,
            (Element::O, _, -1) => 23.06,
            (Element::O, ..) if double => 17.07,
            (Element::O, ..) if atom.hydrogens == 1 => 20.23,
            (Element::O, ..) => 9.23,
            (Element::N, true, _) if atom.hydrogens == 1 => 15.79,
            (Element::N, true, _) if degree == 2 => 12.89,
            (Element::N, true, _) => 4.93,
            (Element::N, _, 1) if degree == 3 => 3.01,
            (Element::N, ..) if triple => 23.79,
            (Element::N, ..) if atom.hydrogens == 2 => 26.02,
            (Element::N, ..) if double && atom.hydrogens == 1 => 23.85,
            (Element::N, ..) if double => 12.36,
            (Element::N, ..) if atom.hydrogens == 1 => 12.03,
            (Element::N, ..) => 3.24,
            _ => 0.0,
        }
    };
    (0..molecule.len()).map(of).sum()
}

/// Delaney's solubility (2004) with the coefficients of a later fit, as log10 of mol per litre:
/// of weight, logP, bonds that turn and the share of aromatic atoms.
pub(in crate::chemistry) fn solubility(molecule: &Molecule) -> f64 {
    let aromatic = molecule.atoms.iter().filter(|atom| atom.is_aromatic).count();
    let rotors = PATTERNS.rotor.count(molecule) as f64;
    0.261_211 - 0.006_613_88 * weight(molecule) - 0.741_674 * log_p(molecule)
        + 0.003_451_55 * rotors
        - 0.426_248 * aromatic as f64 / molecule.len() as f64
}

/// A desirability as a double sigmoid: Bickerton et al. 2012, equation 1 and table 1, divided by
/// its greatest value.
struct Desirability {
    a: f64,
    b: f64,
    c: f64,
    d: f64,
    e: f64,
    f: f64,
    most: f64,
    /// Its share in the mean.
    share: f64,
}

impl Desirability {
    fn of(&self, value: f64) -> f64 {
        let rise = 1.0 + libm::exp(-(value - self.c + self.d / 2.0) / self.e);
        let fall = 1.0 + libm::exp(-(value - self.c - self.d / 2.0) / self.f);
        (self.a + self.b / rise * (1.0 - 1.0 / fall)) / self.most
    }
}

/// Of weight, logP, acceptors, donors, polar surface, bonds that turn, aromatic rings and alerts.
#[rustfmt::skip]
const DESIRABILITIES: [Desirability; 8] = [
    Desirability { a: 2.817_065_973, b: 392.575_495_3, c: 290.748_976_4, d: 2.419_764_353, e: 49.223_256_77, f: 65.370_517_07, most: 104.980_556_1, share: 0.66 },
    Desirability { a: 3.172_690_585, b: 137.862_475_1, c: 2.534_937_431, d: 4.581_497_897, e: 0.822_739_154, f: 0.576_295_591, most: 131.318_660_4, share: 0.46 },
    Desirability { a: 2.948_620_388, b: 160.460_597_2, c: 3.615_294_657, d: 4.435_986_202, e: 0.290_141_953, f: 1.300_669_958, most: 148.776_304_6, share: 0.05 },
    Desirability { a: 1.618_662_227, b: 1_010.051_101, c: 0.985_094_388, d: 0.000_000_001, e: 0.713_820_843, f: 0.920_922_555, most: 258.163_261_6, share: 0.61 },
    Desirability { a: 1.876_861_559, b: 125.223_265_7, c: 62.907_735_54, d: 87.833_666_14, e: 12.019_998_24, f: 28.513_247_32, most: 104.568_616_7, share: 0.06 },
    Desirability { a: 0.010_000_000, b: 272.412_142_7, c: 2.558_379_970, d: 1.565_547_684, e: 1.271_567_166, f: 2.758_063_707, most: 105.442_040_3, share: 0.65 },
    Desirability { a: 3.217_788_970, b: 957.737_410_8, c: 2.274_627_939, d: 0.000_000_001, e: 1.317_690_384, f: 0.375_760_881, most: 312.337_261_0, share: 0.48 },
    Desirability { a: 0.010_000_000, b: 1_199.094_025, c: -0.090_028_83, d: 0.000_000_001, e: 0.185_904_477, f: 0.875_193_782, most: 417.725_314_0, share: 0.95 },
];

/// The quantitative estimate of drug-likeness, in [0, 1]: the weighted geometric mean of eight
/// desirabilities. Bickerton et al. 2012.
pub(in crate::chemistry) fn qed(molecule: &Molecule) -> f64 {
    let count = |patterns: &[Pattern]| -> usize {
        patterns.iter().map(|pattern| pattern.count(molecule)).sum()
    };
    let values = [
        weight(molecule),
        log_p(molecule),
        count(&PATTERNS.acceptors) as f64,
        PATTERNS.donor.count(molecule) as f64,
        polar_surface(molecule),
        PATTERNS.rotor.count(molecule) as f64,
        molecule.aromatic_rings() as f64,
        PATTERNS.alerts.iter().filter(|alert| alert.is_in(molecule)).count() as f64,
    ];
    let pairs = || DESIRABILITIES.iter().zip(values);
    let sum: f64 = pairs().map(|(one, value)| one.share * libm::log(one.of(value))).sum();
    let shares: f64 = DESIRABILITIES.iter().map(|one| one.share).sum();
    libm::exp(sum / shares)
}
