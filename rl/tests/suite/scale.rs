//! `docs/SCALE.md` has the memory plan of one GPU that `rl plan` prints.

use fs_err as fs;
use rl::model::{LoraSettings, Published};
use rl::run::settings::resolve;
use rl::train::grpo::TrainSettings;
use rl::train::plan::{MemoryPhase, MemoryPlan, MemoryPlanError, choose, held};
use rl::train::presets::Scale;
use tch::Device;
use toml::Table;

/// What a GPU of the page has free.
const GPU: u64 = 139 << 30;
/// The page does not ask whether the computer's memory suffices.
const HOST: u64 = 1 << 40;

/// The memory of the items that are `wanted`, in GiB as the page writes it.
fn gib(plan: &MemoryPlan, wanted: impl Fn(MemoryPhase, &str) -> bool) -> String {
    let items = plan.items.iter().filter(|item| wanted(item.phase, item.name));
    format!("{:.1}", items.map(|item| item.bytes).sum::<u64>() as f64 / f64::from(1 << 30))
}

#[test]
fn page_on_scale_has_the_memory_plan_of_one_gpu() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/SCALE.md");
    let page = fs::read_to_string(page).unwrap();
    for name in ["qwen3-8b", "qwen3-14b", "qwen3-30b-a3b"] {
        for (trained, lora) in [("full", None), ("LoRA 32", Some(LoraSettings::default()))] {
            let config = Published::named(name).unwrap().config();
            let large = TrainSettings::defaults(Scale::Large);
            let settings: TrainSettings =
                resolve(&large, Some("sandmle"), Table::new(), &[]).unwrap();
            let settings = TrainSettings { lora, ..settings };
            let (plan, fits) = match choose(&settings, &config, Device::Cuda(0), GPU, HOST) {
                Ok((chosen, plan)) => (plan, format!("{} of 64", held(&chosen, &config).0)),
                Err(MemoryPlanError::TooLarge { plan, .. }) => {
                    (*plan, "**does not fit**".to_owned())
                }
                Err(error) => panic!("{name}, {trained}: {error}"),
            };
            let cells = [
                gib(&plan, |phase, name| phase == MemoryPhase::Always && name == "weights"),
                gib(&plan, |phase, name| phase == MemoryPhase::Always && name != "weights"),
                gib(&plan, |phase, _| phase == MemoryPhase::Update),
                gib(&plan, |_, name| name == "weights with adapters merged in"),
                gib(&plan, |_, name| name == "keys and values"),
                gib(&plan, |phase, _| phase == MemoryPhase::Host),
                format!("{:.1}", plan.peak() as f64 / f64::from(1 << 30)),
            ];
            let row = format!("| {name} | {trained} | {} | {fits} |", cells.join(" | "));
            assert!(page.contains(&row), "docs/SCALE.md has no such row:\n{row}\n{plan}");
        }
    }
}
