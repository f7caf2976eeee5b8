//! No file and no argument makes a reader panic: it is read, or the mistake is told.

use crate::mutation::{file, mistakes, toml_with_mistakes, with_mistakes};
use junto_plan::calibrate::points;
use junto_plan::constants::Constants;
use junto_plan::slo::Slo;
use junto_plan::whatif::Change;
use junto_spec::catalog;
use junto_spec::engine::EngineProfile;
use junto_spec::layout::Layout;
use junto_spec::machine::MachineSpec;
use junto_spec::model::ModelSpec;
use junto_spec::placement::ExpertLoad;
use proptest::prelude::*;
use serde_json::{Value, json};

/// Reads `text` as everything that a person may give.
fn read_as_everything(text: &str) {
    let _ = ModelSpec::from_json(text, "any.json");
    let _ = ExpertLoad::from_json(text);
    let _ = points(text, "any.json");
    let _ = MachineSpec::from_toml(text, "any.toml");
    let _ = EngineProfile::from_toml(text, "any.toml");
    let _ = Constants::from_toml(text, "any.toml");
    let _ = text.parse::<Layout>();
    let _ = text.parse::<Slo>();
    let _ = text.parse::<Change>();
}

/// A measurement file and an expert load as they are meant.
fn meant() -> [Value; 2] {
    let point = json!({"layout": "tp8+ep4", "concurrency": 16, "input_len": 1024,
        "output_len": 512, "output_tok_s": 700.5, "tpot_ms": 20.25});
    [json!([point, point]), json!({"layers": [[1, 2.5, 3], [4, 0, 6]]})]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn no_bytes_make_a_reader_panic(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
        read_as_everything(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn no_text_like_ours_makes_a_reader_panic(
        text in "((2x |tp|pp|dp|ep|dcp|ttft|tpot|kv_dtype|speculation|[-+=,:.@{}\\[\\]\"]|[0-9]{1,12}|e|ms|s|\n)){0,12}",
    ) {
        read_as_everything(&text);
    }

    #[test]
    fn no_mistake_in_a_small_file_makes_its_reader_panic(which in 0..2_usize, mistakes in mistakes()) {
        read_as_everything(&with_mistakes(meant()[which].clone(), &mistakes).to_string());
    }

    #[test]
    fn no_mistake_in_a_model_file_makes_its_reader_panic(
        (name, text) in file("models"), mistakes in mistakes(),
    ) {
        let config = with_mistakes(serde_json::from_str(text).unwrap(), &mistakes);
        match ModelSpec::from_json(&config.to_string(), name) {
            Ok(model) => {
                let parameters = model.parameters();
                prop_assert!(parameters.active <= parameters.total);
            }
            Err(error) => prop_assert!(!error.to_string().is_empty()),
        }
    }

    #[test]
    fn no_mistake_in_a_machine_file_makes_its_reader_panic(
        (name, text) in file("machines"), mistakes in mistakes(),
    ) {
        let text = toml_with_mistakes(text, &mistakes);
        if let Err(error) = MachineSpec::from_toml(&text, name) {
            prop_assert!(!error.to_string().is_empty());
            let _ = error.hint();
        }
    }

    #[test]
    fn no_mistake_in_an_engine_file_makes_its_reader_panic(
        (name, text) in file("engines"), mistakes in mistakes(),
    ) {
        let text = toml_with_mistakes(text, &mistakes);
        if let Err(error) = EngineProfile::from_toml(&text, name) {
            prop_assert!(!error.to_string().is_empty());
            let _ = error.hint();
        }
    }

    #[test]
    fn no_mistake_in_the_constants_makes_their_reader_panic(mistakes in mistakes()) {
        let text = catalog::file("constants.toml").unwrap();
        if let Err(error) = Constants::from_toml(&toml_with_mistakes(text, &mistakes), "any.toml") {
            prop_assert!(!error.to_string().is_empty());
        }
    }
}
