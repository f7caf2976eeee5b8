//! Numbers as a person reads them: three significant digits, at most five characters.

/// `0.015`, `1.53`, `65.3`, `795`, `1540`, `15.4k`, `1.23M`.
pub(crate) fn short(number: f64) -> String {
    match number.abs() {
        size if !size.is_finite() => "-".to_owned(),
        size if size < 0.9995 => format!("{number:.3}"),
        size if size < 9.995 => format!("{number:.2}"),
        size if size < 99.95 => format!("{number:.1}"),
        size if size < 999.5 => format!("{number:.0}"),
        size if size < 9995.0 => format!("{:.0}", (number / 10.0).round() * 10.0),
        size if size < 999_500.0 => format!("{}k", short(number / 1e3)),
        size if size < 999_500_000.0 => format!("{}M", short(number / 1e6)),
        _ => format!("{}G", short(number / 1e9)),
    }
}

/// A count: whole, and short where it is long.
pub(crate) fn whole(number: f64) -> String {
    if number < 9999.5 { format!("{number:.0}") } else { short(number) }
}

/// A change from `base` as `+12 %`, `-3.4 %`, or as `x2.5` where it more than doubles.
pub(crate) fn change(base: f64, changed: f64) -> String {
    let ratio = changed / base;
    match ratio {
        ratio if 2.0 <= ratio => format!("x{}", short(ratio)),
        ratio if (ratio - 1.0).abs() < 0.0005 => "same".to_owned(),
        ratio if (ratio - 1.0).abs() < 0.0995 => format!("{:+.1} %", (ratio - 1.0) * 100.0),
        ratio => format!("{:+.0} %", (ratio - 1.0) * 100.0),
    }
}

/// `1 layout`, `3 layouts`.
pub(crate) fn count(number: usize, noun: &str) -> String {
    if number == 1 { format!("{number} {noun}") } else { format!("{number} {noun}s") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_digits_in_at_most_five_characters() {
        let numbers = [0.0149, 1.527, 65.34, 794.9, 1537.0, 9999.0, 15_372.0, 177_234.0, 1.23e6];
        let texts: Vec<String> = numbers.into_iter().map(short).collect();
        insta::assert_snapshot!(texts.join(" "), @"0.015 1.53 65.3 795 1540 10.0k 15.4k 177k 1.23M");
    }

    #[test]
    fn a_change_is_a_percentage_or_a_factor() {
        let texts = [(10.0, 11.2), (10.0, 9.66), (26.3, 65.3), (7.0, 7.0), (65.0, 7.7)];
        let texts: Vec<String> = texts.into_iter().map(|(a, b)| change(a, b)).collect();
        insta::assert_snapshot!(texts.join(", "), @"+12 %, -3.4 %, x2.48, same, -88 %");
    }
}
