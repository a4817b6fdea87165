//! Shows items of generated environments: what the policy reads, an episode, and the answer.
//!
//! ```sh
//! cargo run -p worlds --example show                            # one item of each of `rlbench`
//! cargo run -p worlds --example show -- noc4pc                  # one of a task of `ftdojo`
//! cargo run -p worlds --example show -- household --item 3      # the fourth training item
//! cargo run -p worlds --example show -- arithmetic --part test --scale full --seed 7 --item 0
//! cargo run -p worlds --example show -- household --random      # a random player's episode
//! cargo run -p worlds --example show -- --summary               # what each player earns
//! ```

#![expect(clippy::print_stdout, reason = "it prints items")]

use agents::play::{Closed, Reply};
use agents::trajectory::{EnvironmentVerdict, EpisodeOutcome};
use jail::exec::{Sandbox, SandboxOptions};
use jail::python::PythonEnv;
use std::error::Error;
use std::sync::Arc;
use tasks::stream::Stream;
use worlds::{Environment, Part, Scale, SuiteName, WorldName, demonstrate};

/// What the command line asks for.
struct Arguments {
    worlds: Vec<WorldName>,
    part: Part,
    scale: Scale,
    seed: u64,
    item: usize,
    random: bool,
    summary: bool,
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments = arguments(std::env::args().skip(1))?;
    for name in &arguments.worlds {
        if arguments.summary {
            for part in Part::ALL {
                summarise(&*world(*name, part, &arguments)?, &arguments)?;
            }
        } else {
            show(&*world(*name, arguments.part, &arguments)?, &arguments)?;
        }
    }
    Ok(())
}

/// The items of a part, with a sandbox where programs are run.
fn world(
    name: WorldName,
    part: Part,
    arguments: &Arguments,
) -> Result<Box<dyn Environment>, Box<dyn Error>> {
    let mut world = name.generate(part, arguments.scale, arguments.seed)?;
    if world.runs_programs() {
        let modules = world.modules();
        let options = SandboxOptions { modules, warm_up: false, ..SandboxOptions::default() };
        world.set_runner(Arc::new(Sandbox::start(&PythonEnv::locate()?, options, &[])?));
    }
    Ok(world)
}

/// Prints the score of the oracle and of the random player, the mean reward of the expert, and
/// the words of prompts.
fn summarise(world: &dyn Environment, arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    let items = world.items();
    let (mut oracle, mut random) = (Vec::new(), Vec::new());
    let (mut expert, mut words, mut most) = (0.0, 0, 0);
    for &item in &items {
        let mut play = world.open(item)?;
        for turn in world.solve(item).unwrap_or_default() {
            play.respond(&turn)?;
        }
        oracle.extend(verdict(play.close()?));
        let stream = Stream::root(arguments.seed).child(item.as_str());
        random.extend(verdict(world.play_at_random(item, stream)?));
        if world.part() == Part::Train {
            expert += demonstrate(world, item)?.reward.total();
        }
        let prompt = world.prompt(item)?;
        let length = worlds::grams::words(&format!("{} {}", prompt.system, prompt.user)).len();
        words += length;
        most = most.max(length);
    }
    let count = items.len() as f64;
    let expert = match world.part() {
        Part::Train => format!("{:.3}", expert / count),
        Part::Dev | Part::Test => "-".to_owned(),
    };
    println!(
        "{:12} {:5} {:5} items: oracle {:.3}, expert {expert}, random {:.4}; prompts of {} words, \
         at most {most}",
        world.spec().id.as_str(),
        world.part().name(),
        items.len(),
        score(world, &oracle),
        score(world, &random),
        words / items.len().max(1),
    );
    Ok(())
}

/// The verdict on an episode in one of these environments.
fn verdict(closed: Closed) -> Option<EnvironmentVerdict> {
    match closed.outcome {
        EpisodeOutcome::World(verdict) => Some(verdict),
        EpisodeOutcome::Mle(_) => None,
    }
}

/// The score of a player.
fn score(world: &dyn Environment, verdicts: &[EnvironmentVerdict]) -> f64 {
    world.score(&verdicts.iter().collect::<Vec<_>>()).ok().flatten().unwrap_or_default()
}

fn show(world: &dyn Environment, arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    let items = world.items();
    let item = *items.get(arguments.item).ok_or_else(|| {
        format!("there are {} items, numbered from 0: choose a smaller --item", items.len())
    })?;
    let prompt = world.prompt(item)?;
    println!("===== {item}\n{}\n", world.render(item).unwrap_or_default());
    println!("----- system\n{}\n----- user\n{}", prompt.system, prompt.user);
    if arguments.random {
        let closed = world.play_at_random(item, Stream::root(arguments.seed))?;
        println!("----- at random\n{:?}", closed.outcome);
        return Ok(());
    }
    println!("----- oracle");
    let mut play = world.open(item)?;
    for turn in world.solve(item).unwrap_or_default() {
        println!("> {turn}");
        match play.respond(&turn)? {
            Reply::Observe(observation) => println!("{observation}"),
            Reply::End(ending) => println!("({ending:?})"),
        }
    }
    println!("----- verdict\n{:?}", play.close()?.outcome);
    if world.part() == Part::Train {
        println!("----- expert");
        for segment in demonstrate(world, item)?.segments.iter().skip(2) {
            println!("{:?}: {}", segment.source, segment.text);
        }
    }
    Ok(())
}

fn arguments(given: impl Iterator<Item = String>) -> Result<Arguments, String> {
    let mut arguments = Arguments {
        worlds: SuiteName::Rlbench.worlds().to_vec(),
        part: Part::Train,
        scale: Scale::Tiny,
        seed: 0,
        item: 0,
        random: false,
        summary: false,
    };
    let mut given = given;
    while let Some(word) = given.next() {
        match word.as_str() {
            "--random" => arguments.random = true,
            "--summary" => arguments.summary = true,
            _ => {}
        }
        if matches!(word.as_str(), "--random" | "--summary") {
            continue;
        }
        let Some(flag) = word.strip_prefix("--") else {
            arguments.worlds = vec![one_of(&word, WorldName::ALL, WorldName::name)?];
            continue;
        };
        let value = given.next().ok_or_else(|| format!("--{flag} needs a value"))?;
        let number = || value.parse::<u64>().map_err(|_| format!("--{flag} takes a number"));
        match flag {
            "part" => arguments.part = one_of(&value, Part::ALL, Part::name)?,
            "scale" => arguments.scale = one_of(&value, Scale::ALL, Scale::name)?,
            "seed" => arguments.seed = number()?,
            "item" => arguments.item = usize::try_from(number()?).map_err(|e| e.to_string())?,
            _ => {
                return Err(format!(
                    "there is no --{flag}: --part, --scale, --seed, --item, --random, --summary"
                ));
            }
        }
    }
    Ok(arguments)
}

/// The one of `all` whose name is `word`.
fn one_of<T: Copy>(
    word: &str,
    all: impl IntoIterator<Item = T> + Clone,
    name: impl Fn(T) -> &'static str,
) -> Result<T, String> {
    let names: Vec<&str> = all.clone().into_iter().map(&name).collect();
    let found = all.into_iter().find(|&one| name(one) == word);
    found.ok_or_else(|| format!("`{word}` is none of: {}", names.join(", ")))
}
