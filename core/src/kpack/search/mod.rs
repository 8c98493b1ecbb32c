//! The search for a kernel in archives, as a machine that touches no file.
//!
//! A binary names paths of archives and a kernel; the caller names architectures, best first, and
//! perhaps lists of other paths. [`Search`] says which path to open and where to look up what, is
//! told the outcome of each, and ends with a kernel or with the most severe reason why there is
//! none. It needs no memory but for the trail, which the caller may lend ([`Trail`]).
//!
//! ```text
//!   Open(path) ... for every path, in order:
//!     the override list, or else the prefix list and then the embedded paths, each for every
//!     architecture, candidate target and spelling of its colons
//!   Lookup(archive, target) ... until one is found:
//!     for each architecture, for each candidate (most specific first), for each archive opened
//!   Done(Found | NotFound(reason))
//!   nothing found, and the binary is a symbolic link: follow(file) tries the embedded paths once
//!     more, seen from that file, and looks into what that opens
//! ```
//!
//! - A path may stand for an archive that is open already; it is looked at once.
//! - In a list, the longest run of consecutive items that exists is one path: archives have
//!   colons in their names. `\:` is a colon that separates nothing.
//! - After a candidate with features, the same with `-` for each `:` is tried, as the names of
//!   some archives have it. Keys are exact.
//! - A kernel that is missing in one archive, or cannot be had, may be in another.
//!
//! ```
//! use rocload_core::Limits;
//! use rocload_core::kpack::Reference;
//! use rocload_core::kpack::search::{Action, Outcome, Query, Search, Verdict};
//!
//! let metadata = b"\x82\xb2kpack_search_paths\x91\xb1a_@GFXARCH@.kpack\xabkernel_name\xa4a.so";
//! let limits = Limits::default();
//! let reference = Reference::parse(metadata, &limits)?;
//! let query = Query::new(reference, 0, b"/opt/lib/a.so", &[b"gfx90a:xnack-"]);
//! let mut search = Search::new(query, &limits, ())?;
//! assert_eq!(search.key().to_string(), "a.so#0");
//! let mut tried = Vec::new();
//! let verdict = loop {
//!     let outcome = match search.poll() {
//!         Action::Open(location) => {
//!             tried.push(location.to_string());
//!             if tried.len() == 3 { Outcome::Opened(0) } else { Outcome::Missing }
//!         }
//!         Action::Lookup { target, .. } if target.to_string() == "gfx90a" => Outcome::Found,
//!         Action::Lookup { .. } => Outcome::NoTarget,
//!         Action::Done(verdict) => break verdict,
//!     };
//!     search.handle(outcome)?;
//! };
//! assert_eq!(tried, [
//!     "/opt/lib/a_gfx90a:xnack-.kpack",
//!     "/opt/lib/a_gfx90a-xnack-.kpack",
//!     "/opt/lib/a_gfx90a.kpack",
//! ]);
//! assert!(matches!(verdict, Verdict::Found { archive: 0, .. }));
//! # Ok::<(), rocload_core::Error>(())
//! ```
//!
//! Source: kpack format, section 5.

mod list;
mod path;
mod reason;
#[cfg(all(test, feature = "alloc"))]
mod tests;
mod trail;

pub use list::PathList;
pub use path::{Location, Origin, PLACEHOLDER};
pub use reason::Reason;
pub use trail::{LentTrail, Trail, Tried};

use super::fault::Fault;
use super::reference::{Key, Paths, Reference};
use super::target::{Candidate, Candidates, TargetId};
use crate::error::{Error, ErrorKind};
use crate::limits::Limits;
use path::{around, folder_of};

/// What is searched for, and where.
#[derive(Debug, Clone, Copy)]
pub struct Query<'a> {
    /// What the binary says.
    pub reference: Reference<'a>,
    /// The number of the translation unit: the low 32 bits of the wrapper's `reserved1`.
    pub co_index: u32,
    /// The path of the binary, as it was loaded. Its final symbolic link is not followed.
    pub binary: &'a [u8],
    /// Target IDs or ISA names, best first.
    pub arches: &'a [&'a [u8]],
    /// Replaces all other paths, unless it is empty (`ROCM_KPACK_PATH`).
    pub replace: PathList<'a>,
    /// Goes before the embedded paths (`ROCM_KPACK_PATH_PREFIX`).
    pub prefix: PathList<'a>,
}

impl<'a> Query<'a> {
    /// A query by embedded paths alone.
    pub const fn new(
        reference: Reference<'a>,
        co_index: u32,
        binary: &'a [u8],
        arches: &'a [&'a [u8]],
    ) -> Self {
        let (replace, prefix) = (PathList::new(&[]), PathList::new(&[]));
        Query { reference, co_index, binary, arches, replace, prefix }
    }
}

/// What the search asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action<'a> {
    /// Open the archive at this path: [`Outcome::Opened`], [`Missing`](Outcome::Missing) or
    /// [`Failed`](Outcome::Failed).
    Open(Location<'a>),
    /// Look up [`Search::key`] for this target, byte for byte, in an archive opened before:
    /// [`Outcome::Found`], [`NoTarget`](Outcome::NoTarget) or [`Failed`](Outcome::Failed).
    Lookup {
        /// The number that the caller gave it.
        archive: u32,
        /// The key of the architecture.
        target: Candidate<'a>,
    },
    /// Nothing: the search is over.
    Done(Verdict<'a>),
}

/// What came of an action.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The archive is open. The caller numbers archives from 0 in the order in which it first
    /// opens them; another path to one that is open has that one's number.
    Opened(u32),
    /// There is no file.
    Missing,
    /// The archive has no code for that target, whatever the kernel.
    NoTarget,
    /// The kernel is there, and was fetched if it was to be.
    Found,
    /// There is a file and no archive, or a target and no kernel ([`Reason::NoKernel`]).
    Failed(Reason),
}

/// How a search ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict<'a> {
    /// With the kernel.
    Found {
        /// The archive that has it.
        archive: u32,
        /// The architecture that it is stored for.
        target: Candidate<'a>,
        /// Which of the architectures asked for that fits.
        arch: usize,
    },
    /// Without; the most severe reason.
    NotFound(Reason),
}

/// The search. See the module's text.
#[derive(Debug, Clone)]
pub struct Search<'a, T = ()> {
    query: Query<'a>,
    limits: Limits,
    phase: Phase<'a>,
    action: Action<'a>,
    /// Archives opened; the numbers below it.
    archives: u32,
    /// The first of them that lookups have not been through.
    first: u32,
    /// The file that the binary is a link to has had its turn.
    followed: bool,
    matched: bool,
    worst: Option<Reason>,
    trail: T,
}

#[derive(Debug, Clone)]
enum Phase<'a> {
    List(Walk),
    Embedded(Expand<'a>),
    Lookup(Lookups<'a>),
    Done,
}

/// The way through a list.
#[derive(Debug, Clone)]
struct Walk {
    origin: Origin,
    /// Where the next item is looked for.
    from: usize,
    /// Items to try as one path; 0 before the longest run is known.
    items: usize,
    used: u8,
}

/// The way through the embedded paths, for each architecture, candidate and spelling.
#[derive(Debug, Clone)]
struct Expand<'a> {
    origin: Origin,
    folder: &'a [u8],
    paths: Paths<'a>,
    used: u8,
    /// A path with its placeholder, and how far its expansion has come.
    open: Option<(&'a [u8], &'a [u8], Fitting<'a>)>,
    /// The candidate whose twin comes next.
    twin: Option<Candidate<'a>>,
}

/// The way through targets and archives.
#[derive(Debug, Clone)]
struct Lookups<'a> {
    /// The first archive to look into.
    first: u32,
    fitting: Fitting<'a>,
    target: Option<Candidate<'a>>,
    archive: u32,
}

/// The candidates of every architecture, each once.
#[derive(Debug, Clone)]
struct Fitting<'a> {
    arches: &'a [&'a [u8]],
    /// Architectures begun.
    begun: usize,
    candidates: Option<Candidates<'a>>,
}

/// Earlier architectures that are looked at for a candidate which came before.
const EARLIER: usize = 64;

impl<'a> Fitting<'a> {
    const fn new(arches: &'a [&'a [u8]]) -> Self {
        Fitting { arches, begun: 0, candidates: None }
    }

    fn next(&mut self, limits: &Limits) -> Option<Candidate<'a>> {
        loop {
            if let Some(candidate) = self.candidates.as_mut().and_then(Iterator::next) {
                let earlier = &self.arches[..self.begun.saturating_sub(1).min(EARLIER)];
                let known = |arch: &&[u8]| {
                    TargetId::parse(*arch, limits).is_ok_and(|target| candidate.is_of(&target))
                };
                if earlier.iter().any(known) {
                    continue;
                }
                return Some(candidate);
            }
            let arch = self.arches.get(self.begun)?;
            self.begun += 1;
            // All of them were parsed when the search began.
            self.candidates = TargetId::parse(*arch, limits).ok().map(|target| target.candidates());
        }
    }
}

impl<'a, T: Trail<'a>> Search<'a, T> {
    /// A search at its first action, which records what it does in `trail`.
    ///
    /// # Errors
    /// A target ID with more features than [`Limits::target_features`].
    pub fn new(query: Query<'a>, limits: &Limits, trail: T) -> Result<Self, Error> {
        for arch in query.arches {
            TargetId::parse(*arch, limits)?;
        }
        let origin = if query.replace.is_empty() { Origin::Prefix } else { Origin::Override };
        let mut search = Search {
            query,
            limits: *limits,
            phase: Phase::List(Walk { origin, from: 0, items: 0, used: 0 }),
            action: Action::Done(Verdict::NotFound(Reason::NoArchive)),
            archives: 0,
            first: 0,
            followed: false,
            matched: false,
            worst: None,
            trail,
        };
        search.advance();
        Ok(search)
    }

    /// The key to look up.
    pub const fn key(&self) -> Key<'a> {
        self.query.reference.key(self.query.co_index)
    }

    /// What is searched for.
    pub const fn query(&self) -> &Query<'a> {
        &self.query
    }

    /// What to do now. Pure: the same until its outcome was told.
    pub const fn poll(&self) -> Action<'a> {
        self.action
    }

    /// What was done.
    pub const fn trail(&self) -> &T {
        &self.trail
    }

    /// What was done, handed over.
    pub fn into_trail(self) -> T {
        self.trail
    }

    /// Takes the outcome of the action of [`poll`](Self::poll).
    ///
    /// # Errors
    /// [`Fault::Outcome`] for an outcome that the action cannot have, or a number of an archive
    /// that is out of turn; the search stays where it is.
    pub fn handle(&mut self, outcome: Outcome) -> Result<(), Error> {
        let misuse = Err(Error::new(ErrorKind::Kpack(Fault::Outcome), 0));
        match (self.action, outcome) {
            (Action::Open(_), Outcome::Opened(archive)) if archive > self.archives => misuse,
            (
                Action::Open(location),
                Outcome::Opened(_) | Outcome::Missing | Outcome::Failed(_),
            ) => {
                self.opened(location, outcome);
                Ok(())
            }
            (
                Action::Lookup { archive, target },
                Outcome::Found | Outcome::NoTarget | Outcome::Failed(_),
            ) => {
                self.looked_up(archive, target, outcome);
                Ok(())
            }
            _ => misuse,
        }
    }

    /// Goes on after [`Verdict::NotFound`] with the embedded paths that are relative, seen from
    /// the folder of the file `linked`, which the binary's final symbolic link leads to. Once, and
    /// not past a list that replaces all others; returns whether there is anything to try.
    pub fn follow(&mut self, linked: &'a [u8]) -> bool {
        let over = matches!(self.action, Action::Done(Verdict::NotFound(_)));
        let relative = |path: &[u8]| !path.starts_with(b"/");
        if !over
            || self.followed
            || !self.query.replace.is_empty()
            || !self.query.reference.paths().any(relative)
        {
            return false;
        }
        self.followed = true;
        self.first = self.archives;
        self.phase = self.embedded(Origin::Linked, linked);
        self.advance();
        !matches!(self.action, Action::Done(_))
    }

    fn opened(&mut self, location: Location<'a>, outcome: Outcome) {
        let mut shown = true;
        if let Phase::List(walk) = &mut self.phase {
            // What is not there as one path may be there as fewer items.
            shown = outcome != Outcome::Missing || walk.items <= 1;
            if shown {
                let list = if walk.origin == Origin::Override {
                    self.query.replace
                } else {
                    self.query.prefix
                };
                walk.from = list.run(walk.from, walk.items).map_or(walk.from, |(run, _)| run.end);
                walk.items = 0;
                walk.used += 1;
            } else {
                walk.items -= 1;
            }
        }
        match outcome {
            Outcome::Opened(archive) if archive == self.archives => self.archives += 1,
            Outcome::Failed(reason) => self.worst = self.worst.max(Some(reason)),
            _ => {}
        }
        if shown {
            self.trail.record(Tried::Path { location, outcome });
        }
        self.advance();
    }

    fn looked_up(&mut self, archive: u32, target: Candidate<'a>, outcome: Outcome) {
        self.trail.record(Tried::Kernel { archive, target, outcome });
        self.matched |= outcome != Outcome::NoTarget;
        match outcome {
            Outcome::Found => {
                let arch = match &self.phase {
                    Phase::Lookup(lookups) => lookups.fitting.begun.saturating_sub(1),
                    _ => 0,
                };
                self.phase = Phase::Done;
                self.action = Action::Done(Verdict::Found { archive, target, arch });
                return;
            }
            Outcome::Failed(reason) => self.worst = self.worst.max(Some(reason)),
            _ => {}
        }
        self.advance();
    }

    /// Finds the next action.
    fn advance(&mut self) {
        loop {
            let next = match &mut self.phase {
                Phase::List(_) => self.next_of_list(),
                Phase::Embedded(_) => self.next_embedded(),
                Phase::Lookup(_) => self.next_lookup(),
                Phase::Done => Some(Action::Done(Verdict::NotFound(self.reason()))),
            };
            if let Some(action) = next {
                self.action = action;
                return;
            }
        }
    }

    /// The reason that counts when nothing was found.
    fn reason(&self) -> Reason {
        let least = match (self.archives, self.matched) {
            (0, _) => Reason::NoArchive,
            (_, false) => Reason::NoArch,
            (_, true) => Reason::NoKernel,
        };
        self.worst.map_or(least, |worst| worst.max(least))
    }

    /// The next path of a list; `None` once the phase has changed.
    fn next_of_list(&mut self) -> Option<Action<'a>> {
        let Phase::List(walk) = &mut self.phase else { return None };
        let origin = walk.origin;
        let list = if origin == Origin::Override { self.query.replace } else { self.query.prefix };
        let most = usize::from(self.limits.search_paths).max(1);
        if walk.used < self.limits.search_paths {
            let items = if walk.items == 0 { most } else { walk.items };
            if let Some((run, count)) = list.run(walk.from, items) {
                walk.items = count;
                return Some(Action::Open(Location::listed(origin, &list.text()[run])));
            }
        } else {
            let count = list.count(walk.from);
            if count > 0 {
                self.trail.record(Tried::Ignored { origin, paths: count });
            }
        }
        self.phase = if origin == Origin::Override {
            self.lookups(0)
        } else {
            self.embedded(Origin::Embedded, self.query.binary)
        };
        None
    }

    fn embedded(&self, origin: Origin, binary: &'a [u8]) -> Phase<'a> {
        let paths = self.query.reference.paths();
        let folder = folder_of(binary);
        Phase::Embedded(Expand { origin, folder, paths, used: 0, open: None, twin: None })
    }

    const fn lookups(&self, first: u32) -> Phase<'a> {
        let fitting = Fitting::new(self.query.arches);
        Phase::Lookup(Lookups { first, fitting, target: None, archive: first })
    }

    /// The next embedded path; `None` once the phase has changed.
    fn next_embedded(&mut self) -> Option<Action<'a>> {
        let Phase::Embedded(expand) = &mut self.phase else { return None };
        if let Some(location) = expand.next(self.query.arches, &self.limits) {
            return Some(Action::Open(location));
        }
        let (origin, ignored) = (expand.origin, expand.paths.clone().count());
        if ignored > 0 && origin == Origin::Embedded {
            let paths = u32::try_from(ignored).unwrap_or(u32::MAX);
            self.trail.record(Tried::Ignored { origin, paths });
        }
        self.phase = self.lookups(self.first);
        None
    }

    /// The next lookup; `None` once the phase has changed.
    fn next_lookup(&mut self) -> Option<Action<'a>> {
        let Phase::Lookup(lookups) = &mut self.phase else { return None };
        if let Some(action) = lookups.next(self.archives, &self.limits) {
            return Some(action);
        }
        self.phase = Phase::Done;
        None
    }
}

impl<'a> Expand<'a> {
    fn next(&mut self, arches: &'a [&'a [u8]], limits: &Limits) -> Option<Location<'a>> {
        loop {
            if let Some((before, after, fitting)) = &mut self.open {
                let (target, dashed) = match self.twin.take() {
                    Some(target) => (Some(target), true),
                    None => (fitting.next(limits), false),
                };
                let Some(target) = target else {
                    self.open = None;
                    continue;
                };
                if !dashed && target.features().next().is_some() {
                    self.twin = Some(target);
                }
                let (before, after) = (*before, *after);
                return Some(self.location(before, Some(target), dashed, after));
            }
            if self.used >= limits.search_paths {
                return None;
            }
            let path = self.paths.next()?;
            self.used += 1;
            if self.origin == Origin::Linked && path.starts_with(b"/") {
                continue;
            }
            match around(path) {
                Some((before, after)) => self.open = Some((before, after, Fitting::new(arches))),
                None => return Some(self.location(path, None, false, &[])),
            }
        }
    }

    fn location(
        &self,
        before: &'a [u8],
        target: Option<Candidate<'a>>,
        dashed: bool,
        after: &'a [u8],
    ) -> Location<'a> {
        // A path that begins with its placeholder is relative.
        let folder = if before.starts_with(b"/") { &[] } else { self.folder };
        Location { origin: self.origin, folder, before, target, dashed, after }
    }
}

impl<'a> Lookups<'a> {
    fn next(&mut self, archives: u32, limits: &Limits) -> Option<Action<'a>> {
        if self.first >= archives {
            return None;
        }
        loop {
            if let Some(target) = self.target {
                let archive = self.archive;
                if archive < archives {
                    self.archive += 1;
                    return Some(Action::Lookup { archive, target });
                }
            }
            self.target = Some(self.fitting.next(limits)?);
            self.archive = self.first;
        }
    }
}
