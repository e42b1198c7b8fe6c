//! Lines that are made for tools: reports of the hypervisor and of real-time guests.

/// The hypervisor's report on a VM.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Report {
    /// `off`, `stopped` or `running`.
    pub state: String,
    /// The reason, if there is one.
    pub reason: Option<String>,
    /// Restarts since the hypervisor started.
    pub restarts: u64,
    /// Exits of all its VCPUs.
    pub exits: u64,
    /// Interrupts injected.
    pub irqs: u64,
}

/// A task of a real-time guest, by its own report.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Told {
    /// Name of the VM.
    pub name: String,
    /// Its period in microseconds.
    pub period_us: u64,
    /// Jobs that ended.
    pub jobs: u64,
    /// Jobs that ended after their deadline.
    pub misses: u64,
    /// Shortest response time in nanoseconds.
    pub response_min_ns: u64,
    /// Mean response time in nanoseconds.
    pub response_mean_ns: u64,
    /// Longest response time in nanoseconds.
    pub response_max_ns: u64,
}

impl Told {
    /// Returns the number of deadlines that were missed. The guest may count by another deadline than the described one, most often by
    /// its period: its longest response says whether one was missed. If it counts by a shorter deadline, nobody knows how many.
    pub fn missed(&self, deadline_ns: Option<u64>) -> u64 {
        let Some(deadline) = deadline_ns else { return self.misses };
        let is_late = u64::from(self.response_max_ns > deadline);
        if self.response_max_ns < deadline || deadline > self.period_us.saturating_mul(1_000) {
            return is_late;
        }
        // At the deadline, the guest knows the time better than in whole nanoseconds.
        self.misses.max(is_late)
    }
}

/// Returns the value of `key=value` among words.
fn value<'a>(words: &'a str, key: &str) -> Option<&'a str> {
    words.split_whitespace().find_map(|word| word.strip_prefix(key)?.strip_prefix('='))
}

fn number(words: &str, key: &str) -> Option<u64> {
    value(words, key)?.parse().ok()
}

/// Reads `rt: off (power-off)` and `rt: stopped (undefined-instruction)`.
pub fn ended(text: &str) -> Option<(&str, &str, &str)> {
    let (name, rest) = text.split_once(": ")?;
    let (state, reason) = rest.strip_suffix(')')?.split_once(" (")?;
    ["off", "stopped"].contains(&state).then_some((name, state, reason))
}

/// Reads `vm=rt state=off reason=- restarts=0 exits=12 irqs=3`: the VM and its report.
pub fn report(summary: &str) -> Option<(&str, Report)> {
    let report = Report {
        state: value(summary, "state")?.into(),
        reason: value(summary, "reason").filter(|reason| *reason != "-").map(str::to_owned),
        restarts: number(summary, "restarts")?,
        exits: number(summary, "exits")?,
        irqs: number(summary, "irqs")?,
    };
    Some((value(summary, "vm")?, report))
}

/// Reads `linux: measure FAILED: why` or `tasks: FAILED: why`, which any guest can print: returns the failure and its
/// reason.
pub fn failed(text: &str) -> Option<&str> {
    let (_, what) = text.trim().split_once(": ")?;
    let rest = what.strip_prefix("FAILED").or_else(|| Some(what.split_once(" FAILED")?.1))?;
    (rest.is_empty() || rest.starts_with(": ")).then_some(what)
}

/// Reads `rt: task control period_us=1000 jobs=500 misses=0 response_min_ns=...` of a guest of any name.
pub fn task(text: &str) -> Option<Told> {
    let (guest, task) = text.trim_start().split_once(": task ")?;
    if guest.contains(char::is_whitespace) {
        return None;
    }
    let (name, words) = task.split_once(' ')?;
    Some(Told {
        name: name.into(),
        period_us: number(words, "period_us")?,
        jobs: number(words, "jobs")?,
        misses: number(words, "misses")?,
        response_min_ns: number(words, "response_min_ns")?,
        response_mean_ns: number(words, "response_mean_ns")?,
        response_max_ns: number(words, "response_max_ns")?,
    })
}
