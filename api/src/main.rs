//! Lists the public API of a crate: one item a line, sorted within its type, from the JSON that rustdoc writes.
//! `list.sh` beside it runs rustdoc, and keeps the listings.
//!
//! Left out are implementations that every type has: the blanket ones, and those of auto traits.

use std::io::{self, Write};
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    let (Some(json), None) = (arguments.next(), arguments.next()) else {
        eprintln!("usage: list_api RUSTDOC_JSON");
        return ExitCode::from(2);
    };
    let listing = public_api::Builder::from_rustdoc_json(&json)
        .omit_blanket_impls(true)
        .omit_auto_trait_impls(true)
        .build();
    match listing {
        Ok(api) => match io::stdout().lock().write_all(api.to_string().as_bytes()) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => failed("standard output", &error),
        },
        Err(error) => failed(&json.to_string_lossy(), &error),
    }
}

fn failed(what: &str, error: &dyn std::error::Error) -> ExitCode {
    eprintln!("list_api: {what}: {error}");
    ExitCode::FAILURE
}
