//! The target of HTTP responses. An input is a byte that chooses the method, then a response.

use laws::http::any_chunking;
use laws::{limits, memory};
use rocload_core::Limits;
use rocload_core::http::Method;

use crate::{hold, seed};

/// A response in chunks of any size, in memory of any size, against a naive reader.
pub fn http_response(bytes: &[u8]) {
    let Some((&method, response)) = bytes.split_first() else { return };
    let method = if method == b'H' { Method::Head } else { Method::Get };
    let seed = seed(bytes);
    match seed >> 9 & 7 {
        0 => hold(limits::response(response, seed)),
        1 => hold(memory::response(response, &Limits::default())),
        _ => {}
    }
    hold(any_chunking(response, method, Some(seed)).map(|_| ()));
}
