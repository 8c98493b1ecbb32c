//! Bars of how many times better a figure is than a peer's: one each, from a line at 1 to the right,
//! or to the left where it is worse, on a scale on which twice is everywhere as wide.

use crate::table::{Row, ratio};

use super::svg::{Anchor, BAD, GOOD, GRID, INK, Page, SOFT, width, wrap};

const WIDTH: f64 = 1120.0;
/// Where figures' names end, and where the scale begins.
const NAMES: f64 = 450.0;
const LEFT: f64 = 464.0;
/// Where the scale ends; peers' names may go beyond.
const RIGHT: f64 = 860.0;
const LINE: f64 = 16.0;
const SIZE: f64 = 11.5;

/// The rows of one figure: its name in lines, and each peer with its ratio.
struct Figure<'r> {
    name: Vec<String>,
    bars: Vec<(&'r str, f64)>,
}

impl Figure<'_> {
    fn height(&self) -> f64 {
        self.bars.len().max(self.name.len()) as f64 * LINE + 5.0
    }
}

/// Rows that follow one another and have one figure in common are one group of bars.
fn figures(rows: &[Row]) -> Vec<Figure<'_>> {
    let mut figures: Vec<(&str, Figure<'_>)> = Vec::new();
    for row in rows {
        let Some((peer, ratio)) = row.peer.as_ref().and_then(|peer| Some((peer, peer.ratio?)))
        else {
            continue;
        };
        if !(ratio.is_finite() && ratio > 0.0) {
            continue;
        }
        let bar = (&*peer.name, ratio);
        match figures.last_mut() {
            Some((name, figure)) if *name == row.figure => figure.bars.push(bar),
            _ => {
                let name = wrap(&row.figure.replace('`', ""), SIZE, NAMES - 16.0);
                figures.push((&row.figure, Figure { name, bars: vec![bar] }));
            }
        }
    }
    figures.into_iter().map(|(_, figure)| figure).collect()
}

/// Every ratio of the rows, by groups; `None` where there is none.
pub fn ratios(title: &str, groups: &[(&str, &[Row])]) -> Option<String> {
    let groups: Vec<_> = groups.iter().map(|(name, rows)| (*name, figures(rows))).collect();
    let groups: Vec<_> = groups.into_iter().filter(|(_, figures)| !figures.is_empty()).collect();
    let each = || groups.iter().flat_map(|(_, figures)| figures).flat_map(|figure| &figure.bars);
    let most = each().map(|bar| bar.1).fold(2.0, f64::max);
    let least = each().map(|bar| bar.1).fold(0.5, f64::min);
    each().next()?;

    let at = |ratio: f64| {
        let share = (ratio / least).ln() / (most / least).ln();
        LEFT + share * (RIGHT - LEFT)
    };
    let top = 74.0;
    let body: f64 = groups
        .iter()
        .map(|(_, figures)| 34.0 + figures.iter().map(Figure::height).sum::<f64>())
        .sum();
    let mut page = Page::new(WIDTH, top + body + 40.0);
    page.text([16.0, 28.0], title, (18.0, INK, true), Anchor::Start);
    let what = "Longer to the right of 1 is better. Each peer is measured in the same run.";
    page.text([16.0, 47.0], what, (12.0, SOFT, false), Anchor::Start);
    let ticks = [0.01, 0.1, 0.25, 0.5, 1.0, 2.0, 5.0, 10.0, 100.0, 1e3, 1e4, 1e5];
    for tick in ticks.into_iter().filter(|tick| (least * 0.99..=most * 1.01).contains(tick)) {
        let x = at(tick);
        let colour = if tick == 1.0 { INK } else { GRID };
        page.line([x, top], [x, top + body + 6.0], colour, 1.0);
        for y in [top - 6.0, top + body + 22.0] {
            page.text([x, y], &number(tick), (11.0, SOFT, false), Anchor::Middle);
        }
    }
    let mut y = top;
    for (name, figures) in &groups {
        y += 24.0;
        page.text([16.0, y], name, (13.5, INK, true), Anchor::Start);
        y += 10.0;
        for figure in figures {
            for (line, text) in (1..).zip(&figure.name) {
                let at = [NAMES, y + f64::from(line) * LINE - 4.0];
                page.text(at, text, (SIZE, INK, false), Anchor::End);
            }
            for (bar, &(peer, times)) in figure.bars.iter().enumerate() {
                let y = y + bar as f64 * LINE;
                let (from, to) = (at(times.min(1.0)), at(times.max(1.0)));
                let colour = if times < 1.0 { BAD } else { GOOD };
                page.bar([from, y + 3.0], [(to - from).max(1.0), LINE - 5.0], colour);
                let text = format!("{} \u{d7} {peer}", ratio(times));
                // What lies behind the text: the lines of the scale would strike it through.
                page.bar([to + 4.0, y + 1.0], [width(&text, SIZE), LINE - 2.0], "#ffffff");
                let at = [to + 6.0, y + LINE - 4.0];
                page.text(at, &text, (SIZE, SOFT, false), Anchor::Start);
            }
            y += figure.height();
        }
    }
    Some(page.finish(title))
}

/// A number of the scale, thousands apart.
fn number(tick: f64) -> String {
    let text = format!("{tick}");
    match text.len() {
        5.. if !text.contains('.') => {
            let (front, back) = text.split_at(text.len() - 3);
            format!("{front},{back}")
        }
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::table::{Table, time};

    #[test]
    fn one_bar_for_each_peer_and_none_for_what_was_skipped() {
        let mut table = Table::default();
        let ms = |ms| time(Duration::from_millis(ms));
        table.beside("open", &ms(2), ("serde", Some(&ms(9))), ("", None));
        table.beside("open", &ms(2), ("whole", Some(&ms(1))), ("", None));
        table.beside("open", &ms(2), ("python", None), ("", None));
        table.alone("calls", "2", "2", Some(true));
        let svg = ratios("t", &[("a", &table.rows)]).unwrap();
        assert_eq!((svg.matches(GOOD).count(), svg.matches(BAD).count()), (1, 1), "{svg}");
        assert_eq!(svg.matches(">open<").count(), 1);
        assert!(svg.contains("4.50 \u{d7} serde") && svg.contains("0.50 \u{d7} whole"));
        assert!(ratios("t", &[("a", &table.rows[2..])]).is_none());
    }
}
