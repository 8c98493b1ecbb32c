//! What is decoded: frames of the shared data, and large ones made of what a machine has.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use rocload_benches::peer;
use rocload_fixtures::shared_data;

/// The level of every frame, that of ROCm's own writer.
const LEVEL: i32 = 3;

/// Content of a large frame, in bytes.
const LARGE: usize = 20_000_000;

/// Content of a small frame, in bytes.
const SMALL: usize = 2048;

/// One frame.
#[derive(Debug)]
pub(crate) struct Frame {
    pub(crate) src: Vec<u8>,
    pub(crate) content: Vec<u8>,
}

impl Frame {
    fn of(content: &[u8]) -> peer::Result<Frame> {
        let src = zstd::bulk::compress(content, LEVEL)?;
        Ok(Frame { src, content: content.to_vec() })
    }

    /// Of the content, in bytes.
    pub(crate) fn size(&self) -> usize {
        self.content.len()
    }
}

/// Frames that are measured together.
#[derive(Debug)]
pub(crate) struct Set {
    pub(crate) name: &'static str,
    pub(crate) frames: Vec<Frame>,
}

impl Set {
    /// Content in all.
    pub(crate) fn bytes(&self) -> usize {
        self.frames.iter().map(Frame::size).sum()
    }

    /// The largest content of a frame.
    pub(crate) fn largest(&self) -> usize {
        self.frames.iter().map(Frame::size).max().unwrap_or(0)
    }
}

/// A set of one large frame, or why there is none.
#[derive(Debug)]
pub(crate) enum Large {
    There(Set),
    Skipped { what: &'static str, why: String },
}

impl Large {
    fn of(what: &'static str, content: &[u8]) -> peer::Result<Large> {
        if content.len() < LARGE {
            let why = format!("{} bytes of it on this machine", content.len());
            return Ok(Large::Skipped { what, why });
        }
        let frames = vec![Frame::of(&content[..LARGE])?];
        Ok(Large::There(Set { name: what, frames }))
    }
}

/// The code objects of the shared data, as they are stored there.
pub(crate) fn code_objects() -> peer::Result<Option<Set>> {
    let Some(root) = shared_data() else { return Ok(None) };
    let table = fs::read_to_string(root.join("zstd/code_objects.tsv"))?;
    let frame = |row: &str| -> peer::Result<Frame> {
        let mut fields = row.split('\t');
        let name = fields.next().unwrap_or_default();
        let size = fields.next().ok_or("a row without a size")?.parse()?;
        let src = fs::read(root.join("zstd/code_objects").join(name))?;
        let content = zstd::bulk::decompress(&src, size)?;
        if content.len() != size {
            return Err(format!("{name} is not of the size that the table says").into());
        }
        Ok(Frame { src, content })
    };
    let frames = table.lines().skip(1).map(frame).collect::<peer::Result<_>>()?;
    Ok(Some(Set { name: "code objects", frames }))
}

/// The contents of a set, cut.
pub(crate) fn cut(set: &Set) -> peer::Result<Set> {
    let pieces = set.frames.iter().flat_map(|frame| frame.content.chunks(SMALL));
    let frames = pieces.map(Frame::of).collect::<peer::Result<_>>()?;
    Ok(Set { name: "code objects cut to 2 KB", frames })
}

/// The readable files of /usr/include, which make up half where there are as many, and of
/// /usr/share.
pub(crate) fn text() -> peer::Result<Large> {
    let readable = |_: &Path, bytes: &[u8]| !bytes.contains(&0) && str::from_utf8(bytes).is_ok();
    let mut joined = Vec::new();
    join(Path::new("/usr/include"), LARGE / 2, &readable, &mut joined);
    join(Path::new("/usr/share"), LARGE, &readable, &mut joined);
    Large::of("text", &joined)
}

/// The shared libraries of /usr/lib.
pub(crate) fn x86() -> peer::Result<Large> {
    let library = |path: &Path, bytes: &[u8]| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.contains(".so") && bytes.starts_with(b"\x7fELF")
    };
    let mut joined = Vec::new();
    if cfg!(target_arch = "x86_64") {
        join(Path::new("/usr/lib"), LARGE, &library, &mut joined);
    }
    Large::of("x86 code", &joined)
}

/// Adds the files under `folder` that are `wanted`, in the order of their paths, until there are
/// `limit` bytes. What cannot be read is left out: the machine's files are whatever they are.
fn join(folder: &Path, limit: usize, wanted: &dyn Fn(&Path, &[u8]) -> bool, to: &mut Vec<u8>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        let Ok(meta) = path.symlink_metadata() else { continue };
        if meta.is_dir() {
            join(&path, limit, wanted, to);
        } else if meta.is_file() && to.len() < limit {
            let bytes = fs::read(&path).unwrap_or_default();
            if wanted(&path, &bytes) {
                to.extend_from_slice(&bytes[..bytes.len().min(limit - to.len())]);
            }
        }
    }
}

/// The code objects of Debian's librocsparse0, joined. They are fetched once and kept in the
/// user's cache folder.
pub(crate) fn code() -> peer::Result<Large> {
    let what = "code objects joined";
    let Some(cache) = rocload_benches::input::cache().map(|cache| cache.join("benches")) else {
        return Ok(Large::Skipped { what, why: "no cache folder".into() });
    };
    let kept = cache.join("librocsparse0-code-objects");
    if !kept.is_file() {
        eprintln!("  fetching librocsparse0, 94 MB");
        let scratch = cache.join(format!("fetching-{}", std::process::id()));
        fs::create_dir_all(&scratch)?;
        let fetched = fetch(&scratch).and_then(|content| {
            let made = scratch.join("made");
            fs::write(&made, content)?;
            Ok(fs::rename(made, &kept)?)
        });
        fs::remove_dir_all(&scratch)?;
        if let Err(why) = fetched {
            return Ok(Large::Skipped { what, why: why.to_string() });
        }
    }
    Large::of(what, &fs::read(kept)?)
}

/// Downloads and unpacks the package in `folder`, and joins code objects up to a large frame.
fn fetch(folder: &Path) -> peer::Result<Vec<u8>> {
    let run = |program: &str, arguments: &[&str]| -> peer::Result<()> {
        let output = Command::new(program).args(arguments).current_dir(folder).output();
        let output = output.map_err(|error| format!("{program}: {error}"))?;
        if output.status.success() {
            return Ok(());
        }
        let log = String::from_utf8_lossy(&output.stderr);
        Err(format!("{program}: {}", log.lines().last().unwrap_or("failed")).into())
    };
    run("apt-get", &["download", "librocsparse0"])?;
    let package = files(folder)?.pop().ok_or("nothing was downloaded")?;
    let package = package.to_str().ok_or("a name that is no text")?;
    run("dpkg-deb", &["-x", package, "unpacked"])?;
    let mut libraries = files(&folder.join("unpacked/usr/lib/x86_64-linux-gnu"))?;
    libraries.sort_by_key(|path| path.metadata().map_or(0, |meta| meta.len()));
    let library = libraries.pop().ok_or("no library in the package")?;
    objects(&fs::read(library)?)
}

/// The regular files in a folder.
fn files(folder: &Path) -> peer::Result<Vec<PathBuf>> {
    let paths = fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.path()));
    let mut paths = paths.collect::<Result<Vec<_>, _>>()?;
    paths.retain(|path| path.symlink_metadata().is_ok_and(|meta| meta.is_file()));
    Ok(paths)
}

/// The device code of clang's offload bundles in a library, from its section `.hip_fatbin`:
/// a magic word, a count, and for each entry its offset in the bundle, size and target, which
/// has its length before it.
fn objects(library: &[u8]) -> peer::Result<Vec<u8>> {
    const MAGIC: &[u8] = b"__CLANG_OFFLOAD_BUNDLE__";
    const ALIGN: usize = 4096;
    let word = |at: usize| -> peer::Result<usize> {
        let bytes = library.get(at..).and_then(|rest| rest.first_chunk::<8>());
        Ok(usize::try_from(u64::from_le_bytes(*bytes.ok_or("a bundle is cut short")?))?)
    };
    let mut joined = Vec::new();
    for start in (0..library.len()).step_by(ALIGN) {
        if !library[start..].starts_with(MAGIC) {
            continue;
        }
        let mut at = start + MAGIC.len() + 8;
        for _ in 0..word(at - 8)? {
            let (offset, size, name) = (word(at)?, word(at + 8)?, word(at + 16)?);
            let object = library.get(start + offset..).and_then(|rest| rest.get(..size));
            let object = object.ok_or("a bundle's entry is cut short")?;
            if object.starts_with(b"\x7fELF") {
                joined.extend_from_slice(object);
            }
            at += 24 + name;
            if joined.len() >= LARGE {
                joined.truncate(LARGE);
                return Ok(joined);
            }
        }
    }
    Err(format!("{} bytes of code objects in the package", joined.len()).into())
}
