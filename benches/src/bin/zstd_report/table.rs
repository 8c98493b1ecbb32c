//! The table that is printed.

use std::fmt;
use std::time::Duration;

use zstd::zstd_safe;

use crate::input::Set;
use crate::speed::median;

/// Megabytes of content a second.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Speed(f64);

impl Speed {
    /// By the median of the times for that many bytes.
    pub(crate) fn new(bytes: usize, times: &[Duration]) -> Speed {
        let mut times = times.to_vec();
        times.sort_unstable();
        Speed(bytes as f64 / times[times.len() / 2].as_secs_f64() / 1e6)
    }

    /// With the sorted ratios to C: their median, and their quartiles.
    pub(crate) fn beside(self, ratios: &[f64]) -> String {
        let quarter = ratios.len() / 4;
        let (low, high) = (ratios[quarter], ratios[ratios.len() - 1 - quarter]);
        format!("{self}, **{:.3}** ({low:.3} to {high:.3})", median(ratios))
    }
}

impl fmt::Display for Speed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.0} MB/s", self.0)
    }
}

/// One row for each figure, a column for each decoder.
#[derive(Debug)]
pub(crate) struct Table(Vec<[String; 6]>);

impl Table {
    pub(crate) const fn new() -> Table {
        Table(Vec::new())
    }

    /// A row that says why it is empty.
    pub(crate) fn skipped(&mut self, what: &str, why: &str) {
        let none = || "-".into();
        self.0.push([
            what.into(),
            format!("skipped: {why}"),
            none(),
            none(),
            none(),
            "not measured".into(),
        ]);
    }

    pub(crate) fn speeds(
        &mut self,
        name: &str,
        set: &Set,
        c: &Speed,
        [fast, small, ruzstd]: [String; 3],
        (target, reached): (f64, f64),
    ) {
        let (frames, megabytes) = (set.frames.len(), set.bytes() as f64 / 1e6);
        let many = if frames == 1 { "frame" } else { "frames" };
        self.0.push([
            format!("{name}: {frames} {many}, {megabytes:.1} MB"),
            c.to_string(),
            fast,
            small,
            ruzstd,
            aim(&format!(">= {target:.2}"), reached >= target),
        ]);
    }

    pub(crate) fn two_threads(
        &mut self,
        frames: usize,
        bytes: usize,
        [c, fast, small]: &[Speed; 3],
        [fast_ratios, small_ratios]: [&[f64]; 2],
        gains: [f64; 3],
    ) {
        self.0.push([
            format!("{frames} frames of code objects on two threads, {:.1} MB", bytes as f64 / 1e6),
            c.to_string(),
            fast.beside(fast_ratios),
            small.beside(small_ratios),
            "-".into(),
            String::new(),
        ]);
        let [c, fast, small] = gains;
        let beside = |gain: f64| format!("x {gain:.3}, **{:.3}**", gain / c);
        self.0.push([
            "their gain over one thread".into(),
            format!("x {c:.3}"),
            beside(fast),
            beside(small),
            "-".into(),
            aim(">= 0.95 of C's gain", fast / c >= 0.95 && small / c >= 0.95),
        ]);
    }

    pub(crate) fn allocations(&mut self, frames: usize, [fast, small, ruzstd]: [i64; 3]) {
        self.0.push([
            format!("allocations for {frames} code objects"),
            "not counted".into(),
            fast.to_string(),
            small.to_string(),
            ruzstd.to_string(),
            aim("0", fast == 0 && small == 0),
        ]);
    }

    pub(crate) fn workspaces(&mut self, c: usize, [fast, small]: [usize; 2]) {
        self.0.push([
            "memory of the decoder".into(),
            format!("{c} bytes"),
            format!("{fast} bytes"),
            format!("{small} bytes"),
            "grows with the window".into(),
            aim("150 KiB and 16 KiB", fast <= 150 << 10 && small <= 16 << 10),
        ]);
    }

    pub(crate) fn instructions(&mut self, counts: [f64; 4]) {
        let [c, fast, small, ruzstd] = counts.map(|count| format!("{count:.2}"));
        self.0.push([
            "instructions a byte, 40 code objects".into(),
            c,
            fast,
            small,
            ruzstd,
            aim("<= 12.6", counts[1] <= 12.6),
        ]);
    }
}

fn aim(target: &str, met: bool) -> String {
    format!("{target}: {}", if met { "met" } else { "**missed**" })
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let version = zstd_safe::version_string();
        writeln!(
            f,
            "| figure | C zstd {version} | rocload, fast layout | rocload, small layout | ruzstd \
             | target |"
        )?;
        writeln!(f, "|---|---|---|---|---|---|")?;
        for row in &self.0 {
            writeln!(f, "| {} |", row.join(" | "))?;
        }
        Ok(())
    }
}
