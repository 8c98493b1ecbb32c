//! The machine contract: the law of split invariance holds for sound machines, and fails for
//! every way of breaking a rule.

use std::cell::Cell;

use laws::Broken;
use laws::machines::{Chain, Kept, Link, Record, Records, node};
use laws::split::{self, Ending, Feeding, Outcome, Rules};
use rocload_core::{Cap, End, Error, ErrorKind, ItemKind, Limits, Machine, Need, Step, visit};

fn rules() -> Rules<Kept> {
    Rules { join: Kept::join, ..Rules::new() }
}

fn records(source: &[u8]) -> Result<Outcome<Kept>, Broken> {
    split::invariance(Records::new, |record: Record<'_>| Kept::from(record), source, &rules())
}

fn chain(source: &[u8]) -> Result<Outcome<Kept>, Broken> {
    split::invariance(Chain::new, |link: Link<'_>| Kept::from(link), source, &rules())
}

fn over(value: u64, limit: u64, offset: u64) -> Ending {
    let kind = ErrorKind::Limit { cap: Cap::KeyBytes, value, limit };
    Ending::Failed(Error::new(kind, offset))
}

/// A text, a number, a byte that begins nothing, another text.
const SOURCE: &[u8] = b"\x05hello\x80\x01\x02\x03\0\x90\x03end";

fn source_items() -> Vec<Kept> {
    vec![
        Kept::Part(b"hello".to_vec()),
        Kept::Other("number", 0x0003_0201, 0),
        Kept::Other("warning", 0x90, 11),
        Kept::Part(b"end".to_vec()),
    ]
}

#[test]
fn a_stream_machine_keeps_the_contract() {
    let outcome = records(SOURCE).unwrap();
    let total = Kept::Other("total", 4, 0);
    assert_eq!(
        outcome.items,
        [&source_items()[..], &[total]].concat(),
        "the last item is at the end"
    );
    assert_eq!(outcome.ending, Ending::Complete);
}

#[test]
fn done_stops_before_the_rest() {
    let outcome = records(&[SOURCE, b"\xff\x80 not looked at"].concat()).unwrap();
    assert_eq!(outcome.items.len(), 5);
    assert_eq!(outcome.ending, Ending::Complete);
}

#[test]
fn an_unfinished_thing_is_pending() {
    for (cut, what) in [(3, "a text"), (7, "a number"), (10, "a number")] {
        assert_eq!(records(&SOURCE[..cut]).unwrap().ending, Ending::Pending(what), "{cut}");
    }
    let jump = node(100, b"");
    assert_eq!(chain(&jump).unwrap().ending, Ending::Pending("a node"));
    assert_eq!(chain(&node(0, b"abc")[..9]).unwrap().ending, Ending::Pending("a payload"));
}

#[test]
fn errors_carry_their_absolute_offset() {
    let source = [SOURCE, b"\x80\xff\xff\xff\xff"].concat();
    let outcome = records(&source).unwrap();
    assert_eq!(outcome.items, source_items());
    assert_eq!(outcome.ending, over(u32::MAX.into(), 1_000_000, 16));
}

#[test]
fn a_jumping_machine_keeps_the_contract() {
    let long: Vec<u8> = (0..100).collect();
    // Forward over a gap, then back.
    let mut source = node(80, b"first");
    source.resize(50, 0xee);
    source.extend(node(0, &long[..20]));
    source.resize(80, 0xee);
    source.extend(node(50, &long));
    let outcome = chain(&source).unwrap();
    let expected = [
        Kept::Other("node", 80, 5),
        Kept::Whole(b"first".to_vec()),
        Kept::Other("node", 50, 100),
        Kept::Part(long.clone()),
        Kept::Other("node", 0, 20),
        Kept::Whole(long[..20].to_vec()),
    ];
    assert_eq!((outcome.items, outcome.ending), (expected.into(), Ending::Complete));
}

#[test]
fn a_ring_ends_at_its_cap() {
    let mut source = node(0, b"");
    source.extend(node(8, b"round"));
    source[0] = 8;
    assert_eq!(chain(&source).unwrap().ending, over(21, 20, 8));
}

#[test]
fn long_sources_are_cut_too() {
    // Beyond the length up to which every cut is tried.
    let source = SOURCE.repeat(split::EVERY_CUT / SOURCE.len() + 2);
    assert!(source.len() > split::EVERY_CUT);
    let outcome = records(&source).unwrap();
    // The text at the end and the one at the next start are adjacent parts: three items a time.
    assert_eq!(outcome.items.len(), 3 * (source.len() / SOURCE.len()) + 2);
}

#[test]
fn the_visitor_form_gives_the_same_items() {
    let mut seen = Vec::new();
    let mut machine = Records::new();
    // In two pieces, the first of which ends within the number.
    for (at, input) in [(0, &SOURCE[..9]), (9, &SOURCE[9..])] {
        let used = visit(&mut machine, at, input, |record| {
            split_join(&mut seen, Kept::from(record));
        });
        assert_eq!(used, Ok(input.len()));
    }
    assert_eq!(seen, source_items());

    // Jumps inside the input are followed; one out of it is left to the caller.
    let source = [node(20, b"a"), vec![0; 11], node(1000, b"b")].concat();
    let (mut machine, mut count) = (Chain::new(), 0);
    assert_eq!(visit(&mut machine, 0, &source, |_| count += 1), Ok(29));
    assert_eq!((count, machine.need()), (4, Need::At { offset: 1000, min: 8, hint: 0 }));
}

fn split_join(items: &mut Vec<Kept>, item: Kept) {
    if !items.last_mut().is_some_and(|last| Kept::join(last, &item)) {
        items.push(item);
    }
}

/// A rule of the contract to break.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Defect {
    None,
    ShortIsError,
    OffsetInChunk,
    ForgetsItsError,
    ErrorAtEndChanges,
    GreedyWhenDone,
    NeedFlickers,
    NeverEnds,
    EndlessLastItems,
    WantsTooMuch,
    WantsNothing,
    LosesItemAtCut,
    TakesTooMuch,
    StallsWithEnough,
    WaitingChangesNeed,
}

/// A sound machine with one defect.
struct Defective<M> {
    inner: M,
    defect: Defect,
    calls: Cell<u64>,
    waits: usize,
    failed: Option<Error>,
}

impl<M: Machine> Defective<M> {
    fn new(inner: M, defect: Defect) -> Self {
        Defective { inner, defect, calls: Cell::new(0), waits: 0, failed: None }
    }
}

impl<M: Machine> Machine for Defective<M> {
    type Kind = M::Kind;

    fn need(&self) -> Need {
        self.calls.set(self.calls.get() + 1);
        match self.inner.need() {
            Need::At { offset, min, hint } => match self.defect {
                Defect::NeedFlickers => Need::At { offset, min, hint: hint + self.calls.get() % 2 },
                Defect::WantsTooMuch => {
                    Need::At { offset, min: Limits::DESKTOP.contiguous + 1, hint }
                }
                Defect::WantsNothing => Need::At { offset, min: 0, hint },
                Defect::WaitingChangesNeed => Need::At { offset, min: min + self.waits, hint },
                _ => Need::At { offset, min, hint },
            },
            need => need,
        }
    }

    fn step(&mut self, offset: u64, input: &[u8]) -> Result<Step, Error> {
        match (self.defect, self.inner.need()) {
            (Defect::GreedyWhenDone, Need::Done) => return Ok(Step::consumed(input.len())),
            (Defect::ShortIsError, Need::At { offset, min, .. }) if input.len() < min => {
                let (need, have) = (min as u64, input.len() as u64);
                return Err(Error::new(ErrorKind::Truncated { need, have }, offset));
            }
            (Defect::ForgetsItsError, _) if self.failed.is_some() => return Ok(Step::WAIT),
            (Defect::OffsetInChunk, _) if self.failed.is_some() => {
                return self.failed.map_or(Ok(Step::WAIT), Err);
            }
            (Defect::StallsWithEnough, _) => return Ok(Step::WAIT),
            _ => {}
        }
        let step = self.inner.step(offset, input);
        self.failed = step.err();
        match (self.defect, step) {
            (Defect::OffsetInChunk, Err(error)) => {
                let error = Error::new(error.kind, error.offset.abs_diff(offset));
                self.failed = Some(error);
                Err(error)
            }
            (Defect::NeverEnds, Ok(_)) => Ok(Step::item(0)),
            (Defect::TakesTooMuch, Ok(step)) if step.consumed > 0 => {
                Ok(Step { consumed: input.len() + 1, ..step })
            }
            (Defect::LosesItemAtCut, Ok(step)) if step.consumed == input.len() => {
                Ok(Step { ready: false, ..step })
            }
            (_, step) => {
                self.waits += usize::from(step == Ok(Step::WAIT));
                step
            }
        }
    }

    fn item<'i>(&'i self, input: &'i [u8]) -> <Self::Kind as ItemKind>::Item<'i> {
        self.inner.item(input)
    }

    fn end(&mut self) -> Result<End, Error> {
        let end = self.inner.end();
        match (self.defect, end) {
            (Defect::EndlessLastItems, Ok(End::Complete)) => Ok(End::Item),
            (Defect::ErrorAtEndChanges, Err(error)) => Err(error.rebased(1)),
            (Defect::OffsetInChunk, Err(error)) => Err(self.failed.unwrap_or(error)),
            (_, end) => end,
        }
    }
}

/// The law that is found broken in a machine with this defect.
fn law_broken(defect: Defect, source: &[u8], jumps: bool) -> Option<&'static str> {
    let verdict = if jumps {
        let make = || Defective::new(Chain::new(), defect);
        split::invariance(make, |link: Link<'_>| Kept::from(link), source, &rules()).err()
    } else {
        let make = || Defective::new(Records::new(), defect);
        split::invariance(make, |record: Record<'_>| Kept::from(record), source, &rules()).err()
    };
    verdict.map(|broken| {
        assert!(!broken.found.is_empty());
        broken.law
    })
}

#[test]
fn every_defect_is_found() {
    let fails = [SOURCE, b"\x80\xff\xff\xff\xff"].concat();
    let done = [SOURCE, b"\xff"].concat();
    let linked = [node(9, b"a"), node(0, b"bcd")].concat();
    for (defect, source, jumps, law) in [
        (Defect::ShortIsError, &linked, true, "fewer than `min` bytes is never an error"),
        (Defect::OffsetInChunk, &fails, false, "any chunking gives the same ending"),
        (Defect::ForgetsItsError, &fails, false, "after an error each call gives that error again"),
        (
            Defect::ErrorAtEndChanges,
            &fails,
            false,
            "after an error each call gives that error again",
        ),
        (Defect::GreedyWhenDone, &done, false, "after `Done` nothing is consumed"),
        (Defect::NeedFlickers, &linked, true, "`need` is pure"),
        (Defect::NeverEnds, &done, false, "steps are bounded by the bytes there are"),
        (Defect::EndlessLastItems, &done, false, "the last items come to an end"),
        (Defect::WantsTooMuch, &linked, true, "`min` is 1..=contiguous"),
        (Defect::WantsNothing, &linked, true, "`min` is 1..=contiguous"),
        (Defect::LosesItemAtCut, &done, false, "any chunking gives the same items"),
        (Defect::TakesTooMuch, &linked, true, "no step consumes what it was not given"),
        (Defect::StallsWithEnough, &linked, true, "`min` bytes are progress"),
        (Defect::WaitingChangesNeed, &linked, true, "a step that waits changes nothing"),
    ] {
        assert_eq!(law_broken(defect, source, jumps), Some(law), "{defect:?}");
        // The same machine without its defect is sound: nothing else is to blame.
        assert_eq!(law_broken(Defect::None, source, jumps), None, "{defect:?}");
    }
}

#[test]
fn parts_that_are_not_joined_differ() {
    let keep = |record: Record<'_>| Kept::from(record);
    let broken = split::invariance(Records::new, keep, SOURCE, &Rules::new()).unwrap_err();
    assert_eq!(broken.law, "any chunking gives the same items");
}

#[test]
fn a_single_run_can_be_made() {
    let keep = |link: Link<'_>| Kept::from(link);
    let source = node(0, &[7; 40]);
    let rules = Rules::new();
    let outcome =
        split::run(&mut Chain::new(), &keep, &source, &rules, Feeding::Every(10)).unwrap();
    // The node's 8 bytes came with 2 of the payload's, which began a part.
    let parts: Vec<usize> = outcome
        .items
        .iter()
        .filter_map(|item| if let Kept::Part(bytes) = item { Some(bytes.len()) } else { None })
        .collect();
    assert_eq!(parts, [2, 10, 10, 10, 8]);
}

#[test]
fn a_wrong_offset_is_the_callers_fault() {
    let mut machine = Chain::new();
    let error = machine.step(3, &node(0, b"")).unwrap_err();
    assert_eq!(error, Error::new(ErrorKind::Offset { wanted: 0, given: 3 }, 3));
    assert_eq!(machine.step(0, &node(0, b"")), Err(error), "and poisons as any other");
}
