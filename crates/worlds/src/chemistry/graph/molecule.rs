//! Atoms, bonds, and what follows from them: rings, identity, parts.

use super::element::Element;
use std::collections::VecDeque;

/// The order of a bond.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(in crate::chemistry) enum Order {
    Single,
    Double,
    Triple,
    Aromatic,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Atom {
    pub(super) element: Element,
    pub(super) is_aromatic: bool,
    pub(super) charge: i8,
    pub(super) hydrogens: u8,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Bond {
    pub(super) ends: (usize, usize),
    pub(super) order: Order,
    pub(super) in_ring: bool,
}

impl Bond {
    pub(super) fn other(&self, atom: usize) -> usize {
        if self.ends.0 == atom { self.ends.1 } else { self.ends.0 }
    }
}

/// Atoms without hydrogens, which are numbers of their atoms, and bonds. It may be in several
/// pieces.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(in crate::chemistry) struct Molecule {
    pub(super) atoms: Vec<Atom>,
    pub(super) bonds: Vec<Bond>,
    /// Bonds of each atom.
    pub(super) around: Vec<Vec<usize>>,
}

/// Mixes a number into a hash (FNV-1a, with a turn so that high bits count).
fn mix(hash: u64, number: u64) -> u64 {
    (hash ^ number).wrapping_mul(0x0100_0000_01b3).rotate_left(23)
}

impl Molecule {
    pub(super) fn add_atom(&mut self, atom: Atom) -> usize {
        self.atoms.push(atom);
        self.around.push(Vec::new());
        self.atoms.len() - 1
    }

    pub(super) fn add_bond(&mut self, a: usize, b: usize, order: Order) {
        self.around[a].push(self.bonds.len());
        self.around[b].push(self.bonds.len());
        self.bonds.push(Bond { ends: (a, b), order, in_ring: false });
    }

    /// The number of atoms without hydrogens.
    pub(in crate::chemistry) fn len(&self) -> usize {
        self.atoms.len()
    }

    /// The atoms that an atom is bound to, with the bonds.
    pub(super) fn neighbours(&self, atom: usize) -> impl Iterator<Item = (usize, &Bond)> {
        self.around[atom].iter().map(move |&bond| (self.bonds[bond].other(atom), &self.bonds[bond]))
    }

    pub(super) fn degree(&self, atom: usize) -> usize {
        self.around[atom].len()
    }

    /// The sum of the orders of an atom's bonds, hydrogens left out; of aromatic ones three halves,
    /// rounded down.
    pub(super) fn bond_sum(&self, atom: usize) -> u8 {
        let halves = |order| match order {
            Order::Single => 2_u8,
            Order::Double => 4,
            Order::Triple => 6,
            Order::Aromatic => 3,
        };
        self.neighbours(atom).map(|(_, bond)| halves(bond.order)).sum::<u8>() / 2
    }

    /// The hydrogens that an atom has where SMILES names none.
    pub(super) fn default_hydrogens(&self, atom: usize) -> u8 {
        let Atom { element, is_aromatic, .. } = self.atoms[atom];
        let sum = self.bond_sum(atom);
        if is_aromatic {
            return if element == Element::C { 4_u8.saturating_sub(sum) } else { 0 };
        }
        let enough = element.valences().iter().find(|&&valence| valence >= sum);
        enough.map_or(0, |valence| valence - sum)
    }

    /// Marks the bonds that are in rings: those whose ends stay joined without them.
    pub(super) fn find_rings(&mut self) {
        for bond in 0..self.bonds.len() {
            let (from, to) = self.bonds[bond].ends;
            let (mut seen, mut queue) = (vec![false; self.len()], VecDeque::from([from]));
            seen[from] = true;
            while let Some(atom) = queue.pop_front() {
                for &next in self.around[atom].iter().filter(|&&next| next != bond) {
                    let other = self.bonds[next].other(atom);
                    if !std::mem::replace(&mut seen[other], true) {
                        queue.push_back(other);
                    }
                }
            }
            self.bonds[bond].in_ring = seen[to];
        }
    }

    pub(super) fn is_in_ring(&self, atom: usize) -> bool {
        self.neighbours(atom).any(|(_, bond)| bond.in_ring)
    }

    /// The number of aromatic rings: aromatic bonds that join what such bonds join already.
    pub(super) fn aromatic_rings(&self) -> usize {
        let mut piece: Vec<usize> = (0..self.len()).collect();
        let mut circuits = 0;
        for bond in self.bonds.iter().filter(|bond| bond.order == Order::Aromatic) {
            let (from, to) = (piece[bond.ends.0], piece[bond.ends.1]);
            if from == to {
                circuits += 1;
            }
            for one in piece.iter_mut().filter(|one| **one == from) {
                *one = to;
            }
        }
        circuits
    }

    /// Joins another molecule by a single bond between `at` of this one and `end` of the other; each
    /// loses a hydrogen. Returns where the other's atoms begin. `None` if an atom has no hydrogen.
    pub(in crate::chemistry) fn attach(
        &mut self,
        at: usize,
        other: &Self,
        end: usize,
    ) -> Option<usize> {
        let first = self.add(other);
        self.join(at, first + end)?;
        Some(first)
    }

    /// Adds a molecule as a piece of its own. Returns where its atoms begin.
    pub(in crate::chemistry) fn add(&mut self, other: &Self) -> usize {
        let first = self.len();
        for atom in &other.atoms {
            self.add_atom(atom.clone());
        }
        for bond in &other.bonds {
            self.add_bond(first + bond.ends.0, first + bond.ends.1, bond.order);
            let last = self.bonds.len() - 1;
            self.bonds[last].in_ring = bond.in_ring;
        }
        first
    }

    /// Joins two atoms of different pieces by a single bond; each loses a hydrogen. `None` if one has
    /// none.
    pub(in crate::chemistry) fn join(&mut self, a: usize, b: usize) -> Option<()> {
        for atom in [a, b] {
            self.atoms[atom].hydrogens = self.atoms[atom].hydrogens.checked_sub(1)?;
        }
        self.add_bond(a, b, Order::Single);
        Some(())
    }

    /// Where something can be attached to a ring system: at carbons that have a hydrogen and, if
    /// they are not aromatic, only carbons around them.
    pub(in crate::chemistry) fn carbon_sites(&self) -> Vec<usize> {
        let is_site = |&atom: &usize| {
            let Atom { element, is_aromatic, hydrogens, .. } = self.atoms[atom];
            let is_plain = |(other, _): (usize, &Bond)| self.atoms[other].element == Element::C;
            element == Element::C
                && hydrogens > 0
                && (is_aromatic || self.neighbours(atom).all(is_plain))
        };
        (0..self.len()).filter(is_site).collect()
    }

    /// The nitrogen atoms of a ring system that is not aromatic which have a hydrogen.
    pub(in crate::chemistry) fn nitrogen_sites(&self) -> Vec<usize> {
        let is_site = |&atom: &usize| {
            let Atom { element, is_aromatic, hydrogens, .. } = self.atoms[atom];
            element == Element::N && hydrogens > 0 && !is_aromatic
        };
        (0..self.len()).filter(is_site).collect()
    }

    pub(in crate::chemistry) fn is_aromatic_atom(&self, atom: usize) -> bool {
        self.atoms[atom].is_aromatic
    }

    /// A number for each atom that is the same for atoms in the same surroundings, whatever order
    /// the atoms are in.
    pub(super) fn surroundings(&self, marks: &[u64]) -> Vec<u64> {
        let start = |(atom, mark): (&Atom, &u64)| {
            let Atom { element, is_aromatic, charge, hydrogens } = atom;
            let numbers = [
                u64::from(element.0),
                u64::from(*is_aromatic),
                u64::from(charge.unsigned_abs()) * 2 + u64::from(*charge < 0),
                u64::from(*hydrogens),
                *mark,
            ];
            numbers.into_iter().fold(0xcbf2_9ce4_8422_2325, mix)
        };
        let mut now: Vec<u64> = self.atoms.iter().zip(marks).map(start).collect();
        for _ in 0..self.len() {
            let next = |atom: usize| {
                let mut around: Vec<u64> = self
                    .neighbours(atom)
                    .map(|(other, bond)| mix(now[other], bond.order as u64 + 1))
                    .collect();
                around.sort_unstable();
                around.into_iter().fold(now[atom], mix)
            };
            now = (0..self.len()).map(next).collect();
        }
        now
    }

    /// Numbers that two molecules share only if no surroundings tell them apart.
    pub(in crate::chemistry) fn signature(&self) -> Vec<u64> {
        let mut all = self.surroundings(&vec![0; self.len()]);
        all.sort_unstable();
        all
    }

    /// A place in an order for each atom, which depends on the graph alone where equal surroundings
    /// mean that atoms can be exchanged.
    pub(super) fn ranks(&self) -> Vec<usize> {
        let mut marks = vec![0; self.len()];
        loop {
            let all = self.surroundings(&marks);
            let mut sorted = all.clone();
            sorted.sort_unstable();
            let twice = sorted.windows(2).find(|pair| pair[0] == pair[1]).map(|pair| pair[0]);
            let tied = twice.and_then(|twice| all.iter().position(|&one| one == twice));
            let Some(first) = tied else {
                let place = |one: &u64| sorted.binary_search(one).unwrap_or_default();
                return all.iter().map(place).collect();
            };
            // One of them is set apart, and the others follow from it.
            marks[first] += 1 + sorted.len() as u64;
        }
    }
}
