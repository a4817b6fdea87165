//! Adapters, which the server merges.

use crate::fixture::{PROJECTION, Place, Tensor, Tensors, base_weights, safetensors};
use crate::intake::{intake, refusal};
use fs_err as fs;
use posttrain::RefusalCode;
use serde_json::{Value, json};

/// An adapter for the projection, which adds `2 · B A` to it.
fn adapter(place: &Place, change: impl FnOnce(&mut Tensors, &mut Value)) -> String {
    let prefix = format!("base_model.model.{}", PROJECTION.trim_end_matches(".weight"));
    let mut weights = Tensors::from([
        (format!("{prefix}.lora_A.weight"), Tensor::f32(&[1, 4], &[1.0, 0.0, -1.0, 0.5])),
        (format!("{prefix}.lora_B.weight"), Tensor::f32(&[6, 1], &[0.0, 1.0, 0.0, 0.0, 0.0, -0.5])),
    ]);
    let mut config = json!({"peft_type": "LORA", "r": 1, "lora_alpha": 2, "bias": "none"});
    change(&mut weights, &mut config);
    let folder = place.path("output/adapter");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("adapter_config.json"), config.to_string()).unwrap();
    fs::write(folder.join("adapter_model.safetensors"), safetensors(&weights)).unwrap();
    "output/adapter".to_owned()
}

#[test]
fn adapter_is_merged_into_the_base() {
    let place = Place::new();
    let path = adapter(&place, |_, _| {});
    let intake = intake(&place);
    let admitted = intake.admit(&path).unwrap();
    assert!(admitted.facts.adapter && !admitted.facts.copy);
    let mut weights = base_weights();
    let mut values = weights[PROJECTION].values();
    for (row, factor) in [(1, 2.0), (5, -1.0)] {
        for (column, value) in [(0, 1.0), (2, -1.0), (3, 0.5)] {
            values[row * 4 + column] += factor * value;
        }
    }
    weights.insert(PROJECTION.to_owned(), Tensor::f32(&[6, 4], &values));
    let merged = place.model("merged", &weights);
    assert_eq!(intake.admit(&merged).unwrap().model, admitted.model);
}

#[test]
fn adapter_that_cannot_be_merged_is_refused() {
    let refused = |change: fn(&mut Tensors, &mut Value)| {
        let place = Place::new();
        let path = adapter(&place, change);
        refusal(intake(&place).admit(&path)).code
    };
    let other = |change| assert_eq!(refused(change), RefusalCode::Adapter);
    other(|_, config| config["use_dora"] = true.into());
    other(|_, config| config["peft_type"] = "IA3".into());
    other(|_, config| config["modules_to_save"] = json!(["lm_head"]));
    other(|_, config| config["r"] = 2.into());
    other(|_, config| config["r"] = 0.into());
    other(|_, config| *config = json!({}));
    other(|weights, _| drop(weights.pop_last()));
    other(|weights, _| weights.clear());
    other(|weights, _| {
        let (_, a) = weights.pop_first().unwrap();
        weights.insert("base_model.model.model.layers.9.mlp.up_proj.lora_A.weight".into(), a);
    });
    other(|weights, _| {
        *weights.values_mut().next().unwrap() = Tensor::f32(&[1, 8], &[0.0; 8]);
    });
    let infinite = refused(|weights, _| {
        *weights.values_mut().next().unwrap() = Tensor::f32(&[1, 4], &[f32::MAX, 0.0, 0.0, 0.0]);
        *weights.values_mut().last().unwrap() = Tensor::f32(&[6, 1], &[f32::MAX; 6]);
    });
    assert_eq!(infinite, RefusalCode::NotFinite);
}
