//! Coq checks the certificates of described systems, of random ones, and refuses certificates with mistakes. Without
//! Coq (Debian package `coq`) these tests say so, and pass.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use certificate::folder::{PACKAGE, PROOFS};
use certificate::{Certificate, Lack, Place, Vcpu};
use system::description::System;
use system::plan;
use testing::{Random, cases};
use verdict::Verdict;

/// Certificates that Coq reads in one file.
const CERTIFICATES_OF_FILE: usize = 40;

/// The folder with the compiled proofs; `None` without Coq.
fn proofs() -> Option<&'static Path> {
    // Once: tests run side by side.
    static PROOFS: OnceLock<Option<PathBuf>> = OnceLock::new();
    PROOFS.get_or_init(compile).as_deref()
}

fn compile() -> Option<PathBuf> {
    if Command::new("coqc").arg("--version").output().is_err() {
        eprintln!("not tested: coqc is missing (Debian package `{PACKAGE}`)");
        return None;
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../proofs");
    let mut make = Command::new("make");
    make.arg("-C").arg(&path).args(PROOFS.map(|(name, _)| format!("{name}.vo")));
    let made = make.output().expect("make");
    assert!(made.status.success(), "{made:?}");
    Some(path)
}

/// What Coq says about a certificate.
fn coq(proofs: &Path, name: &str, text: &str) -> Output {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.v"));
    fs::write(&path, text).expect("a file");
    let mut coqc = Command::new("coqc");
    coqc.args(["-q", "-Q"]).arg(proofs).arg("Bulkhead").arg(path);
    coqc.output().expect("Coq")
}

fn accepts(proofs: &Path, name: &str, certificate: &Certificate) {
    let output = coq(proofs, name, &certificate.text);
    assert!(output.status.success(), "{name}: {output:?}\n{}", certificate.text);
}

/// The parts of the text of a certificate: what it needs of Coq, and what it says.
fn parts(text: &str) -> (&str, &str) {
    text.split_at(text.find("Definition system").expect("parameters"))
}

/// Several texts as one: Coq takes as long to start as to check some of them.
fn together<'a>(texts: impl Iterator<Item = &'a str>) -> String {
    let mut all = String::new();
    for (number, text) in texts.enumerate() {
        let (head, body) = parts(text);
        if number == 0 {
            all += head;
        }
        all += &format!("Module m{number}.\n{body}\nEnd m{number}.\n");
    }
    all
}

fn accepts_all(proofs: &Path, name: &str, certificates: &[Certificate]) {
    if !certificates.is_empty() {
        let text = together(certificates.iter().map(|it| it.text.as_str()));
        let output = coq(proofs, name, &text);
        assert!(output.status.success(), "{name}: {output:?}\n{text}");
    }
}

/// Coq refuses each of these texts because the computation has another result: it computes `false`.
fn refuses_all(proofs: &Path, name: &str, texts: &[String]) {
    let (right, wrong) = ("check system bounds = true.", "check system bounds = false.");
    let refuted = texts.iter().map(|text| {
        let end = text.find("\nTheorem bound_of_").expect("a theorem");
        assert!(text[..end].contains(right), "{text}");
        text[..end].replace(right, wrong).replace("(eq_refl true)", "(eq_refl false)")
    });
    let refuted: Vec<_> = refuted.collect();
    let text = together(refuted.iter().map(String::as_str));
    let output = coq(proofs, name, &text);
    assert!(output.status.success(), "{name}: {output:?}\n{text}");
}

/// Coq refuses a text because the computation has another result.
fn refuses(proofs: &Path, name: &str, text: &str) {
    let output = coq(proofs, name, text);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let computed = said.contains("The term \"eq_refl\" has type \"true = true\"");
    assert!(!output.status.success() && computed, "{name}: {said}\n{text}");
}

fn certificates(text: &str, folder: &Path) -> (Verdict, Vec<Vcpu>) {
    let system =
        System::from_toml("s.toml", text, folder).unwrap_or_else(|it| panic!("{it}\n{text}"));
    let plan = plan::make(&system).unwrap_or_else(|it| panic!("{it}\n{text}"));
    let verdict = Verdict::of_plan(&plan, Some(&system));
    let vcpus = verdict.certificates(&plan, &system);
    (verdict, vcpus)
}

/// A random PCPU with up to three VCPUs with servers and one of the background, all with tasks.
fn random(random: &mut Random) -> String {
    // Beside VMs on other PCPUs, whose accesses to memory are waited for.
    let memory = random.one_in(3);
    let mut text = "name = \"s\"\n".to_owned();
    if memory {
        text +=
            "[platform]\nboard = \"qemu-virt\"\n[platform.bandwidth]\naccess_latency = \"20ns\"\n";
        for pcpu in 2..4 {
            text += &format!(
                "[[vm]]\nname = \"beside{pcpu}\"\nboot = \"raw\"\nmemory = \"16MiB\"\nkernel = \"a\"\n"
            );
            if pcpu == 2 || random.one_in(2) {
                let accesses = random.between(100, 2_000);
                text += &format!("bandwidth = {{ accesses = {accesses}, period = \"1ms\" }}\n");
            }
            text += &format!("[[vm.vcpu]]\npcpu = {pcpu}\n");
        }
    } else {
        text += "platform = \"qemu-virt\"\n";
    }
    let servers = random.between(0, 3);
    let background = servers == 0 || random.one_in(2);
    for vcpu in 0..servers + u64::from(background) {
        text += &format!(
            "[[vm]]\nname = \"v{vcpu}\"\nboot = \"raw\"\nmemory = \"16MiB\"\nkernel = \"a\"\n\
             [[vm.vcpu]]\npcpu = 1\n"
        );
        let alone = servers == 0 && random.one_in(2);
        if vcpu < servers {
            let kind = random.of(&["periodic", "deferrable", "sporadic"]);
            let period = random.between(4, 20) * 500;
            let budget = period * random.between(10, 32) / 100;
            let priority = 10 - vcpu;
            text += &format!(
                "server = \"{kind}\"\nbudget = \"{budget}us\"\nperiod = \"{period}us\"\npriority = {priority}\n"
            );
        } else if !alone {
            text += "server = \"background\"\n";
            text += if servers > 0 { "priority = 1\n" } else { "" };
        }
        let sections = random.one_in(3);
        let asleep = random.one_in(3);
        let mut priority = 9;
        for task in 0..random.between(1, 4) {
            let period = random.between(20, 200) * 1_000;
            let deadline = period * random.between(3, 8) / 4;
            let wcet = period * random.between(1, 8) / 200;
            text += &format!(
                "[[vm.task]]\nname = \"t-{task}\"\nperiod = \"{period}us\"\ndeadline = \"{deadline}us\"\n\
                 wcet = \"{wcet}us\"\npriority = {priority}\n"
            );
            priority -= u64::from(!random.one_in(4));
            if memory && !random.one_in(4) {
                text += &format!("accesses = {}\n", random.between(0, 5_000));
            }
            if random.one_in(3) {
                text += &format!("jitter = \"{}us\"\n", random.between(1, period / 2));
            }
            if sections && random.one_in(2) {
                text += &format!("blocking = \"{}us\"\n", random.between(1, 900));
            }
            if asleep && random.one_in(2) {
                text += &format!("self_suspension = \"{}us\"\n", random.between(1, 5_000));
            }
        }
    }
    text
}

/// Random VCPUs of a VM on two PCPUs, with tasks that share a resource of the VM and those of their VCPU.
fn random_locks(random: &mut Random) -> String {
    let overrun = random.one_in(2);
    let locks = if overrun { "vmpcp" } else { random.of(&["vmpcp", "mpcp"]) };
    let vcpus = random.between(2, 4);
    let mut text = format!(
        "name = \"s\"\nlocks = \"{locks}\"\nsection_overhead = \"300us\"\nplatform = \"qemu-virt\"\n\
         [[resource]]\nname = \"shared\"\nvms = [\"v\"]\n"
    );
    for vcpu in 0..vcpus {
        text += &format!("[[resource]]\nname = \"own{vcpu}\"\nvms = [\"v\"]\n");
    }
    text += "[[vm]]\nname = \"v\"\nboot = \"raw\"\nmemory = \"16MiB\"\nkernel = \"a\"\n";
    for vcpu in 0..vcpus {
        let kind = random.of(&["periodic", "deferrable"]);
        let period = random.between(8, 20) * 1_000;
        let budget = period * random.between(20, 35) / 100;
        text += &format!(
            "[[vm.vcpu]]\npcpu = {}\nserver = \"{kind}\"\nbudget = \"{budget}us\"\nperiod = \"{period}us\"\n\
             priority = {}\noverrun = {overrun}\n",
            1 + vcpu % 2,
            9 - vcpu
        );
    }
    for vcpu in 0..vcpus {
        for task in 0..random.between(1, 3) {
            let period = random.between(200, 900) * 1_000;
            let wcet = random.between(400, 4_000);
            text += &format!(
                "[[vm.task]]\nname = \"t{vcpu}-{task}\"\nvcpu = {vcpu}\nperiod = \"{period}us\"\n\
                 wcet = \"{wcet}us\"\npriority = {}\n",
                9 - task
            );
            // The first task of each VCPU has the shared one, so that no resource is without a task.
            let resource = match random.below(4) {
                _ if task == 0 => "shared".into(),
                0 => continue,
                1 => format!("own{vcpu}"),
                _ => "shared".to_owned(),
            };
            let length = random.between(10, 100);
            text += &format!(
                "sections = [{{ resource = \"{resource}\", after = \"1us\", length = \"{length}us\" }}]\n"
            );
            if random.one_in(4) {
                text += &format!("self_suspension = \"{}us\"\n", random.between(1, 5_000));
            }
        }
    }
    text
}

#[test]
fn certificates_of_the_examples_check() {
    let Some(proofs) = proofs() else { return };
    let systems = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../systems");
    let (mut proved, mut all) = (0, Vec::new());
    let mut entries: Vec<_> =
        fs::read_dir(&systems).expect("systems").map(|it| it.expect("an entry").path()).collect();
    entries.sort();
    for path in entries.iter().filter(|path| path.extension().is_some_and(|it| it == "toml")) {
        let text = fs::read_to_string(path).expect("a description");
        let Ok(system) = System::from_toml("s.toml", &text, &systems) else { continue };
        let Ok(plan) = plan::make(&system) else { continue };
        let verdict = Verdict::of_plan(&plan, Some(&system));
        for vcpu in verdict.certificates(&plan, &system) {
            let certificate = certificate::write(&vcpu);
            assert_eq!(certificate.bounds.len() + certificate.without.len(), vcpu.tasks.len());
            if !certificate.bounds.is_empty() {
                proved += certificate.bounds.len();
                all.push(certificate);
            }
        }
    }
    accepts_all(proofs, "examples", &all);
    // Those of `servers` and `demo` at least.
    assert!(proved >= 13, "only {proved} bounds");
}

#[test]
fn certificates_of_random_systems_check() {
    let Some(proofs) = proofs() else { return };
    check_random(proofs, u64::from(cases(20)));
}

/// `BULKHEAD_SYSTEMS` of them.
#[test]
#[ignore = "takes minutes: `make campaign-proofs`"]
fn certificates_of_many_random_systems_check() {
    let systems = std::env::var("BULKHEAD_SYSTEMS").ok().map(|it| it.parse().expect("a number"));
    check_random(proofs().expect("Coq"), systems.unwrap_or(300));
}

fn check_random(proofs: &Path, systems: u64) {
    let (mut proved, mut lacks) = (0, 0);
    let (mut all, mut tied, mut waits, mut held) = (Vec::new(), 0, 0, 0);
    let mut locked = 0;
    for seed in 0..systems {
        let random = &mut Random::new(seed);
        let text = if seed % 4 == 3 { random_locks(random) } else { self::random(random) };
        let (verdict, vcpus) = certificates(&text, Path::new(""));
        let in_time = verdict.tasks().filter(|(_, task)| task.ok).count();
        let of_seed = proved + lacks;
        for vcpu in &vcpus {
            let certificate = certificate::write(vcpu);
            for (task, lack) in &certificate.without {
                // Bounds of the analysis are those of the theorems, or there is a reason.
                let named = matches!(
                    lack,
                    Lack::NoBound
                        | Lack::Late
                        | Lack::Memory
                        | Lack::Sections
                        | Lack::SamePriority
                        | Lack::Blocking
                        | Lack::SleepsOnSporadic
                        | Lack::Depends(_)
                );
                assert!(named, "seed {seed}, {}, task {task}: {lack}\n{text}", vcpu.vm);
                lacks += usize::from(!matches!(lack, Lack::NoBound | Lack::Late));
            }
            for bound in &certificate.bounds {
                let task = &vcpu.tasks[bound.task];
                tied += usize::from(task.tied);
                held += usize::from(task.suspension > 0 && task.blocking > 0);
                waits += usize::from(!vcpu.interferers.is_empty());
                locked += usize::from(vcpu.locks && task.suspension > 0);
            }
            if !certificate.bounds.is_empty() {
                proved += certificate.bounds.len();
                all.push(certificate);
            }
        }
        if all.len() >= CERTIFICATES_OF_FILE || seed + 1 == systems {
            accepts_all(proofs, "random", &all);
            all.clear();
        }
        assert_eq!(proved + lacks - of_seed, in_time, "seed {seed}\n{text}");
    }
    assert!(proved > lacks, "{proved} proved, {lacks} not");
    let classes = format!(
        "{tied} tied, {waits} that wait for memory, {held} held off asleep, {locked} that wait for locks"
    );
    assert!(systems < 20 || [tied, waits, held, locked].iter().all(|it| *it > 0), "{classes}");
    eprintln!("{systems} systems: {proved} bounds proved ({classes}), {lacks} not");
}

/// A VCPU below another one, whose bounds are exact.
const EXACT: &str = r#"
name = "s"
platform = "qemu-virt"
[[vm]]
name = "high"
boot = "raw"
memory = "16MiB"
kernel = "a"
[[vm.vcpu]]
pcpu = 1
server = "deferrable"
budget = "1ms"
period = "10ms"
priority = 2
[[vm]]
name = "low"
boot = "raw"
memory = "16MiB"
kernel = "a"
[[vm.vcpu]]
pcpu = 1
server = "periodic"
budget = "2ms"
period = "5ms"
priority = 1
[[vm.task]]
name = "fast"
period = "20ms"
wcet = "1ms"
[[vm.task]]
name = "slow"
period = "40ms"
wcet = "4ms"
"#;

#[test]
fn certificates_with_mistakes_are_refused() {
    let Some(proofs) = proofs() else { return };
    let (_, vcpus) = certificates(EXACT, Path::new(""));
    let vcpu = &vcpus[0];
    let good = certificate::write(vcpu);
    accepts(proofs, "good", &good);
    assert_eq!(good.bounds.len(), 2);
    let bound = &good.bounds[1];
    let (response, window) = (bound.response, bound.windows[0]);
    let Place::Served { own, response: w } = vcpu.place else { panic!("{vcpu:?}") };
    let slow = &vcpu.tasks[1];
    let mutants = [
        ("bound", format!("response := {response};"), format!("response := {};", response - 1)),
        (
            "theorem",
            format!("safe system 1 {response}."),
            format!("safe system 1 {}.", response - 1),
        ),
        ("window", format!("windows := [{window}]"), format!("windows := [{}]", window - 1)),
        ("no_window", format!("windows := [{window}]"), "windows := []".into()),
        ("response", format!("|}} {w};"), format!("|}} {};", w - 1)),
        (
            "budget",
            format!("kind := Servers.Periodic; budget := {}", own.budget),
            format!("kind := Servers.Periodic; budget := {}", own.counted + 1),
        ),
        (
            "counted",
            format!("budget := {0}; counted := {0}; period := 5000000", own.counted),
            format!(
                "budget := {0}; counted := {1}; period := 5000000",
                own.counted,
                own.counted + 1
            ),
        ),
        ("longer", format!("wcet := {};", slow.wcet), format!("wcet := {};", slow.wcet + 1)),
        ("late", format!("late := {};", vcpu.late), format!("late := {};", vcpu.late + 1)),
        ("once", format!("once := {}", vcpu.once), format!("once := {}", vcpu.once + 1)),
        ("other", "of := 1;".into(), "of := 2;".into()),
        ("period", "every := 20000000".into(), "every := 0".into()),
    ];
    let mut texts = Vec::new();
    for (name, from, to) in mutants {
        assert!(good.text.contains(&from), "{name}: {from}\n{}", good.text);
        let text = good.text.replacen(&from, &to, 1);
        // The computation is right in one of them, and not what the theorem says.
        if name == "theorem" { refuses(proofs, name, &text) } else { texts.push(text) }
    }
    refuses_all(proofs, "mutants", &texts);
}

/// The same with everything that a parameter of a theorem says, and a server of this kind.
fn rich(kind: &str) -> String {
    [
        ("\"periodic\"", "KIND"),
        ("deferrable", "sporadic"),
        ("KIND", &format!("{kind:?}")),
        ("wcet = \"1ms\"", "wcet = \"1ms\"\njitter = \"3ms\"\nblocking = \"0.5ms\""),
        ("wcet = \"4ms\"", "wcet = \"4ms\"\njitter = \"2ms\""),
    ]
    .iter()
    .fold(EXACT.to_owned(), |text, (from, to)| text.replacen(from, to, 1))
}

/// Theorems about servers of each kind, jitter, blocking, suspensions and the background: a bound that is a nanosecond less
/// is refused, and so is a parameter that is worse.
///
/// Stands behind P9 of the safety manual.
#[test]
fn mistakes_in_theorems_of_each_class_are_refused() {
    let Some(proofs) = proofs() else { return };
    let served = ["periodic", "deferrable", "sporadic"].map(|it| (it, rich(it)));
    let periodic = &served[0].1;
    let asleep = periodic.replace("blocking = \"0.5ms\"", "self_suspension = \"2ms\"");
    let held = periodic.replace("blocking", "self_suspension = \"2ms\"\nblocking");
    let server = "server = \"periodic\"\nbudget = \"2ms\"\nperiod = \"5ms\"\npriority = 1";
    let in_background = |text: &str| text.replace(server, "server = \"background\"\npriority = 1");
    let blocked = periodic.replace("wcet = \"4ms\"", "wcet = \"4ms\"\nblocking = \"0.5ms\"");
    // One task is held off, and so the other one, which has the same priority.
    let tied = periodic.replace("wcet", "priority = 1\nwcet");
    let mut all: Vec<_> = served.to_vec();
    all.extend([
        ("locks", LOCKS.to_owned()),
        ("suspension", asleep.clone()),
        ("held", held),
        ("background", in_background(&asleep)),
        ("held in the background", in_background(&blocked)),
        ("tied", tied),
        ("memory", beside(periodic, "", "accesses = 5_000")),
        ("limits", beside(periodic, "bandwidth = { accesses = 500, period = \"1ms\" }", "")),
    ]);
    for (class, text) in all.iter().take(testing::cases(12) as usize) {
        let (_, vcpus) = certificates(text, Path::new(""));
        let vcpu = vcpus.iter().find(|it| it.vm == "low").expect("tasks");
        let good = certificate::write(vcpu);
        assert_eq!(good.bounds.len(), 2, "{class}: {:?}", good.without);
        let bound = &good.bounds[1];
        let (response, windows) = (bound.response, &bound.windows);
        let shown: Vec<_> = windows.iter().map(u64::to_string).collect();
        let shown = format!("windows := [{}]", shown.join("; "));
        let shorter = shown.replacen(&windows[0].to_string(), &(windows[0] - 1).to_string(), 1);
        let mut mutants = vec![
            (format!("response := {response};"), format!("response := {};", response - 1)),
            (shown, shorter),
            ("wcet := ".into(), "wcet := 9".into()),
            ("jitter := 3000000".into(), "jitter := 30000000".into()),
        ];
        let worse = |what: &str, time: u64| {
            (time > 0).then(|| (format!("{what}{time};"), format!("{what}{};", time + 9_000_000)))
        };
        if let Place::Promised { response, .. } = vcpu.place {
            mutants.extend(worse("|} ", response));
        }
        for task in &vcpu.tasks {
            mutants.extend(worse("blocking := ", task.blocking));
            mutants.extend(worse("suspension := ", task.suspension));
        }
        for (from, to) in [
            ("counted := 1000000", "counted := 900000"),
            ("accesses := Some 5000", "accesses := Some 9000"),
            ("accesses := Some 5000", "accesses := None"),
            ("wait := 20", "wait := 60"),
            ("step := 10000", "step := 90000"),
            ("span := 1000000", "span := 100000"),
            ("credit := ", "credit := 99"),
        ] {
            // The number of accesses counts beside a VM without a limit, a limit beside one that has it. The limit of the console comes last.
            let counts = match from {
                "wait := 20" => good.text.contains("limits := None"),
                "span := 1000000" | "credit := " => good.text.contains("step := 10000"),
                _ => true,
            };
            if counts && good.text.contains(from) {
                mutants.push((from.into(), to.into()));
            }
        }
        let texts = mutants.iter().map(|(from, to)| {
            assert!(good.text.contains(from), "{class}: {from}\n{}", good.text);
            good.text.replacen(from, to, 1)
        });
        let name = format!("class_{}", class.replace(' ', "_"));
        accepts(proofs, &name, &good);
        refuses_all(proofs, &format!("{name}_mutants"), &texts.collect::<Vec<_>>());
    }
}

/// Tasks of two VCPUs that share a resource.
const LOCKS: &str = r#"
name = "s"
platform = "qemu-virt"
locks = "vmpcp"
section_overhead = "300us"
[[resource]]
name = "shared"
vms = ["low"]
[[vm]]
name = "low"
boot = "raw"
memory = "16MiB"
kernel = "a"
[[vm.vcpu]]
pcpu = 1
server = "periodic"
budget = "2ms"
period = "5ms"
priority = 1
[[vm.vcpu]]
pcpu = 2
server = "deferrable"
budget = "1ms"
period = "10ms"
priority = 2
[[vm.task]]
name = "fast"
vcpu = 0
period = "100ms"
wcet = "1ms"
jitter = "3ms"
sections = [{ resource = "shared", after = "1us", length = "100us" }]
[[vm.task]]
name = "slow"
vcpu = 0
period = "200ms"
wcet = "4ms"
[[vm.task]]
name = "owner"
vcpu = 1
period = "100ms"
wcet = "0.2ms"
sections = [{ resource = "shared", after = "1us", length = "100us" }]
"#;

/// The same beside a VM on another PCPU, with what tasks and that VM say of their accesses to memory.
fn beside(text: &str, limit: &str, accesses: &str) -> String {
    let platform =
        "[platform]\nboard = \"qemu-virt\"\n[platform.bandwidth]\naccess_latency = \"20ns\"\n";
    let text = text.replace("platform = \"qemu-virt\"\n", platform);
    let text = text.replace("wcet", &format!("{accesses}\nwcet"));
    format!(
        "{text}[[vm]]\nname = \"beside\"\nboot = \"raw\"\nmemory = \"16MiB\"\nkernel = \"a\"\n{limit}\n\
         [[vm.vcpu]]\npcpu = 2\n"
    )
}

/// The largest VCPU that is promised: written in 50 ms and checked in 30 s. `BULKHEAD_TASKS` is another number of tasks,
/// without these limits.
#[test]
fn certificates_of_fifty_tasks_are_quick() {
    let given = std::env::var("BULKHEAD_TASKS").ok();
    let tasks: u64 = given.as_ref().map_or(50, |it| it.parse().expect("a number of tasks"));
    let mut text = "name = \"s\"\nplatform = \"qemu-virt\"\n[[vm]]\nname = \"v\"\nboot = \"raw\"\n\
         memory = \"16MiB\"\nkernel = \"a\"\n[[vm.vcpu]]\npcpu = 1\n\
         server = \"periodic\"\nbudget = \"3ms\"\nperiod = \"5ms\"\n"
        .to_owned();
    for task in 0..tasks {
        text += &format!(
            "[[vm.task]]\nname = \"t{task}\"\nperiod = \"{}ms\"\nwcet = \"{}us\"\n",
            40 + 10 * task,
            (400 + 30 * task) * 50 / tasks
        );
    }
    let (_, vcpus) = certificates(&text, Path::new(""));
    let start = std::time::Instant::now();
    let certificate = certificate::write(&vcpus[0]);
    let written = start.elapsed();
    assert_eq!(certificate.bounds.len() as u64, tasks, "{:?}", certificate.without);
    let most = 50 * if cfg!(debug_assertions) { 10 } else { 1 };
    assert!(given.is_some() || written.as_millis() < most, "{written:?}");
    let Some(proofs) = proofs() else { return };
    let start = std::time::Instant::now();
    accepts(proofs, "fifty", &certificate);
    assert!(given.is_some() || start.elapsed().as_secs() < 30, "{:?}", start.elapsed());
    eprintln!("written in {written:?}, checked in {:?}", start.elapsed());
}
