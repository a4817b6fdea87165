//! Questions about classes without an order, and the names of their classes.
//!
//! Names are drawn from banks by domain, and say nothing about what their rows have in common or
//! how many there are.

use crate::numeric::draws::Draws;
use serde::Deserialize;
use std::collections::BTreeSet;
use std::sync::LazyLock;

/// A question about classes without an order.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClassQuestion {
    /// The domain whose stories it suits.
    domain: String,
    /// The keys of those that it suits; all if there are none.
    #[serde(default)]
    stories: Vec<String>,
    /// The target's column.
    pub column: String,
    /// What the column says of a row.
    pub means: String,
    /// Names of classes, where they are words.
    #[serde(default)]
    names: Vec<String>,
    /// The form of names that are codes, with `#` for a digit.
    #[serde(default)]
    code: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ClassFile {
    question: Vec<ClassQuestion>,
}

static QUESTIONS: LazyLock<Vec<ClassQuestion>> = LazyLock::new(|| {
    let file: ClassFile =
        toml::from_str(include_str!("../../classes.toml")).expect("tests parse the embedded file");
    file.question
});

impl ClassQuestion {
    /// A question that suits the story with this key of the domain, has so many classes, and a
    /// column that is not among `taken`; `None` if the banks have none.
    pub fn draw(
        [domain, story]: [&str; 2],
        classes: usize,
        taken: &BTreeSet<&str>,
        draws: &mut Draws,
    ) -> Option<&'static Self> {
        let suits = |question: &&Self| {
            question.domain == domain
                && (question.stories.is_empty() || question.names(story))
                && question.serves(classes, taken)
        };
        let suited: Vec<&Self> = QUESTIONS.iter().filter(suits).collect();
        (!suited.is_empty()).then(|| *draws.pick(&suited))
    }

    /// The same of what a story's pictures show: the question names the story, for one that suits any
    /// row, like who dealt with it, is not about what can be seen.
    pub fn of_pictures(
        story: &str,
        classes: usize,
        taken: &BTreeSet<&str>,
        draws: &mut Draws,
    ) -> Option<&'static Self> {
        let suits = |question: &&Self| question.names(story) && question.serves(classes, taken);
        let suited: Vec<&Self> = QUESTIONS.iter().filter(suits).collect();
        (!suited.is_empty()).then(|| *draws.pick(&suited))
    }

    /// Whether the question is for some stories, and this is one of them.
    fn names(&self, story: &str) -> bool {
        self.stories.iter().any(|key| key == story)
    }

    /// Whether the question has names for so many classes and a column of its own.
    fn serves(&self, classes: usize, taken: &BTreeSet<&str>) -> bool {
        !taken.contains(self.column.as_str())
            && (self.names.is_empty() || self.names.len() >= classes)
    }

    /// What the target of this column says of a row; `None` if no question has the column.
    pub fn meaning(column: &str) -> Option<&'static str> {
        let question = QUESTIONS.iter().find(|question| question.column == column)?;
        Some(&question.means)
    }

    /// So many different names, sorted.
    ///
    /// # Panics
    /// If the bank has fewer names.
    pub fn classes(&self, count: usize, draws: &mut Draws) -> Vec<String> {
        if !self.names.is_empty() {
            let mut names = self.names.clone();
            draws.shuffle(&mut names);
            names.truncate(count);
            names.sort();
            assert!(names.len() == count, "a question has names for all of its classes");
            return names;
        }
        let mut codes = BTreeSet::new();
        while codes.len() < count {
            let digit = |draws: &mut Draws| char::from(b"0123456789"[draws.whole(0, 9)]);
            let code = self.code.chars().map(|c| if c == '#' { digit(draws) } else { c });
            codes.insert(code.collect::<String>());
        }
        codes.into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::scenario;
    use tasks::stream::Stream;

    #[test]
    fn every_story_has_questions_with_enough_names() {
        for story in scenario::all().unwrap() {
            let key = [&*story.domain, story.key()];
            for seed in 0..8 {
                let mut draws = Draws::new(Stream::root(seed));
                let question = ClassQuestion::draw(key, 40, &BTreeSet::new(), &mut draws);
                let question = question.unwrap_or_else(|| panic!("{key:?} has no question"));
                let classes = question.classes(40, &mut draws);
                assert!(classes.is_sorted() && classes.len() == 40, "{key:?}: {classes:?}");
                assert!(classes.iter().collect::<BTreeSet<_>>().len() == 40, "{key:?}");
                assert_eq!(ClassQuestion::meaning(&question.column), Some(&*question.means));
            }
        }
    }

    #[test]
    fn questions_of_some_stories_name_stories_of_their_domain_and_are_asked_there_alone() {
        let stories = scenario::all().unwrap();
        for question in QUESTIONS.iter() {
            for key in &question.stories {
                let is_there = |story: &scenario::Scenario| {
                    story.domain == question.domain && story.key() == key.as_str()
                };
                assert!(stories.iter().any(is_there), "{}: {key}", question.column);
            }
        }
        let asked = |story: &str| -> BTreeSet<&str> {
            let ask = |seed| {
                let mut draws = Draws::new(Stream::root(seed));
                ClassQuestion::draw(["environment", story], 5, &BTreeSet::new(), &mut draws)
            };
            (0..30).filter_map(ask).map(|question| question.column.as_str()).collect()
        };
        assert!(asked("autumn-trees").contains("species"));
        assert!(!asked("well-quality").contains("species"));
    }

    #[test]
    fn a_column_means_one_thing() {
        for question in QUESTIONS.iter() {
            assert_eq!(ClassQuestion::meaning(&question.column), Some(&*question.means));
        }
    }

    #[test]
    fn pictures_are_asked_for_what_they_show_alone() {
        let asked = |story: &str| -> BTreeSet<&str> {
            let ask = |seed| {
                let mut draws = Draws::new(Stream::root(seed));
                ClassQuestion::of_pictures(story, 12, &BTreeSet::new(), &mut draws)
            };
            (0..30).filter_map(ask).map(|question| question.column.as_str()).collect()
        };
        assert_eq!(asked("songbird-feeder"), BTreeSet::from(["species"]));
        assert_eq!(asked("blade-coating"), BTreeSet::from(["damage_kind"]));
        assert_eq!(asked("flow-chamber"), BTreeSet::new());
        // As many stories of still pictures as have kinds of what they show.
        let stories = scenario::all().unwrap();
        let pictured = stories.iter().filter(|story| !asked(story.key()).is_empty());
        assert!(pictured.count() >= 40);
    }

    #[test]
    fn a_column_of_the_story_is_not_asked_for() {
        let taken = BTreeSet::from(["cultivar"]);
        let mut draws = Draws::new(Stream::root(0));
        for _ in 0..20 {
            let question =
                ClassQuestion::draw(["agriculture", "orchard-frost"], 5, &taken, &mut draws);
            assert_ne!(question.unwrap().column, "cultivar");
        }
    }
}
