//! Shows the console: labels in colour on a terminal, everything else as it comes.

use std::io::{self, Write};

use abi::console::HYPERVISOR_LABEL;
use anstream::{AutoStream, ColorChoice};

/// Colours of the labels: cyan, green, yellow, magenta, blue, red.
const COLORS: [u8; 6] = [36, 32, 33, 35, 34, 31];
const BOLD: u8 = 1;
/// The reports at the end are shown as a table instead.
const REPORT: &str = "summary ";

/// The stream on which the console is shown.
pub struct View {
    out: Box<dyn Write>,
    painter: Painter,
}

impl View {
    /// The console of VMs with these names, on the standard output, or on the
    /// standard error if the standard output is for a document.
    pub fn new<'a>(names: impl Iterator<Item = &'a str>, on_stderr: bool) -> Self {
        let (out, colors): (Box<dyn Write>, _) = if on_stderr {
            (Box::new(io::stderr()), AutoStream::choice(&io::stderr()))
        } else {
            (Box::new(io::stdout()), AutoStream::choice(&io::stdout()))
        };
        Self { out, painter: Painter::new(names, colors != ColorChoice::Never) }
    }

    /// Shows a piece of output.
    pub fn show(&mut self, bytes: &[u8]) -> io::Result<()> {
        let painted = self.painter.paint(bytes);
        self.write(&painted)
    }

    /// Shows the output that was held back, because nothing has come for a while.
    pub fn idle(&mut self) -> io::Result<()> {
        let held = self.painter.release();
        self.write(&held)
    }

    /// The console has ended: the next text starts on a line of its own.
    pub fn end(&mut self) -> io::Result<()> {
        self.idle()?;
        let end = if self.painter.within_line { "\n" } else { "" };
        self.write(end.as_bytes())
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        self.out.write_all(bytes)?;
        self.out.flush()
    }
}

/// Finds labels at the start of lines. Text that may still become a label is held back.
struct Painter {
    /// Text at the start of a line, and the text that is shown for it.
    patterns: Vec<(Vec<u8>, Vec<u8>)>,
    held: Vec<u8>,
    within_line: bool,
    hiding: bool,
}

impl Painter {
    fn new<'a>(names: impl Iterator<Item = &'a str>, colored: bool) -> Self {
        let paint = |label: String, color: u8| {
            let shown = if colored {
                format!("\x1b[{color}m{}\x1b[0m ", label.trim_end())
            } else {
                label.clone()
            };
            (label.into_bytes(), shown.into_bytes())
        };
        let names: Vec<&str> = names.collect();
        let longest = names.iter().map(|name| name.len()).max().unwrap_or(0);
        let mut patterns: Vec<_> = names
            .iter()
            .enumerate()
            .map(|(index, name)| {
                paint(format!("[{name:<longest$}] "), COLORS[index % COLORS.len()])
            })
            .collect();
        patterns.push(paint(HYPERVISOR_LABEL.into(), BOLD));
        patterns.push((format!("{HYPERVISOR_LABEL}{REPORT}").into(), Vec::new()));
        Self { patterns, held: Vec::new(), within_line: false, hiding: false }
    }

    fn paint(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(bytes.len() + 64);
        for &byte in bytes {
            if self.hiding {
                self.hiding = byte != b'\n';
                continue;
            }
            if self.within_line {
                out.push(byte);
                self.within_line = byte != b'\n';
                continue;
            }
            self.held.push(byte);
            let undecided = self
                .patterns
                .iter()
                .any(|(text, _)| text.len() > self.held.len() && text.starts_with(&self.held));
            if !undecided {
                out.extend(self.release());
            }
        }
        out
    }

    /// Decides on the text that was held back.
    fn release(&mut self) -> Vec<u8> {
        let held = std::mem::take(&mut self.held);
        let Some(&last) = held.last() else { return held };
        self.within_line = last != b'\n';
        let label = self
            .patterns
            .iter()
            .filter(|(text, _)| held.starts_with(text))
            .max_by_key(|(text, _)| text.len());
        let Some((text, shown)) = label else { return held };
        if text.ends_with(REPORT.as_bytes()) {
            self.hiding = self.within_line;
            self.within_line = false;
            return Vec::new();
        }
        [shown, &held[text.len()..]].concat()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn painted(pieces: &[&str], colored: bool) -> String {
        let mut painter = Painter::new(["linux", "rt"].into_iter(), colored);
        let mut out: Vec<u8> =
            pieces.iter().flat_map(|piece| painter.paint(piece.as_bytes())).collect();
        out.extend(painter.release());
        String::from_utf8(out).expect("text")
    }

    #[test]
    fn labels_are_colored_wherever_output_is_cut() {
        let text = "[linux] a [rt   ] b\r\n[rt   ] c\n[rtx] d\n[bulkhead] e\n\n[";
        let expected = "\x1b[36m[linux]\x1b[0m a [rt   ] b\r\n\x1b[32m[rt   ]\x1b[0m c\n[rtx] d\n\x1b[1m[bulkhead]\x1b[0m e\n\n[";
        assert_eq!(painted(&[text], true), expected);
        for cut in 0..text.len() {
            let (one, other) = text.split_at(cut);
            assert_eq!(painted(&[one, other], true), expected, "cut at {cut}");
        }
        assert_eq!(painted(&[text], false), text);
    }

    #[test]
    fn reports_are_hidden() {
        let text = "[bulkhead] a\n[bulkhead] summary vm=rt state=off\n[bulkhead] power off\n";
        for cut in 0..text.len() {
            let (one, other) = text.split_at(cut);
            assert_eq!(painted(&[one, other], false), "[bulkhead] a\n[bulkhead] power off\n");
        }
    }
}
