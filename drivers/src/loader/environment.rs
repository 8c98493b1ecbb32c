//! What the environment says of kernel archives.

use std::ffi::{OsStr, OsString};

/// The variables that a loader heeds, as they were when it was made.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Environment {
    /// `ROCM_KPACK_PATH`: a list of archives that replaces all others. Empty: unset.
    pub path: Vec<u8>,
    /// `ROCM_KPACK_PATH_PREFIX`: a list of archives that goes before the embedded paths.
    pub prefix: Vec<u8>,
    /// `ROCM_KPACK_DISABLE`: no archive is searched.
    pub disable: bool,
    /// `ROCM_KPACK_DEBUG`: whoever calls may tell what was tried. The loader itself is silent.
    pub debug: bool,
}

impl Environment {
    /// The process's own, read now.
    pub fn from_process() -> Environment {
        Environment::from_vars(|name| std::env::var_os(name))
    }

    /// From values by name. A flag is on when it is set, not empty, and does not begin with `0`.
    ///
    /// ```
    /// use rocload::loader::Environment;
    ///
    /// let of = |value: &'static str| {
    ///     Environment::from_vars(|name| (name == "ROCM_KPACK_DISABLE").then(|| value.into()))
    /// };
    /// assert!(of("1").disable && of("no").disable);
    /// assert!(!of("").disable && !of("0").disable && !of("00").disable);
    /// ```
    pub fn from_vars(get: impl Fn(&str) -> Option<OsString>) -> Environment {
        let bytes = |name| get(name).map(OsString::into_encoded_bytes).unwrap_or_default();
        let flag = |name| {
            !matches!(
                get(name).as_deref().map(OsStr::as_encoded_bytes),
                None | Some([] | [b'0', ..])
            )
        };
        Environment {
            path: bytes("ROCM_KPACK_PATH"),
            prefix: bytes("ROCM_KPACK_PATH_PREFIX"),
            disable: flag("ROCM_KPACK_DISABLE"),
            debug: flag("ROCM_KPACK_DEBUG"),
        }
    }
}
