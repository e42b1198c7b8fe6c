//! Writes device tree source for people: one property a line, addresses in
//! hexadecimal, comments in one column, always the same order.

use crate::plan::tree::{Form, Node, Property};

/// Column of the comments that follow something on a line.
const COMMENT_COLUMN: usize = 80;
/// Columns that a tab takes in the eyes of most readers.
const TAB: usize = 8;

/// Returns the text of a tree.
pub(in crate::plan) fn print(tree: &Node) -> String {
    let mut out = String::from("/dts-v1/;\n");
    node(&mut out, tree, 0);
    out
}

fn node(out: &mut String, node_: &Node, depth: usize) {
    let name = if node_.name.is_empty() { "/" } else { &node_.name };
    line(out, depth, &format!("{name} {{"), &node_.comment);
    for one in &node_.properties {
        property(out, one, depth + 1);
    }
    for child in &node_.children {
        if is_short(child) {
            short(out, child, depth + 1);
        } else {
            out.push('\n');
            node(out, child, depth + 1);
        }
    }
    line(out, depth, "};", "");
}

/// Returns true if a node stands on one line: it has nothing but one or two numbers.
fn is_short(node: &Node) -> bool {
    node.children.is_empty()
        && matches!(node.properties.len(), 1 | 2)
        && node.properties.iter().all(|one| match one.form {
            Form::Numbers => one.value.len() == 4,
            Form::Longs(_) => one.value.len() == 8,
            Form::Strings => false,
        })
}

fn short(out: &mut String, node: &Node, depth: usize) {
    let mut text = format!("{} {{ ", node.name);
    for one in &node.properties {
        text.push_str(&format!("{} = {}; ", one.name, rows(one).concat()));
    }
    text.push_str("};");
    let property = node.properties.iter().flat_map(|one| &one.comments).map(String::as_str);
    let comment = Some(node.comment.as_str()).filter(|text| !text.is_empty());
    let comment = comment.or(property.reduce(|_, last| last)).unwrap_or_default();
    line(out, depth, &text, comment);
}

fn property(out: &mut String, property: &Property, depth: usize) {
    if property.value.is_empty() {
        return line(out, depth, &format!("{};", property.name), "");
    }
    let rows = rows(property);
    let indent = " ".repeat(property.name.len() + 3);
    for (index, row) in rows.iter().enumerate() {
        let mut text = match index {
            0 => format!("{} = {row}", property.name),
            _ => format!("{indent}{row}"),
        };
        text.push(if index + 1 == rows.len() { ';' } else { ',' });
        let comment = property.comments.get(index).map_or("", String::as_str);
        line(out, depth, &text, comment);
    }
}

/// Returns the value, one string for each line.
fn rows(property: &Property) -> Vec<String> {
    match property.form {
        Form::Strings => vec![strings(&property.value)],
        Form::Numbers => {
            let cells: Vec<String> =
                cells(&property.value).iter().map(|cell| cell.to_string()).collect();
            vec![format!("<{}>", cells.join(" "))]
        }
        Form::Longs(row) => cells(&property.value)
            .chunks(2 * row)
            .map(|row| {
                let longs: Vec<String> =
                    row.chunks(2).map(|pair| format!("{:#x} {:#010x}", pair[0], pair[1])).collect();
                format!("<{}>", longs.join(" "))
            })
            .collect(),
    }
}

fn cells(value: &[u8]) -> Vec<u32> {
    value.as_chunks().0.iter().map(|cell| u32::from_be_bytes(*cell)).collect()
}

fn strings(value: &[u8]) -> String {
    let value = value.strip_suffix(&[0]).unwrap_or(value);
    let texts: Vec<String> = value
        .split(|&byte| byte == 0)
        .map(|text| format!("\"{}\"", escaped(&String::from_utf8_lossy(text))))
        .collect();
    texts.join(", ")
}

fn escaped(text: &str) -> String {
    let mut out = String::new();
    for character in text.chars() {
        match character {
            '"' | '\\' => out.extend(['\\', character]),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            '\0'..='\x1f' | '\x7f' => out.push_str(&format!("\\x{:02x}", character as u32)),
            _ => out.push(character),
        }
    }
    out
}

fn line(out: &mut String, depth: usize, text: &str, comment: &str) {
    out.push_str(&"\t".repeat(depth));
    out.push_str(text);
    if !comment.is_empty() {
        let width = depth * TAB + text.chars().count();
        out.push_str(&" ".repeat(COMMENT_COLUMN.saturating_sub(width).max(2)));
        out.push_str("// ");
        out.push_str(comment);
    }
    out.push('\n');
}
