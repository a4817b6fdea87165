//! All stand-ins.

use super::source::StandInSource;
use super::{
    authors, birds, comments, documents, measurements, medicine, melanoma, normalization, plants,
    playground, requests, small_pictures, whales,
};

/// The 22, sorted by name.
pub(super) const SOURCES: [StandInSource; 22] = [
    small_pictures::CACTUS,
    medicine::EYES,
    documents::DOCUMENTS,
    comments::INSULTS,
    small_pictures::BREEDS,
    small_pictures::DOGS_AND_CATS,
    medicine::TISSUE,
    comments::TOXICITY,
    plants::LEAVES,
    birds::BIRDS,
    measurements::FARES,
    measurements::CONDUCTORS,
    plants::DISEASES,
    requests::PIZZA,
    medicine::CATHETERS,
    melanoma::MELANOMA,
    authors::AUTHORS,
    playground::FOREST_COVER,
    playground::MACHINE_STATE,
    normalization::ENGLISH,
    normalization::RUSSIAN,
    whales::WHALES,
];

/// Names of the competitions that there are stand-ins for, sorted.
pub fn competitions() -> impl ExactSizeIterator<Item = &'static str> {
    SOURCES.iter().map(|source| source.id)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tasks::mlebench::graders::GRADERS;

    #[test]
    fn every_competition_with_a_grader_has_a_stand_in() {
        assert!(competitions().eq(GRADERS.iter().map(|(id, _)| *id)));
        assert!(competitions().is_sorted());
    }

    #[test]
    fn every_page_says_at_once_that_it_is_a_stand_in() {
        for source in SOURCES {
            let page = source.page();
            let first = page.lines().next().unwrap();
            assert!(first.starts_with("This is a stand-in for") && first.contains(source.id));
        }
    }
}
