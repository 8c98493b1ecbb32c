//! Names of shards and sets of them, against a naive twin.

use std::collections::BTreeSet;

use rocload_core::gguf::split::{Key, Set, Shard, ShardName};

use crate::random::Random;
use crate::{Verdict, require, same};

/// A file name is taken apart as the naive twin does, printed as it was, and its siblings are
/// names too.
///
/// # Errors
/// [`Broken`](crate::Broken).
pub fn names_agree(file_name: &[u8]) -> Verdict {
    let parsed = ShardName::parse(file_name);
    let twin = naive_name(file_name);
    let ours = parsed.map(|name| (name.prefix.to_vec(), name.number, name.count));
    same("a shard's name is taken apart as the twin does", &ours, &twin)?;
    let Some(name) = parsed else { return Ok(()) };
    let spelt = |name: ShardName<'_>| [name.prefix, name.suffix().to_string().as_bytes()].concat();
    same("a shard's name is printed as it was", &spelt(name), &file_name.to_vec())?;
    for number in [1, name.count / 2 + 1, name.count] {
        let sibling = spelt(name.sibling(number));
        let again = ShardName::parse(&sibling);
        require(
            again.is_some_and(|again| again == name.sibling(number)),
            "siblings are names",
            || sibling.escape_ascii().to_string(),
        )?;
    }
    Ok(())
}

/// The rule by text alone: print every pair of numbers that it could be and compare.
fn naive_name(file_name: &[u8]) -> Option<(Vec<u8>, u32, u32)> {
    let digits_before = |end: usize| {
        let begin = (0..end).rev().take_while(|&at| file_name[at].is_ascii_digit()).last()?;
        let text = std::str::from_utf8(&file_name[begin..end]).ok()?;
        Some((begin, text.parse::<u64>().ok()?))
    };
    let (count_at, count) = digits_before(file_name.len().checked_sub(5)?)?;
    let (number_at, number) = digits_before(count_at.checked_sub(4)?)?;
    let prefix = &file_name[..number_at.checked_sub(1)?];
    let spelt = format!("-{number:05}-of-{count:05}.gguf");
    let is = file_name[prefix.len()..] == *spelt.as_bytes()
        && !prefix.is_empty()
        && (1..=count).contains(&number)
        && count <= 65_535;
    is.then(|| (prefix.to_vec(), number as u32, count as u32))
}

/// Shards made of `bytes` are gathered into a set: what is refused and what is missing is what
/// the naive twin says.
///
/// # Errors
/// [`Broken`](crate::Broken).
pub fn sets_agree(bytes: &[u8]) -> Verdict {
    let Some((&first, rest)) = bytes.split_first() else { return Ok(()) };
    let count = u32::from(first % 33) + 1;
    let name = ShardName { prefix: b"set", number: 1, count };
    let mut set = Set::new(name, [0xaa; 5]).expect("33 bits are in 5 bytes");
    let mut twin = Twin { count, ..Twin::default() };
    let mut draw =
        Random::new(rest.iter().fold(1, |sum, &b| sum * 31 % 0xffff_fffb + u64::from(b)));
    for pair in rest.chunks_exact(2) {
        // Most shards are right, so that sets become complete.
        let number = u32::from(pair[0]) % (count + 2);
        let odd = pair[1] % 16;
        let key = |wrong: u8, right: u64, draw: &mut Random| match odd {
            _ if odd != wrong => Key::Is(right),
            _ => match draw.below(3) {
                0 => Key::Absent,
                1 => Key::Wrong,
                _ => Key::Is(draw.below(5)),
            },
        };
        let shard = Shard {
            no: key(1, u64::from(number).wrapping_sub(1), &mut draw),
            count: key(2, count.into(), &mut draw),
            all_tensors: key(3, u64::from(count) * 2, &mut draw),
            tensors: 2,
        };
        let prefix: &[u8] = if odd == 4 { b"other" } else { b"set" };
        let this = ShardName { prefix, number, count };
        let ours = set.add(this, &shard);
        same("a shard is taken in as by the twin", &ours.is_ok(), &twin.add(this, &shard))?;
        let missing: Vec<u32> = (1..=count).filter(|n| !twin.seen.contains(n)).collect();
        same("the same are missing", &set.missing().collect(), &missing)?;
        same("complete is when none is missing", &set.is_complete(), &missing.is_empty())?;
        let sum = !missing.is_empty() || twin.all.is_none_or(|all| all == twin.tensors);
        same("the sum of the tensors", &set.finish().is_ok(), &sum)?;
    }
    Ok(())
}

#[derive(Default)]
struct Twin {
    count: u32,
    seen: BTreeSet<u32>,
    all: Option<u64>,
    tensors: u64,
}

impl Twin {
    fn add(&mut self, name: ShardName<'_>, shard: &Shard) -> bool {
        let is = |key: Key, right: u64| matches!(key, Key::Is(n) if n == right);
        // A set of one may leave its number out; a shard may leave out the sum alone.
        let number = is(shard.no, u64::from(name.number).wrapping_sub(1))
            || (shard.no == Key::Absent && self.count == 1);
        let alone =
            *shard == Shard { tensors: shard.tensors, ..Shard::default() } && self.count == 1;
        let all = match shard.all_tensors {
            Key::Wrong => false,
            Key::Absent => true,
            Key::Is(all) => {
                self.all.is_none_or(|before| before == all)
                    && (self.count > 1 || all == shard.tensors)
            }
        };
        let fits = name.prefix == b"set"
            && (1..=self.count).contains(&name.number)
            && ((is(shard.count, self.count.into()) && number && all) || alone)
            && self.seen.insert(name.number);
        if fits {
            self.tensors += shard.tensors;
            if let Key::Is(all) = shard.all_tensors {
                self.all = Some(all);
            }
        }
        fits
    }
}
