//! The file that an address of this process was mapped from.

#[cfg(unix)]
use std::ffi::OsStr;
use std::path::PathBuf;

use crate::error::Error;

/// A place in a file that is mapped into memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mapping {
    /// The file's path, as it was when it was mapped.
    pub path: PathBuf,
    /// Offset in the file, in bytes, of what the address shows.
    pub offset: u64,
}

/// The file that holds the code or data at `address` in this process, such as a symbol of a
/// shared library; `None` where no file is mapped there.
///
/// # Errors
/// `/proc/self/maps` cannot be read, as on systems that have none.
pub fn discover_binary_path(address: usize) -> Result<Option<Mapping>, Error> {
    let maps = std::fs::read("/proc/self/maps")
        .map_err(|error| Error::io(error, "reading /proc/self/maps"))?;
    let Some(line) = find(&maps, address as u64) else { return Ok(None) };
    let path = line.names().find(|name| line.is(name)).or_else(|| line.names().last());
    Ok(path.map(|name| Mapping { path: path_of(&name), offset: line.offset }))
}

/// A line of `/proc/self/maps`, for an address on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MapLine<'a> {
    /// Offset in the file, in bytes, of what the address shows.
    pub offset: u64,
    /// Device numbers as the line has them: major, minor.
    pub device: (u64, u64),
    /// The file's inode.
    pub inode: u64,
    /// The path as the line has it: a newline as `\012`, and ` (deleted)` behind the name of a
    /// file that is gone.
    pub name: &'a [u8],
}

/// Finds the line whose range holds `address` and which shows a file.
///
/// ```
/// use rocload::loader::find_mapping;
///
/// let maps = b"7f10-7f20 r-xp 00001000 08:02 17   /usr/lib/liba.so (deleted)\n";
/// let line = find_mapping(maps, 0x7f14).unwrap();
/// assert_eq!((line.offset, line.inode), (0x1004, 17));
/// assert_eq!(line.names().last().unwrap(), b"/usr/lib/liba.so");
/// assert_eq!(find_mapping(maps, 0x7f20), None);
/// ```
pub fn find(maps: &[u8], address: u64) -> Option<MapLine<'_>> {
    maps.split(|&byte| byte == b'\n').filter_map(|line| parse(line, address)).next()
}

fn parse(line: &[u8], address: u64) -> Option<MapLine<'_>> {
    let (range, rest) = word(line)?;
    let (low, high) = halves(range, b'-')?;
    if !(low..high).contains(&address) {
        return None;
    }
    let (_, rest) = word(rest)?;
    let (offset, rest) = word(rest)?;
    let (device, rest) = word(rest)?;
    let (inode, rest) = word(rest)?;
    let name = rest.trim_ascii_start();
    if name.is_empty() || name.starts_with(b"[") {
        return None;
    }
    let offset = number(offset, 16)?.checked_add(address - low)?;
    Some(MapLine { offset, device: halves(device, b':')?, inode: number(inode, 10)?, name })
}

fn word(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let line = line.trim_ascii_start();
    if line.is_empty() {
        return None;
    }
    Some(line.split_at(line.iter().position(|&byte| byte == b' ').unwrap_or(line.len())))
}

fn halves(text: &[u8], by: u8) -> Option<(u64, u64)> {
    let at = text.iter().position(|&byte| byte == by)?;
    Some((number(&text[..at], 16)?, number(&text[at + 1..], 16)?))
}

fn number(text: &[u8], radix: u32) -> Option<u64> {
    u64::from_str_radix(std::str::from_utf8(text).ok()?, radix).ok()
}

impl MapLine<'_> {
    /// What the file's path may be, the likeliest last: a name may itself end in ` (deleted)` or
    /// have what looks like an escape.
    pub fn names(&self) -> impl Iterator<Item = Vec<u8>> {
        let whole = self.name;
        let kept = whole.strip_suffix(b" (deleted)").unwrap_or(whole);
        [whole.to_vec(), unescaped(whole), kept.to_vec(), unescaped(kept)].into_iter()
    }

    #[cfg(unix)]
    fn is(&self, name: &[u8]) -> bool {
        use std::os::unix::fs::MetadataExt;
        std::fs::metadata(path_of(name)).is_ok_and(|meta| meta.ino() == self.inode)
    }

    #[cfg(not(unix))]
    fn is(&self, _name: &[u8]) -> bool {
        false
    }
}

/// Undoes the escapes of three octal digits.
fn unescaped(mut name: &[u8]) -> Vec<u8> {
    let mut path = Vec::with_capacity(name.len());
    while let Some((&byte, rest)) = name.split_first() {
        match rest {
            [a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', after @ ..] if byte == b'\\' => {
                path.push((a - b'0') << 6 | (b - b'0') << 3 | (c - b'0'));
                name = after;
            }
            _ => {
                path.push(byte);
                name = rest;
            }
        }
    }
    path
}

/// A path from its bytes.
#[cfg(unix)]
pub(super) fn path_of(bytes: &[u8]) -> PathBuf {
    use std::os::unix::ffi::OsStrExt;
    PathBuf::from(OsStr::from_bytes(bytes))
}

#[cfg(not(unix))]
pub(super) fn path_of(bytes: &[u8]) -> PathBuf {
    PathBuf::from(String::from_utf8_lossy(bytes).into_owned())
}
