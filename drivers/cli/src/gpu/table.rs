//! The GPUs of a machine for people.

use std::io::Write;

use rocload::error::printable;
use rocload::gpu::{DeviceMask, Gpu, Gpus, OtherCard, Selection, Verdict};

use crate::text;
use crate::ui::{BAD, FAINT, GOOD, STRONG, TYPED, Ui};

/// Cells of a bar.
const BAR: u64 = 10;

/// How full something is.
pub(super) fn bar(used: u64, total: u64) -> String {
    let full = match total {
        0 => 0,
        // Rounded, and something in use is seen.
        _ => {
            let cells =
                (u128::from(used) * u128::from(BAR) + u128::from(total / 2)) / u128::from(total);
            (cells as u64).clamp(u64::from(used > 0), BAR)
        }
    };
    format!("[{}{}]", "#".repeat(full as usize), ".".repeat((BAR - full) as usize))
}

/// Memory in use and in all, with a bar where both are known.
pub(super) fn memory(memory: &rocload::core::gpu::Memory) -> String {
    match (memory.used, memory.total) {
        (Some(used), Some(total)) => {
            let shown = bar(used, total);
            format!("{shown} {:>8} of {:>8}", text::size(used), text::size(total))
        }
        (None, Some(total)) => format!("{:12} {:>8} of {:>8}", "", "?", text::size(total)),
        _ => format!("{:12} {:>8}", "", "unknown"),
    }
}

const HEADS: [&str; 8] = ["GPU", "TARGET", "KIND", "VRAM", "GTT", "BUSY", "TEMP", "POWER"];

fn cells(gpu: &Gpu) -> [String; 8] {
    let or = |text: Option<String>, other: &str| text.unwrap_or_else(|| other.into());
    let idle = if gpu.card.suspended { "asleep" } else { "-" };
    [
        or(gpu.ordinal.map(|ordinal| ordinal.to_string()), "-"),
        or(gpu.target.map(|target| target.to_string()), "unknown"),
        gpu.kind.name().into(),
        memory(&gpu.vram),
        or(gpu.gtt.used.map(text::size), "-"),
        or(gpu.card.busy.map(|busy| format!("{busy} %")), idle),
        or(gpu.card.temperature.map(|milli| format!("{} C", milli / 1000)), "-"),
        or(gpu.card.power.map(|micro| format!("{} W", micro / 1_000_000)), "-"),
    ]
}

/// Where a GPU is and what else is known of it, in a line.
fn about(gpu: &Gpu) -> String {
    let mut parts = Vec::new();
    parts.extend(gpu.node.render_minor().map(|minor| format!("renderD{minor}")));
    parts.extend(gpu.pci.map(|pci| pci.to_string()));
    if !gpu.card.product.is_empty() {
        parts.push(gpu.card.product.as_str().into());
    }
    if let (Some(part), Some((compute, memory))) = (gpu.partition, gpu.modes)
        && part.of > 1
    {
        let (compute, memory) = (compute.as_str(), memory.as_str());
        parts.push(format!("part {} of {} ({compute} {memory})", part.index + 1, part.of));
    }
    if gpu.effective != gpu.target {
        let taken =
            gpu.effective.map_or_else(|| "no known target".into(), |target| target.to_string());
        parts.push(format!("taken for {taken} (HSA_OVERRIDE_GFX_VERSION)"));
    }
    if gpu.vram.is_inconsistent() {
        parts.push("more memory in use than there is: read while it changed".into());
    }
    parts.join(", ")
}

/// A card that is no GPU of KFD's, in a line.
fn other_line(other: &OtherCard) -> String {
    let driver = other.card.driver.as_str();
    let vendor = match other.card.vendor {
        Some(0x1002) => "AMD card that the compute driver does not know".to_owned(),
        Some(0x10de) => "NVIDIA card".into(),
        Some(0x8086) => "Intel card".into(),
        Some(vendor) => format!("card of vendor {vendor:#06x}"),
        None => "card".into(),
    };
    let place = other.pci().map(|pci| format!(", {pci}")).unwrap_or_default();
    let driver = if driver.is_empty() { String::new() } else { format!(", driver {driver}") };
    format!("card{}: {vendor}{place}{driver}", other.card.number.unwrap_or(0))
}

/// Why there is no choice, for people: one line, and what to do.
pub(crate) fn no_choice(gpus: &Gpus, selection: &Selection) -> (String, Option<&'static str>) {
    match selection.problem {
        Some(problem) if gpus.gpus().is_empty() => {
            (format!("no AMD GPU: {problem}"), Some(problem.advice()))
        }
        Some(problem) => (format!("no AMD GPU can be used: {problem}"), Some(problem.advice())),
        None => ("no AMD GPU is chosen: see the reasons".into(), None),
    }
}

pub(super) fn print(ui: &mut Ui, gpus: &Gpus, selection: &Selection) {
    let (quiet, verbose) = (ui.quiet, ui.verbose);
    let out = ui.out();
    let rows: Vec<[String; 8]> = gpus.gpus().iter().map(cells).collect();
    let mut widths = HEADS.map(str::len);
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let line = |cells: [&str; 8]| {
        let padded = cells.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}"));
        padded.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    if !quiet && !rows.is_empty() {
        let _ = writeln!(out, "{FAINT}{}{FAINT:#}", line(HEADS));
    }
    let why = selection.choice.chosen.map_or("", |chosen| chosen.why.text());
    for ((gpu, row), verdict) in gpus.gpus().iter().zip(&rows).zip(&selection.verdicts) {
        let text = line(row.each_ref().map(String::as_str));
        let (style, verdict) = match verdict {
            Verdict::Chosen(_) => (GOOD, format!("chosen: {why}")),
            Verdict::Rejected(reason) => (FAINT, format!("not chosen: {}", reason.text())),
        };
        let strong = if style == GOOD { STRONG } else { anstyle::Style::new() };
        let _ = writeln!(out, "{strong}{text}{strong:#}");
        let _ = writeln!(out, "     {style}{verdict}{style:#}{FAINT} ({}){FAINT:#}", about(gpu));
        if verbose {
            let node = gpu.node.id;
            let (evidence, access) = (gpu.evidence.name(), gpu.access.name());
            let uuid = gpu.uuid().map_or_else(|| "none".into(), |uuid| uuid.to_string());
            let budget = gpus.budget(gpu).map_or_else(|| "unknown".into(), text::size);
            let _ = writeln!(
                out,
                "     {FAINT}node {node}, uuid {uuid}, kind by {evidence}, access {access}, budget {budget}{FAINT:#}"
            );
        }
    }
    for node in gpus.skipped() {
        let _ = writeln!(
            out,
            "{FAINT}node {node}: its files cannot be read, so the runtime passes over it{FAINT:#}"
        );
    }
    for other in gpus.others() {
        let _ = writeln!(out, "{FAINT}{}{FAINT:#}", other_line(other));
    }
    if selection.choice.chosen.is_none() {
        let (text, advice) = no_choice(gpus, selection);
        let _ = writeln!(out, "{BAD}{text}{BAD:#}");
        if let Some(bad) = gpus.bad_override() {
            let _ = writeln!(out, "{bad}");
        }
        if let Some(advice) = advice.filter(|_| !quiet) {
            let _ = writeln!(out, "{FAINT}hint:{FAINT:#} {advice}");
        }
    }
    match &selection.mask {
        DeviceMask::Set(list) if !quiet => {
            let _ = writeln!(out, "{TYPED}ROCR_VISIBLE_DEVICES={list}{TYPED:#}");
        }
        DeviceMask::Kept(masks) => {
            for (name, value) in masks {
                let _ =
                    writeln!(out, "{TYPED}{name}={}{TYPED:#} is set, and kept", printable(value));
            }
            for end in [selection.choice.rocr, selection.choice.layer].into_iter().flatten() {
                if end != rocload::core::gpu::visible::End::Complete {
                    let _ = writeln!(out, "{FAINT}{end}{FAINT:#}");
                }
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::bar;

    #[test]
    fn bars_show_what_is_there() {
        assert_eq!(bar(0, 100), "[..........]");
        assert_eq!(bar(1, 100), "[#.........]");
        assert_eq!(bar(55, 100), "[######....]");
        assert_eq!(bar(100, 100), "[##########]");
        assert_eq!(bar(u64::MAX, 1), "[##########]");
        assert_eq!(bar(5, 0), "[..........]");
        assert_eq!(bar(u64::MAX, u64::MAX), "[##########]");
    }
}
