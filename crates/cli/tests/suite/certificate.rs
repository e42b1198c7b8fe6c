//! What `bulkhead check --certificate` writes and says. Coq reads the files in `crates/verdict/tests/certificates.rs`.

use std::process::Command;

use serde_json::json;
use testing::sandbox;

/// A task on a PCPU of its own, and one that suspends itself on a sporadic server.
const SYSTEM: &str = r#"
name = "s"
platform = "zcu102"

[[vm]]
name = "pilot"
boot = "raw"
memory = "16MiB"
kernel = "rt.bin"

[[vm.vcpu]]
pcpu = 0

[[vm.task]]
name = "gyro-1"
period = "10ms"
wcet = "1ms"

[[vm]]
name = "camera"
boot = "raw"
memory = "16MiB"
kernel = "rt.bin"

[[vm.vcpu]]
pcpu = 1
server = "sporadic"
budget = "5ms"
period = "10ms"

[[vm.task]]
name = "frame"
period = "40ms"
wcet = "2ms"
self_suspension = "3ms"
"#;

#[test]
fn theorems_are_written_and_bounds_without_are_named() {
    let sandbox = sandbox!();
    sandbox.write("s.toml", SYSTEM);
    let shown = sandbox.bulkhead(&["check", "s.toml", "--certificate", "out/proof"]);
    shown.assert_status(0);
    let expected = "\ntheorems for 1 of 2 tasks; Coq (Debian package `coq`, tested with 8.16.1) checks them by \
                    `make -C out/proof`\n  none for task `frame` on VCPU 0 of VM `camera`: the task suspends itself on \
                    a sporadic server, ";
    assert!(shown.stdout.contains(expected), "{}", shown.stdout);
    let read = |name: &str| std::fs::read_to_string(sandbox.path(name)).expect(name);
    let text = read("out/proof/vm_pilot_0.v");
    for theorem in
        ["bound_of_gyro_1 : safe system 0 1000000.", "in_time_gyro_1 : safe system 0 10000000."]
    {
        assert!(text.contains(&format!("Theorem {theorem}")), "{text}");
    }
    assert!(!sandbox.path("out/proof/vm_camera_0.v").exists());
    assert!(read("out/proof/Makefile").contains("CERTIFICATES := vm_pilot_0\n"));
    assert!(read("out/proof/Bulkhead/Certificate.v").contains("Theorem certified"));

    let document =
        sandbox.bulkhead(&["check", "s.toml", "--certificate", "out/proof", "--json"]).json();
    let certificate = &document["certificate"];
    assert_eq!(certificate["folder"], "out/proof");
    assert_eq!(
        certificate["files"],
        json!([{
            "file": "vm_pilot_0.v", "vm": "pilot", "vcpu": 0, "hypotheses": [],
            "bounds": [{ "task": "gyro-1", "theorem": "bound_of_gyro_1", "response_ns": 1_000_000 }],
        }])
    );
    assert_eq!(certificate["without"][0]["task"], "frame");
}

/// Two VCPUs that share a resource.
const SHARED: &str = r#"
name = "s"
platform = "qemu-virt"
section_overhead = "300us"
resource = [{ name = "bus", vms = ["pilot"] }]

[[vm]]
name = "pilot"
boot = "raw"
memory = "16MiB"
kernel = "rt.bin"
vcpu = [
    { pcpu = 1, server = "periodic", budget = "2ms", period = "5ms" },
    { pcpu = 2, server = "periodic", budget = "2ms", period = "5ms" },
]
task = [
    { name = "one", vcpu = 0, period = "100ms", wcet = "1ms", sections = [{ resource = "bus", length = "100us" }] },
    { name = "two", vcpu = 1, period = "100ms", wcet = "1ms", sections = [{ resource = "bus", length = "100us" }] },
]
"#;

#[test]
fn hypotheses_are_named_wherever_theorems_are_counted() {
    let sandbox = sandbox!();
    sandbox.write("s.toml", SHARED);
    let shown = sandbox.bulkhead(&["check", "s.toml", "--certificate", "out"]);
    shown.assert_status(0);
    let assumes = "  those of VCPU 0 of VM `pilot` assume that ";
    assert!(shown.stdout.contains(assumes), "{}", shown.stdout);
    let read = |name: &str| std::fs::read_to_string(sandbox.path(name)).expect(name);
    let hypotheses = "hypotheses that nobody has proved";
    assert!(read("out/Statements.v").contains(hypotheses));
    let makefile = read("out/Makefile");
    let notes = makefile.lines().filter(|line| line.contains(hypotheses));
    assert_eq!(notes.count(), 2, "{makefile}");
}

#[test]
fn late_tasks_get_no_theorem() {
    let sandbox = sandbox!();
    let late = SYSTEM.replace("wcet = \"1ms\"", "wcet = \"1ms\"\ndeadline = \"0.5ms\"");
    sandbox.write("s.toml", &late);
    let shown = sandbox.bulkhead(&["check", "s.toml", "--certificate", "out"]);
    shown.assert_status(1);
    let expected = "\nno theorem for any of 2 tasks: nothing was written\n  none for task `gyro-1` on VCPU 0 of VM \
                    `pilot`: the task can be late\n";
    assert!(shown.stdout.contains(expected), "{}", shown.stdout);
    assert!(!sandbox.path("out").exists());
}

#[test]
fn no_makefile_of_others_is_lost_and_no_old_one_is_left() {
    let sandbox = sandbox!();
    sandbox.write("s.toml", SYSTEM);
    sandbox.write("Makefile", "all:\n");
    let shown = sandbox.bulkhead(&["check", "s.toml", "--certificate", "."]);
    shown.assert_status(2);
    assert!(shown.stderr.contains("Makefile is not one of certificates"), "{}", shown.stderr);
    assert!(!sandbox.path("Bulkhead").exists());

    for _ in 0..2 {
        sandbox.bulkhead(&["check", "s.toml", "--certificate", "out"]).assert_status(0);
        assert!(sandbox.path("out/Makefile").exists());
    }
    sandbox
        .write("s.toml", &SYSTEM.replace("wcet = \"1ms\"", "wcet = \"1ms\"\ndeadline = \"0.5ms\""));
    sandbox.bulkhead(&["check", "s.toml", "--certificate", "out"]).assert_status(1);
    assert!(!sandbox.path("out/Makefile").exists());
}

#[test]
fn what_cannot_be_written_is_bad_input() {
    let sandbox = sandbox!();
    sandbox.write("s.toml", SYSTEM);
    sandbox.write("file", "");
    let shown = sandbox.bulkhead(&["check", "s.toml", "--certificate", "file"]);
    shown.assert_status(2);
    assert!(shown.stderr.starts_with("error: cannot write file/"), "{}", shown.stderr);
    // A full disk.
    let shown = sandbox.bulkhead(&["check", "s.toml", "--certificate", "/dev/full/out"]);
    shown.assert_status(2);
    assert!(shown.stderr.contains("/dev/full/out"), "{}", shown.stderr);

    let none = SYSTEM.split("[[vm.task]]").next().expect("the first part");
    sandbox.write("none.toml", none);
    let shown = sandbox.bulkhead(&["check", "none.toml", "--certificate", "out"]);
    shown.assert_status(2);
    let expected =
        "error: there are no tasks\nhelp: describe tasks, or leave out `--certificate`\n";
    assert_eq!(shown.stderr, expected);
    sandbox.bulkhead(&["plan", "s.toml", "-o", "s.dts"]).assert_status(0);
    let shown = sandbox.bulkhead(&["check", "s.dts", "--certificate", "out"]);
    shown.assert_status(2);
    assert!(shown.stderr.contains("is a plan, which has no tasks"), "{}", shown.stderr);
    assert!(!sandbox.path("out").exists());
}

/// Coq checks what `check` has written, and refuses files that somebody has edited. Without Coq this test says so.
#[test]
fn edited_certificates_are_refused_by_coq() {
    let coq = Command::new("coqc").arg("--print-version").output();
    if !coq.is_ok_and(|it| it.status.success()) {
        eprintln!("not tested: coqc is missing (Debian package `coq`)");
        return;
    }
    let sandbox = sandbox!();
    sandbox.write("s.toml", SYSTEM);
    sandbox.bulkhead(&["check", "s.toml", "--certificate", "out"]).assert_status(0);
    // `make test` has compiled the proofs already: Coq need not do it again. Each copy is younger than those it depends on.
    let makefile = std::fs::read_to_string(sandbox.path("out/Makefile")).expect("a Makefile");
    let proofs = makefile.lines().find_map(|line| line.strip_prefix("PROOFS := ")).expect("proofs");
    for name in proofs.split(' ') {
        let compiled = format!("{}/../../proofs/{name}.vo", env!("CARGO_MANIFEST_DIR"));
        let own = sandbox.path(&format!("out/Bulkhead/{name}.vo"));
        if std::fs::exists(&compiled).expect("a folder") {
            std::fs::copy(compiled, own).expect("a copy");
        }
    }
    let make = || {
        let output =
            Command::new("make").arg("-C").arg(sandbox.path("out")).output().expect("make");
        let said = [output.stdout, output.stderr].concat();
        (output.status.success(), String::from_utf8_lossy(&said).into_owned())
    };
    let (accepted, said) = make();
    assert!(accepted && said.contains("has checked all certificates: 1"), "{said}");
    let file = sandbox.path("out/vm_pilot_0.v");
    let good = std::fs::read_to_string(&file).expect("a certificate");
    let checked = "Proof. vm_cast_no_check (eq_refl true). Qed.\n";
    let safe = "Definition safe (s : vcpu) (i : nat) (R : N) := True.\nDefinition system";
    let edits = [
        // The task is late: with its execution time doubled, the old windows lead nowhere.
        ("wcet := 1000000", "wcet := 2000000", "true = true"),
        (checked, "Admitted.\n", "certificates assume what nobody has proved"),
        ("Theorem checked", "Axiom lie : forall P : Prop, P.\nTheorem checked", ""),
        ("Theorem bound_of_gyro_1 : safe system 0 1000000", "Theorem bound_of_gyro_1 : True", ""),
        ("Definition system", safe, ""),
    ];
    for (from, to, words) in edits {
        let mut text = good.replacen(from, to, 1);
        assert_ne!(text, good, "{from}");
        if to.contains("Axiom lie") {
            text = text.replacen(checked, "Proof. apply lie. Qed.\n", 1);
        }
        if to.contains(": True") {
            let proof = "apply (safe_by _ _ _ _ checked). vm_cast_no_check (eq_refl true).";
            text = text.replacen(proof, "exact I.", 1);
        }
        if to == safe {
            let proof = "apply (safe_by _ _ _ _ checked). vm_cast_no_check (eq_refl true).";
            text = text.replace(proof, "exact I.");
        }
        std::fs::write(&file, text).expect("a file");
        let (accepted, said) = make();
        assert!(!accepted && said.contains(words), "{to}: {said}");
    }
}
