//! What a report tells: figures beside their peers', in one shape for every subject.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// What one subject found.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Table {
    /// In the order in which they are told.
    pub rows: Vec<Row>,
    /// Lines of plots.
    pub lines: Vec<Line>,
}

/// A figure, beside a peer's where it has one.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Row {
    /// What was measured.
    pub figure: String,
    /// What is shown of ours, or `skipped: ` and why there is nothing.
    pub ours: String,
    /// The same by somebody else.
    pub peer: Option<Peer>,
    /// What was asked for; may be empty.
    pub target: String,
    /// Whether it is met; `None` where nothing was asked for, or nothing could be measured.
    pub met: Option<bool>,
}

/// The figure of somebody else.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Peer {
    /// Who.
    pub name: String,
    /// What is shown, or `skipped: ` and why there is nothing.
    pub shown: String,
    /// How many times better ours is.
    pub ratio: Option<f64>,
    /// The quartiles of that, over the rounds.
    pub spread: Option<[f64; 2]>,
}

/// A line of a plot: a figure over a number.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Line {
    /// Which plot.
    pub plot: String,
    /// Whose figures.
    pub name: String,
    /// Points, by the number.
    pub points: Vec<[f64; 2]>,
}

/// A figure: what is shown of it, and its cost for ratios: less is better.
#[derive(Debug, Clone)]
pub struct Figure {
    /// What is shown.
    pub text: String,
    /// Less is better.
    pub cost: f64,
}

/// What is told of a peer that could not be asked.
const ABSENT: &str = "skipped: not on this machine";

impl Table {
    /// A figure without a peer: `met` says whether the target is met, if there is one.
    pub fn alone(&mut self, what: &str, ours: &str, target: &str, met: Option<bool>) {
        self.push(what, ours, None, (target, met));
    }

    /// A figure that could not be measured, and why.
    pub fn skipped(&mut self, what: &str, why: &str) {
        self.push(what, &format!("skipped: {why}"), None, ("", None));
    }

    /// A figure beside a peer's; with how many times better ours is.
    pub fn beside(
        &mut self,
        what: &str,
        ours: &Figure,
        (peer, theirs): (&str, Option<&Figure>),
        target: (&str, Option<bool>),
    ) {
        let peer = Peer {
            name: peer.into(),
            shown: theirs.map_or_else(|| ABSENT.into(), |theirs| theirs.text.clone()),
            ratio: theirs.map(|theirs| theirs.cost / ours.cost),
            spread: None,
        };
        self.push(what, &ours.text, Some(peer), target);
    }

    /// A figure beside a peer's, by the ratios of the rounds: how many times better ours was.
    ///
    /// # Panics
    /// Without a round.
    pub fn rounds(
        &mut self,
        what: &str,
        ours: &str,
        (peer, theirs): (&str, &str),
        ratios: &[f64],
        target: (&str, Option<bool>),
    ) {
        let [low, middle, high] = quartiles(ratios);
        let peer = Peer {
            name: peer.into(),
            shown: theirs.into(),
            ratio: Some(middle),
            spread: Some([low, high]),
        };
        self.push(what, ours, Some(peer), target);
    }

    /// A row as it is.
    pub fn push(
        &mut self,
        figure: &str,
        ours: &str,
        peer: Option<Peer>,
        (target, met): (&str, Option<bool>),
    ) {
        let (figure, ours, target) = (figure.into(), ours.into(), target.into());
        self.rows.push(Row { figure, ours, peer, target, met });
    }

    /// A point of a plot's line.
    pub fn point(&mut self, plot: &str, name: &str, at: f64, figure: f64) {
        let found = self.lines.iter_mut().find(|line| line.plot == plot && line.name == name);
        match found {
            Some(line) => line.points.push([at, figure]),
            None => self.lines.push(Line {
                plot: plot.into(),
                name: name.into(),
                points: vec![[at, figure]],
            }),
        }
    }
}

/// The lower quartile, the median and the upper quartile.
///
/// # Panics
/// Of nothing.
pub fn quartiles(figures: &[f64]) -> [f64; 3] {
    let mut sorted = figures.to_vec();
    sorted.sort_by(f64::total_cmp);
    let quarter = sorted.len() / 4;
    [sorted[quarter], sorted[sorted.len() / 2], sorted[sorted.len() - 1 - quarter]]
}

/// A ratio with three digits.
pub fn ratio(ratio: f64) -> String {
    match ratio {
        _ if ratio < 10.0 => format!("{ratio:.2}"),
        _ if ratio < 100.0 => format!("{ratio:.1}"),
        _ if ratio < 10_000.0 => format!("{ratio:.0}"),
        _ => format!("{:.0},{:03.0}", (ratio / 1e3).floor(), ratio % 1e3),
    }
}

impl Row {
    fn cells(&self) -> [String; 6] {
        let dash = || String::from("-");
        let [peer, shown, times] = match &self.peer {
            None => [dash(), dash(), dash()],
            Some(peer) => {
                let times = match (peer.ratio, peer.spread) {
                    (None, _) => dash(),
                    (Some(middle), None) => format!("**{}**", ratio(middle)),
                    (Some(middle), Some([low, high])) => {
                        format!("**{}** ({} to {})", ratio(middle), ratio(low), ratio(high))
                    }
                };
                [peer.name.clone(), peer.shown.clone(), times]
            }
        };
        let target = match self.met {
            Some(true) => format!("{}: met", self.target),
            Some(false) => format!("{}: **missed**", self.target),
            None => self.target.clone(),
        };
        [self.figure.clone(), self.ours.clone(), peer, shown, times, target]
    }
}

/// One figure is one row: what its peers have stands in lines of the same cells.
impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "| figure | rocload | peer | peer's figure | times better | target |")?;
        writeln!(f, "|---|---|---|---|---|---|")?;
        let same = |a: &Row, b: &Row| a.figure == b.figure && a.ours == b.ours && b.peer.is_some();
        for rows in self.rows.chunk_by(same) {
            let mut cells = rows.iter().map(Row::cells);
            let Some(mut first) = cells.next() else { continue };
            let others: Vec<_> = cells.collect();
            for (at, cell) in first.iter_mut().enumerate().skip(2) {
                for other in &others {
                    cell.push_str("<br>");
                    cell.push_str(&other[at]);
                }
            }
            // A target that none of them has takes no line.
            if rows.iter().all(|row| row.target.is_empty()) {
                first[5].clear();
            }
            writeln!(f, "| {} |", first.map(|cell| cell.replace('|', "\\|")).join(" | "))?;
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

/// So many bytes in that time, in MB a second.
pub fn speed(bytes: usize, time: Duration) -> Figure {
    let seconds = time.as_secs_f64();
    Figure { text: format!("{:.0} MB/s", bytes as f64 / seconds / 1e6), cost: seconds }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_told_with_ratios_targets_and_what_was_skipped() {
        let mut table = Table::default();
        let ms = |ms| time(Duration::from_millis(ms));
        table.beside("open", &ms(2), ("serde", Some(&ms(9))), ("<= 3 ms", Some(true)));
        table.beside("open", &ms(2), ("python", None), ("", None));
        table.rounds(
            "a|b",
            "1 MB/s",
            ("C", "2 MB/s"),
            &[0.5, 0.4, 0.6, 0.7, 0.3],
            (">= 1", Some(false)),
        );
        table.alone("calls", "2", "2", Some(true));
        table.skipped("serve", "no server");
        assert_eq!(
            table.to_string(),
            "| figure | rocload | peer | peer's figure | times better | target |\n\
             |---|---|---|---|---|---|\n\
             | open | 2.00 ms | serde<br>python | 9.00 ms<br>skipped: not on this machine \
             | **4.50**<br>- | <= 3 ms: met<br> |\n\
             | a\\|b | 1 MB/s | C | 2 MB/s | **0.50** (0.40 to 0.60) | >= 1: **missed** |\n\
             | calls | 2 | - | - | - | 2: met |\n\
             | serve | skipped: no server | - | - | - |  |\n"
        );
    }
}
