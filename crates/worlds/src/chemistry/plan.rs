//! Plans of molecules: which fragments are where. Truth about a molecule follows from its plan.

use super::fragments::{GROUPS, Group, LINKS, Link, RINGS, RingSystem, read};
use super::graph::Molecule;
use crate::kind::Scale;
use crate::part::Part;
use rand::RngExt as _;
use rand::seq::{IndexedRandom as _, SliceRandom as _};
use rand_chacha::ChaCha8Rng;

/// A ring system of a plan, and how it hangs on the one before.
#[derive(Debug, Clone)]
struct PlacedRing {
    system: &'static RingSystem,
    /// The link to the ring system before, and the atoms of that and of this one that it joins; none
    /// of the first.
    link: Option<(&'static Link, usize, usize)>,
}

/// A group at an atom of a ring system.
#[derive(Debug, Clone, Copy)]
pub(super) struct PlacedGroup {
    pub(super) group: Group,
    ring: usize,
    atom: usize,
}

/// The plan of a molecule.
#[derive(Debug, Clone)]
pub(super) struct Plan {
    rings: Vec<PlacedRing>,
    pub(super) groups: Vec<PlacedGroup>,
}

/// The most characters of a SMILES that is drawn.
pub(super) fn longest(scale: Scale) -> usize {
    match scale {
        Scale::Tiny => 24,
        Scale::Full => 90,
    }
}

impl Plan {
    /// Ring systems and groups, drawn; `None` if they do not fit or the SMILES is too long.
    pub(super) fn draw(scale: Scale, rng: &mut ChaCha8Rng) -> Option<Self> {
        let all: Vec<&Group> = GROUPS.iter().collect();
        Self::draw_with(&all, scale, rng).filter(|plan| plan.fits(scale))
    }

    /// The same for a part; `None` if the molecule belongs to another.
    pub(super) fn draw_for(part: Part, scale: Scale, rng: &mut ChaCha8Rng) -> Option<Self> {
        let all: Vec<&Group> = GROUPS.iter().collect();
        Self::draw_with(&all, scale, rng).filter(|plan| plan.part() == part && plan.fits(scale))
    }

    /// Whether the SMILES is short enough.
    pub(super) fn fits(&self, scale: Scale) -> bool {
        self.smiles().len() <= longest(scale)
    }

    /// Ring systems, and groups out of these alone, however long the SMILES is.
    pub(super) fn draw_with(
        options: &[&Group],
        scale: Scale,
        rng: &mut ChaCha8Rng,
    ) -> Option<Self> {
        let (rings, groups) = match scale {
            Scale::Tiny => (1 + usize::from(rng.random_bool(0.2)), rng.random_range(1..=3)),
            Scale::Full => (rng.random_range(2..=4), rng.random_range(1..=4)),
        };
        let mut plan = Self { rings: Vec::new(), groups: Vec::new() };
        for _ in 0..rings {
            plan.add_ring(rng)?;
        }
        for _ in 0..groups {
            let group = options.choose_weighted(rng, |group| group.weight).ok()?;
            plan = plan.with(**group, rng)?;
        }
        let count = |name| plan.groups.iter().filter(|one| one.group.name == name).count();
        let is_crowded =
            plan.groups.iter().any(|one| one.group.name.is_some() && count(one.group.name) > 2);
        (!is_crowded).then_some(plan)
    }

    fn add_ring(&mut self, rng: &mut ChaCha8Rng) -> Option<()> {
        let system = RINGS.choose(rng)?;
        if self.rings.is_empty() {
            self.rings.push(PlacedRing { system, link: None });
            return Some(());
        }
        let link = LINKS.choose(rng)?;
        let (from, from_nitrogen) = self.site(self.rings.len() - 1, link.at_nitrogen, rng)?;
        let with_nitrogen = link.at_nitrogen && !(from_nitrogen && link.smiles.is_empty());
        let nitrogens = if with_nitrogen { &system.nitrogens[..] } else { &[] };
        let sites = [&system.carbons, nitrogens].concat();
        let to = *sites.choose(rng)?;
        self.rings.push(PlacedRing { system, link: Some((link, from, to)) });
        Some(())
    }

    /// A free atom of a ring system, and whether it is nitrogen.
    fn site(
        &self,
        ring: usize,
        with_nitrogen: bool,
        rng: &mut ChaCha8Rng,
    ) -> Option<(usize, bool)> {
        let system = self.rings[ring].system;
        let carbons = system.carbons.iter().map(|&atom| (atom, false));
        let nitrogens = system.nitrogens.iter().map(|&atom| (atom, true));
        let nitrogens = nitrogens.filter(|_| with_nitrogen);
        let is_free = |&(atom, _): &(usize, bool)| {
            let by_group = self.groups.iter().any(|one| (one.ring, one.atom) == (ring, atom));
            let own = self.rings[ring].link.is_some_and(|(_, _, to)| to == atom);
            let next = self.rings.get(ring + 1).and_then(|next| next.link);
            !by_group && !own && next.is_none_or(|(_, from, _)| from != atom)
        };
        let sites: Vec<_> = carbons.chain(nitrogens).filter(is_free).collect();
        sites.choose(rng).copied()
    }

    /// The plan with one more group at a drawn carbon; `None` if there is no free one.
    pub(super) fn with(&self, group: Group, rng: &mut ChaCha8Rng) -> Option<Self> {
        let mut rings: Vec<usize> = (0..self.rings.len()).collect();
        rings.shuffle(rng);
        let found = rings.into_iter().find_map(|ring| Some((ring, self.site(ring, false, rng)?.0)));
        let (ring, atom) = found?;
        let mut plan = self.clone();
        plan.groups.push(PlacedGroup { group, ring, atom });
        Some(plan)
    }

    /// The plan without its group of this number.
    pub(super) fn without(&self, number: usize) -> Self {
        let mut plan = self.clone();
        plan.groups.remove(number);
        plan
    }

    /// The plan with another group in the place of one.
    pub(super) fn instead(&self, number: usize, group: Group) -> Self {
        let mut plan = self.clone();
        plan.groups[number].group = group;
        plan
    }

    /// Whether a group hangs on an aromatic ring.
    pub(super) fn is_aromatic(&self, number: usize) -> bool {
        let PlacedGroup { ring, atom, .. } = self.groups[number];
        self.rings[ring].system.molecule.is_aromatic_atom(atom)
    }

    /// The plan with a group moved to another atom; `None` if there is no free one.
    pub(super) fn moved(&self, number: usize, rng: &mut ChaCha8Rng) -> Option<Self> {
        let group = self.groups[number].group;
        self.without(number).with(group, rng)
    }

    /// The ring systems and links without groups: the Murcko scaffold.
    pub(super) fn scaffold(&self) -> Self {
        Self { rings: self.rings.clone(), groups: Vec::new() }
    }

    /// The molecule. It has all fragments, because plans only use atoms with a hydrogen, once.
    pub(super) fn molecule(&self) -> Molecule {
        const FREE: &str = "every atom of a plan has a hydrogen to give";
        let mut molecule = Molecule::default();
        let mut firsts: Vec<usize> = Vec::new();
        for ring in &self.rings {
            let first = molecule.add(&ring.system.molecule);
            if let (Some((link, from, to)), Some(before)) = (ring.link, firsts.last()) {
                let (from, to) = (before + from, first + to);
                if link.smiles.is_empty() {
                    molecule.join(from, to).expect(FREE);
                } else {
                    let start = molecule.attach(from, &read(link.smiles), 0).expect(FREE);
                    molecule.join(start + link.end, to).expect(FREE);
                }
            }
            firsts.push(first);
        }
        for PlacedGroup { group, ring, atom } in &self.groups {
            molecule.attach(firsts[*ring] + atom, &read(group.smiles), 0).expect(FREE);
        }
        molecule
    }

    /// The SMILES of the molecule.
    pub(super) fn smiles(&self) -> String {
        self.molecule().smiles()
    }

    /// The fragments, in order: what a part of a suite owns ([`Part::of_parameters`]). Isomers have
    /// the same.
    pub(super) fn fragments(&self) -> String {
        let rings = self.rings.iter().map(|ring| ring.system.smiles.to_owned());
        let links = self.rings.iter().filter_map(|ring| ring.link);
        let links = links.map(|(link, ..)| format!("-{}-", link.smiles));
        let groups = self.groups.iter().map(|one| format!("-{}", one.group.shown()));
        let mut all: Vec<String> = rings.chain(links).chain(groups).collect();
        all.sort();
        all.join(" ")
    }

    /// The part that the molecule belongs to.
    pub(super) fn part(&self) -> Part {
        Part::of_parameters(&self.fragments())
    }

    /// How many functional groups of this name the molecule has.
    pub(super) fn count(&self, name: &str) -> usize {
        let links = self.rings.iter().filter_map(|ring| ring.link?.0.group);
        let groups = self.groups.iter().filter_map(|one| one.group.name);
        links.chain(groups).filter(|one| *one == name).count()
    }

    /// The number of rings.
    pub(super) fn rings(&self) -> usize {
        self.rings.iter().map(|ring| ring.system.rings).sum()
    }

    /// The ring systems, in the order of the chain.
    pub(super) fn ring_systems(&self) -> impl Iterator<Item = &'static RingSystem> {
        self.rings.iter().map(|ring| ring.system)
    }

    /// The groups, for people.
    pub(super) fn group_list(&self) -> String {
        let groups: Vec<String> = self.groups.iter().map(|one| one.group.shown()).collect();
        groups.join(", ")
    }
}
