//! `rocload gpu --watch`: samples as they come, with a short history.

use std::collections::VecDeque;
use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

use rocload::gpu::{Gpu as Device, Gpus, Selection, Verdict, Watch};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::{self, LocalModes, OptionalActions, SpecialCodeIndex, Termios};

use super::{Gpu, schema, table};
use crate::failure::Failure;
use crate::interrupt;
use crate::text;
use crate::ui::Ui;

/// Samples that are shown.
const HISTORY: usize = 40;
const STEPS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

impl Gpu {
    pub(super) fn watch(&self, ui: &mut Ui) -> Result<(), Failure> {
        let path = self.place.sysroot.as_deref().unwrap_or(std::path::Path::new("/"));
        let failed = |error: rocload::Error| Failure::library(&error, path);
        let mut watch = Watch::new(&self.place.root()?, self.interval()).map_err(failed)?;
        let live = !ui.json && io::stdout().is_terminal();
        let keys = if live { Keys::new() } else { None };
        let mut screen = Screen::default();
        let mut taken = 0;
        loop {
            let begun = Instant::now();
            let changed =
                if taken == 0 { true } else { watch.sampler().sample().map_err(failed)? };
            taken += 1;
            let gpus = watch.sampler().gpus_mut();
            let shown = self.choose(gpus);
            screen.remember(gpus);
            if ui.json {
                ui.json_line(&schema::machine(gpus, &shown.one, &shown.all));
            } else if live {
                screen.draw(ui, gpus, &shown.one, taken);
            } else if changed {
                for line in screen.lines(gpus, &shown.one) {
                    let _ = writeln!(ui.out(), "{line}");
                }
                if gpus.gpus().is_empty() {
                    let _ = writeln!(ui.out(), "{}", table::no_choice(gpus, &shown.one).0);
                }
            }
            ui.flush();
            if ui.is_closed() || self.samples.is_some_and(|samples| taken >= samples) {
                return Ok(());
            }
            let left = self.interval().saturating_sub(begun.elapsed());
            match &keys {
                Some(keys) if keys.wants_end(left) => return Ok(()),
                Some(_) => {}
                None => std::thread::sleep(left),
            }
        }
    }
}

/// What was drawn, and what was seen.
#[derive(Debug, Default)]
struct Screen {
    drawn: usize,
    history: Vec<(u32, VecDeque<Option<u64>>)>,
}

impl Screen {
    /// Keeps the share of each GPU's memory that is in use.
    fn remember(&mut self, gpus: &Gpus) {
        self.history.retain(|(node, _)| gpus.gpus().iter().any(|gpu| gpu.node.id == *node));
        for gpu in gpus.gpus() {
            let at = self.history.iter().position(|(node, _)| *node == gpu.node.id);
            let at = at.unwrap_or_else(|| {
                self.history.push((gpu.node.id, VecDeque::new()));
                self.history.len() - 1
            });
            let history = &mut self.history[at].1;
            history.push_back(eighths(gpu));
            if history.len() > HISTORY {
                history.pop_front();
            }
        }
    }

    /// A line for each GPU; a star marks the chosen one.
    fn lines(&self, gpus: &Gpus, selection: &Selection) -> Vec<String> {
        let line = |(gpu, verdict): (&Device, &Verdict)| {
            let mark = if matches!(verdict, Verdict::Chosen(_)) { '*' } else { ' ' };
            let target = gpu.target.map_or_else(|| "unknown".into(), |target| target.to_string());
            let ordinal = gpu.ordinal.map_or_else(|| "-".into(), |ordinal| ordinal.to_string());
            let busy = match (gpu.card.suspended, gpu.card.busy) {
                (true, _) => "asleep".into(),
                (_, Some(busy)) => format!("{busy} %"),
                _ => "-".into(),
            };
            let rest = [
                gpu.card.temperature.map(|milli| format!("{} C", milli / 1000)),
                gpu.card.power.map(|micro| format!("{} W", micro / 1_000_000)),
                gpu.gtt.used.map(|used| format!("gtt {}", text::size(used))),
            ];
            let rest: Vec<String> = rest.into_iter().flatten().collect();
            let memory = table::memory(&gpu.vram);
            format!("{mark} {ordinal:<3} {target:<8} {memory}  {busy:>6}  {}", rest.join("  "))
        };
        gpus.gpus().iter().zip(&selection.verdicts).map(line).collect()
    }

    /// Draws over what was drawn before.
    fn draw(&mut self, ui: &mut Ui, gpus: &Gpus, chosen: &Selection, sample: u64) {
        let (width, height) = size();
        let mut lines = Vec::new();
        for (gpu, line) in gpus.gpus().iter().zip(self.lines(gpus, chosen)) {
            lines.push(line);
            let history = self.history.iter().find(|(node, _)| *node == gpu.node.id);
            lines.push(format!("      {}", history.map(|(_, all)| curve(all)).unwrap_or_default()));
        }
        if chosen.choice.chosen.is_none() {
            lines.push(table::no_choice(gpus, chosen).0);
        }
        lines.push(format!("sample {sample}, q ends"));
        // What scrolls away cannot be drawn over.
        lines.truncate(height.saturating_sub(1).max(1));
        let out = ui.out();
        if self.drawn > 0 {
            let _ = write!(out, "\x1b[{}A", self.drawn);
        }
        for line in &lines {
            let cut: String = line.chars().take(width).collect();
            let _ = writeln!(out, "\r\x1b[2K{cut}");
        }
        // Fewer lines than before: the rest goes.
        let _ = write!(out, "\x1b[J");
        self.drawn = lines.len();
    }
}

fn eighths(gpu: &Device) -> Option<u64> {
    let (used, total) = (gpu.vram.used?, gpu.vram.total.filter(|total| *total > 0)?);
    Some((u128::from(used) * 8 / u128::from(total)).min(7) as u64)
}

/// The history as a row of small bars.
fn curve(history: &VecDeque<Option<u64>>) -> String {
    history.iter().map(|step| step.map_or(' ', |step| STEPS[step as usize & 7])).collect()
}

/// Columns and rows of the terminal.
fn size() -> (usize, usize) {
    match termios::tcgetwinsize(rustix::stdio::stdout()) {
        Ok(size) if size.ws_col > 0 && size.ws_row > 0 => (size.ws_col.into(), size.ws_row.into()),
        _ => (80, 24),
    }
}

/// Keys of the terminal, as they are typed and without being shown; as it was in the end.
struct Keys {
    before: Termios,
}

impl Keys {
    fn new() -> Option<Keys> {
        let stdin = rustix::stdio::stdin();
        if !io::stdin().is_terminal() {
            return None;
        }
        let before = termios::tcgetattr(stdin).ok()?;
        let mut raw = before.clone();
        raw.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO);
        raw.special_codes[SpecialCodeIndex::VMIN] = 0;
        raw.special_codes[SpecialCodeIndex::VTIME] = 0;
        let kept = before.clone();
        interrupt::restore_in_any_case(move || restore(&kept));
        termios::tcsetattr(stdin, OptionalActions::Now, &raw).ok()?;
        Some(Keys { before })
    }

    /// Waits for a time, or until a key ends it: q, or the end of input.
    fn wants_end(&self, time: Duration) -> bool {
        let until = Instant::now() + time;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let stdin = rustix::stdio::stdin();
            let mut fds = [PollFd::new(&stdin, PollFlags::IN)];
            let limit =
                Timespec { tv_sec: left.as_secs() as i64, tv_nsec: left.subsec_nanos().into() };
            match poll(&mut fds, Some(&limit)) {
                Ok(0) => return false,
                Ok(_) => {
                    let mut typed = [0; 16];
                    match rustix::io::read(stdin, &mut typed) {
                        // The terminal is gone.
                        Ok(0) => return true,
                        Ok(n) if typed[..n].iter().any(|key| b"qQ\x04".contains(key)) => {
                            return true;
                        }
                        Ok(_) | Err(rustix::io::Errno::INTR) => {}
                        Err(_) => return true,
                    }
                }
                Err(rustix::io::Errno::INTR) => {}
                Err(_) => return true,
            }
        }
    }
}

impl Drop for Keys {
    fn drop(&mut self) {
        restore(&self.before);
    }
}

fn restore(before: &Termios) {
    let _ = termios::tcsetattr(rustix::stdio::stdin(), OptionalActions::Now, before);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curve_rises_and_has_gaps() {
        let history = [Some(0), Some(3), None, Some(7)].into();
        assert_eq!(curve(&history), "▁▄ █");
    }
}
