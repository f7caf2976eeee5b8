//! Two runs side by side: a pair of horizontal bars for each term of a token.

use crate::number::short;
use anstyle::{AnsiColor, Style};
use junto_plan::steady::Steady;
use junto_plan::why::Delta;
use std::io::{self, Write};

/// Columns of the longest bar.
const LONGEST: usize = 13;
/// Columns of a side: its bar and its figure.
const SIDE: usize = LONGEST + 8;
/// Columns of a term's name.
const NAME: usize = 26;

const DIM: Style = Style::new().dimmed();
const BOLD: Style = Style::new().bold();
const LESS: Style = AnsiColor::Green.on_default();
const MORE: Style = AnsiColor::Red.on_default();

/// Writes the bars of two runs called `names`, largest difference first, and the total.
pub(crate) fn write(
    out: &mut dyn Write,
    names: [&str; 2],
    points: [&Steady; 2],
    deltas: &[Delta],
) -> io::Result<()> {
    let [a, b] = names.map(|name| fitted(name, SIDE));
    writeln!(
        out,
        "{DIM}{:NAME$}  {a:<SIDE$}  {b:<SIDE$}  {:>7}  bound by{DIM:#}",
        "ms per output token", "change"
    )?;
    let times = deltas.iter().flat_map(|delta| [delta.a.time.0, delta.b.time.0]);
    let longest = times.fold(f64::MIN_POSITIVE, f64::max);
    for delta in deltas {
        let side = |seconds: f64| {
            let figure = if seconds > 0.0 { short(seconds * 1e3) } else { "-".to_owned() };
            format!("{}{figure:>7} ", bar(seconds / longest))
        };
        let larger = if delta.a.time.0 > delta.b.time.0 { delta.a } else { delta.b };
        let style = if delta.time().0 < 0.0 { LESS } else { MORE };
        writeln!(
            out,
            "{:NAME$}  {}  {}  {style}{:>7}{style:#}  {}, {}",
            delta.term.name(),
            side(delta.a.time.0),
            side(delta.b.time.0),
            signed(delta.time().ms()),
            larger.bound.name(),
            larger.source
        )?;
    }
    let [a, b] =
        points.map(|point| format!("{:>width$} ", short(point.tpot.ms()), width = SIDE - 1));
    let change = signed((points[1].tpot - points[0].tpot).ms());
    writeln!(out, "{BOLD}{:NAME$}  {a}  {b}  {change:>7}{BOLD:#}", "together")
}

/// A bar of a share of the longest, in eighths of a column.
fn bar(share: f64) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let eighths = (share * LONGEST as f64 * 8.0).round() as usize;
    let bar = "█".repeat(eighths / 8) + EIGHTHS[eighths % 8];
    let fill = LONGEST - bar.chars().count();
    bar + &" ".repeat(fill)
}

/// A difference with its sign; nothing where there is none.
fn signed(ms: f64) -> String {
    match ms {
        ms if ms.abs() < 5e-4 => "0".to_owned(),
        ms if ms < 0.0 => format!("-{}", short(-ms)),
        ms => format!("+{}", short(ms)),
    }
}

/// Text of at most `width` columns.
fn fitted(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    text.chars().take(width - 2).collect::<String>() + ".."
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_is_as_long_as_its_share() {
        for share in [0.0, 0.01, 0.3, 0.5, 0.99, 1.0] {
            assert_eq!(bar(share).chars().count(), LONGEST);
        }
        assert_eq!(bar(0.5).trim_end(), "██████▌");
        assert_eq!(bar(1.0), "█".repeat(LONGEST));
    }
}
