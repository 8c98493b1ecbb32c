//! Machines and lists of visible devices.

use laws::gpu::{self, Tree};

use crate::{hold, seed};

/// A machine as text (see [`laws::gpu`]): it is scanned and chosen from.
pub fn sysfs(bytes: &[u8]) {
    let bytes = &bytes[..bytes.len().min(64 << 10)];
    hold(gpu::machine(&Tree::parse(bytes), Some(seed(bytes))));
}

/// A byte that chooses the devices, and a list of visible ones.
pub fn visible_devices(bytes: &[u8]) {
    let Some((how, list)) = bytes.split_first() else { return };
    let all = [Some(0x7), Some(0x70), None, Some(0x7), Some(0x1f2e_3d4c_5b6a_7988), Some(u64::MAX)];
    let first = usize::from(how % 6);
    let uuids = &all[first..][..usize::from(how / 6) % (all.len() - first + 1)];
    hold(gpu::visible(&list[..list.len().min(200)], uuids));
}
