//! The choice as an environment: `ROCR_VISIBLE_DEVICES` for the process that is to use it.
//!
//! Of all visible-device variables only that one is set, since several of them count in each
//! other's lists and can leave no device at all. A device is named by its UUID where that is
//! only its own; partitions share one, and some devices have none, so these are named by their
//! ordinals. A mask of the caller's is not touched: it is kept as it is and told.

use core::fmt::{self, Write};

use super::choose::{Verdict, chosen};
use super::device::Gpu;
use super::visible::Variables;
use crate::error::Full;

/// What the environment of a process is to say about devices.
///
/// ```
/// use rocload_core::gpu::{self, Access, Gpu, Mask, Node, Variables, Verdict};
///
/// let node = Node { unique_id: Some(0x880e_d647_9d65_3a85), ..Node::new(1) };
/// let gpus = [Gpu { node, access: Access::Granted, ordinal: Some(0), ..Gpu::default() }];
/// let mut text = [0; 64];
/// let mask = gpu::mask(&gpus, &[Verdict::Chosen(0)], &Variables::default(), &mut text);
/// assert_eq!(mask, Ok(Mask::Set("GPU-880ed6479d653a85")));
///
/// let callers = Variables(&[(b"HIP_VISIBLE_DEVICES", b"0")]);
/// assert_eq!(gpu::mask(&gpus, &[Verdict::Chosen(0)], &callers, &mut text), Ok(Mask::Kept));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mask<'m> {
    /// No device is chosen: the CPU works.
    None,
    /// `ROCR_VISIBLE_DEVICES` is to be this, and every other mask to be removed.
    Set(&'m str),
    /// The caller's own masks hold as they are; [`Variables::masks`] tells them.
    Kept,
}

/// Bytes that a mask of so many devices needs at most.
pub const fn room(devices: usize) -> usize {
    devices.saturating_mul(21)
}

/// The mask of a choice, written to the front of `text`; [`room`] bytes are enough.
///
/// # Errors
/// [`Full`] where the text is too short.
pub fn mask<'m>(
    gpus: &[Gpu],
    verdicts: &[Verdict],
    variables: &Variables<'_>,
    text: &'m mut [u8],
) -> Result<Mask<'m>, Full> {
    if variables.masks().next().is_some() {
        return Ok(Mask::Kept);
    }
    let (have, mut count) = (text.len(), 0);
    let mut out = Out { text, len: 0 };
    for gpu in chosen(gpus, verdicts) {
        count += 1;
        let comma = if count > 1 { "," } else { "" };
        let written = match (name(gpu, gpus), gpu.ordinal) {
            (Some(uuid), _) => write!(out, "{comma}{uuid}"),
            (None, Some(ordinal)) => write!(out, "{comma}{ordinal}"),
            (None, None) => continue,
        };
        if written.is_err() {
            return Err(Full { need: room(gpus.len()).max(have + 1) as u64 });
        }
    }
    if count == 0 {
        return Ok(Mask::None);
    }
    let Out { text, len } = out;
    Ok(Mask::Set(text.get(..len).and_then(|text| str::from_utf8(text).ok()).unwrap_or("")))
}

/// The UUID, where it is this device's alone among those that the runtime sees.
fn name(gpu: &Gpu, gpus: &[Gpu]) -> Option<super::Uuid> {
    let uuid = gpu.uuid()?;
    let same = gpus.iter().filter(|other| other.ordinal.is_some() && other.uuid() == Some(uuid));
    (same.count() == 1).then_some(uuid)
}

struct Out<'t> {
    text: &'t mut [u8],
    len: usize,
}

impl Write for Out<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let end = self.len.checked_add(text.len()).ok_or(fmt::Error)?;
        self.text.get_mut(self.len..end).ok_or(fmt::Error)?.copy_from_slice(text.as_bytes());
        self.len = end;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::device::Access;
    use crate::gpu::node::Node;

    fn gpu(id: u32, unique_id: Option<u64>, ordinal: Option<u32>) -> Gpu {
        let node = Node { unique_id, ..Node::new(id) };
        Gpu { node, access: Access::Granted, ordinal, ..Gpu::default() }
    }

    #[test]
    fn a_uuid_that_is_not_unique_is_no_name() {
        let none = Variables::default();
        let gpus = [
            gpu(1, Some(7), Some(0)),
            gpu(2, Some(7), Some(1)),
            gpu(3, Some(8), Some(2)),
            gpu(4, None, Some(3)),
        ];
        let verdicts =
            [Verdict::Chosen(3), Verdict::Chosen(1), Verdict::Chosen(0), Verdict::Chosen(2)];
        let mut text = [0; room(4)];
        let wanted = Mask::Set("GPU-0000000000000008,1,3,0");
        assert_eq!(mask(&gpus, &verdicts, &none, &mut text), Ok(wanted));
        let mut little = [0; 21];
        let short = mask(&gpus, &verdicts, &none, &mut little);
        assert_eq!(short, Err(Full { need: 84 }));
        // The runtime does not see the other one that has it.
        let hidden = [gpu(1, Some(7), Some(0)), gpu(2, Some(7), None)];
        let verdicts = [Verdict::Chosen(0), Verdict::default()];
        let wanted = Mask::Set("GPU-0000000000000007");
        assert_eq!(mask(&hidden, &verdicts, &none, &mut text), Ok(wanted));
        assert_eq!(mask(&hidden, &[Verdict::default(); 2], &none, &mut text), Ok(Mask::None));
    }

    #[test]
    fn the_callers_masks_are_kept() {
        let gpus = [gpu(1, Some(7), Some(0))];
        for (name, value, kept) in [
            (&b"ROCR_VISIBLE_DEVICES"[..], &b""[..], true),
            (b"HIP_VISIBLE_DEVICES", b"", false),
            (b"HIP_VISIBLE_DEVICES", b"0", true),
            (b"GPU_DEVICE_ORDINAL", b"0", true),
            (b"PATH", b"/bin", false),
        ] {
            let set = [(name, value)];
            let mut text = [0; 64];
            let mask = mask(&gpus, &[Verdict::Chosen(0)], &Variables(&set), &mut text);
            assert_eq!(mask == Ok(Mask::Kept), kept, "{set:?}");
        }
    }
}
