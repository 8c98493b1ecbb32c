//! Writes seeds for every target into `FOLDER/<target>/`: the small archives of the fixtures, and
//! for `msgpack` their tables of contents and a value of every encoding.
//!
//! ```text
//! cargo run -p rocload-fuzz --example seed -- FOLDER
//! ```

use std::error::Error;
use std::fs;
use std::path::Path;

use rocload_core::kpack::Header;
use rocload_fixtures::{Fixture, bad_archives, compat_archives, good_archives};

/// Longer inputs only make a fuzzer slow.
const LONGEST: usize = 16 << 10;

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args_os().nth(1).ok_or("usage: seed FOLDER")?;
    let folder = Path::new(&folder);
    let archives = good_archives().chain(bad_archives()).chain(compat_archives());
    let mut count = 0;
    for (name, bytes) in
        archives.map(|archive: Fixture| (archive.name().to_owned(), archive.bytes()))
    {
        if bytes.len() > LONGEST {
            continue;
        }
        for target in ["kpack_open", "kpack_kernel"] {
            write(folder, target, &name, &bytes)?;
        }
        if let Ok(header) = Header::parse(&bytes, bytes.len() as u64) {
            write(folder, "msgpack", &name, &bytes[header.toc_offset as usize..])?;
        }
        count += 1;
    }
    for marker in 0xc0..=0xdf_u8 {
        // A length or count of 1 where there is one, and an element that fits it.
        let mut bytes = vec![marker];
        let length = match marker {
            0xc4 | 0xc7 | 0xd9 => 1,
            0xc5 | 0xc8 | 0xda | 0xdc | 0xde => 2,
            0xc6 | 0xc9 | 0xdb | 0xdd | 0xdf => 4,
            _ => 0,
        };
        bytes.resize(1 + length, 0);
        if let Some(last) = bytes.last_mut().filter(|_| length > 0) {
            *last = 1;
        }
        bytes.extend(*b"\x7f\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f\x10");
        write(folder, "msgpack", &format!("marker-{marker:02x}"), &bytes)?;
    }
    println!("{count} archives");
    Ok(())
}

fn write(folder: &Path, target: &str, name: &str, bytes: &[u8]) -> Result<(), Box<dyn Error>> {
    let folder = folder.join(target);
    fs::create_dir_all(&folder)?;
    Ok(fs::write(folder.join(name), bytes)?)
}
