//! A binary and the device code in it: libraries, programs, objects, and bundles as files.
//!
//! Opening reads headers and wrappers alone. [`Binary::objects`] walks the offload bundles of the
//! file, through compressed ones too; [`Binary::object`] reads one code object;
//! [`Binary::reference`] the metadata that leads to archives. Nothing is ever written.
//!
//! ```
//! use rocload::Binary;
//!
//! let mut bundle = b"__CLANG_OFFLOAD_BUNDLE__\x01\0\0\0\0\0\0\0".to_vec();
//! for number in [88u64, 4, 32] {
//!     bundle.extend_from_slice(&number.to_le_bytes());
//! }
//! bundle.extend_from_slice(b"hipv4-amdgcn-amd-amdhsa--gfx1100code");
//! // A file by path: Binary::open("libblas.so")?; here, bytes in memory.
//! let binary = Binary::from_source(bundle, &Default::default())?;
//! let objects = binary.objects()?;
//! assert_eq!(objects[0].target(), Some(&b"gfx1100"[..]));
//! assert_eq!(binary.object(&objects[0])?, b"code");
//! # Ok::<(), rocload::Error>(())
//! ```

use std::collections::HashMap;
use std::ops::{ControlFlow, Range};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use rocload_core::bundle::{
    Bundles, Ccob, Entry, Format, Part, Section, SectionKind, Sections, WRAPPER_LEN,
    WRAPPER_POINTER, Wrapper, WrapperKind, ccob, identify,
};
use rocload_core::{Cap, End, Error as CoreError, ErrorKind as CoreKind, Limits, Machine, Need};

use crate::archive::Options;
use crate::decoder;
use crate::drive::{self, DriveError, Window};
use crate::error::{Error, ErrorKind};
use crate::file::{FileAt, ReadAt};

/// `e_machine` of AMD GPUs.
const MACHINE_AMDGPU: u16 = 224;
/// Length of the header of a 64-bit ELF file, which is all that names its target.
const ELF_HEADER: usize = 64;
/// Relocations to the load address plus an addend: of x86-64 and of AArch64.
const RELATIVE: [u32; 2] = [8, 1027];
/// Length of a relocation with addend, in bytes.
const RELA: usize = 24;
/// Read at once, in bytes.
const PIECE: usize = 64 << 10;
/// Read ahead at most, in bytes: the machines jump.
const AHEAD: usize = 4 << 10;

const READING: &str = "reading the binary";

/// An open binary.
#[derive(Debug)]
pub struct Binary<R = FileAt> {
    source: R,
    path: Option<PathBuf>,
    limits: Limits,
    total: u64,
    format: Format,
    sections: Vec<Section>,
    wrappers: Vec<Wrapper>,
    /// The compressed bundle that was expanded last.
    last: Mutex<Option<(Ccob, Arc<Vec<u8>>)>>,
}

/// A code object in a binary.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodeObject {
    id: Vec<u8>,
    /// Of a file that is a code object itself: the target in its header.
    header_target: Option<Vec<u8>>,
    size: u64,
    offset: u64,
    bundle: u32,
    co_index: u32,
    compressed: Option<Ccob>,
}

impl CodeObject {
    /// Its id in the bundle, such as `hipv4-amdgcn-amd-amdhsa--gfx90a:xnack-`; empty for a file
    /// that is a code object itself.
    pub fn id(&self) -> &[u8] {
        &self.id
    }

    fn entry(&self) -> Entry<'_> {
        Entry { id: &self.id, offset: self.offset, size: self.size }
    }

    /// It stands for the host, and holds no device code.
    pub fn is_host(&self) -> bool {
        self.entry().is_host()
    }

    /// The target ID at the end of its id; of a file that is a code object itself, the one in its
    /// header, if that names a processor that is known.
    pub fn target(&self) -> Option<&[u8]> {
        self.header_target.as_deref().or_else(|| self.entry().target())
    }

    /// Its length, in bytes.
    pub const fn size(&self) -> u64 {
        self.size
    }

    /// Absolute offset of its first byte: in the file, or in the bundle that is
    /// [compressed](Self::compressed).
    pub const fn offset(&self) -> u64 {
        self.offset
    }

    /// The number of its bundle in the file, from 0.
    pub const fn bundle(&self) -> u32 {
        self.bundle
    }

    /// The number of the wrapper that leads to its bundle, which is that of the translation unit;
    /// where no wrapper does, the bundle's own.
    pub const fn co_index(&self) -> u32 {
        self.co_index
    }

    /// The compressed bundle that it lies in, if it does.
    pub const fn compressed(&self) -> Option<&Ccob> {
        self.compressed.as_ref()
    }
}

impl Binary<FileAt> {
    /// Opens the binary at `path`, with the default limits.
    ///
    /// # Errors
    /// The system's, or what is wrong with its headers.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        Self::open_with(path, &Options::default())
    }

    /// Opens the binary at `path`.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_with(path: impl AsRef<Path>, options: &Options) -> Result<Self, Error> {
        let path = path.as_ref();
        let named = |error: Error| error.with_path(Some(path));
        let source = FileAt::open(path)
            .map_err(|error| named(Error::new(ErrorKind::io(error), "opening the binary")))?;
        let mut binary = Self::from_source(source, options).map_err(named)?;
        binary.path = Some(path.to_path_buf());
        Ok(binary)
    }
}

impl<R: ReadAt> Binary<R> {
    /// Opens the binary that `source` holds.
    ///
    /// # Errors
    /// The source's, or what is wrong with its headers.
    pub fn from_source(source: R, options: &Options) -> Result<Self, Error> {
        let total = source.total().map_err(|error| Error::new(ErrorKind::io(error), READING))?;
        let mut machine = Sections::new(total);
        let mut sections = Vec::new();
        driven(&source, &mut machine, &mut |section| sections.push(section))
            .map_err(|error| explained(error, &source))?;
        let mut binary = Binary {
            source,
            path: None,
            limits: options.limits,
            total,
            format: machine.format(),
            sections,
            wrappers: Vec::new(),
            last: Mutex::default(),
        };
        binary.read_wrappers()?;
        Ok(binary)
    }

    /// What it is.
    pub fn format(&self) -> Format {
        self.format
    }

    /// The path that it was opened by.
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// Its sections that have to do with device code, in the file's order.
    pub fn sections(&self) -> &[Section] {
        &self.sections
    }

    /// Its wrappers, in the order of their numbers, with the addresses that they are relocated to
    /// before the load address is added.
    pub fn wrappers(&self) -> &[Wrapper] {
        &self.wrappers
    }

    /// The device code was split off: a section for it is there, and its content is not.
    pub fn is_split_off(&self) -> bool {
        let code = || self.sections.iter().filter(|section| section.kind == SectionKind::Fatbin);
        code().count() > 0 && code().all(|section| section.nobits)
    }

    fn of(&self, kind: SectionKind) -> impl Iterator<Item = &Section> {
        self.sections.iter().filter(move |section| section.kind == kind && !section.nobits)
    }

    /// The regions of bundles: sections, or the whole of a file that is no binary.
    fn regions(&self) -> Vec<Range<u64>> {
        let range = |section: &Section| section.offset..section.offset + section.size;
        let whole = (self.format == Format::Other).then_some(0..self.total);
        whole.into_iter().chain(self.of(SectionKind::Fatbin).map(range)).collect()
    }

    fn read_wrappers(&mut self) -> Result<(), Error> {
        let sections: Vec<Section> = self.of(SectionKind::Wrappers).copied().collect();
        for section in sections {
            let first = self.wrappers.len();
            let count = section.size / WRAPPER_LEN as u64;
            let (value, limit) = (first as u64 + count, u64::from(self.limits.kernels));
            if value > limit {
                let kind = CoreKind::Limit { cap: Cap::Kernels, value, limit };
                return Err(self.format_error(CoreError::new(kind, section.offset)));
            }
            let mut wrappers = Vec::new();
            self.rows(section.offset, count, |bytes: &[u8; WRAPPER_LEN]| {
                wrappers.push(Wrapper::read(bytes));
            })?;
            self.relocate(&section, &mut wrappers)?;
            self.wrappers.append(&mut wrappers);
        }
        Ok(())
    }

    /// Puts the addends of relocations in place of pointers: what the file has there is ignored
    /// when it is loaded.
    fn relocate(&self, section: &Section, wrappers: &mut [Wrapper]) -> Result<(), Error> {
        for relocations in self.of(SectionKind::Relocations) {
            let count = relocations.size / RELA as u64;
            self.rows(relocations.offset, count, |bytes: &[u8; RELA]| {
                let word = |at: usize| {
                    bytes[at..].first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes))
                };
                let [place, info, addend] = [word(0), word(8), word(16)];
                let Some(at) = place.checked_sub(section.address) else { return };
                let (number, within) = (at / WRAPPER_LEN as u64, at % WRAPPER_LEN as u64);
                if within != WRAPPER_POINTER || !RELATIVE.contains(&(info as u32)) {
                    return;
                }
                let wrapper = usize::try_from(number).ok().and_then(|at| wrappers.get_mut(at));
                if let Some(wrapper) = wrapper {
                    wrapper.pointer = addend;
                }
            })?;
        }
        Ok(())
    }

    /// Shows `count` rows of a table at `offset`.
    fn rows<const N: usize>(
        &self,
        mut offset: u64,
        count: u64,
        mut see: impl FnMut(&[u8; N]),
    ) -> Result<(), Error> {
        let mut left = count * N as u64;
        let most = PIECE / N * N;
        let mut piece = vec![0; most.min(usize::try_from(left).unwrap_or(most))];
        while left > 0 {
            let len = piece.len().min(usize::try_from(left).unwrap_or(most));
            self.read(&mut piece[..len], offset)?;
            piece[..len].as_chunks::<N>().0.iter().for_each(&mut see);
            offset += len as u64;
            left -= len as u64;
        }
        Ok(())
    }

    /// The reference metadata of a translation unit, as far as it may reach; `None` where no
    /// wrapper has that number and leads to metadata.
    ///
    /// # Errors
    /// The source's.
    pub fn reference(&self, co_index: u32) -> Result<Option<Vec<u8>>, Error> {
        let is = |wrapper: &&Wrapper| {
            wrapper.kind == WrapperKind::Reference && wrapper.co_index == co_index
        };
        let Some(wrapper) = self.wrappers.iter().find(is) else { return Ok(None) };
        let place = |section: &Section| {
            let offset = section.offset_of(wrapper.pointer)?;
            Some(offset..section.offset + section.size)
        };
        // Objects are not linked yet: one section can be meant alone.
        let mut all = self.of(SectionKind::Reference);
        let only = match (all.next(), all.next()) {
            (Some(only), None) => Some(only.offset..only.offset + only.size),
            _ => None,
        };
        let Some(place) = self.of(SectionKind::Reference).find_map(place).or(only) else {
            return Ok(None);
        };
        let most = u64::from(self.limits.reference_bytes);
        let mut bytes = self.memory((place.end - place.start).min(most))?;
        self.read(&mut bytes, place.start)?;
        self.unchanged()?;
        Ok(Some(bytes))
    }

    /// The file as the code object that it is. Its header says what it was made for.
    fn alone(&self) -> Result<CodeObject, Error> {
        let mut header = [0; ELF_HEADER];
        let len = header.len().min(usize::try_from(self.total).unwrap_or(header.len()));
        self.read(&mut header[..len], 0)?;
        let target = identify(&header[..len]).target();
        Ok(CodeObject {
            id: Vec::new(),
            header_target: target
                .filter(|target| target.processor().is_some())
                .map(|target| target.to_string().into_bytes()),
            size: self.total,
            offset: 0,
            bundle: 0,
            co_index: 0,
            compressed: None,
        })
    }

    /// The code objects of the file, entries for the host included, in the file's order. What is
    /// compressed is decompressed to be looked into, one bundle at a time.
    ///
    /// # Errors
    /// What is wrong with the bundles, or the source.
    pub fn objects(&self) -> Result<Vec<CodeObject>, Error> {
        if self.format == (Format::Elf { machine: MACHINE_AMDGPU }) {
            return Ok(vec![self.alone()?]);
        }
        let mut objects = Vec::new();
        let numbers = self.numbers();
        let number = |bundle, offset| numbers.get(&offset).copied().unwrap_or(bundle);
        let mut bundles = 0u32;
        for region in self.regions() {
            let mut parts = Vec::new();
            let mut machine = Bundles::new(region.start, region.end - region.start, &self.limits);
            driven(&self.source, &mut machine, &mut |part| parts.push(Kept::of(part)))
                .map_err(|error| self.named(error))?;
            let mut co_index = 0;
            for part in parts {
                match part {
                    Kept::Bundle(offset) => {
                        co_index = number(bundles, offset);
                        bundles += 1;
                    }
                    Kept::Entry { id, offset, size } => {
                        let bundle = bundles.saturating_sub(1);
                        let compressed = None;
                        objects.push(CodeObject {
                            id,
                            header_target: None,
                            size,
                            offset,
                            bundle,
                            co_index,
                            compressed,
                        });
                    }
                    Kept::Ccob(ccob) => {
                        co_index = number(bundles, ccob.offset);
                        self.inside(&ccob, bundles, co_index, &mut objects)?;
                        bundles += 1;
                    }
                }
            }
        }
        self.unchanged()?;
        Ok(objects)
    }

    /// The number of the first wrapper that leads to each place in the sections of code.
    fn numbers(&self) -> HashMap<u64, u32> {
        let mut numbers = HashMap::new();
        for (number, wrapper) in (0u32..).zip(&self.wrappers) {
            let place = |section: &Section| section.offset_of(wrapper.pointer);
            if wrapper.kind == WrapperKind::Fatbin
                && let Some(offset) = self.of(SectionKind::Fatbin).find_map(place)
            {
                numbers.entry(offset).or_insert(number);
            }
        }
        numbers
    }

    fn inside(
        &self,
        ccob: &Ccob,
        bundle: u32,
        co_index: u32,
        objects: &mut Vec<CodeObject>,
    ) -> Result<(), Error> {
        let bytes = self.expanded(ccob)?;
        let mut machine = Bundles::new(0, bytes.len() as u64, &self.limits);
        let mut parts = Vec::new();
        driven(&bytes[..], &mut machine, &mut |part| parts.push(Kept::of(part)))
            .map_err(|error| self.named(error))?;
        for part in parts {
            if let Kept::Entry { id, offset, size } = part {
                let compressed = Some(*ccob);
                objects.push(CodeObject {
                    id,
                    header_target: None,
                    size,
                    offset,
                    bundle,
                    co_index,
                    compressed,
                });
            }
        }
        Ok(())
    }

    /// The bundle inside a compressed one.
    fn expanded(&self, it: &Ccob) -> Result<Arc<Vec<u8>>, Error> {
        let last = || self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((known, bytes)) = &*last()
            && known == it
        {
            return Ok(Arc::clone(bytes));
        }
        // The old one goes before the new one comes.
        *last() = None;
        if it.uncompressed > self.limits.kernel_bytes {
            let (value, limit) = (it.uncompressed, self.limits.kernel_bytes);
            let kind = CoreKind::Limit { cap: Cap::KernelBytes, value, limit };
            return Err(self.format_error(CoreError::new(kind, it.offset)));
        }
        let mut body = self.memory(it.body_size())?;
        self.read(&mut body, it.body())?;
        ccob::check(it, &body, &self.limits).map_err(|error| self.format_error(error))?;
        let mut bytes = self.memory(it.uncompressed)?;
        ccob::expand(it, &body, &mut *decoder::new(), &mut bytes)
            .map_err(|error| self.format_error(error))?;
        let bytes = Arc::new(bytes);
        *last() = Some((*it, Arc::clone(&bytes)));
        Ok(bytes)
    }

    /// A code object of [`objects`](Self::objects).
    ///
    /// # Errors
    /// What is wrong with the compressed bundle that it lies in, a size over
    /// [`Limits::kernel_bytes`], or the source's.
    pub fn object(&self, object: &CodeObject) -> Result<Vec<u8>, Error> {
        if object.size > self.limits.kernel_bytes {
            let (value, limit) = (object.size, self.limits.kernel_bytes);
            let kind = CoreKind::Limit { cap: Cap::KernelBytes, value, limit };
            return Err(self.format_error(CoreError::new(kind, object.offset)));
        }
        let mut bytes = self.memory(object.size)?;
        match &object.compressed {
            None => self.read(&mut bytes, object.offset)?,
            Some(ccob) => {
                let inside = self.expanded(ccob)?;
                let got = inside[..].read_full_at(&mut bytes, object.offset);
                if got.ok() != Some(bytes.len()) {
                    // Not an object of this binary.
                    return Err(self.named(Error::new(ErrorKind::Changed, READING)));
                }
            }
        }
        self.unchanged()?;
        Ok(bytes)
    }

    /// What was read is of the file that was opened, and not of one that was written to since.
    fn unchanged(&self) -> Result<(), Error> {
        match self.source.changed() {
            true => Err(self.named(Error::new(ErrorKind::Changed, READING))),
            false => Ok(()),
        }
    }

    fn memory(&self, bytes: u64) -> Result<Vec<u8>, Error> {
        let refused = || self.named(Error::new(ErrorKind::Memory { bytes }, READING));
        let len = usize::try_from(bytes).map_err(|_| refused())?;
        let mut memory = Vec::new();
        memory.try_reserve_exact(len).map_err(|_| refused())?;
        memory.resize(len, 0);
        Ok(memory)
    }

    fn read(&self, dst: &mut [u8], offset: u64) -> Result<(), Error> {
        let kind = match self.source.read_full_at(dst, offset) {
            Ok(got) if got == dst.len() => return Ok(()),
            // Everything was checked against the file's length.
            Ok(_) => ErrorKind::Changed,
            Err(error) => ErrorKind::io(error),
        };
        Err(self.named(Error::new(kind, READING)))
    }

    fn format_error(&self, error: CoreError) -> Error {
        self.named(Error::new(ErrorKind::Format(error), READING))
    }

    fn named(&self, error: Error) -> Error {
        explained(error, &self.source).with_path(self.path())
    }
}

/// A fault in a file that has changed since it was opened is no fault of the binary.
fn explained<R: ReadAt>(error: Error, source: &R) -> Error {
    match error.kind() {
        ErrorKind::Format(_) if source.changed() => Error::new(ErrorKind::Changed, error.doing()),
        _ => error,
    }
}

/// A part of a region, kept.
enum Kept {
    Bundle(u64),
    Entry { id: Vec<u8>, offset: u64, size: u64 },
    Ccob(Ccob),
}

impl Kept {
    fn of(part: Part<'_>) -> Kept {
        match part {
            Part::Bundle { offset, .. } => Kept::Bundle(offset),
            Part::Entry(entry) => {
                Kept::Entry { id: entry.id.to_vec(), offset: entry.offset, size: entry.size }
            }
            Part::Ccob(ccob) => Kept::Ccob(ccob),
        }
    }
}

/// Drives a machine to its end over a source.
fn driven<R, M>(
    source: &R,
    machine: &mut M,
    see: &mut dyn FnMut(<M::Kind as rocload_core::ItemKind>::Item<'_>),
) -> Result<(), Error>
where
    R: ReadAt + ?Sized,
    M: Machine,
{
    let failed = |kind| Err(Error::new(kind, READING));
    let driven = drive::read_at(source, machine, &mut Window::with_most(AHEAD), |item| {
        see(item);
        ControlFlow::<()>::Continue(())
    });
    match driven {
        Ok(ControlFlow::Continue(End::Pending(_))) => {
            // The walk leads out of the file: it is shorter than its own headers say.
            let total = source.total().unwrap_or_default();
            let (offset, need) = match machine.need() {
                Need::At { offset, min, .. } => (offset, min as u64),
                _ => (total, 0),
            };
            let have = total.saturating_sub(offset);
            failed(ErrorKind::Format(CoreError::new(CoreKind::Truncated { need, have }, offset)))
        }
        Ok(_) => Ok(()),
        Err(DriveError::Io(error)) => failed(ErrorKind::io(error)),
        Err(DriveError::Machine(error)) => failed(ErrorKind::Format(error)),
        Err(stalled) => failed(ErrorKind::Io(std::io::Error::other(stalled))),
    }
}
