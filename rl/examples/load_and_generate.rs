//! Writes a tiny random checkpoint in Hugging Face's format, loads it and generates from it.
//!
//! ```text
//! cargo run -p rl --example load_and_generate [FOLDER]
//! ```
//! With `FOLDER`, a checkpoint of Qwen3 is loaded from there.

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use camino::{Utf8Path, Utf8PathBuf};
use rl::checkpoint::policy;
use rl::generate::engine::TurnOptions;
use rl::generate::sample::Sampling;
use rl::generate::{Capacity, ConversationId, Generator as _, NativeGenerator};
use rl::model::{Qwen3, Qwen3Config, save_folder};
use rl::run::watchdog::Heartbeat;
use rl::text::template::ChatTemplate;
use rl::text::tokenizer::{Pieces, Tokenizer};
use std::error::Error;
use tasks::stream::Stream;
use tch::{Device, Kind};

fn main() -> Result<(), Box<dyn Error>> {
    let temporary = tempfile::tempdir()?;
    let folder = match std::env::args().nth(1) {
        Some(folder) => Utf8PathBuf::from(folder),
        None => tiny_checkpoint(Utf8Path::from_path(temporary.path()).ok_or("not UTF-8")?)?,
    };
    let (model, tokenizer) = policy::open(&folder, Kind::Float, Device::Cpu)?;
    let prompt = ChatTemplate::new(&tokenizer)?.prompt("Solve the task.", "Predict the rent.")?;
    println!("{} prompt tokens", prompt.len());

    let capacity = Capacity::new(1, prompt.len() + 16);
    let mut generator = NativeGenerator::new(&model, capacity);
    generator.begin(1)?;
    let turn = TurnOptions {
        sampling: Sampling::greedy(),
        stream: Stream::root(0),
        max_tokens: 16,
        ignore_eos: false,
    };
    generator.start(ConversationId(0), &prompt, turn)?;
    let heartbeat = Heartbeat::default();
    let generated = loop {
        if let Some(generated) = generator.poll(&heartbeat)?.pop() {
            break generated;
        }
    };
    generator.finish()?;
    println!("{} tokens, ended by {:?}", generated.ids.len(), generated.ending);
    println!("{:?}", tokenizer.decode(&generated.ids)?);
    println!("log-probabilities: {:?}", generated.log_probs);
    Ok(())
}

/// Random weights in the shape of the tiny policy, with a vocabulary of their own.
fn tiny_checkpoint(folder: &Utf8Path) -> Result<Utf8PathBuf, Box<dyn Error>> {
    let texts = vec!["system user assistant tool\nSolve the task. Predict the rent.\n".to_owned()];
    let tokenizer = Tokenizer::train(&texts, 300, Pieces::Lines)?;
    let vocab_size = i64::try_from(tokenizer.vocab_size())?;
    let config = Qwen3Config::tiny(vocab_size, 1, 2);
    let model = Qwen3::random(&config, Kind::Float, Device::Cpu, Stream::root(0));
    save_folder(&model, folder)?;
    tokenizer.save(folder)?;
    Ok(folder.to_owned())
}
