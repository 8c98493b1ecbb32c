//! What every driver must do, over the machines of the law.

use std::ops::ControlFlow;

use laws::machines::{Chain, Kept, Link, Record, Records, node};
use laws::split::{self, Ending, Feeding, Rules};
use rocload::drive::{self, DriveError, Driven, Window};
use rocload_core::{End, Error, ErrorKind, ItemKind, Machine, Need, Step};

/// What a driver is asked to do.
pub(crate) trait Driver {
    /// Drives the machine to its end, joining parts.
    fn drive<M: Machine>(
        &self,
        source: &[u8],
        machine: &mut M,
        window: &mut Window,
        see: impl FnMut(<M::Kind as ItemKind>::Item<'_>) -> ControlFlow<u32>,
    ) -> Driven<u32>;

    /// Whether it can go back.
    const SEEKS: bool;
}

const SOURCE: &[u8] = b"\x05hello\x80\x01\x02\x03\0\x90\x03end";

/// Two long payloads with a gap between them, in the order of the file or against it.
pub(crate) fn linked(backwards: bool) -> Vec<u8> {
    let long: Vec<u8> = (0..=255).cycle().take(70_000).collect();
    let (near, far) = (node(0, &long[..20]), node(0, &long));
    let first = if backwards { 200_000 } else { 1000 };
    let mut source = node(first, b"first");
    source.resize(1000, 0xee);
    let (second, third) = if backwards { (near, far) } else { (far, near) };
    source.extend(&second);
    source.resize(200_000, 0xee);
    source.extend(&third);
    let at = first as usize;
    let other = if backwards { 1000u32 } else { 200_000 };
    source[at..at + 4].copy_from_slice(&other.to_le_bytes());
    source
}

/// What the law's own run gives, as a driver reports it.
pub(crate) fn expected<M: Machine>(
    mut machine: M,
    keep: impl Fn(<M::Kind as ItemKind>::Item<'_>) -> Kept,
    source: &[u8],
) -> (Vec<Kept>, Result<End, Error>) {
    let rules = Rules { join: Kept::join, ..Rules::new() };
    let outcome = split::run(&mut machine, &keep, source, &rules, Feeding::Whole).unwrap();
    let ending = match outcome.ending {
        Ending::Complete => Ok(End::Complete),
        Ending::Pending(what) => Ok(End::Pending(what)),
        Ending::Failed(error) => Err(error),
    };
    (outcome.items, ending)
}

/// Drives to the end in one call.
fn driven<D: Driver, M: Machine>(
    driver: &D,
    mut machine: M,
    keep: impl Fn(<M::Kind as ItemKind>::Item<'_>) -> Kept,
    source: &[u8],
    most: usize,
) -> (Vec<Kept>, Result<End, Error>) {
    let mut items: Vec<Kept> = Vec::new();
    let mut window = Window::with_most(most);
    let driven = driver.drive(source, &mut machine, &mut window, |item| {
        add(&mut items, keep(item));
        ControlFlow::Continue(())
    });
    let ending = match driven {
        Ok(ControlFlow::Continue(end)) => Ok(end),
        Ok(ControlFlow::Break(value)) => panic!("nobody breaks: {value}"),
        Err(DriveError::Machine(error)) => Err(error),
        Err(other) => panic!("{other}"),
    };
    (items, ending)
}

pub(crate) fn suite<D: Driver>(driver: &D) {
    let failing = [SOURCE, b"\x80\xff\xff\xff\xff"].concat();
    let done = [SOURCE, b"\xff\x05 left"].concat();
    let long = SOURCE.repeat(3000);
    for source in [SOURCE, &SOURCE[..8], &SOURCE[..3], &failing, &done, &long, b""] {
        let keep = |record: Record<'_>| Kept::from(record);
        let expected = expected(Records::new(), keep, source);
        for most in [1, 5, 100, drive::READ_AHEAD] {
            assert_eq!(driven(driver, Records::new(), keep, source, most), expected);
        }
    }
    let (forward, backward) = (linked(false), linked(true));
    let ring = [node(8, b""), node(8, b"")].concat();
    for source in [&forward[..], &forward[..1000], &forward[..1004], &forward[..2000], &ring] {
        if !D::SEEKS && source == ring {
            continue;
        }
        let keep = |link: Link<'_>| Kept::from(link);
        let expected = expected(Chain::new(), keep, source);
        for most in [1, 100, drive::READ_AHEAD] {
            assert_eq!(driven(driver, Chain::new(), keep, source, most), expected);
        }
    }
    let keep = |link: Link<'_>| Kept::from(link);
    let (items, ending) = driven(driver, Chain::new(), keep, &backward, 1000);
    if D::SEEKS {
        assert_eq!((items, ending), expected(Chain::new(), keep, &backward));
        stops_and_goes_on(driver);
    } else {
        // What lies before the jump was seen.
        assert_eq!(items.len(), 4);
        let kind = ErrorKind::NeedsSeek { wanted: 1000 };
        assert_eq!(ending, Err(Error::new(kind, 270_008)));
    }
    stalls(driver);
}

/// A closure that breaks at every item sees each once, the last one included. For random access:
/// a stream would have to be the same one in each call.
fn stops_and_goes_on<D: Driver>(driver: &D) {
    let source = linked(false);
    let (mut machine, mut window) = (Chain::new(), Window::new());
    let mut items: Vec<Kept> = Vec::new();
    loop {
        let flow = driver.drive(&source, &mut machine, &mut window, |link| {
            add(&mut items, Kept::from(link));
            ControlFlow::Break(7)
        });
        match flow.unwrap() {
            ControlFlow::Break(value) => assert_eq!(value, 7),
            ControlFlow::Continue(end) => break assert_eq!(end, End::Complete),
        }
    }
    assert_eq!(items, expected(Chain::new(), |link: Link<'_>| Kept::from(link), &source).0);
}

pub(crate) fn add(items: &mut Vec<Kept>, item: Kept) {
    if !items.last_mut().is_some_and(|last| Kept::join(last, &item)) {
        items.push(item);
    }
}

/// Has what it asked for and does nothing.
struct Idle(Need);

impl Machine for Idle {
    type Kind = laws::machines::RecordKind;

    fn need(&self) -> Need {
        self.0
    }
    fn step(&mut self, _offset: u64, _input: &[u8]) -> Result<Step, Error> {
        Ok(Step::WAIT)
    }
    fn item<'i>(&'i self, _input: &'i [u8]) -> Record<'i> {
        Record::Total(0)
    }
    fn end(&mut self) -> Result<End, Error> {
        Ok(End::Pending("anything"))
    }
}

/// A machine that breaks the contract makes an error, not an endless loop.
fn stalls<D: Driver>(driver: &D) {
    let at = Need::At { offset: 2, min: 3, hint: 0 };
    for (need, offset, least) in [(at, 2, 3), (Need::More, 0, 50)] {
        let mut window = Window::with_most(50);
        let driven =
            driver.drive(&[0; 1000], &mut Idle(need), &mut window, |_| ControlFlow::Break(0));
        match driven.unwrap_err() {
            DriveError::Stalled { offset: at, have } => {
                assert_eq!(at, offset);
                assert!((least..1000).contains(&have), "{have}");
            }
            other => panic!("{other}"),
        }
    }
}
