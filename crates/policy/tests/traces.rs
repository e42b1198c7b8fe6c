//! Servers of the code against the model of the proofs: the code decides on random events, and Coq computes for each slot
//! whether a server of `proofs/Servers.v` uses its budget there. Without Coq these tests say so, and pass.

#[path = "suite/events.rs"]
mod events;
#[path = "suite/joining.rs"]
mod joining;

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use events::Events;
use joining::Join;
use policy::cpu::{Cpu, Slot};
use policy::server::kind::Kind;
use policy::server::{Parameters, Policy, REPLENISHMENTS_MAX};
use policy::time::{Duration, Instant};
use testing::{Random, cases};

/// Slots of a trace.
const SLOTS: u64 = 500;
/// Traces that Coq reads in one file.
const TRACES_OF_FILE: usize = 200;

/// What happens to a server in a slot.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
struct Happens {
    ready: bool,
    taken: bool,
    used: bool,
}

/// What happened to a server.
#[derive(Clone, Debug)]
struct Trace {
    kind: Kind,
    budget: u64,
    period: u64,
    /// Whether a sporadic server may lose what it could have used for long.
    loses: bool,
    slots: Vec<Happens>,
}

impl Trace {
    /// The slots as a number of `proofs/Traces.v`, in hexadecimal.
    fn bits(&self) -> String {
        let bits = self.slots.iter().flat_map(|it| [it.ready, it.taken, it.used]);
        let mut bits: Vec<_> = bits.chain([true]).collect();
        bits.resize(bits.len().next_multiple_of(4), false);
        let digit = |four: &[bool]| four.iter().rev().fold(0, |sum, &bit| 2 * sum + u32::from(bit));
        let digits = bits.chunks(4).rev().filter_map(|four| char::from_digit(digit(four), 16));
        format!("0x{}", digits.collect::<String>())
    }

    /// The kind of its server in `proofs/Servers.v`.
    fn kind(&self) -> &'static str {
        match self.kind {
            Kind::Periodic => "Periodic",
            Kind::Deferrable => "Deferrable",
            Kind::Sporadic => "Sporadic",
        }
    }

    /// The trace of a sporadic server that joins replenishments so, and how often it does.
    fn joining(&self, join: Join) -> (Self, usize) {
        let mut other = self.clone();
        let joins = joining::decide(self.budget, self.period, join, &mut other.slots);
        (other, joins)
    }

    /// The first slot for which this is true.
    fn find(&self, is: impl Fn(&Happens) -> bool) -> usize {
        self.slots.iter().position(is).unwrap_or_else(|| panic!("no such slot: {self:?}"))
    }
}

fn parameters(budget: u64, period: u64) -> Parameters {
    Parameters {
        budget: Duration(budget),
        period: Duration(period),
        start: Instant(0),
        overrun: Duration::ZERO,
    }
}

/// Has the code decide about servers, the highest priority first, and a VCPU of the background below. In each slot a VCPU
/// changes between ready and waiting with a probability of one in `calm`; it never waits with 0.
fn traces(servers: &[(Kind, u64, u64)], calm: u64, random: &mut Random) -> Vec<Trace> {
    let policies =
        servers.iter().map(|&(kind, budget, period)| kind.policy(parameters(budget, period)));
    let policies = policies.chain([Policy::Background]);
    let slots: Vec<_> = policies.map(|it| Slot::new(it).expect("a server")).collect();
    let mut cpu = Cpu::new(slots);
    let mut decision = cpu.wake(servers.len(), Instant(0));
    let of = |(server, &(kind, budget, period))| {
        let loses = kind == Kind::Sporadic && !is_served(servers, server);
        Trace { kind, budget, period, loses, slots: Vec::new() }
    };
    let mut traces: Vec<_> = servers.iter().enumerate().map(of).collect();
    for now in 0..SLOTS {
        let at = Instant(now);
        for vcpu in 0..servers.len() {
            let is_ready = cpu.slots()[vcpu].is_ready();
            let changes = if calm == 0 { !is_ready } else { random.one_in(calm) };
            if !changes {
                continue;
            }
            decision = if is_ready { cpu.block(vcpu, at) } else { cpu.wake(vcpu, at) };
        }
        if decision.timer.is_some_and(|timer| timer <= at) {
            decision = cpu.tick(at);
        }
        let mut taken = false;
        for (vcpu, trace) in traces.iter_mut().enumerate() {
            let ready = cpu.slots()[vcpu].is_ready();
            let used = if ready {
                decision.run == Some(vcpu)
            } else {
                // The budget of a periodic server goes by when the server would run now.
                trace.kind == Kind::Periodic && cpu.clone().wake(vcpu, at).run == Some(vcpu)
            };
            trace.slots.push(Happens { ready, taken, used });
            taken |= used;
        }
    }
    traces
}

fn random_traces(random: &mut Random) -> Vec<Trace> {
    let mut servers: Vec<_> = (0..random.between(1, 4))
        .map(|_| {
            let budget = random.between(1, 12);
            (random.of(&Kind::ALL), budget, budget + random.below(24))
        })
        .collect();
    let mut calm = random.of(&[0, 2, 3, 8, 20]);
    if random.one_in(3) {
        // A VCPU that executes for short times has to join what comes back.
        let budget = random.between(10, 24);
        let place = random.below(2) as usize;
        servers.truncate(1);
        servers.insert(place, (Kind::Sporadic, budget, budget + random.between(8, 40)));
        calm = random.of(&[2, 3]);
    }
    traces(&servers, calm, random)
}

/// Returns true if a server has its budget within its period, whatever those above do (vCache, Eq. 1).
fn is_served(servers: &[(Kind, u64, u64)], server: usize) -> bool {
    let (_, own, period) = servers[server];
    let mut window = own;
    loop {
        let interference = servers[..server].iter().map(|&(kind, budget, period)| {
            let jitter = if kind == Kind::Deferrable { period - budget } else { 0 };
            (window + jitter).div_ceil(period) * budget
        });
        let next = own + interference.sum::<u64>();
        if next == window || next > period {
            return next <= period;
        }
        window = next;
    }
}

/// The folder with the compiled proofs; `None` without Coq.
fn proofs() -> Option<&'static Path> {
    // Once: tests run side by side.
    static PROOFS: OnceLock<Option<PathBuf>> = OnceLock::new();
    PROOFS.get_or_init(compile).as_deref()
}

fn compile() -> Option<PathBuf> {
    if Command::new("coqc").arg("--version").output().is_err() {
        eprintln!("not tested: coqc is missing (Debian package `coq`)");
        return None;
    }
    let proofs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../proofs");
    let made = Command::new("make").arg("-C").arg(&proofs).arg("Traces.vo").output().expect("make");
    assert!(made.status.success(), "{made:?}");
    Some(proofs)
}

/// Has Coq compute that servers of the model do this with all traces (`follow`), or with none.
fn coq(proofs: &Path, name: &str, traces: &[Trace], follow: bool) -> Output {
    let mut text = "From Coq Require Import List NArith.\nFrom Bulkhead Require Import Traces.\n\
                    Import ListNotations.\nOpen Scope N_scope.\n"
        .to_owned();
    let (mut follows, mut lengths) = (Vec::new(), Vec::new());
    for (index, trace) in traces.iter().enumerate() {
        let (kind, budget, period) = (trace.kind(), trace.budget, trace.period);
        let _ = writeln!(text, "Definition t{index} := {}%positive.", trace.bits());
        let (most, loses) = (REPLENISHMENTS_MAX, trace.loses);
        follows.push(format!(
            "follows_trace Servers.{kind} {most} {loses} {budget} {period} t{index}"
        ));
        lengths.push(format!("N.of_nat (length (decode t{index})) =? {}", trace.slots.len()));
    }
    let _ = write!(
        text,
        "Theorem complete : forallb (fun it => it) [{}] = true.\nProof. vm_cast_no_check (eq_refl true). Qed.\n\
         Theorem followed : forallb (Bool.eqb {follow}) [{}] = true.\n\
         Proof. vm_cast_no_check (eq_refl true). Qed.\n",
        lengths.join("; "),
        follows.join("; "),
    );
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.v"));
    std::fs::write(&file, text).expect("a file");
    let mut coqc = Command::new("coqc");
    coqc.args(["-q", "-Q"]).arg(proofs).arg("Bulkhead").arg(file);
    coqc.output().expect("Coq")
}

fn accepts(proofs: &Path, name: &str, traces: &[Trace], follow: bool) {
    let output = coq(proofs, name, traces, follow);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{name}.v in {}: {said}", env!("CARGO_TARGET_TMPDIR"));
}

fn compare(proofs: &Path, name: &str, systems: u64) {
    let (mut all, mut slots, mut number, mut joins) = (Vec::new(), 0, 0, 0);
    for seed in 0..systems {
        let traces = random_traces(&mut Random::new(seed));
        joins += traces.iter().map(joins_of).sum::<usize>();
        all.extend(traces);
        if all.len() >= TRACES_OF_FILE || seed + 1 == systems {
            accepts(proofs, name, &all, true);
            slots += all.iter().map(|it| it.slots.len()).sum::<usize>();
            number += all.len();
            all.clear();
        }
    }
    assert!(joins > 0, "no replenishments are joined in {number} traces");
    eprintln!("{number} traces, {slots} slots, {joins} joins: the model does what the code did");
}

/// How often replenishments are joined in the trace.
fn joins_of(trace: &Trace) -> usize {
    if trace.kind != Kind::Sporadic {
        return 0;
    }
    let (same, joins) = trace.joining(Join::Later);
    assert_eq!(same.slots, trace.slots, "{} in {}", trace.budget, trace.period);
    joins
}

#[test]
fn servers_of_the_model_do_what_the_code_does() {
    let Some(proofs) = proofs() else { return };
    compare(proofs, "traces", u64::from(cases(40)));
}

/// `BULKHEAD_SYSTEMS` of them.
#[test]
#[ignore = "takes minutes: `make campaign-proofs`"]
fn many_servers_of_the_model_do_what_the_code_does() {
    let proofs = proofs().expect("Coq");
    let systems = std::env::var("BULKHEAD_SYSTEMS").ok().map(|it| it.parse().expect("a number"));
    compare(proofs, "many_traces", systems.unwrap_or(4_000));
}

/// Traces of servers that have more than they should, and slots that are other than they were.
#[test]
fn traces_with_mistakes_are_refused() {
    let Some(proofs) = proofs() else { return };
    let mut mutants = Vec::new();
    for kind in Kind::ALL {
        let made = |budget, period| {
            let trace = traces(&[(kind, budget, period)], 0, &mut Random::new(1)).remove(0);
            Trace { budget: 5, period: 20, ..trace }
        };
        let good = made(5, 20);
        accepts(proofs, "good_trace", std::slice::from_ref(&good), true);
        let no_budget = good.find(|it| it.ready && !it.used);
        let used = good.find(|it| it.used);
        let change = |slot: usize, happens: Happens| {
            let mut mutant = good.clone();
            mutant.slots[slot] = happens;
            mutant
        };
        let all = Happens { ready: true, taken: false, used: true };
        mutants.extend([
            ("the budget is one too large", made(6, 20)),
            ("the budget is one too small", made(4, 20)),
            ("the replenishment is too early", made(5, 19)),
            ("the replenishment is too late", made(5, 21)),
            ("the VCPU runs without budget", change(no_budget, all)),
            ("the VCPU with budget does not run", change(used, Happens { used: false, ..all })),
            ("two VCPUs run", change(used, Happens { taken: true, ..all })),
        ]);
        if kind != Kind::Periodic {
            let waits = Happens { ready: false, ..all };
            mutants.push(("the VCPU runs while it waits", change(used, waits)));
        }
    }
    mutants.extend(joined_otherwise(proofs));
    mutants.push(("budget is lost", losing(proofs)));
    let all: Vec<_> = mutants.iter().map(|(_, it)| it.clone()).collect();
    accepts(proofs, "refused_traces", &all, false);
    // What Coq computes decides: the same mutant as one that follows is no theorem.
    let (mistake, mutant) = &mutants[0];
    let output = coq(proofs, "mutant_trace", std::slice::from_ref(mutant), true);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && said.contains("eq_refl"), "{mistake}: {said}");
}

/// Traces of servers that join replenishments other than the code does.
fn joined_otherwise(proofs: &Path) -> [(&'static str, Trace); 2] {
    let good = traces(&[(Kind::Sporadic, 12, 40)], 2, &mut Random::new(1)).remove(0);
    assert!(joins_of(&good) > 0, "{good:?}");
    accepts(proofs, "joined_trace", std::slice::from_ref(&good), true);
    let other = |join| {
        let (mutant, _) = good.joining(join);
        assert_ne!(mutant.slots, good.slots, "{join:?}");
        mutant
    };
    [
        ("the joined replenishment comes at the earlier time", other(Join::Earlier)),
        ("replenishments are not joined", other(Join::Never)),
    ]
}

/// The trace of a server that loses budget, because those above take too much, but may not.
fn losing(proofs: &Path) -> Trace {
    let servers = [(Kind::Periodic, 15, 20), (Kind::Sporadic, 6, 10)];
    let good = traces(&servers, 0, &mut Random::new(1)).remove(1);
    assert!(good.loses);
    accepts(proofs, "losing_trace", std::slice::from_ref(&good), true);
    Trace { loses: false, ..good }
}
