//! Morgan fingerprints, as RDKit's generator makes them with radius 2 and 1,024 bits.
//!
//! Rogers & Hahn 2010. The hashes are RDKit's (those of Boost with 32 bits), so that the bits of a
//! molecule written here and of an answer that RDKit read can be compared.

use super::molecule::{Molecule, Order};
use std::collections::BTreeSet;

const RADIUS: u32 = 2;
const BITS: u32 = 1024;

/// Mixes a number into a hash, as Boost's `hash_combine` with 32 bits.
fn combine(hash: u32, number: u32) -> u32 {
    let turned = (hash << 6).wrapping_add(hash >> 2);
    hash ^ number.wrapping_add(0x9e37_79b9).wrapping_add(turned)
}

/// RDKit's number of an order.
fn number(order: Order) -> u32 {
    match order {
        Order::Single => 1,
        Order::Double => 2,
        Order::Triple => 3,
        Order::Aromatic => 12,
    }
}

/// The bits that are set, in order, each below 1,024.
pub(in crate::chemistry) fn bits(molecule: &Molecule) -> BTreeSet<u32> {
    let count = molecule.len();
    let start = |number: usize| {
        let atom = &molecule.atoms[number];
        let degree = u32::try_from(molecule.degree(number)).unwrap_or(u32::MAX);
        let hydrogens = u32::from(atom.hydrogens);
        let mut parts = vec![
            u32::from(atom.element.0),
            degree + hydrogens,
            hydrogens,
            // Two's complement, as RDKit stores charges.
            i32::from(atom.charge).cast_unsigned(),
            0,
        ];
        if molecule.is_in_ring(number) {
            parts.push(1);
        }
        parts.into_iter().fold(0, combine)
    };
    let mut now: Vec<u32> = (0..count).map(start).collect();
    let mut set: BTreeSet<u32> = now.iter().map(|hash| hash % BITS).collect();
    let mut reached: Vec<BTreeSet<usize>> = vec![BTreeSet::new(); count];
    let mut known: BTreeSet<BTreeSet<usize>> = BTreeSet::new();
    let mut is_dead = vec![false; count];
    for layer in 0..RADIUS {
        let (mut next, mut grown) = (now.clone(), reached.clone());
        let mut round = Vec::new();
        for atom in 0..count {
            if is_dead[atom] || molecule.degree(atom) == 0 {
                continue;
            }
            let mut around = Vec::new();
            for &bond in &molecule.around[atom] {
                let other = molecule.bonds[bond].other(atom);
                grown[atom].insert(bond);
                grown[atom].extend(&reached[other]);
                around.push((number(molecule.bonds[bond].order), now[other]));
            }
            around.sort_unstable();
            let pair = |(order, hash): (u32, u32)| combine(combine(0, order), hash);
            let hash = around.into_iter().map(pair).fold(combine(layer, now[atom]), combine);
            next[atom] = hash;
            // RDKit orders sets of bonds as the numbers whose bits they are.
            let bonds: Vec<usize> = grown[atom].iter().rev().copied().collect();
            round.push((bonds, hash, atom));
        }
        round.sort();
        for (_, hash, atom) in round {
            if known.insert(grown[atom].clone()) {
                set.insert(hash % BITS);
            } else {
                is_dead[atom] = true;
            }
        }
        (now, reached) = (next, grown);
    }
    set
}

/// The bits that both have as a share of those that either has, in [0, 1]; 0 where neither has one.
pub(in crate::chemistry) fn tanimoto(truth: &BTreeSet<u32>, answer: &BTreeSet<u32>) -> f64 {
    let both = truth.intersection(answer).count() as f64;
    let either = (truth.len() + answer.len()) as f64 - both;
    if either == 0.0 { 0.0 } else { both / either }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_those_of_rdkit() {
        // RDKit 2026.9.1: list(GetMorganGenerator(radius=2, fpSize=1024).GetFingerprint(m).GetOnBits())
        let expected: [(&str, &[u32]); 6] = [
            ("C", &[240]),
            ("CCO", &[33, 80, 222, 294, 386, 807]),
            ("Oc1ccccc1", &[64, 65, 175, 356, 389, 578, 726, 745, 754, 807, 849]),
            (
                "O=[N+]([O-])c1ccc(C2CC2)cc1",
                &[
                    134, 171, 250, 255, 301, 356, 380, 650, 715, 726, 753, 769, 779, 785, 790, 797,
                    838, 849, 926, 939, 976, 1019,
                ],
            ),
            (
                "c1ccc2[nH]ccc2c1",
                &[63, 64, 90, 119, 175, 356, 482, 522, 711, 726, 759, 806, 831, 838, 849, 926, 977],
            ),
            ("[BH4-].[Na+]", &[189, 279]),
        ];
        for (smiles, bits_of_rdkit) in expected {
            let found = bits(&Molecule::read(smiles).unwrap());
            assert_eq!(found.into_iter().collect::<Vec<_>>(), bits_of_rdkit, "{smiles}");
        }
    }
}
