mod sched_deadline;

use std::path::Path;

use proptest::prelude::*;
use system::description::System;
use system::plan::{self, Plan};

use super::*;

fn plan(platform: &str, vms: &[&str]) -> Plan {
    let vms: String = vms.iter().map(|vm| format!("[[vm]]\nboot = \"raw\"\n{vm}\n")).collect();
    let system = System::from_toml("s.toml", &format!("{platform}\n{vms}"), Path::new(""));
    plan::make(&system.unwrap_or_else(|it| panic!("{it}"))).unwrap_or_else(|it| panic!("{it}"))
}

fn vm(name: &str, rest: &str) -> String {
    format!("name = \"{name}\"\nmemory = \"1MiB\"\nkernel = \"{name}.bin\"\n{rest}")
}

fn written(plan: &Plan, target: Target) -> Export {
    export(plan, None, target).unwrap_or_else(|it| panic!("{it}"))
}

fn text<'a>(export: &'a Export, name: &str) -> &'a str {
    let file = export.files.iter().find(|file| file.name == name);
    &file.unwrap_or_else(|| panic!("{name} is not in {export:#?}")).text
}

#[track_caller]
fn assert_has(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "`{part}` is not in:\n{text}");
    }
}

#[track_caller]
fn assert_refused(plan: &Plan, target: Target, part: &str) {
    assert_has(&export(plan, None, target).expect_err("it cannot run").to_string(), &[part]);
}

const QEMU: &str = "platform = \"qemu-virt\"";
/// Its second-level cache has 8 colours of two pages.
const PI: &str = "platform = \"qemu-raspberry-pi-2\"";
const COUNTED: &str = "[platform]\nboard = \"qemu-virt\"\n[platform.bandwidth]\ncounter = \"pmu\"\n\
                       event = \"bus-access\"\ncounter_interrupt = 23\naccess_bytes = \"64B\"\n\
                       access_latency = \"10ns\"";

/// The VCPU of Dom0 is on PCPU 0 before any other: under Xen's scheduler `null` a second one there never runs.
#[test]
fn no_domain_waits_for_the_cpu_of_dom0_for_ever() {
    let [zero, one] = [0, 1].map(|pcpu| {
        let vm = vm("a", &format!("[[vm.vcpu]]\npcpu = {pcpu}"));
        written(&plan(QEMU, &[&vm]), Target::Xen)
    });
    assert_has(text(&one, "xen-options.txt"), &["sched=null "]);
    assert_has(text(&zero, "xen-options.txt"), &["sched=credit2 "]);
    let why = "VCPU 0 of `a` would never run";
    assert!(zero.missing.iter().any(|it| it.contains(why)), "{:?}", zero.missing);
    assert!(!one.missing.iter().any(|it| it.contains(why)), "{:?}", one.missing);
}

#[test]
fn colors_keep_their_places_in_the_cache() {
    let vms = [vm("a", "colors = \"0-1,4\""), vm("b", "colors = \"6-7\"")];
    let vms = vms.each_ref().map(String::as_str);
    let pages = plan(QEMU, &vms);
    let xen = written(&pages, Target::Xen);
    assert_has(text(&xen, "a.cfg"), &["llc_colors = [ \"0-1\", \"4\" ]"]);
    assert_has(text(&xen, "xen-options.txt"), &["dom0-llc-colors=2-3,5,8-15"]);
    let bao = written(&pages, Target::Bao);
    assert_has(text(&bao, "config.c"), &[".colors = 0x13,", ".colors = 0xc0,"]);
    let b = ["first_color = <6>;\n\t\t\tnum_colors = <2>;"];
    assert_has(text(&written(&pages, Target::Xvisor), "b.dts"), &b);

    // Xen counts pages, and a colour is two of them.
    let pairs = plan(PI, &vms);
    assert_has(
        text(&written(&pairs, Target::Xen), "a.cfg"),
        &["llc_colors = [ \"0-3\", \"8-9\" ]"],
    );
    // Xvisor is told where the bits are.
    let host = written(&pairs, Target::Xvisor);
    assert_has(text(&host, "host.dtsi"), &["first_color_bit = <13>", "num_color_bits = <3>"]);
}

#[test]
fn where_a_pcpu_has_one_vcpu_others_are_refused() {
    let server = "[[vm.vcpu]]\npcpu = 0\nserver = \"periodic\"\nbudget = \"1ms\"\nperiod = \"4ms\"";
    let shared = plan(QEMU, &[&vm("a", server), &vm("b", server)]);
    let reason = "PCPU 0 has several VCPUs (1 of `a`, 1 of `b`)";
    assert_refused(&shared, Target::Bao, reason);
    assert_refused(&shared, Target::Jailhouse, reason);
    for target in [Target::Xen, Target::Xvisor, Target::Resctrl] {
        let missing = written(&shared, target).missing.join("\n");
        assert_has(&missing, &["the response times of `bulkhead check` do not hold"]);
    }
    let tasks = written(&shared, Target::Resctrl).left.join("\n");
    assert_has(&tasks, &["/sys/fs/resctrl/a/tasks", "/sys/fs/resctrl/b/tasks"]);
}

#[test]
fn colors_of_a_cell_are_contiguous() {
    let apart = plan(QEMU, &[&vm("a", "colors = \"0,2\"")]);
    assert_refused(&apart, Target::Jailhouse, "the colours of `a` are not contiguous");
    let one = plan(QEMU, &[&vm("a", "colors = \"3-5\"")]);
    let cell = written(&one, Target::Jailhouse);
    assert_has(text(&cell, "a.c"), &["{ .start = 3, .size = 3 }", "JAILHOUSE_MEM_COLORED"]);
    let none = plan(QEMU, &[&vm("a", "")]);
    assert!(!text(&written(&none, Target::Jailhouse), "a.c").contains("cache"));
}

#[test]
fn devices_are_given_with_their_interrupts() {
    let device = |address: u32, interrupt: u32| {
        format!(
            "[[vm.device]]\ncompatible = [\"arm,pl031\"]\naddress = {address:#x}\nsize = \"4KiB\"\n\
             interrupt = {interrupt}\n"
        )
    };
    let devices = device(0x0901_0000, 34) + &device(0x0a00_0000, 165);
    let plan = plan(QEMU, &[&vm("a", &devices)]);
    let jailhouse = written(&plan, Target::Jailhouse);
    assert_has(
        text(&jailhouse, "a.c"),
        &[
            "struct jailhouse_irqchip irqchips[2];",
            "{ .address = 0x8000000, .pin_base = 32, .pin_bitmap = { 0x4, 0x0, 0x0, 0x0 } }",
            "{ .address = 0x8000000, .pin_base = 160, .pin_bitmap = { 0x20, 0x0, 0x0, 0x0 } }",
            ".phys_start = 0x9010000",
        ],
    );
    let bao = written(&plan, Target::Bao);
    assert_has(
        text(&bao, "config.c"),
        &[".dev_num = 3", ".interrupts = (irqid_t[]) { 165 }", ".pa = 0xa000000"],
    );
}

#[test]
fn ways_hold_at_least_the_colors() {
    let disjoint = plan(
        QEMU,
        &[
            &vm("a", "colors = \"0-2\"\nshare_colors = true"),
            &vm("b", "colors = \"8-15\""),
            &vm("c", "colors = \"0-2\"\nshare_colors = true"),
        ],
    );
    let export = written(&disjoint, Target::Resctrl);
    let script = text(&export, "resctrl.sh");
    assert_has(script, &["=7\" > $root/'a'", "=7f8\" > $root/'b'", "=7\" > $root/'c'"]);

    let shared = ["0-2", "2-3"].map(|it| format!("colors = \"{it}\"\nshare_colors = true"));
    let partly = plan(QEMU, &[&vm("a", &shared[0]), &vm("b", &shared[1])]);
    assert_refused(&partly, Target::Resctrl, "are partly the same");

    // 16 ways for 32 colours: 11 colours need 6 ways, 9 need 5.
    let odd = ["0-10", "11-21", "22-30"].map(|it| format!("colors = \"{it}\""));
    let vms = [vm("a", &odd[0]), vm("b", &odd[1]), vm("c", &odd[2])];
    let odd = plan("platform = \"qemu-exynos-5422\"", &vms.each_ref().map(String::as_str));
    assert_refused(&odd, Target::Resctrl, "are 17, and the cache has 16");
}

#[test]
fn a_limit_is_written_or_said_to_be_lost() {
    let limited = "bandwidth = { accesses = 10_000, period = \"1ms\" }\ncompensation = 2";
    let critical = vm("critical", "critical = true");
    let plan = plan(COUNTED, &[&critical, &vm("a", limited)]);
    for target in Target::ALL {
        let export = written(&plan, target);
        let all = export.missing.join("\n");
        assert_has(&all, &["compensation for unused interference (`a`)"]);
        match target {
            Target::Resctrl => {
                assert_has(text(&export, "resctrl.sh"), &["mba_MBps", "MB:$domain=640"]);
                assert_has(&all, &["it may be exceeded"]);
            }
            _ => assert_has(&all, &["10000 memory accesses in 1 ms for `a`"]),
        }
    }
}

#[test]
fn aborts_are_lost_where_a_wild_guest_is_stopped() {
    let plan = plan(QEMU, &[&vm("a", "on_bad_address = \"abort\""), &vm("b", "")]);
    let lost = "aborts of accesses where a VM has nothing, which stop it (`a`)";
    for target in Target::ALL {
        let stops = matches!(target, Target::Bao | Target::Jailhouse);
        let missing = written(&plan, target).missing;
        assert_eq!(missing.iter().any(|it| it == lost), stops, "{target:?}: {missing:?}");
    }
}

#[test]
fn texts_and_names_of_users_stay_what_they_are() {
    let odd = r#"bootargs = "a=\"b\" c='d' \\ */ $(rm)""#;
    let plan = plan(QEMU, &[&vm("a-b", odd), &vm("a_b", "")]);
    let xen = written(&plan, Target::Xen);
    assert_has(text(&xen, "a-b.cfg"), &[r#"cmdline = "a=\"b\" c='d' \\ */ $(rm)""#]);
    let bao = written(&plan, Target::Bao);
    assert_has(text(&bao, "config.c"), &["VM_IMAGE(vm0_a_b, \"a-b.bin\")", "vm1_a_b"]);
    assert_eq!(text::word("it's"), r"'it'\''s'");
    assert_eq!(text::quoted("\na=1\nb=2"), "\"a=1 b=2\"");
}

#[test]
fn every_file_says_what_is_lost() {
    let plan = plan(COUNTED, &[&vm("a", "bandwidth = { accesses = 10, period = \"1ms\" }")]);
    for target in Target::ALL {
        let export = written(&plan, target);
        assert!(!export.missing.is_empty());
        for (file, sentence) in
            export.files.iter().flat_map(|file| export.missing.iter().map(move |it| (file, it)))
        {
            assert_has(&file.text, &[sentence]);
        }
    }
}

proptest! {
    /// In Xen, a VCPU never gets a smaller share, nor longer gaps, than in the plan.
    #[test]
    fn rounded_budgets_are_not_smaller(budget in 1_000u64..9_000_000, more in 0u64..9_000_000) {
        // Of whole ticks.
        let (budget, period) = (budget / 16 * 16 + 16, (budget + more) / 16 * 16 + 16);
        let server = format!(
            "[[vm.vcpu]]\npcpu = 0\nserver = \"deferrable\"\nbudget = \"{budget}ns\"\n\
             period = \"{period}ns\"\npriority = 1"
        );
        let plan = plan(QEMU, &[&vm("a", &server)]);
        let xen = written(&plan, Target::Xen);
        let words: Vec<&str> = text(&xen, "start.sh").split_whitespace().collect();
        let after = |key: &str| {
            let at = words.iter().rposition(|word| *word == key).unwrap();
            words[at + 1].parse::<u64>().unwrap() * 1_000
        };
        let (xen_period, xen_budget) = (after("-p"), after("-b"));
        prop_assert!(xen_budget <= xen_period && xen_period <= period);
        prop_assert!(xen_budget * period >= budget * xen_period);
        prop_assert!(period - xen_period < 1_000 && xen_budget < budget + 1_000);
        prop_assert_eq!(
            xen.missing.iter().any(|it| it.contains("microseconds")),
            (xen_period, xen_budget) != (period, budget),
        );
    }

    /// The pieces of Xvisor are all of the RAM, one behind the other.
    #[test]
    fn pieces_of_ram_are_all_of_it(colors in 1u64..1 << 16, mib in 1u64..40) {
        let set = policy::color::ColorSet::from_bits(colors);
        let vm = format!("name = \"a\"\nmemory = \"{mib}MiB\"\nkernel = \"k\"\ncolors = \"{set}\"");
        let plan = plan(QEMU, &[&vm]);
        let xvisor = written(&plan, Target::Xvisor);
        let number = |line: &str| {
            u64::from_str_radix(line.split_once("<0x").unwrap().1.strip_suffix(">;").unwrap(), 16)
        };
        let lines = |key: &'static str| {
            text(&xvisor, "a.dts").lines().filter(move |line| line.contains(key))
        };
        let starts: Vec<u64> = lines("guest_physical_addr").map(|it| number(it).unwrap()).collect();
        let sizes: Vec<u64> = lines("physical_size").map(|it| number(it).unwrap()).collect();
        let mut next = plan.vms[0].memory[0].ipa.0;
        for (start, size) in starts.iter().zip(&sizes) {
            prop_assert_eq!(*start, next);
            next += size;
        }
        prop_assert_eq!(sizes.iter().sum::<u64>(), mib << 20);
        prop_assert_eq!(starts.len(), set.runs().count());
    }
}
