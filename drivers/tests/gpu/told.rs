//! What a machine's JSON expects, told from what the library found.

use rocload::gpu::{DeviceMask, Environment, Gpu, Gpus, Policy, Selection};
use serde_json::{Value, json};

fn device(gpu: &Gpu, gpus: &Gpus) -> Value {
    let active = !gpu.card.suspended;
    let mut device = json!({
        "rocr_ordinal": gpu.ordinal,
        "kfd_node": gpu.node.id,
        "card": gpu.card.number.map(|number| format!("card{number}")),
        "render": gpu.node.render_minor().map(|minor| format!("renderD{minor}")),
        "pci": gpu.pci.map(|pci| pci.to_string()),
        "gfx": gpu.target.map(|target| target.to_string()),
        "integrated": gpu.kind == rocload::gpu::Kind::Integrated,
        "uuid": gpu.uuid().map(|uuid| uuid.to_string()),
        "vram_total": gpu.vram.total,
        "vram_used": gpu.vram.used,
        "vram_free": gpu.vram.free(),
        "gtt_total": gpu.gtt.total,
        "gtt_used": gpu.gtt.used,
        "unified_free": gpu.unified_free(gpus.available()),
        "suspended": gpu.card.suspended,
        "busy_percent": gpu.card.busy,
        "temperature_celsius": gpu.card.temperature.filter(|_| active),
        "power_watts": gpu.card.power.filter(|_| active),
    });
    if let (Some(part), Some((compute, memory))) = (gpu.partition, gpu.modes) {
        device["partition"] = json!({
            "compute": compute.as_str(), "memory": memory.as_str(), "index": part.index, "of": part.of,
        });
    }
    device
}

fn chosen(selection: &Selection, gpus: &Gpus) -> Value {
    let ordinals: Vec<_> = selection.chosen(gpus).map(|gpu| gpu.ordinal).collect();
    let why = selection.choice.chosen.map(|chosen| chosen.why.name());
    if ordinals.is_empty() { Value::Null } else { json!({"ordinals": ordinals, "why": why}) }
}

fn environment(selection: &Selection) -> Value {
    match &selection.mask {
        DeviceMask::Set(list) => json!({"ROCR_VISIBLE_DEVICES": list}),
        _ => Value::Null,
    }
}

/// The fields of `expected`.
pub(crate) fn told(gpus: &mut Gpus, environment_given: &Environment) -> Value {
    let one = gpus.select(&Policy::default(), environment_given);
    let all = gpus.select(&Policy { multi: true, ..Policy::default() }, environment_given);
    let rejected = one.rejected(gpus);
    let rejected: Vec<_> =
        rejected.map(|(gpu, why)| json!({"kfd_node": gpu.node.id, "why": why.name()})).collect();
    let skipped = gpus.skipped().map(|node| json!({"kfd_node": node, "why": "unreadable"}));
    let others = gpus.others().iter().map(|other| {
        json!({
            "card": other.card.number.map(|number| format!("card{number}")),
            "vendor": other.card.vendor.map(|vendor| format!("{vendor:#06x}")),
            "pci": other.pci().map(|pci| pci.to_string()),
        })
    });
    json!({
        "devices": gpus.gpus().iter().map(|gpu| device(gpu, gpus)).collect::<Vec<_>>(),
        "chosen": chosen(&one, gpus),
        "chosen_multi": chosen(&all, gpus),
        "env": environment(&one),
        "env_multi": environment(&all),
        "rejected": rejected,
        "skipped": skipped.collect::<Vec<_>>(),
        "other_vendors": others.collect::<Vec<_>>(),
        "error": one.problem.map(rocload::gpu::Problem::name),
    })
}
