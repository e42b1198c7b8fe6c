//! The output of each VM, out of the console of all.

use abi::console::HYPERVISOR_LABEL;

/// Longer messages of the hypervisor say nothing about the view.
const MESSAGE_MAX: usize = 256;

/// Reads the console of all VMs, byte by byte, in both of its views.
#[derive(Debug)]
pub struct Split {
    names: Vec<String>,
    /// Labels of the VMs, then that of the hypervisor.
    labels: Vec<Vec<u8>>,
    /// The VM that is shown alone, without labels.
    focus: Option<usize>,
    /// The source of the line; its number is that of its label.
    source: Option<usize>,
    place: Place,
    /// The line of the hypervisor so far.
    message: Vec<u8>,
    /// The output of VMs that was found in this piece.
    found: Vec<(usize, Vec<u8>)>,
}

#[derive(Debug, Eq, PartialEq)]
enum Place {
    /// At the start of a line: bytes that may become a label.
    Start(Vec<u8>),
    Line,
    /// Behind a carriage return in the view of all VMs: a line end, or a label because the line starts again.
    Return,
}

impl Split {
    /// Starts in the view of all VMs, which have these names.
    pub fn new(names: impl Iterator<Item = String>) -> Self {
        let names: Vec<String> = names.collect();
        let longest = names.iter().map(String::len).max().unwrap_or(0);
        let of_vms = names.iter().map(|name| format!("[{name:<longest$}] ").into_bytes());
        let labels = of_vms.chain([HYPERVISOR_LABEL.into()]).collect();
        Self {
            names,
            labels,
            focus: None,
            source: None,
            place: Place::Start(Vec::new()),
            message: Vec::new(),
            found: Vec::new(),
        }
    }

    /// Takes a piece of the console. Returns texts and the VMs that wrote them: lines end with CR and LF, as terminals
    /// want them.
    pub fn feed(&mut self, bytes: &[u8]) -> Vec<(usize, Vec<u8>)> {
        bytes.iter().for_each(|&byte| self.take(byte));
        std::mem::take(&mut self.found)
    }

    fn take(&mut self, byte: u8) {
        match &mut self.place {
            Place::Start(held) => {
                held.push(byte);
                let held = std::mem::take(held);
                self.decide(held);
            }
            Place::Line if byte == b'\r' && self.focus.is_none() => self.place = Place::Return,
            Place::Line => self.emit(&[byte]),
            Place::Return if byte == b'\n' => self.emit(b"\n"),
            // It is sent again with the line end.
            Place::Return if byte == b'\r' => {}
            Place::Return => {
                self.emit(b"\r");
                self.place = Place::Start(Vec::new());
                self.take(byte);
            }
        }
    }

    /// Looks for a label in the start of a line.
    fn decide(&mut self, held: Vec<u8>) {
        // The VM that is shown alone can print anything, also labels of others.
        let hypervisor = self.labels.len() - 1;
        let first = if self.focus.is_some() { hypervisor } else { 0 };
        let mut sources = first..=hypervisor;
        if let Some(source) = sources.clone().find(|&it| self.labels[it] == held) {
            self.source = Some(source);
            self.place = Place::Line;
        } else if sources.clone().any(|it| self.labels[it].starts_with(&held)) {
            self.place = Place::Start(held);
        } else if let Some((&end @ (b'\r' | b'\n'), label)) = held.split_last()
            && let Some(source) = sources.find(|&it| self.labels[it].trim_ascii_end() == label)
        {
            // An empty line whose last blank was cut off.
            self.source = Some(source);
            self.place = Place::Line;
            self.take(end);
        } else {
            self.source = self.focus;
            self.place = Place::Line;
            held.into_iter().for_each(|byte| self.take(byte));
        }
    }

    /// Gives bytes of a line to its source.
    fn emit(&mut self, bytes: &[u8]) {
        let ends = bytes.ends_with(b"\n");
        self.place = if ends { Place::Start(Vec::new()) } else { Place::Line };
        let Some(source) = self.source else { return };
        if source == self.labels.len() - 1 {
            if self.message.len() < MESSAGE_MAX {
                self.message.extend(bytes);
            }
            if ends {
                self.hear();
            }
            return;
        }
        let bytes = if ends && self.focus.is_none() { b"\r\n" } else { bytes };
        match self.found.last_mut() {
            Some((vm, text)) if *vm == source => text.extend(bytes),
            _ => self.found.push((source, bytes.to_vec())),
        }
    }

    /// Follows the view, of which the hypervisor tells.
    fn hear(&mut self) {
        let message = std::mem::take(&mut self.message);
        let message = String::from_utf8_lossy(&message);
        let Some(view) = message.strip_prefix("console: ") else { return };
        if view.starts_with("all VMs,") {
            self.focus = None;
        } else if let Some((name, _)) = view.split_once(';')
            && let Some(vm) = self.names.iter().position(|it| it == name)
        {
            self.focus = Some(vm);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fails unless `linux` and `rt` wrote these texts, wherever the console is cut.
    #[track_caller]
    fn assert_split(console: &str, linux: &str, rt: &str) {
        for cut in 0..=console.len() {
            let (one, other) = console.as_bytes().split_at(cut);
            let mut split = Split::new(["linux".to_owned(), "rt".to_owned()].into_iter());
            let mut seen = [Vec::new(), Vec::new()];
            for (vm, text) in split.feed(one).into_iter().chain(split.feed(other)) {
                seen[vm].extend(text);
            }
            let seen = seen.map(|text| String::from_utf8(text).expect("text"));
            assert_eq!(seen, [linux, rt], "cut at {cut}");
        }
    }

    #[test]
    fn lines_come_without_labels_and_without_those_of_others() {
        assert_split(
            "early\r\n[bulkhead] ready\r\n[linux] a [rt   ] b\r\n[rt   ] c\n[linux]\r\n[rtx] d\n[linux] # ",
            "a [rt   ] b\r\n\r\n# ",
            "c\r\n",
        );
    }

    #[test]
    fn a_line_that_starts_again_does_so_for_the_client() {
        assert_split("[linux] 10%\r[linux] 20%\r\n[rt   ] c\r\r\n", "10%\r20%\r\n", "c\r\n");
    }

    #[test]
    fn a_vm_that_is_shown_alone_is_passed_on_as_it_is() {
        assert_split(
            "[rt   ] a\r\n[bulkhead] console: linux; Ctrl-] a for all VMs\r\n\x1b[1m[rt   ] x\r\n[rt   ] y\rz\n\
             [bulkhead] rt: off (power-off)\r\n[\x18\x1b[!p\r\n[bulkhead] console: all VMs, input goes to linux\r\n\
             [rt   ] b\r\n",
            "\x1b[1m[rt   ] x\r\n[rt   ] y\rz\n[\x18\x1b[!p\r\n",
            "a\r\nb\r\n",
        );
    }
}
