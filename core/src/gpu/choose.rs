//! The choice of a device, with its reason and the reason of every one that is not chosen.
//!
//! A candidate is a GPU that this process may use, that its masks show, whose target is known and
//! that the build at hand has kernels for. Boards come before integrated GPUs, which are chosen
//! only where their target is on a list; then the most free video memory decides (unknown comes
//! last), then the lowest node. With [`Policy::multi`] every board of the same target is taken.

use core::cmp::Reverse;

use super::Target;
use super::device::{Access, Gpu, Kind};
use super::visible::{End, Variables, select};
use crate::error::Full;

/// What is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policy<'p> {
    /// Integrated GPUs that may be chosen where there is no board: gfx1151.
    pub integrated: &'p [Target],
    /// Targets that the build has kernels for; `None` = all.
    pub build: Option<&'p [Target]>,
    /// All boards of one target, instead of one device.
    pub multi: bool,
}

impl Default for Policy<'_> {
    fn default() -> Self {
        Policy { integrated: &[Target::GFX1151], build: None, multi: false }
    }
}

/// Why a device was chosen. Of those that hold the first in this order is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Why {
    /// All boards of one target, as wanted.
    AllSameTarget,
    /// It is the first part of a divided card.
    FirstPartition,
    /// It is integrated, and its target may be chosen.
    AllowedIntegrated,
    /// No other can be used.
    OnlyUsable,
    /// No other board can be used.
    OnlyDiscrete,
    /// It has the most free video memory.
    MostFreeVram,
    /// Of those with as much free memory it is the first.
    LowestNode,
}

impl Why {
    /// A stable name, as `only_usable`.
    pub const fn name(self) -> &'static str {
        match self {
            Why::AllSameTarget => "all_same_target",
            Why::FirstPartition => "first_partition",
            Why::AllowedIntegrated => "allowed_integrated",
            Why::OnlyUsable => "only_usable",
            Why::OnlyDiscrete => "only_discrete",
            Why::MostFreeVram => "most_free_vram",
            Why::LowestNode => "lowest_node",
        }
    }

    /// The reason in words.
    pub const fn text(self) -> &'static str {
        match self {
            Why::AllSameTarget => "all boards of one target",
            Why::FirstPartition => "the first part of a divided card",
            Why::AllowedIntegrated => "an integrated gpu that may be chosen, and there is no board",
            Why::OnlyUsable => "the only gpu that can be used",
            Why::OnlyDiscrete => "the only board",
            Why::MostFreeVram => "the most free video memory",
            Why::LowestNode => "others are as good, and it has the lowest node",
        }
    }
}

/// Why a device was not chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Reason {
    /// This process may not use it.
    NoAccess,
    /// A visible-device variable hides it.
    Masked,
    /// Nobody can name its target.
    UnknownTarget,
    /// The build has no kernels for it.
    NotInBuild,
    /// It is integrated, and there is a board, or its target is not on the list.
    Integrated,
    /// Its free memory is not known, and another's is.
    UnknownSize,
    /// Another has more free memory.
    LessFreeVram,
    /// Another with as much free memory comes before it.
    LaterNode,
}

impl Reason {
    /// A stable name, as `less_free_vram`.
    pub const fn name(self) -> &'static str {
        match self {
            Reason::NoAccess => "no_access",
            Reason::Masked => "masked",
            Reason::UnknownTarget => "unknown_target",
            Reason::NotInBuild => "not_in_build",
            Reason::Integrated => "integrated",
            Reason::UnknownSize => "unknown_size",
            Reason::LessFreeVram => "less_free_vram",
            Reason::LaterNode => "later_node",
        }
    }

    /// The reason in words.
    pub const fn text(self) -> &'static str {
        match self {
            Reason::NoAccess => "this process may not use it",
            Reason::Masked => "a visible-devices variable hides it",
            Reason::UnknownTarget => "its target is not known",
            Reason::NotInBuild => "the build has no kernels for its target",
            Reason::Integrated => "it is integrated",
            Reason::UnknownSize => "its free memory is not known",
            Reason::LessFreeVram => "another has more free memory",
            Reason::LaterNode => "another that is as good comes before it",
        }
    }

    /// The device could not have been chosen whatever others there are.
    pub const fn is_unusable(self) -> bool {
        matches!(
            self,
            Reason::NoAccess | Reason::Masked | Reason::UnknownTarget | Reason::NotInBuild
        )
    }
}

/// What became of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// It was chosen, in this place.
    Chosen(u32),
    /// It was not.
    Rejected(Reason),
}

impl Default for Verdict {
    fn default() -> Self {
        Verdict::Rejected(Reason::NoAccess)
    }
}

/// A choice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Chosen {
    /// Which of the GPUs is the first.
    pub first: usize,
    /// How many are chosen.
    pub count: usize,
    /// Why.
    pub why: Why,
}

/// What came of a choice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Choice {
    /// The device or devices; `None` = no GPU can be used.
    pub chosen: Option<Chosen>,
    /// How reading `ROCR_VISIBLE_DEVICES` ended, where it is set.
    pub rocr: Option<End>,
    /// The same of the variable of the layer above.
    pub layer: Option<End>,
}

/// Chooses among `gpus`; `verdicts` takes one for each, in their order.
///
/// # Errors
/// [`Full`] with the number of GPUs, where there are fewer verdicts.
///
/// ```
/// use rocload_core::gpu::{self, Access, Gpu, Node, Policy, Reason, Target, Variables, Verdict};
///
/// let gpu = |id, target, ordinal| Gpu {
///     node: Node::new(id),
///     target: Target::parse(target),
///     effective: Target::parse(target),
///     access: Access::Granted,
///     ordinal: Some(ordinal),
///     ..Gpu::default()
/// };
/// let mut gpus = [gpu(1, "gfx1101", 0), gpu(2, "gfx1036", 1)];
/// gpus[1].kind = gpu::Kind::Integrated;
/// let mut verdicts = [Verdict::default(); 2];
/// let choice = gpu::choose(&gpus, &Policy::default(), &Variables::default(), &mut verdicts)?;
/// assert_eq!(choice.chosen.unwrap().why.name(), "only_discrete");
/// assert_eq!(verdicts, [Verdict::Chosen(0), Verdict::Rejected(Reason::Integrated)]);
/// # Ok::<(), rocload_core::Full>(())
/// ```
pub fn choose(
    gpus: &[Gpu],
    policy: &Policy<'_>,
    variables: &Variables<'_>,
    verdicts: &mut [Verdict],
) -> Result<Choice, Full> {
    let Some(verdicts) = verdicts.get_mut(..gpus.len()) else {
        return Err(Full { need: gpus.len() as u64 });
    };
    for (gpu, verdict) in gpus.iter().zip(&mut *verdicts) {
        *verdict = match gpu.ordinal {
            // No runtime counts so many; the bits above are used below.
            Some(ordinal @ 0..0x8000) if gpu.access == Access::Granted => Verdict::Chosen(ordinal),
            _ => Verdict::Rejected(Reason::NoAccess),
        };
    }
    let rocr = variables.rocr().map(|list| mask(gpus, verdicts, list));
    let layer = variables.layer().map(|(_, list)| mask(gpus, verdicts, list));
    for (gpu, verdict) in gpus.iter().zip(&mut *verdicts) {
        let reason = match (*verdict, gpu.effective, policy.build) {
            (Verdict::Rejected(_), ..) => continue,
            (_, None, _) => Reason::UnknownTarget,
            (_, Some(target), Some(build)) if !build.contains(&target) => Reason::NotInBuild,
            _ => continue,
        };
        *verdict = Verdict::Rejected(reason);
    }
    let usable = |verdicts: &[Verdict]| {
        verdicts.iter().filter(|verdict| matches!(verdict, Verdict::Chosen(_))).count()
    };
    let candidates = usable(verdicts);
    let is_board = |gpu: &Gpu| gpu.kind != Kind::Integrated;
    let boards = gpus
        .iter()
        .zip(&*verdicts)
        .filter(|(gpu, verdict)| is_board(gpu) && matches!(verdict, Verdict::Chosen(_)))
        .count();
    for (gpu, verdict) in gpus.iter().zip(&mut *verdicts) {
        let listed = gpu.target.is_some_and(|target| policy.integrated.contains(&target));
        if matches!(verdict, Verdict::Chosen(_)) && !is_board(gpu) && (boards > 0 || !listed) {
            *verdict = Verdict::Rejected(Reason::Integrated);
        }
    }
    let chosen = rank(gpus, policy, verdicts).map(|(first, count)| {
        let gpu = &gpus[first];
        let most = gpus.iter().enumerate().zip(&*verdicts).all(|((at, other), verdict)| {
            let rival = matches!(
                verdict,
                Verdict::Chosen(_)
                    | Verdict::Rejected(
                        Reason::LaterNode | Reason::UnknownSize | Reason::LessFreeVram
                    )
            );
            !rival || at == first || other.vram.free() < gpu.vram.free()
        });
        let why = if count > 1 {
            Why::AllSameTarget
        } else if gpu.is_part() && gpu.partition.is_some_and(|partition| partition.index == 0) {
            Why::FirstPartition
        } else if !is_board(gpu) {
            Why::AllowedIntegrated
        } else if candidates == 1 {
            Why::OnlyUsable
        } else if boards == 1 {
            Why::OnlyDiscrete
        } else if most {
            Why::MostFreeVram
        } else {
            Why::LowestNode
        };
        Chosen { first, count, why }
    });
    Ok(Choice { chosen, rocr, layer })
}

/// The device of the place `rank`.
fn at_rank(verdicts: &[Verdict], rank: u32) -> Option<usize> {
    verdicts.iter().position(|verdict| *verdict == Verdict::Chosen(rank))
}

/// Lays a list over the devices that are left, whose places it counts by.
fn mask(gpus: &[Gpu], verdicts: &mut [Verdict], list: &[u8]) -> End {
    // No list names so many devices: the highest bit tells which were named.
    const NAMED: u32 = 1 << 31;
    let left = verdicts.iter().filter(|verdict| matches!(verdict, Verdict::Chosen(_))).count();
    let mut next = 0;
    let end = {
        let named = core::cell::RefCell::new(&mut *verdicts);
        // A device is found by its place, named or not yet.
        let find = |place: u32| {
            let verdicts = named.borrow();
            let is = |verdict: &Verdict| matches!(*verdict, Verdict::Chosen(rank) if rank & 0xffff == place);
            verdicts.iter().position(is)
        };
        select(
            list,
            left.min(0xffff) as u32,
            |place| gpus.get(find(place)?)?.node.unique_id,
            |place| {
                let Some(at) = find(place) else { return false };
                let mut verdicts = named.borrow_mut();
                match verdicts[at] {
                    Verdict::Chosen(rank) if rank & NAMED == 0 => {
                        verdicts[at] = Verdict::Chosen(NAMED | next << 16 | rank);
                        next += 1;
                        true
                    }
                    _ => false,
                }
            },
        )
    };
    for verdict in verdicts {
        *verdict = match *verdict {
            Verdict::Chosen(rank) if rank & NAMED != 0 => Verdict::Chosen(rank >> 16 & 0x7fff),
            Verdict::Chosen(_) => Verdict::Rejected(Reason::Masked),
            rejected => rejected,
        };
    }
    end
}

/// Ranks the devices that are left: the first of them, and how many are chosen.
fn rank(gpus: &[Gpu], policy: &Policy<'_>, verdicts: &mut [Verdict]) -> Option<(usize, usize)> {
    // None sorts before Some, so unknown comes last when reversed.
    let key = |at: usize| (Reverse(gpus[at].vram.free()), gpus[at].node.id, at);
    let left = |verdicts: &[Verdict]| {
        let left = |at: &usize| matches!(verdicts[*at], Verdict::Chosen(_));
        (0..gpus.len()).filter(left).min_by_key(|at| key(*at))
    };
    let first = left(verdicts)?;
    let best = &gpus[first];
    let together =
        |gpu: &Gpu| policy.multi && gpu.kind != Kind::Integrated && gpu.effective == best.effective;
    for at in 0..gpus.len() {
        if matches!(verdicts[at], Verdict::Chosen(_)) && at != first && !together(&gpus[at]) {
            verdicts[at] = Verdict::Rejected(match (gpus[at].vram.free(), best.vram.free()) {
                (None, Some(_)) => Reason::UnknownSize,
                (free, most) if free < most => Reason::LessFreeVram,
                _ => Reason::LaterNode,
            });
        }
    }
    // Places, in the order of the keys.
    let count = (0..gpus.len()).filter(|at| matches!(verdicts[*at], Verdict::Chosen(_))).count();
    let mut behind = None;
    for place in 0..count {
        let next = (0..gpus.len())
            .filter(|at| matches!(verdicts[*at], Verdict::Chosen(_)))
            .filter(|at| behind.is_none_or(|behind| key(*at) > behind))
            .min_by_key(|at| key(*at))?;
        verdicts[next] = Verdict::Chosen(place as u32);
        behind = Some(key(next));
    }
    Some((first, count))
}

/// The chosen devices, in their order.
pub fn chosen<'g>(gpus: &'g [Gpu], verdicts: &'g [Verdict]) -> impl Iterator<Item = &'g Gpu> {
    (0..).map_while(|rank| gpus.get(at_rank(verdicts, rank)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::card::Memory;
    use crate::gpu::device::Partition;
    use crate::gpu::node::Node;
    use alloc::vec::Vec;

    fn gpu(id: u32, target: &str, free: Option<u64>) -> Gpu {
        let target = Target::parse(target);
        Gpu {
            node: Node { unique_id: Some(id.into()), ..Node::new(id) },
            target,
            effective: target,
            access: Access::Granted,
            ordinal: Some(id - 1),
            kind: if target.is_some_and(Target::is_integrated) {
                Kind::Integrated
            } else {
                Kind::Discrete
            },
            vram: Memory { total: free, used: free.map(|_| 0) },
            ..Gpu::default()
        }
    }

    fn run(
        gpus: &[Gpu],
        policy: &Policy<'_>,
        set: &[(&[u8], &[u8])],
    ) -> (Option<&'static str>, Vec<&'static str>, Vec<u32>) {
        let mut verdicts = alloc::vec![Verdict::default(); gpus.len()];
        let choice = choose(gpus, policy, &Variables(set), &mut verdicts).unwrap();
        let told = verdicts.iter().map(|verdict| match verdict {
            Verdict::Chosen(_) => "chosen",
            Verdict::Rejected(reason) => reason.name(),
        });
        let order = chosen(gpus, &verdicts).map(|gpu| gpu.node.id).collect();
        (choice.chosen.map(|chosen| chosen.why.name()), told.collect(), order)
    }

    #[test]
    fn reasons_for_each() {
        let mut gpus = [
            gpu(1, "gfx1201", Some(5)),
            gpu(2, "gfx1201", Some(7)),
            gpu(3, "gfx1036", Some(99)),
            gpu(4, "gfx1100", None),
            gpu(5, "gfx1201", Some(7)),
            gpu(6, "", Some(100)),
            gpu(7, "gfx900", Some(100)),
        ];
        gpus[6].access = Access::Denied;
        let (why, told, _) = run(&gpus, &Policy::default(), &[]);
        assert_eq!(why, Some("lowest_node"));
        let wanted = [
            "less_free_vram",
            "chosen",
            "integrated",
            "unknown_size",
            "later_node",
            "unknown_target",
            "no_access",
        ];
        assert_eq!(told, wanted);
        let build = [Target::parse("gfx1100").unwrap()];
        let policy = Policy { build: Some(&build), ..Policy::default() };
        assert_eq!(run(&gpus, &policy, &[]).0, Some("only_usable"));
        let policy = Policy { multi: true, ..Policy::default() };
        let (why, _, order) = run(&gpus, &policy, &[]);
        assert_eq!((why, &order[..]), (Some("all_same_target"), &[2, 5, 1][..]));
    }

    #[test]
    fn integrated_only_where_allowed_and_alone() {
        let gpus = [gpu(1, "gfx1151", Some(5)), gpu(2, "gfx1036", Some(7))];
        assert_eq!(run(&gpus, &Policy::default(), &[]).0, Some("allowed_integrated"));
        assert_eq!(run(&gpus[1..], &Policy::default(), &[]).0, None);
        let both = [gpus[0], gpu(2, "gfx1100", None)];
        assert_eq!(run(&both, &Policy::default(), &[]).0, Some("only_discrete"));
    }

    #[test]
    fn parts_and_equals() {
        let mut gpus = [gpu(1, "gfx942", None), gpu(2, "gfx942", None)];
        assert_eq!(run(&gpus, &Policy::default(), &[]).0, Some("lowest_node"));
        gpus[0].partition = Some(Partition { index: 0, of: 8 });
        assert_eq!(run(&gpus, &Policy::default(), &[]).0, Some("first_partition"));
        gpus[0].partition = Some(Partition { index: 3, of: 8 });
        assert_eq!(run(&gpus, &Policy::default(), &[]).0, Some("lowest_node"));
    }

    #[test]
    fn masks_hide_and_count_among_what_is_left() {
        let gpus =
            [gpu(1, "gfx1201", Some(5)), gpu(2, "gfx1201", Some(7)), gpu(3, "gfx1201", Some(6))];
        let order = |set: &[(&[u8], &[u8])]| {
            run(&gpus, &Policy { multi: true, ..Policy::default() }, set).2
        };
        assert_eq!(order(&[(b"ROCR_VISIBLE_DEVICES", b"0,2")]), [3, 1]);
        assert!(order(&[(b"ROCR_VISIBLE_DEVICES", b"")]).is_empty());
        assert_eq!(
            order(&[(b"ROCR_VISIBLE_DEVICES", b"2,0"), (b"HIP_VISIBLE_DEVICES", b"1")]),
            [1]
        );
        // One device is left, and the layer above asks for the second.
        assert!(
            order(&[(b"ROCR_VISIBLE_DEVICES", b"1"), (b"HIP_VISIBLE_DEVICES", b"1")]).is_empty()
        );
        assert_eq!(order(&[(b"CUDA_VISIBLE_DEVICES", b"GPU-0000000000000002")]), [2]);
        let (_, told, _) = run(&gpus, &Policy::default(), &[(b"ROCR_VISIBLE_DEVICES", b"1,1,0")]);
        assert_eq!(told, ["masked", "chosen", "masked"]);
    }

    #[test]
    fn too_few_verdicts_are_told() {
        let gpus = [gpu(1, "gfx1201", Some(5)); 3];
        let short =
            choose(&gpus, &Policy::default(), &Variables::default(), &mut [Verdict::default(); 2]);
        assert_eq!(short, Err(Full { need: 3 }));
    }
}
