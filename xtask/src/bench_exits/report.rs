//! The figures as a table, as Markdown and as JSON.

use serde_json::{Value, json};

use super::figures::{Judged, PEERS, Unit};

const HEADINGS: [&str; 5] = ["measurement", "min", "max", "limit", "verdict"];

/// The report for a terminal.
pub fn text(results: &[Judged], repeat: u32) -> String {
    let rows: Vec<Vec<String>> =
        std::iter::once(headings()).chain(results.iter().map(cells)).collect();
    let width = |column: usize| rows.iter().map(|row| row[column].len()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..rows[0].len()).map(width).collect();
    let mut text = String::new();
    for row in &rows {
        let line: Vec<String> = row
            .iter()
            .zip(&widths)
            .enumerate()
            .map(|(column, (cell, &width))| match column {
                0 => format!("{cell:width$}"),
                _ => format!("{cell:>width$}"),
            })
            .collect();
        text.push_str(line.join("  ").trim_end());
        text.push('\n');
    }
    let times = match repeat {
        1 => "once".to_owned(),
        times => format!("{times} times, always the same"),
    };
    text.push_str(&format!("\nEL2 instructions; measured {times}\n"));
    text
}

/// The report for docs/figures.md.
pub fn markdown(results: &[Judged]) -> String {
    let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    let headings = headings();
    let mut text = line(headings.clone());
    let rulers = (0..headings.len()).map(|column| if column == 0 { "---" } else { "---:" });
    text.push_str(&line(rulers.map(str::to_owned).collect()));
    text.extend(results.iter().map(|result| line(cells(result))));
    text
}

/// The report for programs.
pub fn json(results: &[Judged], repeat: u32) -> Value {
    let figures: Vec<Value> = results
        .iter()
        .map(|result| {
            let figure = result.figure;
            let peers = PEERS.iter().zip(figure.peers).filter(|(_, value)| !value.is_empty());
            json!({
                "key": figure.key,
                "name": figure.name,
                "unit": figure.unit.as_str(),
                "min": result.measured.min,
                "max": result.measured.max,
                "limit": figure.limit,
                "within_limit": figure.limit.map(|_| result.over() == 0),
                "peers": peers
                    .map(|(&peer, value)| (peer.to_owned(), value.into()))
                    .collect::<serde_json::Map<_, _>>(),
            })
        })
        .collect();
    json!({
        "figures": figures,
        "repeats": repeat,
        "within_limits": results.iter().all(|result| result.over() == 0),
    })
}

fn headings() -> Vec<String> {
    HEADINGS.iter().chain(&PEERS).map(|&heading| heading.to_owned()).collect()
}

fn cells(result: &Judged) -> Vec<String> {
    let figure = result.figure;
    let name = match figure.unit {
        Unit::Instructions => figure.name.to_owned(),
        unit => format!("{} ({})", figure.name, unit.as_str()),
    };
    let verdict = match (figure.limit, result.over()) {
        (None, _) => String::new(),
        (Some(_), 0) => "ok".to_owned(),
        (Some(_), over) => format!("{} too many", grouped(over)),
    };
    let mut cells = vec![
        name,
        grouped(result.measured.min),
        grouped(result.measured.max),
        figure.limit.map(grouped).unwrap_or_default(),
        verdict,
    ];
    cells.extend(figure.peers.map(str::to_owned));
    cells
}

/// A number with a comma before each group of three digits.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::figures::Figure;
    use super::super::range::Range;
    use super::*;

    const LIMITED: Figure = Figure {
        key: "entry",
        name: "entry",
        unit: Unit::Instructions,
        limit: Some(400_000),
        peers: ["400,136", "", ""],
    };
    const REPORTED: Figure =
        Figure { key: "size", name: "size", unit: Unit::Bytes, limit: None, peers: [""; 3] };

    fn results(entry: u64) -> Vec<Judged> {
        vec![
            Judged { figure: &LIMITED, measured: Range { min: 7, max: entry } },
            Judged { figure: &REPORTED, measured: Range::exact(1000) },
        ]
    }

    #[test]
    fn a_table_is_aligned_and_says_what_is_too_much() {
        assert_eq!(
            text(&results(401_500), 2),
            "measurement     min      max    limit         verdict  Bao (GICv3)  hvisor (GICv3)  Xvisor (GICv2)\n\
             entry             7  401,500  400,000  1,500 too many      400,136\n\
             size (bytes)  1,000    1,000\n\
             \n\
             EL2 instructions; measured 2 times, always the same\n"
        );
    }

    #[test]
    fn markdown_has_the_same_cells() {
        let markdown = markdown(&results(400_000));
        let lines: Vec<&str> = markdown.lines().collect();
        assert_eq!(lines[1], "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |");
        assert_eq!(lines[2], "| entry | 7 | 400,000 | 400,000 | ok | 400,136 |  |  |");
    }

    #[test]
    fn programs_get_the_verdict_as_well() {
        let document = json(&results(400_001), 3);
        assert_eq!(document["within_limits"], false);
        assert_eq!(document["figures"][0]["within_limit"], false);
        assert_eq!(document["figures"][0]["peers"]["Bao (GICv3)"], "400,136");
        assert_eq!(document["figures"][1]["within_limit"], Value::Null);
        assert_eq!(document["figures"][1]["unit"], "bytes");
        assert_eq!(json(&results(400_000), 3)["within_limits"], true);
    }

    #[test]
    fn digits_are_grouped() {
        let shown = [0, 999, 1000, 123_456, 1_234_567].map(grouped);
        assert_eq!(shown, ["0", "999", "1,000", "123,456", "1,234,567"]);
    }
}
