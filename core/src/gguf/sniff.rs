//! What a file is that is no GGUF: told from its first bytes, so that an error can name it.
//!
//! ```
//! use rocload_core::gguf::sniff::{Kind, sniff};
//!
//! let pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 4\n";
//! let kind = sniff(pointer);
//! assert_eq!(kind, Kind::LfsPointer);
//! assert_eq!(kind.to_string(), "a Git LFS pointer, not the file it points to");
//! assert_eq!(kind.advice(), Some("fetch the file itself: git lfs pull, or download it again"));
//! assert_eq!(sniff(b"GGUF\x03\0\0\0"), Kind::Gguf);
//! ```
//!
//! Sources: the formats' own descriptions; the older ggml formats by the `magic` words of
//! llama.cpp's converters, stored as little-endian numbers.

use core::fmt;

/// Bytes from the start of a file that [`sniff`] makes use of; fewer may do.
pub const PREFIX: usize = 512;

/// What a file is, by its first bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// It begins as a GGUF file does.
    Gguf,
    /// No bytes at all.
    Empty,
    /// Fewer bytes than the magic has, and all of them its own.
    CutMagic,
    /// The magic with its bytes in reverse order, or in another case.
    OddMagic,
    /// A pointer that Git LFS leaves in place of a file.
    LfsPointer,
    /// A web page.
    Html,
    /// JSON, such as a server's error.
    Json,
    /// Compressed with gzip.
    Gzip,
    /// Compressed with zstd.
    Zstd,
    /// Compressed with xz.
    Xz,
    /// A zip archive, which PyTorch's checkpoints are.
    Zip,
    /// A model in the safetensors format.
    Safetensors,
    /// A model or adapter in a ggml format older than GGUF.
    OldGgml(OldGgml),
    /// A Python pickle, which PyTorch's older checkpoints are.
    Pickle,
    /// An importance matrix in the format before GGUF (`imatrix.dat`).
    Imatrix,
    /// A ROCm kernel archive.
    Kpack,
    /// A program or library (ELF).
    Elf,
    /// Text of some other kind.
    Text,
    /// Zeros alone, as a download that never began leaves.
    Zeros,
    /// None of these.
    Unknown,
}

/// The ggml formats before GGUF.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OldGgml {
    /// Without a version.
    Ggml,
    /// The first with a version.
    Ggmf,
    /// Aligned for mapping.
    Ggjt,
    /// An adapter (LoRA).
    Ggla,
}

/// Tells what begins with `prefix`, which is the whole file if that is shorter than [`PREFIX`].
pub fn sniff(prefix: &[u8]) -> Kind {
    let begins = |magic: &[u8]| prefix.starts_with(magic);
    if prefix.is_empty() {
        return Kind::Empty;
    }
    if prefix.len() < 4 && b"GGUF".starts_with(prefix) {
        return Kind::CutMagic;
    }
    if let Some(kind) = MAGICS.iter().find(|(magic, _)| begins(magic)).map(|&(_, kind)| kind) {
        return kind;
    }
    if prefix.get(..4).is_some_and(|magic| magic.eq_ignore_ascii_case(b"GGUF")) {
        return Kind::OddMagic;
    }
    if prefix.iter().all(|&byte| byte == 0) {
        return Kind::Zeros;
    }
    if is_safetensors(prefix) {
        return Kind::Safetensors;
    }
    if matches!(prefix, [0x80, 2..=5, ..]) {
        return Kind::Pickle;
    }
    if is_imatrix(prefix) {
        return Kind::Imatrix;
    }
    if let Some(kind) = markup(prefix) {
        return kind;
    }
    if is_text(prefix) { Kind::Text } else { Kind::Unknown }
}

const MAGICS: [(&[u8], Kind); 15] = [
    (b"GGUF", Kind::Gguf),
    (b"FUGG", Kind::OddMagic),
    (b"version https://git-lfs", Kind::LfsPointer),
    (b"version https://hawser", Kind::LfsPointer),
    (b"\x1f\x8b", Kind::Gzip),
    (b"\x28\xb5\x2f\xfd", Kind::Zstd),
    (b"\xfd7zXZ\0", Kind::Xz),
    (b"PK\x03\x04", Kind::Zip),
    (b"PK\x05\x06", Kind::Zip),
    (b"lmgg", Kind::OldGgml(OldGgml::Ggml)),
    (b"fmgg", Kind::OldGgml(OldGgml::Ggmf)),
    (b"tjgg", Kind::OldGgml(OldGgml::Ggjt)),
    (b"algg", Kind::OldGgml(OldGgml::Ggla)),
    (b"KPAK", Kind::Kpack),
    (b"\x7fELF", Kind::Elf),
];

/// A 64-bit length, then the JSON object of that length.
fn is_safetensors(prefix: &[u8]) -> bool {
    let Some((length, rest)) = prefix.split_first_chunk() else { return false };
    let length = u64::from_le_bytes(*length);
    // The format allows 100 MB of header.
    (2..=100_000_000).contains(&length) && rest.first() == Some(&b'{')
}

/// A count of entries, then the first: a name with its length, as `blk.0.attn_q.weight`.
fn is_imatrix(prefix: &[u8]) -> bool {
    let Some((count, rest)) = prefix.split_first_chunk() else { return false };
    let Some((length, rest)) = rest.split_first_chunk() else { return false };
    let (count, length) = (u32::from_le_bytes(*count), u32::from_le_bytes(*length));
    let name = usize::try_from(length).ok().and_then(|length| rest.get(..length));
    (1..=1 << 20).contains(&count)
        && name
            .is_some_and(|name| name.ends_with(b".weight") && name.iter().all(u8::is_ascii_graphic))
}

/// HTML or JSON, by the first sign behind blanks.
fn markup(prefix: &[u8]) -> Option<Kind> {
    let text = prefix.strip_prefix(b"\xef\xbb\xbf").unwrap_or(prefix).trim_ascii_start();
    let begins =
        |word: &[u8]| text.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word));
    if [&b"<!doctype"[..], b"<html", b"<head", b"<body", b"<?xml", b"<!--"].into_iter().any(begins)
    {
        return Some(Kind::Html);
    }
    let (first, rest) = text.split_first()?;
    let next = rest.trim_ascii_start().first();
    let json = match first {
        b'{' => matches!(next, None | Some(b'"' | b'}')),
        b'[' => matches!(next, None | Some(b'"' | b'{' | b'[' | b']' | b'-' | b'0'..=b'9')),
        _ => false,
    };
    (json && is_text(text)).then_some(Kind::Json)
}

/// UTF-8 without control characters, apart from a character cut at the end.
fn is_text(prefix: &[u8]) -> bool {
    let text = match core::str::from_utf8(prefix) {
        Ok(text) => text,
        Err(error) if error.error_len().is_none() && error.valid_up_to() > 0 => {
            core::str::from_utf8(&prefix[..error.valid_up_to()]).unwrap_or("\0")
        }
        Err(_) => return false,
    };
    text.chars().all(|c| !c.is_control() || matches!(c, '\n' | '\r' | '\t' | '\x0c'))
}

impl Kind {
    /// One word for programs.
    pub fn code(self) -> &'static str {
        match self {
            Kind::Gguf => "gguf",
            Kind::Empty => "empty",
            Kind::CutMagic => "cut_magic",
            Kind::OddMagic => "odd_magic",
            Kind::LfsPointer => "lfs_pointer",
            Kind::Html => "html",
            Kind::Json => "json",
            Kind::Gzip => "gzip",
            Kind::Zstd => "zstd",
            Kind::Xz => "xz",
            Kind::Zip => "zip",
            Kind::Safetensors => "safetensors",
            Kind::OldGgml(_) => "old_ggml",
            Kind::Pickle => "pickle",
            Kind::Imatrix => "imatrix",
            Kind::Kpack => "kpack",
            Kind::Elf => "elf",
            Kind::Text => "text",
            Kind::Zeros => "zeros",
            Kind::Unknown => "unknown",
        }
    }

    /// What to do to get a GGUF file, where something can be said.
    pub fn advice(self) -> Option<&'static str> {
        Some(match self {
            Kind::Empty | Kind::CutMagic | Kind::Zeros => {
                "the download did not happen: fetch the file again"
            }
            Kind::LfsPointer => "fetch the file itself: git lfs pull, or download it again",
            Kind::Html => "the address led to a web page: use the file's download address",
            Kind::Json => {
                "a server's answer may have been saved instead of the file: read it, and download again"
            }
            Kind::Gzip | Kind::Zstd | Kind::Xz => "decompress it first",
            Kind::Zip | Kind::Pickle | Kind::Safetensors => {
                "convert it with llama.cpp's convert_hf_to_gguf.py"
            }
            Kind::OldGgml(_) => {
                "convert it with a converter of its time, or fetch the model as GGUF"
            }
            Kind::Imatrix => "convert it with llama.cpp's llama-imatrix",
            Kind::Kpack => "use rocload kpack for it",
            Kind::Gguf | Kind::OddMagic | Kind::Elf | Kind::Text | Kind::Unknown => return None,
        })
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Kind::Gguf => "a GGUF file",
            Kind::Empty => "an empty file",
            Kind::CutMagic => "a file that ends inside the magic bytes",
            Kind::OddMagic => "GGUF's magic bytes reversed or in another case",
            Kind::LfsPointer => "a Git LFS pointer, not the file it points to",
            Kind::Html => "a web page (HTML)",
            Kind::Json => "a JSON text",
            Kind::Gzip => "a gzip file",
            Kind::Zstd => "a zstd file",
            Kind::Xz => "an xz file",
            Kind::Zip => "a zip archive, perhaps a PyTorch checkpoint",
            Kind::Safetensors => "a safetensors file",
            Kind::OldGgml(OldGgml::Ggml) => "a model in the old ggml format",
            Kind::OldGgml(OldGgml::Ggmf) => "a model in the old ggmf format",
            Kind::OldGgml(OldGgml::Ggjt) => "a model in the old ggjt format",
            Kind::OldGgml(OldGgml::Ggla) => "an adapter in the old ggla format",
            Kind::Pickle => "a python pickle, perhaps a PyTorch checkpoint",
            Kind::Imatrix => "an importance matrix in the old format (imatrix.dat)",
            Kind::Kpack => "a ROCm kernel archive (kpack)",
            Kind::Elf => "a program or library (ELF)",
            Kind::Text => "a text file",
            Kind::Zeros => "nothing but zeros",
            Kind::Unknown => "some other kind of file",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_by_their_first_bytes() {
        let mut imatrix = [2, 0, 0, 0, 19, 0, 0, 0].to_vec();
        imatrix.extend(b"blk.0.attn_q.weight\x05\0\0\0");
        let cases: [(&[u8], Kind); 37] = [
            (b"", Kind::Empty),
            (b"GG", Kind::CutMagic),
            (b"GGUF", Kind::Gguf),
            (b"gguf\x03\0\0\0", Kind::OddMagic),
            (b"FUGG\x03\0\0\0", Kind::OddMagic),
            (b"version https://git-lfs.github.com/spec/v1\n", Kind::LfsPointer),
            (b"<!DOCTYPE html><html>", Kind::Html),
            (b"\n  <HTML lang=en>", Kind::Html),
            (b"\xef\xbb\xbf<head>", Kind::Html),
            (b"<?xml version='1.0'?><Error>", Kind::Html),
            (b"{\"error\":\"Repository not found\"}", Kind::Json),
            (b"{}", Kind::Json),
            (b" [ 1, 2]", Kind::Json),
            (b"{\"a\":\0}", Kind::Unknown),
            (b"\x1f\x8b\x08\0", Kind::Gzip),
            (b"\x28\xb5\x2f\xfd\x04", Kind::Zstd),
            (b"\xfd7zXZ\0", Kind::Xz),
            (b"PK\x03\x04\x14", Kind::Zip),
            (b"\x02\0\0\0\0\0\0\0{}", Kind::Safetensors),
            (b"\x01\0\0\0\0\0\0\0{}", Kind::Unknown),
            (b"lmgg", Kind::OldGgml(OldGgml::Ggml)),
            (b"fmgg\x01\0\0\0", Kind::OldGgml(OldGgml::Ggmf)),
            (b"tjgg\x03\0\0\0", Kind::OldGgml(OldGgml::Ggjt)),
            (b"algg\x01\0\0\0", Kind::OldGgml(OldGgml::Ggla)),
            (b"\x80\x02}q\0.", Kind::Pickle),
            (b"\x80\x01", Kind::Unknown),
            (&imatrix, Kind::Imatrix),
            (b"KPAK\x01\0\0\0", Kind::Kpack),
            (b"\x7fELF\x02", Kind::Elf),
            (b"hello\n", Kind::Text),
            (b"{not json", Kind::Text),
            ("K\u{fc}che".as_bytes(), Kind::Text),
            (b"K\xc3", Kind::Text),
            (b"\0\0\0\0", Kind::Zeros),
            (b"\x01\x02\x03\x04", Kind::Unknown),
            (b"\xff\xfe", Kind::Unknown),
            (b"\xc3", Kind::Unknown),
        ];
        for (bytes, kind) in cases {
            assert_eq!(sniff(bytes), kind, "{}", bytes.escape_ascii());
        }
    }
}
