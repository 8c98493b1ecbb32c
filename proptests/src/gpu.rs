//! GPUs: what must hold of any machine, however broken, and of any choice.
//!
//! A machine is a [`Tree`], written as text so that a fuzzer can change it: a line `@path` begins a
//! file, which ends before the next line that begins with `@`, `!` or `$`; `!path` denies one;
//! `$NAME=value` is a variable of the environment.

use std::collections::{BTreeMap, BTreeSet};

use rocload_core::gpu::ask::{Ask, DeviceFile, Refusal};
use rocload_core::gpu::visible::{End, select};
use rocload_core::gpu::{
    self, Access, Choice, Found, Gpu, Kind, Mask, OtherCard, Policy, Reason, Scan, Target,
    Variables, Verdict as Judged, overrides,
};

use crate::{Broken, Verdict, require, same};

/// A machine in memory, and the variables of an environment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tree {
    /// Paths and contents.
    pub files: BTreeMap<Vec<u8>, Vec<u8>>,
    /// Paths that may not be opened.
    pub denied: BTreeSet<Vec<u8>>,
    /// Names and values.
    pub variables: Vec<(Vec<u8>, Vec<u8>)>,
}

/// Slots for nodes, and for cards, of the scans here.
pub const SLOTS: usize = 80;

type Scanned = Found<Vec<Gpu>, Vec<OtherCard>>;

impl Tree {
    /// Reads the text of a machine; any bytes are one.
    pub fn parse(text: &[u8]) -> Tree {
        let mut tree = Tree::default();
        let mut open: Option<Vec<u8>> = None;
        for line in text.split_inclusive(|byte| *byte == b'\n') {
            let bare = line.strip_suffix(b"\n").unwrap_or(line);
            match bare.split_first() {
                Some((b'@', path)) => {
                    tree.files.insert(path.to_vec(), Vec::new());
                    open = Some(path.to_vec());
                }
                Some((b'!', path)) => drop(tree.denied.insert(path.to_vec())),
                Some((b'$', variable)) => {
                    let at = variable.iter().position(|byte| *byte == b'=');
                    let (name, value) = variable.split_at(at.unwrap_or(variable.len()));
                    let value = value.strip_prefix(b"=").unwrap_or(value);
                    tree.variables.push((name.to_vec(), value.to_vec()));
                }
                _ => {
                    if let Some(file) = open.as_ref().and_then(|path| tree.files.get_mut(path)) {
                        file.extend_from_slice(line);
                    }
                }
            }
        }
        tree
    }

    /// The text of the machine.
    pub fn text(&self) -> Vec<u8> {
        let mut text = Vec::new();
        for (name, value) in &self.variables {
            text.extend([&b"$"[..], name, b"=", value, b"\n"].concat());
        }
        for path in &self.denied {
            text.extend([&b"!"[..], path, b"\n"].concat());
        }
        for (path, content) in &self.files {
            text.extend([&b"@"[..], path, b"\n", content].concat());
        }
        text
    }

    fn names(&self, folder: &[u8]) -> BTreeSet<&[u8]> {
        let first = [folder, b"/"].concat();
        let below = self.files.range(first.clone()..).map(|(path, _)| &path[..]);
        below
            .map_while(|path| path.strip_prefix(&first[..]))
            .filter_map(|rest| rest.split(|byte| *byte == b'/').next())
            .collect()
    }

    fn answer(
        &self,
        ask: Ask,
        backwards: bool,
        entry: &mut dyn FnMut(&[u8]),
    ) -> Result<&[u8], Refusal> {
        let path = ask.to_string().into_bytes();
        if self.denied.contains(&path) {
            return Err(Refusal::Denied);
        }
        if let Ask::List(_) = ask {
            let names = self.names(&path);
            if names.is_empty() {
                return Err(Refusal::Missing);
            }
            match backwards {
                true => names.iter().rev().for_each(|name| entry(name)),
                false => names.iter().for_each(|name| entry(name)),
            }
            return Ok(b"");
        }
        self.files.get(&path).map(Vec::as_slice).ok_or(Refusal::Missing)
    }

    /// Scans the machine, with folders told forwards or backwards, into [`SLOTS`] slots.
    ///
    /// # Errors
    /// [`Broken`] when the scan asks without an end, or its memory is not enough and it does not say so.
    pub fn scan(&self, backwards: bool) -> Result<Option<Scanned>, Broken> {
        self.scan_into(SLOTS, backwards)
    }

    /// As [`scan`](Tree::scan), into so many slots for nodes, and as many for cards.
    ///
    /// # Errors
    /// As [`scan`](Tree::scan).
    pub fn scan_into(&self, slots: usize, backwards: bool) -> Result<Option<Scanned>, Broken> {
        let mut scan = Scan::new(vec![Gpu::default(); slots], vec![OtherCard::default(); slots]);
        let mut asked = 0;
        let mut full = false;
        while let Some(ask) = scan.ask() {
            asked += 1;
            require(asked < SLOTS * 100, "a scan ends", || format!("{ask} is asked for"))?;
            let answer = self.answer(ask, backwards, &mut |name| full |= scan.entry(name).is_err());
            scan.answer(answer);
        }
        match scan.finish() {
            Ok(found) => {
                require(!full, "what does not fit is told", String::new).map(|()| Some(found))
            }
            Err(need) => {
                require(full && need.need > slots as u64, "full only when it is", || {
                    format!("{need:?}")
                })?;
                Ok(None)
            }
        }
    }

    fn with<T>(&self, work: impl FnOnce(&Variables<'_>) -> T) -> T {
        let pairs: Vec<(&[u8], &[u8])> =
            self.variables.iter().map(|(n, v)| (&n[..], &v[..])).collect();
        work(&Variables(&pairs))
    }
}

fn choose(gpus: &[Gpu], policy: &Policy<'_>, variables: &Variables<'_>) -> (Choice, Vec<Judged>) {
    let mut verdicts = vec![Judged::default(); gpus.len()];
    let choice = gpu::choose(gpus, policy, variables, &mut verdicts);
    (choice.expect("a verdict for each"), verdicts)
}

const POLICIES: [Policy<'static>; 2] = [
    Policy { integrated: &[Target::GFX1151], build: None, multi: false },
    Policy { integrated: &[Target::GFX1151], build: None, multi: true },
];

/// A machine, however broken: the scan ends, the order of folders is all the same, a second look
/// finds the same, and only what may be opened is ever chosen.
///
/// `seed` chooses one of the orders and the second look, a policy, and what [`choice`] tries;
/// `None` = all.
///
/// # Errors
/// [`Broken`].
pub fn machine(tree: &Tree, seed: Option<u64>) -> Verdict {
    // Now and then there is too little room.
    let slots = match seed.map(|seed| (seed % 16, seed / 16)) {
        Some((0, seed)) => (seed % 3) as usize,
        Some((1, _)) | None => SLOTS,
        Some(_) => SLOTS / 8,
    };
    let Some(mut found) = tree.scan_into(slots, false)? else { return Ok(()) };
    if seed.is_none_or(|seed| seed & 2 == 0) {
        let backwards = tree.scan_into(slots, true)?;
        let order = "the order of folders is all the same";
        require(backwards.as_ref() == Some(&found), order, || format!("{found:?}, {backwards:?}"))?;
    }
    if seed.is_none_or(|seed| seed & 2 == 2) {
        let mut again = found.clone();
        let mut refresh = again.refresh();
        while let Some(ask) = refresh.ask() {
            let answer = tree.answer(ask, false, &mut |name| refresh.entry(name));
            refresh.answer(answer);
        }
        refresh.finish();
        same("a second look finds the same", &again, &found)?;
    }

    let mut next = 0;
    for gpu in found.gpus() {
        if let Some(ordinal) = gpu.ordinal {
            same("ordinals count what the runtime sees", &ordinal, &next)?;
            next += 1;
        }
        let free = gpu.vram.free();
        require(free <= gpu.vram.total, "no more is free than there is", || format!("{gpu:?}"))?;
        let unified = gpu.unified_free(found.available());
        require(unified.is_none() || gpu.kind == Kind::Integrated, "boards share nothing", || {
            format!("{gpu:?}")
        })?;
    }
    tree.with(|variables| {
        let bad = overrides::apply(found.gpus_mut(), variables).is_err();
        let policies = match seed {
            _ if bad => &[][..],
            Some(seed) => &POLICIES[(seed % 2) as usize..][..1],
            None => &POLICIES,
        };
        for policy in policies {
            let (_, verdicts) = choose(found.gpus(), policy, variables);
            for gpu in gpu::chosen(found.gpus(), &verdicts) {
                let may = |device| {
                    let path = Ask::Open(device).to_string().into_bytes();
                    tree.files.contains_key(&path) && !tree.denied.contains(&path)
                };
                let render =
                    gpu.node.render_minor().is_some_and(|minor| may(DeviceFile::Render(minor)));
                require(
                    render && may(DeviceFile::Kfd),
                    "only what may be opened is chosen",
                    || format!("{gpu:?}"),
                )?;
            }
            choice(found.gpus(), policy, variables, seed)?;
        }
        Ok(())
    })
}

/// A choice among any devices: what it must be by itself, what may be added without changing it,
/// and that more free memory never loses. `seed` chooses where something is added, and four
/// devices that get more memory; `None` = all.
///
/// # Errors
/// [`Broken`].
pub fn choice(
    gpus: &[Gpu],
    policy: &Policy<'_>,
    variables: &Variables<'_>,
    seed: Option<u64>,
) -> Verdict {
    let (choice, verdicts) = choose(gpus, policy, variables);
    let chosen: Vec<&Gpu> = gpu::chosen(gpus, &verdicts).collect();
    let count = verdicts.iter().filter(|verdict| matches!(verdict, Judged::Chosen(_))).count();
    same("every chosen one has its place", &chosen.len(), &count)?;
    same("as many as are told", &choice.chosen.map_or(0, |chosen| chosen.count), &count)?;
    let first = choice.chosen.and_then(|chosen| gpus.get(chosen.first));
    same(
        "the first is the first",
        &first.map(|gpu| gpu.node.id),
        &chosen.first().map(|gpu| gpu.node.id),
    )?;
    for gpu in &chosen {
        let usable =
            gpu.access == Access::Granted && gpu.ordinal.is_some() && gpu.effective.is_some();
        require(usable, "only a usable device is chosen", || format!("{gpu:?}"))?;
    }
    if choice.chosen.is_none() {
        let usable = |verdict: &Judged| match verdict {
            Judged::Rejected(reason) => !reason.is_unusable() && *reason != Reason::Integrated,
            Judged::Chosen(_) => true,
        };
        require(!verdicts.iter().any(usable), "a board that can be used is chosen", || {
            format!("{verdicts:?}")
        })?;
    }
    mask_names(gpus, &verdicts, variables)?;
    additions(gpus, policy, variables, &chosen, seed)?;
    more_memory(gpus, policy, variables, &chosen, seed)
}

/// What is written for the runtime names the chosen devices, in their order.
fn mask_names(gpus: &[Gpu], verdicts: &[Judged], variables: &Variables<'_>) -> Verdict {
    let mut text = vec![0; gpu::mask::room(gpus.len())];
    let mask = gpu::mask(gpus, verdicts, variables, &mut text);
    let masks = variables.masks().count();
    let Ok(Mask::Set(list)) = mask else {
        let none = !verdicts.iter().any(|verdict| matches!(verdict, Judged::Chosen(_)));
        let expected = Ok(if masks > 0 { Mask::Kept } else { Mask::None });
        require(masks > 0 || none, "a choice has a mask", || format!("{mask:?}"))?;
        return same("no mask but for nothing or the caller's", &mask, &expected);
    };
    same("the caller's masks are kept", &masks, &0)?;
    let seen: Vec<&Gpu> = gpus.iter().filter(|gpu| gpu.ordinal.is_some()).collect();
    let ranked = seen.iter().zip(0..).all(|(gpu, rank)| gpu.ordinal == Some(rank));
    if !ranked {
        // Not as a scan gives them.
        return Ok(());
    }
    let mut read = Vec::new();
    let end = select(
        list.as_bytes(),
        seen.len() as u32,
        |at| seen[at as usize].node.unique_id,
        |at| {
            read.push(seen[at as usize].node.id);
            true
        },
    );
    let wanted: Vec<u32> = gpu::chosen(gpus, verdicts).map(|gpu| gpu.node.id).collect();
    same("the runtime reads the mask to its end", &end, &End::Complete)?;
    same("and finds the chosen devices", &read, &wanted)
}

/// A device that cannot be used changes nothing, wherever it stands.
fn additions(
    gpus: &[Gpu],
    policy: &Policy<'_>,
    variables: &Variables<'_>,
    chosen: &[&Gpu],
    seed: Option<u64>,
) -> Verdict {
    let Some(model) = gpus.first() else { return Ok(()) };
    if variables.masks().next().is_some() {
        // A list counts by ordinals, and a device more changes those.
        return Ok(());
    }
    let id = gpus.iter().map(|gpu| gpu.node.id).max().unwrap_or(0).saturating_add(1);
    let mut base =
        Gpu { effective: Some(Target::GFX1151), ordinal: Some(gpus.len() as u32), ..*model };
    (base.access, base.kind, base.node.id) = (Access::Granted, Kind::Discrete, id);
    base.vram = gpu::Memory { total: Some(u64::MAX), used: Some(0) };
    let unusable = [
        Gpu { access: Access::Denied, ..base },
        Gpu { ordinal: None, ..base },
        Gpu { effective: None, ..base },
        Gpu { access: Access::Missing, ordinal: None, effective: None, ..base },
    ];
    let ids = |gpus: &[&Gpu]| gpus.iter().map(|gpu| gpu.node.id).collect::<Vec<_>>();
    let places = [0, gpus.len() / 2, gpus.len()];
    for added in unusable {
        let places = match seed {
            Some(seed) => &places[(seed % 3) as usize..][..1],
            None => &places,
        };
        for at in places {
            let mut more = gpus.to_vec();
            more.insert(*at, added);
            let (_, verdicts) = choose(&more, policy, variables);
            let now: Vec<&Gpu> = gpu::chosen(&more, &verdicts).collect();
            same("an unusable device changes nothing", &ids(&now), &ids(chosen))?;
        }
    }
    Ok(())
}

/// The first of the chosen with more free memory is still the first; another one with more free
/// memory than all is chosen or could not be.
fn more_memory(
    gpus: &[Gpu],
    policy: &Policy<'_>,
    variables: &Variables<'_>,
    chosen: &[&Gpu],
    seed: Option<u64>,
) -> Verdict {
    let some =
        |at: &usize| seed.is_none_or(|seed| at.wrapping_add(seed as usize) % gpus.len().max(1) < 4);
    for (at, gpu) in gpus.iter().enumerate().filter(|(at, _)| some(at)) {
        let was_first = chosen.first().is_some_and(|first| first.node.id == gpu.node.id);
        let mut more = gpus.to_vec();
        let total = gpu.vram.total.unwrap_or(0).max(gpu.vram.used.unwrap_or(0));
        more[at].vram = gpu::Memory { total: Some(total), used: Some(0) };
        let (_, verdicts) = choose(&more, policy, variables);
        let first = verdicts.iter().position(|verdict| *verdict == Judged::Chosen(0));
        if was_first && gpus.iter().filter(|other| other.node.id == gpu.node.id).count() == 1 {
            same("more free memory never loses", &first, &Some(at))?;
        }
    }
    Ok(())
}

/// A list of visible devices, read by a second reader that is written from the description alone.
///
/// # Errors
/// [`Broken`].
pub fn visible(list: &[u8], uuids: &[Option<u64>]) -> Verdict {
    let mut read = Vec::new();
    let end = select(
        list,
        uuids.len() as u32,
        |at| uuids[at as usize],
        |at| {
            let new = !read.contains(&at);
            if new {
                read.push(at);
            }
            new
        },
    );
    require(read.len() <= uuids.len(), "no more than there are", || format!("{read:?}"))?;
    // Only lists of plain ordinals and whole tokens: what else there is, strtol knows best.
    let Ok(text) = core::str::from_utf8(list) else { return Ok(()) };
    let mut twin: Vec<u32> = Vec::new();
    for token in text.split(',').take(uuids.len()) {
        let upper = token.to_ascii_uppercase();
        let found = if let Some(digits) = upper.strip_prefix("GPU-") {
            let is =
                |id: &Option<u64>| id.is_some_and(|id| format!("{id:016X}").starts_with(digits));
            let matches: Vec<usize> = (0..uuids.len()).filter(|at| is(&uuids[*at])).collect();
            match matches[..] {
                [one] if !digits.is_empty() && digits.len() <= 16 => Some(one as u32),
                _ => None,
            }
        } else {
            let plain = !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_digit());
            if plain && (token == "0" || !token.starts_with('0')) {
                token.parse().ok()
            } else if token.starts_with(['0', '+', '-', ' ', '\t', '\n', '\r', '\x0b', '\x0c']) {
                return Ok(());
            } else {
                None
            }
        };
        match found {
            Some(at) if (at as usize) < uuids.len() && !twin.contains(&at) => twin.push(at),
            _ => break,
        }
    }
    same("two readers see the same devices", &read, &twin)?;
    let complete = end == End::Complete;
    let tokens = text.split(',').filter(|token| !token.is_empty()).count();
    require(!complete || read.len() == tokens, "complete means all", || format!("{read:?} {end}"))
}
