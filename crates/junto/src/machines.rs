//! `junto machines`: the machines of the catalog. `junto machine detect`: the one under us.

use crate::args::{DetectArgs, ListArgs, MachineCommand};
use crate::detect::{self, Figures};
use crate::exit::{Exit, Misuse};
use crate::json;
use crate::question::{Kind, number};
use crate::table::{Align, Table, WIDTH, wrapped};
use junto_spec::machine::kinds::{self, Kind as MachineKind};
use serde::Serialize;
use std::io::Write;

/// One kind of machine, as `--json` prints it.
#[derive(Debug, Serialize)]
struct MachineJson {
    kind: &'static str,
    machines: Vec<String>,
    description: String,
}

/// Lists the catalog.
pub(crate) fn list(args: &ListArgs, out: &mut dyn Write) -> anyhow::Result<Exit> {
    let kinds = kinds::all();
    if args.json {
        let machines = kinds.into_iter().map(|kind| MachineJson {
            kind: kind.name,
            machines: kind.machines(),
            description: kind.description,
        });
        json::write(out, &machines.collect::<Vec<_>>())?;
        return Ok(Exit::Done);
    }
    let mut table = Table::default();
    table.column("", "Machine", Align::Left);
    table.column("", "GPUs", Align::Left);
    table.column("", "What it is", Align::Left);
    let room = WIDTH - 49;
    for kind in &kinds {
        let description = wrapped("", &kind.description, room);
        let mut lines = description.lines();
        let first = lines.next().unwrap_or_default();
        table.row(vec![name(kind), counts(kind), first.to_owned()]);
        for line in lines {
            table.row(vec![String::new(), String::new(), line.to_owned()]);
        }
    }
    table.write(out)?;
    Ok(Exit::Done)
}

/// `Nx-h200`, or the plain name of a kind that is one machine.
fn name(kind: &MachineKind) -> String {
    if kind.counts.is_empty() { kind.name.to_owned() } else { format!("Nx-{}", kind.name) }
}

/// `1 2 4 8 .. 1024`
fn counts(kind: &MachineKind) -> String {
    let counts: Vec<String> = kind.counts.iter().map(u32::to_string).collect();
    match counts.as_slice() {
        [first @ .., last] if 5 < first.len() => format!("{} .. {last}", first[..4].join(" ")),
        all => all.join(" "),
    }
}

/// Runs a command about the machine under us.
pub(crate) fn run(
    command: &MachineCommand,
    out: &mut dyn Write,
    story: &mut dyn Write,
) -> anyhow::Result<Exit> {
    let MachineCommand::Detect(args) = command;
    let written = detect::machine_file(&detect::detect(), &figures(args)?);
    out.write_all(written.toml.as_bytes())?;
    if !written.asked.is_empty() {
        writeln!(story, "note: the machine does not tell its {}", written.asked.join(", "))?;
        writeln!(
            story,
            "hint: give the figures that `junto machine detect --help` lists, or complete the file"
        )?;
    }
    Ok(Exit::Done)
}

fn figures(args: &DetectArgs) -> Result<Figures, Misuse> {
    let figure = |flag, text: &Option<String>| {
        let figure = text.as_deref().map(|text| number(flag, text, Kind::Real, 1e6));
        figure.transpose()
    };
    Ok(Figures {
        memory_bandwidth_gb_s: figure("--memory-bandwidth", &args.memory_bandwidth)?,
        bf16_tflops: figure("--bf16", &args.bf16)?,
        l2_mib: figure("--l2", &args.l2)?,
        nvlink_gb_s: figure("--nvlink", &args.nvlink)?,
    })
}
