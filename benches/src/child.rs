//! Figures of a process that has done nothing else: the report starts itself again as a child,
//! which prints them, and takes the medians.

use std::path::Path;
use std::process::Command;

use crate::peer;

/// What so many children printed, a row of numbers each.
#[derive(Debug)]
pub struct Figures(Vec<Vec<f64>>);

impl Figures {
    /// Runs `child WHAT PATH` of this program in so many processes, one after another.
    ///
    /// # Errors
    /// A child that cannot be started, fails, or prints what is no number.
    pub fn take(what: &str, path: &Path, processes: usize) -> peer::Result<Figures> {
        let mut rows = Vec::new();
        for _ in 0..crate::time::rounds(processes) {
            let output =
                Command::new(std::env::current_exe()?).args(["child", what]).arg(path).output()?;
            if !output.status.success() {
                return Err(String::from_utf8_lossy(&output.stderr).into());
            }
            let figures = String::from_utf8(output.stdout)?;
            rows.push(figures.split_whitespace().map(str::parse).collect::<Result<_, _>>()?);
        }
        Ok(Figures(rows))
    }

    /// The median of the figure in this column.
    ///
    /// # Errors
    /// A child printed fewer figures, or there was none.
    pub fn median(&self, at: usize) -> peer::Result<f64> {
        let mut column = Vec::new();
        for figures in &self.0 {
            column.push(*figures.get(at).ok_or("a child told too little")?);
        }
        column.sort_by(f64::total_cmp);
        column.get(column.len() / 2).copied().ok_or_else(|| "no process".into())
    }
}
