//! The document around the content of a page.

use crate::proof::page::label::escape;
use crate::proof::page::shell::{STYLE, digest};

/// The style that only the pages of the site have.
const MORE_STYLE: &str = include_str!("site.css");

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Returns a page; `before` stands above its heading, as HTML.
pub fn document(title: &str, before: &str, body: &str) -> String {
    let style = format!("{}\n{}", STYLE.trim(), MORE_STYLE.trim());
    // Nothing is loaded and no script runs, whatever names contain.
    let policy = format!(
        "default-src 'none'; style-src '{}'; base-uri 'none'; form-action 'none'",
        digest(&style)
    );
    let title = escape(title);
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"generator\" content=\"Bulkhead {VERSION}\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>{title}</title>\n<style>{style}</style>\n</head>\n<body>\n\
         <main id=\"main\">\n<header>\n<p class=\"kind\">{before}</p>\n<h1>{title}</h1>\n</header>\n{body}</main>\n\
         <footer><p>Made by Bulkhead {VERSION}. Nothing is loaded from elsewhere. Dates are in UTC.</p></footer>\n\
         </body>\n</html>\n"
    )
}
