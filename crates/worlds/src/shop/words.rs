//! What the catalogue is made of: departments with their nouns, attributes and options.

/// Products of one kind of use.
#[derive(Debug)]
pub(super) struct Department {
    pub(super) name: &'static str,
    pub(super) nouns: [&'static str; 5],
    pub(super) attributes: [&'static str; 10],
    /// Options that its products come in, by name, with their values.
    pub(super) options: [(&'static str, [&'static str; 5]); 2],
    /// Prices in dollars, from and to.
    pub(super) prices: (u32, u32),
}

const COLORS: [&str; 5] = ["black", "white", "red", "blue", "green"];

pub(super) static DEPARTMENTS: [Department; 8] = [
    Department {
        name: "clothing",
        nouns: ["jacket", "shirt", "skirt", "scarf", "trousers"],
        attributes: [
            "washable",
            "waterproof",
            "woollen",
            "cotton",
            "striped",
            "lined",
            "lightweight",
            "hooded",
            "elastic",
            "quilted",
        ],
        options: [("color", COLORS), ("size", ["tiny", "small", "medium", "large", "huge"])],
        prices: (12, 120),
    },
    Department {
        name: "kitchen",
        nouns: ["kettle", "pan", "teapot", "blender", "knife"],
        attributes: [
            "nonstick",
            "dishwasher",
            "steel",
            "ceramic",
            "insulated",
            "quiet",
            "foldable",
            "engraved",
            "heavy",
            "stackable",
        ],
        options: [("color", COLORS), ("capacity", ["half", "one", "two", "three", "five"])],
        prices: (8, 150),
    },
    Department {
        name: "electronics",
        nouns: ["speaker", "headset", "charger", "keyboard", "camera"],
        attributes: [
            "wireless",
            "rechargeable",
            "compact",
            "fast",
            "noiseless",
            "backlit",
            "rugged",
            "stereo",
            "magnetic",
            "universal",
        ],
        options: [("color", COLORS), ("cable", ["none", "short", "middle", "long", "coiled"])],
        prices: (15, 300),
    },
    Department {
        name: "furniture",
        nouns: ["chair", "bookcase", "bench", "wardrobe", "footstool"],
        attributes: [
            "oak",
            "painted",
            "upholstered",
            "adjustable",
            "narrow",
            "assembled",
            "swivelling",
            "antique",
            "outdoor",
            "padded",
        ],
        options: [("color", COLORS), ("height", ["floor", "low", "normal", "tall", "bar"])],
        prices: (30, 400),
    },
    Department {
        name: "beauty",
        nouns: ["shampoo", "lotion", "soap", "perfume", "lipstick"],
        attributes: [
            "vegan",
            "unscented",
            "organic",
            "moisturizing",
            "gentle",
            "mineral",
            "longlasting",
            "soothing",
            "travelsize",
            "refillable",
        ],
        options: [
            ("scent", ["rose", "lemon", "mint", "vanilla", "cedar"]),
            ("pack", ["single", "double", "triple", "family", "refill"]),
        ],
        prices: (4, 60),
    },
    Department {
        name: "garden",
        nouns: ["spade", "hose", "planter", "lantern", "wheelbarrow"],
        attributes: [
            "rustproof",
            "solar",
            "telescopic",
            "bamboo",
            "frostproof",
            "ergonomic",
            "hanging",
            "recycled",
            "galvanized",
            "silent",
        ],
        options: [("color", COLORS), ("length", ["mini", "short", "standard", "long", "extra"])],
        prices: (9, 180),
    },
    Department {
        name: "toys",
        nouns: ["puzzle", "kite", "robot", "doll", "drum"],
        attributes: [
            "wooden",
            "educational",
            "musical",
            "glowing",
            "plush",
            "magical",
            "handmade",
            "cooperative",
            "unbreakable",
            "portable",
        ],
        options: [("color", COLORS), ("age", ["baby", "toddler", "child", "teen", "adult"])],
        prices: (5, 90),
    },
    Department {
        name: "office",
        nouns: ["notebook", "stapler", "folder", "calendar", "marker"],
        attributes: [
            "ruled",
            "leather",
            "pocket",
            "refined",
            "erasable",
            "perforated",
            "heavyduty",
            "laminated",
            "spiral",
            "archival",
        ],
        options: [("color", COLORS), ("count", ["one", "three", "five", "ten", "twenty"])],
        prices: (3, 70),
    },
];

/// Names of makers; a title begins with one.
pub(super) static BRANDS: [&str; 24] = [
    "Alvex", "Borune", "Cestra", "Dovim", "Elkona", "Farnik", "Gelmor", "Hastil", "Ivaro",
    "Jorvel", "Kentra", "Lumeo", "Mirand", "Nordul", "Oskari", "Pelmi", "Quorra", "Rivexa",
    "Soltane", "Tervik", "Umbral", "Vantor", "Wexley", "Zelka",
];

/// Names of series; the second word of a title.
pub(super) static SERIES: [&str; 12] = [
    "Nova", "Prime", "Orbit", "Delta", "Harmony", "Summit", "Vista", "Echo", "Pioneer", "Comet",
    "Atlas", "Breeze",
];

/// Other words for some of the words above, as people write them.
static SYNONYMS: [(&str, &str); 16] = [
    ("washable", "easy to wash"),
    ("waterproof", "rainproof"),
    ("lightweight", "very light"),
    ("quiet", "not loud"),
    ("nonstick", "that nothing sticks to"),
    ("wireless", "cordless"),
    ("compact", "space saving"),
    ("adjustable", "that can be adjusted"),
    ("narrow", "slim"),
    ("unscented", "without scent"),
    ("gentle", "mild"),
    ("solar", "sun powered"),
    ("rustproof", "that does not rust"),
    ("unbreakable", "that cannot break"),
    ("portable", "easy to carry"),
    ("erasable", "that can be erased"),
];

/// Another word for a word, if there is one.
pub(super) fn synonym(word: &str) -> Option<&'static str> {
    SYNONYMS.iter().find(|(plain, _)| *plain == word).map(|(_, other)| *other)
}
