//! Seeded numbers: the same seed gives the same run on every machine.

/// A SplitMix64 generator.
///
/// ```
/// let (mut one, mut same) = (laws::random::Random::new(7), laws::random::Random::new(7));
/// assert_eq!(one.below(1000), same.below(1000));
/// assert!(one.below(3) < 3);
/// ```
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// Numbers that follow from `seed`.
    pub const fn new(seed: u64) -> Self {
        Random(seed)
    }

    /// The next number.
    pub const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`; 0 when `bound` is 0.
    pub const fn below(&mut self, bound: u64) -> u64 {
        if bound == 0 { 0 } else { self.next() % bound }
    }
}
