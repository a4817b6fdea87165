//! Who problems are about, and what they count.

/// A person and how they are spoken of.
#[derive(Debug, Clone, Copy)]
pub(super) struct Person {
    pub(super) name: &'static str,
    /// `She` or `He`.
    pub(super) subject: &'static str,
    /// `her` or `his`.
    pub(super) possessive: &'static str,
    /// `her` or `him`.
    pub(super) object: &'static str,
}

const fn she(name: &'static str) -> Person {
    Person { name, subject: "She", possessive: "her", object: "her" }
}

const fn he(name: &'static str) -> Person {
    Person { name, subject: "He", possessive: "his", object: "him" }
}

pub(super) static PEOPLE: [Person; 20] = [
    she("Ada"),
    he("Ben"),
    she("Cora"),
    he("Dan"),
    she("Emma"),
    he("Finn"),
    she("Grace"),
    he("Hugo"),
    she("Iris"),
    he("Jack"),
    she("Kate"),
    he("Liam"),
    she("Mia"),
    he("Noah"),
    she("Olga"),
    he("Paul"),
    she("Rosa"),
    he("Sam"),
    she("Tara"),
    he("Will"),
];

/// What is counted, and what happens to it. In sentences, `{s}` is the person's pronoun, `{o}` its
/// object form, `{p}` its possessive, `{n}` and `{m}` numbers.
#[derive(Debug)]
pub(super) struct Scene {
    pub(super) name: &'static str,
    pub(super) things: &'static str,
    /// What things are packed in, one and several.
    pub(super) pack: &'static str,
    pub(super) packs: &'static str,
    pub(super) gains: &'static [&'static str],
    pub(super) losses: &'static [&'static str],
    /// `{n}` packs of `{m}` things come.
    pub(super) group_gain: &'static str,
    /// `{m}` things go to each of `{n}` takers.
    pub(super) group_loss: &'static str,
    /// `{m}` things an hour for `{n}` hours, as the start of a story; after the name.
    pub(super) rate: &'static str,
    /// Things are sold for `{n}` dollars each.
    pub(super) sale: &'static str,
}

impl Scene {
    /// `in` or `on`, as packs ask for.
    pub(super) fn joint(&self) -> &'static str {
        if matches!(self.pack, "page" | "shelf" | "string") { "on" } else { "in" }
    }
}

pub(super) static SCENES: [Scene; 12] = [
    Scene {
        name: "orchard",
        things: "apples",
        pack: "basket",
        packs: "baskets",
        gains: &["{s} picks {n} more apples.", "A neighbour brings {o} {n} apples."],
        losses: &["{s} eats {n} apples.", "{s} throws away {n} bad apples."],
        group_gain: "{s} fills {n} more baskets with {m} apples each.",
        group_loss: "{s} gives {m} apples to each of {n} children.",
        rate: "picks {m} apples an hour for {n} hours.",
        sale: "{s} sells all the apples for {n} dollars each.",
    },
    Scene {
        name: "bakery",
        things: "rolls",
        pack: "tray",
        packs: "trays",
        gains: &["{s} bakes {n} more rolls.", "The second oven gives {n} rolls."],
        losses: &["{s} burns {n} rolls.", "A customer takes {n} rolls."],
        group_gain: "{s} bakes {n} more trays of {m} rolls each.",
        group_loss: "{s} delivers {m} rolls to each of {n} shops.",
        rate: "bakes {m} rolls an hour for {n} hours.",
        sale: "{s} sells all the rolls for {n} dollars each.",
    },
    Scene {
        name: "library",
        things: "books",
        pack: "shelf",
        packs: "shelves",
        gains: &["{s} gets {n} new books.", "A school sends {o} {n} books."],
        losses: &["{s} lends out {n} books.", "{s} gives away {n} old books."],
        group_gain: "{s} finds {n} boxes of {m} books each.",
        group_loss: "{s} lends {m} books to each of {n} readers.",
        rate: "collects {m} books an hour for {n} hours.",
        sale: "{s} sells all the books for {n} dollars each.",
    },
    Scene {
        name: "stickers",
        things: "stickers",
        pack: "page",
        packs: "pages",
        gains: &["{s} buys {n} stickers.", "{p} brother gives {o} {n} stickers."],
        losses: &["{s} loses {n} stickers.", "{s} puts {n} stickers on a door."],
        group_gain: "{s} buys {n} packs of {m} stickers each.",
        group_loss: "{s} gives {m} stickers to each of {n} friends.",
        rate: "cuts out {m} stickers an hour for {n} hours.",
        sale: "{s} sells all the stickers for {n} dollars each.",
    },
    Scene {
        name: "garden",
        things: "tulips",
        pack: "row",
        packs: "rows",
        gains: &["{s} plants {n} more tulips.", "{p} aunt gives {o} {n} tulips."],
        losses: &["The snails eat {n} tulips.", "{s} cuts {n} tulips for a friend."],
        group_gain: "{s} plants {n} more beds of {m} tulips each.",
        group_loss: "{s} puts {m} tulips in each of {n} vases and gives them away.",
        rate: "plants {m} tulips an hour for {n} hours.",
        sale: "{s} sells all the tulips for {n} dollars each.",
    },
    Scene {
        name: "farm",
        things: "eggs",
        pack: "carton",
        packs: "cartons",
        gains: &["The hens lay {n} more eggs.", "{s} buys {n} eggs from a neighbour."],
        losses: &["{s} drops {n} eggs.", "{s} uses {n} eggs for a cake."],
        group_gain: "{s} collects {n} nests of {m} eggs each.",
        group_loss: "{s} brings {m} eggs to each of {n} neighbours.",
        rate: "collects {m} eggs an hour for {n} hours.",
        sale: "{s} sells all the eggs for {n} dollars each.",
    },
    Scene {
        name: "workshop",
        things: "bolts",
        pack: "tin",
        packs: "tins",
        gains: &["{s} orders {n} more bolts.", "{s} finds {n} bolts in a drawer."],
        losses: &["{s} uses {n} bolts for a bench.", "{s} throws away {n} rusty bolts."],
        group_gain: "{s} unpacks {n} bags of {m} bolts each.",
        group_loss: "{s} fits {m} bolts to each of {n} wheels.",
        rate: "makes {m} bolts an hour for {n} hours.",
        sale: "{s} sells all the bolts for {n} dollars each.",
    },
    Scene {
        name: "school",
        things: "pencils",
        pack: "case",
        packs: "cases",
        gains: &["{s} buys {n} more pencils.", "{p} mother gives {o} {n} pencils."],
        losses: &["{s} breaks {n} pencils.", "{s} leaves {n} pencils at home."],
        group_gain: "{s} opens {n} boxes of {m} pencils each.",
        group_loss: "{s} hands {m} pencils to each of {n} pupils.",
        rate: "sharpens {m} pencils an hour for {n} hours.",
        sale: "{s} sells all the pencils for {n} dollars each.",
    },
    Scene {
        name: "pottery",
        things: "bowls",
        pack: "crate",
        packs: "crates",
        gains: &["{s} makes {n} more bowls.", "A student leaves {o} {n} bowls."],
        losses: &["{n} bowls crack in the oven.", "{s} keeps {n} bowls apart for a museum."],
        group_gain: "{s} glazes {n} sets of {m} bowls each.",
        group_loss: "{s} sends {m} bowls to each of {n} hotels.",
        rate: "makes {m} bowls an hour for {n} hours.",
        sale: "{s} sells all the bowls for {n} dollars each.",
    },
    Scene {
        name: "harbour",
        things: "fish",
        pack: "barrel",
        packs: "barrels",
        gains: &["{s} catches {n} more fish.", "Another boat hands {o} {n} fish."],
        losses: &["The gulls steal {n} fish.", "{s} lets {n} small fish go."],
        group_gain: "{s} pulls in {n} nets of {m} fish each.",
        group_loss: "{s} feeds {m} fish to each of {n} seals.",
        rate: "catches {m} fish an hour for {n} hours.",
        sale: "{s} sells all the fish for {n} dollars each.",
    },
    Scene {
        name: "beads",
        things: "beads",
        pack: "string",
        packs: "strings",
        gains: &["{s} finds {n} more beads.", "{p} friend gives {o} {n} beads."],
        losses: &["{s} drops {n} beads.", "{s} sews {n} beads on a dress."],
        group_gain: "{s} buys {n} bags of {m} beads each.",
        group_loss: "{s} gives {m} beads to each of {n} cousins.",
        rate: "paints {m} beads an hour for {n} hours.",
        sale: "{s} sells all the beads for {n} dollars each.",
    },
    Scene {
        name: "candles",
        things: "candles",
        pack: "carton",
        packs: "cartons",
        gains: &["{s} pours {n} more candles.", "{s} gets {n} candles from a shop."],
        losses: &["{s} burns {n} candles.", "{n} candles melt in the sun."],
        group_gain: "{s} pours {n} moulds of {m} candles each.",
        group_loss: "{s} lights {m} candles in each of {n} rooms, and they burn down.",
        rate: "pours {m} candles an hour for {n} hours.",
        sale: "{s} sells all the candles for {n} dollars each.",
    },
];

/// What money goes on and comes from; `{n}` is the amount.
pub(super) static SPENDING: [&str; 4] = [
    "{s} spends {n} dollars on lunch.",
    "{s} pays {n} dollars for the stall.",
    "{s} buys a hat for {n} dollars.",
    "The bus costs {o} {n} dollars.",
];
pub(super) static EARNING: [&str; 3] = [
    "{s} finds {n} dollars in an old coat.",
    "{p} uncle gives {o} {n} dollars.",
    "{s} earns {n} dollars by washing a car.",
];

/// Sentences with a number that the answer does not need.
pub(super) static DISTRACTORS: [&str; 6] = [
    "{s} is {n} years old.",
    "{p} sister has {n} marbles.",
    "The next town is {n} miles away.",
    "It is {n} degrees outside.",
    "{s} got up {n} minutes late that day.",
    "There are {n} houses in {p} street.",
];
