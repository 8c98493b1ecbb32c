//! `rocload kpack repack`: archives filtered, recompressed and merged into one.

use std::collections::HashMap;
use std::collections::hash_map::Entry as Slot;
use std::path::PathBuf;

use clap::Args;
use clap::error::ErrorKind as UsageKind;
use rocload::core::kpack::{Record, Scheme};
use rocload::error::printable;
use rocload::pack::{Content, Item, Pack as Packing};
use rocload::{Archive, Options};
use serde::Serialize;

use super::diff::{Sameness, compare};
use super::store::{Plan, Store};
use super::{Opened, check_stdin};
use crate::failure::{Failure, Status, printable_path};
use crate::filter::Filter;
use crate::input;
use crate::text;
use crate::ui::Ui;

/// Make an archive from archives: a part of one, all of several, stored in another way
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  rocload kpack repack torch.kpack --arch 'gfx90a*' -o torch_gfx90a.kpack
  rocload kpack repack torch_gfx90a.kpack torch_gfx1100.kpack -o torch.kpack
  rocload kpack repack old.kpack --level 19 --index --checksums -o new.kpack
  rocload kpack repack small.kpack --scheme none -o plain.kpack

Kernels that stay compressed are copied as they are; --level compresses them anew. A kernel that
several archives have must be the same in all. Without options the scheme, the group, the family and
the index are those of the first archive; checksums that kernels have are kept.")]
pub(super) struct Repack {
    /// Archives; - is standard input
    #[arg(value_name = "ARCHIVE", required = true)]
    archives: Vec<PathBuf>,
    #[command(flatten)]
    filter: Filter,
    #[command(flatten)]
    store: Store,
}

/// A kernel of one of the archives.
#[derive(Clone, Copy)]
struct Source {
    archive: usize,
    id: u32,
}

impl Repack {
    pub(super) fn check(&self, json: bool) -> Result<(), (UsageKind, String)> {
        check_stdin(&self.archives)?;
        self.store.check(json)
    }

    pub(super) fn run(self, ui: &mut Ui) {
        match self.repack(ui) {
            Ok(()) => {}
            Err(failures) => ui.fail_all(&failures, "nothing was written"),
        }
    }

    fn repack(&self, ui: &mut Ui) -> Result<(), Vec<Failure>> {
        let one = |failure| vec![failure];
        self.store.terminal().map_or(Ok(()), |failure| Err(vec![failure]))?;
        let (mut archives, mut failures) = (Vec::new(), Vec::new());
        for path in &self.archives {
            self.store.is_not(path).map_err(one)?;
            let opened = input::open(path, &Options::default());
            match opened.and_then(|archive| archive.walk_frames().map(|_| archive)) {
                Ok(archive) => archives.push(archive),
                Err(error) => failures.push(Failure::library(&error, path)),
            }
        }
        if !failures.is_empty() {
            return Err(failures);
        }
        let merged = self.merge(&archives)?;
        let (Some(first), Some(top)) = (archives.first(), archives.first().map(|a| a.toc().toc()))
        else {
            return Ok(());
        };
        let of = |given: &Option<String>, own: Option<&[u8]>| {
            given.as_ref().map_or(own.unwrap_or_default().to_vec(), |name| name.as_bytes().to_vec())
        };
        let group = of(&self.store.group, top.group_name());
        let family = of(&self.store.family, top.gfx_arch_family());
        let mut pack = Packing::new(&group, &family);
        pack.arches = self.arches(&archives, &merged.kernels);
        pack.items = items(&archives, &merged.kernels);
        let default = if self.store.aligns() { Scheme::None } else { first.toc().toc().scheme() };
        let plan = Plan {
            scheme: self.store.scheme().unwrap_or(default),
            index: self.store.index() || is_indexed(first),
            pack,
        };
        let inputs = self.archives.iter().map(|path| path.to_string_lossy().into_owned()).collect();
        let json = RepackJson { inputs, repeated: merged.repeated };
        self.store.write(ui, &plan, json).map_err(one)?;
        if ui.verbose && merged.repeated > 0 {
            ui.remark(&format!(
                "{} in more than one archive, the same in all",
                text::kernels(merged.repeated)
            ));
        }
        Ok(())
    }

    /// The kernels that the filters let through, each once, in the order of the archives and of
    /// their ordinals.
    fn merge(&self, archives: &[Opened]) -> Result<Merged, Vec<Failure>> {
        let mut merged = Merged { kernels: Vec::new(), repeated: 0 };
        let mut seen: HashMap<(&[u8], &[u8]), Source> = HashMap::new();
        let mut conflicts = Vec::new();
        for (number, archive) in archives.iter().enumerate() {
            for (id, record) in by_ordinal(archive) {
                if !self.filter.matches(record.binary, record.arch) {
                    continue;
                }
                let source = Source { archive: number, id };
                match seen.entry((record.binary, record.arch)) {
                    Slot::Vacant(slot) => {
                        slot.insert(source);
                        merged.kernels.push(source);
                    }
                    Slot::Occupied(slot) => match self.clash(archives, *slot.get(), source) {
                        None => merged.repeated += 1,
                        Some(failure) => conflicts.push(failure),
                    },
                }
            }
        }
        if !conflicts.is_empty() {
            return Err(conflicts);
        }
        let arches: Vec<&[u8]> =
            archives.iter().flat_map(|archive| archive.toc().arches()).collect();
        match self.filter.verdict(merged.kernels.len() as u64, &arches) {
            Some(failure) => Err(vec![failure]),
            None => Ok(merged),
        }
    }

    /// What is wrong with two kernels of one name, if they are not the same.
    fn clash(&self, archives: &[Opened], one: Source, other: Source) -> Option<Failure> {
        let (a, b) = (&archives[one.archive], &archives[other.archive]);
        let path = |source: Source| &self.archives[source.archive];
        match compare(a, one.id, b, other.id) {
            Sameness::Same => None,
            Sameness::Differs => {
                let record = a.record_at(one.id);
                let text = format!(
                    "{} for {} is another kernel than in {}",
                    printable(record.binary),
                    printable(record.arch),
                    printable_path(path(one))
                );
                Some(Failure::new(Status::Failed, "conflict", text).at(path(other)))
            }
            Sameness::Left(error) => Some(Failure::library(&error, path(one))),
            Sameness::Right(error) => Some(Failure::library(&error, path(other))),
        }
    }

    /// The architectures in the archives' own order: all of them, or where something is filtered
    /// out those that are left.
    fn arches<'a>(&self, archives: &'a [Opened], kernels: &[Source]) -> Vec<&'a [u8]> {
        let left: std::collections::HashSet<&[u8]> = kernels
            .iter()
            .map(|source| archives[source.archive].record_at(source.id).arch)
            .collect();
        let all = archives.iter().flat_map(|archive| archive.toc().arches());
        all.filter(|arch| self.filter.is_empty() || left.contains(arch)).collect()
    }
}

struct Merged {
    kernels: Vec<Source>,
    /// Kernels that an archive before had already.
    repeated: u64,
}

/// The entries of an archive by their ordinals, and then as they stand in its table.
fn by_ordinal(archive: &Opened) -> Vec<(u32, Record<'_>)> {
    let mut entries: Vec<(u32, Record<'_>)> =
        archive.order().iter().map(|&id| (id, archive.record_at(id))).collect();
    entries.sort_by_key(|(_, record)| (record.ordinal, record.at));
    entries
}

/// Every entry of an archive tells where its frame is.
fn is_indexed(archive: &Opened) -> bool {
    let mut entries = archive.toc().toc().entries().peekable();
    entries.peek().is_some() && entries.all(|record| record.frame_offset.is_some())
}

/// What to pack: entries that share a stored kernel share it again.
fn items<'a>(archives: &'a [Opened], kernels: &[Source]) -> Vec<Item<'a>> {
    let mut stored: HashMap<(usize, u32), usize> = HashMap::new();
    let mut items = Vec::with_capacity(kernels.len());
    for source in kernels {
        let archive: &Archive<_> = &archives[source.archive];
        let record = archive.record_at(source.id);
        let content = match stored.entry((source.archive, record.ordinal)) {
            Slot::Occupied(slot) if same_size(archive, &items, *slot.get(), source.id) => {
                Content::Same(*slot.get())
            }
            slot => {
                slot.insert_entry(items.len());
                Content::Entry(archive, source.id)
            }
        };
        let mut item = Item::new(record.binary, record.arch, content);
        (item.kind, item.metadata) = (record.kind, record.metadata);
        item.sha256 = record.sha256.copied();
        items.push(item);
    }
    items
}

/// Entries of one stored kernel may say different sizes; at most one of them is right.
fn same_size(archive: &Opened, items: &[Item<'_>], before: usize, id: u32) -> bool {
    let size = |id| archive.entry_at(id).map(|entry| entry.size).ok();
    match items.get(before).map(|item| item.content) {
        Some(Content::Entry(_, other)) => size(other) == size(id),
        _ => false,
    }
}

#[derive(Serialize)]
struct RepackJson {
    inputs: Vec<String>,
    /// Kernels that more than one of them has.
    repeated: u64,
}
