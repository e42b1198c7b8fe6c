//! Drawings, with a tool tip and a class for each shape. The library that draws the charts of this
//! crate knows neither; colours come from the page, so that a reader can change them.

use std::fmt::Write;

use super::label::escape;

/// A drawing.
pub struct Svg {
    width: f64,
    height: f64,
    body: String,
}

/// The place of a text relative to its point.
#[derive(Clone, Copy)]
pub enum Anchor {
    /// The text begins there.
    Start,
    /// Its middle is there.
    Middle,
    /// The text ends there.
    End,
}

impl Svg {
    /// Returns an empty drawing.
    pub fn new(width: f64, height: f64) -> Self {
        Self { width, height, body: String::new() }
    }

    /// A rectangle. A tip that is empty is none.
    pub fn rect(&mut self, class: &str, [x, y, width, height]: [f64; 4], tip: &str) {
        let (x, y, width, height) = (short(x), short(y), short(width), short(height));
        self.put(format_args!(
            "<rect class=\"{class}\" x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\""
        ));
        self.end("rect", tip);
    }

    /// A line.
    pub fn line(&mut self, class: &str, [x, y]: [f64; 2], [to_x, to_y]: [f64; 2], tip: &str) {
        let (x, y, to_x, to_y) = (short(x), short(y), short(to_x), short(to_y));
        self.put(format_args!(
            "<line class=\"{class}\" x1=\"{x}\" y1=\"{y}\" x2=\"{to_x}\" y2=\"{to_y}\""
        ));
        self.end("line", tip);
    }

    /// A path through these points.
    pub fn path(&mut self, class: &str, points: &[[f64; 2]]) {
        self.put(format_args!("<path class=\"{class}\" d=\""));
        for (index, [x, y]) in points.iter().enumerate() {
            let step = if index == 0 { 'M' } else { 'L' };
            self.put(format_args!("{step}{} {}", short(*x), short(*y)));
        }
        self.body.push_str("\"/>");
    }

    /// A symbol of the page ([`super::shell`]) at a point.
    pub fn symbol(&mut self, name: &str, [x, y]: [f64; 2], tip: &str) {
        let (x, y) = (short(x), short(y));
        self.put(format_args!("<use href=\"#{name}\" class=\"{name}\" x=\"{x}\" y=\"{y}\""));
        self.end("use", tip);
    }

    /// A text.
    pub fn text(&mut self, class: &str, [x, y]: [f64; 2], anchor: Anchor, text: &str) {
        let class = match anchor {
            Anchor::Start => class.to_owned(),
            Anchor::Middle => format!("{class} middle"),
            Anchor::End => format!("{class} end"),
        };
        let (x, y, text) = (short(x), short(y), escape(text));
        self.put(format_args!(
            "<text class=\"{}\" x=\"{x}\" y=\"{y}\">{text}</text>",
            class.trim()
        ));
    }

    /// Draws in a group of this class.
    pub fn group(&mut self, class: &str, draw: impl FnOnce(&mut Self)) {
        self.put(format_args!("<g class=\"{class}\">"));
        draw(self);
        self.body.push_str("</g>");
    }

    /// Draws in a frame, whose borders cut the drawing off; points are relative to the frame.
    pub fn frame(
        &mut self,
        class: &str,
        [x, y, width, height]: [f64; 4],
        draw: impl FnOnce(&mut Self),
    ) {
        let (x, y, width, height) = (short(x), short(y), short(width), short(height));
        self.put(format_args!(
            "<svg class=\"{class}\" x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\">"
        ));
        draw(self);
        self.body.push_str("</svg>");
    }

    /// Returns the drawing. It is a picture to those who do not see it, with this name;
    /// `attributes` are added as they are.
    pub fn html(self, name: &str, attributes: &str) -> String {
        let (width, height) = (short(self.width), short(self.height));
        format!(
            "<svg viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" role=\"img\" \
             aria-label=\"{}\"{attributes}>{}</svg>",
            escape(name),
            self.body
        )
    }

    fn put(&mut self, text: std::fmt::Arguments<'_>) {
        self.body.write_fmt(text).expect("a string takes text");
    }

    fn end(&mut self, element: &str, tip: &str) {
        if tip.is_empty() {
            self.body.push_str("/>");
        } else {
            self.put(format_args!("><title>{}</title></{element}>", escape(tip)));
        }
    }
}

/// Returns a number with two places at most. A number that is not finite is shown as 0.
fn short(number: f64) -> String {
    if !number.is_finite() {
        return "0".into();
    }
    let text = format!("{number:.2}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".into() } else { text.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_have_short_numbers_and_escaped_tips() {
        let mut svg = Svg::new(10.0, 20.0);
        svg.rect("a", [0.0, 1.5, 1.0 / 3.0, f64::NAN], "<b>");
        svg.line("c", [-0.001, 0.0], [1.0, 2.0], "");
        svg.text("", [1.0, 2.0], Anchor::End, "a & b");
        svg.frame("f", [0.0, 0.0, 1.0, 1.0], |svg| svg.symbol("miss", [1.0, 2.0], ""));
        let html = svg.html("x \"y\"", " data-a=\"1\"");
        for part in [
            "<rect class=\"a\" x=\"0\" y=\"1.5\" width=\"0.33\" height=\"0\"><title>&lt;b&gt;</title></rect>",
            "<line class=\"c\" x1=\"0\" y1=\"0\" x2=\"1\" y2=\"2\"/>",
            "<text class=\"end\" x=\"1\" y=\"2\">a &amp; b</text>",
            "<use href=\"#miss\" class=\"miss\" x=\"1\" y=\"2\"/></svg>",
            "aria-label=\"x &quot;y&quot;\" data-a=\"1\">",
        ] {
            assert!(html.contains(part), "{part} is not in {html}");
        }
    }
}
