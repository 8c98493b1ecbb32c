//! Where an archive is read from: a file, or standard input as a whole.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::os::fd::AsFd;
use std::path::Path;

use rocload::{Archive, Error, FileAt, Options, ReadAt};

/// The most that is read from standard input where it is no file, in bytes: it stays in memory.
const MOST: u64 = 8 << 30;
const OPENING: &str = "opening the archive";

/// A source of an archive.
#[derive(Debug)]
pub(crate) enum Input {
    /// A file, read where it is wanted.
    File(FileAt),
    /// All of what came from a pipe.
    Memory(Vec<u8>),
}

impl ReadAt for Input {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        match self {
            Input::File(file) => file.read_at(buf, offset),
            Input::Memory(bytes) => bytes.read_at(buf, offset),
        }
    }

    fn total(&self) -> io::Result<u64> {
        match self {
            Input::File(file) => file.total(),
            Input::Memory(bytes) => bytes.total(),
        }
    }

    fn changed(&self) -> bool {
        match self {
            Input::File(file) => file.changed(),
            Input::Memory(bytes) => bytes.changed(),
        }
    }
}

/// The path stands for standard input.
pub(crate) fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// Opens the archive at `path`; `-` is standard input.
pub(crate) fn open(path: &Path, options: &Options) -> Result<Archive<Input>, Error> {
    let input = if is_stdin(path) { stdin() } else { FileAt::open(path).map(Input::File) };
    let input = input.map_err(|error| Error::io(error, OPENING))?;
    Ok(Archive::from_source(input, options)?.with_path(path))
}

/// A file that is standard input is read like any other, from its beginning.
fn stdin() -> io::Result<Input> {
    let stdin = io::stdin();
    let mut file = File::from(stdin.as_fd().try_clone_to_owned()?);
    if file.metadata()?.is_file() && file.stream_position()? == 0 {
        return FileAt::new(file).map(Input::File);
    }
    read_all(stdin.lock()).map(Input::Memory)
}

fn read_all(mut reader: impl Read) -> io::Result<Vec<u8>> {
    const PIECE: usize = 1 << 20;
    let mut bytes = Vec::new();
    loop {
        let have = bytes.len();
        if have as u64 >= MOST {
            let text = format!("standard input is longer than {MOST} bytes: name the file instead");
            return Err(io::Error::other(text));
        }
        if bytes.try_reserve(PIECE).is_err() {
            return Err(io::Error::other("standard input does not fit into memory"));
        }
        bytes.resize(have + PIECE, 0);
        let got = loop {
            match reader.read(&mut bytes[have..]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => break other?,
            }
        };
        bytes.truncate(have + got);
        if got == 0 {
            return Ok(bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_of_a_pipe_is_read() {
        let bytes: Vec<u8> = (0..3_000_000u32).map(|n| (n % 251) as u8).collect();
        assert!(read_all(&bytes[..]).unwrap() == bytes);
        assert!(read_all(io::empty()).unwrap().is_empty());
    }
}
