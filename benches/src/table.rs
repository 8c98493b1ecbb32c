//! The table that a report prints.

use std::fmt;
use std::time::Duration;

/// Rows of a Markdown table, in their order.
#[derive(Debug, Default)]
pub struct Table(Vec<[String; 6]>);

/// A figure: what is shown of it, and its cost for ratios: less is better.
#[derive(Debug, Clone)]
pub struct Figure {
    /// What is shown.
    pub text: String,
    /// Less is better.
    pub cost: f64,
}

impl Table {
    /// A figure without a peer: `verdict` says whether the target is met, if there is one.
    pub fn alone(&mut self, what: &str, ours: &str, target: &str, met: Option<bool>) {
        let dash = String::from("-");
        self.0.push([what.into(), ours.into(), dash.clone(), dash.clone(), dash, aim(target, met)]);
    }

    /// A figure beside a peer's; with how many times better ours is.
    pub fn beside(
        &mut self,
        what: &str,
        ours: &Figure,
        (peer, theirs): (&str, Option<&Figure>),
        target: (&str, Option<bool>),
    ) {
        let (shown, ratio) = match theirs {
            Some(theirs) => (theirs.text.clone(), ratio(theirs.cost / ours.cost)),
            None => ("skipped: not on this machine".into(), "-".into()),
        };
        self.0.push([
            what.into(),
            ours.text.clone(),
            peer.into(),
            shown,
            ratio,
            aim(target.0, target.1),
        ]);
    }
}

fn ratio(ratio: f64) -> String {
    if ratio < 10.0 { format!("{ratio:.2}") } else { format!("{ratio:.0}") }
}

fn aim(target: &str, met: Option<bool>) -> String {
    match met {
        Some(true) => format!("{target}: met"),
        Some(false) => format!("{target}: **missed**"),
        None => target.into(),
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "| figure | rocload | peer | peer's figure | times better | target |")?;
        writeln!(f, "|---|---|---|---|---|---|")?;
        for row in &self.0 {
            writeln!(f, "| {} |", row.join(" | "))?;
        }
        Ok(())
    }
}

/// A time, with three digits.
pub fn time(time: Duration) -> Figure {
    let ns = time.as_secs_f64() * 1e9;
    let (unit, size) = match ns {
        _ if ns < 1e3 => ("ns", 1.0),
        _ if ns < 1e6 => ("us", 1e3),
        _ => ("ms", 1e6),
    };
    let shown = ns / size;
    let digits = if shown < 10.0 { 2 } else { usize::from(shown < 100.0) };
    Figure { text: format!("{shown:.digits$} {unit}"), cost: ns }
}

/// A number of bytes, in units of 10^6.
pub fn megabytes(bytes: f64) -> Figure {
    Figure { text: format!("{:.2} MB", bytes / 1e6), cost: bytes }
}
