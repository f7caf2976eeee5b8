//! Model, machine, engine and constants: by name from the catalog, or from a file.

use crate::detect::{self, Figures, Found};
use crate::exit::{Misuse, misuse};
use junto_plan::constants::Constants;
use junto_spec::engine::EngineProfile;
use junto_spec::locate::{self, LocateError};
use junto_spec::machine::MachineSpec;
use junto_spec::model::error::ModelError;
use junto_spec::model::{ModelSpec, Quantization};
use junto_spec::{catalog, units::Bytes};
use std::env;
use std::path::{Path, PathBuf};

/// What is shown where nothing is asked for: the case that junto began with.
pub(crate) const MODEL: &str = "kimi-k2.6";
/// Its machine.
pub(crate) const MACHINE: &str = "8x-rtx-pro-6000";
/// Its engine.
pub(crate) const ENGINE: &str = "sglang-0.5.11";

/// The model called `wanted`, in its own format or in `quant`.
pub(crate) fn model(wanted: &str, quant: Option<&str>) -> Result<ModelSpec, Misuse> {
    let name = wanted.to_ascii_lowercase();
    let is_path = wanted.contains(['/', '\\']) || Path::new(wanted).exists();
    let read = if catalog::names("models").contains(&name.as_str()) {
        ModelSpec::catalog(&name)
    } else if is_path {
        let file = locate::config(wanted, hub().as_deref())
            .map_err(|error| not_located(&error, wanted))?;
        let text = locate::read(&file).map_err(|error| not_located(&error, wanted))?;
        from_config(&text, &file.display().to_string(), quant)
    } else {
        ModelSpec::catalog(wanted)
    };
    let mut model = read.map_err(|error| misuse(&error).maybe_hint(error.hint()))?;
    if let Some(quant) = quant {
        model.quantization = Quantization::named(&quant.to_ascii_lowercase())
            .map_err(|error| misuse(format_args!("--quant: {error}")).maybe_hint(error.hint()))?;
    }
    Ok(model)
}

/// A config whose own quantization is not known may still be read where another is asked for.
fn from_config(text: &str, file: &str, quant: Option<&str>) -> Result<ModelSpec, ModelError> {
    let read = ModelSpec::from_json(text, file);
    if !matches!(read, Err(ModelError::UnknownQuantization { .. })) || quant.is_none() {
        return read;
    }
    let Ok(mut config) = serde_json::from_str::<serde_json::Value>(text) else { return read };
    let text_config = config.get_mut("text_config").and_then(|text| text.as_object_mut());
    text_config.and_then(|text| text.remove("quantization_config"));
    config.as_object_mut().and_then(|config| config.remove("quantization_config"));
    ModelSpec::from_json(&config.to_string(), file)
}

fn hub() -> Option<PathBuf> {
    let folder = |name| env::var_os(name).map(PathBuf::from);
    locate::hub(folder("HF_HOME").as_deref(), folder("HOME").as_deref())
}

/// A repo that is not in the cache may still be a model of the catalog.
fn not_located(error: &LocateError, wanted: &str) -> Misuse {
    let name = wanted.rsplit('/').next().unwrap_or(wanted).to_ascii_lowercase();
    let in_catalog = matches!(error, LocateError::NotFound { .. })
        && catalog::names("models").contains(&name.as_str());
    let hint =
        if in_catalog { Some(format!("the catalog has it as `{name}`")) } else { error.hint() };
    misuse(error).maybe_hint(hint)
}

/// Where the machine comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MachineFrom {
    /// It was named.
    Asked,
    /// It is the one under us.
    Detected,
    /// Nothing was named and there is no GPU here.
    Example,
}

/// The machine called `wanted`; the one under us unless one is named; without a GPU, the example's.
pub(crate) fn machine(wanted: Option<&str>) -> Result<(MachineSpec, MachineFrom), Misuse> {
    let Some(wanted) = wanted else { return machine_here() };
    let read = if is_toml_file(wanted) {
        MachineSpec::from_toml(&text(wanted, "a machine file")?, wanted)
    } else {
        MachineSpec::catalog(&wanted.to_ascii_lowercase())
    };
    let machine = read.map_err(|error| misuse(&error).maybe_hint(error.hint()))?;
    Ok((machine, MachineFrom::Asked))
}

fn machine_here() -> Result<(MachineSpec, MachineFrom), Misuse> {
    machine_of(&detect::detect())
}

/// The machine that was found, if it has GPUs.
fn machine_of(found: &Found) -> Result<(MachineSpec, MachineFrom), Misuse> {
    if found.gpus.is_empty() {
        let machine = MachineSpec::catalog(MACHINE);
        let machine = machine.map_err(|error| misuse(&error).maybe_hint(error.hint()))?;
        return Ok((machine, MachineFrom::Example));
    }
    let written = detect::machine_file(found, &Figures::default());
    let advice = "write it down with `junto machine detect > machine.toml`, complete the file, and \
                  give it as --machine machine.toml";
    if !written.asked.is_empty() {
        let asked = written.asked.join(", ");
        let what = format!("the driver of this machine does not tell its {asked}");
        return Err(misuse(what).hint(advice));
    }
    let machine = MachineSpec::from_toml(&written.toml, "this machine")
        .map_err(|error| misuse(&error).maybe_hint(error.hint().or(Some(advice.to_owned()))))?;
    Ok((machine, MachineFrom::Detected))
}

/// The engine called `wanted`; a family without a version means its newest.
pub(crate) fn engine(wanted: &str) -> Result<EngineProfile, Misuse> {
    let read = if is_toml_file(wanted) {
        EngineProfile::from_toml(&text(wanted, "an engine profile")?, wanted)
    } else {
        let wanted = wanted.to_ascii_lowercase();
        EngineProfile::catalog(newest(&wanted).unwrap_or(&wanted))
    };
    read.map_err(|error| misuse(&error).maybe_hint(error.hint()))
}

/// The profile of a family with the highest version.
fn newest(family: &str) -> Option<&'static str> {
    let version = |name: &&str| -> Option<Vec<u32>> {
        let version = name.strip_prefix(family)?.strip_prefix('-')?;
        version.split('.').map(|part| part.parse().ok()).collect()
    };
    let names = EngineProfile::names().into_iter();
    names.filter(|name| version(name).is_some()).max_by_key(version)
}

/// The constants of a file, or of the catalog.
pub(crate) fn constants(file: Option<&str>) -> Result<Constants, Misuse> {
    let Some(file) = file else { return Ok(Constants::catalog()) };
    Constants::from_toml(&text(file, "a file of constants")?, file).map_err(misuse_in_one_line)
}

fn misuse_in_one_line(error: impl std::fmt::Display) -> Misuse {
    let text = error.to_string();
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    misuse(lines.collect::<Vec<_>>().join(" "))
}

/// Whether a person means a file rather than a name.
fn is_toml_file(wanted: &str) -> bool {
    let path = Path::new(wanted);
    let is_toml = path.extension().is_some_and(|extension| extension == "toml");
    is_toml || wanted.contains(['/', '\\']) || path.is_file()
}

/// The text of a file of ours.
pub(crate) fn text(file: &str, what: &str) -> Result<String, Misuse> {
    locate::read(Path::new(file)).map_err(|error| match error {
        LocateError::TooLarge { size, .. } => too_large(file, what, size),
        error => misuse(error),
    })
}

fn too_large(file: &str, what: &str, size: Bytes) -> Misuse {
    misuse(format_args!("{what} is a few KiB; {file} has {size}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::detect::tests::{box_of, two_sockets};
    use crate::detect::{Joint, Near};
    use junto_spec::machine::Gpu;

    #[test]
    fn a_family_without_a_version_is_its_newest() {
        assert_eq!(newest("sglang"), Some("sglang-0.5.23"));
        assert_eq!(newest("sglang-0.5.11"), None);
        assert_eq!(engine("native").unwrap().name, "native");
    }

    #[test]
    fn the_machine_under_us_is_planned_for_when_its_card_is_known() {
        let found = box_of("NVIDIA RTX PRO 6000 Blackwell Server Edition", 8, two_sockets);
        let (machine, from) = machine_of(&found).unwrap();
        assert_eq!((machine.gpus(), from), (8, MachineFrom::Detected));
        assert_eq!(machine.gpu.name, Gpu::catalog("rtx-pro-6000").unwrap().name);
    }

    #[test]
    fn a_card_that_is_not_known_is_asked_about() {
        let joint = |_, _| Joint { near: Near::Socket, p2p: false };
        let error = machine_of(&box_of("NVIDIA Unheard 1", 2, joint)).unwrap_err();
        insta::assert_snapshot!(error.what, @"the driver of this machine does not tell its memory_bandwidth_gb_s, bf16_tflops, l2_mib");
        insta::assert_snapshot!(error.hint.unwrap(), @"write it down with `junto machine detect > machine.toml`, complete the file, and give it as --machine machine.toml");
    }

    #[test]
    fn without_a_gpu_the_example_is_planned_for() {
        let found = Found { gpus: Vec::new(), joints: Vec::new(), ..box_of("", 1, two_sockets) };
        let (machine, from) = machine_of(&found).unwrap();
        assert_eq!((machine.name.as_str(), from), (MACHINE, MachineFrom::Example));
    }

    #[test]
    fn a_repo_of_the_catalog_is_named() {
        let error = model("moonshotai/Kimi-K2.6", None).unwrap_err();
        assert_eq!(error.hint.unwrap(), "the catalog has it as `kimi-k2.6`");
    }
}
