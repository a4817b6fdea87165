//! Invented names.

use super::encyclopedia::EntityKind;
use rand::seq::IndexedRandom as _;
use rand_chacha::ChaCha8Rng;

static FIRST: [&str; 24] = [
    "Adela", "Bruno", "Celia", "Doran", "Elsa", "Fabian", "Greta", "Henrik", "Ilse", "Jonas",
    "Klara", "Leon", "Marta", "Nils", "Odile", "Pavel", "Rhea", "Silas", "Thea", "Ulric", "Vera",
    "Wanda", "Xaver", "Yara",
];
static LAST: [&str; 30] = [
    "Abenroth", "Brandel", "Corvin", "Dunmore", "Eskel", "Farrow", "Gantry", "Holm", "Inkster",
    "Jarrow", "Keld", "Lorne", "Marsk", "Norvane", "Ostrand", "Pell", "Quist", "Rask", "Sorrel",
    "Tarn", "Udall", "Varga", "Wick", "Yarrow", "Zeller", "Brisk", "Calder", "Drummel", "Fenn",
    "Hald",
];
static TOWN_START: [&str; 20] = [
    "Alder", "Birken", "Crow", "Dorn", "Elm", "Frost", "Gold", "Hazel", "Iron", "Kings", "Lark",
    "Moss", "North", "Oak", "Pine", "Raven", "Stone", "Thorn", "Wester", "Willow",
];
static TOWN_END: [&str; 12] = [
    "bridge", "bury", "dale", "field", "ford", "gate", "ham", "haven", "mouth", "stead", "wick",
    "wold",
];
static BOOK_START: [&str; 20] = [
    "Silent",
    "Broken",
    "Distant",
    "Hidden",
    "Bright",
    "Hollow",
    "Last",
    "Paper",
    "Winter",
    "Burning",
    "Grey",
    "Forgotten",
    "Second",
    "Narrow",
    "Wild",
    "Quiet",
    "Salt",
    "Glass",
    "Velvet",
    "Endless",
];
static BOOK_END: [&str; 24] = [
    "Water", "Garden", "Harbour", "Letters", "Orchard", "Mirror", "Road", "Lantern", "Summer",
    "Island", "Clock", "Voices", "Bridge", "Library", "Shadows", "Stair", "Atlas", "River",
    "Chapel", "Feathers", "Tide", "Window", "Compass", "Engine",
];
static FIELD: [&str; 16] = [
    "Astronomy",
    "Botany",
    "Cartography",
    "Drama",
    "Ethics",
    "Forestry",
    "Geology",
    "History",
    "Irrigation",
    "Letters",
    "Mechanics",
    "Music",
    "Optics",
    "Printing",
    "Surgery",
    "Weaving",
];
static HOUSE: [&str; 8] =
    ["Academy", "College", "Foundation", "Guild", "House", "Institute", "Society", "Union"];

/// A name for an entity of this kind; it may be taken already.
pub(super) fn name(kind: EntityKind, rng: &mut ChaCha8Rng) -> String {
    let mut pick = |words: &[&'static str]| words.choose(rng).copied().unwrap_or_default();
    match kind {
        EntityKind::Person => format!("{} {}", pick(&FIRST), pick(&LAST)),
        EntityKind::Town => format!("{}{}", pick(&TOWN_START), pick(&TOWN_END)),
        EntityKind::Book => format!("{} {}", pick(&BOOK_START), pick(&BOOK_END)),
        EntityKind::Institute => format!("{} {}", pick(&FIELD), pick(&HOUSE)),
    }
}
