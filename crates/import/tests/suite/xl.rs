//! Domains of Xen.

use import::{Imported, xl};
use system::plan::{Class, OnEvent};

use crate::support::{assert_has, filled, source};

fn three() -> Imported {
    let domains = [
        source("driver.cfg", include_str!("../files/driver.cfg")),
        source("control.cfg", include_str!("../files/control.cfg")),
        source("planner.cfg", include_str!("../files/planner.cfg")),
    ];
    let script = [source("start.sh", include_str!("../files/start.sh"))];
    xl(&domains, &script).expect("they are domains")
}

#[test]
fn three_domains_are_one_system_once_the_marks_are_filled() {
    let imported = three();
    // Nothing that is unknown has a value.
    let (_, plan) = filled(&imported, &[]);
    assert!(plan.is_err(), "{}", imported.text);
    let answers = [
        ("platform", "\"qemu-virt\""),
        ("compatible", "\"arm,pl011\""),
        ("interrupt", "40"),
        ("server", "\"deferrable\""),
        ("budget", "\"2ms\""),
        ("period", "\"20ms\""),
        ("boot", "\"raw\""),
    ];
    let (text, plan) = filled(&imported, &answers);
    // Two devices have no interrupt in common.
    let text = text.replacen("interrupt = 40", "interrupt = 41", 1);
    assert!(plan.is_err(), "{text}");
    let again = Imported { text, open: Vec::new(), left: Vec::new() };
    let (text, plan) = filled(&again, &[]);
    let plan = plan.unwrap_or_else(|errors| panic!("{errors}\n{text}"));

    let [driver, control, planner] = &plan.vms[..] else { panic!("{text}") };
    assert_eq!([&driver.name, &control.name, &planner.name], ["domd", "control", "planner"]);
    let pcpus: Vec<u32> = plan.vms.iter().flat_map(|vm| &vm.vcpus).map(|it| it.pcpu.0).collect();
    assert_eq!(pcpus, [0, 1, 2, 2]);
    assert_eq!(driver.memory_size().get(), 128 << 20);
    assert_eq!(driver.colors().expect("it has colours").to_string(), "0-3,8");
    assert_eq!(driver.boot.kernel.file, "/boot/Image");
    assert_eq!(driver.boot.bootargs.as_deref(), Some("console=ttyAMA0 rw"));
    assert_eq!(driver.lifecycle.on_crash, OnEvent::Restart);
    let places: Vec<_> = driver.devices.iter().map(|it| it.registers).collect();
    assert_eq!(
        [places[0].host.0, places[0].ipa.0, places[0].size.get()],
        [0x904_0000, 0x904_0000, 4096]
    );
    assert_eq!(
        [places[1].host.0, places[1].ipa.0, places[1].size.get()],
        [0x905_0000, 0x2200_0000, 8192]
    );
    let Some(Class::Reserved(kind, budget)) = control.vcpus[0].server.map(|it| it.class) else {
        panic!("{text}")
    };
    assert_eq!(format!("{kind:?}"), "Deferrable");
    assert_eq!((budget.budget.0, budget.period.0), (2_500_000, 10_000_000));
}

#[test]
fn what_has_no_counterpart_is_listed_with_its_line() {
    let imported = three();
    let left: Vec<_> =
        imported.left.iter().map(|it| (it.file.as_str(), it.line, it.what.as_str())).collect();
    assert_eq!(
        left,
        [
            ("driver.cfg", 11, "gic_version = \"v3\""),
            ("driver.cfg", 14, "dtdev = ["),
            ("driver.cfg", 18, "device_tree = \"domd.dtb\""),
            ("driver.cfg", 20, "27 ]"),
            ("driver.cfg", 22, "disk = [ 'phy:/dev/mmcblk0p2,xvda,w' ]"),
            ("driver.cfg", 23, "vif  = [ 'bridge=xenbr0',"),
            ("start.sh", 4, "xl sched-rtds -d control -v all -p 10000 -b 2500 -e 1  # mic..."),
            ("planner.cfg", 5, "cap=50"),
        ]
    );
    for left in &imported.left {
        let comment =
            format!("# left out: {}:{}: {}: {}\n", left.file, left.line, left.what, left.why);
        assert_has(&imported.text, &[&comment]);
    }
    assert_has(
        &imported.open.join("\n"),
        &[
            "platform: ",
            "VM `domd`: interrupt: the one of this device out of 40, 41",
            "VM `planner`: server: ",
        ],
    );
    assert_has(
        &imported.text,
        &["name = \"domd\"   # was \"DomD\"", "pcpu = 1   # one each of 0-1"],
    );
}

/// Returns what becomes of a file with a name and this text.
fn of(text: &str) -> String {
    let named = format!("name = \"a\"\n{text}");
    xl(&[source("a.cfg", &named)], &[]).map_or_else(|errors| errors.to_string(), |it| it.text)
}

#[test]
fn values_are_read_as_xl_reads_them() {
    for (text, parts) in [
        ("memory = 0x40", &["memory = \"64MiB\""][..]),
        ("memory = \"64\"\nmaxmem = 64", &["memory = \"64MiB\""]),
        ("memory = 010 # octal", &["memory = \"8MiB\""]),
        (
            "kernel = 'k'\nkernel = \"z\\x41\\\\\"",
            &[r#"kernel = "zA\\""#, "left out: a.cfg:2: kernel = 'k': line 3 replaces it"],
        ),
        (
            "extra = 'ro'\nextra += ' quiet'\nroot = '/dev/vda'",
            &["bootargs = \"root=/dev/vda ro quiet\""],
        ),
        ("extra = 'ro'\ncmdline = 'rw'", &["bootargs = \"rw\""]),
        ("vcpus = 3", &["vcpus = 3\n"]),
        ("cpus = 'all'\nvcpus = 2", &["vcpus = 2\n"]),
        ("cpus = '0-3,^1-2'\nvcpus = 2", &["pcpu = 0   # one each of", "pcpu = 3   # one each of"]),
        ("cpus = '1-3'\nvcpus = 2", &["# pcpu = 1   # fill in: one PCPU out of 1-3\n"]),
        ("cpus = [3]\nvcpus = 2", &["[[vm.vcpu]]\npcpu = 3\n\n[[vm.vcpu]]\n\n"]),
        ("cpus = 'node:1'", &["# pcpu = 0   # fill in: one PCPU of `node:1`"]),
        (
            "period = 10000",
            &["server = \"deferrable\"", "# budget = \"4ms\"   # fill in", "period = \"10ms\"\n"],
        ),
        ("period = 1500\nbudget = 750", &["budget = \"750us\"", "period = \"1500us\""]),
        ("irqs = [ 40 ]", &["left out: a.cfg:2: 40 ]: interrupts belong to a `[[vm.device]]`"]),
        (
            "iomem = ['9040,1']\nirqs = [ 40 ]",
            &["address = 0x904_0000\nsize = \"4KiB\"\ninterrupt = 40\n"],
        ),
        (
            "on_crash = 'preserve'\non_reboot = 'destroy'",
            &["on_crash = \"stop\"", "on_reset = \"stop\""],
        ),
        (
            "whatever = [ ['nested'], 1 ]",
            &["left out: a.cfg:2: whatever = [ ['nested'], 1 ]: it has no"],
        ),
        (
            "",
            &[
                "# memory = ",
                "# kernel = ",
                "# boot = \"raw\"   # fill in: if the kernel is no Linux",
            ],
        ),
    ] {
        assert_has(&of(text), parts);
    }
}

#[test]
fn mistakes_name_place_expectation_and_help() {
    for (text, parts) in [
        ("memory 64", &["expected `=`, found `6`", "a.cfg:2:8", "write `KEY = VALUE`"][..]),
        ("Memory = 64", &["expected a key such as `memory`, found `M`", "a.cfg:2:1", "lower case"]),
        ("memory = ", &["expected a value, found the end of the line", "a.cfg:2:10"]),
        ("memory = 64 MiB", &["expected the end of the line, found `M`", "a.cfg:2:13"]),
        (
            "memory = 'x'",
            &["expected a number from 1 to 16777216", "a.cfg:2:10", "write memory = NUMBER"],
        ),
        ("memory = [1]", &["expected one value, no list", "a.cfg:2:10"]),
        (
            "kernel = 'x",
            &["expected `'`, found the end of the line", "a.cfg:2:12", "ends on its line"],
        ),
        ("kernel = '\\q'", &["expected a character after `\\`, found `q`"]),
        ("vif = [ 'a' 'b' ]", &["expected `,` or `]`, found `'`", "a.cfg:2:13"]),
        ("vif = [ 'a',", &["expected a value, found the end of the line"]),
        ("vcpus = 0", &["expected a number from 1 to 64"]),
        ("cpus = '3-1'", &["expected a set of numbers", "ranges and exceptions"]),
        ("cpus = '1,^1'", &["expected a set of numbers"]),
        ("llc_colors = ['a']", &["expected a set of numbers", "a.cfg:2:15"]),
        ("iomem = ['9040']", &["expected a range of frames", "a.cfg:2:10", "hexadecimal"]),
        ("iomem = ['ffffffffffffffff,1']", &["expected a range of frames"]),
        ("irqs = [ 2000 ]", &["expected a number from 0 to 1019"]),
        ("on_crash = 'reboot'", &["expected destroy, restart", "a.cfg:2:12", "use one of these"]),
    ] {
        assert_has(&of(text), parts);
    }
    // All of them at once.
    assert_has(&of("vcpus = 0\nmemory = 0\n]"), &["a.cfg:4:1"]);
    assert_has(&of("vcpus = 0\nmemory = 0"), &["a.cfg:2:9", "a.cfg:3:10"]);
    let files = |texts: &[&str]| -> String {
        let sources: Vec<_> =
            texts.iter().enumerate().map(|(it, text)| source(&format!("{it}.cfg"), text)).collect();
        xl(&sources, &[]).unwrap_err().to_string()
    };
    assert_has(&files(&["memory = 1"]), &["the domain has no `name`", "0.cfg:1:1", "add name"]);
    let twice = ["name = 'a'", "name = 'a'"];
    assert_has(&files(&twice), &["two VMs are called `a`", "1.cfg:1:1", "0.cfg:1:1"]);
}

#[test]
fn mistakes_in_scripts_are_found() {
    let domain = [source("a.cfg", "name = 'a'\nvcpus = 2")];
    for (script, parts) in [
        ("xl list", &["the script has no `xl sched-rtds`", "s.sh:1:1"][..]),
        ("\nxl sched-rtds -p 1000", &["expected a domain: `-d NAME`", "s.sh:2:1"]),
        ("xl sched-rtds -d a -p x", &["expected a number after `-p`"]),
        ("xl sched-rtds -d a -x 1", &["expected one of the options -d"]),
        (
            "xl sched-rtds -d b -p 10 -b 5",
            &["the name of one of the domains", "give the file of `b`"],
        ),
        ("xl sched-rtds -d a -v 2 -p 10", &["the number of one of its VCPUs", "`a` has 2 VCPUs"]),
    ] {
        assert_has(&xl(&domain, &[source("s.sh", script)]).unwrap_err().to_string(), parts);
    }
    let script = "xl sched-rtds -d 'a' -v 0 -p 10000 -b 4000 -v 1 -p 20000 -b 1000 -e 0";
    let text = xl(&domain, &[source("s.sh", script)]).expect("it is right").text;
    assert_has(
        &text,
        &["budget = \"4ms\"\nperiod = \"10ms\"", "budget = \"1ms\"\nperiod = \"20ms\""],
    );
}
