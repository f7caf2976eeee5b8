//! A machine file: plain structs as TOML has them, then the checks.

use super::collective::{CollectiveTable, RawTable};
use super::error::MachineError;
use super::gpu::RawGpu;
use super::{Gpu, Link, LinkKind, MachineSpec};
use crate::source::Source;
use crate::units::{BytesPerSecond, Seconds};
use crate::{catalog, toml_file};
use serde::Deserialize;

/// GPUs of one machine at most; far above any, and low enough to list.
const MOST_GPUS: u32 = 1 << 16;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawMachine {
    description: String,
    gpu: toml::Value,
    gpus_per_host: i64,
    hosts: Option<i64>,
    counts: Option<Vec<i64>>,
    #[serde(default)]
    collectives: Vec<String>,
    /// What the shared tables may claim at most: those of another GPU are not measured here.
    collectives_source: Option<Source>,
    #[serde(default)]
    link: Vec<RawLink>,
    #[serde(default)]
    collective: Vec<RawTable>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawLink {
    kind: LinkKind,
    domain: Option<i64>,
    domains: Option<Vec<Vec<i64>>>,
    bandwidth_gb_s: f64,
    latency_us: f64,
    launch_us: f64,
    p2p: bool,
    source: Source,
    reference: String,
}

/// A file of tables that several kinds of machine share.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawTables {
    collective: Vec<RawTable>,
}

/// The description and the counts of a kind.
pub(super) fn heading(text: &str, name: &str) -> Result<(String, Vec<u32>), MachineError> {
    let file = format!("{name}.toml");
    let raw: RawMachine = toml_file::parse(text, &file)?;
    let (per_host, counts) = raw.counts(&file)?;
    let whole = |&count: &u32| count <= per_host || count.is_multiple_of(per_host);
    match counts.iter().find(|count| !whole(count)) {
        Some(&count) => Err(MachineError::PartOfAHost { file, count, gpus_per_host: per_host }),
        None => Ok((raw.description, counts)),
    }
}

/// The machine in `text`, with `count` GPUs if it is a kind.
pub(super) fn machine(
    text: &str,
    name: &str,
    count: Option<u32>,
) -> Result<MachineSpec, MachineError> {
    // A file that the user named keeps its name; a machine of the catalog is said to be one.
    let is_path = std::path::Path::new(name).extension().is_some_and(|end| end == "toml");
    let file = if is_path { name.to_owned() } else { format!("{name}.toml") };
    let raw: RawMachine = toml_file::parse(text, &file)?;
    let (per_host, _) = raw.counts(&file)?;
    let hosts = counted(&file, "hosts", raw.hosts.unwrap_or(1), 1, MOST_GPUS / per_host)?;
    let (gpus_per_host, hosts) = match count {
        Some(count) => (per_host.min(count), count.div_ceil(per_host)),
        None => (per_host, hosts),
    };
    let gpus = gpus_per_host * hosts;
    let gpu = match raw.gpu {
        toml::Value::String(gpu) => Gpu::named(&gpu, &file)?,
        toml::Value::Table(table) => {
            let raw: RawGpu = toml_file::parse_table(table, text, &file, "gpu")?;
            Gpu::checked(raw, &file)?
        }
        _ => return Err(MachineError::GpuIsNoNameOrTable { file }),
    };
    let links = links(raw.link, gpus, count.is_some(), &file)?;
    let mut collectives = tables(raw.collective, &file)?;
    for name in &raw.collectives {
        let mut shared = shared_tables(name, &file)?;
        for table in &mut shared {
            table.source =
                raw.collectives_source.map_or(table.source, |most| table.source.max(most));
        }
        collectives.extend(shared);
    }
    let (name, description) = (name.to_owned(), raw.description);
    Ok(MachineSpec { name, description, gpu, gpus_per_host, hosts, links, collectives })
}

impl RawMachine {
    /// GPUs of a host, and the counts that a kind comes with.
    fn counts(&self, file: &str) -> Result<(u32, Vec<u32>), MachineError> {
        let per_host = counted(file, "gpus_per_host", self.gpus_per_host, 1, 1024)?;
        if self.counts.is_some() && self.hosts.is_some() {
            return Err(MachineError::CountsAndHosts { file: file.to_owned() });
        }
        let counts = self.counts.iter().flatten();
        let counts = counts.map(|&count| counted(file, "counts", count, 1, MOST_GPUS));
        Ok((per_host, counts.collect::<Result<_, _>>()?))
    }
}

/// The links that a machine of `gpus` GPUs has; of a kind (`clipped`), only those that its count
/// of GPUs needs.
fn links(
    raw: Vec<RawLink>,
    gpus: u32,
    clipped: bool,
    file: &str,
) -> Result<Vec<Link>, MachineError> {
    let mut links = Vec::new();
    for (i, raw) in raw.into_iter().enumerate() {
        links.push(link(raw, i + 1, gpus, clipped, file)?);
    }
    links.sort_by_key(Link::width);
    if clipped {
        // A link no wider than the one before joins nothing more.
        let mut width = 1;
        links.retain(|link| {
            let wider = width < link.width();
            width = width.max(link.width());
            wider
        });
    }
    for (i, link) in links.iter().enumerate() {
        if links[..i].iter().any(|other| other.kind == link.kind) {
            let (file, kind) = (file.to_owned(), link.kind.to_string());
            return Err(MachineError::SameKind { file, kind });
        }
    }
    let widest = links.last().map_or(1, Link::width);
    if widest < gpus {
        return Err(MachineError::NotJoined { file: file.to_owned(), gpus, widest });
    }
    Ok(links)
}

fn link(
    raw: RawLink,
    number: usize,
    gpus: u32,
    clipped: bool,
    file: &str,
) -> Result<Link, MachineError> {
    let field = |field| format!("link {number}, {field}");
    let domains = match (raw.domain, raw.domains) {
        (Some(size), None) => {
            let most = if clipped { MOST_GPUS } else { gpus };
            let size = counted(file, &field("domain"), size, 1, most)?;
            let starts = (0..gpus).step_by(size as usize);
            starts.map(|start| (start..gpus.min(start.saturating_add(size))).collect()).collect()
        }
        (None, Some(domains)) => domains_named(domains, number, gpus, file)?,
        _ => return Err(MachineError::Domains { file: file.to_owned(), link: number }),
    };
    let bandwidth = positive(file, &field("bandwidth_gb_s"), raw.bandwidth_gb_s, 1e6)?;
    Ok(Link {
        kind: raw.kind,
        domains,
        bandwidth: BytesPerSecond::from_gb_s(bandwidth),
        latency: Seconds::from_us(positive(file, &field("latency_us"), raw.latency_us, 1e6)?),
        launch: Seconds::from_us(positive(file, &field("launch_us"), raw.launch_us, 1e6)?),
        p2p: raw.p2p,
        source: raw.source,
        reference: raw.reference,
    })
}

/// Domains given GPU by GPU: each GPU is there, and in one domain.
fn domains_named(
    domains: Vec<Vec<i64>>,
    link: usize,
    gpus: u32,
    file: &str,
) -> Result<Vec<Vec<u32>>, MachineError> {
    let mut seen = std::collections::HashSet::new();
    let mut check = |gpu: i64| {
        let there = u32::try_from(gpu).ok().filter(|&gpu| gpu < gpus);
        let no_such_gpu =
            || MachineError::NoSuchGpu { file: file.to_owned(), link, gpu, last: gpus - 1 };
        let gpu = there.ok_or_else(no_such_gpu)?;
        if !seen.insert(gpu) {
            return Err(MachineError::JoinedTwice { file: file.to_owned(), link, gpu });
        }
        Ok(gpu)
    };
    let mut checked = Vec::new();
    for domain in domains {
        let mut domain = domain.into_iter().map(&mut check).collect::<Result<Vec<u32>, _>>()?;
        domain.sort_unstable();
        checked.push(domain);
    }
    Ok(checked)
}

fn tables(raw: Vec<RawTable>, file: &str) -> Result<Vec<CollectiveTable>, MachineError> {
    let numbered = raw.into_iter().enumerate();
    numbered.map(|(i, raw)| raw.checked(file, i + 1)).collect()
}

/// The tables of `catalog/collectives/{name}.toml`.
fn shared_tables(name: &str, file: &str) -> Result<Vec<CollectiveTable>, MachineError> {
    let Some(text) = catalog::text("collectives", name, "toml") else {
        let near = toml_file::nearest(name, catalog::names("collectives").into_iter());
        let (file, name) = (file.to_owned(), name.to_owned());
        return Err(MachineError::UnknownCollectives { file, name, near });
    };
    let file = format!("collectives/{name}.toml");
    let raw: RawTables = toml_file::parse(text, &file)?;
    tables(raw.collective, &file)
}

/// A figure that must be above zero and not absurd.
pub(super) fn positive(
    file: &str,
    field: &str,
    value: f64,
    most: f64,
) -> Result<f64, MachineError> {
    if 0.0 < value && value <= most {
        return Ok(value);
    }
    Err(MachineError::OutOfRange { file: file.to_owned(), field: field.to_owned(), value, most })
}

/// A count from `least` to `most`.
pub(super) fn counted(
    file: &str,
    field: &str,
    value: i64,
    least: u32,
    most: u32,
) -> Result<u32, MachineError> {
    let in_range = u32::try_from(value).ok().filter(|count| (least..=most).contains(count));
    in_range.ok_or_else(|| {
        let (file, field) = (file.to_owned(), field.to_owned());
        MachineError::CountOutOfRange { file, field, value, least, most }
    })
}
