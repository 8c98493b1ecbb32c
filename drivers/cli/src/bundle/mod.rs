//! `rocload bundle`: the device code in binaries and bundles.

mod extract;
mod list;

use std::borrow::Cow;
use std::path::Path;

use rocload::Binary;
use rocload::binary::CodeObject;
use rocload::bundle::{SectionKind, WrapperKind};

use crate::failure::Failure;

crate::group::group! {
    /// Look into the device code of libraries, programs and bundles, and take it out
    #[command(after_help = "Examples:
  rocload bundle list librocrand.so.1            the targets that a library has code for
  rocload bundle extract librocrand.so.1 -d out  each code object into a file")]
    Bundle: list::List, extract::Extract,
}

/// A binary and its code objects, those for the host left out; or what is wrong.
fn read(path: &Path) -> Result<(Binary, Vec<CodeObject>), Failure> {
    let failed = |error| Failure::library(&error, path);
    let binary = Binary::open(path).map_err(failed)?;
    let mut objects = binary.objects().map_err(failed)?;
    objects.retain(|object| !object.is_host());
    Ok((binary, objects))
}

/// Why a binary has no device code.
fn no_code(binary: &Binary) -> &'static str {
    let has = |kind| binary.wrappers().iter().any(|wrapper| wrapper.kind == kind);
    if binary.is_split_off() {
        "no device code here: its section was split off"
    } else if has(WrapperKind::Reference) {
        "no device code here: it was moved into archives, see `rocload kpack resolve`"
    } else if binary.sections().iter().any(|section| section.kind == SectionKind::Fatbin) {
        "no device code here: its section is empty"
    } else {
        "no device code here"
    }
}

/// The target that a code object is for: as its id says it, else the id.
fn target_of(object: &CodeObject) -> &[u8] {
    object.target().unwrap_or(object.id())
}

/// A name in JSON: U+FFFD stands for what is not UTF-8.
fn name(bytes: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(bytes)
}
