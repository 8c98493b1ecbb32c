//! The server's environment, built from a given one: what is removed, set and kept, and why.
//!
//! Inherited variables change a server behind its flags' back: `LLAMA_ARG_CTX_SIZE=512` is a
//! context of 512, and a device mask applies on top of the one that was chosen. So each variable
//! has a [`Fate`].
//!
//! ```
//! use rocload_core::serve::environment::{Devices, Environment, Fate, Why};
//!
//! let environment = Environment { devices: Devices::Chosen("1"), ..Environment::default() };
//! assert_eq!(environment.fate(b"PATH"), Fate::Kept(None));
//! assert_eq!(environment.fate(b"LLAMA_ARG_CTX_SIZE"), Fate::Removed(Why::ServerSetting));
//! assert_eq!(environment.fate(b"HIP_VISIBLE_DEVICES"), Fate::Removed(Why::DeviceMask));
//! let set: Vec<_> = environment.set().collect();
//! assert_eq!((set[0].name, set[0].value), ("ROCR_VISIBLE_DEVICES", "1"));
//! ```
//!
//! Source: llama.cpp's `common/arg.cpp`; AMD's documentation of GPU isolation; ROCr's
//! `amd_filter_device.cpp`.

use core::fmt;

/// The variable that chooses devices.
pub const DEVICES: &str = "ROCR_VISIBLE_DEVICES";
/// A value of [`DEVICES`] that names no device.
pub const NO_DEVICE: &str = "-1";

/// The AMD GPUs that the server may see.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Devices<'s> {
    /// None: the CPU.
    #[default]
    Cpu,
    /// Those of this mask, in the form of `ROCR_VISIBLE_DEVICES`.
    Chosen(&'s str),
    /// Those that the given environment allows: its masks are kept as they are.
    Inherited,
}

/// What the environment is to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Environment<'s> {
    /// The devices.
    pub devices: Devices<'s>,
    /// The key that requests must bear; told by the environment since every user of the machine
    /// can read arguments.
    pub api_key: Option<&'s str>,
}

/// What becomes of a given variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Fate {
    /// It is passed on; with a reason where one might expect otherwise.
    Kept(Option<Why>),
    /// It is not passed on.
    Removed(Why),
    /// It is replaced by one that is [`set`](Environment::set).
    Replaced(Why),
}

impl Fate {
    /// Whether the given value is passed on.
    pub const fn is_kept(self) -> bool {
        matches!(self, Fate::Kept(_))
    }
}

/// The reason for a [`Fate`] or for a variable that is set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Why {
    /// It would be a flag of the server.
    ServerSetting,
    /// It would make the server another kind of server, or part of one.
    ServerMode,
    /// It chooses devices, and they are chosen otherwise.
    DeviceMask,
    /// It chooses devices, and the caller wants just that.
    CallersMask,
    /// It is for the HIP runtime, whose devices are chosen otherwise.
    Hip,
    /// It makes a GPU appear as another one.
    Override,
    /// It is the key of requests.
    ApiKey,
}

impl Why {
    /// A stable name, as `device_mask`.
    pub const fn name(self) -> &'static str {
        match self {
            Why::ServerSetting => "server_setting",
            Why::ServerMode => "server_mode",
            Why::DeviceMask => "device_mask",
            Why::CallersMask => "callers_mask",
            Why::Hip => "hip",
            Why::Override => "override",
            Why::ApiKey => "api_key",
        }
    }
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Why::ServerSetting => "it would change the server's settings",
            Why::ServerMode => "it would make it another kind of server",
            Why::DeviceMask => "it would choose other devices",
            Why::CallersMask => "it chooses the devices, as wished",
            Why::Hip => "it would change how devices are seen",
            Why::Override => "it makes a gpu appear as another one",
            Why::ApiKey => "it is the key that requests must bear",
        })
    }
}

/// A name, or the beginning of one.
enum Form {
    Exactly(&'static str),
    Begins(&'static str),
}

const RULES: &[(Form, Why)] = &[
    (Form::Begins("LLAMA_ARG_"), Why::ServerSetting),
    (Form::Exactly("LLAMA_API_KEY"), Why::ApiKey),
    (Form::Begins("LLAMA_SERVER_"), Why::ServerMode),
    (Form::Exactly("LLAMA_APP_CMD"), Why::ServerMode),
    (Form::Begins("AIP_"), Why::ServerMode),
    (Form::Exactly("ROCR_VISIBLE_DEVICES"), Why::DeviceMask),
    (Form::Exactly("HIP_VISIBLE_DEVICES"), Why::DeviceMask),
    (Form::Exactly("CUDA_VISIBLE_DEVICES"), Why::DeviceMask),
    (Form::Exactly("GPU_DEVICE_ORDINAL"), Why::DeviceMask),
    (Form::Begins("HIP_"), Why::Hip),
    (Form::Begins("HSA_OVERRIDE_GFX_VERSION"), Why::Override),
];

/// A variable that is set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Variable<'s> {
    /// Its name.
    pub name: &'static str,
    /// Its value.
    pub value: &'s str,
    /// Why it is set.
    pub why: Why,
}

impl<'s> Environment<'s> {
    /// What becomes of a variable of the given environment.
    pub fn fate(&self, name: &[u8]) -> Fate {
        let is = |form: &Form| match form {
            Form::Exactly(text) => name == text.as_bytes(),
            Form::Begins(text) => name.starts_with(text.as_bytes()),
        };
        let inherited = self.devices == Devices::Inherited;
        match RULES.iter().find(|(form, _)| is(form)).map(|(_, why)| *why) {
            None => Fate::Kept(None),
            Some(why @ Why::Override) => Fate::Kept(Some(why)),
            Some(Why::DeviceMask | Why::Hip) if inherited => Fate::Kept(Some(Why::CallersMask)),
            Some(why @ Why::DeviceMask) if name == DEVICES.as_bytes() => Fate::Replaced(why),
            Some(why @ Why::ApiKey) if self.api_key.is_some() => Fate::Replaced(why),
            Some(why) => Fate::Removed(why),
        }
    }

    /// The variables that are set, whatever was given.
    pub fn set(&self) -> impl Iterator<Item = Variable<'s>> + use<'s> {
        let mask = match self.devices {
            Devices::Cpu => Some(NO_DEVICE),
            Devices::Chosen(mask) => Some(mask),
            Devices::Inherited => None,
        };
        let devices = mask.map(|value| Variable { name: DEVICES, value, why: Why::DeviceMask });
        let key =
            self.api_key.map(|value| Variable { name: "LLAMA_API_KEY", value, why: Why::ApiKey });
        [devices, key].into_iter().flatten()
    }

    /// The whole environment: what is kept of the given one, then what is set.
    pub fn build<'v, I>(
        &self,
        given: I,
    ) -> impl Iterator<Item = (&'v [u8], &'v [u8])> + use<'s, 'v, I>
    where
        I: IntoIterator<Item = (&'v [u8], &'v [u8])>,
        's: 'v,
    {
        let environment = *self;
        let set = self.set().map(|variable| (variable.name.as_bytes(), variable.value.as_bytes()));
        given.into_iter().filter(move |(name, _)| environment.fate(name).is_kept()).chain(set)
    }
}

/// A variable whose value is not to be shown or logged.
///
/// ```
/// use rocload_core::serve::environment::is_secret;
///
/// assert!(is_secret(b"HF_TOKEN") && is_secret(b"llama_api_key"));
/// assert!(!is_secret(b"PATH"));
/// ```
pub fn is_secret(name: &[u8]) -> bool {
    let has = |word: &[u8]| name.windows(word.len()).any(|part| part.eq_ignore_ascii_case(word));
    [&b"KEY"[..], b"TOKEN", b"SECRET", b"PASS", b"CREDENTIAL"].into_iter().any(has)
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    const GIVEN: &[(&[u8], &[u8])] = &[
        (b"PATH", b"/bin"),
        (b"LLAMA_ARG_CTX_SIZE", b"512"),
        (b"LLAMA_API_KEY", b"theirs"),
        (b"LLAMA_SERVER_ROUTER_PORT", b"1"),
        (b"LLAMA_APP_CMD", b"x"),
        (b"LLAMA_CACHE", b"/c"),
        (b"AIP_MODE", b"PREDICTION"),
        (b"ROCR_VISIBLE_DEVICES", b"3"),
        (b"HIP_VISIBLE_DEVICES", b"1"),
        (b"CUDA_VISIBLE_DEVICES", b"1"),
        (b"GPU_DEVICE_ORDINAL", b"1"),
        (b"HIP_LAUNCH_BLOCKING", b"1"),
        (b"HSA_OVERRIDE_GFX_VERSION", b"11.0.0"),
        (b"\xff", b"\xfe"),
    ];

    fn built<'s>(environment: &Environment<'s>) -> Vec<(&'s [u8], &'s [u8])> {
        environment.build(GIVEN.iter().copied()).collect()
    }

    #[test]
    fn one_mask_and_no_setting_behind_the_back() {
        let environment = Environment { devices: Devices::Chosen("1"), api_key: Some("ours") };
        assert_eq!(
            built(&environment),
            [
                (&b"PATH"[..], &b"/bin"[..]),
                (b"LLAMA_CACHE", b"/c"),
                (b"HSA_OVERRIDE_GFX_VERSION", b"11.0.0"),
                (b"\xff", b"\xfe"),
                (b"ROCR_VISIBLE_DEVICES", b"1"),
                (b"LLAMA_API_KEY", b"ours"),
            ]
        );
        assert_eq!(environment.fate(b"ROCR_VISIBLE_DEVICES"), Fate::Replaced(Why::DeviceMask));
        assert_eq!(environment.fate(b"LLAMA_API_KEY"), Fate::Replaced(Why::ApiKey));
        assert_eq!(
            environment.fate(b"HSA_OVERRIDE_GFX_VERSION_1"),
            Fate::Kept(Some(Why::Override))
        );
    }

    #[test]
    fn without_devices_none_is_seen() {
        let built = built(&Environment::default());
        assert!(built.contains(&(b"ROCR_VISIBLE_DEVICES", b"-1")));
        assert!(
            built.iter().all(|(name, _)| !name.starts_with(b"HIP_") && *name != b"LLAMA_API_KEY")
        );
    }

    #[test]
    fn the_callers_mask_is_kept_as_it_is() {
        let environment = Environment { devices: Devices::Inherited, api_key: None };
        let built = built(&environment);
        for (name, value) in &GIVEN[7..12] {
            assert!(built.contains(&(*name, *value)));
            assert_eq!(environment.fate(name), Fate::Kept(Some(Why::CallersMask)));
        }
        assert_eq!(built.len(), GIVEN.len() - 5);
    }
}
