//! Finding the sections of a binary that have to do with device code.
//!
//! [`Sections`] reads the headers of an ELF file, a PE image or a COFF object, and tells which
//! sections hold device code, wrappers, reference metadata or relocations of them. It never looks
//! into a section.
//!
//! ```text
//!   ELF: header --> section 0, if counts do not fit --> names' section --> each section, its name
//!   PE:  "MZ" --> "PE", COFF header --> each section, its long name
//!   COFF: header --> each section, its long name
//!   anything else: Done, with [`Format::Other`]
//! ```
//!
//! ```
//! use rocload_core::bundle::{SectionKind, Sections};
//! use rocload_core::{Machine, Need, visit};
//!
//! // An ELF file of three sections: none, device code that was split off, the names.
//! let mut elf = [0u8; 88 + 3 * 64];
//! elf[..7].copy_from_slice(b"\x7fELF\x02\x01\x01");
//! (elf[16], elf[18], elf[20], elf[40], elf[52]) = (3, 62, 1, 88, 64);
//! (elf[58], elf[60], elf[62]) = (64, 3, 2);
//! elf[64..87].copy_from_slice(b"\0.hip_fatbin\0.shstrtab\0");
//! (elf[152], elf[156], elf[184]) = (1, 8, 40); // .hip_fatbin: NOBITS, 40 bytes
//! (elf[216], elf[220], elf[240], elf[248]) = (13, 3, 64, 23);
//!
//! let mut sections = Sections::new(elf.len() as u64);
//! let mut found = Vec::new();
//! while let Need::At { offset, .. } = sections.need() {
//!     visit(&mut sections, offset, &elf[offset as usize..], |section| found.push(section))?;
//! }
//! assert_eq!((found[0].kind, found[0].size, found[0].nobits), (SectionKind::Fatbin, 40, true));
//! # Ok::<(), rocload_core::Error>(())
//! ```
//!
//! Sources: the System V ABI (read by the crate `elf`); "PE Format" of the Microsoft documents;
//! kpack format, sections 3 and 7, for the names.

use core::fmt;

use elf::endian::{AnyEndian, EndianParse as _};
use elf::file::{
    Class as ElfClass, ELF32_EHDR_TAILSIZE, ELF64_EHDR_TAILSIZE, FileHeader, parse_ident,
};
use elf::parse::ParseAt as _;
use elf::section::SectionHeader;

use super::fault::Fault;
use super::section::{Format, NAME, Section, SectionKind};
use crate::error::{Error, ErrorKind};
use crate::need::{End, ItemKind, Machine, Need, Step};

/// The items of [`Sections`].
#[derive(Debug)]
pub enum SectionsKind {}

impl ItemKind for SectionsKind {
    type Item<'i> = Section;
}

/// The machine. See the module's text.
#[derive(Clone)]
pub struct Sections {
    total: u64,
    format: Format,
    state: State,
    section: Option<Section>,
    failed: Option<Error>,
}

impl fmt::Debug for Sections {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sections").field("format", &self.format).finish_non_exhaustive()
    }
}

#[derive(Clone, Copy)]
enum State {
    Magic,
    ElfIdent,
    ElfTail {
        endian: AnyEndian,
        class: ElfClass,
        os: u8,
        abi: u8,
    },
    /// Section 0, which has the counts that do not fit elsewhere.
    ElfZero {
        table: Table,
        names: u32,
    },
    ElfNames {
        table: Table,
        names: u32,
    },
    ElfHeader {
        table: Table,
        next: u64,
        names: Names,
    },
    ElfName {
        table: Table,
        next: u64,
        names: Names,
        section: Section,
        at: u64,
        len: u64,
    },
    PePointer,
    PeHeader {
        at: u64,
    },
    PeOptional {
        at: u64,
        coff: Coff,
    },
    CoffHeader,
    CoffSection {
        coff: Coff,
        next: u64,
    },
    CoffName {
        coff: Coff,
        next: u64,
        section: Section,
        at: u64,
        len: u64,
    },
    Done,
}

/// A table of ELF section headers.
#[derive(Clone, Copy)]
struct Table {
    endian: AnyEndian,
    class: ElfClass,
    offset: u64,
    count: u64,
}

/// Where names are.
#[derive(Clone, Copy)]
struct Names {
    offset: u64,
    size: u64,
}

/// What a COFF header says.
#[derive(Clone, Copy)]
struct Coff {
    table: u64,
    count: u64,
    /// Where the strings begin, if there are any.
    strings: Option<u64>,
    base: u64,
}

const SHT_RELA: u32 = 4;
const SHT_NOBITS: u32 = 8;
const SHN_XINDEX: u16 = 0xffff;
const COFF_HEADER: u64 = 20;
const COFF_SECTION: u64 = 40;
const COFF_SYMBOL: u64 = 18;
const COFF_X86_64: [u8; 2] = [0x64, 0x86];
const PE_POINTER: u64 = 0x3c;
const PE32_PLUS: u16 = 0x20b;
/// From the optional header's first byte to behind the image base, whichever kind it is.
const OPTIONAL: u64 = 32;

impl Table {
    const fn entry(&self) -> u64 {
        match self.class {
            ElfClass::ELF32 => 40,
            ElfClass::ELF64 => 64,
        }
    }

    const fn header(&self, index: u64) -> u64 {
        // Within the file: checked when the table was found.
        self.offset + index * self.entry()
    }
}

impl Sections {
    /// A walk through a file of `total` bytes.
    pub const fn new(total: u64) -> Sections {
        let state = State::Magic;
        Sections { total, format: Format::Other, state, section: None, failed: None }
    }

    /// What the file is, once its header was read.
    pub const fn format(&self) -> Format {
        self.format
    }

    /// Where the next bytes are, and how many.
    const fn wanted(&self) -> (u64, u64) {
        match self.state {
            State::Magic => (0, 4),
            State::ElfIdent => (0, 16),
            State::ElfTail { class: ElfClass::ELF32, .. } => (16, ELF32_EHDR_TAILSIZE as u64),
            State::ElfTail { class: ElfClass::ELF64, .. } => (16, ELF64_EHDR_TAILSIZE as u64),
            State::ElfZero { table, .. } => (table.offset, table.entry()),
            State::ElfNames { table, names } => (table.header(names as u64), table.entry()),
            State::ElfHeader { table, next, .. } => (table.header(next), table.entry()),
            State::ElfName { at, len, .. } | State::CoffName { at, len, .. } => (at, len),
            State::PePointer => (PE_POINTER, 4),
            State::PeHeader { at } => (at, 4 + COFF_HEADER),
            State::PeOptional { at, .. } => (at, OPTIONAL),
            State::CoffHeader => (0, COFF_HEADER),
            State::CoffSection { coff, next } => (coff.table + next * COFF_SECTION, COFF_SECTION),
            State::Done => (0, 0),
        }
    }

    fn fault<T>(&self, fault: Fault) -> Result<T, Error> {
        Err(Error::new(ErrorKind::Bundle(fault), self.wanted().0))
    }

    fn advance(&mut self, input: &[u8]) -> Result<bool, Error> {
        self.section = None;
        self.state = match self.state {
            State::Magic => match *input {
                [0x7f, b'E', b'L', b'F', ..] => State::ElfIdent,
                [b'M', b'Z', ..] => State::PePointer,
                [a, b, ..] if [a, b] == COFF_X86_64 => State::CoffHeader,
                _ => State::Done,
            },
            State::ElfIdent => match parse_ident::<AnyEndian>(input) {
                Ok((endian, class, os, abi)) => State::ElfTail { endian, class, os, abi },
                Err(_) => return self.fault(Fault::ElfHeader),
            },
            State::ElfTail { endian, class, os, abi } => {
                let Ok(header) = FileHeader::parse_tail((endian, class, os, abi), input) else {
                    return self.fault(Fault::ElfHeader);
                };
                self.elf_header(&header)?
            }
            State::ElfZero { mut table, mut names } => {
                let zero = self.shdr(&table, input)?;
                if table.count == 0 {
                    table.count = zero.sh_size;
                }
                if names == u32::from(SHN_XINDEX) {
                    names = zero.sh_link;
                }
                self.check_table(table.offset, table.count, table.entry())?;
                self.elf_names(table, names)
            }
            State::ElfNames { table, .. } => {
                let names = self.shdr(&table, input)?;
                let end = names.sh_offset.checked_add(names.sh_size);
                // Without names no section can be told from another.
                if names.sh_type == SHT_NOBITS || end.is_none_or(|end| end > self.total) {
                    return self.fault(Fault::SectionRange {
                        start: names.sh_offset,
                        size: names.sh_size,
                        total: self.total,
                    });
                }
                let names = Names { offset: names.sh_offset, size: names.sh_size };
                State::ElfHeader { table, next: 1, names }.elf_next()
            }
            State::ElfHeader { table, next, names } => {
                let header = self.shdr(&table, input)?;
                return self.elf_section(table, next, names, &header);
            }
            State::ElfName { table, next, names, section, .. } => {
                self.state = State::ElfHeader { table, next: next + 1, names }.elf_next();
                return self.named(input, section);
            }
            State::PePointer => {
                let at = u32_at(input, 0).into();
                match self.fits(at, 4 + COFF_HEADER) {
                    true => State::PeHeader { at },
                    // A program for DOS.
                    false => State::Done,
                }
            }
            State::PeHeader { at } => match input.strip_prefix(b"PE\0\0") {
                Some(header) => {
                    self.format = Format::Pe;
                    let optional = at + 4 + COFF_HEADER;
                    let coff = self.coff(header, optional)?;
                    match coff.table - optional {
                        OPTIONAL.. => State::PeOptional { at: optional, coff },
                        _ => State::CoffSection { coff, next: 0 }.coff_next(),
                    }
                }
                None => State::Done,
            },
            State::PeOptional { coff, .. } => {
                let plus = u16_at(input, 0) == PE32_PLUS;
                let low = u64::from(u32_at(input, if plus { 24 } else { 28 }));
                let base = if plus { low | u64::from(u32_at(input, 28)) << 32 } else { low };
                State::CoffSection { coff: Coff { base, ..coff }, next: 0 }.coff_next()
            }
            State::CoffHeader => {
                self.format = Format::Coff;
                let coff = self.coff(input, COFF_HEADER)?;
                State::CoffSection { coff, next: 0 }.coff_next()
            }
            State::CoffSection { coff, next } => return self.coff_section(coff, next, input),
            State::CoffName { coff, next, section, .. } => {
                self.state = State::CoffSection { coff, next: next + 1 }.coff_next();
                return self.named(input, section);
            }
            State::Done => State::Done,
        };
        Ok(false)
    }

    fn fits(&self, at: u64, len: u64) -> bool {
        at.checked_add(len).is_some_and(|end| end <= self.total)
    }

    fn check_table(&self, start: u64, count: u64, entry: u64) -> Result<(), Error> {
        let size = count.checked_mul(entry);
        if size.is_some_and(|size| self.fits(start, size)) {
            return Ok(());
        }
        self.fault(Fault::SectionTable { start, count, total: self.total })
    }

    fn shdr(&self, table: &Table, input: &[u8]) -> Result<SectionHeader, Error> {
        SectionHeader::parse_at(table.endian, table.class, &mut 0, input)
            .or_else(|_| self.fault(Fault::ElfHeader))
    }

    fn elf_header(&mut self, header: &FileHeader<AnyEndian>) -> Result<State, Error> {
        self.format = Format::Elf { machine: header.e_machine };
        if header.e_shoff == 0 {
            return Ok(State::Done);
        }
        let (endian, class) = (header.endianness, header.class);
        let count = u64::from(header.e_shnum);
        let table = Table { endian, class, offset: header.e_shoff, count };
        if u64::from(header.e_shentsize) != table.entry() {
            return self.fault(Fault::SectionTable {
                start: table.offset,
                count,
                total: self.total,
            });
        }
        self.check_table(table.offset, count.max(1), table.entry())?;
        let names = u32::from(header.e_shstrndx);
        Ok(if count == 0 || header.e_shstrndx == SHN_XINDEX {
            State::ElfZero { table, names }
        } else {
            self.elf_names(table, names)
        })
    }

    fn elf_names(&self, table: Table, names: u32) -> State {
        // Sections without names are of no use here.
        if names == 0 || u64::from(names) >= table.count {
            return State::Done;
        }
        State::ElfNames { table, names }
    }

    fn elf_section(
        &mut self,
        table: Table,
        next: u64,
        names: Names,
        header: &SectionHeader,
    ) -> Result<bool, Error> {
        let section = Section {
            kind: SectionKind::Relocations,
            offset: header.sh_offset,
            size: header.sh_size,
            address: header.sh_addr,
            nobits: header.sh_type == SHT_NOBITS,
        };
        let after = State::ElfHeader { table, next: next + 1, names }.elf_next();
        if header.sh_type == SHT_RELA {
            self.state = after;
            if table.class == ElfClass::ELF64 && table.endian.is_little() {
                return self.told(section);
            }
            return Ok(false);
        }
        let name = u64::from(header.sh_name);
        let len = names.size.saturating_sub(name).min(NAME);
        self.state = match len {
            0 => after,
            _ => State::ElfName { table, next, names, section, at: names.offset + name, len },
        };
        Ok(false)
    }

    /// A section whose name is at the front of what was read.
    fn named(&mut self, name: &[u8], section: Section) -> Result<bool, Error> {
        let end = name.iter().position(|&byte| byte == 0).unwrap_or(name.len());
        match SectionKind::of(&name[..end]) {
            Some(kind) => self.told(Section { kind, ..section }),
            None => Ok(false),
        }
    }

    fn told(&mut self, section: Section) -> Result<bool, Error> {
        if !section.nobits && !self.fits(section.offset, section.size) {
            let (start, size) = (section.offset, section.size);
            return self.fault(Fault::SectionRange { start, size, total: self.total });
        }
        self.section = Some(section);
        Ok(true)
    }

    /// A COFF header, behind which an optional one begins at `optional`.
    fn coff(&self, header: &[u8], optional: u64) -> Result<Coff, Error> {
        let count = u64::from(u16_at(header, 2));
        let (symbols, symbol_count) = (u64::from(u32_at(header, 8)), u64::from(u32_at(header, 12)));
        let table = optional + u64::from(u16_at(header, 16));
        self.check_table(table, count, COFF_SECTION)?;
        let strings = (symbols != 0).then(|| symbols + symbol_count * COFF_SYMBOL);
        Ok(Coff { table, count, strings, base: 0 })
    }

    fn coff_section(&mut self, coff: Coff, next: u64, input: &[u8]) -> Result<bool, Error> {
        let [virtual_size, address, raw, offset] =
            [8, 12, 16, 20].map(|at| u64::from(u32_at(input, at)));
        let section = Section {
            kind: SectionKind::Relocations,
            offset,
            // The file's part is padded; an object has no other size.
            size: if virtual_size == 0 { raw } else { virtual_size.min(raw) },
            // A base that no image has leads past every address.
            address: coff.base.saturating_add(address),
            nobits: offset == 0 || raw == 0,
        };
        let name = &input[..8];
        let long = name.strip_prefix(b"/").and_then(decimal);
        self.state = State::CoffSection { coff, next: next + 1 }.coff_next();
        let Some(long) = long else { return self.named(name, section) };
        let at = coff.strings.map(|strings| strings + long);
        if let Some(at) = at.filter(|&at| at < self.total) {
            let len = (self.total - at).min(NAME);
            self.state = State::CoffName { coff, next, section, at, len };
        }
        Ok(false)
    }
}

impl State {
    /// The state, or `Done` behind the last section.
    fn elf_next(self) -> State {
        match self {
            State::ElfHeader { table, next, .. } if next >= table.count => State::Done,
            _ => self,
        }
    }

    fn coff_next(self) -> State {
        match self {
            State::CoffSection { coff, next } if next >= coff.count => State::Done,
            _ => self,
        }
    }
}

/// A decimal number, zeros behind it.
fn decimal(text: &[u8]) -> Option<u64> {
    let end = text.iter().position(|&byte| byte == 0).unwrap_or(text.len());
    core::str::from_utf8(&text[..end]).ok()?.parse().ok()
}

/// Little-endian fields of what has a fixed length, in which `at` lies.
fn u16_at(bytes: &[u8], at: usize) -> u16 {
    bytes[at..].first_chunk().map_or(0, |bytes| u16::from_le_bytes(*bytes))
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    bytes[at..].first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes))
}

impl Machine for Sections {
    type Kind = SectionsKind;

    fn need(&self) -> Need {
        if self.failed.is_some() || matches!(self.state, State::Done) {
            return Need::Done;
        }
        let (offset, len) = self.wanted();
        Need::At { offset, min: usize::try_from(len).unwrap_or(usize::MAX), hint: len }
    }

    fn step(&mut self, offset: u64, input: &[u8]) -> Result<Step, Error> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        let Need::At { offset: wanted, min, .. } = self.need() else { return Ok(Step::WAIT) };
        let result = if offset == wanted {
            match input.get(..min) {
                Some(bytes) => self.advance(bytes).map(|ready| Step { consumed: min, ready }),
                None => return Ok(Step::WAIT),
            }
        } else {
            Err(Error::new(ErrorKind::Offset { wanted, given: offset }, offset))
        };
        result.inspect_err(|error| self.failed = Some(*error))
    }

    fn item<'i>(&'i self, _input: &'i [u8]) -> Section {
        let none = Section {
            kind: SectionKind::Relocations,
            offset: 0,
            size: 0,
            address: 0,
            nobits: true,
        };
        self.section.unwrap_or(none)
    }

    fn end(&mut self) -> Result<End, Error> {
        match (self.failed, self.state) {
            (Some(error), _) => Err(error),
            // What is shorter than a magic is no binary.
            (None, State::Done | State::Magic) => Ok(End::Complete),
            (None, _) => Ok(End::Pending("the headers of a binary")),
        }
    }
}
