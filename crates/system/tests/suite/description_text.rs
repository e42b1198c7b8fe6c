//! Descriptions: what is read, and what is said about mistakes.

use std::path::Path;

use policy::server::kind::Kind;
use proptest::prelude::*;
use system::address::{Ipa, PhysicalAddress};
use system::description::{Protocol, System, Wcet};
use system::diagnostic::Errors;
use system::plan::{self, Budget, Class, Lifecycle, OnEvent, Server};
use system::platform::Platform;
use units::{Bytes, Duration};

fn read(text: &str) -> Result<System, Errors> {
    System::from_toml("s.toml", text, Path::new(""))
}

const DEMO: &str = include_str!("../../../../systems/demo.toml");

/// A description that uses every key.
const EVERYTHING: &str = r#"
name = "everything"

[platform]
board = "qemu-virt"
hypervisor_memory = "64MiB"
hypervisor_colors = "15"
color_reload = "200us"

[[vm]]
name = "linux"
vcpus = 2
memory = "256MiB"
memory_at = 0x50000000
colors = "0-6,8"
share_colors = true
extra_colors = "8-11"
extra_memory = "16MiB"
color_serial = true
warm_up = true
boot = "linux"
kernel = "k"
load = 0x40400000
initrd = "i"
initrd_load = 0x44000000
device_tree = true
device_tree_load = 0x43000000
bootargs = "quiet"
console = false
on_crash = "restart"
on_bad_address = "abort"
on_reset = "stop"
restart_limit = 7

[[vm.vcpu]]
pcpu = 3
server = "deferrable"
budget = "3ms"
period = "10ms"
priority = 5

[[vm.vcpu]]

[[vm.device]]
compatible = ["arm,pl031", "arm,primecell"]
address = 0x09010000
guest_address = 0x0b000000
size = "4KiB"
interrupt = 34
guest_interrupt = 50

[[vm.task]]
name = "t"
vcpu = 1
period = "10ms"
deadline = "8ms"
wcet = { 1 = "4ms", 8 = "1.5ms" }
bcet = "1ms"
jitter = "0.1ms"
blocking = "20us"
self_suspension = "0.5ms"
colors = "0-2"
offset = "2ms"
sporadic = true
priority = 5

[[vm]]
name = "raw"
boot = "raw"
memory = "1MiB"
kernel = "r"
load = 0x40000000
entry = 0x40000040
device_tree = false
colors = "12"
vllc = true
"#;

#[test]
fn every_key_reaches_the_model_and_the_plan() {
    let system = read(EVERYTHING).unwrap();
    let vm = &system.vms[0];
    assert_eq!(vm.tasks[0].vcpu, 1);
    assert_eq!(vm.tasks[0].deadline, Duration(8_000_000));
    let by_colors = [(1, Duration(4_000_000)), (8, Duration(1_500_000))];
    assert_eq!(vm.tasks[0].wcet, Wcet::ByColors(by_colors.into()));
    assert_eq!(
        (vm.tasks[0].bcet, vm.tasks[0].offset),
        (Some(Duration(1_000_000)), Duration(2_000_000))
    );
    let waits = [vm.tasks[0].jitter, vm.tasks[0].blocking, vm.tasks[0].self_suspension];
    assert_eq!(waits, [100_000, 20_000, 500_000].map(Duration));
    assert_eq!(vm.tasks[0].colors.as_ref().unwrap().value.bits(), 0b111);
    assert_eq!(system.color_reload.as_ref().unwrap().value, Duration(200_000));
    assert!(vm.tasks[0].sporadic);
    assert_eq!(vm.tasks[0].priority.as_ref().unwrap().value, 5);
    assert_eq!(vm.colors.as_ref().unwrap().value.bits(), 0x17f);
    assert!(vm.share_colors && vm.lifecycle.warm_up && !vm.vllc && system.vms[1].vllc);
    let extra = vm.extra.as_ref().unwrap();
    assert_eq!((extra.colors.value.bits(), extra.memory.value), (0xf00, Bytes::mib(16)));
    assert!(extra.serial);
    assert_eq!(system.vms[1].boot.protocol, Protocol::Raw);

    let plan = plan::make(&system).unwrap();
    assert_eq!(plan.name, "everything");
    assert_eq!(plan.platform.hypervisor.size, Bytes::mib(64));
    let vm = &plan.vms[0];
    assert_eq!(vm.vcpus.iter().map(|vcpu| vcpu.pcpu.0).collect::<Vec<_>>(), [3, 0]);
    let budget = Budget { budget: Duration(3_000_000), period: Duration(10_000_000) };
    let server = Server {
        class: Class::Reserved(Kind::Deferrable, budget),
        priority: 5,
        overrun: Duration(0),
    };
    assert_eq!((vm.vcpus[0].server, vm.vcpus[1].server), (Some(server), None));
    assert_eq!(vm.memory[0].host, PhysicalAddress(0x5000_0000));
    assert_eq!(vm.colors(), Some(system.vms[0].colors.as_ref().unwrap().value));
    let Lifecycle { on_crash, on_reset, restart_limit, aborts, .. } = vm.lifecycle;
    assert_eq!((on_crash, on_reset, restart_limit), (OnEvent::Restart, OnEvent::Stop, 7));
    assert!(aborts && !plan.vms[1].lifecycle.aborts);
    assert_eq!(vm.serial, None);
    assert!(vm.lifecycle.warm_up && !plan.vms[1].lifecycle.warm_up);
    assert_eq!(vm.pool.unwrap().frames, 4096);
    assert_eq!(vm.color_serial.unwrap().registers.start, Ipa(0x0a01_0000));
    assert_eq!(plan.platform.hypervisor_area.unwrap().colors.bits(), 1 << 15);
    let boot = &vm.boot;
    assert_eq!((boot.kernel.load, boot.entry), (Ipa(0x4040_0000), Ipa(0x4040_0000)));
    assert_eq!(boot.initrd.as_ref().unwrap().load, Ipa(0x4400_0000));
    assert_eq!(boot.device_tree, Some(Ipa(0x4300_0000)));
    assert_eq!(boot.bootargs.as_deref(), Some("quiet"));
    let device = &vm.devices[0];
    assert_eq!(device.registers.ipa, Ipa(0x0b00_0000));
    assert_eq!(device.interrupts.unwrap().guest.0, 50);
    let raw = &plan.vms[1].boot;
    assert_eq!((raw.kernel.load, raw.entry), (Ipa(0x4000_0000), Ipa(0x4000_0040)));
    assert_eq!(raw.device_tree, None);
    assert_eq!(plan.vms[1].vcpus[0].pcpu.0, 1);
}

#[test]
fn the_demonstration_is_planned_as_its_reader_expects() {
    let mut plan = plan::make(&read(DEMO).unwrap()).unwrap();
    assert_eq!(plan.platform.serial.pcpu.0, 3, "the console is served where no VCPU runs");
    let linux = &plan.vms[0];
    assert_eq!(linux.memory[0].host, PhysicalAddress(0x4600_0000));
    assert_eq!(linux.boot.entry, Ipa(0x4020_0000));
    assert_eq!(linux.boot.initrd.as_ref().unwrap().load, Ipa(0x4800_0000));
    assert_eq!(linux.boot.device_tree, Some(Ipa(0x47e0_0000)));
    let rt = &plan.vms[1];
    assert_eq!(rt.memory[0].host, PhysicalAddress(0x6600_0000));
    assert_eq!((rt.boot.entry, rt.boot.device_tree), (Ipa(0x4008_0000), Some(Ipa(0x4000_0000))));

    assert_eq!(linux.boot.kernel.file, "../build/linux/vmlinuz");
    plan.move_files(Path::new("/p/systems"), Path::new("/p/build/demo")).unwrap();
    assert_eq!(plan.vms[0].boot.kernel.file, "../linux/vmlinuz");
}

#[test]
fn every_board_that_boots_takes_a_vm_and_the_others_say_why_not() {
    for board in system::platform::NAMES {
        let vm = "[[vm]]\nname = \"a\"\nkernel = \"k\"\nmemory = \"64MiB\"\n";
        let system = read(&format!("platform = \"{board}\"\n{vm}")).unwrap();
        let made = plan::make(&system);
        match &system.platform.value.boot {
            Ok(_) => assert_eq!(made.unwrap().platform.board, *board),
            Err(_) => {
                let text = made.unwrap_err().to_string();
                assert!(
                    text.contains("s.toml:1:12") && text.contains("cannot be booted"),
                    "{text}"
                );
            }
        }
    }
}

/// `line:column code` of each mistake.
fn mistakes(text: &str) -> Vec<String> {
    let Err(errors) = read(text).and_then(|system| plan::make(&system)) else { return Vec::new() };
    errors
        .entries()
        .iter()
        .map(|entry| {
            assert!(entry.help.is_some(), "{entry:?} says what to do");
            format!("{}:{} {}", entry.line.unwrap(), entry.column.unwrap(), entry.code)
        })
        .collect()
}

#[test]
fn all_mistakes_are_reported_at_once_each_with_its_place() {
    let text = r#"platform = "qemu-virt"
nme = "x"
[[vm]]
name = "linux"
vcpus = 2
memry = "512MiB"
kernel = 5
on_reset = "restrt"
vcpus = 3
memory_at = "0x1000"
[[vm]]
name = "Rt"
boot = "raw"
memory = "16MB"
kernel = "x"
restart_limit = -1
entry = 18446744073709551616
[[vm.task]]
name = "fast"
period = 5
wcet = { 1 = "1ms", 4 = "2ms", x = "1us" }
[[vm.task]]
name = "fast"
vcpu = 1
period = "5ms"
deadline = "0ms"
wcet = "30s"
"#;
    assert_eq!(
        mistakes(text),
        [
            "2:1 unknown-key",
            "6:1 unknown-key",
            "7:10 wrong-type",
            "8:12 wrong-value",
            "9:1 duplicate-key",
            "10:13 wrong-type",
            "12:8 wrong-value",
            "14:10 wrong-unit",
            "16:17 out-of-range",
            "17:9 out-of-range",
            "20:10 missing-unit",
            "21:32 wrong-value",
            "23:8 duplicate-name",
            "24:8 unknown-name",
            "26:12 out-of-range",
        ]
    );
}

#[test]
fn what_cannot_be_planned_is_reported_where_it_is_described() {
    let with = |from: &str, to: &str| {
        assert!(EVERYTHING.contains(from), "{from}");
        let text = EVERYTHING.replacen(from, to, 1);
        let line = |found: &String| {
            let number: usize = found.split(':').next().unwrap().parse().unwrap();
            format!(
                "{} {}",
                text.lines().nth(number - 1).unwrap(),
                found.split(' ').nth(1).unwrap()
            )
        };
        mistakes(&text).iter().map(line).collect::<Vec<_>>()
    };
    assert_eq!(with("pcpu = 3", "pcpu = 4"), ["pcpu = 4 unknown-pcpu"]);
    assert_eq!(with("[[vm.vcpu]]\n\n", "[[vm.vcpu]]\npcpu = 3\n"), ["pcpu = 3 pcpu-taken"]);
    assert_eq!(with("\"1MiB\"", "\"2GiB\""), ["memory = \"2GiB\" no-memory"]);
    assert_eq!(
        with("name = \"raw\"", "name = \"raw\"\nvcpus = 3"),
        ["name = \"raw\" too-few-pcpus"]
    );
    assert_eq!(with("0x50000000", "0x40000000"), ["memory_at = 0x40000000 plan-rule"]);
    assert_eq!(with("\"64MiB\"", "\"2GiB\""), ["hypervisor_memory = \"2GiB\" no-memory"]);
    assert_eq!(with("\"64MiB\"", "\"1B\""), ["hypervisor_memory = \"1B\" plan-rule"]);
    assert_eq!(with("= 0x40000040", "= 0x40000041"), ["entry = 0x40000041 plan-rule"]);
    assert_eq!(with("= 0x09010000", "= 0x09000000"), ["[[vm.device]] plan-rule"]);
    assert_eq!(with("0x40400000", "0x40480000"), ["load = 0x40480000 wrong-value"]);
    assert_eq!(with("\"qemu-virt\"", "\"qemu-vrit\""), ["board = \"qemu-vrit\" unknown-name"]);
}

#[test]
fn a_platform_may_be_a_file_or_stand_in_the_description() {
    let folder = tempfile::tempdir().unwrap();
    let board = include_str!("../../../../systems/platforms/qemu-virt.toml");
    let vm = "[[vm]]\nname = \"a\"\nkernel = \"k\"\nmemory = \"64MiB\"\n";

    std::fs::write(folder.path().join("mine.toml"), board.replace("qemu-virt\"", "mine\""))
        .unwrap();
    let text = format!("platform = \"mine.toml\"\n{vm}");
    let system = System::from_toml("s.toml", &text, folder.path()).unwrap();
    assert_eq!(system.platform.value.name, "mine");

    std::fs::write(folder.path().join("mine.toml"), board.replace("ways = 16", "wys = 16"))
        .unwrap();
    let errors = System::from_toml("s.toml", &text, folder.path()).unwrap_err();
    let shown = errors.to_string();
    assert!(shown.contains("mine.toml:") && shown.contains("did you mean `ways`?"), "{shown}");
    assert!(shown.contains("s.toml:1:12"), "{shown}");

    std::fs::remove_file(folder.path().join("mine.toml")).unwrap();
    let errors = System::from_toml("s.toml", &text, folder.path()).unwrap_err();
    assert_eq!(errors.entries()[0].code, "cannot-read");

    let inline = board
        .replace("[[", "[[platform.")
        .replace("[gic]", "[platform.gic]")
        .replace("[bandwidth]", "[platform.bandwidth]")
        .replace("[overheads]", "[platform.overheads]")
        .replace("[console]", "[platform.console]")
        .replace("[qemu]", "[platform.qemu]");
    let system = read(&format!("[platform]\n{inline}\n{vm}")).unwrap();
    assert_eq!(plan::make(&system).unwrap().platform.board, "qemu-virt");
}

#[test]
fn a_spin_table_has_a_word_for_each_cpu() {
    let board = include_str!("../../../../systems/platforms/raspberry-pi-4.toml");
    let platform = Platform::from_toml("pi.toml", board).unwrap();
    let words: Vec<_> = platform.cpus.iter().filter_map(|cpu| cpu.release).collect();
    assert_eq!(words, [0xd8, 0xe0, 0xe8, 0xf0].map(PhysicalAddress));
    for (to, message) in [
        ("[0xd8, 0xe0]", "2 addresses for 4 CPUs"),
        ("[0xd8, 0xe0, 0xe8, 0xf1]", "0xf1 is no multiple of 8"),
    ] {
        let text = board.replace("[0xd8, 0xe0, 0xe8, 0xf0]", to);
        let shown = Platform::from_toml("pi.toml", &text).unwrap_err().to_string();
        assert!(shown.contains(message) && shown.contains("pi.toml:"), "{shown}");
    }
    let vm = "[[vm]]\nname = \"a\"\nkernel = \"k\"\nmemory = \"64MiB\"\n";
    let place = |word| {
        let table = format!("[{word}, 0xe0, 0xe8, 0xf0]");
        let inline = board
            .replace("[[", "[[platform.")
            .replace("\n[gic]", "\n[platform.gic]")
            .replace("\n[bandwidth]", "\n[platform.bandwidth]")
            .replace("\n[console]", "\n[platform.console]")
            .replace("\n[power_off]", "\n[platform.power_off]")
            .replace("\n[qemu]", "\n[platform.qemu]")
            .replace("[0xd8, 0xe0, 0xe8, 0xf0]", &table);
        read(&format!("[platform]\n{inline}\n{vm}")).map(|system| plan::make(&system))
    };
    assert_eq!(place("0xd8").unwrap().unwrap().platform.spin_table, words);
    let errors = place("0x10000000").unwrap().unwrap_err().to_string();
    assert!(errors.contains("is RAM that the hypervisor does not have"), "{errors}");
}

#[test]
fn the_largest_numbers_do_not_overflow() {
    let text = EVERYTHING
        .replace("\"1MiB\"", "\"18446744073709547520B\"")
        .replace("0x50000000", "0xfffffffffffff000")
        .replace("0x09010000", "0xffffffffffffffff")
        .replace("restart_limit = 7", "restart_limit = 4294967295");
    assert!(mistakes(&text).iter().any(|mistake| mistake.ends_with("no-memory")));
    let text = text.replace("boot = \"raw\"", "boot = \"raw\"\nmemory_at = 0xffffffffffffffff");
    assert!(mistakes(&text).iter().any(|mistake| mistake.ends_with("plan-rule")));
}

#[test]
fn files_that_exist_must_fit() {
    let folder = tempfile::tempdir().unwrap();
    let text = "platform = \"qemu-virt\"\n[[vm]]\nname = \"a\"\nkernel = \"k\"\ninitrd = \"i\"\nmemory = \"32MiB\"\n";
    let plan = plan::make(&System::from_toml("s.toml", text, folder.path()).unwrap()).unwrap();
    let missing = plan::check_files(&plan, folder.path()).unwrap().missing;
    assert_eq!(missing, [folder.path().join("k"), folder.path().join("i")]);

    // An `Image` that asks for 20 MiB once it runs.
    let mut image = vec![0; 64];
    image[16..24].copy_from_slice(&(20u64 << 20).to_le_bytes());
    image[56..60].copy_from_slice(b"ARMd");
    std::fs::write(folder.path().join("k"), image).unwrap();
    std::fs::write(folder.path().join("i"), vec![0; 17 << 20]).unwrap();
    let errors = plan::check_files(&plan, folder.path()).unwrap_err();
    let nodes: Vec<_> = errors.iter().map(|error| error.node.as_deref().unwrap()).collect();
    assert_eq!(
        nodes,
        [
            "/vms/vm@0/boot/kernel: load",
            "/vms/vm@0/boot/initrd: load",
            "/vms/vm@0/boot/initrd: load"
        ],
        "{errors}"
    );
}

/// What is said about a description that is wrong.
fn shown(text: &str) -> String {
    read(text).and_then(|system| plan::make(&system)).unwrap_err().to_string()
}

/// A VM of 16 MiB, with more lines.
fn vm(name: &str, more: &str) -> String {
    format!(
        "[[vm]]\nname = \"{name}\"\nboot = \"raw\"\nmemory = \"16MiB\"\nkernel = \"k\"\n{more}\n"
    )
}

#[test]
fn a_list_with_one_bracket_is_one_mistake() {
    let platform = "platform = \"qemu-virt\"\n";
    let task =
        |name: &str| format!("[vm.task]\nname = \"{name}\"\nperiod = \"5ms\"\nwcet = \"1ms\"\n");
    let tasks = ["a", "b", "c"].map(task).concat();
    let lone = |name: &str, more: &str| vm(name, more).replace("[[vm]]", "[vm]");
    let [one, two] =
        [["rt", "rt-2"].map(|name| lone(name, "")), ["rt", "rt-2"].map(|name| lone(name, &tasks))];
    for (text, place, header) in [
        (lone("rt", ""), "2:1", "[[vm]]"),
        (one.concat(), "2:1", "[[vm]]"),
        (two.concat(), "2:1", "[[vm]]"),
        (vm("rt", "") + &lone("rt-2", ""), "8:1", "[[vm]]"),
        (lone("rt", "") + &vm("rt-2", ""), "2:1", "[[vm]]"),
        (vm("rt", &tasks), "7:1", "[[vm.task]]"),
        (vm("rt", &tasks) + &vm("rt-2", &tasks), "7:1", "[[vm.task]]"),
    ] {
        let shown = shown(&format!("{platform}{text}"));
        assert_eq!(shown.matches("error[").count(), 1, "{shown}");
        assert!(shown.contains(&format!("s.toml:{place}\n")), "{place} {shown}");
        assert!(
            shown.contains(&format!("write a header `{header}` above each of them")),
            "{shown}"
        );
    }
}

#[test]
fn a_table_that_is_given_twice_is_one_mistake() {
    let text = "[platform]\nboard = \"qemu-virt\"\n[platform]\nboard = \"zcu102\"\n";
    let shown = shown(&format!("{text}{}", vm("a", "")));
    assert_eq!(shown.matches("error[").count(), 1, "{shown}");
    assert!(shown.contains("`[platform]` is given twice"), "{shown}");
    assert!(shown.contains("put the keys of both below one header"), "{shown}");
}

#[test]
fn an_empty_description_is_told_how_to_begin() {
    for text in ["", "platform = \"qemu-virt\"\n"] {
        let shown = shown(text);
        assert!(shown.contains("add `[[vm]]`, and below it `name = \"linux\"`"), "{shown}");
        assert!(!shown.contains("[...]"), "{shown}");
    }
}

#[test]
fn overlaps_and_odd_sizes_are_told_in_words_of_the_description() {
    let platform = "platform = \"qemu-virt\"\n";
    let text = vm("rt", "memory_at = 0x50000000") + &vm("linux", "memory_at = 0x50800000");
    let overlap = shown(&format!("{platform}{text}"));
    let message = "the memory of VM `linux`: 0x50800000..=0x517fffff overlaps the memory of VM `rt` \
                   (0x50000000..=0x50ffffff)";
    assert!(overlap.contains(message) && !overlap.contains("/vms"), "{overlap}");
    assert!(overlap.contains("memory_at = 0x50000000\n"), "the other place is shown: {overlap}");
    for (memory, part) in [
        ("0MiB", "RAM consists of pages: use a multiple of 4 KiB"),
        ("1000000B", "such as \"980KiB\""),
        ("256KiB", "the kernel is loaded 512 KiB behind the start of RAM"),
    ] {
        let text = format!("{platform}{}", vm("rt", "").replace("16MiB", memory));
        let shown = shown(&text);
        assert_eq!(shown.matches("error[").count(), 1, "{shown}");
        assert!(
            shown.contains(part) && shown.contains(&format!("memory = \"{memory}\"")),
            "{shown}"
        );
    }
    let linux = vm("a", "initrd = \"i\"").replace("boot = \"raw\"\n", "").replace("16MiB", "7MiB");
    let small = shown(&format!("{platform}{linux}"));
    assert_eq!(small.matches("error[").count(), 1, "{small}");
    assert!(
        small.contains("`memory` of VM `a` is too small")
            && small.contains("give the VM 8 MiB at least"),
        "{small}"
    );
}

#[test]
fn linux_with_too_little_memory_is_told_how_much_it_needs() {
    let folder = tempfile::tempdir().unwrap();
    let text = |memory: &str, more: &str| {
        format!(
            "platform = \"qemu-virt\"\n[[vm]]\nname = \"a\"\nkernel = \"k\"\ninitrd = \"i\"\nmemory = \"{memory}\"\n{more}"
        )
    };
    let mut image = vec![0; 64];
    image[16..24].copy_from_slice(&(20u64 << 20).to_le_bytes());
    image[56..60].copy_from_slice(b"ARMd");
    std::fs::write(folder.path().join("k"), image).unwrap();
    std::fs::write(folder.path().join("i"), vec![0; 3 << 20]).unwrap();
    let check = |memory: &str, more: &str| {
        let system = System::from_toml("s.toml", &text(memory, more), folder.path()).unwrap();
        let plan = plan::make(&system).unwrap();
        plan::check_described_files(&system, &plan).map_err(|errors| errors.to_string())
    };
    let shown = check("32MiB", "").unwrap_err();
    assert_eq!(shown.matches("error[").count(), 1, "{shown}");
    assert!(shown.contains("s.toml:6:10"), "{shown}");
    let message = "`memory` of VM `a` is too small: its kernel takes 20 MiB, its initial RAM disk 3 MiB in memory";
    assert!(shown.contains(message), "{shown}");
    // The kernel ends 22 MiB into RAM, the device tree is 2 MiB below the middle.
    assert!(shown.contains("write `memory = \"48MiB\"` or more"), "{shown}");
    assert!(check("47MiB", "").is_err());
    check("48MiB", "").unwrap();

    let shown = check("32MiB", "initrd_load = 0x41000000\n").unwrap_err();
    assert!(shown.contains("the initial RAM disk of VM `a`: the file fills"), "{shown}");
    assert!(shown.contains("overlaps the kernel of VM `a`") && !shown.contains("/vms"), "{shown}");
}

/// The blocks of TOML in `docs/reference/description.md`.
fn reference() -> Vec<&'static str> {
    let page = include_str!("../../../../docs/reference/description.md");
    page.split("```toml\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect()
}

#[test]
fn the_examples_of_the_reference_are_valid() {
    let [shortest, everything, channel, trigger, serial, link, counter, platform] = reference()[..]
    else {
        panic!("eight examples")
    };
    let critical = "critical = true\nname = \"rt\"";
    let counted = shortest.replace("name = \"rt\"", critical);
    let counted = counted.replace("platform = \"qemu-virt\"", "[platform]\nboard = \"zcu102\"");
    let counted = counted.replacen("[[vm]]", &format!("{counter}[[vm]]"), 1);
    for text in [shortest, everything, channel, trigger, serial, link, &counted] {
        let made = read(text).and_then(|system| plan::make(&system));
        made.unwrap_or_else(|errors| panic!("{errors}"));
    }
    let platform = system::platform::Platform::from_toml("my-board.toml", platform);
    assert_eq!(platform.unwrap().colors().unwrap().colors(), 16);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn damaged_descriptions_never_panic(
        damage in proptest::collection::vec(crate::support::damage(), 1..5),
        start in proptest::sample::select(vec![DEMO, EVERYTHING, reference()[1]]),
    ) {
        let text = damage.iter().fold(start.to_owned(), |text, damage| damage.apply(&text));
        if let Err(errors) = read(&text).and_then(|system| plan::make(&system)) {
            prop_assert!(errors.to_string().starts_with("error["));
        }
    }

    #[test]
    fn random_descriptions_keep_their_values(
        vms in proptest::collection::vec((1..=3u64, 1..=200u64, any::<bool>(), 0..9u32), 1..=3),
        tasks in proptest::collection::vec((1..1_000_000u64, 1..1_000u64), 0..5),
    ) {
        let mut text = String::from("platform = \"zcu102\"\n");
        for (index, (vcpus, mebibytes, console, limit)) in vms.iter().enumerate() {
            text += &format!(
                "[[vm]]\nname = \"vm-{index}\"\nboot = \"raw\"\nkernel = \"k{index}\"\n\
                 vcpus = {vcpus}\nmemory = \"{mebibytes}MiB\"\nconsole = {console}\n\
                 restart_limit = {limit}\n"
            );
            for (task, (wcet, factor)) in tasks.iter().enumerate() {
                text += &format!(
                    "[[vm.task]]\nname = \"t{task}\"\nvcpu = {}\nwcet = \"{wcet}us\"\n\
                     period = \"{}us\"\n",
                    vcpus - 1,
                    wcet * factor
                );
            }
        }
        let system = read(&text).map_err(|errors| TestCaseError::fail(errors.to_string()))?;
        for (vm, (vcpus, mebibytes, console, limit)) in system.vms.iter().zip(&vms) {
            prop_assert_eq!(vm.vcpus.len() as u64, *vcpus);
            prop_assert_eq!(vm.memory.value, Bytes::mib(*mebibytes));
            prop_assert_eq!((vm.console, vm.lifecycle.restart_limit), (*console, *limit));
            let read: Vec<_> = vm.tasks.iter().map(|task| (task.wcet.longest().0, task.period.0)).collect();
            let written: Vec<_> =
                tasks.iter().map(|(wcet, factor)| (wcet * 1000, wcet * factor * 1000)).collect();
            prop_assert_eq!(read, written);
        }
        let vcpus: u64 = vms.iter().map(|vm| vm.0).sum();
        prop_assert_eq!(plan::make(&system).is_ok(), vcpus <= 4);
    }
}
