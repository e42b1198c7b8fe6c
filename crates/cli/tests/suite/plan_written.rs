//! Where `bulkhead plan` writes, and what it leaves as it is.

use std::fs;
use std::os::unix::fs::{FileTypeExt, symlink};
use std::process::Command;

use testing::sandbox;

const GIVEN: &str = "platform = \"qemu-virt\"\n[[vm]]\nname = \"a\"\nboot = \"raw\"\nmemory = \"16MiB\"\n\
                     kernel = \"rt.bin\"\n";

#[test]
fn links_devices_and_pipes_stay_what_they_are() {
    let sandbox = sandbox!();
    sandbox.write("s.toml", GIVEN);
    let plan = |output: &str| {
        let result = sandbox.bulkhead(&["plan", "s.toml", "-o", output]);
        result.assert_status(0);
        assert!(result.stdout.starts_with(&format!("wrote {output}\n")), "{}", result.stdout);
    };
    // What a link leads to may be there or not.
    let read = |name: &str| fs::read_to_string(sandbox.path(name)).expect("a file");
    symlink("real.dts", sandbox.path("link.dts")).expect("a link");
    plan("link.dts");
    assert!(sandbox.path("link.dts").is_symlink());
    assert!(read("real.dts").starts_with("/dts-v1/;"));
    // The device would be replaced behind this link, were it replaced.
    symlink("/dev/null", sandbox.path("null")).expect("a link");
    plan("null");
    assert!(sandbox.path("null").is_symlink());
    assert!(fs::metadata("/dev/null").expect("a device").file_type().is_char_device());
    let pipe = sandbox.path("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().expect("mkfifo").success());
    let reader = std::thread::spawn({
        let pipe = pipe.clone();
        move || fs::read_to_string(pipe).expect("text")
    });
    plan("pipe");
    assert_eq!(reader.join().expect("a reader"), read("real.dts"));
    assert!(fs::metadata(pipe).expect("a pipe").file_type().is_fifo());
}

/// Whether there is a plan is not known then: the search comes after.
#[test]
fn a_file_that_cannot_be_written_is_refused_before_the_search() {
    let sandbox = sandbox!();
    let late = "platform = \"i7-2600\"\n[[vm]]\nname = \"a\"\nboot = \"raw\"\n\
                memory = \"16MiB\"\nkernel = \"rt.bin\"\n[[vm.vcpu]]\nserver = \"sporadic\"\n\
                [[vm.task]]\nname = \"t\"\nperiod = \"5ms\"\nwcet = \"6ms\"\n";
    sandbox.write("s.toml", late);
    sandbox.bulkhead(&["plan", "s.toml"]).assert_no_plan(&["task `t`"]);
    let refused = sandbox.bulkhead(&["plan", "s.toml", "-o", "s.plan.dts"]);
    refused.assert_refused(&["s.plan.dts cannot be a plan", "name a file that ends in .toml"]);
    let refused = sandbox.bulkhead(&["plan", "s.toml", "-o", "s.toml"]);
    refused.assert_refused(&["s.toml is the description", "name another file"]);
}

#[test]
fn a_folder_is_no_file() {
    let sandbox = sandbox!();
    sandbox.write("s.toml", GIVEN);
    fs::create_dir(sandbox.path("folder")).expect("a folder");
    for output in [".", "folder", "new/"] {
        let result = sandbox.bulkhead(&["plan", "s.toml", "-o", output]);
        let message = format!("cannot write {output}: this is a folder");
        result.assert_refused(&[&message, "help: name a file in it"]);
    }
}

/// A virtual cache of one colour or more is possible or not, whatever the planner chooses.
#[test]
fn planned_colours_of_a_virtual_cache_are_written_where_there_can_be_one() {
    let open = |board: &str| {
        format!(
            "platform = \"{board}\"\n[[vm]]\nname = \"a\"\nboot = \"raw\"\nmemory = \"16MiB\"\n\
             kernel = \"rt.bin\"\ncolors = \"planned\"\nvllc = true\n[[vm.vcpu]]\n\
             server = \"deferrable\"\nperiod = \"5ms\"\n[[vm.task]]\nname = \"t\"\n\
             period = \"10ms\"\nwcet = {{ 1 = \"7ms\", 2 = \"5ms\", 8 = \"2ms\" }}\n"
        )
    };
    let sandbox = sandbox!();
    for board in ["i7-2600", "exynos-5422"] {
        sandbox.write("s.toml", &open(board));
        sandbox.bulkhead(&["plan", "s.toml"]).assert_status(0);
        sandbox.bulkhead(&["check", "s.planned.toml"]).assert_status(0);
    }
    let message = "a virtual cache needs colours that change with each page";
    for colors in ["planned", "0"] {
        sandbox.write("s.toml", &open("raspberry-pi-2").replace("planned", colors));
        let result = sandbox.bulkhead(&["plan", "s.toml", "-o", "no.toml"]);
        result.assert_refused(&[message, "s.toml:7:10"]);
    }
}

/// Of two VCPUs with the same period the second has to go first: all that is shown and written says so.
#[test]
fn a_decided_order_of_vcpus_is_shown_and_written() {
    let sandbox = sandbox!();
    let open = |board: &str| {
        let vm = |name: &str, task: &str| {
            format!(
                "[[vm]]\nname = \"{name}\"\nboot = \"raw\"\nmemory = \"16MiB\"\nkernel = \"rt.bin\"\n\
                 [[vm.vcpu]]\nserver = \"periodic\"\nperiod = \"10ms\"\npcpu = 1\n[[vm.task]]\nname = \"t\"\n{task}\n"
            )
        };
        let work = vm("work", "period = \"100ms\"\nwcet = \"30ms\"");
        let stop = vm("stop", "period = \"20ms\"\ndeadline = \"5ms\"\nwcet = \"0.5ms\"");
        format!("platform = \"{board}\"\n{work}{stop}")
    };
    sandbox.write("s.toml", &open("zcu102"));
    let shown = sandbox.bulkhead(&["plan", "s.toml", "-o", "s.dts", "--explain"]);
    shown.assert_status(0);
    let rows: Vec<Vec<&str>> =
        shown.stdout.lines().map(|line| line.split_whitespace().collect()).collect();
    let priority = |vm: &str| {
        let heading = rows.iter().find(|row| row.contains(&"priority")).expect(&shown.stdout);
        assert_eq!(heading[6], "priority");
        // Budget and period have their units.
        rows.iter()
            .find(|row| row.len() > 8 && row[1] == vm && row[3] == "periodic")
            .map(|row| row[8])
    };
    assert_eq!((priority("stop"), priority("work")), (Some("2"), Some("1")), "{}", shown.stdout);
    assert!(shown.stdout.contains("the order of VCPUs on PCPU 1"), "{}", shown.stdout);
    sandbox.bulkhead(&["check", "s.toml"]).assert_status(0);
    let again = sandbox.bulkhead(&[
        "plan",
        "s.toml",
        "-o",
        "again.dts",
        "--from",
        "s.dts",
        "--changes",
        "0",
    ]);
    again.assert_status(0);
    let read = |name: &str| fs::read_to_string(sandbox.path(name)).expect("a file");
    assert_eq!(read("s.dts"), read("again.dts"));

    // A machine that is only analysed: the description is written.
    sandbox.write("a.toml", &open("i7-2600"));
    sandbox.bulkhead(&["plan", "a.toml", "-o", "decided.toml"]).assert_status(0);
    let decided = read("decided.toml");
    let places: Vec<_> = ["priority = 1", "priority = 2"].map(|key| decided.find(key)).into();
    assert!(places[0].is_some() && places[0] < places[1], "{decided}");
    sandbox.bulkhead(&["check", "decided.toml"]).assert_status(0);
}
