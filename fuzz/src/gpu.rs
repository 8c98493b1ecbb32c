//! Machines and lists of visible devices.

use laws::gpu::{self, Tree};

use crate::{hold, seed};

/// A machine as text (see [`laws::gpu`]): it is scanned and chosen from; its first bytes are a
/// list of visible devices too.
pub fn sysfs(bytes: &[u8]) {
    let bytes = &bytes[..bytes.len().min(64 << 10)];
    hold(gpu::machine(&Tree::parse(bytes), Some(seed(bytes))));
    let list = &bytes[..bytes.len().min(64)];
    let uuids = [Some(0x7), Some(0x70), None, Some(0x7), Some(seed(bytes)), Some(u64::MAX)];
    hold(gpu::visible(list, &uuids));
}
