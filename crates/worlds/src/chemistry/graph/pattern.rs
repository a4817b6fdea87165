//! Patterns of atoms, and where they are found. They are read from SMARTS (`smarts.rs`).

use super::element::Element;
use super::molecule::{Bond, Molecule, Order};
use std::collections::BTreeSet;

/// A condition, put together from others.
#[derive(Debug, Clone)]
pub(super) enum Test<T> {
    All(Vec<Self>),
    Any(Vec<Self>),
    Not(Box<Self>),
    Is(T),
}

#[derive(Debug, Clone)]
pub(super) enum AtomTest {
    Anything,
    Aromatic(bool),
    Element(Element),
    Hydrogens(u8),
    Connections(u8),
    Degree(u8),
    Valence(u8),
    Charge(i8),
    InRing(bool),
    /// The atom begins a match of another pattern.
    Begins(Pattern),
}

#[derive(Debug, Clone, Copy)]
pub(super) enum BondTest {
    Order(Order),
    /// Single or aromatic, as bonds without a sign are.
    Plain,
    Anything,
    InRing,
}

impl<T> Test<T> {
    fn holds(&self, is: &impl Fn(&T) -> bool) -> bool {
        match self {
            Self::All(tests) => tests.iter().all(|test| test.holds(is)),
            Self::Any(tests) => tests.iter().any(|test| test.holds(is)),
            Self::Not(test) => !test.holds(is),
            Self::Is(test) => is(test),
        }
    }
}

/// A pattern of atoms and bonds.
#[derive(Debug, Clone, Default)]
pub(in crate::chemistry) struct Pattern {
    pub(super) atoms: Vec<Test<AtomTest>>,
    /// Of each atom but the first of a piece, the earlier atoms that it is bound to.
    pub(super) bonds: Vec<Vec<(usize, Test<BondTest>)>>,
}

impl Pattern {
    /// The number of places where the pattern is found, each set of atoms once.
    pub(in crate::chemistry) fn count(&self, molecule: &Molecule) -> usize {
        let mut found = BTreeSet::new();
        for atom in 0..molecule.len() {
            self.extend(molecule, &mut vec![atom], &mut |atoms| {
                let mut atoms = atoms.to_vec();
                atoms.sort_unstable();
                found.insert(atoms);
                false
            });
        }
        found.len()
    }

    /// Whether it is found anywhere.
    pub(in crate::chemistry) fn is_in(&self, molecule: &Molecule) -> bool {
        (0..molecule.len()).any(|atom| self.begins_at(molecule, atom))
    }

    /// Whether it is found with its first atom here.
    pub(super) fn begins_at(&self, molecule: &Molecule, atom: usize) -> bool {
        self.extend(molecule, &mut vec![atom], &mut |_| true)
    }

    /// Tries all ways to go on from these atoms, of which the last is not checked yet, until `end`
    /// says of a whole match that it is enough.
    fn extend(
        &self,
        molecule: &Molecule,
        atoms: &mut Vec<usize>,
        end: &mut impl FnMut(&[usize]) -> bool,
    ) -> bool {
        let number = atoms.len() - 1;
        let atom = atoms[number];
        let is_bound = |(earlier, test): &(usize, Test<BondTest>)| {
            let mut around = molecule.neighbours(atom);
            around.any(|(other, bond)| other == atoms[*earlier] && fits_bond(test, bond))
        };
        let fits = !atoms[..number].contains(&atom)
            && self.bonds[number].iter().all(is_bound)
            && fits_atom(&self.atoms[number], molecule, atom);
        if !fits {
            return false;
        }
        if atoms.len() == self.atoms.len() {
            return end(atoms);
        }
        let candidates: Vec<usize> = match self.bonds[number + 1].first() {
            Some((earlier, _)) => {
                molecule.neighbours(atoms[*earlier]).map(|(other, _)| other).collect()
            }
            None => (0..molecule.len()).collect(),
        };
        for candidate in candidates {
            atoms.push(candidate);
            let is_enough = self.extend(molecule, atoms, end);
            atoms.pop();
            if is_enough {
                return true;
            }
        }
        false
    }
}

fn fits_bond(test: &Test<BondTest>, bond: &Bond) -> bool {
    test.holds(&|test: &BondTest| match test {
        BondTest::Order(order) => bond.order == *order,
        BondTest::Plain => matches!(bond.order, Order::Single | Order::Aromatic),
        BondTest::Anything => true,
        BondTest::InRing => bond.in_ring,
    })
}

fn fits_atom(test: &Test<AtomTest>, molecule: &Molecule, number: usize) -> bool {
    let atom = &molecule.atoms[number];
    let degree = u8::try_from(molecule.degree(number)).unwrap_or(u8::MAX);
    test.holds(&|test: &AtomTest| match test {
        AtomTest::Anything => true,
        AtomTest::Aromatic(is) => atom.is_aromatic == *is,
        AtomTest::Element(element) => atom.element == *element,
        AtomTest::Hydrogens(count) => atom.hydrogens == *count,
        AtomTest::Connections(count) => degree + atom.hydrogens == *count,
        AtomTest::Degree(count) => degree == *count,
        AtomTest::Valence(count) => molecule.bond_sum(number) + atom.hydrogens == *count,
        AtomTest::Charge(charge) => atom.charge == *charge,
        AtomTest::InRing(is) => molecule.is_in_ring(number) == *is,
        AtomTest::Begins(pattern) => pattern.begins_at(molecule, number),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_count_sets_of_atoms() {
        for (smarts, smiles, count) in [
            ("c1ccccc1", "c1ccc2ccccc2c1", 2),
            ("[OX2H]", "OCCO", 2),
            ("[CX3](=O)[OX2H]", "OC(=O)CC(=O)OC", 1),
            ("C(F)(F)F", "FC(F)(F)CC(F)(F)F", 2),
            ("[#6;!$([#6]=O)]O", "CC(=O)OC", 1),
            ("[C,N;H2,H3]", "CCNC", 3),
            ("[!R]-,=;!@[!R]", "C1CC1CC=C", 2),
            ("[N+](=O)[O-]", "[O-][N+](=O)c1ccccc1", 1),
            ("[R0;D1]", "CC1CC1", 1),
            ("n1c(Cl)cccc1", "Clc1ccccn1", 1),
            ("F.F", "FCC(F)F", 3),
        ] {
            let pattern = Pattern::read(smarts).unwrap();
            assert_eq!(pattern.count(&Molecule::read(smiles).unwrap()), count, "{smarts} {smiles}");
        }
    }
}
