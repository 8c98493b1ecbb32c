//! Every script of an alphabet up to a length, depth first.

use rocload_core::serve::Policy;

use super::{Letter, World};
use crate::Broken;

/// Tries every script of at most `length` letters; each step is checked as by
/// [`holds`](super::holds). Returns how many scripts there were.
///
/// # Errors
/// The property that does not hold, with the script.
pub fn every(policy: Policy, alphabet: &[Letter], length: usize) -> Result<u64, Broken> {
    let mut path = Vec::with_capacity(length);
    below(&World::new(policy), alphabet, length, &mut path)
}

fn below(
    world: &World,
    alphabet: &[Letter],
    length: usize,
    path: &mut Vec<Letter>,
) -> Result<u64, Broken> {
    if length == 0 {
        return Ok(0);
    }
    let mut scripts = 0;
    for letter in alphabet {
        path.push(*letter);
        let mut next = world.clone();
        if let Err(mut broken) = next.step(*letter, &mut |_, _| {}) {
            broken.found = format!("after {path:?}: {}", broken.found);
            return Err(broken);
        }
        scripts += 1 + below(&next, alphabet, length - 1, path)?;
        path.pop();
    }
    Ok(scripts)
}
