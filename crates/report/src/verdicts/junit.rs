//! JUnit XML, in the form that Jenkins, GitLab and GitHub actions read: one suite, a test case for each verdict.

use quick_xml::Writer;
use quick_xml::events::{BytesDecl, BytesText, Event};

use super::{Outcome, Row, Rule, Verdicts};

/// Returns the document.
pub fn document(verdicts: &Verdicts) -> String {
    let mut writer = Writer::new_with_indent(Vec::new(), b' ', 2);
    // Writing to memory does not fail.
    let _ = write(&mut writer, verdicts);
    let mut text = String::from_utf8(writer.into_inner()).unwrap_or_default();
    text.push('\n');
    text
}

type Xml = Writer<Vec<u8>>;

fn write(xml: &mut Xml, verdicts: &Verdicts) -> std::io::Result<()> {
    xml.write_event(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)))?;
    let is_error = |row: &&Row| element(row) == Some("error");
    let errors = verdicts.rows.iter().filter(is_error).count();
    let counts = [
        ("tests", verdicts.rows.len()),
        ("failures", verdicts.count(Outcome::Fails) - errors),
        ("errors", errors),
        ("skipped", verdicts.count(Outcome::Open)),
    ]
    .map(|(name, count)| (name, count.to_string()));
    let counts = || counts.iter().map(|(name, count)| (*name, count.as_str()));
    let (command, file) = (format!("bulkhead {}", verdicts.command), legal(&verdicts.file));
    let suites = xml.create_element("testsuites").with_attribute(("name", command.as_str()));
    suites.with_attributes(counts()).write_inner_content(|xml| {
        let suite = xml.create_element("testsuite").with_attribute(("name", file.as_str()));
        suite.with_attributes(counts()).write_inner_content(|xml| {
            for row in &verdicts.rows {
                case(xml, verdicts, row)?;
            }
            let notes = verdicts.notes.iter().map(|note| format!("note: {note}\n"));
            match notes.collect::<String>() {
                none if none.is_empty() => Ok(()),
                notes => text(xml, "system-out", &notes),
            }
        })?;
        Ok(())
    })?;
    Ok(())
}

fn case(xml: &mut Xml, verdicts: &Verdicts, row: &Row) -> std::io::Result<()> {
    let id = row.rule.id();
    let file = row.place.as_ref().map_or(&verdicts.file, |place| &place.file);
    let mut attributes = vec![
        ("name", legal(&row.subject)),
        ("classname", format!("{}.{id}", verdicts.command)),
        ("file", legal(file)),
    ];
    attributes.extend(row.place.as_ref().map(|place| ("line", place.line.to_string())));
    let attributes = attributes.iter().map(|(name, value)| (*name, value.as_str()));
    let case = xml.create_element("testcase").with_attributes(attributes);
    let message = legal(&row.message());
    let Some(element) = element(row) else {
        match message.as_str() {
            "" => case.write_empty()?,
            shown => case.write_inner_content(|xml| text(xml, "system-out", shown))?,
        };
        return Ok(());
    };
    case.write_inner_content(|xml| {
        let mut inner = xml.create_element(element).with_attribute(("message", message.as_str()));
        if element == "skipped" {
            inner.write_empty()?;
            return Ok(());
        }
        inner = inner.with_attribute(("type", &*id));
        inner.write_text_content(BytesText::new(&legal(&row.text())))?;
        Ok(())
    })?;
    Ok(())
}

/// The element of a test case that says that it has not passed.
fn element(row: &Row) -> Option<&'static str> {
    match (row.outcome, row.rule) {
        (Outcome::Holds, _) => None,
        (Outcome::Open, _) => Some("skipped"),
        // The test could not be done.
        (Outcome::Fails, Rule::Input(_)) => Some("error"),
        (Outcome::Fails, _) => Some("failure"),
    }
}

fn text(xml: &mut Xml, element: &str, text: &str) -> std::io::Result<()> {
    xml.create_element(element).write_text_content(BytesText::new(&legal(text)))?;
    Ok(())
}

/// Replaces characters that XML 1.0 cannot contain, even escaped.
fn legal(text: &str) -> String {
    let is_legal = |it: char| match it {
        '\t' | '\n' | '\r' => true,
        '\u{fffe}' | '\u{ffff}' => false,
        it => it >= ' ',
    };
    text.chars().map(|it| if is_legal(it) { it } else { char::REPLACEMENT_CHARACTER }).collect()
}
