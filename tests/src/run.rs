//! What came out of a run.

use qemu::{Exit, Outcome};

/// A finished run.
#[derive(Debug)]
pub struct Run {
    outcome: Outcome,
}

impl Run {
    /// What a session ended with.
    pub fn of(outcome: Outcome) -> Self {
        Self { outcome }
    }

    /// All lines of the console.
    pub fn log(&self) -> &str {
        &self.outcome.log
    }

    /// The lines of a VM, or of `bulkhead`, without their label.
    pub fn lines(&self, source: &str) -> Vec<&str> {
        let lines = self.outcome.log.lines().map(|line| line.trim_end_matches('\r'));
        lines
            .filter_map(|line| {
                let (label, text) = line.strip_prefix('[')?.split_once("] ")?;
                (label.trim_end() == source).then_some(text)
            })
            .collect()
    }

    /// Fails unless the machine was switched off.
    #[track_caller]
    pub fn ended(self) -> Self {
        assert_eq!(self.outcome.exit, Exit::Code(0), "{}", self.outcome);
        self
    }

    /// Fails unless a line of the source contains the text; returns the first such line.
    #[track_caller]
    pub fn expect(&self, source: &str, text: &str) -> &str {
        let lines = self.lines(source);
        let found = lines.iter().find(|line| line.contains(text));
        found.unwrap_or_else(|| panic!("[{source}] never says {text:?}\n{}", self.outcome))
    }

    /// Fails if a line of the source contains the text.
    #[track_caller]
    pub fn never(&self, source: &str, text: &str) {
        let found = self.lines(source).into_iter().find(|line| line.contains(text));
        assert_eq!(found, None, "{}", self.outcome);
    }

    /// Value of `key=` in the first line of the source that starts with `start` and has it.
    #[track_caller]
    pub fn value(&self, source: &str, start: &str, key: &str) -> i64 {
        let key = format!("{key}=");
        self.lines(source)
            .iter()
            .filter(|line| line.starts_with(start))
            .flat_map(|line| line.split_whitespace())
            .find_map(|word| word.strip_prefix(&key)?.parse().ok())
            .unwrap_or_else(|| panic!("[{source}] has no {key} after {start:?}\n{}", self.outcome))
    }

    /// Fails unless the hypervisor's summary says this of the VM.
    #[track_caller]
    pub fn summary(&self, vm: &str, state: &str, reason: &str, restarts: u32) {
        let expected =
            format!("summary vm={vm} state={state} reason={reason} restarts={restarts} ");
        self.expect("bulkhead", &expected);
    }
}
