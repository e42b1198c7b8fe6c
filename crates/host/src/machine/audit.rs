//! Looks whether the frames of VMs have the colours of their VMs, before VMs run and while they do.

use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use policy::color::ColorSet;
use vmm::{Memory, Pagemap, Pins};

use super::Error;
use crate::colors::{Colored, Findings, VmFindings};

/// Time between two looks at all frames.
const PAUSE: Duration = Duration::from_secs(1);
/// Most looks for which a page that Linux moves has no frame, and the time between them.
const ATTEMPTS: usize = 10;
const MOVE: Duration = Duration::from_millis(2);

/// Memory of a VM.
#[derive(Debug)]
pub struct Part {
    /// The index of the VM.
    pub vm: u8,
    /// The colours of the VM.
    pub colored: Colored,
    /// The kind of memory.
    pub kind: Kind,
    /// The memory.
    pub memory: Memory,
}

/// A kind of memory.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Kind {
    /// Its frames have colours of the VM.
    Own,
    /// Spare frames, which go round the extra colours: each has that of its turn.
    Spare,
    /// The memory that a guest with extra colours sees: its pages are in frames of both kinds above, which count there. While a
    /// page moves, it is in none.
    Seen,
}

impl Part {
    /// Returns true if a page may lie at this physical address.
    fn may_lie(&self, page: usize, address: Option<u64>) -> bool {
        let Colored { geometry, colors, extra, .. } = self.colored;
        let extra = extra.map_or(ColorSet::EMPTY, |it| it.colors);
        let Some(color) = address.map(|it| geometry.color_of(it)) else {
            return self.kind == Kind::Seen;
        };
        match self.kind {
            Kind::Own => colors.contains(color),
            Kind::Spare => extra.iter().nth(page % extra.len().max(1) as usize) == Some(color),
            Kind::Seen => (colors | extra).contains(color),
        }
    }
}

/// The memory of all VMs with colours.
#[derive(Debug)]
pub struct Audit {
    pagemap: Pagemap,
    parts: Vec<Part>,
    addresses: Vec<Option<u64>>,
    /// While this is here, Linux does not move the parts.
    pins: Option<Pins>,
}

impl Audit {
    /// Returns an audit of these parts.
    pub fn new(pagemap: Pagemap, parts: Vec<Part>) -> Self {
        Self { pagemap, parts, addresses: Vec::new(), pins: None }
    }

    /// Keeps Linux from moving the parts until this audit is over, if it lets this process do so. What it moves all the same is
    /// found.
    pub fn pin(&mut self) {
        let parts = self.parts.iter().filter(|it| it.kind != Kind::Seen);
        let parts: Vec<&Memory> = parts.map(|it| &it.memory).collect();
        self.pins = Pins::new(&parts).ok();
    }

    /// Refuses VMs of which a page lies in a frame of another colour.
    pub fn check(&mut self) -> Result<(), Error> {
        match self.lost()? {
            0 => Ok(()),
            lost => Err(Error::Colors(format!(
                "Linux has moved {lost} pages of VMs with colours to other frames before the VMs started\n\
                 help: `bulkhead measure host` says what moves pages; start the run again"
            ))),
        }
    }

    /// Returns the number of pages that lie in no frame of the colours of their VM.
    pub fn lost(&mut self) -> Result<u64, Error> {
        Ok(self.look()?.values().map(|(_, lost)| lost).sum())
    }

    /// Returns for each VM the number of its pages, and of those that lie in no frame of its colours.
    fn look(&mut self) -> Result<BTreeMap<u8, (u64, u64)>, Error> {
        let mut vms = BTreeMap::new();
        for part in &self.parts {
            for attempt in 1.. {
                self.addresses.clear();
                self.pagemap.read(&part.memory, &mut self.addresses)?;
                let waits = part.kind != Kind::Seen && !self.addresses.iter().all(Option::is_some);
                if attempt == ATTEMPTS || !waits {
                    break;
                }
                thread::sleep(MOVE);
            }
            let addresses = self.addresses.iter().enumerate();
            let bad = addresses.filter(|(page, address)| !part.may_lie(*page, **address)).count();
            let (pages, lost) = vms.entry(part.vm).or_insert((0, 0));
            *pages += if part.kind == Kind::Seen { 0 } else { self.addresses.len() as u64 };
            *lost += bad as u64;
        }
        Ok(vms)
    }
}

/// A thread that looks again and again.
#[derive(Debug)]
pub struct Auditor {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Shared {
    stops: Mutex<bool>,
    changed: Condvar,
    findings: Mutex<Findings>,
}

impl Auditor {
    /// Starts the thread. It runs where the calling thread may run, and others go before it.
    pub fn start(mut audit: Audit) -> Result<Self, Error> {
        let shared = Arc::new(Shared::default());
        let told = Arc::clone(&shared);
        let body = move || {
            // A page that moves waits for the lock of mappings, which this thread takes: then it comes before others soon.
            if audit.parts.iter().all(|part| part.kind != Kind::Spare) {
                vmm::step_back();
            }
            let start = Instant::now();
            loop {
                // What has come to an end is looked at once more.
                let is_last = told.waited();
                told.note(audit.look(), start.elapsed());
                if is_last {
                    break;
                }
            }
        };
        let thread = thread::Builder::new().name("colors".into()).spawn(body);
        Ok(Self { shared, thread: Some(thread.map_err(Error::thread)?) })
    }

    /// Looks a last time, and returns the findings.
    pub fn finish(mut self) -> Findings {
        self.end();
        let mut findings = std::mem::take(&mut *locked(&self.shared.findings));
        if findings.looks == 0 && findings.failure.is_none() {
            findings.failure = Some("the thread that looks at frames has ended too early".into());
        }
        findings
    }

    fn end(&mut self) {
        *locked(&self.shared.stops) = true;
        self.shared.changed.notify_all();
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            // The panic has been shown, and there was no last look.
            let why = "the thread that looks at frames failed, which is a mistake of Bulkhead";
            locked(&self.shared.findings).failure.get_or_insert_with(|| why.into());
        }
    }
}

impl Drop for Auditor {
    fn drop(&mut self) {
        self.end();
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    /// Waits until the next look. Returns true if it is the last one.
    fn waited(&self) -> bool {
        let stops = locked(&self.stops);
        let waited = self.changed.wait_timeout_while(stops, PAUSE, |stops| !*stops);
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }

    /// Takes note of a look, the time `time` after the start.
    fn note(&self, look: Result<BTreeMap<u8, (u64, u64)>, Error>, time: Duration) {
        let mut findings = locked(&self.findings);
        let vms = match look {
            Ok(vms) => vms,
            Err(error) => {
                findings.failure.get_or_insert_with(|| error.to_string());
                return;
            }
        };
        findings.looks += 1;
        for (vm, (pages, lost)) in vms {
            let place = findings.vms.iter().position(|it| it.vm == vm).unwrap_or_else(|| {
                findings.vms.push(VmFindings { vm, ..VmFindings::default() });
                findings.vms.len() - 1
            });
            let known = &mut findings.vms[place];
            known.pages = pages;
            known.lost = known.lost.max(lost);
            if lost > 0 {
                known.lost_at_ms.get_or_insert(time.as_millis() as u64);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use policy::color::{Cache, Geometry, IndexBits};
    use vmm::Candidates;

    use super::*;

    /// 64 pages that claim to have these colours of 16, wherever they lie; `None`: this process sees no frames.
    fn audit(colors: &str) -> Option<Audit> {
        let cache = Cache::new(1 << 20, 16, 64).expect("a cache");
        let geometry = Geometry::new(cache, 4096, IndexBits::AbovePage).expect("16 colours");
        let colored = Colored {
            geometry,
            colors: colors.parse().expect("colours"),
            shown: false,
            extra: None,
        };
        let memory = Candidates::new().and_then(|mut it| Ok(it.add(64)?.clone())).expect("memory");
        let pagemap = Pagemap::open().expect("this process may look at itself");
        match pagemap.read(&memory, &mut Vec::new()) {
            Err(error @ Error::HiddenFrames) => {
                eprintln!("skipped: {error}");
                None
            }
            result => {
                result.expect("entries");
                Some(Audit::new(pagemap, vec![Part { vm: 3, colored, kind: Kind::Own, memory }]))
            }
        }
    }

    #[test]
    fn frames_of_the_right_colours_are_in_order() {
        let Some(mut audit) = audit("0-15") else { return };
        audit.check().expect("all colours are right");
        let findings = Auditor::start(audit).expect("a thread").finish();
        assert_eq!((findings.looks, &findings.failure), (1, &None));
        assert_eq!(findings.vms, [VmFindings { vm: 3, pages: 64, lost: 0, lost_at_ms: None }]);
    }

    #[test]
    fn frames_of_other_colours_prevent_the_start_and_are_found_during_a_run() {
        let Some(mut audit) = audit("0") else { return };
        let refused = audit.check().expect_err("64 pages in a row have other colours").to_string();
        assert!(refused.contains("other frames") && refused.contains("\nhelp: "), "{refused}");
        let auditor = Auditor::start(audit).expect("a thread");
        thread::sleep(PAUSE * 3 / 2);
        let findings = auditor.finish();
        let [VmFindings { vm: 3, pages: 64, lost, lost_at_ms: Some(at) }] = findings.vms[..] else {
            panic!("{findings:?}")
        };
        assert!((1..=64).contains(&lost) && at >= 900 && findings.looks >= 2, "{findings:?}");
    }
}
