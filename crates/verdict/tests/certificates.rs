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
    let mut text = "name = \"s\"\nplatform = \"qemu-virt\"\n".to_owned();
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
        for task in 0..random.between(1, 4) {
            let period = random.between(20, 200) * 1_000;
            let deadline = period * random.between(3, 8) / 4;
            let wcet = period * random.between(1, 8) / 200;
            text += &format!(
                "[[vm.task]]\nname = \"t-{task}\"\nperiod = \"{period}us\"\ndeadline = \"{deadline}us\"\n\
                 wcet = \"{wcet}us\"\npriority = {}\n",
                9 - task
            );
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

#[test]
fn certificates_of_the_examples_check() {
    let Some(proofs) = proofs() else { return };
    let systems = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../systems");
    let mut proved = 0;
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
                accepts(proofs, "example", &certificate);
            }
        }
    }
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
    for seed in 0..systems {
        let text = random(&mut Random::new(seed));
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
                        | Lack::Blocking
                        | Lack::SleepsOnSporadic
                        | Lack::Depends(_)
                );
                assert!(named, "seed {seed}, {}, task {task}: {lack}\n{text}", vcpu.vm);
                lacks += usize::from(!matches!(lack, Lack::NoBound | Lack::Late));
            }
            if !certificate.bounds.is_empty() {
                proved += certificate.bounds.len();
                accepts(proofs, &format!("random_{seed}"), &certificate);
            }
        }
        assert_eq!(proved + lacks - of_seed, in_time, "seed {seed}\n{text}");
    }
    assert!(proved > lacks, "{proved} proved, {lacks} not");
    eprintln!("{systems} systems: {proved} bounds proved, {lacks} not");
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
    for (name, from, to) in mutants {
        assert!(good.text.contains(&from), "{name}: {from}\n{}", good.text);
        refuses(proofs, &format!("mutant_{name}"), &good.text.replacen(&from, &to, 1));
    }
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
#[test]
fn mistakes_in_theorems_of_each_class_are_refused() {
    let Some(proofs) = proofs() else { return };
    let served = ["periodic", "deferrable", "sporadic"].map(|it| (it, rich(it)));
    let periodic = &served[0].1;
    let asleep = periodic.replace("blocking = \"0.5ms\"", "self_suspension = \"2ms\"");
    let server = "server = \"periodic\"\nbudget = \"2ms\"\nperiod = \"5ms\"\npriority = 1";
    let background = asleep.replace(server, "server = \"background\"\npriority = 1");
    let all =
        served.clone().into_iter().chain([("suspension", asleep), ("background", background)]);
    for (class, text) in all.take(testing::cases(5) as usize) {
        let (_, vcpus) = certificates(&text, Path::new(""));
        let vcpu = vcpus.iter().find(|it| it.vm == "low").expect("tasks");
        let good = certificate::write(vcpu);
        assert_eq!(good.bounds.len(), 2, "{class}: {:?}", good.without);
        accepts(proofs, &format!("class_{class}"), &good);
        let bound = &good.bounds[1];
        let (response, windows) = (bound.response, &bound.windows);
        let shown: Vec<_> = windows.iter().map(u64::to_string).collect();
        let shown = format!("windows := [{}]", shown.join("; "));
        let shorter = shown.replacen(&windows[0].to_string(), &(windows[0] - 1).to_string(), 1);
        let mut mutants = vec![
            ("bound", format!("response := {response};"), format!("response := {};", response - 1)),
            ("window", shown, shorter),
            ("wcet", "wcet := ".into(), "wcet := 9".into()),
            ("above", "counted := 1000000".into(), "counted := 900000".into()),
            ("jitter", "jitter := 3000000".into(), "jitter := 30000000".into()),
        ];
        if good.text.contains("blocking := 500000") {
            mutants.push(("blocking", "blocking := 500000".into(), "blocking := 5500000".into()));
        } else {
            let more = "suspension := 20000000".into();
            mutants.push(("suspension", "suspension := 2000000".into(), more));
        }
        for (name, from, to) in mutants {
            assert!(good.text.contains(&from), "{class}, {name}: {from}\n{}", good.text);
            let text = good.text.replacen(&from, &to, 1);
            refuses(proofs, &format!("class_{class}_{name}"), &text);
        }
    }
}

/// The largest VCPU that is promised: written in 50 ms and checked in 30 s.
#[test]
fn certificates_of_fifty_tasks_are_quick() {
    let mut text = "name = \"s\"\nplatform = \"qemu-virt\"\n[[vm]]\nname = \"v\"\nboot = \"raw\"\n\
         memory = \"16MiB\"\nkernel = \"a\"\n[[vm.vcpu]]\npcpu = 1\n\
         server = \"periodic\"\nbudget = \"3ms\"\nperiod = \"5ms\"\n"
        .to_owned();
    for task in 0..50 {
        text += &format!(
            "[[vm.task]]\nname = \"t{task}\"\nperiod = \"{}ms\"\nwcet = \"{}us\"\n",
            40 + 10 * task,
            400 + 30 * task
        );
    }
    let (_, vcpus) = certificates(&text, Path::new(""));
    let start = std::time::Instant::now();
    let certificate = certificate::write(&vcpus[0]);
    let written = start.elapsed();
    assert_eq!(certificate.bounds.len(), 50, "{:?}", certificate.without);
    assert!(written.as_millis() < 50 * if cfg!(debug_assertions) { 10 } else { 1 }, "{written:?}");
    let Some(proofs) = proofs() else { return };
    let start = std::time::Instant::now();
    accepts(proofs, "fifty", &certificate);
    assert!(start.elapsed().as_secs() < 30, "{:?}", start.elapsed());
    eprintln!("written in {written:?}, checked in {:?}", start.elapsed());
}
