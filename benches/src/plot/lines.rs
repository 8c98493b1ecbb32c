//! Lines of figures over a number, each with its name at its end.

use crate::table::Line;

use super::svg::{Anchor, GRID, INK, Page, SOFT, width};

const WIDTH: f64 = 820.0;
const HEIGHT: f64 = 460.0;
const LEFT: f64 = 70.0;
const TOP: f64 = 72.0;
const BOTTOM: f64 = HEIGHT - 58.0;
const SIZE: f64 = 12.5;
/// Ours is the first.
const COLOURS: [&str; 5] = ["#1f7a8c", "#c2571a", "#7d5ba6", "#4f7942", "#8a6d3b"];

/// What an axis is called, and how it goes.
#[derive(Debug, Clone, Copy)]
pub struct Axis<'a> {
    name: &'a str,
    scale: Scale,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scale {
    Linear,
    Tenfold,
    Twofold,
}

impl<'a> Axis<'a> {
    /// From 0, each step as wide.
    pub fn linear(name: &'a str) -> Axis<'a> {
        Axis { name, scale: Scale::Linear }
    }

    /// Each tenfold as wide.
    pub fn tenfold(name: &'a str) -> Axis<'a> {
        Axis { name, scale: Scale::Tenfold }
    }

    /// Each twofold as wide, from one power of two to another.
    pub fn twofold(name: &'a str) -> Axis<'a> {
        Axis { name, scale: Scale::Twofold }
    }

    /// What is written along the axis, which begins at the first and ends at the last.
    fn ticks(self, figures: impl Iterator<Item = f64> + Clone) -> Vec<f64> {
        let most = figures.clone().fold(f64::MIN_POSITIVE, f64::max);
        let least = figures.fold(most, f64::min).max(f64::MIN_POSITIVE);
        // The next of 1, 2 and 5 times a power of ten.
        let round = |figure: f64| {
            let power = 10f64.powf(figure.log10().floor());
            let steps = [1.0, 2.0, 5.0].map(|step| step * power);
            // Powers are not exact.
            steps.into_iter().find(|step| *step >= figure * 0.999_999).unwrap_or(10.0 * power)
        };
        match self.scale {
            Scale::Linear => {
                let step = round(most / 4.0);
                (0..=(most / step).ceil() as u32).map(|at| f64::from(at) * step).collect()
            }
            Scale::Tenfold => {
                let (low, end) = (least.log10().floor() as i32, round(most));
                let end = end.max(10f64.powi(low + 1));
                let decades = (low..).map(|power| 10f64.powi(power));
                decades.take_while(|decade| *decade < end * 0.999_999).chain([end]).collect()
            }
            Scale::Twofold => {
                let (low, high) = (least.log2().floor() as i32, most.log2().ceil() as i32);
                (low..=high.max(low + 1)).map(|power| 2f64.powi(power)).collect()
            }
        }
    }

    fn place(self, figure: f64, [low, high]: [f64; 2]) -> f64 {
        match self.scale {
            Scale::Linear => (figure - low) / (high - low),
            Scale::Tenfold | Scale::Twofold => (figure / low).ln() / (high / low).ln(),
        }
    }
}

/// The lines; `None` where no line has two points.
pub fn plot(title: &str, [x, y]: [Axis<'_>; 2], lines: &[&Line]) -> Option<String> {
    let lines: Vec<&&Line> = lines.iter().filter(|line| line.points.len() > 1).collect();
    let points = || lines.iter().flat_map(|line| &line.points);
    points().next()?;
    let x_ticks = x.ticks(points().map(|point| point[0]));
    let y_ticks = y.ticks(points().map(|point| point[1]));
    let ends = |ticks: &[f64]| Some([*ticks.first()?, *ticks.last()?]);
    let (x_ends, y_ends) = (ends(&x_ticks)?, ends(&y_ticks)?);
    let names = lines.iter().map(|line| width(&line.name, SIZE)).fold(0.0, f64::max);
    let right = WIDTH - names - 26.0;
    let at = |[a, b]: [f64; 2]| {
        let (across, up) = (x.place(a, x_ends), y.place(b, y_ends));
        [LEFT + across * (right - LEFT), BOTTOM - up * (BOTTOM - TOP)]
    };
    let mut page = Page::new(WIDTH, HEIGHT);
    page.text([16.0, 28.0], title, (18.0, INK, true), Anchor::Start);
    page.text([16.0, 52.0], y.name, (SIZE, SOFT, false), Anchor::Start);
    let middle = [f64::midpoint(LEFT, right), HEIGHT - 14.0];
    page.text(middle, x.name, (SIZE, SOFT, false), Anchor::Middle);
    for tick in y_ticks {
        let [_, height] = at([x_ends[1], tick]);
        page.line([LEFT, height], [right, height], GRID, 1.0);
        let text = number(tick);
        page.text([LEFT - 8.0, height + 4.0], &text, (SIZE, SOFT, false), Anchor::End);
    }
    for tick in x_ticks {
        let [across, _] = at([tick, y_ends[1]]);
        page.line([across, BOTTOM], [across, BOTTOM + 5.0], SOFT, 1.0);
        let text = number(tick);
        page.text([across, BOTTOM + 21.0], &text, (SIZE, SOFT, false), Anchor::Middle);
    }
    page.line([LEFT, BOTTOM], [right, BOTTOM], SOFT, 1.0);

    let mut ends = Vec::new();
    for (number, line) in lines.iter().enumerate() {
        let colour = COLOURS[number % COLOURS.len()];
        let placed: Vec<[f64; 2]> = line.points.iter().map(|point| at(*point)).collect();
        page.path(&placed, colour, if number == 0 { 3.0 } else { 2.0 });
        placed.iter().for_each(|point| page.dot(*point, colour));
        if let Some(end) = placed.last() {
            ends.push((end[1] + 4.0, end[0], &line.name, colour, number == 0));
        }
    }
    // From the top down, and none over another.
    ends.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut free = f64::MIN;
    for (height, across, name, colour, bold) in ends {
        let height = height.max(free);
        free = height + SIZE + 4.0;
        page.text([across + 10.0, height], name, (SIZE, colour, bold), Anchor::Start);
    }
    Some(page.finish(title))
}

/// A number along an axis, thousands apart.
fn number(figure: f64) -> String {
    let text = format!("{}", (figure * 1e6).round() / 1e6);
    let (whole, rest) = text.split_once('.').map_or((&*text, None), |(a, b)| (a, Some(b)));
    let mut out = String::new();
    for (at, digit) in whole.chars().enumerate() {
        if at > 0 && (whole.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    if let Some(rest) = rest {
        out.push('.');
        out.push_str(rest);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_has_its_points_and_its_name() {
        let line = |name: &str, points: &[[f64; 2]]| Line {
            plot: "p".into(),
            name: name.into(),
            points: points.to_vec(),
        };
        let ours = line("ours", &[[100.0, 0.02], [20_000.0, 0.9]]);
        let theirs = line("theirs", &[[100.0, 0.05], [20_000.0, 7.0]]);
        let alone = line("one point", &[[1.0, 1.0]]);
        let svg = plot("t", ["x", "y"].map(Axis::tenfold), &[&ours, &theirs, &alone]).unwrap();
        assert_eq!(svg.matches("<polyline").count(), 2);
        assert_eq!(svg.matches("<circle").count(), 4);
        assert!(svg.contains(">theirs<") && !svg.contains("one point"));
        assert!(svg.contains(">20,000<") && svg.contains(">0.01<"));
        assert!(plot("t", ["x", "y"].map(Axis::tenfold), &[&alone]).is_none());
    }

    #[test]
    fn axes_end_at_round_numbers() {
        let ticks = |axis: Axis<'_>, figures: [f64; 2]| axis.ticks(figures.into_iter());
        let linear = ticks(Axis::linear("x"), [1521.0, 3022.0]);
        assert_eq!(linear, [0.0, 1000.0, 2000.0, 3000.0, 4000.0]);
        assert_eq!(ticks(Axis::twofold("x"), [1.0, 4.0]), [1.0, 2.0, 4.0]);
        assert_eq!(ticks(Axis::tenfold("x"), [100.0, 20_000.0]), [100.0, 1e3, 1e4, 2e4]);
        assert_eq!(ticks(Axis::tenfold("x"), [1.0, 100.0]), [1.0, 10.0, 100.0]);
        // One figure alone still is a range.
        assert_eq!(ticks(Axis::tenfold("x"), [1.0, 1.0]), [1.0, 10.0]);
        assert_eq!(ticks(Axis::twofold("x"), [1.0, 1.0]), [1.0, 2.0]);
    }
}
