//! Counts by their names, as a file and compared with one another.
//!
//! ```
//! use rocload_counts::baseline::{Counts, compare};
//!
//! let before: Counts = "# rustc 1.95.0\nparse 1000\nwalk 500\n".parse()?;
//! let after: Counts = "# rustc 1.95.0\nparse 1051\nwalk 525\n".parse()?;
//! let found = compare(&before, &after);
//! assert_eq!(found.len(), 1);
//! assert_eq!(found[0].to_string(), "parse: 1051 instructions, 5.1 % more than 1000");
//! assert!(found[0].fails());
//! # Ok::<(), String>(())
//! ```

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

/// How much a count may grow, in hundredths of the old one.
pub const TOLERANCE: u64 = 5;

/// Instructions by what took them, and remarks on how they were counted.
///
/// As text: a remark a line behind `#`, then a name, a blank and a number a line, by name.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Counts {
    /// Remarks, without `#`.
    pub remarks: Vec<String>,
    /// Instructions.
    pub rows: BTreeMap<String, u64>,
}

impl FromStr for Counts {
    type Err = String;

    fn from_str(text: &str) -> Result<Counts, String> {
        let mut counts = Counts::default();
        for (number, line) in (1..).zip(text.lines()) {
            if let Some(remark) = line.strip_prefix('#') {
                counts.remarks.push(remark.trim().into());
                continue;
            }
            let wrong = || format!("line {number}: no name and number: {line:?}");
            let (name, count) = line.split_once(' ').ok_or_else(wrong)?;
            let count = count.trim().parse().map_err(|_| wrong())?;
            if counts.rows.insert(name.into(), count).is_some() {
                return Err(format!("line {number}: a second {name}"));
            }
        }
        Ok(counts)
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.remarks.iter().try_for_each(|remark| writeln!(f, "# {remark}"))?;
        let width = self.rows.keys().map(String::len).max().unwrap_or(0);
        self.rows.iter().try_for_each(|(name, count)| writeln!(f, "{name:width$} {count}"))
    }
}

/// A count that is not as the baseline says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Difference {
    /// More than [`TOLERANCE`] more.
    Grown(String, u64, u64),
    /// More than [`TOLERANCE`] less.
    Shrunk(String, u64, u64),
    /// Not counted any more.
    Gone(String),
    /// Not in the baseline.
    New(String, u64),
}

impl Difference {
    /// Whether the check fails by it. A count that shrank does not fail, but the baseline should be
    /// renewed, or what was won can be lost again unseen.
    pub fn fails(&self) -> bool {
        !matches!(self, Difference::Shrunk(..))
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Difference::Grown(name, old, new) => {
                let more = percent(*new - *old, *old);
                write!(f, "{name}: {new} instructions, {more:.1} % more than {old}")
            }
            Difference::Shrunk(name, old, new) => {
                let less = percent(*old - *new, *old);
                write!(f, "{name}: {new} instructions, {less:.1} % less than {old}")
            }
            Difference::Gone(name) => write!(f, "{name}: in the baseline, but was not counted"),
            Difference::New(name, new) => {
                write!(f, "{name}: {new} instructions, and not in the baseline")
            }
        }
    }
}

fn percent(part: u64, of: u64) -> f64 {
    part as f64 / (of as f64) * 100.0
}

/// What is not as the baseline says, by name.
pub fn compare(baseline: &Counts, counted: &Counts) -> Vec<Difference> {
    let mut found = Vec::new();
    for (name, &old) in &baseline.rows {
        let name = name.clone();
        let beyond = |more: u64| u128::from(more) * 100 > u128::from(old) * u128::from(TOLERANCE);
        match counted.rows.get(&name) {
            None => found.push(Difference::Gone(name)),
            Some(&new) if new > old && beyond(new - old) => {
                found.push(Difference::Grown(name, old, new));
            }
            Some(&new) if new < old && beyond(old - new) => {
                found.push(Difference::Shrunk(name, old, new));
            }
            Some(_) => {}
        }
    }
    for (name, &new) in &counted.rows {
        if !baseline.rows.contains_key(name) {
            found.push(Difference::New(name.clone(), new));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(rows: &[(&str, u64)]) -> Counts {
        let rows = rows.iter().map(|(name, count)| ((*name).into(), *count)).collect();
        Counts { remarks: vec!["rustc 1".into()], rows }
    }

    #[test]
    fn five_percent_more_pass_and_one_instruction_beyond_fails() {
        let before = counts(&[("a", 100_000)]);
        assert_eq!(compare(&before, &counts(&[("a", 105_000)])), []);
        let found = compare(&before, &counts(&[("a", 105_001)]));
        assert_eq!(found, [Difference::Grown("a".into(), 100_000, 105_001)]);
        assert!(found[0].fails());
    }

    #[test]
    fn fewer_are_told_and_do_not_fail() {
        let before = counts(&[("a", 1000), ("b", 1000)]);
        let found = compare(&before, &counts(&[("a", 950), ("b", 900)]));
        assert_eq!(found, [Difference::Shrunk("b".into(), 1000, 900)]);
        assert!(!found[0].fails());
        assert_eq!(found[0].to_string(), "b: 900 instructions, 10.0 % less than 1000");
    }

    #[test]
    fn what_is_gone_or_new_fails() {
        let found = compare(&counts(&[("a", 1), ("b", 2)]), &counts(&[("b", 2), ("c", 3)]));
        assert_eq!(found, [Difference::Gone("a".into()), Difference::New("c".into(), 3)]);
        assert!(found.iter().all(Difference::fails));
    }

    #[test]
    fn from_nothing_to_something_has_grown() {
        let found = compare(&counts(&[("a", 0)]), &counts(&[("a", 1)]));
        assert_eq!(found, [Difference::Grown("a".into(), 0, 1)]);
        let most = counts(&[("a", u64::MAX)]);
        assert_eq!(compare(&most, &most), []);
    }

    #[test]
    fn a_file_is_read_as_it_was_written() {
        let some = counts(&[("long_name", 12), ("a", 3)]);
        assert_eq!(some.to_string(), "# rustc 1\na         3\nlong_name 12\n");
        assert_eq!(some.to_string().parse(), Ok(some));
        for wrong in ["a", "a b", "a -1", "a 1\na 2", "\n"] {
            assert!(wrong.parse::<Counts>().is_err(), "{wrong:?}");
        }
    }
}
