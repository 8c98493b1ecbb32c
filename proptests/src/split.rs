//! Split invariance and the rest of the machine contract, as one law for every machine.
//!
//! The law runs a machine over the same source many times, each time with the bytes cut
//! otherwise, and wants the same items and the same ending. A run offers what a driver might
//! offer: never a byte past the next cut, nothing at all after a jump, the bytes left over from
//! the last step together with more. On the way it holds the machine to the contract:
//!
//! - `need` is pure, asks for at least one byte and never for more than the cap at once;
//! - fewer than `min` bytes is never an error, and `min` bytes are progress;
//! - a step that waits changes nothing, and none consumes more than it was given;
//! - after an error each call gives that error again;
//! - after [`Need::Done`] nothing is consumed;
//! - the steps that do something are bounded by the bytes there are.
//!
//! The cuts, by ruling: up to 64 KiB of source every two-way cut; above, 512 seeded ones; for
//! both also bytewise, by what is needed and hinted at, and in seeded chunks.

use core::fmt::Debug;

use rocload_core::{End, Error, ErrorKind, ItemKind, Limits, Machine, Need};

use crate::random::Random;
use crate::{Broken, Verdict, require, same};

/// Up to this length, in bytes, every two-way cut is tried.
pub const EVERY_CUT: usize = 64 << 10;
/// Seeded two-way cuts of longer sources.
pub const SEEDED_CUTS: usize = 512;

/// What a machine gave for a source.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome<T> {
    /// Its items, adjacent parts joined.
    pub items: Vec<T>,
    /// How it ended.
    pub ending: Ending,
}

/// How a machine ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// [`End::Complete`].
    Complete,
    /// [`End::Pending`].
    Pending(&'static str),
    /// With an error.
    Failed(Error),
}

/// What a machine is held to besides the contract.
#[derive(Debug, Clone, Copy)]
pub struct Rules<T> {
    /// The largest `min` allowed: [`Limits::contiguous`].
    pub contiguous: usize,
    /// Appends the second item to the first if they are adjacent parts of one thing.
    pub join: fn(&mut T, &T) -> bool,
    /// Steps that do something allowed for each byte of the source.
    pub steps_per_byte: u64,
    /// Such steps allowed besides.
    pub more_steps: u64,
}

impl<T> Rules<T> {
    /// The desktop's [`Limits::contiguous`], nothing to join, two steps a byte and 64 more.
    pub const fn new() -> Self {
        let contiguous = Limits::DESKTOP.contiguous;
        Rules { contiguous, join: |_, _| false, steps_per_byte: 2, more_steps: 64 }
    }
}

impl<T> Default for Rules<T> {
    fn default() -> Self {
        Rules::new()
    }
}

/// A way of feeding a machine: how far the bytes offered reach.
#[derive(Debug, Clone)]
pub enum Feeding {
    /// Everything from the offset wanted to the end of the source.
    Whole,
    /// As `Whole`, but nothing that lies before this offset together with what lies behind it,
    /// unless the machine has no use for the former alone.
    Cut(u64),
    /// So many bytes more each time.
    Every(u64),
    /// Exactly `min` bytes; of a stream one more each time.
    Least,
    /// As a driver reads: the hint up to this cap, at least `min`.
    Hint(u64),
    /// Random numbers of bytes up to the second value.
    Random(Random, u64),
}

impl Feeding {
    /// Where the next offer ends that begins at `at`, the last one having ended at `end`.
    fn reach(&mut self, at: u64, end: u64, need: Need) -> u64 {
        match self {
            Feeding::Whole => u64::MAX,
            Feeding::Cut(cut) if end < *cut => *cut,
            Feeding::Cut(_) => u64::MAX,
            Feeding::Every(step) => end.saturating_add(*step),
            Feeding::Least => match need {
                Need::At { min, .. } => at.saturating_add(min as u64),
                _ => end + 1,
            },
            Feeding::Hint(cap) => match need {
                Need::At { min, hint, .. } => at.saturating_add(hint.min(*cap).max(min as u64)),
                _ => end.saturating_add(*cap),
            },
            Feeding::Random(random, most) => end.saturating_add(1 + random.below(*most)),
        }
    }
}

/// The law, with the cuts of the module's text. Returns what every run gave.
///
/// `make` makes a machine at its start; `keep` turns an item into a value that is compared.
///
/// # Errors
/// [`Broken`] when two ways of feeding differ or the contract is broken in one of them.
pub fn invariance<M, T>(
    make: impl Fn() -> M,
    keep: impl Fn(<M::Kind as ItemKind>::Item<'_>) -> T,
    source: &[u8],
    rules: &Rules<T>,
) -> Result<Outcome<T>, Broken>
where
    M: Machine,
    T: PartialEq + Debug,
{
    let mut random = Random::new(source.len() as u64);
    let len = source.len() as u64;
    let mut ways = fixed_ways();
    if source.len() <= EVERY_CUT {
        ways.extend((1..len).map(Feeding::Cut));
    } else {
        ways.extend((0..SEEDED_CUTS).map(|_| Feeding::Cut(1 + random.below(len - 1))));
    }
    ways.extend(random_ways(&mut random, 16));
    compare(make, keep, source, rules, ways)
}

/// The law with one other way of feeding than the whole, which `seed` chooses: for fuzz targets,
/// which bring many sources, and many that differ in little. Of a source of more than 512 bytes
/// the ways that take a step for nearly each byte are rarer.
///
/// # Errors
/// As [`invariance`].
pub fn sample<M, T>(
    make: impl Fn() -> M,
    keep: impl Fn(<M::Kind as ItemKind>::Item<'_>) -> T,
    source: &[u8],
    rules: &Rules<T>,
    seed: u64,
) -> Result<Outcome<T>, Broken>
where
    M: Machine,
    T: PartialEq + Debug,
{
    compare(make, keep, source, rules, vec![one_way(seed, source.len() as u64)])
}

fn one_way(seed: u64, len: u64) -> Feeding {
    let mut random = Random::new(seed);
    // Chunks of so many bytes at least.
    let least = if len > 512 && random.below(8) > 0 { len / 64 } else { 0 };
    match random.below(8) {
        0 if least == 0 => Feeding::Least,
        1 => Feeding::Hint(64 << 10),
        2 | 3 => Feeding::Every(1 + least + random.below(64)),
        4 | 5 => {
            let most = least.max(1 << random.below(14)) * 2;
            Feeding::Random(Random::new(random.next()), most)
        }
        _ => Feeding::Cut(random.below(len)),
    }
}

fn fixed_ways() -> Vec<Feeding> {
    let mut ways = vec![Feeding::Least, Feeding::Hint(64 << 10), Feeding::Hint(0)];
    ways.extend([1, 2, 3, 7, 64, 4096].map(Feeding::Every));
    ways
}

/// Chunks of small sizes and of any size.
fn random_ways(random: &mut Random, count: usize) -> impl Iterator<Item = Feeding> {
    (0..count).map(|_| {
        let most = 1 << random.below(14);
        Feeding::Random(Random::new(random.next()), most)
    })
}

fn compare<M, T>(
    make: impl Fn() -> M,
    keep: impl Fn(<M::Kind as ItemKind>::Item<'_>) -> T,
    source: &[u8],
    rules: &Rules<T>,
    ways: Vec<Feeding>,
) -> Result<Outcome<T>, Broken>
where
    M: Machine,
    T: PartialEq + Debug,
{
    let whole = run(&mut make(), &keep, source, rules, Feeding::Whole)?;
    for way in ways {
        let found = run(&mut make(), &keep, source, rules, way.clone());
        let found = found.map_err(|broken| named(broken, &way))?;
        same("any chunking gives the same items", &whole.items, &found.items)
            .and_then(|()| same("any chunking gives the same ending", &whole.ending, &found.ending))
            .map_err(|broken| named(broken, &way))?;
    }
    Ok(whole)
}

fn named(mut broken: Broken, way: &Feeding) -> Broken {
    broken.found = format!("fed by {way:?}: {}", broken.found);
    broken
}

/// Runs a machine over `source` once, and holds it to the contract.
///
/// # Errors
/// [`Broken`] when a rule of the contract is.
pub fn run<M, T>(
    machine: &mut M,
    keep: &impl Fn(<M::Kind as ItemKind>::Item<'_>) -> T,
    source: &[u8],
    rules: &Rules<T>,
    mut way: Feeding,
) -> Result<Outcome<T>, Broken>
where
    M: Machine,
{
    let len = source.len() as u64;
    let most = rules.steps_per_byte.saturating_mul(len).saturating_add(rules.more_steps);
    let mut items = Vec::new();
    let mut steps = 0u64;
    // The bytes on offer are start..end of the source.
    let (mut start, mut end) = (0u64, 0u64);
    let ending = loop {
        let need = pure_need(machine)?;
        let min = match need {
            Need::Done => {
                idle_when_done(machine, start)?;
                break finish(machine, keep, rules, &mut items)?;
            }
            Need::More => 0,
            Need::At { offset, min, .. } => {
                // A jump out of the offer: the next one begins with nothing.
                if offset < start || offset > end {
                    end = offset;
                }
                start = offset;
                require((1..=rules.contiguous).contains(&min), "`min` is 1..=contiguous", || {
                    format!("{need:?} where {} is the cap", rules.contiguous)
                })?;
                min
            }
        };
        let input = part(source, start, end);
        let step = match machine.step(start, input) {
            Ok(step) => step,
            Err(error) => {
                require(input.len() >= min, "fewer than `min` bytes is never an error", || {
                    format!("{error:?} for {} bytes at {start} of {min}", input.len())
                })?;
                if let ErrorKind::Limit { value, limit, .. } = error.kind {
                    let over = value > limit;
                    require(over, "a limit is told where it is exceeded", || format!("{error:?}"))?;
                }
                poisoned(machine, error, start, input)?;
                break Ending::Failed(error);
            }
        };
        require(step.consumed <= input.len(), "no step consumes what it was not given", || {
            format!("{step:?} of {} bytes at {start}", input.len())
        })?;
        if step.ready {
            add(&mut items, keep(machine.item(input)), rules);
        }
        start += step.consumed as u64;
        if step.ready || step.consumed > 0 {
            steps += 1;
            require(steps <= most, "steps are bounded by the bytes there are", || {
                format!("{steps} steps for {len} bytes")
            })?;
            continue;
        }
        let unchanged = pure_need(machine)?;
        same("a step that waits changes nothing", &need, &unchanged)?;
        require(min == 0 || input.len() < min, "`min` bytes are progress", || {
            format!("{} bytes at {start} and {need:?}", input.len())
        })?;
        if end >= len {
            break finish(machine, keep, rules, &mut items)?;
        }
        end = way.reach(start, end, need).clamp(end + 1, len);
    };
    Ok(Outcome { items, ending })
}

fn part(source: &[u8], start: u64, end: u64) -> &[u8] {
    let len = source.len() as u64;
    &source[start.min(len) as usize..end.min(len).max(start.min(len)) as usize]
}

fn pure_need<M: Machine>(machine: &M) -> Result<Need, Broken> {
    let need = machine.need();
    same("`need` is pure", &need, &machine.need())?;
    Ok(need)
}

fn add<T>(items: &mut Vec<T>, item: T, rules: &Rules<T>) {
    let joined = items.last_mut().is_some_and(|last| (rules.join)(last, &item));
    if !joined {
        items.push(item);
    }
}

fn idle_when_done<M: Machine>(machine: &mut M, at: u64) -> Verdict {
    for input in [&[][..], &[0], b"more than it wants"] {
        let step = machine.step(at, input);
        let idle = step.is_ok_and(|step| step.consumed == 0 && !step.ready);
        require(idle, "after `Done` nothing is consumed", || format!("{step:?}"))?;
        same("after `Done` it stays so", &pure_need(machine)?, &Need::Done)?;
    }
    Ok(())
}

fn poisoned<M: Machine>(machine: &mut M, error: Error, at: u64, input: &[u8]) -> Verdict {
    const LAW: &str = "after an error each call gives that error again";
    same(LAW, &Err(error), &machine.step(at, input))?;
    same(LAW, &Err(error), &machine.step(at, &[]))?;
    same(LAW, &Err(error), &machine.end())?;
    same(LAW, &Err(error), &machine.step(at, input))?;
    pure_need(machine).map(|_| ())
}

/// Ends the input: takes the last items and the verdict.
fn finish<M, T>(
    machine: &mut M,
    keep: &impl Fn(<M::Kind as ItemKind>::Item<'_>) -> T,
    rules: &Rules<T>,
    items: &mut Vec<T>,
) -> Result<Ending, Broken>
where
    M: Machine,
{
    for _ in 0..=rules.more_steps {
        match machine.end() {
            Ok(End::Item) => add(items, keep(machine.item(&[])), rules),
            Ok(End::Complete) => return Ok(Ending::Complete),
            Ok(End::Pending(what)) => return Ok(Ending::Pending(what)),
            Err(error) => {
                poisoned(machine, error, 0, &[])?;
                return Ok(Ending::Failed(error));
            }
        }
    }
    let found = format!("{} items and more", rules.more_steps);
    Err(Broken { law: "the last items come to an end", found })
}
