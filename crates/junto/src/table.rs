//! A small table: right-aligned numbers under one or two lines of headings.

use anstyle::Style;
use std::io::{self, Write};

/// Columns that a terminal surely has.
pub(crate) const WIDTH: usize = 100;

const BOLD: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();

/// Which side of a column its cells keep to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Align {
    /// Words.
    Left,
    /// Numbers.
    Right,
}

/// One column.
#[derive(Clone, Debug)]
struct Column {
    group: String,
    heading: String,
    align: Align,
}

/// A table of text.
#[derive(Clone, Debug, Default)]
pub(crate) struct Table {
    columns: Vec<Column>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// Adds a column. Neighbours of one `group` stand under its name.
    pub(crate) fn column(&mut self, group: &str, heading: impl Into<String>, align: Align) {
        let (group, heading) = (group.to_owned(), heading.into());
        self.columns.push(Column { group, heading, align });
    }

    /// Adds a row, one cell a column.
    pub(crate) fn row(&mut self, cells: Vec<String>) {
        assert_eq!(cells.len(), self.columns.len());
        self.rows.push(cells);
    }

    /// Columns of the terminal that it takes.
    pub(crate) fn width(&self) -> usize {
        let widths = self.widths();
        (0..widths.len()).map(|index| self.gap(index).len() + widths[index]).sum()
    }

    /// Writes it.
    pub(crate) fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        self.write_with(out, Style::new())
    }

    /// Writes it, the first row as the best.
    pub(crate) fn write_best_first(&self, out: &mut dyn Write) -> io::Result<()> {
        self.write_with(out, BOLD)
    }

    fn write_with(&self, out: &mut dyn Write, first: Style) -> io::Result<()> {
        let widths = self.widths();
        if self.columns.iter().any(|column| !column.group.is_empty()) {
            writeln!(out, "{DIM}{}{DIM:#}", self.groups(&widths).trim_end())?;
        }
        let headings = self.columns.iter().map(|column| column.heading.as_str());
        writeln!(out, "{DIM}{}{DIM:#}", self.line(&widths, headings).trim_end())?;
        for (index, row) in self.rows.iter().enumerate() {
            let line = self.line(&widths, row.iter().map(String::as_str));
            let style = if index == 0 { first } else { Style::new() };
            writeln!(out, "{style}{}{style:#}", line.trim_end())?;
        }
        Ok(())
    }

    fn widths(&self) -> Vec<usize> {
        let cells = |index: usize| self.rows.iter().map(move |row| length(&row[index]));
        let columns = self.columns.iter().enumerate();
        let mut widths: Vec<usize> = columns
            .map(|(index, column)| cells(index).fold(length(&column.heading), usize::max))
            .collect();
        // The name of a group needs room over its columns: the first one gives it.
        let mut first = 0;
        for group in self.columns.chunk_by(|a, b| a.group == b.group) {
            let name = &group[0].group;
            let columns = if name.is_empty() { 0 } else { group.len() };
            let room: usize = widths[first..first + columns].iter().map(|width| width + 1).sum();
            widths[first] += (length(name) + usize::from(columns > 0)).saturating_sub(room);
            first += group.len();
        }
        widths
    }

    /// What stands before a column: more where a group begins.
    fn gap(&self, index: usize) -> &'static str {
        let group = |index: usize| &self.columns[index].group;
        match index {
            0 => "",
            index if group(index) == group(index - 1) && !group(index).is_empty() => " ",
            _ => "  ",
        }
    }

    fn line<'a>(&self, widths: &[usize], cells: impl Iterator<Item = &'a str>) -> String {
        let mut line = String::new();
        for (index, cell) in cells.enumerate() {
            line += self.gap(index);
            let fill = " ".repeat(widths[index] - length(cell));
            match self.columns[index].align {
                Align::Left => line += &(cell.to_owned() + &fill),
                Align::Right => line += &(fill + cell),
            }
        }
        line
    }

    /// The names of groups, each over the right end of its columns.
    fn groups(&self, widths: &[usize]) -> String {
        let mut line = String::new();
        let mut end = 0;
        for (index, column) in self.columns.iter().enumerate() {
            end += self.gap(index).len() + widths[index];
            let last = self.columns.get(index + 1).is_none_or(|next| next.group != column.group);
            if last && !column.group.is_empty() {
                let fill = end.saturating_sub(length(&line) + length(&column.group));
                line += &" ".repeat(fill);
                line += &column.group;
            }
        }
        line
    }
}

fn length(text: &str) -> usize {
    text.chars().count()
}

/// Text broken into lines of at most `width` columns, the first after `first`, the others after as
/// many spaces.
pub(crate) fn wrapped(first: &str, text: &str, width: usize) -> String {
    let indent = " ".repeat(length(first));
    let mut lines = String::new();
    let mut line = first.to_owned();
    let mut is_empty = true;
    for word in text.split(' ') {
        if !is_empty && width < length(&line) + 1 + length(word) {
            lines += &line;
            lines.push('\n');
            line.clone_from(&indent);
            is_empty = true;
        }
        if !is_empty {
            line.push(' ');
        }
        line += word;
        is_empty = false;
    }
    lines + &line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_right_and_words_left() {
        let mut table = Table::default();
        table.column("", "Layout", Align::Left);
        table.column("tok/s", "C=1", Align::Right);
        table.column("tok/s", "C=64", Align::Right);
        table.row(["tp8+ep8", "65.3", "795"].map(str::to_owned).to_vec());
        table.row(["tp8", "26.3", "693"].map(str::to_owned).to_vec());
        let mut out = anstream::StripStream::new(Vec::new());
        table.write(&mut out).unwrap();
        insta::assert_snapshot!(String::from_utf8(out.into_inner()).unwrap(), @"
                     tok/s
        Layout    C=1 C=64
        tp8+ep8  65.3  795
        tp8      26.3  693
        ");
    }

    #[test]
    fn a_narrow_column_makes_room_for_the_name_of_its_group() {
        let mut table = Table::default();
        table.column("", "Layout", Align::Left);
        table.column("output tok/s", "C=1", Align::Right);
        table.column("TPOT, ms", "C=1", Align::Right);
        table.row(["tp8", "65.3", "15"].map(str::to_owned).to_vec());
        let mut out = anstream::StripStream::new(Vec::new());
        table.write(&mut out).unwrap();
        insta::assert_snapshot!(String::from_utf8(out.into_inner()).unwrap(), @"
                output tok/s  TPOT, ms
        Layout           C=1       C=1
        tp8             65.3        15
        ");
    }

    #[test]
    fn a_long_sentence_is_broken_between_words() {
        let text = wrapped("  hint: ", &"word ".repeat(30), WIDTH);
        assert!(text.lines().all(|line| length(line) <= WIDTH), "{text}");
        assert!(text.lines().nth(1).unwrap().starts_with("        word"), "{text}");
    }
}
