//! Pages in HTML that look like those of proofs: one file, no scripts, nothing from elsewhere, for light, dark and paper.

use crate::proof::page::label::escape;
use crate::site::shell;

/// A page that grows from its beginning to its end.
#[derive(Clone, Debug)]
pub struct Page {
    title: String,
    /// The kind of page, which stands above the title.
    kind: String,
    body: String,
}

impl Page {
    /// Returns a page with its title as first heading, and above it the `kind` of page.
    pub fn new(kind: &str, title: &str) -> Self {
        Self { title: title.into(), kind: escape(kind), body: String::new() }
    }

    /// Adds the heading of a section.
    pub fn section(&mut self, title: &str) {
        self.body.push_str(&format!("<h2>{}</h2>\n", escape(title)));
    }

    /// Adds a paragraph of plain text.
    pub fn text(&mut self, text: &str) {
        self.body.push_str(&format!("<p>{}</p>\n", escape(text)));
    }

    /// Adds a list of plain texts; no list if there are none.
    pub fn list(&mut self, items: impl IntoIterator<Item = String>) {
        let items: String =
            items.into_iter().map(|item| format!("<li>{}</li>\n", escape(&item))).collect();
        if !items.is_empty() {
            self.body.push_str(&format!("<ul>\n{items}</ul>\n"));
        }
    }

    /// Adds a table of plain texts. Columns whose heading starts with `>` are aligned to the right.
    pub fn table(&mut self, heading: &[&str], rows: &[Vec<String>]) {
        let class = |column: usize| match heading.get(column) {
            Some(title) if title.starts_with('>') => " class=\"n\"",
            _ => "",
        };
        let cell = |tag: &str, column: usize, text: &str| {
            format!("<{tag}{}>{}</{tag}>", class(column), escape(text))
        };
        self.body.push_str("<div class=\"scroll\">\n<table>\n<thead><tr>");
        for (column, title) in heading.iter().enumerate() {
            self.body.push_str(&cell("th", column, title.trim_start_matches('>')));
        }
        self.body.push_str("</tr></thead>\n<tbody>\n");
        for row in rows {
            let cells: String =
                row.iter().enumerate().map(|(column, text)| cell("td", column, text)).collect();
            self.body.push_str(&format!("<tr>{cells}</tr>\n"));
        }
        self.body.push_str("</tbody>\n</table>\n</div>\n");
    }

    /// Adds a chart of this crate.
    pub fn figure(&mut self, svg: &str) {
        self.body.push_str(&format!("<figure>\n{svg}\n</figure>\n"));
    }

    /// Returns the page.
    pub fn html(&self) -> String {
        shell::document(&self.title, &self.kind, &self.body)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_cannot_leave_their_place() {
        let mut page = Page::new("kind", "a < b & \"c\"");
        page.table(&["x", ">y"], &[vec!["<script>".into(), "1".into()]]);
        page.list(["one > two".to_owned()]);
        page.text("<b>");
        let html = page.html();
        assert!(!html.contains("<script>") && !html.contains("<b>"), "{html}");
        assert!(html.contains("a &lt; b &amp; &quot;c&quot;"));
        assert!(html.contains("<td class=\"n\">1</td>"));
        assert!(
            !html.contains("http:") && !html.contains("https:"),
            "nothing comes from elsewhere"
        );
    }
}
