//! A DRM device: what the graphics driver tells of a card, and the order in which to ask.
//!
//! ```
//! use rocload_core::gpu::card::Memory;
//!
//! let torn = Memory { total: Some(1000), used: Some(1001) };
//! assert_eq!((torn.free(), torn.is_inconsistent()), (Some(0), true));
//! ```

use super::ask::{Ask, Dir, Field, File, Folder, Refusal, Sensor};
use super::number::{Text, decimal, hex, signed, trim};
use super::pci::{PciAddress, Uevent};

/// An amount of memory and what of it is in use, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Memory {
    /// All of it.
    pub total: Option<u64>,
    /// In use, as it was read: a torn reading may be above the total.
    pub used: Option<u64>,
}

impl Memory {
    /// What is left; nothing where more is in use than there is.
    pub fn free(&self) -> Option<u64> {
        Some(self.total?.saturating_sub(self.used?))
    }

    /// More is in use than there is: the two were not read at one time.
    pub fn is_inconsistent(&self) -> bool {
        matches!((self.total, self.used), (Some(total), Some(used)) if used > total)
    }
}

/// What the folder of a PCI device tells. What is not told is `None`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Card {
    /// Its `card<number>`; partitions and some containers have none.
    pub number: Option<u32>,
    /// PCI vendor, 0x1002 of AMD.
    pub vendor: Option<u32>,
    /// PCI device id.
    pub device: Option<u32>,
    /// Its driver; empty where it is not told.
    pub driver: Text<24>,
    /// Its address.
    pub pci: Option<PciAddress>,
    /// It has `board_info` or `mem_info_vram_vendor`, which only boards have.
    pub board: bool,
    /// It sleeps, and what would wake it was not read.
    pub suspended: bool,
    /// Video memory; of an integrated GPU the part that the firmware carves out.
    pub vram: Memory,
    /// Video memory that the CPU can address, in bytes.
    pub visible: Option<u64>,
    /// System memory that the GPU may use.
    pub gtt: Memory,
    /// The board's name; often empty.
    pub product: Text<64>,
    /// The partition mode of its compute dies; empty where it has none.
    pub compute: Text<8>,
    /// The partition mode of its memory.
    pub memory: Text<8>,
    /// Percent of the time that it works, 0 to 100.
    pub busy: Option<u8>,
    /// Thousandths of a degree Celsius.
    pub temperature: Option<i64>,
    /// Microwatts.
    pub power: Option<u64>,
    /// Microwatts that are allowed.
    pub power_cap: Option<u64>,
    pub(super) sensors: [u32; 4],
    pub(super) sensor_count: u8,
}

impl Card {
    /// Takes the answer for a file of the device's folder.
    pub fn take(&mut self, field: Field, answer: Result<&[u8], Refusal>) {
        let bytes = answer.unwrap_or_default();
        let small = |value: Option<u64>| value.and_then(|value| u32::try_from(value).ok());
        match field {
            Field::RuntimeStatus => self.suspended = trim(bytes) == b"suspended",
            Field::Vendor => self.vendor = small(hex(bytes)),
            Field::Device => self.device = small(hex(bytes)),
            Field::Uevent => {
                let uevent = Uevent::parse(bytes);
                (self.driver, self.pci) = (uevent.driver, uevent.pci);
            }
            Field::BoardInfo | Field::VramVendor => self.board |= answer.is_ok(),
            Field::VramTotal => self.vram.total = decimal(bytes),
            Field::VramUsed | Field::VramUsedAgain => self.vram.used = decimal(bytes),
            Field::VisibleTotal => self.visible = decimal(bytes),
            Field::GttTotal => self.gtt.total = decimal(bytes),
            Field::GttUsed => self.gtt.used = decimal(bytes),
            Field::ProductName => self.product = Text::new(bytes),
            Field::ComputePartition => self.compute = Text::new(bytes),
            Field::MemoryPartition => self.memory = Text::new(bytes),
            Field::Busy => self.busy = decimal(bytes).filter(|busy| *busy <= 100).map(|b| b as u8),
        }
    }

    fn take_sensor(&mut self, sensor: Sensor, answer: Result<&[u8], Refusal>) {
        let bytes = answer.unwrap_or_default();
        match sensor {
            Sensor::Name => {}
            Sensor::Temperature => self.temperature = signed(bytes),
            Sensor::PowerAverage | Sensor::PowerInput => self.power = decimal(bytes),
            Sensor::PowerCap => self.power_cap = decimal(bytes),
        }
    }

    /// A name among its DRM devices or its sensors.
    fn entry(&mut self, folder: Folder, name: &[u8]) {
        match folder {
            Folder::Siblings(_) => {
                if let Some(number) = numbered(name, b"card") {
                    self.number = Some(self.number.map_or(number, |old| old.min(number)));
                }
            }
            Folder::Sensors(_) => {
                let count = usize::from(self.sensor_count);
                if let (Some(number), Some(slot)) =
                    (numbered(name, b"hwmon"), self.sensors.get_mut(count))
                {
                    *slot = number;
                    self.sensor_count += 1;
                    // The order of a folder is the system's: the lowest first.
                    self.sensors[..=count].sort_unstable();
                }
            }
            Folder::Nodes | Folder::Drm => {}
        }
    }
}

/// The number of a name such as `card12`; a leading zero or anything behind it makes it another name.
pub(super) fn numbered(name: &[u8], prefix: &[u8]) -> Option<u32> {
    let digits = name.strip_prefix(prefix)?;
    let plain =
        digits.iter().all(u8::is_ascii_digit) && (digits.len() == 1 || !digits.starts_with(b"0"));
    u32::try_from(decimal(digits).filter(|_| plain)?).ok()
}

/// The questions about one card, one after the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Walk {
    dir: Dir,
    /// Only what varies.
    again: bool,
    at: Place,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Siblings,
    Field(u8),
    Sensors,
    Sensor(u8, Sensor),
    End,
}

impl Walk {
    /// Everything about the card of `dir`.
    pub(super) const fn all(dir: Dir) -> Self {
        Walk { dir, again: false, at: Place::Siblings }
    }

    /// What has changed since.
    pub(super) const fn again(dir: Dir) -> Self {
        Walk { dir, again: true, at: Place::Field(0) }
    }

    /// Who it is alone: vendor, device, driver, address.
    pub(super) const fn identity(dir: Dir) -> Self {
        Walk { dir, again: false, at: Place::Field(1) }
    }

    pub(super) fn ask(&self, card: &Card) -> Option<Ask> {
        let dir = self.dir;
        Some(match self.at {
            Place::Siblings => Ask::List(Folder::Siblings(dir)),
            Place::Field(at) => Ask::Read(File::Card(dir, *Field::ALL.get(usize::from(at))?)),
            Place::Sensors => Ask::List(Folder::Sensors(dir)),
            Place::Sensor(at, sensor) => {
                let number = card.sensors.get(usize::from(at))?;
                Ask::Read(File::Sensor(dir, *number, sensor))
            }
            Place::End => return None,
        })
    }

    pub(super) fn entry(&self, card: &mut Card, name: &[u8]) {
        match self.at {
            Place::Siblings => card.entry(Folder::Siblings(self.dir), name),
            Place::Sensors => card.entry(Folder::Sensors(self.dir), name),
            _ => {}
        }
    }

    pub(super) fn answer(&mut self, card: &mut Card, answer: Result<&[u8], Refusal>) {
        self.at = match self.at {
            Place::Siblings => Place::Field(0),
            Place::Field(at) => {
                if let Some(field) = Field::ALL.get(usize::from(at)) {
                    card.take(*field, answer);
                }
                self.next_field(card, at)
            }
            Place::Sensors => first_sensor(card, 0),
            Place::Sensor(at, Sensor::Name) => match trim(answer.unwrap_or_default()) {
                b"amdgpu" => Place::Sensor(at, Sensor::Temperature),
                _ => first_sensor(card, at + 1),
            },
            Place::Sensor(at, sensor) => {
                card.take_sensor(sensor, answer);
                match sensor {
                    Sensor::Temperature => Place::Sensor(at, Sensor::PowerAverage),
                    Sensor::PowerAverage if card.power.is_none() => {
                        Place::Sensor(at, Sensor::PowerInput)
                    }
                    Sensor::PowerAverage | Sensor::PowerInput if !self.again => {
                        Place::Sensor(at, Sensor::PowerCap)
                    }
                    _ => Place::End,
                }
            }
            Place::End => Place::End,
        };
    }

    fn next_field(&self, card: &mut Card, at: u8) -> Place {
        for next in at + 1.. {
            let Some(field) = Field::ALL.get(usize::from(next)) else { break };
            let wanted = match field {
                Field::VramUsedAgain => card.vram.is_inconsistent(),
                Field::Busy => !card.suspended,
                _ => true,
            };
            if wanted && (field.varies() || !self.again) {
                return Place::Field(next);
            }
        }
        if card.suspended {
            (card.busy, card.temperature, card.power) = (None, None, None);
            return Place::End;
        }
        if self.again && card.sensor_count > 0 {
            first_sensor(card, 0)
        } else {
            card.sensor_count = 0;
            Place::Sensors
        }
    }

    /// The identity of a card is known: the rest is not of interest.
    pub(super) fn knows_identity(&self) -> bool {
        matches!(self.at, Place::Field(at) if Field::ALL.get(usize::from(at)).is_some_and(|f| *f > Field::Uevent))
    }
}

fn first_sensor(card: &Card, at: u8) -> Place {
    if at < card.sensor_count { Place::Sensor(at, Sensor::Name) } else { Place::End }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_numbers() {
        assert_eq!(numbered(b"card0", b"card"), Some(0));
        for wrong in [
            &b"card0-DP-1"[..],
            b"card1-Writeback-1",
            b"card",
            b"card01",
            b"version",
            b"card 1",
            b"card99999999999",
        ] {
            assert_eq!(numbered(wrong, b"card"), None);
        }
    }

    /// Answers every question about a card by `file`; gives them in their order.
    fn walk(
        card: &mut Card,
        walk: Walk,
        file: impl Fn(&str) -> Option<&'static str>,
    ) -> alloc::vec::Vec<alloc::string::String> {
        let (mut walk, mut asked) = (walk, alloc::vec![]);
        while let Some(ask) = walk.ask(card) {
            let path = alloc::format!("{ask}");
            if path.ends_with("/hwmon") {
                walk.entry(card, b"hwmon7");
                walk.entry(card, b"hwmon3");
                walk.entry(card, b"other");
            }
            walk.answer(card, file(&path).map(str::as_bytes).ok_or(Refusal::Missing));
            asked.push(path);
        }
        asked
    }

    #[test]
    fn a_card_that_sleeps_is_not_woken() {
        let mut card = Card { busy: Some(3), temperature: Some(4), ..Card::default() };
        let asked = walk(&mut card, Walk::all(Dir::Render(128)), |path| {
            path.ends_with("runtime_status").then_some("suspended\n")
        });
        assert!(card.suspended && card.busy.is_none() && card.temperature.is_none());
        assert_eq!(asked[1], "sys/class/drm/renderD128/device/power/runtime_status");
        assert!(
            !asked.iter().any(|path| path.contains("hwmon") || path.contains("busy")),
            "{asked:?}"
        );
    }

    #[test]
    fn sensors_are_the_drivers_own_and_a_torn_reading_is_read_again() {
        let mut card = Card::default();
        let file = |path: &str| {
            Some(match path.rsplit_once("device/").unwrap().1 {
                "hwmon/hwmon3/name" => "nvme\n",
                "hwmon/hwmon7/name" => "amdgpu\n",
                "hwmon/hwmon7/temp1_input" => "41000\n",
                "hwmon/hwmon7/power1_input" => "23000000\n",
                "mem_info_vram_total" => "10\n",
                "mem_info_vram_used" => "11\n",
                _ => return None,
            })
        };
        let asked = walk(&mut card, Walk::all(Dir::Card(0)), file);
        let used = asked.iter().filter(|path| path.ends_with("vram_used")).count();
        assert_eq!(used, 2, "{asked:?}");
        assert!(card.vram.is_inconsistent());
        assert_eq!(card.vram.free(), Some(0));
        assert_eq!((card.temperature, card.power), (Some(41_000), Some(23_000_000)));
        // Once more: only what varies.
        let again = walk(&mut card, Walk::again(Dir::Card(0)), file);
        assert!(
            again.len() < 12 && !again.iter().any(|path| path.ends_with("vendor")),
            "{again:?}"
        );
        assert_eq!(card.temperature, Some(41_000));
    }
}
