//! `rocload gguf fit`: what llama-server will need for a model, and whether that is there.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use rocload::core::gguf::GgmlType;
use rocload::core::gguf::fit::{CACHE_TYPES, Law, Need, Settings, Unknown, Verdict};
use rocload::model::Options;
use serde::Serialize;

use super::input::{self, Input};
use super::judge;
use crate::device::Where;
use crate::failure::{Failure, Status, printable_path};
use crate::text;
use crate::ui::{BAD, FAINT, GOOD, STRONG, Ui};

/// Tell how much memory llama-server needs for a model, and whether it fits
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  rocload gguf fit model.gguf --vram 24G
  rocload gguf fit model.gguf --ctx 32768 --parallel 4 --cache-type q8_0 --vram 16G
  rocload gguf fit --check --vram 8G model.gguf || echo too large

Weights, KV cache and output are exact, by the server's own rounding; compute is an estimate, given
with its range. What is not known of an architecture is \"unknown\", never a number. Without --vram
the budget is the free memory of the GPU that `rocload gpu` chooses, or the system's where there is
none. Exit status 0; with --check 1 when it does not fit.")]
pub(super) struct Fit {
    /// Models; - is a header on standard input
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    #[command(flatten)]
    settings: Wishes,
    #[command(flatten)]
    budget: Budget,
    /// Fail unless the model fits as asked
    #[arg(long)]
    check: bool,
}

/// How the server is to be started.
#[derive(Debug, Args)]
pub(super) struct Wishes {
    /// Tokens of context over all sequences (-c); default: what the model was trained with
    #[arg(long, short = 'c', value_name = "N", default_value_t = 0, hide_default_value = true)]
    #[arg(allow_negative_numbers = true)]
    ctx: u32,
    /// Sequences at once (-np); default: 4 that share one cache
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=256))]
    parallel: Option<u32>,
    /// Sequences share one cache (-kvu)
    #[arg(long, conflicts_with = "no_kv_unified")]
    kv_unified: bool,
    /// Each sequence has a cache of its own (-no-kvu)
    #[arg(long)]
    no_kv_unified: bool,
    /// Tokens of a batch (-b)
    #[arg(long, value_name = "N", default_value_t = 2048, value_parser = clap::value_parser!(u32).range(1..))]
    batch: u32,
    /// Tokens of a micro-batch (-ub)
    #[arg(long, value_name = "N", default_value_t = 512, value_parser = clap::value_parser!(u32).range(1..))]
    ubatch: u32,
    /// Type of cached keys and values: f32, f16, bf16, q8_0, q4_0, q4_1, iq4_nl, q5_0 or q5_1
    #[arg(long, value_name = "TYPE", value_parser = cache_type)]
    cache_type: Option<GgmlType>,
    /// Type of cached keys (-ctk)
    #[arg(long, value_name = "TYPE", value_parser = cache_type, conflicts_with = "cache_type")]
    cache_type_k: Option<GgmlType>,
    /// Type of cached values (-ctv)
    #[arg(long, value_name = "TYPE", value_parser = cache_type, conflicts_with = "cache_type")]
    cache_type_v: Option<GgmlType>,
    /// Layers with a sliding window keep every token (--swa-full)
    #[arg(long)]
    swa_full: bool,
    /// Without flash attention (-fa off)
    #[arg(long)]
    no_flash_attn: bool,
}

fn cache_type(name: &str) -> Result<GgmlType, String> {
    let found = GgmlType::from_name(name).filter(|ty| CACHE_TYPES.contains(ty));
    found.ok_or_else(|| {
        let names: Vec<_> = CACHE_TYPES.into_iter().filter_map(GgmlType::name).collect();
        format!("llama-server keeps its cache as one of {}", names.join(", "))
    })
}

impl Wishes {
    pub(super) fn settings(&self, margin: u64) -> Settings {
        let unified = match (self.kv_unified, self.no_kv_unified) {
            (true, _) => Some(true),
            (_, true) => Some(false),
            _ => None,
        };
        let of = |own: Option<GgmlType>| own.or(self.cache_type).unwrap_or(GgmlType::F16);
        Settings {
            context: self.ctx,
            parallel: self.parallel,
            unified,
            batch: self.batch,
            ubatch: self.ubatch,
            keys: of(self.cache_type_k),
            values: of(self.cache_type_v),
            swa_full: self.swa_full,
            flash: !self.no_flash_attn,
            margin,
        }
    }
}

/// The memory that there is.
#[derive(Debug, Args)]
pub(super) struct Budget {
    /// Free memory of the device, such as 24G; default: that of the GPU, or else the system's
    #[arg(long, value_name = "SIZE", value_parser = text::parse_size)]
    vram: Option<u64>,
    /// Memory to leave free
    #[arg(long, value_name = "SIZE", value_parser = text::parse_size, default_value = "1G")]
    pub(super) margin: u64,
    #[command(flatten)]
    place: Where,
}

impl Budget {
    /// Bytes, and what they are called; `None` where the chosen GPU, or the system without one,
    /// does not tell.
    ///
    /// # Errors
    /// Where GPUs are to be looked for in a place that is none.
    pub(super) fn bytes(&self) -> Result<Option<(u64, String)>, Failure> {
        match self.vram {
            Some(bytes) => Ok(Some((bytes, "vram".into()))),
            None => self.place.budget(),
        }
    }
}

/// The failure where nothing tells a budget.
pub(super) fn no_budget() -> Failure {
    let text = "neither a gpu that could be chosen nor the system tells its free memory";
    Failure::new(Status::Failed, "no_budget", text).hint("give --vram")
}

/// A verdict in a word, for programs.
pub(super) fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Fits => "fits",
        Verdict::FitsWithCtx(_) => "fits_with_ctx",
        Verdict::DoesNotFit => "does_not_fit",
        Verdict::Unknown(_) => "unknown",
    }
}

impl Fit {
    pub(super) fn run(self, ui: &mut Ui) {
        let settings = self.settings.settings(self.budget.margin);
        let budget = match self.budget.bytes() {
            Ok(Some(budget)) => budget,
            Ok(None) => return ui.fail(&no_budget()),
            Err(failure) => return ui.fail(&failure),
        };
        let budget = (budget.0, budget.1.as_str());
        for path in input::expand(ui, &self.files) {
            if ui.is_closed() {
                return;
            }
            match input::open(&path, &Options::default())
                .and_then(|input| answer(&input, &settings, budget))
            {
                Ok(answer) => {
                    if self.check && answer.verdict != Verdict::Fits {
                        ui.note(Status::Failed);
                    }
                    if ui.json {
                        ui.json_line(&answer.json(&path, budget));
                    } else {
                        answer.print(ui, &path, budget);
                    }
                }
                Err(failure) => ui.fail(&failure),
            }
        }
    }
}

struct Answer {
    verdict: Verdict,
    need: Option<Need>,
    why: Option<Unknown>,
    largest: Option<u64>,
}

fn answer(input: &Input, settings: &Settings, budget: (u64, &str)) -> Result<Answer, Failure> {
    let set = judge::set(input)?;
    if let Some(failure) = set.as_ref().and_then(|set| set.failures.first()) {
        return Err(failure.clone());
    }
    let facts = input.model.facts();
    let law = facts.fit(settings, set.map(|set| set.weights));
    let need = law.and_then(|law: Law| law.need().map(|need| (law, need)));
    Ok(match need {
        Ok((law, need)) => {
            let verdict = law.verdict(budget.0);
            let why = match verdict {
                Verdict::Unknown(why) => Some(why),
                _ => None,
            };
            Answer { verdict, need: Some(need), why, largest: law.largest_context(budget.0) }
        }
        Err(why) => {
            Answer { verdict: Verdict::Unknown(why), need: None, why: Some(why), largest: None }
        }
    })
}

#[derive(Serialize)]
struct FitJson<'a> {
    file: std::borrow::Cow<'a, str>,
    verdict: &'static str,
    why: Option<String>,
    budget: u64,
    budget_of: &'a str,
    margin: Option<u64>,
    context: Option<u64>,
    context_per_sequence: Option<u64>,
    parallel: Option<u32>,
    weights: Option<u64>,
    kv: Option<u64>,
    kv_windowed: Option<u64>,
    output: Option<u64>,
    compute: Option<EstimateJson>,
    total: Option<u64>,
    largest_context: Option<u64>,
}

#[derive(Serialize)]
struct EstimateJson {
    low: u64,
    likely: u64,
    high: u64,
}

impl Answer {
    fn json<'a>(&self, path: &'a Path, budget: (u64, &'a str)) -> FitJson<'a> {
        let need = self.need;
        FitJson {
            file: path.to_string_lossy(),
            verdict: word(self.verdict),
            why: self.why.map(|why| why.to_string()),
            budget: budget.0,
            budget_of: budget.1,
            margin: need.map(|need| need.margin),
            context: need.map(|need| need.context),
            context_per_sequence: need.map(|need| need.per_sequence),
            parallel: need.map(|need| need.parallel),
            weights: need.map(|need| need.weights),
            kv: need.map(|need| need.kv),
            kv_windowed: need.map(|need| need.kv_windowed),
            output: need.map(|need| need.output),
            compute: need.and_then(|need| need.compute).map(|compute| EstimateJson {
                low: compute.low,
                likely: compute.likely,
                high: compute.high,
            }),
            total: need.map(|need| need.likely()),
            largest_context: self.largest,
        }
    }

    fn print(&self, ui: &mut Ui, path: &Path, (budget, of): (u64, &str)) {
        let out = ui.out();
        let _ = writeln!(out, "{STRONG}{}{STRONG:#}", printable_path(path));
        let mut line = |key: &str, value: String| {
            let _ = writeln!(out, "  {FAINT}{key:<9}{FAINT:#}  {value}");
        };
        if let Some(need) = self.need {
            let tokens = text::count(need.context, "token", "tokens");
            line(
                "context",
                match need.parallel {
                    1 => tokens,
                    n if need.per_sequence == need.context => {
                        format!("{tokens}, which {n} sequences share")
                    }
                    n => format!(
                        "{tokens}, {} for each of {n} sequences",
                        text::number(need.per_sequence)
                    ),
                },
            );
            line("weights", text::size(need.weights));
            let windowed = match need.kv_windowed {
                0 => String::new(),
                bytes => format!(", of it {} in layers with a window", text::size(bytes)),
            };
            line("kv cache", text::size(need.kv) + &windowed);
            line("output", text::size(need.output));
            line(
                "compute",
                match need.compute {
                    None => "unknown without flash attention".into(),
                    Some(range) => format!(
                        "about {}, an estimate: {} to {}",
                        text::size(range.likely),
                        text::size(range.low),
                        text::size(range.high)
                    ),
                },
            );
            line("margin", text::size(need.margin));
            line(
                "total",
                format!("about {} of {} {of}", text::size(need.likely()), text::size(budget)),
            );
        }
        line(
            "verdict",
            match self.verdict {
                Verdict::Fits => format!("{GOOD}fits{GOOD:#}"),
                Verdict::FitsWithCtx(context) => {
                    format!("fits with a context of {} at most", text::number(context))
                }
                Verdict::DoesNotFit => format!("{BAD}does not fit{BAD:#}"),
                Verdict::Unknown(why) => format!("unknown: {why}"),
            },
        );
    }
}
