//! `task.json`: what the folder says of itself to graders and agents' tools.

use super::Draft;
use crate::baselines::ladder::Ladder;
use crate::kinds::Scripts;
use std::collections::BTreeMap;
use tasks::task::{MANIFEST_VERSION, Manifest};

impl Draft {
    /// The manifest of a draft with these files, by path within the task's folder.
    pub(super) fn manifest(&self, files: &BTreeMap<String, Vec<u8>>) -> Manifest {
        let blueprint = &self.blueprint;
        let Ladder { baselines, .. } = &self.development.ladder;
        let Scripts { reader, oracle, logarithmic } = blueprint.kind().scripts(blueprint);
        let hash = |bytes: &Vec<u8>| blake3::hash(bytes).to_hex().to_string();
        Manifest {
            version: MANIFEST_VERSION,
            id: blueprint.task.clone(),
            title: blueprint.title.clone(),
            seed_task: blueprint.seed.clone(),
            domain: blueprint.domain.clone(),
            modality: blueprint.modality,
            formulation: blueprint.formulation,
            metric: blueprint.metric,
            id_column: blueprint.id_column.clone(),
            prediction: blueprint.prediction.clone(),
            thresholds: self.development.thresholds,
            baselines: baselines.clone(),
            rows: blueprint.rows,
            split: blueprint.split,
            provenance: serde_json::json!({
                "factory": env!("CARGO_PKG_VERSION"),
                "roles": "builtin",
                "dna": blueprint.dna,
                "derivation": blueprint.derivation,
                "scenario": blueprint.scenario,
                "variant": blueprint.variant,
                "mutations": blueprint.mutations,
                "family": blueprint.family(),
                "rule": blueprint.formula(),
                "rule_hash": blueprint.rule_hash(),
                "blueprint": "source/blueprint.json",
                "reader": reader,
                "oracle": {
                    "code": oracle,
                    "logarithmic": logarithmic,
                },
            }),
            hashes: files.iter().map(|(path, bytes)| (path.clone(), hash(bytes))).collect(),
        }
    }
}
