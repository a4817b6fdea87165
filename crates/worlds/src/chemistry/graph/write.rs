//! SMILES, written: the same text for the same graph, or a drawn one of its many.

use super::molecule::{Bond, Molecule, Order};
use rand::seq::SliceRandom as _;
use rand_chacha::ChaCha8Rng;
use std::collections::BTreeMap;

/// A walk through a molecule, and what of it was written.
struct Writer<'a> {
    molecule: &'a Molecule,
    /// Atoms with lower numbers come first.
    places: &'a [usize],
    seen: Vec<bool>,
    used: Vec<bool>,
    /// Bonds of the walk that lead on from each atom.
    onward: Vec<Vec<usize>>,
    /// Bonds that close rings, at both ends.
    closing: Vec<Vec<usize>>,
    digits: BTreeMap<usize, usize>,
    text: String,
}

impl Molecule {
    /// The SMILES that depends on the graph and not on the order of its atoms.
    pub(in crate::chemistry) fn smiles(&self) -> String {
        let ranks = self.ranks();
        let mut starts: Vec<usize> = (0..self.len()).collect();
        // Ends first, which needs the fewest branches.
        starts.sort_by_key(|&atom| (self.degree(atom), ranks[atom]));
        let mut pieces = self.in_pieces(&ranks, &starts);
        pieces.sort();
        pieces.join(".")
    }

    /// A SMILES that begins anywhere and goes anywhere.
    pub(in crate::chemistry) fn any_smiles(&self, rng: &mut ChaCha8Rng) -> String {
        let mut places: Vec<usize> = (0..self.len()).collect();
        places.shuffle(rng);
        let mut starts: Vec<usize> = (0..self.len()).collect();
        starts.sort_by_key(|&atom| places[atom]);
        self.in_pieces(&places, &starts).join(".")
    }

    /// The text of each piece, each from the first of these atoms that is in it.
    fn in_pieces(&self, places: &[usize], starts: &[usize]) -> Vec<String> {
        let mut writer = Writer {
            molecule: self,
            places,
            seen: vec![false; self.len()],
            used: vec![false; self.bonds.len()],
            onward: vec![Vec::new(); self.len()],
            closing: vec![Vec::new(); self.len()],
            digits: BTreeMap::new(),
            text: String::new(),
        };
        let mut pieces = Vec::new();
        for &start in starts {
            if !writer.seen[start] {
                writer.walk(start);
                writer.write(start);
                pieces.push(std::mem::take(&mut writer.text));
            }
        }
        pieces
    }
}

impl Writer<'_> {
    /// Finds the way through a piece. Returns the number of atoms from here on.
    fn walk(&mut self, atom: usize) -> usize {
        self.seen[atom] = true;
        let molecule = self.molecule;
        let mut bonds = molecule.around[atom].clone();
        bonds.sort_by_key(|&bond| self.places[molecule.bonds[bond].other(atom)]);
        let mut sizes = Vec::new();
        for bond in bonds {
            if std::mem::replace(&mut self.used[bond], true) {
                continue;
            }
            let next = molecule.bonds[bond].other(atom);
            if self.seen[next] {
                self.closing[next].push(bond);
                self.closing[atom].push(bond);
            } else {
                sizes.push((self.walk(next), bond));
            }
        }
        // Short branches first, so that the last one needs no brackets and is the longest.
        sizes.sort_by_key(|(size, _)| *size);
        self.onward[atom] = sizes.iter().map(|(_, bond)| *bond).collect();
        1 + sizes.iter().map(|(size, _)| size).sum::<usize>()
    }

    fn write(&mut self, atom: usize) {
        self.write_atom(atom);
        for bond in self.closing[atom].clone() {
            if let Some(digit) = self.digits.remove(&bond) {
                self.text += &digit.to_string();
                continue;
            }
            // One more than there are in use is enough to have a free one.
            let mut digits = 1..=self.digits.len() + 1;
            let free = digits.find(|digit| !self.digits.values().any(|used| used == digit));
            let digit = free.unwrap_or_default();
            self.write_bond(bond);
            self.text += &digit.to_string();
            self.digits.insert(bond, digit);
        }
        let onward = self.onward[atom].clone();
        for (number, &bond) in onward.iter().enumerate() {
            let is_last = number + 1 == onward.len();
            if !is_last {
                self.text.push('(');
            }
            self.write_bond(bond);
            self.write(self.molecule.bonds[bond].other(atom));
            if !is_last {
                self.text.push(')');
            }
        }
    }

    fn write_bond(&mut self, bond: usize) {
        let Bond { ends, order, .. } = self.molecule.bonds[bond];
        let are_aromatic = [ends.0, ends.1].iter().all(|&end| self.molecule.atoms[end].is_aromatic);
        self.text += match order {
            Order::Double => "=",
            Order::Triple => "#",
            Order::Single if are_aromatic => "-",
            Order::Single | Order::Aromatic => "",
        };
    }

    fn write_atom(&mut self, number: usize) {
        let atom = &self.molecule.atoms[number];
        let symbol = atom.element.symbol();
        let symbol = if atom.is_aromatic { symbol.to_lowercase() } else { symbol.to_owned() };
        let is_plain = atom.element.is_organic()
            && atom.charge == 0
            && atom.hydrogens == self.molecule.default_hydrogens(number);
        if is_plain {
            self.text += &symbol;
            return;
        }
        let hydrogens = match atom.hydrogens {
            0 => String::new(),
            1 => "H".to_owned(),
            more => format!("H{more}"),
        };
        let charge = match atom.charge {
            0 => String::new(),
            1 => "+".to_owned(),
            -1 => "-".to_owned(),
            more => format!("{more:+}"),
        };
        self.text.extend(["[", &symbol, &hydrogens, &charge, "]"]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tasks::stream::Stream;

    #[test]
    fn a_molecule_has_one_smiles_whatever_it_is_read_from() {
        let mut rng = Stream::root(1).rng();
        for smiles in [
            "C",
            "Oc1ccccc1",
            "c1ccc2[nH]ccc2c1",
            "O=[N+]([O-])c1ccc(-c2ccccc2)cc1",
            "C1CCOC1.OB(O)c1ccccc1",
            "[BH4-].[Na+]",
            "CC(C)(C)C1CCN(CC#N)CC1",
            "NS(=O)(=O)c1cscn1",
        ] {
            let molecule = Molecule::read(smiles).unwrap();
            let written = molecule.smiles();
            for _ in 0..20 {
                let other = Molecule::read(&molecule.any_smiles(&mut rng)).unwrap();
                assert_eq!(other.smiles(), written);
                assert_eq!(other.signature(), molecule.signature());
            }
        }
    }

    #[test]
    fn texts_that_are_no_molecules_are_not_read() {
        for smiles in ["", "C1CC", "C(", "C)", "c1ccccc", "[N", "Q", "C11", "(C)C", "C.", "Na"] {
            assert_eq!(Molecule::read(smiles), None, "{smiles}");
        }
    }

    #[test]
    fn isomers_have_different_signatures() {
        let signature = |smiles| Molecule::read(smiles).unwrap().signature();
        assert_ne!(signature("Cc1ccccc1C"), signature("Cc1cccc(C)c1"));
        assert_ne!(signature("CCO"), signature("COC"));
    }
}
