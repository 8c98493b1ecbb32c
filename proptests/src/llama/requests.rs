//! Bodies of requests, read by the crate `serde_json`.

use rocload_core::ErrorKind;
use rocload_core::llama::request::Request;
use serde_json::Value as Theirs;

use crate::{Broken, Verdict, require, same};

/// The body is an object that the oracle reads, with each name once, or it is refused; in less room
/// it says how much it takes. Returns what the oracle reads.
///
/// # Errors
/// [`Broken`].
pub fn is_sound(request: &impl Request) -> Result<Option<Theirs>, Broken> {
    let Err(error) = request.write(&mut []) else {
        return Err(Broken { law: "no body is empty", found: request.path().into() });
    };
    let ErrorKind::Full(full) = error.kind else {
        let refused = matches!(error.kind, ErrorKind::Llama(_));
        require(refused, "a request is refused for its own reasons", || format!("{error:?}"))?;
        let again = request.write(&mut vec![0; 1 << 12]).map_err(|error| error.kind);
        same("and in any room", &again, &Err(error.kind))?;
        return Ok(None);
    };
    let mut body = vec![0xa5; full.need as usize + 1];
    let written = request.write(&mut body);
    same("a body has the length announced", &written, &Ok(full.need as usize))?;
    same("nothing is written behind it", &body.pop(), &Some(0xa5))?;
    let less = body.len() - 1;
    let error = request.write(&mut vec![0; less]).map_err(|error| error.kind);
    same("less room is not enough", &error, &Err(ErrorKind::Full(full)))?;
    let theirs: Theirs = serde_json::from_slice(&body).map_err(|error| Broken {
        law: "the oracle reads a body",
        found: format!("{error}: {}", body.escape_ascii()),
    })?;
    require(theirs.is_object(), "a body is an object", || theirs.to_string())?;
    Ok(Some(theirs))
}

/// A member of a body is this text.
///
/// # Errors
/// [`Broken`].
pub fn says(body: &Theirs, name: &str, text: &str) -> Verdict {
    same("a text is sent as it is", &body.get(name).and_then(Theirs::as_str), &Some(text))
}
