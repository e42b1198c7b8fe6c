//! Pages in HTML: one file, no scripts, nothing from elsewhere, for light and for dark.

/// A page that grows from its beginning to its end.
#[derive(Clone, Debug)]
pub struct Page {
    title: String,
    body: String,
}

const STYLE: &str = ":root{color-scheme:light dark}\
body{font:16px/1.5 sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem;\
color:#1f2328;background:#fff}\
table{border-collapse:collapse;display:block;overflow-x:auto}\
th,td{border:1px solid #d0d7de;padding:.2rem .6rem;text-align:left}\
.right{text-align:right;font-variant-numeric:tabular-nums}\
figure{margin:1rem 0}svg{max-width:100%;height:auto}\
@media(prefers-color-scheme:dark){body{color:#e6edf3;background:#0d1117}\
th,td{border-color:#30363d}}";

impl Page {
    /// Returns a page with its title as first heading.
    pub fn new(title: &str) -> Self {
        Self { title: title.into(), body: format!("<h1>{}</h1>\n", escape(title)) }
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
            Some(title) if title.starts_with('>') => " class=\"right\"",
            _ => "",
        };
        let cell = |tag: &str, column: usize, text: &str| {
            format!("<{tag}{}>{}</{tag}>", class(column), escape(text))
        };
        self.body.push_str("<table>\n<tr>");
        for (column, title) in heading.iter().enumerate() {
            self.body.push_str(&cell("th", column, title.trim_start_matches('>')));
        }
        self.body.push_str("</tr>\n");
        for row in rows {
            let cells: String =
                row.iter().enumerate().map(|(column, text)| cell("td", column, text)).collect();
            self.body.push_str(&format!("<tr>{cells}</tr>\n"));
        }
        self.body.push_str("</table>\n");
    }

    /// Adds a chart of this crate.
    pub fn figure(&mut self, svg: &str) {
        self.body.push_str(&format!("<figure>\n{svg}\n</figure>\n"));
    }

    /// Returns the page.
    pub fn html(&self) -> String {
        format!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <title>{}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n{}</body>\n</html>\n",
            escape(&self.title),
            self.body
        )
    }
}

fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            other => escaped.push(other),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_cannot_leave_their_place() {
        let mut page = Page::new("a < b & \"c\"");
        page.table(&["x", ">y"], &[vec!["<script>".into(), "1".into()]]);
        page.list(["one > two".to_owned()]);
        page.text("<b>");
        let html = page.html();
        assert!(!html.contains("<script>") && !html.contains("<b>"), "{html}");
        assert!(html.contains("a &lt; b &amp; &quot;c&quot;"));
        assert!(html.contains("<td class=\"right\">1</td>"));
        assert!(!html.contains("http"), "nothing comes from elsewhere");
    }
}
