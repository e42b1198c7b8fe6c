//! VMs that see their colours as a last-level cache of their own, under KVM.

use std::fs;

use crate::{COLORS, ROOT, alone, bulkhead, has_colors};

/// Platform and cache of the example.
fn platform() -> String {
    let text = fs::read_to_string(format!("{ROOT}/{COLORS}")).expect("the example");
    text.split("[[vm]]").next().unwrap_or_default().to_owned()
}

fn vm(name: &str, colors: &str, vcpus: &[usize]) -> String {
    let count = vcpus.len();
    let vcpus = vcpus.iter().map(|pcpu| {
        format!("[[vm.vcpu]]\npcpu = {pcpu}\nserver = \"periodic\"\nbudget = \"3ms\"\nperiod = \"10ms\"\n")
    });
    format!(
        "[[vm]]\nname = \"{name}\"\nboot = \"raw\"\nmemory = \"4MiB\"\n{colors}\n\
         kernel = \"{ROOT}/build/guests/x86-64/rt-cache.bin\"\nbootargs = \"cache.vcpus={count}\"\n{}",
        vcpus.collect::<String>()
    )
}

/// Lines of a VM about its caches, with the numbers of VCPUs.
fn caches<'a>(log: &'a str, vm: &str) -> Vec<&'a str> {
    let of_vm = |line: &'a str| {
        let (label, text) = line.strip_prefix('[')?.split_once("] cache: vcpu=")?;
        (label.trim_end() == vm && text.contains("level=")).then_some(text.trim_end())
    };
    log.lines().filter_map(of_vm).collect()
}

#[test]
fn a_vm_sees_its_colours_and_another_one_the_whole_cache() {
    let _alone = alone();
    if !has_colors() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let [file, log] = ["s.toml", "log"].map(|name| folder.path().join(name));
    let [small, large] = [
        vm("small", "colors = \"0-3,9-12\"\nvllc = true", &[0, 0]),
        vm("large", "colors = \"16-31\"", &[0]),
    ];
    fs::write(&file, [platform(), small, large].concat()).expect("a file");
    let [file, log] = [&file, &log].map(|it| it.to_str().expect("a path in UTF-8"));
    let output = bulkhead(&["run", "--on", "kvm", file, "--log", log, "--until-off"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let log = fs::read_to_string(log).expect("a log");

    let of = |vm: &str, vcpu: usize| -> Vec<String> {
        let start = format!("{vcpu} ");
        let lines = caches(&log, vm).into_iter();
        lines.filter_map(|line| line.strip_prefix(&start)).map(str::to_owned).collect()
    };
    let [small, second, large] = [of("small", 0), of("small", 1), of("large", 0)];
    assert!(large.len() >= 2 && small.len() == large.len(), "{log}");
    assert_eq!(small, second, "each VCPU sees the same");
    let ([others @ .., last], [real @ .., whole]) = (&small[..], &large[..]) else {
        panic!("{log}")
    };
    assert_eq!(others, real, "other levels are those of the host");
    // A quarter of 8 MiB.
    assert!(last.ends_with(" kind=unified size=2097152 ways=16 line=64 sets=2048"), "{log}");
    assert!(last.split(' ').next() == whole.split(' ').next() && last != whole, "{log}");
}

#[test]
fn colours_that_are_no_cache_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("s.toml");
    let three = vm("small", "colors = \"0-2\"\nvllc = true", &[0]);
    fs::write(&file, platform() + &three).expect("a file");
    let refused = bulkhead(&["run", "--on", "kvm", file.to_str().expect("a path in UTF-8")]);
    let said = String::from_utf8_lossy(&refused.stderr);
    assert_eq!(refused.status.code(), Some(2), "{said}");
    assert!(said.contains("give the VM 2 or 4 colours"), "{said}");
}
