//! Markdown.

/// Returns a table of rows under a heading. Columns whose heading starts with `>` are aligned to
/// the right; `|` in a cell stands for itself.
pub fn table(heading: &[&str], rows: &[Vec<String>]) -> String {
    let mut text = row(heading.iter().map(|title| title.trim_start_matches('>')));
    let ruler = |title: &&str| if title.starts_with('>') { "---:" } else { "---" };
    text.push_str(&row(heading.iter().map(ruler)));
    for cells in rows {
        text.push_str(&row(cells.iter().map(String::as_str)));
    }
    text
}

fn row<'a>(cells: impl Iterator<Item = &'a str>) -> String {
    let cells: Vec<String> =
        cells.map(|cell| cell.replace('|', "\\|").replace('\n', " ")).collect();
    format!("| {} |\n", cells.join(" | "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned_and_bars_stay_in_their_cell() {
        let rows = [vec!["a|b".into(), "1".into()], vec!["c\nd".into(), "20".into()]];
        assert_eq!(
            table(&["name", ">count"], &rows),
            "| name | count |\n| --- | ---: |\n| a\\|b | 1 |\n| c d | 20 |\n"
        );
    }
}
