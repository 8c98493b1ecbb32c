//! Flags that are not the caller's to give.

use super::{Fault, Settings};

/// Whose a flag is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owner {
    /// Ours, for this reason.
    Ours(&'static str),
    /// The caller's, unless this setting stands for it.
    Setting(Setting),
}

/// A setting that stands for a flag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Setting {
    /// [`Settings::alias`].
    Alias,
    /// [`Tuning::cpu`](super::Tuning::cpu).
    Cpu,
    /// [`Tuning::layers`](super::Tuning::layers).
    Layers,
    /// [`Tuning::context`](super::Tuning::context).
    Context,
    /// [`Tuning::parallel`](super::Tuning::parallel).
    Parallel,
    /// [`Tuning::unified`](super::Tuning::unified).
    Unified,
    /// [`Tuning::batch`](super::Tuning::batch).
    Batch,
    /// [`Tuning::ubatch`](super::Tuning::ubatch).
    Ubatch,
    /// [`Tuning::threads`](super::Tuning::threads).
    Threads,
    /// [`Tuning::keys`](super::Tuning::keys).
    Keys,
    /// [`Tuning::values`](super::Tuning::values).
    Values,
    /// [`Tuning::flash`](super::Tuning::flash).
    Flash,
    /// [`Tuning::fit_target`](super::Tuning::fit_target).
    FitTarget,
    /// [`Tuning::embeddings`](super::Tuning::embeddings).
    Embeddings,
    /// [`Tuning::metrics`](super::Tuning::metrics).
    Metrics,
    /// [`Tuning::verbosity`](super::Tuning::verbosity).
    Verbosity,
}

impl Setting {
    /// Whether the setting is given.
    pub const fn is_given(self, settings: &Settings<'_>) -> bool {
        let tuning = &settings.tuning;
        match self {
            Setting::Alias => settings.alias.is_some(),
            Setting::Cpu => tuning.cpu,
            Setting::Layers => tuning.layers.is_some(),
            Setting::Context => tuning.context.is_some(),
            Setting::Parallel => tuning.parallel.is_some(),
            Setting::Unified => tuning.unified.is_some(),
            Setting::Batch => tuning.batch.is_some(),
            Setting::Ubatch => tuning.ubatch.is_some(),
            Setting::Threads => tuning.threads.is_some(),
            Setting::Keys => tuning.keys.is_some(),
            Setting::Values => tuning.values.is_some(),
            Setting::Flash => tuning.flash.is_some(),
            Setting::FitTarget => tuning.fit_target.is_some(),
            Setting::Embeddings => tuning.embeddings,
            Setting::Metrics => tuning.metrics,
            Setting::Verbosity => tuning.verbosity.is_some(),
        }
    }
}

/// A flag of the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Flag {
    /// Its names, the usual one first.
    pub names: &'static [&'static str],
    /// Whose it is.
    pub owner: Owner,
}

const MODEL: Owner = Owner::Ours("the model is named otherwise");
const ADDRESS: Owner = Owner::Ours("where the server listens is chosen otherwise");
const SPEECH: Owner = Owner::Ours("the server must speak plain http at its usual paths");
const OUTPUT: Owner = Owner::Ours("the server's output is read, to know its state");
const KEY: Owner = Owner::Ours("the key is given by the environment, where others cannot read it");
const ROUTER: Owner = Owner::Ours("a server of many models is not supervised");
const ENDS: Owner = Owner::Ours("the server would only print something and end");

const fn flag(names: &'static [&'static str], owner: Owner) -> Flag {
    Flag { names, owner }
}

const fn setting(names: &'static [&'static str], setting: Setting) -> Flag {
    Flag { names, owner: Owner::Setting(setting) }
}

/// The flags that are refused, always or beside a setting. All others are passed on.
pub const FLAGS: &[Flag] = &[
    flag(&["--model", "-m"], MODEL),
    flag(&["--model-url", "-mu"], MODEL),
    flag(&["--hf-repo", "-hf", "-hfr"], MODEL),
    flag(&["--hf-file", "-hff"], MODEL),
    flag(&["--docker-repo", "-dr"], MODEL),
    flag(&["--host"], ADDRESS),
    flag(&["--port"], ADDRESS),
    flag(&["--reuse-port"], ADDRESS),
    flag(&["--api-prefix"], SPEECH),
    flag(&["--ssl-key-file"], SPEECH),
    flag(&["--ssl-cert-file"], SPEECH),
    flag(&["--api-key"], KEY),
    flag(&["--api-key-file"], KEY),
    flag(&["--log-disable"], OUTPUT),
    flag(&["--log-file"], OUTPUT),
    flag(&["--log-colors"], OUTPUT),
    flag(&["--models-dir"], ROUTER),
    flag(&["--models-preset"], ROUTER),
    flag(&["--models-max"], ROUTER),
    flag(&["--help", "-h", "--usage"], ENDS),
    flag(&["--version"], ENDS),
    flag(&["--license"], ENDS),
    flag(&["--list-devices"], ENDS),
    flag(&["--cache-list", "-cl"], ENDS),
    flag(&["--completion-bash"], ENDS),
    setting(&["--alias", "-a"], Setting::Alias),
    setting(&["--device", "-dev"], Setting::Cpu),
    setting(&["--n-gpu-layers", "-ngl", "--gpu-layers"], Setting::Layers),
    setting(&["--ctx-size", "-c"], Setting::Context),
    setting(&["--parallel", "-np"], Setting::Parallel),
    setting(&["--kv-unified", "-kvu", "--no-kv-unified", "-no-kvu"], Setting::Unified),
    setting(&["--batch-size", "-b"], Setting::Batch),
    setting(&["--ubatch-size", "-ub"], Setting::Ubatch),
    setting(&["--threads", "-t"], Setting::Threads),
    setting(&["--cache-type-k", "-ctk"], Setting::Keys),
    setting(&["--cache-type-v", "-ctv"], Setting::Values),
    setting(&["--flash-attn", "-fa"], Setting::Flash),
    setting(&["--fit-target", "-fitt"], Setting::FitTarget),
    setting(&["--embeddings", "--embedding"], Setting::Embeddings),
    setting(&["--metrics"], Setting::Metrics),
    setting(
        &["--verbosity", "-lv", "--log-verbosity", "--verbose", "-v", "--log-verbose"],
        Setting::Verbosity,
    ),
];

/// Whether an argument is this flag, in any spelling that the server takes: it reads `_` as `-`.
/// What follows a `=` is no part of a name.
fn is(arg: &[u8], name: &str) -> bool {
    let arg = match arg.iter().position(|byte| *byte == b'=') {
        Some(at) => &arg[..at],
        None => arg,
    };
    let same = |(one, other): (&u8, u8)| *one == other || (*one == b'_' && other == b'-');
    arg.len() == name.len() && arg.iter().zip(name.bytes()).all(same)
}

pub(super) fn check(settings: &Settings<'_>) -> Result<(), Fault> {
    for (index, arg) in settings.extra.iter().enumerate() {
        let Some(found) = FLAGS.iter().find(|flag| flag.names.iter().any(|name| is(arg, name)))
        else {
            continue;
        };
        let flag = found.names[0];
        match found.owner {
            Owner::Ours(why) => return Err(Fault::Owned { flag, index, why }),
            Owner::Setting(setting) if setting.is_given(settings) => {
                return Err(Fault::Twice { flag, index });
            }
            Owner::Setting(_) => {}
        }
    }
    Ok(())
}
