//! What a scan asks of its driver: to list a folder, to read a file, to try a device.
//!
//! Every question prints as a path below the root, without a slash in front.
//!
//! ```
//! use rocload_core::gpu::ask::{Ask, File, Folder};
//!
//! assert_eq!(Ask::List(Folder::Nodes).to_string(), "sys/class/kfd/kfd/topology/nodes");
//! assert_eq!(Ask::Read(File::GpuId(1)).to_string(), "sys/class/kfd/kfd/topology/nodes/1/gpu_id");
//! ```

use core::fmt;

/// A question. Answer it by [`Scan::answer`](super::Scan::answer).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Ask {
    /// The names in a folder: [`Scan::entry`](super::Scan::entry) for each, then an empty answer.
    List(Folder),
    /// A file's first [`MAX_FILE`](super::number::MAX_FILE) bytes.
    Read(File),
    /// Whether this process may use a device: open it for reading and writing, and close it.
    Open(DeviceFile),
    /// As `Open` of a card that sleeps, which opening would wake: ask for its permissions alone.
    Permission(DeviceFile),
}

/// Why a question has no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Refusal {
    /// There is no such file (ENOENT, ENOTDIR, ENXIO, ENODEV).
    Missing,
    /// This process may not (EACCES, EPERM).
    Denied,
    /// Another fault of the system.
    Failed,
}

/// A folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Folder {
    /// The nodes of KFD.
    Nodes,
    /// All DRM devices.
    Drm,
    /// The DRM devices of one PCI device.
    Siblings(Dir),
    /// The sensors of a PCI device.
    Sensors(Dir),
}

/// A file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum File {
    /// `/proc/meminfo`.
    MemInfo,
    /// A node's `gpu_id`.
    GpuId(u32),
    /// A node's `properties`.
    Properties(u32),
    /// The properties of a memory bank: node, bank.
    Bank(u32, u32),
    /// A file of a PCI device.
    Card(Dir, Field),
    /// A file of a sensor: device, `hwmon` number.
    Sensor(Dir, u32, Sensor),
}

/// A device file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DeviceFile {
    /// `/dev/kfd`.
    Kfd,
    /// `/dev/dri/renderD<minor>`.
    Render(u32),
}

/// A PCI device's folder, by one of its DRM devices.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Dir {
    /// Of `renderD<minor>`.
    Render(u32),
    /// Of `card<number>`.
    Card(u32),
}

/// Files of a PCI device, in the order in which they are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Field {
    /// Whether the card sleeps. First: reading some others would wake it.
    RuntimeStatus,
    /// PCI vendor.
    Vendor,
    /// PCI device id.
    Device,
    /// Driver and PCI address.
    Uevent,
    /// Boards have it, integrated GPUs do not.
    BoardInfo,
    /// The maker of the memory chips: boards alone.
    VramVendor,
    /// Bytes of video memory.
    VramTotal,
    /// Bytes of it in use.
    VramUsed,
    /// The same again, where the first reading cannot be.
    VramUsedAgain,
    /// Bytes of video memory that the CPU can address.
    VisibleTotal,
    /// Bytes of system memory that the GPU may use.
    GttTotal,
    /// Bytes of it in use: a hint, since some kernels do not count all.
    GttUsed,
    /// The board's name; often empty.
    ProductName,
    /// SPX, DPX, TPX, QPX or CPX.
    ComputePartition,
    /// NPS1 to NPS8.
    MemoryPartition,
    /// Percent of the time that the GPU works. Not of a card that sleeps.
    Busy,
}

impl Field {
    /// All, in reading order.
    pub const ALL: [Field; 16] = [
        Field::RuntimeStatus,
        Field::Vendor,
        Field::Device,
        Field::Uevent,
        Field::BoardInfo,
        Field::VramVendor,
        Field::VramTotal,
        Field::VramUsed,
        Field::VramUsedAgain,
        Field::VisibleTotal,
        Field::GttTotal,
        Field::GttUsed,
        Field::ProductName,
        Field::ComputePartition,
        Field::MemoryPartition,
        Field::Busy,
    ];

    /// The file's name in the device's folder.
    pub const fn name(self) -> &'static str {
        match self {
            Field::RuntimeStatus => "power/runtime_status",
            Field::Vendor => "vendor",
            Field::Device => "device",
            Field::Uevent => "uevent",
            Field::BoardInfo => "board_info",
            Field::VramVendor => "mem_info_vram_vendor",
            Field::VramTotal => "mem_info_vram_total",
            Field::VramUsed | Field::VramUsedAgain => "mem_info_vram_used",
            Field::VisibleTotal => "mem_info_vis_vram_total",
            Field::GttTotal => "mem_info_gtt_total",
            Field::GttUsed => "mem_info_gtt_used",
            Field::ProductName => "product_name",
            Field::ComputePartition => "current_compute_partition",
            Field::MemoryPartition => "current_memory_partition",
            Field::Busy => "gpu_busy_percent",
        }
    }

    /// It changes while the machine runs.
    pub const fn varies(self) -> bool {
        matches!(
            self,
            Field::RuntimeStatus
                | Field::VramUsed
                | Field::VramUsedAgain
                | Field::GttUsed
                | Field::Busy
        )
    }
}

/// Files of a sensor, in the order in which they are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Sensor {
    /// The driver's name.
    Name,
    /// Thousandths of a degree Celsius.
    Temperature,
    /// Microwatts, averaged.
    PowerAverage,
    /// Microwatts now, where no average is told.
    PowerInput,
    /// Microwatts that are allowed.
    PowerCap,
}

impl Sensor {
    /// The file's name in the sensor's folder.
    pub const fn name(self) -> &'static str {
        match self {
            Sensor::Name => "name",
            Sensor::Temperature => "temp1_input",
            Sensor::PowerAverage => "power1_average",
            Sensor::PowerInput => "power1_input",
            Sensor::PowerCap => "power1_cap",
        }
    }
}

impl fmt::Display for Dir {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Dir::Render(minor) => write!(f, "sys/class/drm/renderD{minor}/device"),
            Dir::Card(number) => write!(f, "sys/class/drm/card{number}/device"),
        }
    }
}

const NODES: &str = "sys/class/kfd/kfd/topology/nodes";

impl fmt::Display for Ask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Ask::List(Folder::Nodes) => f.write_str(NODES),
            Ask::List(Folder::Drm) => f.write_str("sys/class/drm"),
            Ask::List(Folder::Siblings(dir)) => write!(f, "{dir}/drm"),
            Ask::List(Folder::Sensors(dir)) => write!(f, "{dir}/hwmon"),
            Ask::Read(File::MemInfo) => f.write_str("proc/meminfo"),
            Ask::Read(File::GpuId(node)) => write!(f, "{NODES}/{node}/gpu_id"),
            Ask::Read(File::Properties(node)) => write!(f, "{NODES}/{node}/properties"),
            Ask::Read(File::Bank(node, bank)) => {
                write!(f, "{NODES}/{node}/mem_banks/{bank}/properties")
            }
            Ask::Read(File::Card(dir, field)) => write!(f, "{dir}/{}", field.name()),
            Ask::Read(File::Sensor(dir, hwmon, sensor)) => {
                write!(f, "{dir}/hwmon/hwmon{hwmon}/{}", sensor.name())
            }
            Ask::Open(device) | Ask::Permission(device) => match device {
                DeviceFile::Kfd => f.write_str("dev/kfd"),
                DeviceFile::Render(minor) => write!(f, "dev/dri/renderD{minor}"),
            },
        }
    }
}
