//! `HSA_OVERRIDE_GFX_VERSION`: a GPU that is to be taken for another one.
//!
//! The value is `major.minor.step`, decimal, exactly three parts, at most 63, 255 and 255. A
//! variable with `_<node>` behind its name is for that KFD node and wins. A value that is none of
//! these makes the runtime's whole scan fail: no device is left.
//!
//! Source: libhsakmt's `topology.c`.

use core::fmt;

use super::Target;
use super::device::Gpu;
use super::number::{decimal, split};
use super::visible::Variables;

/// The variable for all nodes.
pub const NAME: &str = "HSA_OVERRIDE_GFX_VERSION";

/// A value that the runtime would accept.
///
/// ```
/// use rocload_core::gpu::{Target, overrides::Override};
///
/// let told = Override::parse(b"10.3.0").unwrap();
/// assert_eq!(told.target(), Target::parse("gfx1030"));
/// assert_eq!([Override::parse(b"10.3"), Override::parse(b"gfx1030"), Override::parse(b"64.0.0")], [None; 3]);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Override {
    /// At most 63.
    pub major: u8,
    /// At most 255.
    pub minor: u8,
    /// At most 255.
    pub step: u8,
}

impl Override {
    /// Reads a value.
    pub fn parse(value: &[u8]) -> Option<Self> {
        let part = |digits: &[u8], most: u64| {
            let plain = digits.len() <= 10 && digits.iter().all(u8::is_ascii_digit);
            decimal(digits).filter(|value| plain && *value <= most).map(|value| value as u8)
        };
        let (major, rest) = split(value, b'.');
        let (minor, step) = split(rest, b'.');
        Some(Override { major: part(major, 63)?, minor: part(minor, 255)?, step: part(step, 255)? })
    }

    /// The target, if it has a name.
    pub fn target(self) -> Option<Target> {
        Target::from_parts(self.major.into(), self.minor.into(), self.step.into())
    }
}

/// A value that makes the runtime's scan fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct BadOverride {
    /// The node that it was read for.
    pub node: u32,
    /// It is the node's own variable, not the one for all.
    pub own: bool,
}

impl fmt::Display for BadOverride {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(NAME)?;
        if self.own {
            write!(f, "_{}", self.node)?;
        }
        f.write_str(
            " is not major.minor.step, at most 63.255.255: the runtime finds no device with it",
        )
    }
}

impl core::error::Error for BadOverride {}

/// The override that holds for a node.
///
/// # Errors
/// [`BadOverride`].
pub fn of(variables: &Variables<'_>, node: u32) -> Result<Option<Override>, BadOverride> {
    let own = variables.0.iter().rev().find(|(name, _)| {
        let digits = name.strip_prefix(NAME.as_bytes()).and_then(|name| name.strip_prefix(b"_"));
        let plain = |digits: &&[u8]| *digits == b"0" || !digits.starts_with(b"0");
        let digits = digits.filter(plain).filter(|digits| digits.iter().all(u8::is_ascii_digit));
        digits.and_then(decimal) == Some(node.into())
    });
    let value = own.map(|(_, value)| *value).or_else(|| variables.get(NAME));
    let Some(value) = value else { return Ok(None) };
    let own = own.is_some();
    Override::parse(value).map(Some).ok_or(BadOverride { node, own })
}

/// Gives every GPU its [`effective`](Gpu::effective) target. Only GPUs that the runtime sees have
/// their variables read.
///
/// # Errors
/// [`BadOverride`], the first of them; devices after it keep what they had.
pub fn apply(gpus: &mut [Gpu], variables: &Variables<'_>) -> Result<(), BadOverride> {
    for gpu in gpus {
        gpu.effective = gpu.target;
        if gpu.ordinal.is_some()
            && let Some(told) = of(variables, gpu.node.id)?
        {
            gpu.effective = told.target();
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::node::Node;

    #[test]
    fn exactly_three_parts() {
        for wrong in [
            "", "10", "10.3", "10.3.0.0", "10.3.", ".3.0", "10.3.0 ", " 10.3.0", "-1.0.0",
            "10.256.0", "10.0x3.0",
        ] {
            assert_eq!(Override::parse(wrong.as_bytes()), None, "{wrong:?}");
        }
        let far = Override::parse(b"63.255.255").unwrap();
        assert_eq!((far.target(), far.major), (None, 63));
    }

    #[test]
    fn a_nodes_own_variable_wins() {
        let set: &[(&[u8], &[u8])] = &[
            (b"HSA_OVERRIDE_GFX_VERSION", b"11.0.0"),
            (b"HSA_OVERRIDE_GFX_VERSION_2", b"10.3.0"),
            (b"HSA_OVERRIDE_GFX_VERSION_02", b"no"),
            (b"HSA_OVERRIDE_GFX_VERSION_3", b"no"),
        ];
        let target = |node| of(&Variables(set), node).map(|told| told.and_then(Override::target));
        assert_eq!(target(1), Ok(Target::parse("gfx1100")));
        assert_eq!(target(2), Ok(Target::parse("gfx1030")));
        assert_eq!(target(3), Err(BadOverride { node: 3, own: true }));
        // A node that the runtime does not see is not asked for.
        let gpu = |id, ordinal| Gpu { node: Node::new(id), ordinal, ..Gpu::default() };
        let mut gpus = [gpu(1, Some(0)), gpu(3, None)];
        assert_eq!(apply(&mut gpus, &Variables(set)), Ok(()));
        assert_eq!(gpus[0].effective, Target::parse("gfx1100"));
        gpus[1].ordinal = Some(1);
        assert!(apply(&mut gpus, &Variables(set)).is_err());
    }
}
