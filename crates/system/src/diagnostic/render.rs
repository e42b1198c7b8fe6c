//! Shows diagnostics to people.

use annotate_snippets::renderer::DecorStyle;
use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};

use super::{Diagnostic, Place};

/// The abilities of the output.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Style {
    /// Neither colours nor anything beyond ASCII: pipes, files, `NO_COLOR`.
    Plain,
    /// Colours: terminals.
    Colored,
}

/// Diagnostics that are shown to people: each is shown in its file, which takes as long as the file is.
const SHOWN_MAX: usize = 100;

/// Returns the first diagnostics, one after the other, with an empty line between two, and the number of those that follow.
pub(super) fn render(diagnostics: &[Diagnostic], style: Style) -> String {
    let renderer = match style {
        Style::Plain => Renderer::plain(),
        Style::Colored => Renderer::styled(),
    }
    .decor_style(DecorStyle::Ascii);
    let mut out = String::new();
    for diagnostic in diagnostics.iter().take(SHOWN_MAX) {
        out.push_str(&renderer.render(&[group(diagnostic)]));
        out.push_str("\n\n");
    }
    let more = diagnostics.len().saturating_sub(SHOWN_MAX);
    if more > 0 {
        out.push_str(&format!("error: {more} more mistakes, which `--json` has"));
    }
    out.truncate(out.trim_end().len());
    if !out.is_empty() {
        out.push('\n');
    }
    out
}

fn group(diagnostic: &Diagnostic) -> Group<'_> {
    let title = match &diagnostic.node {
        Some(node) => format!("{node}: {}", diagnostic.message),
        None => diagnostic.message.clone(),
    };
    let mut group = Group::with_title(Level::ERROR.primary_title(title).id(diagnostic.code));
    if let Some(place) = &diagnostic.place {
        let mut shown = snippet(place).annotation(
            AnnotationKind::Primary.span(place.span()).label(diagnostic.label.as_str()),
        );
        let (here, elsewhere): (Vec<_>, Vec<_>) = diagnostic
            .related
            .iter()
            .partition(|(other, _)| other.source().name() == place.source().name());
        for (other, label) in here {
            let context = AnnotationKind::Context.span(other.span());
            shown = shown.annotation(context.label(label.as_str()));
        }
        group = group.element(shown);
        for (other, label) in elsewhere {
            let context = AnnotationKind::Context.span(other.span());
            group = group.element(snippet(other).annotation(context.label(label.as_str())));
        }
    }
    if let Some(help) = &diagnostic.help {
        group = group.element(Level::HELP.message(help.as_str()));
    }
    group
}

fn snippet(place: &Place) -> Snippet<'_, annotate_snippets::Annotation<'_>> {
    let source = place.source();
    Snippet::source(source.text()).path(source.name())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostic::{Errors, Source};

    #[test]
    fn a_plain_message_shows_place_line_label_and_help() {
        let source = Source::new("demo.toml", "[[vm]]\nvcpu = 2\nname = \"x\"\n");
        let place = Place::new(&source, 7..11);
        let first = Place::new(&source, 16..20);
        let errors = Errors::from(
            Diagnostic::new("unknown-key", "unknown key `vcpu`")
                .at(&place, "not a key of `[[vm]]`")
                .also(&first, "belongs to this")
                .help("did you mean `vcpus`?"),
        );
        assert_eq!(
            errors.render(Style::Plain),
            "\
error[unknown-key]: unknown key `vcpu`
 --> demo.toml:2:1
  |
2 | vcpu = 2
  | ^^^^ not a key of `[[vm]]`
3 | name = \"x\"
  | ---- belongs to this
  |
  = help: did you mean `vcpus`?
"
        );
        assert!(errors.render(Style::Colored).contains("\u{1b}["));
    }

    #[test]
    fn places_at_the_end_and_in_empty_texts_can_be_shown() {
        for text in ["", "\n", "a", "\t\u{301}x\r\ny"] {
            let source = Source::new("f", text);
            for start in 0..=text.len() + 1 {
                let place = Place::new(&source, start..start + 2);
                let errors = Errors::from(Diagnostic::new("x", "m").at(&place, "here"));
                assert!(errors.to_string().contains("f:"), "{text:?} {start}");
            }
        }
    }
}
