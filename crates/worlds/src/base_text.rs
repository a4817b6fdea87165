//! Text that a tiny base model is pretrained on: it is to know the words and the forms of all
//! environments of a suite, and to do their tasks badly.
//!
//! `training items -> exercises, then a mix of transcripts, demonstrations, slips and scraps`
//!
//! A few hundred items are soon known by heart. With [`BaseTextSettings::repeats`] items are drawn anew
//! where they have had so many documents each. None of them is one of the suite's sealed items, or has a
//! window that gives one away. Nothing else that is sealed is read, and nothing is run: of environments
//! whose episodes have one turn, only the turn is written down.

use crate::demonstrate::{DemonstrationError, opening, play_turns};
use crate::folder::FolderError;
use crate::generate::GenerateError;
use crate::grams::{grams, words};
use crate::kind::Scale;
use crate::name::WorldName;
use crate::part::Part;
use crate::spec::{Source as ItemSource, TaskKind, TaskWorld};
use crate::suite::{Suite, SuiteError};
use crate::world::Environment;
use agents::trajectory::{Segment, Source};
use rand::RngExt as _;
use rand::seq::{IndexedRandom as _, SliceRandom as _};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet, HashSet};
use tasks::stream::Stream;
use tasks::task::TaskId;

/// Draws of a document, at most, before the next environment has its turn.
const TRIES: u64 = 20;
/// Words of a transcript, at most, unless its first item has more.
const TRANSCRIPT: usize = 400;
/// Lines of a scrap, at most.
const SCRAP: usize = 12;

/// How a document came about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DocumentKind {
    /// The expert on several items, one after another, as plain text without worked examples: nearly
    /// every answer repeats words that stand close before it. A small model learns to look there from
    /// such text, and hardly ever from single long prompts.
    Transcript,
    /// The expert's episode.
    Demonstration,
    /// An episode that goes wrong: turns of another item, or the expert's with a turn left out or
    /// words exchanged and the end of another item. Few come right all the same.
    Slip,
    /// Lines about an item, out of order: the words without the task.
    Scrap,
    /// Questions that episodes ask now and then, many in a row ([`Kind::exercise`](crate::Kind::exercise)),
    /// or where there are none the expert on several items, one after another and without worked
    /// examples.
    Exercise,
}

/// One document of the text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Document {
    /// The environment that it is from.
    pub world: WorldName,
    /// The training item that it is about, of several the first; `None` of exercises about none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item: Option<TaskId>,
    /// Which training items: 0 for the suite's own, more for those that were drawn after them.
    pub round: u64,
    /// How it came about.
    pub kind: DocumentKind,
    /// Prompt, turns and replies, as in trajectories; of transcripts and scraps one segment of the model.
    pub segments: Vec<Segment>,
}

impl Document {
    /// Its words, as [`words`] splits them.
    pub fn words(&self) -> usize {
        self.segments.iter().map(|segment| words(&segment.text).len()).sum()
    }

    /// Its text without roles, a blank line between segments.
    pub fn text(&self) -> String {
        let texts: Vec<&str> = self.segments.iter().map(|segment| segment.text.as_str()).collect();
        texts.join("\n\n")
    }
}

/// How much text, and how much of it is right.
///
/// | field | purpose | default |
/// | --- | --- | --- |
/// | `words` | words in all | 3,320,000 |
/// | `weights` | an environment's part of them, as a number beside the others'; 0 leaves it out | [`WorldName::text_weight`] |
/// | `transcripts` | the share of documents that are transcripts, 0 to 1 | 0 |
/// | `exposure` | the share of an environment's other documents that are demonstrations, 0 to 1 | 1 each |
/// | `scraps` | the share of the rest that are scraps, 0 to 1; the rest are slips | 0.5 |
/// | `exercises` | the share of words that are exercises, 0 to 1 | 0.75 |
/// | `repeats` | documents for each item, in the mean, before new items are drawn; 0 for the suite's own alone | 1 |
/// | `seed` | the root of all draws | 0 |
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct BaseTextSettings {
    /// Words in all.
    pub words: usize,
    /// Parts of the words. What is not named has its [`WorldName::text_weight`].
    pub weights: BTreeMap<WorldName, f64>,
    /// The share of transcripts.
    pub transcripts: f64,
    /// The share of demonstrations among the others. What is not named has the default.
    pub exposure: BTreeMap<WorldName, f64>,
    /// The share of the rest that are scraps.
    pub scraps: f64,
    /// The share of words that are exercises. They come first.
    pub exercises: f64,
    /// Documents for each item before new ones are drawn; 0 for the suite's own alone.
    pub repeats: u64,
    /// The root of all draws.
    pub seed: u64,
}

/// The share of demonstrations where none is set.
const EXPOSURE: f64 = 1.0;

impl Default for BaseTextSettings {
    fn default() -> Self {
        Self {
            words: 3_320_000,
            weights: BTreeMap::new(),
            transcripts: 0.0,
            exposure: BTreeMap::new(),
            scraps: 0.5,
            exercises: 0.75,
            repeats: 1,
            seed: 0,
        }
    }
}

/// Why there is no text.
#[derive(Debug, thiserror::Error)]
pub enum BaseTextError {
    /// A share is out of its range.
    #[error("`{key}` must be from 0 to 1, and is {found}")]
    Share {
        /// The setting.
        key: String,
        /// Its value.
        found: f64,
    },
    /// A weight is negative, or no number.
    #[error("the weight of `{world}` must be 0 or more, and is {found}")]
    Weight {
        /// The environment that it was given for.
        world: &'static str,
        /// The weight as it was given.
        found: f64,
    },
    /// New items need the sealed ones, none of which they may tell.
    #[error(
        "`{0}` has no sealed items here, against which new ones would be checked; leave `repeats` at 0"
    )]
    NotSealed(TaskId),
    /// A setting names what is not in the suite.
    #[error("the suite has no task `{0}`")]
    NoTask(&'static str),
    /// No training items, or none whose prompts can be written.
    #[error("no document could be made of the suite's training items")]
    Nothing,
    /// The suite could not be read.
    #[error("failed to read the suite")]
    Suite(#[from] SuiteError),
    /// The training items could not be read.
    #[error("failed to read training items")]
    Folder(#[from] FolderError),
    /// More items could not be drawn.
    #[error("failed to draw more training items")]
    Generate(#[from] GenerateError),
    /// An episode could not be played.
    #[error("failed to play a training item")]
    Play(#[from] DemonstrationError),
    /// A task from files of a user, of which there are no more items than it has.
    #[error("no text can be drawn for `{0}`, which is no generated task: give a base of your own")]
    Custom(TaskId),
}

/// The text for a base model, from the training items of all tasks of a suite. It depends on these
/// and the settings alone.
///
/// # Errors
/// [`BaseTextError`].
pub fn base_text(
    suite: &Suite,
    settings: &BaseTextSettings,
) -> Result<Vec<Document>, BaseTextError> {
    let shares = settings.exposure.iter().map(|(world, share)| (world.name(), *share));
    let others = [
        ("transcripts", settings.transcripts),
        ("scraps", settings.scraps),
        ("exercises", settings.exercises),
    ];
    for (key, found) in shares.chain(others) {
        if !(0.0..=1.0).contains(&found) {
            return Err(BaseTextError::Share { key: key.to_owned(), found });
        }
    }
    for (world, &found) in &settings.weights {
        if !(found >= 0.0 && found.is_finite()) {
            return Err(BaseTextError::Weight { world: world.name(), found });
        }
    }
    let is_here =
        |name: WorldName| suite.tasks().iter().any(|task| task.world == TaskWorld::Generated(name));
    let mut named = settings.weights.keys().chain(settings.exposure.keys());
    if let Some(other) = named.find(|&&name| !is_here(name)) {
        return Err(BaseTextError::NoTask(other.name()));
    }
    let mut writers = Vec::new();
    for task in suite.tasks() {
        let TaskWorld::Generated(name) = task.world else {
            return Err(BaseTextError::Custom(task.id.clone()));
        };
        let weight = settings.weights.get(&name).copied().unwrap_or(name.text_weight());
        if weight == 0.0 {
            continue;
        }
        let folder = suite.task(task.id.as_str())?;
        if matches!(folder.spec().source, ItemSource::Folder { .. }) {
            return Err(BaseTextError::Custom(task.id.clone()));
        }
        let sealed = match folder.sealed() {
            _ if settings.repeats == 0 => None,
            Ok(sealed) => Some(SealedItems::of(&[sealed.dev()?, sealed.test()?])),
            // A copy for an agent.
            Err(FolderError::NotSealed(_)) => {
                return Err(BaseTextError::NotSealed(task.id.clone()));
            }
            Err(error) => return Err(error.into()),
        };
        let scale = folder.spec().scale();
        let (world, items) = own_items(folder.train()?);
        let stream = Stream::root(settings.seed).child("base text").child(task.id.as_str());
        let exposure = settings.exposure.get(&name).copied().unwrap_or(EXPOSURE);
        let round = 0;
        writers.push(Writer {
            name,
            scale,
            sealed,
            world,
            items,
            round,
            stream,
            exposure,
            weight,
            exercises: 0,
            drawn: 0,
            words: 0,
        });
    }
    let mut documents = Vec::new();
    let (mut total, exercises) = (0, settings.words as f64 * settings.exercises);
    while total < settings.words {
        // The environment with the fewest words for its weight so far; of several, the first in the suite.
        let part = |writer: &Writer| writer.words as f64 / writer.weight;
        let next = writers.iter_mut().min_by(|a, b| part(a).total_cmp(&part(b)));
        let writer = next.ok_or(BaseTextError::Nothing)?;
        let document = writer.next(settings, (total as f64) < exercises)?;
        total += document.words();
        documents.push(document);
    }
    Ok(documents)
}

/// A world with the ids of its items.
fn own_items(world: Box<dyn Environment>) -> (Box<dyn Environment>, Vec<TaskId>) {
    let items = world.items().into_iter().cloned().collect();
    (world, items)
}

/// What tells the sealed items of a task.
struct SealedItems {
    /// Each as people read it.
    texts: BTreeSet<String>,
    /// Windows that give one away.
    grams: HashSet<[u8; 16]>,
}

impl SealedItems {
    fn of(parts: &[Box<dyn Environment>; 2]) -> Self {
        let (mut texts, mut windows) = (BTreeSet::new(), HashSet::new());
        for world in parts {
            for item in world.items() {
                texts.extend(world.render(item));
                windows.extend(grams(&world.evidence(item).unwrap_or_default()));
            }
        }
        Self { texts, grams: windows }
    }

    /// Whether an item is one of them, or tells of one.
    fn tells(&self, world: &dyn Environment, item: &TaskId) -> bool {
        let text = world.render(item).unwrap_or_default();
        let evidence = world.evidence(item).unwrap_or_default();
        self.texts.contains(&text)
            || [text, evidence].iter().any(|text| !grams(text).is_disjoint(&self.grams))
    }
}

/// Writes documents of one environment.
struct Writer {
    name: WorldName,
    scale: Scale,
    /// What new items must not tell; `None` where none are drawn.
    sealed: Option<SealedItems>,
    world: Box<dyn Environment>,
    /// Its items that documents are about.
    items: Vec<TaskId>,
    /// How often items were drawn.
    round: u64,
    stream: Stream,
    exposure: f64,
    /// Its part of the words, beside the others'; above 0.
    weight: f64,
    /// Exercises drawn so far.
    exercises: u64,
    /// Other documents drawn so far.
    drawn: u64,
    /// Words written so far.
    words: usize,
}

impl Writer {
    /// The next document that has words.
    fn next(
        &mut self,
        settings: &BaseTextSettings,
        is_exercise: bool,
    ) -> Result<Document, BaseTextError> {
        for _ in 0..TRIES {
            let document =
                if is_exercise { self.exercise(settings) } else { self.document(settings) }?;
            let words = document.words();
            if words > 0 {
                self.words += words;
                return Ok(document);
            }
        }
        Err(BaseTextError::Nothing)
    }

    /// The next one that is no exercise.
    fn document(&mut self, settings: &BaseTextSettings) -> Result<Document, BaseTextError> {
        let mut rng = self.stream.index(self.drawn).rng();
        self.renew(settings.repeats)?;
        self.drawn += 1;
        self.draw(settings, &mut rng)
    }

    fn exercise(&mut self, settings: &BaseTextSettings) -> Result<Document, BaseTextError> {
        let stream = self.stream.child("exercises").index(self.exercises);
        self.exercises += 1;
        let (item, segments) = if let Some(segments) = self.world.exercise(stream) {
            (None, segments)
        } else {
            self.renew(settings.repeats)?;
            self.drawn += 1;
            let (item, segments) = self.several(&mut stream.rng())?;
            (Some(item), segments)
        };
        let (world, round, kind) = (self.name, self.round, DocumentKind::Exercise);
        Ok(Document { world, item, round, kind, segments })
    }

    /// Draws new items where the ones at hand have had so many documents each.
    fn renew(&mut self, repeats: u64) -> Result<(), BaseTextError> {
        let Some(sealed) = &self.sealed else { return Ok(()) };
        let documents = (self.world.items().len() as u64).saturating_mul(repeats);
        let round = self.drawn / documents.max(1);
        if round > self.round {
            let seed = self.stream.child("items").index(round).seed();
            let (world, mut items) =
                own_items(self.name.generate(Part::Train, self.scale, seed)?);
            items.retain(|item| !sealed.tells(&*world, item));
            (self.world, self.items, self.round) = (world, items, round);
        }
        Ok(())
    }

    fn draw(
        &self,
        settings: &BaseTextSettings,
        rng: &mut ChaCha8Rng,
    ) -> Result<Document, BaseTextError> {
        let is_transcript = rng.random_bool(settings.transcripts);
        let is_demonstration = !is_transcript && rng.random_bool(self.exposure);
        let is_scrap = !is_transcript && !is_demonstration && rng.random_bool(settings.scraps);
        let item = self.items.choose(rng).ok_or(BaseTextError::Nothing)?;
        let other = self.items.choose(rng).ok_or(BaseTextError::Nothing)?;
        let (kind, segments) = if is_transcript {
            (DocumentKind::Transcript, vec![self.transcript(item, rng)?])
        } else if is_demonstration {
            (DocumentKind::Demonstration, self.episode(item, self.expert(item)?)?)
        } else if is_scrap {
            (DocumentKind::Scrap, vec![self.scrap(item, other, rng)])
        } else {
            (DocumentKind::Slip, self.episode(item, self.slip(item, other, rng)?)?)
        };
        let (world, round) = (self.name, self.round);
        Ok(Document { world, item: Some(item.clone()), round, kind, segments })
    }

    fn expert(&self, item: &TaskId) -> Result<Vec<String>, BaseTextError> {
        let turns = self.world.expert(item);
        Ok(turns.ok_or_else(|| DemonstrationError::NotTrain(item.clone()))?)
    }

    /// Prompt, turns, and the replies of environments that reply.
    fn episode(&self, item: &TaskId, turns: Vec<String>) -> Result<Vec<Segment>, BaseTextError> {
        let world = &*self.world;
        if world.spec().kind == TaskKind::Static {
            let mut segments = opening(world, item)?;
            segments.extend(turns.into_iter().map(|turn| Segment::text(Source::Model, turn)));
            return Ok(segments);
        }
        Ok(play_turns(world, item, turns)?.segments)
    }

    /// The expert on several items, one after another and without worked examples; with the first of
    /// them.
    fn several(&self, rng: &mut ChaCha8Rng) -> Result<(TaskId, Vec<Segment>), BaseTextError> {
        let first = self.items.choose(rng).ok_or(BaseTextError::Nothing)?;
        let mut all = opening(&*self.world, first)?;
        all.truncate(1);
        let count = |segments: &Vec<Segment>| {
            segments.iter().map(|segment| words(&segment.text).len()).sum()
        };
        all.extend(
            self.filled(first, rng, |item| self.exchange(item), count)?.into_iter().flatten(),
        );
        Ok((first.clone(), all))
    }

    /// What of an item is about it alone, and the expert's turns with their replies, the last one's
    /// left out.
    fn exchange(&self, item: &TaskId) -> Result<Vec<Segment>, BaseTextError> {
        let mut segments = self.episode(item, self.expert(item)?)?.split_off(1);
        segments[0].text = self.world.question(item).unwrap_or_default();
        let is_turn = |segment: &Segment| segment.source == Source::Model;
        segments.truncate(1 + segments.iter().rposition(is_turn).unwrap_or(0));
        Ok(segments)
    }

    /// The expert on `first` and on other items, as plain text.
    fn transcript(&self, first: &TaskId, rng: &mut ChaCha8Rng) -> Result<Segment, BaseTextError> {
        let texts = self.filled(first, rng, |item| self.told(item), |text| words(text).len())?;
        Ok(Segment::text(Source::Model, texts.join("\n\n")))
    }

    /// What is written about `first` and about other items, up to some number of words.
    fn filled<T>(
        &self,
        first: &TaskId,
        rng: &mut ChaCha8Rng,
        write: impl Fn(&TaskId) -> Result<T, BaseTextError>,
        count: impl Fn(&T) -> usize,
    ) -> Result<Vec<T>, BaseTextError> {
        let (mut all, mut length, mut item) = (Vec::new(), 0, first);
        loop {
            let written = write(item)?;
            let more = count(&written);
            if length > 0 && length + more > TRANSCRIPT {
                return Ok(all);
            }
            length += more.max(1);
            all.push(written);
            item = self.items.choose(rng).unwrap_or(first);
        }
    }

    /// The expert's episode on an item as it may stand in a book: what is asked, and in environments
    /// that reply each turn behind `>` with the reply under it.
    fn told(&self, item: &TaskId) -> Result<String, BaseTextError> {
        let world = &*self.world;
        let question = world.question(item).unwrap_or_default();
        let turns = self.expert(item)?;
        if world.spec().kind == TaskKind::Static {
            let separator = if question.ends_with(':') { " " } else { "\n" };
            return Ok(format!("{question}{separator}{}", turns.join("\n")));
        }
        let mut lines = vec![question];
        for segment in play_turns(world, item, turns)?.segments {
            match segment.source {
                Source::Model => lines.push(format!("> {}", segment.text)),
                Source::Environment => lines.push(segment.text),
                Source::Prompt | Source::Guide => (),
            }
        }
        Ok(lines.join("\n"))
    }

    /// Turns that hardly solve an item.
    fn slip(
        &self,
        item: &TaskId,
        other: &TaskId,
        rng: &mut ChaCha8Rng,
    ) -> Result<Vec<String>, BaseTextError> {
        let others = self.expert(other)?;
        if rng.random_bool(0.5) {
            return Ok(others);
        }
        // The expert's, but with the end of the other: an environment may look at the end alone.
        let mut turns = self.expert(item)?;
        let Some(end) = others.last() else { return Ok(others) };
        if turns.len() > 1 {
            turns.remove(rng.random_range(0..turns.len()));
            if let Some(last) = turns.last_mut() {
                last.clone_from(end);
            }
            return Ok(turns);
        }
        Ok(turns.iter().map(|turn| exchanged(turn, end, rng)).collect())
    }

    /// Lines of two items in another order.
    fn scrap(&self, item: &TaskId, other: &TaskId, rng: &mut ChaCha8Rng) -> Segment {
        let texts = [item, other].map(|item| self.world.render(item).unwrap_or_default());
        let mut lines: Vec<&str> =
            texts.iter().flat_map(|text| text.lines()).filter(|line| !line.is_empty()).collect();
        lines.shuffle(rng);
        lines.truncate(SCRAP);
        Segment::text(Source::Model, lines.join("\n"))
    }
}

/// A text in which one word in four, and the last, are of another text.
fn exchanged(text: &str, other: &str, rng: &mut ChaCha8Rng) -> String {
    let others: Vec<&str> = other.split(' ').collect();
    let mut words: Vec<&str> = text.split(' ').collect();
    for word in &mut words {
        if rng.random_bool(0.25) {
            *word = others.choose(rng).copied().unwrap_or_default();
        }
    }
    if let (Some(last), Some(end)) = (words.last_mut(), others.last()) {
        *last = end;
    }
    words.join(" ")
}
