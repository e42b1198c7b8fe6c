//! Whether a page is one that every browser reads in the same way.

/// Elements that HTML closes by itself.
const VOID: [&str; 3] = ["meta", "img", "br"];

/// Whether each element is closed in its parent, ids are there once, all that is linked is there, and parts of the page have
/// names by which people who do not see them tell them apart.
pub fn check_structure(html: &str) {
    let mut open: Vec<&str> = Vec::new();
    let mut ids: Vec<&str> = Vec::new();
    let mut links: Vec<&str> = Vec::new();
    let mut rest = html;
    while let Some((_, tag)) = rest.split_once('<') {
        let (inside, after) = tag.split_once('>').expect("tags end");
        rest = after;
        let name = inside.split([' ', '/']).find(|it| !it.is_empty()).unwrap_or("");
        for attribute in inside.split(' ') {
            let value = |text: &'static str| attribute.strip_prefix(text)?.split('"').next();
            ids.extend(value("id=\""));
            links.extend(value("href=\"#"));
        }
        if inside.starts_with('!') || inside.ends_with('/') || VOID.contains(&name) {
            continue;
        }
        if inside.starts_with('/') {
            assert_eq!(open.pop(), Some(name), "closed in another order before {:.80}", rest);
            continue;
        }
        open.push(name);
        if name == "script" || name == "style" {
            rest = &rest[rest.find("</").expect("it ends")..];
        }
    }
    assert_eq!(open, [""; 0]);
    let count = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), count, "an id is there twice");
    for link in links {
        assert!(ids.contains(&link), "#{link} is nowhere");
    }
    let between = |before: &str, after: &str| -> Vec<String> {
        let rest = html.split(before).skip(1).filter_map(|rest| rest.split(after).next());
        rest.map(str::to_owned).collect()
    };
    // Sections are named after their headings.
    let mut names = between("role=\"region\" aria-label=\"", "\"");
    names.extend(
        between("<h2 id=\"", "</h2>")
            .iter()
            .filter_map(|it| Some(it.split_once('>')?.1.to_owned())),
    );
    let count = names.len();
    names.sort_unstable();
    for (name, next) in names.iter().zip(names.iter().skip(1)) {
        assert_ne!(name, next, "one of {count} parts has the name of another one");
    }
}
