//! Bring your own object store: archives and models over HTTP range requests.
//!
//! ```text
//! cargo run -p rocload-examples --bin object_store
//! ```
//!
//! A machine says which bytes it needs, often a few at a time. A request costs much more than a
//! byte, so [`Store`] fetches whole blocks, joins those that stand side by side, and keeps them.

use std::collections::BTreeMap;
use std::error::Error;
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{fs, str, thread};

use rocload_core::gguf::{Check, Options, Summary};
use rocload_core::http::{self, Method, Response};
use rocload_core::kpack::{Open, OwnedIndex, Strictness, load};
use rocload_core::{End, ItemKind, Limits, Machine, Need, visit};

/// What is fetched at least, in bytes.
const BLOCK: u64 = 4 << 10;
/// What one request fetches at most, in blocks.
const MOST: u64 = 64;

/// An object behind HTTP, of which blocks are kept.
struct Store<'a> {
    address: &'a str,
    path: &'a str,
    socket: Option<TcpStream>,
    total: u64,
    blocks: BTreeMap<u64, Vec<u8>>,
    requests: usize,
    fetched: u64,
}

impl<'a> Store<'a> {
    /// The first request fetches the first block, and tells how long the object is.
    fn open(address: &'a str, path: &'a str) -> Result<Store<'a>, Box<dyn Error>> {
        let (socket, blocks) = (None, BTreeMap::new());
        let mut store = Store { address, path, socket, total: 0, blocks, requests: 0, fetched: 0 };
        store.fetch(0, 1)?;
        Ok(store)
    }

    /// Fills `into` from `offset` on, or as much of it as the object has.
    fn read_at(&mut self, offset: u64, into: &mut [u8]) -> Result<usize, Box<dyn Error>> {
        let end = offset.saturating_add(into.len() as u64).min(self.total);
        let mut have = 0;
        while offset + (have as u64) < end {
            let at = offset + have as u64;
            let block = at / BLOCK;
            if !self.blocks.contains_key(&block) {
                // Every block from here on that is wanted and missing, by one request.
                let last = (end - 1) / BLOCK;
                let missing = (block..=last).take_while(|n| !self.blocks.contains_key(n));
                let count = missing.take(MOST as usize).count() as u64;
                self.fetch(block, count)?;
            }
            let bytes = &self.blocks[&block][(at % BLOCK) as usize..];
            let len = bytes.len().min((end - at) as usize);
            into[have..have + len].copy_from_slice(&bytes[..len]);
            have += len;
        }
        Ok(have)
    }

    /// Fetches `count` blocks from `first` on.
    fn fetch(&mut self, first: u64, count: u64) -> Result<(), Box<dyn Error>> {
        let start = first * BLOCK;
        let range = format!("bytes={start}-{}", start + count * BLOCK - 1);
        let mut request = http::Request::get(self.path);
        let headers = [("Range", &*range)];
        request.headers = &headers;
        let (total, body) = self.exchange(&request.to_vec()?, count * BLOCK)?;
        if self.requests > 0 && total != self.total {
            return Err("the object has changed".into());
        }
        let wanted = (count * BLOCK).min(total.saturating_sub(start));
        if body.len() as u64 != wanted {
            return Err(format!("{} bytes came of {wanted} for {range}", body.len()).into());
        }
        self.total = total;
        self.requests += 1;
        self.fetched += wanted;
        for (block, bytes) in (first..).zip(body.chunks(BLOCK as usize)) {
            self.blocks.insert(block, bytes.to_vec());
        }
        Ok(())
    }

    /// One request and its answer: the object's length and `most` bytes of it at most.
    fn exchange(&mut self, request: &[u8], most: u64) -> Result<(u64, Vec<u8>), Box<dyn Error>> {
        let mut socket = match self.socket.take() {
            Some(socket) => socket,
            None => TcpStream::connect(self.address)?,
        };
        socket.write_all(request)?;
        let mut response = Response::new(Method::Get, &Limits::default(), Vec::new());
        let (mut total, mut body) = (None, Vec::new());
        let (mut buffer, mut taken) = ([0; 8192], 0);
        while response.need() != Need::Done {
            let have = socket.read(&mut buffer)?;
            if have == 0 {
                break;
            }
            let mut too_much = false;
            taken += visit(&mut response, taken, &buffer[..have], |item| match item {
                http::Item::Head(head) if head.status == 206 => {
                    total = head.header("content-range").and_then(length_of);
                }
                http::Item::Body(part) if (body.len() + part.len()) as u64 <= most => {
                    body.extend_from_slice(part);
                }
                http::Item::Body(_) => too_much = true,
                http::Item::Head(_) => {}
            })? as u64;
            if too_much {
                return Err("the server sends more than it was asked for".into());
            }
        }
        if response.end()? != End::Complete {
            return Err("the answer was cut short".into());
        }
        let status = response.status().unwrap_or(0);
        let total = total.ok_or_else(|| format!("status {status}, and no range"))?;
        if response.reusable() {
            self.socket = Some(socket);
        }
        Ok((total, body))
    }
}

/// The object's length in `bytes 0-4095/27189`.
fn length_of(content_range: &[u8]) -> Option<u64> {
    str::from_utf8(content_range).ok()?.rsplit_once('/')?.1.parse().ok()
}

/// The driver: reads what a machine needs, where it needs it, and shows its items.
fn drive<M: Machine>(
    store: &mut Store<'_>,
    machine: &mut M,
    mut see: impl FnMut(<M::Kind as ItemKind>::Item<'_>),
) -> Result<(), Box<dyn Error>> {
    let mut window = vec![0; 64 << 10];
    while let Need::At { offset, min, hint } = machine.need() {
        // No more than the machine asks for: the blocks are what is read ahead.
        let want = hint.clamp(min.max(1) as u64, window.len() as u64) as usize;
        let have = store.read_at(offset, &mut window[..want])?;
        if have < min {
            break;
        }
        visit(machine, offset, &window[..have], &mut see)?;
    }
    loop {
        match machine.end()? {
            End::Item => see(machine.item(&[])),
            End::Complete => return Ok(()),
            End::Pending(what) => return Err(format!("the object ends within {what}").into()),
        }
    }
}

fn archive(address: &str, path: &str) -> Result<(), Box<dyn Error>> {
    let limits = Limits::default();
    let mut store = Store::open(address, path)?;
    let (rows, strict) = (OwnedIndex::default(), Strictness::Strict);
    let mut open = Open::new(store.total, limits, strict, Vec::new(), rows);
    drive(&mut store, &mut open, |_| ())?;
    let toc = open.into_toc().ok_or("the machine said that it was done")?;
    println!("{path}: {} kernels", toc.len());
    let entry = toc.find(b"lib/libdemo.so#0", b"gfx90a")?.ok_or("no such kernel")?;
    let (offset, size) = entry.offset.zip(entry.stored_size).ok_or("not of scheme none")?;
    load::admit(&entry, offset, size, &limits)?;
    let mut kernel = vec![0; usize::try_from(size)?];
    if store.read_at(offset, &mut kernel)? < kernel.len() {
        return Err("the object has shrunk".into());
    }
    println!("  {} for gfx90a: {size} bytes", entry.binary.escape_ascii());
    report(&store);
    Ok(())
}

fn model(address: &str, path: &str) -> Result<(), Box<dyn Error>> {
    let mut store = Store::open(address, path)?;
    let (total, mut summary) = (store.total, Summary::new());
    let (options, interest) = (Options::default(), Summary::interest());
    let mut check = Check::new(Some(total), options, Vec::new(), Vec::new(), interest);
    drive(&mut store, &mut check, |item| summary.see(&item))?;
    let verdict = check.verdict().ok_or("the machine said that it was complete")?;
    let tensors = summary.tensors();
    println!("{path}: {tensors} tensors, whole: {}", verdict.is_whole());
    report(&store);
    Ok(())
}

fn report(store: &Store<'_>) {
    let Store { fetched, total, requests, .. } = store;
    println!("  {fetched} bytes of {total} in {requests} requests");
}

/// An object store of two objects, as small as can be: `GET`, `Range`, one connection at a time.
fn serve(listener: &TcpListener, served: &AtomicUsize) -> io::Result<()> {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures");
    loop {
        let (mut socket, _) = listener.accept()?;
        let (mut input, mut piece) = (Vec::new(), [0; 1024]);
        loop {
            let n = socket.read(&mut piece)?;
            if n == 0 {
                break;
            }
            input.extend_from_slice(&piece[..n]);
            if !input.ends_with(b"\r\n\r\n") {
                continue;
            }
            let text = String::from_utf8_lossy(&input).into_owned();
            input.clear();
            served.fetch_add(1, Ordering::Relaxed);
            let file = match text.split(' ').nth(1) {
                Some("/demo_none.kpack") => "kpack/demo_none.kpack",
                Some("/tiny-llama.gguf") => "gguf/tiny-llama.gguf",
                _ => {
                    socket.write_all(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")?;
                    continue;
                }
            };
            let object = fs::read(fixtures.join(file))?;
            let range = text.lines().find_map(|line| line.strip_prefix("Range: bytes="));
            let (first, last) = range.and_then(|range| range.split_once('-')).unwrap_or_default();
            let first = first.parse().unwrap_or(0).min(object.len() - 1);
            let last = last.parse().unwrap_or(usize::MAX).clamp(first, object.len() - 1);
            let part = &object[first..=last];
            let head = format!(
                "HTTP/1.1 206 Partial Content\r\nContent-Length: {}\r\nContent-Range: bytes {first}-{last}/{}\r\n\r\n",
                part.len(),
                object.len(),
            );
            socket.write_all(head.as_bytes())?;
            socket.write_all(part)?;
        }
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?.to_string();
    let served = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&served);
    thread::spawn(move || serve(&listener, &count));
    archive(&address, "/demo_none.kpack")?;
    model(&address, "/tiny-llama.gguf")?;
    println!("the server counts {} requests", served.load(Ordering::Relaxed));
    Ok(())
}
