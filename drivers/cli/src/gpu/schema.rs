//! The JSON of `rocload gpu`.

use std::collections::BTreeMap;

use rocload::gpu::{DeviceMask, Gpu, Gpus, Kind, OtherCard, Problem, Selection};
use serde::Serialize;

/// A machine.
#[derive(Serialize)]
pub(crate) struct MachineJson {
    devices: Vec<DeviceJson>,
    skipped: Vec<SkippedJson>,
    other_vendors: Vec<CardJson>,
    amd_without_kfd: Vec<CardJson>,
    chosen: Option<ChosenJson>,
    chosen_multi: Option<ChosenJson>,
    rejected: Vec<RejectedJson>,
    /// `ROCR_VISIBLE_DEVICES` for a process, or the caller's own masks.
    #[serde(skip_serializing_if = "Option::is_none")]
    env: Option<BTreeMap<&'static str, String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    env_multi: Option<BTreeMap<&'static str, String>>,
    /// `set`, `kept` or `none`.
    mask: &'static str,
    mem_available: Option<u64>,
    error: Option<&'static str>,
    error_text: Option<String>,
    hint: Option<&'static str>,
}

/// A GPU.
#[derive(Serialize)]
pub(crate) struct DeviceJson {
    rocr_ordinal: Option<u32>,
    kfd_node: u32,
    card: Option<String>,
    render: Option<String>,
    pci: Option<String>,
    name: Option<String>,
    gfx: Option<String>,
    effective_gfx: Option<String>,
    integrated: bool,
    kind: &'static str,
    evidence: &'static str,
    uuid: Option<String>,
    vram_total: Option<u64>,
    vram_used: Option<u64>,
    vram_free: Option<u64>,
    inconsistent: bool,
    gtt_total: Option<u64>,
    gtt_used: Option<u64>,
    unified_free: Option<u64>,
    budget: Option<u64>,
    partition: Option<PartitionJson>,
    suspended: bool,
    busy_percent: Option<u8>,
    temperature_celsius: Option<f64>,
    power_watts: Option<f64>,
    power_cap_watts: Option<f64>,
    access: &'static str,
}

#[derive(Serialize)]
struct PartitionJson {
    compute: String,
    memory: String,
    index: u32,
    of: u32,
}

#[derive(Serialize)]
struct SkippedJson {
    kfd_node: u32,
    why: &'static str,
    why_text: &'static str,
}

#[derive(Serialize)]
struct CardJson {
    card: Option<String>,
    vendor: Option<String>,
    pci: Option<String>,
    driver: Option<String>,
}

#[derive(Serialize)]
struct ChosenJson {
    ordinals: Vec<Option<u32>>,
    why: &'static str,
    why_text: &'static str,
}

#[derive(Serialize)]
struct RejectedJson {
    kfd_node: u32,
    why: &'static str,
    why_text: &'static str,
}

/// A machine, with the choice of one GPU and of several.
pub(crate) fn machine(gpus: &Gpus, one: &Selection, all: &Selection) -> MachineJson {
    let rejected = one.rejected(gpus).map(|(gpu, reason)| RejectedJson {
        kfd_node: gpu.node.id,
        why: reason.name(),
        why_text: reason.text(),
    });
    let skipped = gpus.skipped().map(|kfd_node| SkippedJson {
        kfd_node,
        why: "unreadable",
        why_text: "its files cannot be read, so the runtime passes over it",
    });
    let cards =
        |amd: bool| gpus.others().iter().filter(|other| other.is_amd() == amd).map(card).collect();
    let several = all.choice.chosen.is_some_and(|chosen| chosen.count > 1);
    MachineJson {
        devices: gpus.gpus().iter().map(|gpu| device(gpus, gpu)).collect(),
        skipped: skipped.collect(),
        other_vendors: cards(false),
        amd_without_kfd: cards(true),
        chosen: chosen(gpus, one),
        chosen_multi: chosen(gpus, all).filter(|_| several),
        rejected: rejected.collect(),
        env: environment(one),
        env_multi: environment(all).filter(|_| several),
        mask: match &one.mask {
            DeviceMask::None => "none",
            DeviceMask::Set(_) => "set",
            DeviceMask::Kept(_) => "kept",
        },
        mem_available: gpus.available(),
        error: one.problem.map(Problem::name),
        error_text: one.problem.map(|problem| problem.to_string()),
        hint: one.problem.map(Problem::advice),
    }
}

fn chosen(gpus: &Gpus, selection: &Selection) -> Option<ChosenJson> {
    let why = selection.choice.chosen?.why;
    let ordinals = selection.chosen(gpus).map(|gpu| gpu.ordinal).collect();
    Some(ChosenJson { ordinals, why: why.name(), why_text: why.text() })
}

fn environment(selection: &Selection) -> Option<BTreeMap<&'static str, String>> {
    selection.choice.chosen?;
    let text = |value: &[u8]| String::from_utf8_lossy(value).into_owned();
    match &selection.mask {
        DeviceMask::None => None,
        DeviceMask::Set(list) => Some(BTreeMap::from([("ROCR_VISIBLE_DEVICES", list.clone())])),
        DeviceMask::Kept(masks) => {
            Some(masks.iter().map(|(name, value)| (*name, text(value))).collect())
        }
    }
}

/// A GPU by itself.
pub(crate) fn device(gpus: &Gpus, gpu: &Gpu) -> DeviceJson {
    let text = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    let thousandths = |value: i64| value as f64 / 1e3;
    let millionths = |value: u64| value as f64 / 1e6;
    DeviceJson {
        rocr_ordinal: gpu.ordinal,
        kfd_node: gpu.node.id,
        card: gpu.card.number.map(|number| format!("card{number}")),
        render: gpu.node.render_minor().map(|minor| format!("renderD{minor}")),
        pci: gpu.pci.map(|pci| pci.to_string()),
        name: text(gpu.card.product.as_str()),
        gfx: gpu.target.map(|target| target.to_string()),
        effective_gfx: gpu.effective.map(|target| target.to_string()),
        integrated: gpu.kind == Kind::Integrated,
        kind: gpu.kind.name(),
        evidence: gpu.evidence.name(),
        uuid: gpu.uuid().map(|uuid| uuid.to_string()),
        vram_total: gpu.vram.total,
        vram_used: gpu.vram.used,
        vram_free: gpu.vram.free(),
        inconsistent: gpu.vram.is_inconsistent() || gpu.gtt.is_inconsistent(),
        gtt_total: gpu.gtt.total,
        gtt_used: gpu.gtt.used,
        unified_free: gpu.unified_free(gpus.available()),
        budget: gpus.budget(gpu),
        partition: gpu.partition.zip(gpu.modes).map(|(part, (compute, memory))| PartitionJson {
            compute: compute.as_str().to_owned(),
            memory: memory.as_str().to_owned(),
            index: part.index,
            of: part.of,
        }),
        suspended: gpu.card.suspended,
        busy_percent: gpu.card.busy,
        temperature_celsius: gpu.card.temperature.map(thousandths),
        power_watts: gpu.card.power.map(millionths),
        power_cap_watts: gpu.card.power_cap.map(millionths),
        access: gpu.access.name(),
    }
}

fn card(other: &OtherCard) -> CardJson {
    let driver = other.card.driver.as_str();
    CardJson {
        card: other.card.number.map(|number| format!("card{number}")),
        vendor: other.card.vendor.map(|vendor| format!("{vendor:#06x}")),
        pci: other.pci().map(|pci| pci.to_string()),
        driver: (!driver.is_empty()).then(|| driver.to_owned()),
    }
}
