//! A program that starts a server, says its process id, and waits to be killed:
//! `fake-keeper SERVER RECORDS [guard]`.

use std::io::{self, Write as _};
use std::thread;

use rocload::blocking::Server;

fn main() -> io::Result<()> {
    let mut args = std::env::args_os().skip(1);
    let (Some(server), Some(records)) = (args.next(), args.next()) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let guard = args.next().is_some();
    let server = Server::builder("model.gguf")
        .program(server)
        .records(records)
        .death_guard(guard)
        .start()
        .map_err(io::Error::other)?;
    let ready = server.ready().map_err(io::Error::other)?;
    println!("{} {}", ready.pid.unwrap_or_default(), ready.endpoint);
    io::stdout().flush()?;
    loop {
        thread::park();
    }
}
