//! Parts of man pages.

/// Returns the text after the options in the help, as sections with the names that pages have for them.
pub fn sections(after: &str) -> String {
    let mut text = String::new();
    let mut in_notes = false;
    for paragraph in after.trim().split("\n\n") {
        let examples =
            ["Examples:\n", "Example:\n"].iter().find_map(|it| paragraph.strip_prefix(it));
        let lines = |text: &str| text.trim().lines().map(roff).collect::<String>();
        // Lines of examples stay as they are: some have columns.
        let section = match (examples, paragraph.strip_prefix("Exit status:")) {
            (Some(examples), _) => {
                format!(
                    ".SH EXAMPLES\n.nf\n{}.fi\n",
                    examples.lines().map(roff).collect::<String>()
                )
            }
            (None, Some(status)) => format!(".SH \"EXIT STATUS\"\n{}", lines(status)),
            (None, None) if in_notes => format!(".PP\n{}", lines(paragraph)),
            (None, None) => format!(".SH NOTES\n{}", lines(paragraph)),
        };
        in_notes = section.starts_with(".SH NOTES") || section.starts_with(".PP");
        text.push_str(&section);
    }
    text
}

/// Returns a line for roff, which shows these characters as others, and takes a line with a dot in front for a request.
fn roff(line: &str) -> String {
    const SPECIAL: [(char, &str); 6] = [
        ('\\', "\\e"),
        ('-', "\\-"),
        ('\'', "\\(aq"),
        ('`', "\\(ga"),
        ('^', "\\(ha"),
        ('~', "\\(ti"),
    ];
    let shown = |it: char| {
        let special = SPECIAL.iter().find(|(special, _)| *special == it);
        special.map_or_else(|| it.to_string(), |(_, name)| (*name).to_owned())
    };
    let line: String = line.chars().map(shown).collect();
    let guard = if line.starts_with('.') { "\\&" } else { "" };
    format!("{guard}{line}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_examples_stay_and_no_line_is_a_request() {
        let after =
            "Examples:\n  ls    'all'\n.x\n\nTwo\nlines.\n\nMore.\n\nExit status: 0 yes,\n.5 no.";
        let expected = ".SH EXAMPLES\n.nf\n  ls    \\(aqall\\(aq\n\\&.x\n.fi\n.SH NOTES\nTwo\nlines.\n.PP\nMore.\n\
                        .SH \"EXIT STATUS\"\n0 yes,\n\\&.5 no.\n";
        assert_eq!(sections(after), expected);
    }
}
