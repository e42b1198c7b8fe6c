//! Colours of VMs, from the description to the frames that they get.

use std::collections::HashMap;
use std::path::Path;

use policy::color::ColorSet;
use proptest::prelude::*;
use system::address::{PhysicalAddress, Region};
use system::description::System;
use system::diagnostic::Errors;
use system::plan::{self, Plan, frames_needed};
use system::report::Report;
use units::Bytes;

fn read(text: &str) -> Result<System, Errors> {
    System::from_toml("s.toml", text, Path::new(""))
}

fn make(text: &str) -> Result<Plan, Errors> {
    plan::make(&read(text)?)
}

/// VMs on a board, each with lines of its own.
fn system(board: &str, vms: &[&str]) -> String {
    let mut text = format!("platform = \"{board}\"\n");
    for (name, lines) in ["a", "b", "c", "d"].into_iter().zip(vms) {
        text += &format!("[[vm]]\nname = \"{name}\"\nboot = \"raw\"\nkernel = \"k\"\n{lines}\n");
    }
    text
}

/// `line:column message`, and the help, of each mistake.
fn mistakes(text: &str) -> Vec<(String, String)> {
    let errors = make(text).expect_err("a mistake").entries();
    let entry = |entry: &system::diagnostic::Entry| {
        let place = format!("{}:{}", entry.line.unwrap(), entry.column.unwrap());
        (format!("{place} {}: {}", entry.code, entry.message), entry.help.clone().unwrap())
    };
    errors.iter().map(entry).collect()
}

#[test]
fn the_example_is_planned_as_its_reader_expects() {
    let system = read(include_str!("../../../../systems/colors.toml")).unwrap();
    let plan = plan::make(&system).unwrap();
    assert_eq!(plan.platform.llc.unwrap().geometry.colors(), 16);
    let shown: Vec<_> = plan.vms.iter().map(|vm| vm.colors().unwrap().to_string()).collect();
    assert_eq!(shown, ["0-3", "8-11", "12-14"]);
    let areas: Vec<_> = plan.vms.iter().map(|vm| vm.memory[0].host_region()).collect();
    // 49472 and 4176 frames; 4, 4 and 3 in each 64 KiB.
    let area = |bytes: u64| Region::new(PhysicalAddress(0x4600_0000), bytes);
    assert_eq!(areas, [area(12368 << 16), area(1044 << 16), area(1392 << 16)]);
    let pool = plan.vms[0].pool.unwrap();
    assert_eq!(
        (pool.area.region, pool.area.colors.to_string().as_str()),
        (area(4096 << 16), "4-7")
    );
    assert_eq!(plan.platform.hypervisor_area.unwrap().region, area(1024 << 16));

    let report = Report::new(&system, Some(&plan));
    assert_eq!(report.vms[1].colors, Some(vec![8, 9, 10, 11]));
    let vms: u64 = plan.vms.iter().map(|vm| plan.host_bytes(vm).0).sum();
    assert_eq!(vms, (49472 + 16384 + 2 * 4176) * 4096);
    assert_eq!(report.platform.free_bytes, Some((924 << 20) - vms));
}

#[test]
fn a_plan_without_colors_does_not_name_the_cache() {
    let plan = make(&system("qemu-virt", &["memory = \"1MiB\""])).unwrap();
    assert_eq!(plan.platform.llc, None);
    assert!(!plan.to_dts().contains("llc"));
}

#[test]
fn areas_lie_upon_each_other_only_where_colors_differ() {
    let hosts = |vms: &[&str]| -> Vec<u64> {
        let plan = make(&system("qemu-virt", vms)).unwrap_or_else(|errors| panic!("{errors}"));
        plan.vms.iter().map(|vm| vm.memory[0].host.0).collect()
    };
    let [a, b, all] = ["0-7", "8-15", "0-15"]
        .map(|colors| format!("memory = \"1MiB\"\ncolors = \"{colors}\"\nshare_colors = true"));
    let plain = "memory = \"1MiB\"";
    // 321 frames, 8 in each 64 KiB, are 41 of them: up to 0x46290000.
    assert_eq!(hosts(&[&a, &b]), [0x4600_0000, 0x4600_0000]);
    assert_eq!(hosts(&[&a, &a]), [0x4600_0000, 0x4629_0000]);
    assert_eq!(hosts(&[&a, &b, &all]), [0x4600_0000, 0x4600_0000, 0x4629_0000]);
    assert_eq!(hosts(&[&a, plain, &b]), [0x4600_0000, 0x4640_0000, 0x4600_0000]);
    assert_eq!(hosts(&[plain, &a, &b]), [0x4600_0000, 0x4610_0000, 0x4610_0000]);
    let given = format!("{b}\nmemory_at = 0x46100000");
    assert_eq!(hosts(&[&a, &given, plain]), [0x4600_0000, 0x4610_0000, 0x4640_0000]);
}

#[test]
fn texts_that_are_no_colors_are_shown_where_they_stop() {
    let help = "write colours and ranges of them, as in `colors = \"0-3,8\"`, or \
                `colors = \"planned\"`"
        .to_owned();
    for (text, place, message) in [
        ("\"0-3;8\"", "6:14", "character 4: expected \",\" or the end, as in \"0-3,8\""),
        ("\"0-64\"", "6:13", "character 3: the highest colour is 63"),
        ("\"1,\"", "6:13", "character 3: expected a colour, as in \"0-3,8\""),
        ("'7-3'", "6:11", "character 1: the range ends below its start"),
        // Not as it stands: the whole text is shown.
        ("\"\\u0030;\"", "6:10", "character 2: expected \",\" or the end, as in \"0-3,8\""),
    ] {
        let vm = format!("colors = {text}\nmemory = \"1MiB\"");
        let found = mistakes(&system("qemu-virt", &[&vm]));
        assert_eq!(found, [(format!("{place} wrong-value: `colors`, {message}"), help.clone())]);
    }
    // What is no text with colours at all gets the same help.
    for (value, message) in [
        ("\"\"", "6:10 wrong-value: the text is empty"),
        ("4", "6:10 wrong-type: expected a string, found a whole number"),
    ] {
        let vm = format!("colors = {value}\nmemory = \"1MiB\"");
        assert_eq!(mistakes(&system("qemu-virt", &[&vm])), [(message.into(), help.clone())]);
    }
    // Colours of tasks are planned where they are left out.
    let vm = "memory = \"1MiB\"\n[[vm.task]]\nname = \"t\"\nperiod = \"1ms\"\nwcet = \"1us\"\n\
              colors = \"\"";
    let help = help.split(", or").next().expect("a part");
    let found = mistakes(&system("qemu-virt", &[vm]));
    assert!(found.iter().any(|(_, other)| other == help), "{found:?}");
}

#[test]
fn colors_that_do_not_exist_are_refused_with_the_number_that_does() {
    let vm = "colors = \"14-17\"\nmemory = \"1MiB\"";
    assert_eq!(
        mistakes(&system("qemu-virt", &[vm])),
        [(
            "6:10 unknown-colors: no such colours: 16-17; the cache has 0-15".into(),
            "`qemu-virt` has 16 colours: 1 MiB / (16 ways x 4 KiB), by its last-level cache".into()
        )]
    );
    // Machines for analysis have no plan, but colours.
    let found = |board| read(&system(board, &[vm])).err().map(|errors| errors.to_string());
    let shown = found("raspberry-pi-2").unwrap();
    assert!(shown.contains("8 colours: 512 KiB / (8 ways x 8 KiB)"), "{shown}");
    let shown = found("athlon-64-x2").unwrap();
    assert!(shown.contains("`athlon-64-x2` has no colours: its CPUs share no cache"), "{shown}");
    assert_eq!(found("i7-2600"), None);
}

#[test]
fn colors_of_two_vms_are_refused_unless_both_say_so() {
    let vm =
        |colors: &str, share: &str| format!("colors = \"{colors}\"\nmemory = \"1MiB\"\n{share}");
    let share = "share_colors = true";
    let mistake = |place: &str, names: &str, colors: &str| {
        (
            format!("{place} colors-taken: {names} have colours in common: {colors}"),
            "give each its own colours, or say `share_colors = true` in both".to_owned(),
        )
    };
    let found = |first: &str, others: &str| {
        mistakes(&system("qemu-virt", &[&vm("0-3", first), &vm("2-5", others), &vm("5,9", others)]))
    };
    assert_eq!(
        found("", ""),
        [mistake("13:10", "`a` and `b`", "2-3"), mistake("20:10", "`b` and `c`", "5")]
    );
    assert_eq!(found("", share), [mistake("13:10", "`a` and `b`", "2-3")]);
    let alone = make(&system("qemu-virt", &[&vm("0-3", share), &vm("2-5", share)]));
    let [a, b] = [0, 1].map(|index| alone.as_ref().unwrap().vms[index].memory[0]);
    assert!(!a.host_region().overlaps(&b.host_region()));

    let useless = mistakes(&system("qemu-virt", &["memory = \"1MiB\"\nshare_colors = true"]));
    assert_eq!(useless[0].0, "7:1 useless-key: `share_colors` has no meaning here");
}

#[test]
fn a_virtual_cache_needs_a_power_of_two_of_colors() {
    let vm = |colors: &str| format!("memory = \"1MiB\"\ncolors = \"{colors}\"\nvllc = true");
    let plan = make(&system("qemu-virt", &[&vm("0-3")])).unwrap();
    assert!(plan.vms[0].vllc);
    let described = read(&system("qemu-virt", &[&vm("0-3"), "memory = \"1MiB\""])).unwrap();
    assert_eq!(
        Report::new(&described, None).vms.iter().map(|vm| vm.vllc).collect::<Vec<_>>(),
        [true, false]
    );
    let cache = plan.last_level_cache(&plan.vms[0]).unwrap();
    assert_eq!((cache.bytes(), cache.ways(), cache.sets()), (256 << 10, 16, 256));
    assert_eq!(Plan::from_dts("plan.dts", &plan.to_dts()), Ok(plan));

    let found = |colors: &str| mistakes(&system("qemu-virt", &[&vm(colors)]));
    let message = |colors: &str| {
        format!(
            "7:10 wrong-value: a virtual cache needs 1, 2, 4, ... colours, a power of two, \
             because its number of sets is one; {colors}"
        )
    };
    assert_eq!(found("0-2"), [(message("0-2 are 3"), "give the VM 2 or 4 colours".to_owned())]);
    assert_eq!(found("0-8"), [(message("0-8 are 9"), "give the VM 8 or 16 colours".to_owned())]);
    let alone = mistakes(&system("qemu-virt", &["memory = \"1MiB\"\nvllc = true"]));
    assert_eq!(alone[0].0, "7:1 useless-key: `vllc` has no meaning here");
    // Its colours are two pages wide, for the sake of its first-level caches.
    let wide = read(&system("raspberry-pi-2", &[&vm("0-3")])).unwrap_err().to_string();
    assert!(wide.contains("but here 8 KiB are of one"), "{wide}");
}

#[test]
fn too_few_frames_are_counted_for_each_color() {
    let vm = "memory = \"200MiB\"\ncolors = \"0,2\"";
    assert_eq!(
        mistakes(&system("qemu-virt", &[vm])),
        [(
            "6:10 no-memory: `a` needs 25732 frames of each of its colours (0,2) in one piece of \
             RAM, but at most 14848 are free"
                .into(),
            "`qemu-virt` has 1 GiB: 96 MiB for the hypervisor; 200 MiB in these colours take an \
             area of 1646848 KiB: give it more colours, or less memory"
                .into()
        )]
    );
    // Half the colours of 928 MiB are room for 460 MiB, once for each half.
    let half = |colors: &str| format!("memory = \"460MiB\"\ncolors = \"{colors}\"");
    let found = |vms: &[&str]| mistakes(&system("qemu-virt", vms))[0].0.clone();
    let vms = [&*half("0-7"), &half("8-15"), "memory = \"8MiB\""];
    assert_eq!(
        found(&vms),
        "18:10 no-memory: `c` needs 8 MiB of RAM in one piece, but at most 2 MiB are free"
    );
    let vms = [&*half("0-7"), &half("8-15"), "memory = \"2MiB\"", "memory = \"1MiB\""];
    assert!(found(&vms).contains("`d` needs 1 MiB of RAM"));
}

#[test]
fn areas_that_are_given_must_fit_the_colors() {
    let given = |at: &str| format!("memory = \"1MiB\"\ncolors = \"0-7\"\nmemory_at = {at}");
    let found = mistakes(&system("qemu-virt", &[&given("0x50001000")]));
    assert_eq!(
        found[0].0,
        "8:13 plan-rule: the memory of VM `a`: the start of the area is not a \
         multiple of 64 KiB"
    );
    let found = mistakes(&system("qemu-virt", &[&given("0x7fff0000")]));
    assert!(found[0].0.contains("does not lie in one bank of memory"), "{found:?}");
    let large = "memory = \"18446744073709551615B\"\ncolors = \"0\"\nmemory_at = 0x50000000";
    assert!(!mistakes(&system("qemu-virt", &[large])).is_empty());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// Frame by frame, by another way than the planner counts them.
    #[test]
    fn planned_frames_have_their_colors_and_one_owner(
        vms in proptest::collection::vec((1..=3000u64, 1..=0xffffu64, 0..4u8), 1..=4),
    ) {
        let lines: Vec<_> = vms.iter().map(|(pages, bits, kind)| {
            let colors = ColorSet::from_bits(*bits);
            match kind {
                0 => format!("memory = \"{}KiB\"", 4 * (pages + 160)),
                _ => format!(
                    "memory = \"{}KiB\"\ncolors = \"{colors}\"\nshare_colors = true",
                    4 * (pages + 160)
                ),
            }
        }).collect();
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let plan = make(&system("qemu-virt", &lines))
            .map_err(|errors| TestCaseError::fail(errors.to_string()))?;
        let mut owners: HashMap<u64, usize> = HashMap::new();
        for (index, vm) in plan.vms.iter().enumerate() {
            let memory = &vm.memory[0];
            let host = memory.host_region();
            let mut count = 0;
            for frame in (host.start.0..host.end().0).step_by(4096) {
                let color = frame >> 12 & 15;
                if memory.colors().is_some_and(|colors| colors.bits() >> color & 1 == 0) {
                    continue;
                }
                count += 1;
                prop_assert!(frame >= plan.platform.hypervisor.end().0 && frame < 0x8000_0000);
                prop_assert_eq!(owners.insert(frame, index), None);
            }
            let needed = match memory.colors() {
                Some(_) => frames_needed(memory.size, 0),
                None => memory.size.0 / 4096,
            };
            prop_assert!(count >= needed, "{} frames for {}", count, needed);
            prop_assert_eq!(plan.host_bytes(vm), Bytes(count * 4096));
        }
        prop_assert_eq!(Plan::from_dts("plan.dts", &plan.to_dts()), Ok(plan.clone()));
    }
}
