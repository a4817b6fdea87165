//! Tasks of one prompt and one answer, whose items share nothing: the tasks of FT-Dojo.
//!
//! `prompt -> text -> judgement -> verdict`. A [`Question`] says what is particular to a task;
//! [`Single`] makes an environment of it.

use crate::kind::{Aggregate, Answer, Episode, Kind, Outline, Scale};
use crate::part::Part;
use crate::pool::RawRow;
use crate::runner::{ProgramRules, ProgramRun};
use crate::score::Mistake;
use agents::prompt::Prompt;
use agents::trajectory::EnvironmentVerdict;
use rand_chacha::ChaCha8Rng;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fmt::Debug;
use std::marker::PhantomData;
use tasks::stream::Stream;

/// Draws until one has parameters of the part that is asked for. A sealed part has a tenth of them.
const DRAWS: usize = 60;

/// How one answer is judged.
#[derive(Debug, Clone, PartialEq)]
pub struct Judgement {
    /// In [0, 1].
    pub score: f64,
    /// What is wrong; `None` with full marks.
    pub mistake: Option<Mistake>,
    /// The answer that was read.
    pub found: Value,
}

impl Judgement {
    /// The judgement on an answer that was read: [`Mistake::Wrong`] below full marks.
    pub fn of(score: f64, found: impl Into<Value>) -> Self {
        let mistake = (score < 1.0).then_some(Mistake::Wrong);
        Self { score, mistake, found: found.into() }
    }
}

/// Nothing could be read or run.
impl From<Mistake> for Judgement {
    fn from(mistake: Mistake) -> Self {
        Self { score: 0.0, mistake: Some(mistake), found: Value::Null }
    }
}

/// What is particular to a task of one prompt and one answer.
pub trait Question: Debug + Send + Sync + 'static {
    /// One item.
    type Item: Debug + Clone + PartialEq + Serialize + DeserializeOwned + Send + Sync;

    /// See [`Kind::NAME`].
    const NAME: &'static str;
    /// See [`Kind::VERSION`].
    const VERSION: u32;
    /// See [`Kind::PROGRAM_RULES`].
    const PROGRAM_RULES: Option<ProgramRules> = None;
    /// See [`Kind::AGGREGATE`].
    const AGGREGATE: Aggregate = Aggregate::Mean;

    /// Sizes, limits and wording.
    fn outline(scale: Scale) -> Outline;

    /// The page that an agent reads of the task.
    fn describe(scale: Scale) -> String;

    /// One candidate; `None` if the draw cannot be used.
    fn draw(scale: Scale, rng: &mut ChaCha8Rng) -> Option<Self::Item>;

    /// One candidate for a part. By default one for any part: those of others are thrown away.
    fn draw_for(_part: Part, scale: Scale, rng: &mut ChaCha8Rng) -> Option<Self::Item> {
        Self::draw(scale, rng)
    }

    /// The numbers and names that an item is made from, as a text. It decides which part the item
    /// may be in ([`Part::of_parameters`]), so no two parts, of this task or of others that make
    /// items from the same parameters, ever share one; and no task has one twice.
    fn parameters(item: &Self::Item) -> String;

    /// See [`Kind::evidence`].
    fn evidence(item: &Self::Item) -> String;

    /// The opening messages.
    fn prompt(item: &Self::Item, scale: Scale) -> Prompt;

    /// An answer with worked steps that earns full marks.
    fn solve(item: &Self::Item) -> String;

    /// An answer of the right form, drawn.
    fn random(item: &Self::Item, rng: &mut ChaCha8Rng) -> String;

    /// The script that an answer is judged by a run of; `None`, which is the default, where nothing
    /// is run.
    fn script(_item: &Self::Item, _text: &str) -> Option<String> {
        None
    }

    /// Judges an answer, with the run of its script where it has one.
    fn judge(item: &Self::Item, text: &str, run: Option<&ProgramRun>) -> Judgement;

    /// Labels for tables, such as the kind of question.
    fn labels(item: &Self::Item) -> Vec<String>;

    /// The truth, as verdicts have it beside what was found.
    fn truth(item: &Self::Item) -> Value;

    /// The item in a few lines for people, its answer included.
    fn render(item: &Self::Item) -> String;

    /// See [`Kind::pooled`].
    fn pooled(scale: Scale) -> usize;

    /// See [`Kind::raw`].
    fn raw(items: &[Self::Item], stream: Stream) -> Vec<RawRow>;
}

/// The environment of a [`Question`].
#[derive(Debug)]
pub struct Single<Q>(PhantomData<Q>);

/// An episode: one answer.
#[derive(Debug)]
pub struct SingleEpisode<'a, Q: Question> {
    item: &'a Q::Item,
    text: Option<String>,
    run: Option<ProgramRun>,
}

/// What the verdicts of [`Single`] have in their detail.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Detail {
    pub(crate) truth: Value,
    pub(crate) found: Value,
}

impl<Q: Question> SingleEpisode<'_, Q> {
    fn judge(&self) -> Judgement {
        match &self.text {
            Some(text) => Q::judge(self.item, text, self.run.as_ref()),
            None => Mistake::Empty.into(),
        }
    }
}

impl<Q: Question> Episode for SingleEpisode<'_, Q> {
    fn respond(&mut self, text: &str) -> Answer {
        self.text = Some(text.to_owned());
        let unread = [Mistake::Format, Mistake::Empty, Mistake::Truncated].map(Some);
        let understood = !unread.contains(&self.judge().mistake);
        Answer { observation: String::new(), understood, thought: false, over: true }
    }

    fn script(&self) -> Option<String> {
        Q::script(self.item, self.text.as_ref()?)
    }

    fn take_run(&mut self, run: &ProgramRun) {
        self.run = Some(run.clone());
    }

    fn verdict(&self) -> EnvironmentVerdict {
        let Judgement { score, mistake, found } = self.judge();
        let mut tags = Q::labels(self.item);
        tags.extend(mistake.map(|mistake| mistake.name().to_owned()));
        let detail = serde_json::to_value(Detail { truth: Q::truth(self.item), found });
        EnvironmentVerdict { reward: score, score, tags, detail: detail.unwrap_or_default() }
    }
}

impl<Q: Question> Kind for Single<Q> {
    type Item = Q::Item;
    type Ground = ();
    type Episode<'a> = SingleEpisode<'a, Q>;

    const NAME: &'static str = Q::NAME;
    const VERSION: u32 = Q::VERSION;
    const PROGRAM_RULES: Option<ProgramRules> = Q::PROGRAM_RULES;
    const AGGREGATE: Aggregate = Q::AGGREGATE;

    fn outline(scale: Scale) -> Outline {
        Q::outline(scale)
    }

    fn describe(scale: Scale) -> String {
        Q::describe(scale)
    }

    fn ground(_: Scale, _: Stream) {}

    fn draw((): &(), part: Part, scale: Scale, stream: Stream) -> Option<Q::Item> {
        let mut rng = stream.rng();
        let mut draws = (0..DRAWS).filter_map(|_| Q::draw_for(part, scale, &mut rng));
        draws.find(|item| Part::of_parameters(&Q::parameters(item)) == part)
    }

    fn key(item: &Q::Item) -> String {
        Q::parameters(item)
    }

    fn evidence((): &(), item: &Q::Item) -> String {
        Q::evidence(item)
    }

    fn prompt((): &(), item: &Q::Item, scale: Scale) -> Prompt {
        Q::prompt(item, scale)
    }

    fn open<'a>((): &'a (), item: &'a Q::Item) -> SingleEpisode<'a, Q> {
        SingleEpisode { item, text: None, run: None }
    }

    fn solve((): &(), item: &Q::Item) -> Vec<String> {
        vec![Q::solve(item)]
    }

    fn random(episode: &SingleEpisode<'_, Q>, rng: &mut ChaCha8Rng) -> String {
        Q::random(episode.item, rng)
    }

    fn render((): &(), item: &Q::Item) -> String {
        Q::render(item)
    }

    fn pooled(scale: Scale) -> usize {
        Q::pooled(scale)
    }

    fn raw(items: &[Q::Item], stream: Stream) -> Vec<RawRow> {
        Q::raw(items, stream)
    }
}

/// The page of a task: what is asked, how answers are read, the score, and where data is.
pub(crate) fn page(title: &str, outline: &Outline, task: &str, rules: &str, score: &str) -> String {
    let (sizes, limits) = (&outline.sizes, &outline.limits);
    format!(
        "# {title}\n\n\
         {task} The answer has at most {} tokens.\n\n\
         {rules}\n\n\
         **Score**: {score}, greedily decoded.\n\n\
         **Data**: `public/train.jsonl` has {} items, one a line, as examples of what the scorer \
         asks. What a model is trained on is made from the raw data of the suite's pool, \
         `pool/SOURCE/`; each source has a README. The hidden items ({} for the scores during the \
         run, {} for the final one) are drawn in the same way, from other parameters than all public \
         ones.\n",
        limits.turn_tokens, sizes.train, sizes.dev, sizes.test
    )
}
