//! The table of `rocload kpack list`, for people.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::Path;

use rocload::core::kpack::Entry;
use rocload::error::printable;
use rocload::{Archive, ReadAt};

use super::list::Row;
use super::scheme_name;
use super::totals::Totals;
use crate::failure::printable_path;
use crate::text;
use crate::ui::{FAINT, STRONG, Ui};

/// Characters that a column has room for; a longer cell pushes the rest of its line.
const WIDEST: usize = 40;
/// Width of the columns with sizes.
const SIZE: usize = 8;

/// A column before the last one, which is the binary: that alone can be very long.
struct Column {
    head: &'static str,
    /// Numbers stand at the right edge.
    right: bool,
    width: usize,
}

impl Column {
    fn right(head: &'static str) -> Column {
        Column { head, right: true, width: head.len() }
    }

    fn left(head: &'static str) -> Column {
        Column { head, right: false, width: head.len() }
    }
}

/// Prints a line about the archive, a line for each kernel, and a line of sums; with `--quiet`
/// the kernels alone.
pub(super) fn print<R: ReadAt>(
    ui: &mut Ui,
    path: &Path,
    archive: &Archive<R>,
    rows: &[Row<'_>],
    identified: bool,
) {
    let (verbose, quiet) = (ui.verbose, ui.quiet);
    let out = ui.out();
    if !quiet {
        let about = about(archive);
        let _ = writeln!(out, "{STRONG}{}{STRONG:#}: {about}", printable_path(path));
    }
    let mut columns = columns(verbose, identified);
    for row in rows {
        for (column, cell) in columns.iter_mut().zip(cells(row, verbose, identified)) {
            column.width = column.width.max(cell.chars().count().min(WIDEST));
        }
    }
    let heads = columns.iter().map(|column| column.head.to_owned());
    let _ = writeln!(out, "{FAINT}{}{FAINT:#}", line(&columns, heads, "BINARY"));
    let mut totals = Totals::default();
    for row in rows {
        totals.add(&row.entry, row.extent.len);
        let cells = cells(row, verbose, identified).into_iter();
        let _ = writeln!(out, "{}", line(&columns, cells, &printable(row.entry.binary)));
    }
    if !quiet {
        let arches: BTreeSet<&[u8]> = rows.iter().map(|row| row.entry.arch).collect();
        let arches = text::count(arches.len() as u64, "architecture", "architectures");
        let sums = [text::size(totals.size), text::size(totals.stored), totals.ratio()];
        let kernels = format!("{} for {arches}", text::kernels(totals.kernels));
        let _ = writeln!(out, "{}", line(&columns[..3], sums.into_iter(), &kernels));
    }
}

/// Scheme, group and family.
fn about<R: ReadAt>(archive: &Archive<R>) -> String {
    let toc = archive.toc().toc();
    let mut about = format!("scheme {}", scheme_name(toc.scheme()));
    for (what, name) in [("group", toc.group_name()), ("family", toc.gfx_arch_family())] {
        if let Some(name) = name {
            about += &format!(", {what} {}", printable(name));
        }
    }
    about
}

fn columns(verbose: bool, identified: bool) -> Vec<Column> {
    let mut columns = vec![
        Column { width: SIZE, ..Column::right("SIZE") },
        Column { width: SIZE, ..Column::right("STORED") },
        Column::right("RATIO"),
        Column::left("KIND"),
        Column::left("ARCH"),
    ];
    if verbose {
        columns.extend(["ORDINAL", "OFFSET"].map(Column::right));
    }
    if identified {
        columns.extend(["OBJECT", "TARGET"].map(Column::left));
    }
    columns
}

/// The cells of a kernel, as [`columns`] has them.
fn cells(row: &Row<'_>, verbose: bool, identified: bool) -> Vec<String> {
    let Entry { size, kind, arch, ordinal, .. } = row.entry;
    let none = || "-".to_owned();
    let mut cells = vec![
        text::size(size),
        text::size(row.extent.len),
        text::ratio(size, row.extent.len),
        kind.map_or_else(none, printable),
        printable(arch),
    ];
    if verbose {
        cells.extend([ordinal.to_string(), row.extent.offset.to_string()]);
    }
    if identified {
        cells.push(row.object.map_or_else(none, |object| object.name().into()));
        cells.push(row.target().unwrap_or_else(none));
    }
    cells
}

fn line(columns: &[Column], cells: impl Iterator<Item = String>, last: &str) -> String {
    let mut line = String::new();
    for (Column { right, width, .. }, cell) in columns.iter().zip(cells) {
        if *right {
            line += &format!("{cell:>width$}  ");
        } else {
            line += &format!("{cell:<width$}  ");
        }
    }
    line + last
}
