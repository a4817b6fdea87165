//! Whatever is killed, lost and sent again, in any order: every piece of guidance that was not retracted
//! is read by the agent exactly once and in order, or is late.
//!
//! `GUIDE_SCHEDULES=1000` is the full test; by default there are fewer.

use crate::fixture::{ANN, BOB, end, folder, opening, report, says};
use agents::guide::channel::{Channel, GuideLink, Lost, OnLost};
use agents::guide::error::GuideError;
use agents::guide::exchange::{Delivery, Opened, Update};
use agents::guide::guidance::{DeliveredGuidance, GuidanceState, PostedGuidance};
use agents::guide::guided_run::GuidedRun;
use agents::guide::ids::{ConversationId, GuidanceId};
use agents::guide::people::Person;
use agents::guide::store::Store;
use agents::guide::turn::{End, Opening};
use camino::Utf8PathBuf;
use fs_err as fs;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

/// Kills in each schedule, of the server, the agent or both.
const KILLS: usize = 5;

/// What happens to a request, or to the server while it answers it.
#[derive(Debug, Clone, Copy)]
enum Fault {
    None,
    RequestLost,
    AnswerLost,
    /// The server is killed while it writes: of what it wrote, this many thousandths are on the disk.
    Killed(u64),
}

#[derive(Debug, Clone, Copy)]
enum Step {
    /// The agent takes a turn, and is killed before it has written down what it heard, if so.
    Turn {
        agent_dies: bool,
    },
    Post {
        by_bob: bool,
        large: bool,
    },
    /// An earlier post is sent again.
    PostAgain(usize),
    Edit(usize),
    Retract(usize),
    /// The agent starts again with what it has written down.
    AgentDies,
    ServerDies,
}

/// The server's side, which requests reach through faults.
#[derive(Debug)]
struct World {
    folder: Utf8PathBuf,
    store: Option<Store>,
    /// What happens to the next request.
    fault: Fault,
}

fn conversation() -> ConversationId {
    "run".parse().unwrap()
}

impl World {
    fn journal(&self) -> Utf8PathBuf {
        self.folder.join("conversations/run/journal.jsonl")
    }

    fn length(&self) -> u64 {
        fs::metadata(self.journal()).map_or(0, |metadata| metadata.len())
    }

    fn restart(&mut self) {
        self.store = None;
        self.store = Some(Store::open(&self.folder).unwrap());
    }

    /// The answer to a request, if it arrives.
    fn ask<T>(
        &mut self,
        request: impl FnOnce(&Store) -> Result<T, GuideError>,
    ) -> Option<Result<T, GuideError>> {
        let fault = std::mem::replace(&mut self.fault, Fault::None);
        if matches!(fault, Fault::RequestLost) {
            return None;
        }
        let before = self.length();
        let answer = request(self.store.as_ref().unwrap());
        match fault {
            Fault::AnswerLost => None,
            Fault::Killed(share) => {
                self.store = None;
                let written = self.length().saturating_sub(before);
                let kept = before + share * written / 1000;
                if self.journal().exists() {
                    let file = fs::OpenOptions::new().write(true).open(self.journal()).unwrap();
                    file.set_len(kept).unwrap();
                }
                self.restart();
                None
            }
            Fault::None | Fault::RequestLost => Some(answer),
        }
    }
}

/// The agent's way to that server.
#[derive(Debug)]
struct Wire(Arc<Mutex<World>>);

impl Wire {
    fn ask<T>(&self, request: impl FnOnce(&Store) -> Result<T, GuideError>) -> Result<T, Lost> {
        match self.0.lock().unwrap().ask(request) {
            None => Err(Lost::Away("nobody answers".to_owned())),
            Some(answer) => Ok(answer?),
        }
    }
}

impl Channel for Wire {
    fn open(&mut self, id: &ConversationId, opening: &Opening) -> Result<Opened, Lost> {
        self.ask(|store| store.open_conversation(id, opening.clone()))
    }

    fn exchange(&mut self, id: &ConversationId, update: &Update) -> Result<Delivery, Lost> {
        self.ask(|store| store.exchange(id, update.clone()))
    }

    fn close(
        &mut self,
        id: &ConversationId,
        have: u64,
        end: &End,
    ) -> Result<Vec<PostedGuidance>, Lost> {
        self.ask(|store| store.close_conversation(id, have, end.clone()))
    }
}

/// A request of a person, kept until it is answered.
#[derive(Debug, Clone)]
enum Wish {
    Post,
    Edit(String),
    Retract,
}

/// A piece, as its author knows it.
#[derive(Debug)]
struct Piece {
    by: Person<'static>,
    id: GuidanceId,
    /// As it was posted first.
    first: String,
    /// As the server last said that it is.
    text: String,
    is_posted: bool,
    is_retracted: bool,
    open: Option<Wish>,
}

/// Everything that takes part in a schedule.
struct Play {
    world: Arc<Mutex<World>>,
    agent: GuidedRun,
    /// What the agent has on its disk: pieces in the order in which it read them.
    heard: Vec<DeliveredGuidance>,
    turns: u32,
    pieces: Vec<Piece>,
    _folder: tempfile::TempDir,
}

fn agent(world: &Arc<Mutex<World>>, heard: &[DeliveredGuidance]) -> GuidedRun {
    let channel = Box::new(Wire(Arc::clone(world)));
    let link = GuideLink { channel, on_lost: OnLost::Continue };
    let heard = heard.iter().map(|piece| (piece.id.clone(), piece.seq));
    GuidedRun::new(link, conversation(), opening(), heard)
}

impl Play {
    fn new() -> Self {
        let (kept, folder) = folder();
        let store = Some(Store::open(&folder).unwrap());
        let world = Arc::new(Mutex::new(World { folder, store, fault: Fault::None }));
        let mut agent = agent(&world, &[]);
        agent.begin(&|| false).unwrap();
        Self { world, agent, heard: Vec::new(), turns: 0, pieces: Vec::new(), _folder: kept }
    }

    fn step(&mut self, step: Step, fault: Fault) {
        self.world.lock().unwrap().fault = fault;
        match step {
            Step::Turn { agent_dies } => {
                let turn = self.turns;
                self.turns += 1;
                let pieces = self.agent.listen(turn, &|turn| Ok(report(turn)), &|| false).unwrap();
                if agent_dies {
                    self.agent = agent(&self.world, &self.heard);
                } else {
                    self.heard.extend(pieces.iter().cloned());
                    self.agent.wrote_down(&pieces);
                }
            }
            Step::Post { by_bob, large } => {
                let number = self.pieces.len();
                let first = if large { "x".repeat(5000) } else { format!("piece {number}") };
                self.pieces.push(Piece {
                    by: if by_bob { BOB } else { ANN },
                    id: format!("g{number}").parse().unwrap(),
                    text: first.clone(),
                    first,
                    is_posted: false,
                    is_retracted: false,
                    open: Some(Wish::Post),
                });
                self.try_wish(number);
            }
            Step::PostAgain(at) => self.wish(at, |_| Wish::Post),
            Step::Edit(at) => {
                self.wish(at, |piece| Wish::Edit(format!("{} again", piece.text.len())));
            }
            Step::Retract(at) => self.wish(at, |_| Wish::Retract),
            Step::AgentDies => self.agent = agent(&self.world, &self.heard),
            Step::ServerDies => self.world.lock().unwrap().restart(),
        }
        self.world.lock().unwrap().fault = Fault::None;
    }

    /// Has the author of a piece wish something, once earlier wishes are answered.
    fn wish(&mut self, at: usize, wish: impl FnOnce(&Piece) -> Wish) {
        if self.pieces.is_empty() {
            return;
        }
        let at = at % self.pieces.len();
        if self.pieces[at].open.is_none() {
            let wish = wish(&self.pieces[at]);
            self.pieces[at].open = Some(wish);
        }
        self.try_wish(at);
    }

    /// Sends what the author of a piece wishes, once.
    fn try_wish(&mut self, at: usize) {
        let piece = &mut self.pieces[at];
        let Some(wish) = piece.open.clone() else { return };
        let (id, run) = (piece.id.clone(), conversation());
        let answer = self.world.lock().unwrap().ask(|store| match &wish {
            Wish::Post => store.post(&run, piece.by, id, says(&piece.first)),
            Wish::Edit(text) => store.edit(&run, piece.by, &id, says(text)),
            Wish::Retract => store.retract(&run, piece.by, &id),
        });
        let Some(answer) = answer else { return };
        piece.open = None;
        match answer {
            Ok(known) => {
                piece.is_posted = true;
                piece.is_retracted = known.state == GuidanceState::Retracted;
                piece.text = known.what.text;
            }
            Err(GuideError::NotQueued(_)) => assert!(piece.is_posted),
            // There was no room for it, and so it is unknown later.
            Err(GuideError::QueueFull { .. } | GuideError::UnknownPiece(_)) => {
                assert!(!piece.is_posted);
            }
            Err(error) => panic!("{wish:?}: {error}"),
        }
    }

    /// Ends the run, and checks what became of every piece.
    fn end(mut self) {
        for at in 0..self.pieces.len() {
            self.try_wish(at);
        }
        let told = |turn| Ok(report(turn));
        let late = self.agent.finish(self.turns, &end(), &told, &|| false).unwrap().unwrap();
        self.step(Step::Post { by_bob: false, large: false }, Fault::Killed(500));
        self.try_wish(self.pieces.len() - 1);

        let order: Vec<u64> = self.heard.iter().map(|piece| piece.seq).collect();
        assert!(order.is_sorted_by(|a, b| a < b), "out of order or twice: {order:?}");
        let heard: BTreeMap<&GuidanceId, &DeliveredGuidance> =
            self.heard.iter().map(|piece| (&piece.id, piece)).collect();
        assert_eq!(heard.len(), self.heard.len(), "a piece came twice");
        let late: BTreeSet<GuidanceId> = late.into_iter().map(|piece| piece.id).collect();
        let world = self.world.lock().unwrap();
        let (turns, states) = world
            .store
            .as_ref()
            .unwrap()
            .read(&conversation(), |conversation| {
                let states = conversation.guidance.values();
                let states = states.map(|piece| (piece.id.clone(), piece.state));
                (conversation.turns.count(), states.collect::<BTreeMap<_, _>>())
            })
            .unwrap();
        assert_eq!(turns, self.turns, "every turn is told");
        for piece in &self.pieces {
            let state = states.get(&piece.id).copied();
            let was_heard = heard.get(&piece.id);
            if !piece.is_posted {
                assert!(state.is_none() && was_heard.is_none(), "{piece:?}");
            } else if piece.is_retracted {
                assert_eq!(state, Some(GuidanceState::Retracted), "{piece:?}");
                assert!(was_heard.is_none() && !late.contains(&piece.id), "{piece:?}");
            } else if let Some(heard) = was_heard {
                assert_eq!(state, Some(GuidanceState::Acknowledged), "{piece:?}");
                assert_eq!(heard.text, piece.text, "as it was last edited");
                assert!(!late.contains(&piece.id), "{piece:?}");
            } else {
                assert_eq!(state, Some(GuidanceState::Late), "lost: {piece:?}");
            }
        }
    }
}

fn fault() -> impl Strategy<Value = Fault> {
    prop_oneof![
        6 => Just(Fault::None),
        1 => Just(Fault::RequestLost),
        1 => Just(Fault::AnswerLost),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => Just(Step::Turn { agent_dies: false }),
        4 => (any::<bool>(), prop::bool::weighted(0.1))
            .prop_map(|(by_bob, large)| Step::Post { by_bob, large }),
        1 => any::<usize>().prop_map(Step::PostAgain),
        2 => any::<usize>().prop_map(Step::Edit),
        2 => any::<usize>().prop_map(Step::Retract),
    ]
}

/// A step in which something is killed.
fn kill() -> impl Strategy<Value = (Step, Fault)> {
    let share = prop_oneof![4 => 0_u64..1000, 1 => Just(0), 1 => Just(1000)];
    prop_oneof![
        4 => (step(), share).prop_map(|(step, share)| (step, Fault::Killed(share))),
        1 => fault().prop_map(|fault| (Step::Turn { agent_dies: true }, fault)),
        1 => Just((Step::AgentDies, Fault::None)),
        1 => Just((Step::ServerDies, Fault::None)),
    ]
}

fn schedule() -> impl Strategy<Value = Vec<(Step, Fault)>> {
    let steps = prop::collection::vec((step(), fault()), 8..40);
    let kills = prop::collection::vec((any::<prop::sample::Index>(), kill()), KILLS);
    (steps, kills).prop_map(|(mut steps, kills)| {
        for (at, kill) in kills {
            let at = at.index(steps.len() + 1);
            steps.insert(at, kill);
        }
        steps
    })
}

#[test]
fn guidance_is_delivered_once_and_in_order_or_is_late_under_any_kills() {
    let cases = std::env::var("GUIDE_SCHEDULES");
    let cases = cases.map_or(100, |text| text.parse().expect("a number"));
    let config = Config { failure_persistence: None, ..Config::with_cases(cases) };
    let (mut runner, heard) = (TestRunner::new(config), Mutex::new((0, 0)));
    let result = runner.run(&schedule(), |steps| {
        let mut play = Play::new();
        for (step, fault) in steps {
            play.step(step, fault);
        }
        {
            let mut counts = heard.lock().unwrap();
            counts.0 += play.pieces.len();
            counts.1 += play.heard.len();
        }
        play.end();
        Ok(())
    });
    if let Err(error) = result {
        panic!("{error}");
    }
    let (posted, heard) = heard.into_inner().unwrap();
    println!(
        "{cases} schedules with {KILLS} kills each: {posted} pieces, {heard} heard before the end, 0 \
         lost, 0 twice, 0 out of order"
    );
    assert!(heard > 0 && heard < posted, "the schedules try nothing");
}
