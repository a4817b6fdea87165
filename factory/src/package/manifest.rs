//! `task.json`: what the folder says of itself to graders and agents' tools.

use super::Draft;
use crate::roles::RoleBackend;
use crate::spec::blueprint::{Blueprint, Derivation};
use crate::spec::dna::Dna;
use crate::spec::mutation::Mutation;
use serde::Serialize;
use std::io;
use tasks::json::sorted;
use tasks::task::{DataSource, MANIFEST_VERSION, Manifest, TaskScripts};

/// How a task was made, as the manifest records it.
#[derive(Debug, Serialize)]
struct Provenance<'a> {
    /// Version of this software.
    factory: &'static str,
    /// What played the roles.
    roles: serde_json::Value,
    dna: &'a Dna,
    derivation: &'a Derivation,
    scenario: &'a str,
    variant: usize,
    mutations: &'a [Mutation],
    /// What a row's items are, or the kind of rows without items.
    medium: String,
    /// What has to be discovered: how records are related to rows, or else what rules are built around.
    family: Option<String>,
    /// The types of the terms of its rules, each once.
    skeletons: Vec<String>,
    /// The hidden rule as a formula.
    rule: String,
    rule_hash: String,
    /// Path of the blueprint within the task's folder.
    blueprint: &'static str,
    #[serde(flatten)]
    scripts: TaskScripts,
}

impl<'a> Provenance<'a> {
    fn new(blueprint: &'a Blueprint, backend: &RoleBackend) -> Self {
        Self {
            factory: env!("CARGO_PKG_VERSION"),
            // A word where no model had a part, as in every corpus so far.
            roles: match backend {
                RoleBackend::Builtin => "builtin".into(),
                RoleBackend::Model { mode, authors, .. } => {
                    serde_json::json!({ "mode": mode, "authors": authors })
                }
            },
            dna: &blueprint.dna,
            derivation: &blueprint.derivation,
            scenario: &blueprint.scenario,
            variant: blueprint.variant,
            mutations: &blueprint.mutations,
            medium: blueprint.medium_name(),
            family: blueprint.family_name(),
            skeletons: blueprint.skeletons(),
            rule: blueprint.formula(),
            rule_hash: blueprint.rule_hash(),
            blueprint: super::source::BLUEPRINT,
            scripts: blueprint.kind().scripts(blueprint),
        }
    }
}

impl Draft {
    /// The manifest of the draft.
    ///
    /// # Errors
    /// If the provenance cannot be serialised.
    pub(super) fn manifest(&self) -> io::Result<Manifest> {
        let blueprint = &self.facts.blueprint;
        let hash = |bytes: &Vec<u8>| blake3::hash(bytes).to_hex().to_string();
        Ok(Manifest {
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
            thresholds: self.facts.thresholds,
            baselines: self.facts.ladder.baselines.clone(),
            rows: blueprint.rows,
            split: blueprint.split,
            data_source: DataSource::Synthetic,
            provenance: sorted(serde_json::to_value(Provenance::new(blueprint, &self.backend))?),
            hashes: self.files.iter().map(|(path, bytes)| (path.clone(), hash(bytes))).collect(),
        })
    }
}
