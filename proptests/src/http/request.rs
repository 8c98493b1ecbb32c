//! Requests against the crate's own rules, read anew: what is written is one message, whose lines
//! say what was asked for, and what could be read as more than one is refused.

use rocload_core::http::Request;
use rocload_core::{ErrorKind, http::Fault};

use crate::{Verdict, require, same};

/// A request is written whole and in exactly its length, or refused; and a naive reader finds the
/// target, each header and the body in it.
///
/// # Errors
/// [`Broken`](crate::Broken).
pub fn is_one_message(request: &Request<'_>) -> Verdict {
    let len = request.len();
    let mut bytes = vec![0xa5; len + 1];
    match request.write(&mut bytes) {
        Ok(written) => {
            same("as many bytes as announced", &written, &len)?;
            same("nothing is written behind them", &bytes[len], &0xa5)?;
        }
        Err(error) => {
            let known = matches!(error.kind, ErrorKind::Http(Fault::Request | Fault::Reserved));
            require(known && is_odd(request), "only what breaks a message is refused", || {
                format!("{error:?} for {request:?}")
            })?;
            return require(bytes.iter().all(|byte| *byte == 0xa5), "and nothing written", || {
                format!("{request:?}")
            });
        }
    }
    bytes.truncate(len);
    let less = request.write(&mut vec![0; len - 1]);
    let full = less
        .is_err_and(|error| matches!(error.kind, ErrorKind::Full(full) if full.need == len as u64));
    require(full, "less room is not enough", || format!("{less:?}"))?;

    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n").unwrap_or(len);
    let (head, rest) = bytes.split_at(end);
    same("the body is behind the blank line", &&rest[4.min(rest.len())..], &request.body)?;
    let lines: Vec<&[u8]> = head.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii_end).collect();
    let first = format!("{} {} HTTP/1.1", request.method.as_str(), request.target);
    same("the first line says what is wanted", &lines[0], &first.as_bytes())?;
    let fields = lines[1..].iter().map(|line| {
        let colon = line.iter().position(|byte| *byte == b':').unwrap_or(line.len());
        (
            line[..colon].to_ascii_lowercase(),
            line[line.len().min(colon + 1)..].trim_ascii().to_vec(),
        )
    });
    let fields: Vec<(Vec<u8>, Vec<u8>)> = fields.collect();
    let of = |name: &[u8]| fields.iter().filter(move |(found, _)| found == name).count();
    same("there is one host", &of(b"host"), &1)?;
    let length = fields.iter().find(|(name, _)| name == b"content-length");
    let length = length.map(|(_, value)| String::from_utf8_lossy(value).into_owned());
    same("the length of the body is told", &length, &Some(request.body.len().to_string()))?;
    for (name, value) in request.headers {
        let wanted = (name.to_ascii_lowercase().into_bytes(), value.as_bytes().to_vec());
        require(fields.contains(&wanted), "each header is there", || format!("{name}: {value}"))?;
    }
    let most = 6 + request.headers.len();
    require(fields.len() <= most, "there are no more lines than were asked for", || {
        String::from_utf8_lossy(head).into_owned()
    })
}

/// Something in the request is no plain text, or a header that is written anyway.
fn is_odd(request: &Request<'_>) -> bool {
    const OWN: [&str; 7] = [
        "host",
        "accept",
        "accept-encoding",
        "connection",
        "content-length",
        "content-type",
        "transfer-encoding",
    ];
    let control = |byte: u8| byte != b'\t' && (byte < b' ' || byte == 127);
    let plain = |text: &str| {
        !text.bytes().any(control) && text.trim_matches(['\t', ' ']).len() == text.len()
    };
    let token = |text: &str| {
        let special = |byte: &u8| b"!#$%&'*+-.^_`|~".contains(byte);
        !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || special(&byte))
    };
    let headers = request.headers.iter().any(|(name, value)| {
        !token(name) || !plain(value) || OWN.contains(&name.to_ascii_lowercase().as_str())
    });
    let word = |text: &str| text.bytes().all(|byte| byte > b' ' && byte < 127);
    let target = request.target.starts_with('/') && word(request.target);
    headers || !target || !word(request.host) || request.host.is_empty() || !plain(request.accept)
}
