//! What instructions are about: topics with words, and a sentence for each word.

use crate::part::Part;

/// A topic. The sentence of a word has that word and none of the others.
#[derive(Debug)]
pub(super) struct Topic {
    /// What it is called, in the plural or as a mass.
    pub(super) name: &'static str,
    /// The only part whose items are on it besides those on topics of all parts; `None` for these.
    pub(super) only: Option<Part>,
    pub(super) sentences: [(&'static str, &'static str); 8],
}

const fn of_all(name: &'static str, sentences: [(&'static str, &'static str); 8]) -> Topic {
    Topic { name, only: None, sentences }
}

const fn of_dev(name: &'static str, sentences: [(&'static str, &'static str); 8]) -> Topic {
    Topic { name, only: Some(Part::Dev), sentences }
}

const fn of_test(name: &'static str, sentences: [(&'static str, &'static str); 8]) -> Topic {
    Topic { name, only: Some(Part::Test), sentences }
}

impl Topic {
    /// The topic with this name.
    pub(super) fn named(name: &str) -> Option<&'static Self> {
        TOPICS.iter().find(|topic| topic.name == name)
    }

    /// The sentence of a word.
    pub(super) fn sentence(&self, word: &str) -> Option<&'static str> {
        self.sentences.iter().find(|(of, _)| *of == word).map(|(_, sentence)| *sentence)
    }

    /// Whether a word, in lower case, is the name or one of the words.
    pub(super) fn has(&self, word: &str) -> bool {
        word == self.name || self.sentences.iter().any(|(of, _)| *of == word)
    }
}

pub(super) static TOPICS: [Topic; 30] = [
    of_all(
        "bees",
        [
            ("honey", "They make honey for the cold months."),
            ("hive", "A hive holds many thousands of them."),
            ("queen", "One queen lays all the eggs."),
            ("flower", "They fly from flower to flower."),
            ("wax", "Their cells are built of wax."),
            ("swarm", "In May a swarm may leave."),
            ("sting", "A sting hurts for an hour."),
            ("dance", "A dance tells the others where to fly."),
        ],
    ),
    of_all(
        "bread",
        [
            ("flour", "Good flour is half of the work."),
            ("yeast", "The yeast needs time and warmth."),
            ("oven", "A hot oven gives a dark top."),
            ("salt", "A little salt is enough."),
            ("dough", "The dough rests under a cloth."),
            ("crust", "Many like the crust best."),
            ("butter", "It is eaten warm with butter."),
            ("baker", "The baker gets up before dawn."),
        ],
    ),
    of_all(
        "rivers",
        [
            ("bridge", "An old bridge leads to the mill."),
            ("fish", "In deep places there are fish."),
            ("bank", "Willows grow on the bank."),
            ("flood", "After rain there may be a flood."),
            ("boat", "A boat goes down without a sound."),
            ("source", "The source is high in the hills."),
            ("sea", "All of them reach the sea at last."),
            ("stone", "Water makes every stone round."),
        ],
    ),
    of_all(
        "trains",
        [
            ("station", "The station has four tracks."),
            ("ticket", "A ticket is bought at the window."),
            ("whistle", "The whistle can be heard from far."),
            ("seat", "A seat at the window is best."),
            ("tunnel", "The long tunnel takes ten minutes."),
            ("track", "The track follows the valley."),
            ("driver", "The driver sits at the front."),
            ("delay", "A delay of an hour is rare."),
        ],
    ),
    of_all(
        "gardens",
        [
            ("rose", "The rose stands by the gate."),
            ("bulb", "Every bulb wants light and water."),
            ("spade", "A sharp spade saves much work."),
            ("weed", "The weed grows faster than the rest."),
            ("fence", "A low fence keeps the hens out."),
            ("tree", "Under the tree there is shade."),
            ("path", "A narrow path leads to the shed."),
            ("pond", "Frogs sing in the pond."),
        ],
    ),
    of_all(
        "winter",
        [
            ("snow", "The snow lies on the roofs."),
            ("ice", "Thin ice covers the lake."),
            ("coat", "A thick coat is needed."),
            ("fire", "People sit by the fire."),
            ("sled", "The children pull a sled."),
            ("frost", "The frost paints the windows."),
            ("soup", "Hot soup stands on the table."),
            ("night", "The night comes early."),
        ],
    ),
    of_all(
        "cats",
        [
            ("mouse", "A mouse has no easy life with them."),
            ("milk", "They drink milk from a bowl."),
            ("tail", "A raised tail is a greeting."),
            ("roof", "They sleep on the warm roof."),
            ("claw", "Each claw is sharp and hidden."),
            ("kitten", "A kitten plays all day."),
            ("sofa", "The sofa belongs to them."),
            ("whisker", "A whisker feels what eyes cannot see."),
        ],
    ),
    of_all(
        "music",
        [
            ("drum", "The drum keeps the time."),
            ("song", "An old song needs no book."),
            ("piano", "The piano stands in the hall."),
            ("choir", "The choir meets on Mondays."),
            ("violin", "A violin is made of thin wood."),
            ("note", "One wrong note is soon forgotten."),
            ("band", "The band plays in the park."),
            ("rhythm", "Good rhythm can be learned."),
        ],
    ),
    of_all(
        "ships",
        [
            ("sail", "A white sail is seen from far."),
            ("captain", "The captain knows the coast."),
            ("anchor", "The anchor holds in the storm."),
            ("harbour", "The harbour is full in summer."),
            ("rope", "Every rope has its place."),
            ("mast", "The mast is a single trunk."),
            ("cargo", "Their cargo is grain and coal."),
            ("deck", "The deck is washed at six."),
        ],
    ),
    of_all(
        "schools",
        [
            ("teacher", "The teacher reads a story aloud."),
            ("book", "Each child has a book."),
            ("bell", "The bell rings at eight."),
            ("board", "Sums are written on the board."),
            ("desk", "A desk is shared by two."),
            ("lesson", "The first lesson is the longest."),
            ("pencil", "A short pencil writes as well."),
            ("yard", "In the yard there is a tall oak."),
        ],
    ),
    of_all(
        "markets",
        [
            ("apple", "A ripe apple costs little."),
            ("stall", "Each stall has a striped cover."),
            ("price", "The price falls towards noon."),
            ("basket", "A basket is better than a bag."),
            ("cheese", "The cheese comes from the hills."),
            ("farmer", "The farmer brings what is fresh."),
            ("crowd", "The crowd is thick by ten."),
            ("coin", "The last coin buys a bun."),
        ],
    ),
    of_all(
        "forests",
        [
            ("oak", "An oak may stand for ages."),
            ("moss", "Soft moss grows on the north side."),
            ("deer", "A deer drinks at the stream."),
            ("owl", "The owl hunts in the dark."),
            ("leaf", "Every leaf falls in autumn."),
            ("mushroom", "Not every mushroom can be eaten."),
            ("hunter", "The hunter walks without a sound."),
            ("wood", "Their wood warms the village."),
        ],
    ),
    of_all(
        "clocks",
        [
            ("tower", "The one on the tower is the oldest."),
            ("spring", "A spring drives the small ones."),
            ("hand", "The long hand shows the minutes."),
            ("chime", "Their chime wakes the street."),
            ("wheel", "Each wheel turns the next."),
            ("pocket", "Some fit in a pocket."),
            ("face", "A white face is easy to read."),
            ("key", "The key is turned on Sundays."),
        ],
    ),
    of_all(
        "rain",
        [
            ("cloud", "A dark cloud comes from the west."),
            ("umbrella", "An umbrella is soon forgotten."),
            ("puddle", "The children love every puddle."),
            ("field", "The dry field drinks it in."),
            ("gutter", "The gutter sings all night."),
            ("boots", "High boots keep the feet dry."),
            ("drop", "A single drop wakes nobody."),
            ("rainbow", "At the end there is a rainbow."),
        ],
    ),
    of_all(
        "horses",
        [
            ("saddle", "The saddle must fit well."),
            ("stable", "The stable smells of hay."),
            ("cart", "Two of them pull the cart."),
            ("rider", "A calm rider makes them calm."),
            ("hoof", "A hoof needs care every day."),
            ("oats", "They love oats more than grass."),
            ("foal", "A foal stands within the hour."),
            ("race", "The race is run in June."),
        ],
    ),
    of_all(
        "bicycles",
        [
            ("pedal", "The left pedal is loose."),
            ("chain", "A dry chain makes noise."),
            ("brake", "The front brake is the stronger."),
            ("lamp", "A lamp is needed after dark."),
            ("tyre", "A soft tyre makes them slow."),
            ("hill", "Up the hill it is hard work."),
            ("helmet", "A helmet should sit firmly."),
            ("pump", "The pump hangs under the frame."),
        ],
    ),
    of_all(
        "tea",
        [
            ("cup", "A thin cup keeps the taste."),
            ("kettle", "The kettle sings on the stove."),
            ("sugar", "Some take two spoons of sugar."),
            ("lemon", "A slice of lemon makes it fresh."),
            ("pot", "A brown pot keeps it warm."),
            ("guest", "Every guest gets some."),
            ("cake", "With cake it is a meal."),
            ("mint", "Fresh mint cools in summer."),
        ],
    ),
    of_all(
        "mountains",
        [
            ("peak", "The peak is white in June."),
            ("hut", "A hut offers bread and beds."),
            ("goat", "The goat climbs where none can."),
            ("guide", "A guide knows each step."),
            ("map", "A map shows the safe way."),
            ("valley", "The valley lies far below."),
            ("wind", "The wind is strong at the top."),
            ("eagle", "An eagle turns its circles."),
        ],
    ),
    of_all(
        "letters",
        [
            ("stamp", "The stamp shows a king."),
            ("envelope", "A blue envelope stands out."),
            ("ink", "Black ink lasts longest."),
            ("friend", "A friend waits for one."),
            ("post", "The post comes at nine."),
            ("paper", "Good paper is worth its price."),
            ("answer", "An answer takes a week."),
            ("drawer", "Old ones lie in a drawer."),
        ],
    ),
    of_all(
        "birds",
        [
            ("nest", "The nest is hidden in the hedge."),
            ("egg", "Each egg has brown spots."),
            ("wing", "A broken wing heals slowly."),
            ("feather", "A feather lies on the step."),
            ("worm", "The early worm is caught."),
            ("branch", "They rest on a branch."),
            ("south", "In autumn they fly south."),
            ("morning", "Their best time is the morning."),
        ],
    ),
    of_dev(
        "kitchens",
        [
            ("knife", "A sharp knife is a safe one."),
            ("spoon", "The wooden spoon is the oldest."),
            ("stove", "The stove is never cold."),
            ("table", "All sit around one table."),
            ("plate", "Each plate has a blue rim."),
            ("pepper", "Some pepper helps most meals."),
            ("cook", "The cook tastes everything twice."),
            ("onion", "An onion makes everyone cry."),
        ],
    ),
    of_dev(
        "beaches",
        [
            ("sand", "The sand is too hot at noon."),
            ("shell", "A shell holds the sound of waves."),
            ("wave", "A high wave takes the castle."),
            ("towel", "The towel is never dry."),
            ("crab", "A crab walks to the side."),
            ("swimmer", "A good swimmer knows the current."),
            ("kite", "A red kite stands above."),
            ("gull", "The gull steals what it can."),
        ],
    ),
    of_dev(
        "doctors",
        [
            ("nurse", "The nurse knows every name."),
            ("fever", "A fever is measured first."),
            ("pill", "One pill a day is enough."),
            ("cough", "A dry cough needs rest."),
            ("bandage", "The bandage is changed at night."),
            ("patient", "A patient must be heard."),
            ("clinic", "The clinic opens at seven."),
            ("advice", "Their advice is short and plain."),
        ],
    ),
    of_dev(
        "theatres",
        [
            ("stage", "The stage turns by itself."),
            ("actor", "An actor must be heard at the back."),
            ("curtain", "The red curtain falls too soon."),
            ("mask", "Each mask has one smile."),
            ("play", "A good play needs few words."),
            ("light", "A single light is enough."),
            ("row", "The first row sees too much."),
            ("applause", "Long applause is their bread."),
        ],
    ),
    of_test(
        "farms",
        [
            ("cow", "The cow comes home alone."),
            ("barn", "The barn is red and dry."),
            ("plough", "A plough opens the ground."),
            ("wheat", "The wheat is cut in July."),
            ("hen", "Each hen has a name."),
            ("tractor", "The tractor starts at dawn."),
            ("dog", "A dog watches the gate."),
            ("hay", "Sweet hay lies in heaps."),
        ],
    ),
    of_test(
        "stars",
        [
            ("moon", "The moon hides the weak ones."),
            ("telescope", "A telescope shows a thousand more."),
            ("planet", "A planet does not flicker."),
            ("sailor", "A sailor steers by them."),
            ("comet", "A comet comes once in a life."),
            ("sky", "The sky must be clear."),
            ("wish", "A wish belongs to each that falls."),
            ("summer", "In summer we see the bright band."),
        ],
    ),
    of_test(
        "libraries",
        [
            ("shelf", "The top shelf needs a ladder."),
            ("novel", "A thick novel lasts a month."),
            ("silence", "The silence is kept by all."),
            ("reader", "A reader forgets the hour."),
            ("card", "A card lets you take four home."),
            ("page", "A torn page is mended."),
            ("window", "The window looks on a park."),
            ("poem", "A poem takes one minute."),
        ],
    ),
    of_test(
        "football",
        [
            ("goal", "One goal decides most games."),
            ("ball", "The ball is heavier when wet."),
            ("referee", "The referee sees nearly all."),
            ("grass", "Short grass makes it fast."),
            ("team", "A team wins together."),
            ("coach", "The coach shouts in vain."),
            ("keeper", "The keeper waits and jumps."),
            ("cup", "The cup is filled with lemonade."),
        ],
    ),
    of_test(
        "chocolate",
        [
            ("bean", "A roasted bean smells of it."),
            ("bar", "A bar is gone in minutes."),
            ("gift", "It is a gift for any day."),
            ("cocoa", "More cocoa makes it dark."),
            ("nut", "A nut in it is a surprise."),
            ("shop", "The shop sells it by weight."),
            ("cream", "With cream it turns mild."),
            ("box", "The box is empty by night."),
        ],
    ),
    of_test(
        "fires",
        [
            ("match", "One match is enough."),
            ("smoke", "The smoke goes straight up."),
            ("log", "A dry log burns for hours."),
            ("ash", "Cold ash feeds the roses."),
            ("spark", "A spark flies into the dark."),
            ("camp", "The camp sits in a ring."),
            ("water", "Keep water close to them."),
            ("coal", "The coal glows until dawn."),
        ],
    ),
];
