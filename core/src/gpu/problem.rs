//! Why no GPU can be used at all, as one code.
//!
//! ```
//! use rocload_core::gpu::problem::Problem;
//!
//! assert_eq!(Problem::NoKfd.name(), "NoKfd");
//! assert!(Problem::NoKfd.advice().contains("--device /dev/kfd"));
//! ```

use core::fmt;

use super::device::{Access, Gpu};

/// What stands between a process and the GPUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Problem {
    /// There is no `/dev/kfd`: no amdgpu driver with compute, or a container without it.
    NoKfd,
    /// `/dev/kfd` may not be opened.
    KfdPermission,
    /// `/dev/kfd` cannot be opened for another reason.
    KfdFailed,
    /// KFD tells of no GPU that can be read.
    NoGpu,
    /// The GPUs' render nodes are not there: a container without `/dev/dri`.
    NoDri,
    /// The render nodes may not be opened.
    RenderPermission,
    /// The render nodes cannot be opened for another reason.
    RenderFailed,
    /// A value of `HSA_OVERRIDE_GFX_VERSION` makes the runtime fail.
    BadOverride,
}

impl Problem {
    /// A stable name, as `NoKfd`.
    pub const fn name(self) -> &'static str {
        match self {
            Problem::NoKfd => "NoKfd",
            Problem::KfdPermission => "KfdPermission",
            Problem::KfdFailed => "KfdFailed",
            Problem::NoGpu => "NoGpu",
            Problem::NoDri => "NoDri",
            Problem::RenderPermission => "RenderPermission",
            Problem::RenderFailed => "RenderFailed",
            Problem::BadOverride => "BadOverride",
        }
    }

    /// What to do about it.
    pub const fn advice(self) -> &'static str {
        match self {
            Problem::NoKfd => {
                "load the amdgpu driver, or pass the device to the container: --device /dev/kfd --device /dev/dri"
            }
            Problem::KfdPermission | Problem::RenderPermission => {
                "add the user to the groups render and video, or pass them to the container: --group-add"
            }
            Problem::NoGpu => {
                "the gpu may be older than the driver supports, or hidden from the container"
            }
            Problem::NoDri => "pass the devices to the container: --device /dev/dri",
            Problem::KfdFailed | Problem::RenderFailed => {
                "the kernel's log may tell why: dmesg | grep amdgpu"
            }
            Problem::BadOverride => "unset the variable, or write it as 10.3.0",
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Problem::NoKfd => "there is no /dev/kfd",
            Problem::KfdPermission => "no permission to open /dev/kfd",
            Problem::KfdFailed => "/dev/kfd cannot be opened",
            Problem::NoGpu => "the compute driver tells of no gpu",
            Problem::NoDri => "the gpu's render node in /dev/dri is not there",
            Problem::RenderPermission => "no permission to open the gpu's render node in /dev/dri",
            Problem::RenderFailed => "the gpu's render node in /dev/dri cannot be opened",
            Problem::BadOverride => "a value of HSA_OVERRIDE_GFX_VERSION is malformed",
        })
    }
}

/// The problem, if no GPU can be used; `kfd` is the access to `/dev/kfd`.
pub fn problem(kfd: Access, gpus: &[Gpu]) -> Option<Problem> {
    let any = |access: Access| gpus.iter().any(|gpu| gpu.access == access);
    match kfd {
        Access::Unknown | Access::Missing => Some(Problem::NoKfd),
        Access::Denied => Some(Problem::KfdPermission),
        Access::Failed => Some(Problem::KfdFailed),
        Access::Granted if gpus.is_empty() => Some(Problem::NoGpu),
        Access::Granted if any(Access::Granted) => None,
        Access::Granted if any(Access::Denied) => Some(Problem::RenderPermission),
        Access::Granted if any(Access::Failed) => Some(Problem::RenderFailed),
        Access::Granted => Some(Problem::NoDri),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_access_has_its_problem() {
        let gpu = |access| Gpu { access, ..Gpu::default() };
        let of = |kfd, gpus: &[Gpu]| problem(kfd, gpus).map(Problem::name);
        assert_eq!(of(Access::Missing, &[]), Some("NoKfd"));
        assert_eq!(of(Access::Denied, &[gpu(Access::Denied)]), Some("KfdPermission"));
        assert_eq!(of(Access::Granted, &[]), Some("NoGpu"));
        assert_eq!(of(Access::Granted, &[gpu(Access::Missing)]), Some("NoDri"));
        let denied = [gpu(Access::Missing), gpu(Access::Denied)];
        assert_eq!(of(Access::Granted, &denied), Some("RenderPermission"));
        assert_eq!(of(Access::Granted, &[gpu(Access::Failed)]), Some("RenderFailed"));
        let one = [gpu(Access::Denied), gpu(Access::Granted)];
        assert_eq!(of(Access::Granted, &one), None);
    }
}
