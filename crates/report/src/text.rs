//! Tables for people.

/// Returns rows of text under a heading, with columns two spaces apart. Columns whose heading
/// starts with `>` are aligned to the right.
pub fn table(heading: &[&str], rows: &[Vec<String>]) -> String {
    let titles: Vec<String> =
        heading.iter().map(|title| title.trim_start_matches('>').into()).collect();
    let right: Vec<bool> = heading.iter().map(|title| title.starts_with('>')).collect();
    let all = || std::iter::once(&titles).chain(rows);
    let mut widths = Vec::new();
    for row in all() {
        widths.resize(row.len().max(widths.len()), 0);
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = cell.chars().count().max(*width);
        }
    }
    let mut text = String::new();
    for row in all() {
        let mut line = String::new();
        for (column, cell) in row.iter().enumerate() {
            if column > 0 {
                line.push_str("  ");
            }
            let gap = " ".repeat(widths[column] - cell.chars().count());
            let (before, behind) = if right.get(column) == Some(&true) {
                (gap.as_str(), "")
            } else {
                ("", gap.as_str())
            };
            line.extend([before, cell, behind]);
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned() {
        let rows = [
            vec!["linux".into(), "7".into(), "x".into()],
            vec!["rt".into(), "12345".into(), String::new()],
        ];
        assert_eq!(
            table(&["VM", ">exits", "state"], &rows),
            "VM     exits  state\nlinux      7  x\nrt     12345\n"
        );
    }
}
