//! What an agent may submit, and what it may not.

use crate::fixture::{
    EMBEDDING, NORM, PROJECTION, Place, Tensor, Tensors, base_weights, config, safetensors, save,
    winning,
};
use camino::Utf8PathBuf;
use fs_err as fs;
use posttrain::intake::{Admitted, BaseModel, Intake, IntakeError, ModelStore, OutputFolder};
use posttrain::{Fault, Refusal, RefusalCode};
use proptest::collection::vec;
use proptest::prelude::*;
use rustix::fs::{CWD, FileType, Mode, mknodat};
use serde_json::{Value, json};

pub(crate) fn intake(place: &Place) -> Intake {
    Intake {
        output: OutputFolder::open(&place.path("output"), &["/box/output".into()]).unwrap(),
        base: BaseModel::open(&place.path("base")).unwrap(),
        store: ModelStore::open_folder(&place.path("models")).unwrap(),
    }
}

pub(crate) fn refusal(admitted: Result<Admitted, IntakeError>) -> Refusal {
    match admitted.unwrap_err() {
        IntakeError::Refused(refusal) => refusal,
        IntakeError::Fault(fault) => panic!("{fault:?}"),
    }
}

/// The refusal of a good model that `spoil` has been at.
fn spoiled(spoil: impl FnOnce(&Place, &Utf8PathBuf)) -> Refusal {
    let place = Place::new();
    let model = place.model("step-1", &winning(0.5));
    spoil(&place, &place.path("output/step-1"));
    let intake = intake(&place);
    let refusal = refusal(intake.admit(&model));
    let left: Vec<_> = fs::read_dir(place.path("models")).unwrap().collect();
    assert!(left.is_empty(), "a refused model leaves nothing: {left:?}");
    refusal
}

fn code(spoil: impl FnOnce(&Place, &Utf8PathBuf)) -> RefusalCode {
    let refusal = spoiled(spoil);
    assert!(refusal.message.len() > 20, "{refusal}");
    refusal.code
}

fn with_weights(change: impl FnOnce(&mut Tensors)) -> RefusalCode {
    code(|_, folder| {
        let mut weights = winning(0.5);
        change(&mut weights);
        save(folder, &weights, &config());
    })
}

/// The weights of a snapshot.
fn stored(place: &Place, admitted: &Admitted) -> Vec<u8> {
    let folder = place.path("models").join(admitted.model.to_string());
    fs::read(folder.join("model.safetensors")).unwrap()
}

#[test]
fn model_becomes_a_snapshot_with_the_bases_texts_under_the_hash_of_its_content() {
    let place = Place::new();
    let model = place.model("step-1", &winning(0.5));
    let folder = place.path("output/step-1");
    fs::write(folder.join("tokenizer.json"), r#"{"model": {"vocab": {"evil": 0}}}"#).unwrap();
    fs::write(folder.join("chat_template.jinja"), "{% for i in range(10**9) %}{% endfor %}")
        .unwrap();
    fs::write(folder.join("README.md"), "hello").unwrap();
    fs::create_dir(folder.join("trainer")).unwrap();
    let intake = intake(&place);
    let admitted = intake.admit(&model).unwrap();
    assert_eq!(admitted.facts.left_out, ["README.md", "trainer"]);
    assert!(admitted.facts.other_tokenizer && !admitted.facts.copy && !admitted.facts.foreign);
    assert!((admitted.facts.changed - 1.0 / 68.0).abs() < 1e-12);
    let sealed = intake.store.open(admitted.model).unwrap();
    for name in ["tokenizer.json", "chat_template.jinja"] {
        let base = fs::read(place.path("base").join(name)).unwrap();
        assert_eq!(fs::read(sealed.path().join(name)).unwrap(), base, "{name}");
    }
    assert!(!sealed.path().join("README.md").exists());
    // What happens to the agent's files afterwards does not matter.
    fs::remove_dir_all(&folder).unwrap();
    intake.store.open(admitted.model).unwrap();
    // What happens to the snapshot does.
    let mut bytes = stored(&place, &admitted);
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(sealed.path().join("model.safetensors"), bytes).unwrap();
    assert!(matches!(intake.store.open(admitted.model), Err(Fault::Snapshot(_))));
}

#[test]
fn same_weights_have_one_hash_however_they_are_sharded_and_called() {
    let place = Place::new();
    let whole = place.model("whole", &winning(0.5));
    let folder = place.path("output/sharded");
    fs::create_dir(&folder).unwrap();
    let mut first = winning(0.5);
    let second = Tensors::from([(NORM.to_owned(), first.remove(NORM).unwrap())]);
    fs::write(folder.join("model-00001-of-00002.safetensors"), safetensors(&first)).unwrap();
    fs::write(folder.join("model-00002-of-00002.safetensors"), safetensors(&second)).unwrap();
    fs::write(folder.join("config.json"), config().to_string()).unwrap();
    let intake = intake(&place);
    let whole = intake.admit(&whole).unwrap();
    for path in ["output/sharded", "./output/sharded", "/box/output/sharded", folder.as_str()] {
        assert_eq!(intake.admit(path).unwrap().model, whole.model, "{path}");
    }
    assert_ne!(whole.model, intake.admit_base().unwrap().model);
}

#[test]
fn copy_is_recognised_by_its_weights_and_one_changed_weight_shows() {
    let place = Place::new();
    let copy = place.model("copy", &base_weights());
    let mut weights = base_weights();
    let mut values = weights[PROJECTION].values();
    values[5] += 0.125;
    weights.insert(PROJECTION.to_owned(), Tensor::f32(&[6, 4], &values));
    let almost = place.model("almost", &weights);
    let intake = intake(&place);
    let copy = intake.admit(&copy).unwrap();
    assert!(copy.facts.copy && copy.facts.changed == 0.0 && copy.facts.cosine == 1.0);
    assert_eq!(copy.model, intake.admit_base().unwrap().model);
    let almost = intake.admit(&almost).unwrap();
    assert!(!almost.facts.copy && !almost.facts.foreign);
    assert!((almost.facts.changed - 1.0 / 68.0).abs() < 1e-12);
}

#[test]
fn weights_of_another_model_are_called_foreign() {
    let place = Place::new();
    let mut weights = base_weights();
    for (name, shape) in [(EMBEDDING, [10, 4]), (PROJECTION, [6, 4])] {
        let values = weights[name].values();
        let turned: Vec<f32> = values.iter().rev().map(|value| -value).collect();
        weights.insert(name.to_owned(), Tensor::f32(&shape, &turned));
    }
    let model = place.model("other", &weights);
    let admitted = intake(&place).admit(&model).unwrap();
    assert!(admitted.facts.foreign, "{:?}", admitted.facts);
}

#[test]
fn vocabulary_may_be_extended_and_not_cut() {
    let place = Place::new();
    let extended = |rows: usize| {
        let mut weights = winning(0.5);
        let mut values = weights[EMBEDDING].values();
        values.resize(rows * 4, 0.5);
        weights.insert(EMBEDDING.to_owned(), Tensor::f32(&[rows, 4], &values));
        let mut config = config();
        config["vocab_size"] = rows.into();
        save(&place.path("output/model"), &weights, &config);
        intake(&place).admit("output/model")
    };
    let admitted = extended(12).unwrap();
    let folder = place.path("models").join(admitted.model.to_string());
    let config: Value =
        serde_json::from_slice(&fs::read(folder.join("config.json")).unwrap()).unwrap();
    assert_eq!(config["vocab_size"], 12);
    assert!(!admitted.facts.copy);
    assert_eq!(refusal(extended(9)).code, RefusalCode::Config);
    assert_eq!(refusal(extended(21)).code, RefusalCode::Config);
    // A size that its weights do not have.
    save(&place.path("output/model"), &winning(0.5), &json!({"vocab_size": 12}));
    assert_eq!(refusal(intake(&place).admit("output/model")).code, RefusalCode::Shape);
}

#[test]
fn path_that_does_not_lead_into_the_output_folder_is_refused() {
    let place = Place::new();
    place.model("step-1", &winning(0.5));
    std::os::unix::fs::symlink(place.path("base"), place.path("output/link")).unwrap();
    std::os::unix::fs::symlink(place.path(""), place.path("output/up")).unwrap();
    fs::write(place.path("output/file"), "x").unwrap();
    let intake = intake(&place);
    let code = |path: &str| refusal(intake.admit(path)).code;
    for path in [
        "",
        "output",
        "output/",
        "/",
        "base",
        "step-1",
        "output/../base",
        "output/step-1/../../base",
        "/etc",
        "/proc/self/cwd",
        "output\0/step-1",
        "output/step-1\n",
        "../output/step-1",
        "output/file",
        &"output/".repeat(300),
    ] {
        assert_eq!(code(path), RefusalCode::Path, "{path:?}");
    }
    assert_eq!(code("output/step-2"), RefusalCode::Missing);
    assert_eq!(code("output/link"), RefusalCode::Special);
    assert_eq!(code("output/up/output/step-1"), RefusalCode::Special);
    assert_eq!(code(place.path("base").as_str()), RefusalCode::Path);
}

#[test]
fn special_files_are_refused_without_waiting_for_them() {
    let pipe = code(|_, folder| {
        mknodat(CWD, folder.join("pipe.safetensors").as_std_path(), FileType::Fifo, Mode::RUSR, 0)
            .unwrap();
    });
    assert_eq!(pipe, RefusalCode::Special);
    let link = code(|place, folder| {
        fs::remove_file(folder.join("model.safetensors")).unwrap();
        let secret = place.path("base/model.safetensors");
        std::os::unix::fs::symlink(secret, folder.join("model.safetensors")).unwrap();
    });
    assert_eq!(link, RefusalCode::Special);
    let hard_link = code(|place, folder| {
        fs::remove_file(folder.join("model.safetensors")).unwrap();
        let secret = place.path("base/model.safetensors");
        fs::hard_link(secret, folder.join("model.safetensors")).unwrap();
    });
    assert_eq!(hard_link, RefusalCode::Special);
    let folder_for_file = code(|_, folder| {
        fs::remove_file(folder.join("config.json")).unwrap();
        fs::create_dir(folder.join("config.json")).unwrap();
    });
    assert_eq!(folder_for_file, RefusalCode::Missing);
    let readme = code(|_, folder| {
        std::os::unix::fs::symlink("/etc/shadow", folder.join("README.md")).unwrap();
    });
    assert_eq!(readme, RefusalCode::Special);
}

#[test]
fn code_and_pickles_are_refused_and_never_loaded() {
    for name in ["pytorch_model.bin", "training_args.bin", "optimizer.pt", "weights.PKL", "m.gguf"]
    {
        assert_eq!(
            code(|_, folder| fs::write(folder.join(name), "x").unwrap()),
            RefusalCode::Pickle
        );
    }
    for name in ["modeling_evil.py", "evil.so", "run.sh"] {
        assert_eq!(code(|_, folder| fs::write(folder.join(name), "x").unwrap()), RefusalCode::Code);
    }
    let auto_map = code(|_, folder| {
        let mut config = config();
        config["auto_map"] = json!({"AutoModelForCausalLM": "modeling_evil.Evil"});
        fs::write(folder.join("config.json"), config.to_string()).unwrap();
    });
    assert_eq!(auto_map, RefusalCode::Code);
}

#[test]
fn damaged_files_are_refused_whatever_their_headers_claim() {
    let with_file = |bytes: Vec<u8>| {
        code(|_, folder| fs::write(folder.join("model.safetensors"), bytes).unwrap())
    };
    let whole = safetensors(&winning(0.5));
    for end in [0, 7, 8, 40, whole.len() - 1] {
        assert_eq!(with_file(whole[..end].to_vec()), RefusalCode::Damaged, "cut at {end}");
    }
    let mut grown = whole.clone();
    grown.push(0);
    assert_eq!(with_file(grown), RefusalCode::Damaged);
    for length in [u64::MAX, 300 << 30, 100 << 20, (whole.len() as u64) - 7] {
        let mut lying = whole.clone();
        lying[..8].copy_from_slice(&length.to_le_bytes());
        assert_eq!(with_file(lying), RefusalCode::Damaged, "a header of {length}");
    }
    let with_header = |header: &str| {
        let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
        bytes.extend(header.bytes());
        with_file(bytes)
    };
    for header in [
        "",
        "[]",
        r#"{"a": {"dtype": "F32", "shape": [4], "data_offsets": [0, 15]}}"#,
        r#"{"a": {"dtype": "F32", "shape": [18446744073709551615, 4], "data_offsets": [0, 16]}}"#,
        r#"{"a": {"dtype": "X9", "shape": [4], "data_offsets": [0, 16]}}"#,
        &"[".repeat(200_000),
    ] {
        assert_eq!(with_header(header), RefusalCode::Damaged);
    }
    let many: Vec<String> = (0..400)
        .map(|number| {
            format!(r#""{number}": {{"dtype": "F32", "shape": [0], "data_offsets": [0, 0]}}"#)
        })
        .collect();
    assert_eq!(with_header(&format!("{{{}}}", many.join(","))), RefusalCode::Shape);
    let overlapping = r#"{"a": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]},
        "b": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}"#;
    assert_eq!(with_header(overlapping), RefusalCode::Damaged);
    let sparse = code(|_, folder| {
        let file = fs::File::create(folder.join("model.safetensors")).unwrap();
        file.set_len(1 << 40).unwrap();
    });
    assert_eq!(sparse, RefusalCode::TooLarge);
    let twice = code(|_, folder| {
        fs::write(folder.join("old.safetensors"), safetensors(&winning(0.75))).unwrap();
    });
    assert_eq!(twice, RefusalCode::Damaged);
    let large = code(|_, folder| {
        fs::write(folder.join("config.json"), " ".repeat(2 << 20)).unwrap();
    });
    assert_eq!(large, RefusalCode::TooLarge);
    let many = code(|_, folder| {
        for number in 0..1_100 {
            fs::write(folder.join(format!("{number}.txt")), "").unwrap();
        }
    });
    assert_eq!(many, RefusalCode::TooLarge);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn no_bytes_of_a_file_are_a_fault_of_ours(
        file in 0..2_usize,
        changes in vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        cut in proptest::option::of(any::<prop::sample::Index>()),
    ) {
        let place = Place::new();
        let model = place.model("step-1", &winning(0.5));
        let path = place.path("output/step-1").join(["model.safetensors", "config.json"][file]);
        let mut bytes = fs::read(&path).unwrap();
        // Most of a model is weights, whose changes are allowed: the header is what matters.
        let header = bytes.len().min(300);
        for (index, byte) in changes {
            bytes[index.index(header)] = byte;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        fs::write(&path, bytes).unwrap();
        match intake(&place).admit(&model) {
            Ok(_) | Err(IntakeError::Refused(_)) => {}
            Err(IntakeError::Fault(fault)) => panic!("{fault:?}"),
        }
    }
}

#[test]
fn weights_of_another_shape_type_or_without_a_number_are_refused() {
    let shape = |change: fn(&mut Tensors)| assert_eq!(with_weights(change), RefusalCode::Shape);
    shape(|weights| drop(weights.remove(NORM)));
    shape(|weights| {
        weights.insert("model.extra.weight".into(), Tensor::f32(&[1], &[0.0]));
    });
    shape(|weights| {
        weights.insert(PROJECTION.into(), Tensor::f32(&[4, 6], &[0.5; 24]));
    });
    shape(|weights| {
        let tensor = Tensor { dtype: "F64", shape: vec![4], bytes: vec![0; 32] };
        weights.insert(NORM.into(), tensor);
    });
    shape(|weights| {
        let tensor = Tensor { dtype: "I8", shape: vec![4], bytes: vec![0; 4] };
        weights.insert(NORM.into(), tensor);
    });
    for value in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        let refused = with_weights(|weights| {
            weights.insert(NORM.into(), Tensor::f32(&[4], &[1.0, 1.0, value, 1.0]));
        });
        assert_eq!(refused, RefusalCode::NotFinite);
    }
    let nothing = code(|_, folder| fs::remove_file(folder.join("model.safetensors")).unwrap());
    assert_eq!(nothing, RefusalCode::Missing);
    let no_config = code(|_, folder| fs::remove_file(folder.join("config.json")).unwrap());
    assert_eq!(no_config, RefusalCode::Missing);
}

#[test]
fn tied_output_layer_on_disk_is_left_out_and_half_precision_is_kept() {
    let place = Place::new();
    let mut weights = winning(0.5);
    let head = weights[EMBEDDING].clone();
    weights.insert("lm_head.weight".to_owned(), head);
    let tied = place.model("tied", &weights);
    let plain = place.model("plain", &winning(0.5));
    let intake = intake(&place);
    let tied = intake.admit(&tied).unwrap();
    assert_eq!(tied.facts.left_out, ["lm_head.weight"]);
    assert_eq!(tied.model, intake.admit(&plain).unwrap().model);
    // 1.0 as bfloat16 is 0x3F80.
    let mut half = winning(0.5);
    let tensor = Tensor { dtype: "BF16", shape: vec![4], bytes: [0x80, 0x3F].repeat(4) };
    half.insert(NORM.to_owned(), tensor);
    let half = place.model("half", &half);
    let half = intake.admit(&half).unwrap();
    assert_ne!(half.model, tied.model);
    assert!((half.facts.changed - 1.0 / 68.0).abs() < 1e-12, "ones are ones in either type");
}

#[test]
fn files_that_are_swapped_during_intake_never_make_a_snapshot_of_what_was_not_checked() {
    let place = Place::new();
    let model = place.model("step-1", &winning(0.5));
    let file = place.path("output/step-1/model.safetensors");
    let mut evil = winning(0.75);
    evil.insert(NORM.to_owned(), Tensor::f32(&[4], &[f32::NAN; 4]));
    let variants = [safetensors(&winning(0.5)), safetensors(&evil), b"short".to_vec()];
    let done = std::sync::atomic::AtomicBool::new(false);
    let intake = intake(&place);
    let mut kept = Vec::new();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut turn = 0;
            while !done.load(std::sync::atomic::Ordering::Relaxed) {
                // In place, so that an open file changes too.
                fs::write(&file, &variants[turn % 3]).unwrap();
                turn += 1;
            }
        });
        for _ in 0..300 {
            match intake.admit(&model) {
                Ok(admitted) => kept.push(admitted),
                Err(IntakeError::Refused(_)) => {}
                Err(IntakeError::Fault(fault)) => panic!("{fault:?}"),
            }
        }
        done.store(true, std::sync::atomic::Ordering::Relaxed);
    });
    for admitted in kept {
        let sealed = intake.store.open(admitted.model).unwrap();
        let base = BaseModel::open(sealed.path()).unwrap();
        let again = Intake {
            output: OutputFolder::open(&place.path("models"), &[]).unwrap(),
            base,
            store: ModelStore::open_folder(&place.path("again")).unwrap(),
        };
        again.admit_base().expect("every weight of a snapshot is finite");
    }
}
