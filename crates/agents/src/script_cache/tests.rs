//! Cached episodes against those of an environment that counts what it runs.

use super::cache::{ScriptCache, ScriptCacheUse};
use super::file::{MachineFacts, ScriptCacheError};
use super::world::CachedWorld;
use crate::play::{Closed, Play, Reply, World};
use crate::prompt::{Prompt, PromptError};
use crate::reward::Reward;
use crate::trajectory::{EnvironmentVerdict, EpisodeEnding, EpisodeOutcome, Tool, TurnRecord};
use camino::{Utf8Path, Utf8PathBuf};
use fs_err as fs;
use jail::exec::Outcome;
use proptest::prelude::*;
use sandbox::env::EpisodeFault;
use serde_json::Value;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tasks::task::TaskId;

/// Turns of an episode, at most.
const TURNS: usize = 6;

/// An environment in which a turn is a word:
///
/// | turn | what it does |
/// | --- | --- |
/// | `answer` | ends the episode |
/// | `malformed` | is no script |
/// | `slow` | hits its time limit |
/// | `fault` | is a fault of ours |
/// | `random` | prints another number each time |
/// | `lucky` | prints always the same, and earns another reward each time |
/// | `short` | the wall time of the episode ends with it, except for the first time |
/// | any other | prints a number that follows from the turns |
#[derive(Debug)]
struct WordWorld {
    wall_limit: Duration,
    /// How long a script takes.
    pause: Duration,
    opened: AtomicU64,
    closed: AtomicU64,
    /// Turns that were carried out, in order.
    ran: Mutex<Vec<String>>,
}

#[derive(Debug)]
struct WordPlay<'a> {
    world: &'a WordWorld,
    item: TaskId,
    texts: Vec<String>,
    luck: u64,
    turns: Vec<TurnRecord>,
}

impl Default for WordWorld {
    fn default() -> Self {
        Self {
            wall_limit: Duration::from_hours(1),
            pause: Duration::ZERO,
            opened: AtomicU64::new(0),
            closed: AtomicU64::new(0),
            ran: Mutex::default(),
        }
    }
}

impl WordWorld {
    fn opened(&self) -> u64 {
        self.opened.load(Ordering::SeqCst)
    }

    fn closed(&self) -> u64 {
        self.closed.load(Ordering::SeqCst)
    }

    /// The turns that were carried out since the last call.
    fn take_ran(&self) -> Vec<String> {
        std::mem::take(&mut self.ran.lock().unwrap())
    }
}

impl World for WordWorld {
    fn prompt(&self, item: &TaskId) -> Result<Prompt, PromptError> {
        Err(PromptError::UnknownTask(item.clone()))
    }

    fn wall_limit(&self) -> Duration {
        self.wall_limit
    }

    fn open(&self, item: &TaskId) -> Result<Box<dyn Play + '_>, EpisodeFault> {
        self.opened.fetch_add(1, Ordering::SeqCst);
        let item = item.clone();
        Ok(Box::new(WordPlay { world: self, item, texts: vec![], luck: 0, turns: vec![] }))
    }

    fn cache_key(&self, item: &TaskId) -> Option<String> {
        (item.as_str() != "uncached").then(|| item.to_string())
    }
}

impl Play for WordPlay<'_> {
    fn respond(&mut self, text: &str) -> Result<Reply, EpisodeFault> {
        std::thread::sleep(self.world.pause);
        let before = {
            let mut ran = self.world.ran.lock().unwrap();
            ran.push(text.to_owned());
            ran.len()
        };
        self.texts.push(text.to_owned());
        let tool = match text {
            "answer" => Tool::Answer,
            "malformed" => Tool::Malformed,
            "fault" => return Err(EpisodeFault::Over),
            _ => Tool::Python,
        };
        if text == "lucky" {
            self.luck = before as u64;
        }
        let outcome = match text {
            "slow" => Some(Outcome::TimedOut),
            "broken" => Some(Outcome::Raised { exception: "KeyError".to_owned() }),
            _ => (tool == Tool::Python).then_some(Outcome::Finished),
        };
        let seconds = text.len() as f64;
        self.turns.push(TurnRecord { tool, has_thought: true, outcome, seconds, cached: false });
        Ok(match text {
            "answer" => Reply::End(EpisodeEnding::Answered),
            "short" if before > 1 => Reply::End(EpisodeEnding::Budget),
            _ if self.texts.len() == TURNS => Reply::End(EpisodeEnding::Budget),
            "random" => Reply::Observe(format!("{before}")),
            _ => Reply::Observe(format!("{} {:?}", self.item, self.texts)),
        })
    }

    fn turns(&self) -> &[TurnRecord] {
        &self.turns
    }

    fn is_repeatable(&self) -> bool {
        self.turns.last().is_some_and(TurnRecord::ended_by_itself)
    }

    fn close(self: Box<Self>) -> Result<Closed, EpisodeFault> {
        self.world.closed.fetch_add(1, Ordering::SeqCst);
        let written: usize = self.texts.iter().map(String::len).sum();
        let execution = (written as f64 + self.luck as f64) / 1000.0;
        Ok(Closed {
            timed_out: self.texts.iter().any(|text| text == "slow"),
            turns: self.turns,
            feedback: None,
            outcome: EpisodeOutcome::World(EnvironmentVerdict {
                reward: execution,
                score: 0.0,
                tags: self.texts,
                detail: Value::Null,
            }),
            reward: Reward { format: 0.1, execution, tier: 0.0, beyond: 0.0 },
        })
    }
}

/// Replies and result of an episode, which ends with the last of `turns`.
fn try_play(
    world: &dyn World,
    item: &str,
    turns: &[&str],
) -> Result<(Vec<Reply>, Closed), EpisodeFault> {
    let mut play = world.open(&TaskId::new(item).unwrap())?;
    let replies = turns.iter().map(|turn| play.respond(turn)).collect::<Result<_, _>>()?;
    assert_eq!(play.turns().len(), turns.len());
    Ok((replies, play.close()?))
}

fn play(world: &dyn World, turns: &[&str]) -> (Vec<Reply>, Closed) {
    try_play(world, "task", turns).unwrap()
}

/// A result as it is without a cache.
fn uncached(mut closed: Closed) -> Closed {
    for turn in &mut closed.turns {
        turn.cached = false;
    }
    closed
}

/// Which turns were answered from the cache.
fn cached(closed: &Closed) -> Vec<bool> {
    closed.turns.iter().map(|turn| turn.cached).collect()
}

fn counts(scripts: u64, cached: u64, checks: u64, mismatches: u64) -> ScriptCacheUse {
    ScriptCacheUse { scripts, cached, checks, mismatches }
}

/// A cache that compares nothing.
fn unchecked() -> ScriptCache {
    ScriptCache::new(1 << 20, 0)
}

#[test]
fn episode_of_hits_alone_opens_no_real_one() {
    let (world, cache) = (WordWorld::default(), unchecked());
    let cached_world = CachedWorld::new(&world, &cache);
    let turns = ["a", "malformed", "broken", "answer"];
    let first = play(&cached_world, &turns);
    assert_eq!(world.take_ran(), turns);
    let second = play(&cached_world, &turns);
    assert_eq!((world.opened(), world.closed(), world.take_ran().len()), (1, 1, 0));
    assert_eq!(cached(&first.1), [false; 4]);
    assert_eq!(cached(&second.1), [true; 4]);
    assert_eq!((second.0, uncached(second.1)), first);
    assert_eq!(cache.take_use(), counts(4, 2, 0, 0));
    assert_eq!(cache.take_use(), ScriptCacheUse::default());
}

/// A cache that compares nothing, with what is kept in a folder for machines with this Python.
fn kept_in(folder: &Utf8Path, python: &str) -> Result<ScriptCache, ScriptCacheError> {
    unchecked().with_file(folder, &MachineFacts::of_python(python))
}

/// The only file of answers in a folder.
fn only_file(folder: &Utf8Path) -> Utf8PathBuf {
    let files = folder.read_dir_utf8().unwrap().map(|entry| entry.unwrap().into_path());
    let mut files = files.filter(|path| path.extension() == Some("jsonl"));
    let file = files.next().unwrap();
    assert_eq!(files.next(), None);
    file
}

fn with_folder(test: impl FnOnce(&Utf8Path)) {
    let folder = tempfile::tempdir().unwrap();
    test(&Utf8Path::from_path(folder.path()).unwrap().join("scripts"));
}

#[test]
fn kept_answers_serve_later_runs_under_the_same_facts() {
    with_folder(|folder| {
        let world = WordWorld::default();
        let turns = ["a", "malformed", "broken", "answer"];
        let cache = kept_in(folder, "3.11.2").unwrap();
        let first = play(&CachedWorld::new(&world, &cache), &turns);
        drop(cache);
        world.take_ran();
        let cache = kept_in(folder, "3.11.2").unwrap();
        let second = play(&CachedWorld::new(&world, &cache), &turns);
        assert_eq!((world.take_ran().len(), cached(&second.1)), (0, vec![true; 4]));
        assert_eq!((second.0, uncached(second.1)), first);
        let other = kept_in(folder, "3.12.0").unwrap();
        play(&CachedWorld::new(&world, &other), &turns);
        assert_eq!(world.take_ran(), turns);
    });
}

#[test]
fn answer_that_a_check_took_back_is_unknown_to_later_runs() {
    with_folder(|folder| {
        let world = WordWorld::default();
        let turns = ["random", "answer"];
        play(&CachedWorld::new(&world, &kept_in(folder, "3").unwrap()), &turns);
        let checking = ScriptCache::new(1 << 20, 1);
        let checking = checking.with_file(folder, &MachineFacts::of_python("3")).unwrap();
        play(&CachedWorld::new(&world, &checking), &turns);
        assert_eq!(checking.take_use().mismatches, 1);
        drop(checking);
        world.take_ran();
        let cache = kept_in(folder, "3").unwrap();
        let (_, closed) = play(&CachedWorld::new(&world, &cache), &turns);
        assert_eq!((cached(&closed)[0], world.take_ran().len()), (false, 2));
    });
}

#[test]
fn script_that_a_limit_ended_may_be_recorded_by_a_later_run() {
    with_folder(|folder| {
        let world = WordWorld::default();
        let cache = kept_in(folder, "3").unwrap();
        play(&CachedWorld::new(&world, &cache), &["a", "slow"]);
        drop(cache);
        // The facts and the answer to `a`.
        assert_eq!(fs::read_to_string(only_file(folder)).unwrap().lines().count(), 2);
    });
}

#[test]
fn of_two_processes_one_writes_and_both_read() {
    with_folder(|folder| {
        let world = WordWorld::default();
        let writer = kept_in(folder, "3").unwrap();
        play(&CachedWorld::new(&world, &writer), &["a"]);
        let reader = kept_in(folder, "3").unwrap();
        world.take_ran();
        let (_, closed) = play(&CachedWorld::new(&world, &reader), &["a"]);
        assert_eq!((cached(&closed), world.take_ran().len()), (vec![true], 0));
        let kept = fs::read_to_string(only_file(folder)).unwrap();
        play(&CachedWorld::new(&world, &reader), &["b"]);
        assert_eq!(fs::read_to_string(only_file(folder)).unwrap(), kept);
    });
}

#[test]
fn torn_line_is_removed_and_a_line_that_is_no_answer_refused() {
    with_folder(|folder| {
        let world = WordWorld::default();
        play(&CachedWorld::new(&world, &kept_in(folder, "3").unwrap()), &["a", "answer"]);
        let file = only_file(folder);
        let whole = fs::read_to_string(&file).unwrap();
        fs::write(&file, format!("{whole}{{\"key\":\"00")).unwrap();
        drop(kept_in(folder, "3").unwrap());
        assert_eq!(fs::read_to_string(&file).unwrap(), whole);
        fs::write(&file, format!("{whole}{{\"key\":\"00\"}}\n")).unwrap();
        let error = kept_in(folder, "3").unwrap_err();
        let line = whole.lines().count() + 1;
        assert!(matches!(error, ScriptCacheError::Line { line: found, .. } if found == line));
        // One that is larger than a cache may be is begun anew.
        fs::write(&file, format!("{whole}{}\n", "x".repeat(1 << 20))).unwrap();
        drop(kept_in(folder, "3").unwrap());
        assert_eq!(fs::read_to_string(&file).unwrap().lines().count(), 1);
    });
}

#[test]
fn episode_without_turns_is_graded_once() {
    let (world, cache) = (WordWorld::default(), unchecked());
    let cached_world = CachedWorld::new(&world, &cache);
    let first = play(&cached_world, &[]);
    assert_eq!(play(&cached_world, &[]), first);
    assert_eq!((world.opened(), world.closed()), (1, 1));
}

#[test]
fn new_turn_after_hits_first_runs_the_turns_before_it() {
    let (world, cache) = (WordWorld::default(), unchecked());
    let cached_world = CachedWorld::new(&world, &cache);
    play(&cached_world, &["a", "b", "answer"]);
    world.take_ran();
    let (replies, closed) = play(&cached_world, &["a", "b", "c", "answer"]);
    assert_eq!(world.take_ran(), ["a", "b", "c", "answer"]);
    assert_eq!(cached(&closed), [true, true, false, false]);
    let plain = play(&WordWorld::default(), &["a", "b", "c", "answer"]);
    assert_eq!((replies, uncached(closed)), plain);
    assert_eq!(cache.take_use(), counts(5, 2, 0, 0));
    // An end that is new, of turns that are known.
    let ended_early = play(&cached_world, &["a", "b"]);
    assert_eq!(world.take_ran(), ["a", "b"]);
    assert_eq!(play(&cached_world, &["a", "b"]), ended_early);
    assert!(world.take_ran().is_empty());
}

#[test]
fn order_of_turns_and_task_are_part_of_the_key() {
    let (world, cache) = (WordWorld::default(), unchecked());
    let cached_world = CachedWorld::new(&world, &cache);
    for (item, turns) in [("task", ["a", "b"]), ("task", ["b", "a"]), ("other", ["a", "b"])] {
        let (_, closed) = try_play(&cached_world, item, &turns).unwrap();
        assert_eq!(cached(&closed), [false; 2], "{item} {turns:?}");
    }
}

#[test]
fn faults_are_not_cached() {
    let (world, cache) = (WordWorld::default(), unchecked());
    let cached_world = CachedWorld::new(&world, &cache);
    for _ in 0..2 {
        assert!(try_play(&cached_world, "task", &["a", "fault"]).is_err());
        assert_eq!(world.take_ran(), ["a", "fault"]);
    }
    let (_, closed) = play(&cached_world, &["a", "b"]);
    assert_eq!(cached(&closed), [true, false]);
}

#[test]
fn time_limits_are_not_cached_nor_what_follows_them() {
    let (world, cache) = (WordWorld::default(), unchecked());
    let cached_world = CachedWorld::new(&world, &cache);
    let turns = ["a", "slow", "b", "answer"];
    for expected in [[false; 4], [true, false, false, false]] {
        let (_, closed) = play(&cached_world, &turns);
        assert_eq!(world.take_ran(), turns);
        assert_eq!((cached(&closed), closed.timed_out), (expected.to_vec(), true));
    }
    assert_eq!(cache.take_use().mismatches, 0);
}

#[test]
fn environment_without_cache_keys_is_played_as_it_is() {
    let (world, cache) = (WordWorld::default(), unchecked());
    let cached_world = CachedWorld::new(&world, &cache);
    for _ in 0..2 {
        let (_, closed) = try_play(&cached_world, "uncached", &["a", "answer"]).unwrap();
        assert_eq!((world.take_ran().len(), cached(&closed)), (2, vec![false; 2]));
    }
}

#[test]
fn one_hit_in_fifty_is_run_for_real_and_the_draws_repeat() {
    let checks = || {
        let (world, cache) = (WordWorld::default(), ScriptCache::default());
        let cached_world = CachedWorld::new(&world, &cache);
        for _ in 0..1001 {
            play(&cached_world, &["a", "answer"]);
        }
        let counts = cache.take_use();
        assert_eq!((counts.scripts, counts.mismatches), (1001, 0));
        // A check of the answer first runs the script again, unless that was checked as well.
        let again = world.take_ran().len() as u64 - 2;
        assert!((counts.checks..=2 * counts.checks).contains(&again), "{again} {counts:?}");
        assert!(counts.cached < 1000 && counts.cached + counts.checks >= 1000, "{counts:?}");
        assert!(world.closed() > 1, "some grades are compared");
        counts.checks
    };
    // 2000 hits, of which 40 are expected to be checked; 6 is the standard deviation.
    let found = checks();
    assert!((16..64).contains(&found), "{found}");
    assert_eq!(checks(), found);
}

#[test]
fn check_that_differs_gives_the_real_reply_and_ends_caching() {
    let (world, cache) = (WordWorld::default(), ScriptCache::new(1 << 20, 1));
    let cached_world = CachedWorld::new(&world, &cache);
    let observed = |number: u32| vec![Reply::Observe(number.to_string())];
    let (first, _) = play(&cached_world, &["random"]);
    let (second, closed) = play(&cached_world, &["random"]);
    assert_eq!((first, second, cached(&closed)), (observed(1), observed(2), vec![false]));
    assert_eq!(cache.take_use(), counts(2, 0, 1, 1));
    let (third, _) = play(&cached_world, &["random"]);
    assert_eq!((third, cache.take_use()), (observed(3), counts(1, 0, 0, 0)));
}

#[test]
fn check_compares_the_reward_as_well() {
    let (world, cache) = (WordWorld::default(), ScriptCache::new(1 << 20, 1));
    let cached_world = CachedWorld::new(&world, &cache);
    let turns = ["lucky", "answer"];
    let (_, first) = play(&cached_world, &turns);
    let (_, second) = play(&cached_world, &turns);
    assert_ne!(first.reward, second.reward);
    assert_eq!(cache.take_use().mismatches, 1);
    // The reply is the same each time and stays cached; the result is not.
    let (_, third) = play(&cached_world, &turns);
    assert!(third.reward != second.reward && third.reward != first.reward);
    assert_eq!(cache.take_use().mismatches, 0);
}

#[test]
fn difference_found_before_a_new_turn_leaves_the_real_records_and_no_new_entry() {
    let (world, cache) = (WordWorld::default(), unchecked());
    let cached_world = CachedWorld::new(&world, &cache);
    let (seen, _) = play(&cached_world, &["a", "random"]);
    world.take_ran();
    play(&cached_world, &["b"]);
    let (replies, closed) = play(&cached_world, &["a", "random", "c", "answer"]);
    assert_eq!(world.take_ran(), ["b", "a", "random", "c", "answer"]);
    assert_eq!(replies[..2], seen, "what the agent saw");
    assert_eq!(cached(&closed), [true, true, false, false]);
    assert_eq!(cache.take_use().mismatches, 1);
    for _ in 0..2 {
        let (_, closed) = play(&cached_world, &["a", "random", "c", "answer"]);
        assert_eq!(cached(&closed), [true, false, false, false]);
    }
    assert_eq!(cache.take_use().mismatches, 0);
}

#[test]
fn episode_whose_wall_time_ends_while_turns_are_run_again_is_a_fault() {
    let (world, cache) = (WordWorld::default(), unchecked());
    let cached_world = CachedWorld::new(&world, &cache);
    play(&cached_world, &["short"]);
    let fault = try_play(&cached_world, "task", &["short", "b"]).unwrap_err();
    assert!(matches!(fault, EpisodeFault::Over), "{fault}");
}

#[test]
fn wall_time_ends_cached_episodes_too() {
    let (mut world, cache) = (WordWorld::default(), unchecked());
    play(&CachedWorld::new(&world, &cache), &["a", "b"]);
    world.take_ran();
    world.wall_limit = Duration::ZERO;
    let late = CachedWorld::new(&world, &cache);
    let (replies, closed) = play(&late, &["a"]);
    assert_eq!(replies, [Reply::End(EpisodeEnding::Budget)]);
    assert_eq!(cached(&closed), [true]);
    assert_eq!(world.take_ran(), ["a"], "to be graded, which it was not before");
}

/// Plays the same episode on several threads at once.
fn play_together(world: &WordWorld, cache: &ScriptCache, turns: &[&str]) -> Vec<Closed> {
    let cached_world = CachedWorld::new(world, cache);
    std::thread::scope(|scope| {
        let threads: Vec<_> =
            (0..6).map(|_| scope.spawn(move || play(&cached_world, turns).1)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

#[test]
fn threads_that_ask_for_one_reply_at_once_run_it_once() {
    let pause = Duration::from_millis(20);
    let (world, cache) = (WordWorld { pause, ..WordWorld::default() }, unchecked());
    let turns = ["a", "answer"];
    let closed = play_together(&world, &cache, &turns);
    // Whoever runs the answer has run the script, or runs it again before.
    let ran = world.take_ran();
    let runs = |turn: &str| ran.iter().filter(|text| *text == turn).count();
    assert_eq!((runs("answer"), world.closed()), (1, 1));
    assert!((1..=2).contains(&runs("a")), "{ran:?}");
    let plain = play(&WordWorld::default(), &turns).1;
    assert!(closed.into_iter().all(|closed| uncached(closed) == plain));
    assert_eq!(cache.take_use(), counts(6, 5, 0, 0));
}

#[test]
fn threads_that_wait_for_what_cannot_be_recorded_run_it_themselves() {
    let pause = Duration::from_millis(20);
    let (world, cache) = (WordWorld { pause, ..WordWorld::default() }, unchecked());
    let closed = play_together(&world, &cache, &["slow"]);
    assert_eq!(world.take_ran(), ["slow"; 6]);
    assert!(closed.iter().all(|closed| closed.timed_out && cached(closed) == [false]));
}

/// Turns of an episode; those after an end are not played.
fn episode() -> impl Strategy<Value = Vec<&'static str>> {
    let word = prop::sample::select(vec!["a", "b", "malformed", "broken", "slow", "answer"]);
    prop::collection::vec(word, 0..=TURNS)
}

/// An episode with a cache beside the same one without.
struct Pair<'a> {
    turns: Vec<&'static str>,
    played: usize,
    is_over: bool,
    with: Box<dyn Play + 'a>,
    without: Box<dyn Play + 'a>,
}

impl Pair<'_> {
    /// Plays a turn of both; returns whether there was one left.
    fn step(&mut self) -> Result<bool, TestCaseError> {
        let Some(turn) = self.turns.get(self.played).filter(|_| !self.is_over) else {
            return Ok(false);
        };
        let reply = self.with.respond(turn).unwrap();
        prop_assert_eq!(&reply, &self.without.respond(turn).unwrap());
        self.is_over = matches!(reply, Reply::End(_));
        self.played += 1;
        Ok(true)
    }
}

proptest! {
    #[test]
    fn cached_episodes_are_those_without_a_cache(
        episodes in prop::collection::vec((episode(), 0_usize..2), 1..40),
        check_one_in in 0_u64..4,
        most_bytes in prop::sample::select(vec![0_u64, 2_000, 8_000, 1 << 20]),
        width in 1_usize..4,
    ) {
        let (real, plain) = (WordWorld::default(), WordWorld::default());
        let cache = ScriptCache::new(most_bytes, check_one_in);
        let cached_world = CachedWorld::new(&real, &cache);
        let items = ["one", "two"].map(|item| TaskId::new(item).unwrap());
        // A few episodes at a time, turn by turn.
        for group in episodes.chunks(width) {
            let mut pairs = Vec::new();
            for (turns, item) in group {
                pairs.push(Pair {
                    turns: turns.clone(),
                    played: 0,
                    is_over: false,
                    with: cached_world.open(&items[*item]).unwrap(),
                    without: plain.open(&items[*item]).unwrap(),
                });
            }
            loop {
                let mut is_playing = false;
                for pair in &mut pairs {
                    is_playing |= pair.step()?;
                }
                if !is_playing {
                    break;
                }
            }
            for pair in pairs {
                let closed = pair.with.close().unwrap();
                prop_assert_eq!(uncached(closed), pair.without.close().unwrap());
            }
        }
        let counts = cache.take_use();
        prop_assert_eq!(counts.mismatches, 0);
        prop_assert!(counts.cached <= counts.scripts);
        prop_assert!(real.take_ran().len() <= plain.take_ran().len());
    }
}
