//! Writes seeds for `hipk_reference`, `target_id`, `kpack_search` and `bundle` into
//! `FOLDER/<target>/`.
//!
//! ```text
//! cargo run -p rocload-fuzz --example loader_seed -- FOLDER
//! ```

use std::error::Error;
use std::fs;
use std::path::Path;

use rocload_fixtures::fat::{self, Section};
use rocload_fixtures::object::{Ccob, bundle, ccob};
use rocload_fixtures::reference::reference;

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args_os().nth(1).ok_or("usage: loader_seed FOLDER")?;
    let folder = Path::new(&folder);
    let write = |target: &str, name: &str, bytes: &[u8]| -> Result<(), Box<dyn Error>> {
        let folder = folder.join(target);
        fs::create_dir_all(&folder)?;
        Ok(fs::write(folder.join(name), bytes)?)
    };
    let paths = ["../.kpack/blas_lib_@GFXARCH@.kpack", "/opt/blas.kpack"];
    let sound = reference(&paths, "lib/libblas.so");
    let odd = b"\x85\x01\x02\x92\xa1x\x80\xc0\xb2kpack_search_paths\x95\x07\xa1a\xc4\x01b\x91\xa1c\xd9\x01d\xabkernel_name\xa1n\xc7\x02\x05xy\xd8\x010123456789abcdef";
    write("hipk_reference", "sound", &sound)?;
    write("hipk_reference", "trailing", &[&sound[..], b"trailing"].concat())?;
    write("hipk_reference", "cut", &sound[..40])?;
    write("hipk_reference", "no-paths", &reference(&[], "n"))?;
    write("hipk_reference", "odd", odd)?;
    write(
        "hipk_reference",
        "map32",
        b"\xdf\0\0\0\x01\xda\0\x01x\xdd\0\0\0\x01\xcb\0\0\0\0\0\0\0\0",
    )?;

    write("target_id", "isa", b"amdgcn-amd-amdhsa--gfx942:sramecc+:xnack-\ngfx942:xnack-")?;
    write("target_id", "odd", b"gfx90a::xnack-\n:xnack-\n\namdgcn-amd-amdhsa--\ngfx90a")?;
    write("target_id", "six", b"p:a:b:c:d:e:f\np:a:b:c:d:e:f:g\np:a:c:e")?;

    let search = [
        &b"gfx942:sramecc+:xnack-,gfx942\n\n\n/lib/x.so\n/real/x.so\n../.kpack/x_@GFXARCH@.kpack"[..],
        b"gfx90a:xnack-\na_gfx90a:xnack-.kpack:b\\:c::d\n\nx.so\n\na",
        b"gfx1100,gfx11-generic\n\n:p:q\n/x.so\n/y/x.so\n/abs\n@GFXARCH@\nrel",
        b"p:a:b,p:a,q\n\n\nx\ny\na_@GFXARCH@_@GFXARCH@\nb\nc\n/d",
    ];
    for (i, seed) in search.into_iter().enumerate() {
        write("kpack_search", &format!("search-{i}"), seed)?;
    }

    let plain = bundle(
        &[
            ("host-x86_64-unknown-linux--", b""),
            ("hipv4-amdgcn-amd-amdhsa--gfx90a:xnack-", b"one object"),
            ("hipv4-amdgcn-amd-amdhsa--gfx1030", b"another"),
        ],
        64,
    );
    let (two, three) = (ccob(Ccob::V2, &plain), ccob(Ccob::V3, &plain));
    // Stored, not compressed: header, one final block, the sum.
    let mut zlib = b"CCOB\x02\0\0\0".to_vec();
    let stream = b"\x78\x01\x01\x04\x00\xfb\xffcode\x04\x0a\x01\x9c";
    zlib.extend_from_slice(&(24 + stream.len() as u32).to_le_bytes());
    zlib.extend_from_slice(&4u32.to_le_bytes());
    zlib.extend_from_slice(&[7; 8]);
    zlib.extend_from_slice(stream);
    write("bundle", "plain", &plain)?;
    write("bundle", "ccob-2", &two)?;
    write("bundle", "ccob-3", &three)?;
    write("bundle", "ccob-zlib", &zlib)?;
    let mut one = two.clone();
    one.splice(4..12, *b"\x01\0\x01\0");
    write("bundle", "ccob-1", &one)?;
    write("bundle", "several", &[&plain[..], &[0; 50], &two, &zlib, &[0; 9], &three].concat())?;
    let wrappers = [fat::wrapper(b"FPIH", 0x1000, 0), fat::wrapper(b"HIPK", 0, 7)].concat();
    let relocations = fat::relative(0x2020, 0x3000);
    let sections = [
        Section::new(".hip_fatbin", 0x1000, &plain),
        Section::new(".hipFatBinSegment", 0x2000, &wrappers),
        Section::new(".rocm_kpack_ref", 0x3000, &sound),
        Section::new(".rela.dyn", 0x4000, &relocations).of(fat::RELA),
    ];
    write("bundle", "elf", &fat::elf(&sections))?;
    let split = [sections[0].of(fat::NOBITS), sections[1]];
    write("bundle", "elf-nobits", &fat::elf(&split))?;
    let short = [
        Section::new(".hip_fat", 0x1000, &plain),
        Section::new(".hipFatB", 0x2000, &wrappers),
        Section::new(".kpackrf", 0x3000, &sound),
        Section::new(".hip_fatbin", 0x4000, b"").of(fat::NOBITS),
    ];
    write("bundle", "coff", &fat::coff(&short, None))?;
    write("bundle", "pe", &fat::coff(&short, Some(0x1_4000_0000)))?;
    Ok(())
}
