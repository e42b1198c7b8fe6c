//! What the command says about files: good ones and bad ones.

use testing::sandbox;

#[test]
fn help_shows_the_commands_and_an_example_each() {
    let sandbox = sandbox!();
    let help = sandbox.bulkhead(&["--help"]);
    help.assert_status(0);
    for command in ["check", "plan", "run"] {
        assert!(help.stdout.contains(&format!("\n  {command} ")), "{}", help.stdout);
        let of_command = sandbox.bulkhead(&[command, "--help"]);
        of_command.assert_status(0);
        let example = format!("\n  bulkhead {command} systems/demo.toml");
        assert!(of_command.stdout.contains(&example), "{}", of_command.stdout);
        assert!(of_command.stdout.contains("Example"), "{}", of_command.stdout);
    }
}

#[test]
fn plan_is_checked_and_shown() {
    let sandbox = sandbox!();
    let result = sandbox.bulkhead(&["check", "test.dts"]);
    result.assert_status(0);
    assert_eq!(
        result.stdout,
        "test.dts: sound\n\n\
         system `test` on qemu-virt: 4 PCPUs, hypervisor 96 MiB\n\n\
         VM     VCPUs  PCPUs   memory  devices  kernel\n\
         linux      2  0 1    128 MiB        1  linux.bin\n\
         rt         1  2      128 MiB        0  rt.bin\n\n\
         note: a plan has no tasks, and no deadline was checked: `bulkhead check` of its description does that\n"
    );
}

#[test]
fn check_as_json_has_stable_fields() {
    let sandbox = sandbox!();
    let document = sandbox.bulkhead(&["check", "test.dts", "--json"]).json();
    assert_eq!((&document["ok"], &document["deadlines_checked"]), (&true.into(), &false.into()));
    assert_eq!(document["vms"][0]["name"], "linux");
    assert_eq!(document["vms"][0]["pcpus"], serde_json::json!([0, 1]));
    assert_eq!(document["vms"][1]["memory_bytes"], 128 << 20);
    assert_eq!(document["errors"], serde_json::json!([]));
}

#[test]
fn extra_colors_and_those_of_the_hypervisor_are_shown() {
    let sandbox = sandbox!();
    let vm = |name: &str, colors: &str| {
        format!(
            "[[vm]]\nname = \"{name}\"\nboot = \"raw\"\nmemory = \"4MiB\"\nkernel = \"rt.bin\"\n{colors}\n"
        )
    };
    let extra =
        "colors = \"0-3\"\nextra_colors = \"8-11\"\nextra_memory = \"8MiB\"\ncolor_serial = true";
    let vms = [vm("a", extra), vm("b", "colors = \"4\"\nwarm_up = true")].concat();
    let platform = "[platform]\nboard = \"qemu-virt\"\nhypervisor_colors = \"15\"\n";
    sandbox.write("s.toml", &format!("{platform}{vms}"));
    let result = sandbox.bulkhead(&["check", "s.toml"]);
    result.assert_status(0);
    assert_eq!(
        result.stdout,
        "s.toml: ok\n\n\
         system `s` on qemu-virt: 4 PCPUs, hypervisor 96 MiB, in colours 15\n\n\
         VM  VCPUs  PCPUs  memory  colours  extra colours  devices  kernel\n\
         a       1  0       4 MiB  0-3      8-11 (8 MiB)         0  rt.bin\n\
         b       1  1       4 MiB  4        -                    0  rt.bin\n"
    );
    sandbox.write("shared.toml", &format!("platform = \"qemu-virt\"\n{vms}"));
    let note = "note: the hypervisor has no colours and can evict a few cache lines of all VMs";
    assert!(sandbox.bulkhead(&["check", "shared.toml"]).stdout.contains(note));

    let document = sandbox.bulkhead(&["check", "s.toml", "--json"]).json();
    assert_eq!(document["hypervisor_colors"], serde_json::json!([15]));
    assert_eq!(document["report"]["platform"]["hypervisor_colors"], serde_json::json!([15]));
    assert_eq!(document["report"]["platform"]["shared_cache"]["in_registers"], true);
    for vms in [&document["vms"], &document["report"]["vms"]] {
        assert_eq!(vms[0]["extra_colors"], serde_json::json!([8, 9, 10, 11]));
        assert_eq!(vms[0]["extra_memory_bytes"], 8 << 20);
        assert_eq!(vms[1]["extra_colors"], serde_json::json!(null));
        for (index, serial, warm_up) in [(0, true, false), (1, false, true)] {
            assert_eq!(vms[index]["color_serial"], serial);
            assert_eq!(vms[index]["warm_up"], warm_up);
        }
    }
}

#[test]
fn colors_are_shown_and_who_has_none() {
    let sandbox = sandbox!();
    let vm = |name: &str, colors: &str| {
        format!(
            "[[vm]]\nname = \"{name}\"\nboot = \"raw\"\nmemory = \"4MiB\"\nkernel = \"rt.bin\"\n{colors}\n"
        )
    };
    let vms = [vm("a", "colors = \"0-3,8\""), vm("b", ""), vm("c", "colors = \"15\"")].concat();
    sandbox.write("s.toml", &format!("platform = \"qemu-virt\"\n{vms}"));
    let result = sandbox.bulkhead(&["check", "s.toml"]);
    result.assert_status(0);
    assert!(
        result.stdout.ends_with(
            "VM  VCPUs  PCPUs  memory  colours  devices  kernel\n\
             a       1  0       4 MiB  0-3,8          0  rt.bin\n\
             b       1  1       4 MiB  all            0  rt.bin\n\
             c       1  2       4 MiB  15             0  rt.bin\n\n\
             note: VMs without colours can evict cache lines of all others: `b`\n"
        ),
        "{}",
        result.stdout
    );
    let document = sandbox.bulkhead(&["check", "s.toml", "--json"]).json();
    let expected = serde_json::json!([[0, 1, 2, 3, 8], null, [15]]);
    for vms in [&document["vms"], &document["report"]["vms"]] {
        let colors: Vec<_> = (0..3).map(|index| vms[index]["colors"].clone()).collect();
        assert_eq!(serde_json::json!(colors), expected);
    }
}

#[test]
fn mistakes_in_a_plan_are_shown_with_their_place() {
    let sandbox = sandbox!();
    let good = std::fs::read_to_string(sandbox.path("test.dts")).expect("a plan");
    sandbox.write("bad.dts", &good.replacen("restart-limit", "restart-limits", 1));
    let line = 1 + good.lines().position(|line| line.contains("restart-limit")).expect("a line");
    let result = sandbox.bulkhead(&["check", "bad.dts"]);
    result.assert_refused(&["restart-limits", &format!("bad.dts:{line}:")]);
    assert!(!result.stderr.contains('\x1b'), "no colours without a terminal");

    let document = sandbox.bulkhead(&["--json", "check", "bad.dts"]);
    document.assert_status(2);
    let document = document.json();
    assert_eq!(document["ok"], false);
    let places: Vec<_> =
        document["errors"].as_array().expect("a list").iter().map(|error| &error["line"]).collect();
    assert!(places.contains(&&serde_json::json!(line)), "{document}");
}

#[test]
fn files_that_cannot_be_read_are_named() {
    let sandbox = sandbox!();
    sandbox.bulkhead(&["check", "no.toml"]).assert_refused(&["no.toml", "No such file"]);
    sandbox.bulkhead(&["run", "no.dts"]).assert_refused(&["no.dts", "No such file"]);
    sandbox.bulkhead(&["plan", "no-ending"]).assert_refused(&["no-ending", "No such file"]);
    std::fs::create_dir(sandbox.path("folder.toml")).expect("a folder");
    for command in ["check", "plan", "run"] {
        sandbox.bulkhead(&[command, "folder.toml"]).assert_refused(&["folder.toml", "irectory"]);
        sandbox.bulkhead(&[command, "."]).assert_refused(&["irectory"]);
        sandbox.bulkhead(&[command, "rt.bin"]).assert_refused(&[
            "rt.bin",
            "neither a description nor a plan",
            ".toml",
            ".dts",
        ]);
    }
    std::fs::write(sandbox.path("latin.dts"), b"/dts-v1/; // \xe9").expect("a file");
    sandbox.bulkhead(&["check", "latin.dts"]).assert_refused(&["latin.dts", "UTF-8"]);
    let document = sandbox.bulkhead(&["check", "no.toml", "--json"]).json();
    assert_eq!(document["ok"], false);
    assert!(document["errors"][0]["message"].as_str().expect("text").contains("no.toml"));
}

#[test]
fn check_reads_the_standard_input_and_others_say_that_they_do_not() {
    let sandbox = sandbox!();
    sandbox.write("test.toml", DESCRIPTION);
    let check = |file: &str| {
        let input = std::fs::File::open(sandbox.path(file)).expect("a file");
        let output = sandbox.command(&["check", "-"]).stdin(input).output();
        testing::Result::of(output.expect("the command starts"))
    };
    for file in ["test.toml", "test.dts"] {
        let named = sandbox.bulkhead(&["check", file]);
        let piped = check(file);
        piped.assert_status(0);
        let (_, named) = named.stdout.split_once('\n').expect("lines");
        assert_eq!(piped.stdout.split_once('\n').expect("lines").1, named);
    }
    sandbox.write("bad.toml", &DESCRIPTION.replace("boot =", "bot ="));
    check("bad.toml").assert_refused(&["<stdin>:13:1", "`bot`"]);
    std::fs::write(sandbox.path("latin.dts"), b"/dts-v1/; // \xe9").expect("a file");
    check("latin.dts").assert_refused(&["the standard input is not UTF-8"]);
    for command in ["plan", "run", "prove", "sim"] {
        sandbox
            .bulkhead(&[command, "-"])
            .assert_refused(&["needs a file", "only `check` and `diff`"]);
    }
}

#[test]
fn help_is_no_wider_than_a_page_or_the_terminal() {
    let sandbox = sandbox!();
    for (columns, most) in [("60", 60), ("500", 100)] {
        for command in ["check", "run", "prove", "measure"] {
            let help = sandbox.command(&[command, "--help"]).env("COLUMNS", columns).output();
            let help = testing::Result::of(help.expect("the command starts")).stdout;
            // Words are not broken.
            let lines = help.lines().map(str::trim_end).filter(|line| line.trim().contains(' '));
            let widest = lines.map(|line| line.chars().count()).max().expect("lines");
            assert!((40..=most).contains(&widest), "{command} in {columns}: {widest}\n{help}");
        }
    }
}

#[test]
fn command_line_mistakes_have_status_2() {
    let sandbox = sandbox!();
    for (arguments, part) in [
        (&["fly"][..], "fly"),
        (&["run"], "FILE"),
        (&["run", "test.dts", "--timeout", "60"], "unit is missing"),
        (&["run", "test.dts", "--timeout", "60parsec"], "unknown unit `parsec`"),
        (&["run", "test.dts", "--timeouts", "60s"], "--timeout"),
    ] {
        sandbox.bulkhead(arguments).assert_refused(&[part]);
    }
}

#[test]
fn plan_is_written_where_its_files_are_still_found() {
    let sandbox = sandbox!();
    let written = sandbox.bulkhead(&["plan", "test.dts", "-o", "deep/er/out.dts"]);
    written.assert_status(0);
    assert!(written.stdout.starts_with("wrote deep/er/out.dts\n"), "{}", written.stdout);
    let plan = std::fs::read_to_string(sandbox.path("deep/er/out.dts")).expect("a plan");
    assert!(plan.contains("file = \"../../linux.bin\";"), "{plan}");
    assert!(plan.contains("file = \"../../initrd.cpio\";"), "{plan}");
    let again = sandbox.bulkhead(&["plan", "test.dts", "-o", "deep/er/out.dts"]);
    assert!(again.stdout.starts_with("replaced deep/er/out.dts\n"), "{}", again.stdout);

    let shown = sandbox.bulkhead(&["plan", "test.dts", "-o", "-"]);
    assert_eq!(shown.stdout, std::fs::read_to_string(sandbox.path("test.dts")).expect("a plan"));
    let document = sandbox.bulkhead(&["plan", "test.dts", "-o", "-", "--json"]).json();
    assert_eq!(document["plan_dts"], shown.stdout);
    assert_eq!(document["plan_file"], serde_json::Value::Null);
}

#[test]
fn plan_is_not_made_out_of_a_plan_unasked() {
    let sandbox = sandbox!();
    sandbox.bulkhead(&["plan", "test.dts"]).assert_refused(&["is a plan already", "-o"]);
}

#[test]
fn output_that_cannot_be_written_leaves_nothing_behind() {
    let sandbox = sandbox!();
    std::fs::create_dir(sandbox.path("taken")).expect("a folder");
    let before = std::fs::read_dir(sandbox.path(".")).expect("a folder").count();
    sandbox
        .bulkhead(&["plan", "test.dts", "-o", "taken"])
        .assert_refused(&["cannot write taken: this is a folder", "name a file in it"]);
    sandbox
        .bulkhead(&["plan", "test.dts", "-o", "rt.bin/x.dts"])
        .assert_refused(&["cannot write rt.bin/x.dts"]);
    assert_eq!(std::fs::read_dir(sandbox.path(".")).expect("a folder").count(), before);
    // A folder in which nothing can be made says no name of a temporary file.
    for arguments in [
        &["sim", "test.toml", "--until", "1ms", "--trace", "/nowhere/a.trace"][..],
        &["plan", "test.dts", "-o", "/proc/x.dts"],
        &["run", "test.dts", "--hypervisor", "hypervisor.elf", "--trace", "/proc/x"],
    ] {
        sandbox.write("test.toml", DESCRIPTION);
        let result = sandbox.bulkhead(arguments);
        result.assert_refused(&["cannot write", "No such file or directory"]);
        assert!(!result.stderr.contains(".bulkhead-"), "{}", result.stderr);
    }
}

/// As of other programs: no answer is not the answer yes.
#[test]
fn a_reader_that_goes_away_gets_no_yes_and_no_complaint() {
    let sandbox = sandbox!();
    for arguments in [&["plan", "test.dts", "-o", "-"][..], &["check", "test.dts", "--json"]] {
        let mut child = sandbox.command(arguments).spawn().expect("the command starts");
        drop(child.stdout.take());
        let result = testing::Result::of(child.wait_with_output().expect("it ends"));
        assert_eq!((result.status, result.stderr.as_str()), (Some(141), ""));
    }
}

#[test]
fn of_many_mistakes_the_first_are_shown() {
    let sandbox = sandbox!();
    sandbox.write("many.toml", &"[[vm]]\n".repeat(300));
    let all = sandbox.bulkhead(&["check", "many.toml", "--json"]);
    let all = all.json()["errors"].as_array().expect("mistakes").len();
    let result = sandbox.bulkhead(&["check", "many.toml"]);
    result.assert_status(2);
    assert_eq!(result.stderr.matches("error[").count(), 100);
    let more = format!("error: {} more mistakes, which `--json` has\n", all - 100);
    assert!(result.stderr.ends_with(&more), "{}", result.stderr);
}

/// A description of the system whose files the folder has.
const DESCRIPTION: &str = r#"
name = "test"
platform = "qemu-virt"

[[vm]]
name = "linux"
memory = "128MiB"
kernel = "linux.bin"
initrd = "initrd.cpio"

[[vm]]
name = "rt"
boot = "raw"
memory = "16MiB"
kernel = "rt.bin"

[[vm.task]]
name = "control"
period = "5ms"
wcet = "1ms"
"#;

#[test]
fn description_is_checked_planned_and_its_plan_is_good() {
    let sandbox = sandbox!();
    sandbox.write("test.toml", DESCRIPTION);
    let checked = sandbox.bulkhead(&["check", "test.toml"]);
    checked.assert_status(0);
    assert!(checked.stdout.starts_with("test.toml: ok\n"), "{}", checked.stdout);
    let row: Vec<&str> = checked
        .stdout
        .lines()
        .find(|line| line.contains("control"))
        .expect("a row")
        .split_whitespace()
        .collect();
    assert_eq!(row[..3], ["rt", "0", "control"]);

    let planned = sandbox.bulkhead(&["plan", "test.toml"]);
    planned.assert_status(0);
    assert!(planned.stdout.starts_with("wrote test.plan.dts\n"), "{}", planned.stdout);
    sandbox.bulkhead(&["check", "test.plan.dts"]).assert_status(0);
}

#[test]
fn typos_and_wrong_units_in_a_description_are_all_reported() {
    let sandbox = sandbox!();
    sandbox
        .write("bad.toml", &DESCRIPTION.replace("\"5ms\"", "\"5MiB\"").replace("boot =", "bot ="));
    for command in ["check", "plan", "run"] {
        sandbox.bulkhead(&[command, "bad.toml"]).assert_refused(&[
            "bad.toml:13:1",
            "`bot`",
            "bad.toml:19:10",
            "MiB",
        ]);
    }
    assert!(!sandbox.path("bad.plan.dts").exists());
}

#[test]
fn files_that_are_not_built_yet_are_noted() {
    let sandbox = sandbox!();
    sandbox.write("test.toml", &DESCRIPTION.replace("rt.bin", "build/rt.bin"));
    let checked = sandbox.bulkhead(&["check", "test.toml"]);
    checked.assert_status(0);
    assert!(checked.stdout.contains("build/rt.bin does not exist yet"), "{}", checked.stdout);
    assert!(!checked.stdout.contains("`make build`"), "{}", checked.stdout);
    let document = sandbox.bulkhead(&["check", "test.toml", "--json"]).json();
    assert_eq!(document["missing_files"].as_array().expect("a list").len(), 1);

    // In a checkout, of the files that it makes.
    std::fs::create_dir_all(sandbox.path("guests/programs")).expect("a folder");
    sandbox.write("Makefile", "");
    sandbox.write("guests/programs/Cargo.toml", "[[bin]]\nname = \"rt-demo\"\n");
    for (file, is_made) in [("rt-demo.bin", true), ("rt-dmeo.bin", false)] {
        sandbox.write("test.toml", &DESCRIPTION.replace("rt.bin", &format!("build/guests/{file}")));
        let checked = sandbox.bulkhead(&["check", "test.toml"]).stdout;
        let note = format!("build/guests/{file} does not exist yet; ");
        assert!(checked.contains(&note), "{checked}");
        assert_eq!(checked.contains("`make build` makes it"), is_made, "{checked}");
    }
}

#[test]
fn memory_that_is_too_small_for_the_files_is_told_how_much_is_needed() {
    let sandbox = sandbox!();
    sandbox.write("test.toml", &DESCRIPTION.replace("\"128MiB\"", "\"32MiB\""));
    let mut image = std::fs::read(sandbox.path("linux.bin")).expect("an `Image`");
    image[16..24].copy_from_slice(&(20u64 << 20).to_le_bytes());
    std::fs::write(sandbox.path("linux.bin"), image).expect("written");
    let run = ["run", "test.toml", "--hypervisor", "hypervisor.elf"];
    for command in [&["check", "test.toml"][..], &run] {
        sandbox.bulkhead(command).assert_refused(&[
            "test.toml:7:10",
            "`memory` of VM `linux` is too small: its kernel takes 20 MiB",
            "write `memory = \"48MiB\"` or more",
        ]);
    }
}

#[test]
fn more_work_than_time_is_a_no() {
    let sandbox = sandbox!();
    sandbox.write(
        "test.toml",
        &DESCRIPTION.replace("\"1ms\"", "\"4999us\"").replace(
            "[[vm.task]]",
            "[[vm.task]]\nname = \"extra\"\nperiod = \"1s\"\nwcet = \"1ms\"\n\n[[vm.task]]",
        ),
    );
    let checked = sandbox.bulkhead(&["check", "test.toml"]);
    checked.assert_status(1);
    assert!(
        checked.stdout.contains("VCPU 0 of VM `rt` has more work than time"),
        "{}",
        checked.stdout
    );
    let document = sandbox.bulkhead(&["check", "test.toml", "--json"]);
    document.assert_status(1);
    assert_eq!(document.json()["ok"], false);
}

#[test]
fn machines_for_analysis_only_are_planned_into_a_copy_of_the_description() {
    let sandbox = sandbox!();
    sandbox.write("test.toml", &DESCRIPTION.replace("qemu-virt", "i7-2600"));
    let checked = sandbox.bulkhead(&["check", "test.toml"]);
    checked.assert_status(0);
    assert!(checked.stdout.contains("no plan"), "{}", checked.stdout);
    let planned = sandbox.bulkhead(&["plan", "test.toml"]);
    planned.assert_status(0);
    assert!(planned.stdout.contains("wrote test.planned.toml"), "{}", planned.stdout);
    let refused = sandbox.bulkhead(&["run", "test.toml", "--hypervisor", "hypervisor.elf"]);
    refused.assert_refused(&["i7-2600", "cannot be booted"]);
}
