//! Extra colours of VMs and colours of the hypervisor, from the description to the
//! frames that they get.

use std::collections::HashMap;
use std::path::Path;

use policy::color::ColorSet;
use proptest::prelude::*;
use system::address::{IntId, Ipa, PhysicalAddress, Region};
use system::description::System;
use system::diagnostic::{Entry, Errors};
use system::plan::{self, Frames, Memory, Plan};
use system::report::Report;
use units::Bytes;

fn read(text: &str) -> Result<System, Errors> {
    System::from_toml("s.toml", text, Path::new(""))
}

fn make(text: &str) -> Result<Plan, Errors> {
    plan::make(&read(text)?)
}

/// VMs of 1 MiB, each with lines of its own, under a `[platform]` with a line.
fn system(platform: &str, vms: &[&str]) -> String {
    let mut text = format!("[platform]\nboard = \"qemu-virt\"\n{platform}\n");
    for (name, lines) in ["a", "b", "c", "d"].into_iter().zip(vms) {
        text += &format!(
            "[[vm]]\nname = \"{name}\"\nboot = \"raw\"\nkernel = \"k\"\nmemory = \"1MiB\"\n{lines}\n"
        );
    }
    text
}

/// `line:column code: message`, and the help, of each mistake.
fn mistakes(text: &str) -> Vec<(String, String)> {
    let entry = |entry: &Entry| {
        let place = format!("{}:{}", entry.line.unwrap(), entry.column.unwrap());
        (format!("{place} {}: {}", entry.code, entry.message), entry.help.clone().unwrap())
    };
    make(text).expect_err("a mistake").entries().iter().map(entry).collect()
}

const EXTRA: &str = "colors = \"0-3\"\nextra_colors = \"8-11\"\nextra_memory = \"8MiB\"";

#[test]
fn pools_lie_where_their_colors_are_free() {
    let vms = [&*format!("{EXTRA}\ncolor_serial = true"), "colors = \"12-14\""];
    let text = system("hypervisor_colors = \"15\"", &vms);
    let plan = make(&text).unwrap();
    let area = |bytes: u64| Region::new(PhysicalAddress(0x4600_0000), bytes);
    // 4 MiB of one colour, one frame in each 64 KiB.
    assert_eq!(plan.platform.hypervisor_area.unwrap().region, area(1024 << 16));
    // 256 pages and 64 + 1 frames, 8 for the state of the pool; four in each 64 KiB.
    assert_eq!(plan.vms[0].memory[0].host_region(), area(83 << 16));
    let pool = plan.vms[0].pool.unwrap();
    assert_eq!((pool.area.region, pool.frames), (area(512 << 16), 2048));
    assert_eq!(pool.doorbell, Region::new(Ipa(0x0a00_0000), 0x1000));
    let serial = plan.vms[0].color_serial.unwrap();
    assert_eq!(serial.registers, Region::new(Ipa(0x0a01_0000), 0x1000));
    assert_eq!(serial.interrupt, IntId(34));
    assert_eq!((plan.vms[1].pool, plan.vms[1].color_serial), (None, None));
    assert_eq!(Plan::from_dts("plan.dts", &plan.to_dts()), Ok(plan.clone()));

    assert_eq!(plan.host_bytes(&plan.vms[0]), Bytes((83 + 512) * 4 * 4096));
    assert_eq!(plan.hypervisor_bytes(), Bytes((96 << 20) + (4 << 20)));
    let report = Report::new(&read(&text).unwrap(), Some(&plan));
    assert_eq!(report.platform.hypervisor_colors, Some(vec![15]));
    assert_eq!(report.platform.hypervisor_bytes, Some(100 << 20));
    let vm = &report.vms[0];
    assert_eq!((&vm.extra_colors, vm.color_serial), (&Some(vec![8, 9, 10, 11]), true));
    assert_eq!((vm.extra_memory_bytes, vm.warm_up), (Some(8 << 20), false));
    assert_eq!((&report.vms[1].extra_colors, report.vms[1].extra_memory_bytes), (&None, None));
}

/// Some of its own colours may be extra colours, but no frame is both.
#[test]
fn a_pool_in_colors_of_its_vm_lies_beside_its_ram() {
    let vm = "colors = \"0-3\"\nextra_colors = \"2-5\"\nextra_memory = \"1MiB\"";
    let plan = make(&system("", &[vm])).unwrap();
    let ram = plan.vms[0].memory[0].host_region();
    assert_eq!(plan.vms[0].pool.unwrap().area.region.start, ram.end());
}

#[test]
fn the_port_for_colors_has_an_interrupt_of_its_own() {
    let device = |host: u32, guest: u32| {
        format!(
            "[[vm.device]]\ncompatible = \"x\"\naddress = {:#x}\nsize = \"4KiB\"\n\
             interrupt = {host}\nguest_interrupt = {guest}\n",
            0x0b00_0000 + host * 0x1000
        )
    };
    let vm = format!("{EXTRA}\ncolor_serial = true\n{}{}", device(40, 34), device(41, 35));
    let plan = make(&system("", &[&vm])).unwrap();
    assert_eq!(plan.vms[0].color_serial.unwrap().interrupt, IntId(36));
}

#[test]
fn ram_is_warmed_up_without_colors_unless_the_description_says_so() {
    let colored = "colors = \"0\"";
    for (lines, warm_up) in [
        ("".into(), true),
        (colored.into(), false),
        ("warm_up = false".into(), false),
        (format!("{colored}\nwarm_up = true"), true),
    ] {
        let plan = make(&system("", &[&lines])).unwrap();
        assert_eq!(plan.vms[0].lifecycle.warm_up, warm_up, "{lines}");
        assert_eq!(plan.to_dts().contains("warm-up = <1>;"), warm_up, "{lines}");
    }
}

#[test]
fn extra_colors_have_a_pool_and_colors_to_return_to() {
    let found = |lines: &str| mistakes(&system("", &[lines]));
    let useless = |place: &str, key: &str, help: &str| {
        (format!("{place} useless-key: `{key}` has no meaning here"), help.to_owned())
    };
    let help = "add `extra_colors`, or remove this";
    assert_eq!(
        found("colors = \"0\"\nextra_memory = \"1MiB\"\ncolor_serial = true"),
        [useless("10:1", "extra_memory", help), useless("11:1", "color_serial", help)]
    );
    assert_eq!(
        found("extra_colors = \"1\"\nextra_memory = \"1MiB\""),
        [useless("9:1", "extra_colors", "add `colors`, or remove this")]
    );
    assert_eq!(
        found("colors = \"0\"\nextra_colors = \"1\""),
        [(
            "4:1 missing-key: `[[vm]]` has no `extra_memory`".into(),
            "add `extra_memory = \"64MiB\"`".into()
        )]
    );
    for (memory, shown, such) in [("0B", "0 B", ""), ("5KiB", "5 KiB", ", such as \"8KiB\"")] {
        let lines = format!("colors = \"0\"\nextra_colors = \"1\"\nextra_memory = \"{memory}\"");
        let message = format!("11:16 wrong-value: {shown} is not a number of pages");
        let help = format!("the pool consists of frames: use a multiple of 4 KiB{such}");
        assert_eq!(found(&lines), [(message, help)]);
    }
    let with_vllc = found(&format!("{EXTRA}\nvllc = true"));
    assert_eq!(with_vllc.len(), 1);
    assert_eq!(with_vllc[0].0, "10:1 useless-key: `extra_colors` has no meaning here");
    assert!(with_vllc[0].1.contains("a guest with a virtual cache"), "{with_vllc:?}");
}

#[test]
fn extra_colors_must_exist() {
    let unknown = mistakes(&system(
        "hypervisor_colors = \"17\"",
        &["colors = \"0\"\nextra_colors = \"15-16\"\nextra_memory = \"1MiB\""],
    ));
    let found: Vec<_> = unknown.iter().map(|(message, _)| message.as_str()).collect();
    assert_eq!(
        found,
        [
            "3:21 unknown-colors: no such colours: 17; the cache has 0-15",
            "10:16 unknown-colors: no such colours: 16; the cache has 0-15",
        ]
    );
    let text = system("hypervisor_colors = \"0\"", &["colors = \"1\""]);
    let none = read(&text.replace("qemu-virt", "athlon-64-x2")).unwrap_err();
    assert_eq!(none.iter().len(), 2, "{none}");
}

#[test]
fn extra_colors_belong_to_one_vm_unless_both_say_so() {
    let share = "share_colors = true";
    let vms = |a: &str, b: &str| {
        [
            format!("{EXTRA}\n{a}"),
            format!("colors = \"11-12\"\nextra_colors = \"3\"\nextra_memory = \"1MiB\"\n{b}"),
        ]
    };
    let [a, b] = vms("", share);
    assert_eq!(
        mistakes(&system("", &[&a, &b])),
        [(
            "18:10 colors-taken: `a` and `b` have colours in common: 3,11".into(),
            "give each its own colours, or say `share_colors = true` in both".into()
        )]
    );
    let [a, b] = vms(share, share);
    let plan = make(&system("", &[&a, &b])).unwrap();
    let ram = plan.vms[1].memory[0].frames();
    assert!(!ram.region.overlaps(&plan.vms[0].pool.unwrap().area.region), "side by side");
}

#[test]
fn colors_of_the_hypervisor_are_its_own() {
    let own = "hypervisor_colors = \"11,15\"";
    let help = "give the VM other colours, or say `share_colors = true` in it".to_owned();
    assert_eq!(
        mistakes(&system(
            own,
            &[EXTRA, "colors = \"15\"", "share_colors = true\ncolors = \"14-15\""]
        )),
        [
            (
                "10:16 colors-taken: `a` and the hypervisor have colours in common: 11".into(),
                help.clone()
            ),
            ("17:10 colors-taken: `b` and the hypervisor have colours in common: 15".into(), help),
            (
                "24:10 colors-taken: `b` and `c` have colours in common: 15".into(),
                "give each its own colours, or say `share_colors = true` in both".into()
            ),
        ]
    );
    assert_eq!(
        mistakes(&system(own, &["colors = \"0\"", ""])),
        [(
            "11:8 colors-taken: the hypervisor has colours of its own, but `b` has none".into(),
            "give every VM `colors`, or remove `hypervisor_colors`".into()
        )]
    );
}

#[test]
fn frames_that_lack_are_counted_for_each_color() {
    let vm = |colors: &str, lines: &str| format!("colors = \"{colors}\"\n{lines}");
    // 928 MiB have 14848 frames of each colour.
    let text = system("", &[&vm("0-3", "extra_colors = \"8-10\"\nextra_memory = \"200MiB\"")]);
    assert_eq!(
        mistakes(&text),
        [(
            "11:16 no-memory: the pool of `a` needs 17067 frames of each of its colours (8-10) in \
             one piece of RAM, but at most 14848 are free"
                .into(),
            "`qemu-virt` has 1 GiB: 96 MiB for the hypervisor; 200 MiB in these colours take an \
             area of 1092288 KiB: give it more colours, or less memory"
                .into()
        )]
    );
    let share = "share_colors = true";
    let text = system(
        "",
        &[
            &vm("11", share),
            &vm("0", &format!("extra_colors = \"10-11\"\nextra_memory = \"116MiB\"\n{share}")),
        ],
    );
    // The VM of colour 11 has 1 MiB: 256 + 65 frames of it.
    assert_eq!(
        mistakes(&text)[0].0,
        "18:16 no-memory: the pool of `b` needs 14848 frames of each of its colours (10-11) in \
         one piece of RAM, but at most 14527 are free (14848 of 10, 14527 of 11, each by itself)"
    );
    let text =
        system("hypervisor_colors = \"3\"\nhypervisor_memory = \"1000MiB\"", &["colors = \"0\""]);
    assert_eq!(
        mistakes(&text)[0].0,
        "3:21 no-memory: the hypervisor needs 1024 frames of each of its colours (3) in one piece \
         of RAM, but at most 384 are free"
    );
}

#[test]
fn a_cache_outside_of_the_registers_has_no_virtual_one() {
    let board = include_str!("../../../../systems/platforms/qemu-virt.toml");
    let board = board.replace("shared_by = 4", "shared_by = 4\nin_registers = false");
    let board: String = board
        .replace("[[", "[[platform.")
        .lines()
        .map(|line| match line.strip_prefix('[').filter(|rest| !rest.starts_with('[')) {
            Some(rest) => format!("[platform.{rest}\n"),
            None => format!("{line}\n"),
        })
        .collect();
    let vm = "[[vm]]\nname = \"a\"\nboot = \"raw\"\nkernel = \"k\"\nmemory = \"1MiB\"\ncolors = \"0-3\"\n";
    let plan =
        make(&format!("[platform]\n{board}{vm}")).unwrap_or_else(|errors| panic!("{errors}"));
    assert!(!plan.platform.llc.unwrap().in_registers);
    assert!(plan.to_dts().contains("\tnot-in-registers;\n"));
    assert_eq!(plan.last_level_cache(&plan.vms[0]), None);
    assert_eq!(Plan::from_dts("plan.dts", &plan.to_dts()), Ok(plan.clone()));
    assert_eq!(Plan::from_dtb(&plan.to_dtb()), Ok(plan));

    let errors = make(&format!("[platform]\n{board}{vm}vllc = true\n")).unwrap_err().to_string();
    assert!(errors.contains("those do not describe the last-level cache here"), "{errors}");
}

/// A VM: pages of RAM, bits of its colours, and bits and frames of its pool.
type Draft = (u64, u64, Option<(u64, u64)>);

fn draft() -> impl Strategy<Value = Draft> {
    (1..2000u64, 1..=0xffffu64, proptest::option::of((1..=0xffffu64, 1..2000u64)))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Frame by frame, by another way than the planner counts them.
    #[test]
    fn planned_frames_have_their_colors_and_one_owner(
        vms in proptest::collection::vec(draft(), 1..=3),
        own in proptest::option::of(1..=0xffffu64),
    ) {
        let set = ColorSet::from_bits;
        let lines: Vec<_> = vms.iter().map(|(pages, bits, extra)| {
            let extra = extra.map(|(bits, frames)| {
                format!("extra_colors = \"{}\"\nextra_memory = \"{}KiB\"\n", set(bits), 4 * frames)
            });
            format!(
                "memory = \"{}KiB\"\ncolors = \"{}\"\nshare_colors = true\n{}",
                4 * (pages + 160), set(*bits), extra.unwrap_or_default()
            )
        }).collect();
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let own = own.map(|bits| format!("hypervisor_colors = \"{}\"", set(bits)));
        let text = system(&own.unwrap_or_default(), &lines).replace("memory = \"1MiB\"\n", "");
        let plan = make(&text).map_err(|errors| TestCaseError::fail(errors.to_string()))?;

        let mut owners: HashMap<u64, String> = HashMap::new();
        let mut own = |owner: String, Frames { region, colors }: Frames, needed: u64| {
            let mut count = 0;
            for frame in (region.start.0..region.end().0).step_by(4096) {
                if colors.is_some_and(|colors| colors.bits() >> (frame >> 12 & 15) & 1 == 0) {
                    continue;
                }
                count += 1;
                prop_assert!(frame >= plan.platform.hypervisor.end().0 && frame < 0x8000_0000);
                prop_assert_eq!(owners.insert(frame, owner.clone()), None);
            }
            prop_assert!(count >= needed, "{}: {} frames for {}", owner, count, needed);
            Ok(())
        };
        if let Some(area) = plan.platform.hypervisor_area {
            own("hypervisor".into(), area.into(), 1024)?;
        }
        for vm in &plan.vms {
            let frames = vm.pool.map_or(0, |pool| u64::from(pool.frames));
            let pages = vm.memory[0].size.0 / 4096;
            let needed = pages + 64 + pages / 256 + frames.div_ceil(256);
            own(vm.name.clone(), Memory::frames(&vm.memory[0]), needed)?;
            if let Some(pool) = vm.pool {
                own(format!("pool of {}", vm.name), pool.area.into(), frames)?;
            }
        }
        prop_assert_eq!(Plan::from_dts("plan.dts", &plan.to_dts()), Ok(plan.clone()));
    }
}
