//! `bulkhead import`; what it takes out of the files is tested in `crates/devicetree` and `crates/import`.

use std::fs;
use std::io::Write;

use testing::sandbox;

#[test]
fn what_is_no_device_tree_is_refused() {
    let sandbox = sandbox!();
    sandbox.write("text.dtb", "/dts-v1/;\n/ { };\n");
    let parts = ["text.dtb: this is not a flattened device tree", "help: Linux has the one"];
    sandbox.bulkhead(&["import", "dtb", "text.dtb", "-o", "new.toml"]).assert_refused(&parts);
    assert!(!sandbox.path("new.toml").exists(), "nothing is written");
    sandbox.bulkhead(&["import", "dtb", "nowhere"]).assert_refused(&["cannot read nowhere"]);
    sandbox.bulkhead(&["import", "dtb", "."]).assert_refused(&["cannot read ."]);
    sandbox.bulkhead(&["import", "dts", "text.dtb"]).assert_refused(&["dts", "dtb"]);

    // The source of a tree is not compiled.
    sandbox.bulkhead(&["plan", "test.dts", "-o", "plan.dts"]).assert_status(0);
    let parts = ["plan.dts: this is not a flattened"];
    sandbox.bulkhead(&["import", "dtb", "plan.dts"]).assert_refused(&parts);
}

/// A tree with a UART that the hypervisor does not drive.
const TREE: &str = r#"/dts-v1/;
/ {
	#address-cells = <1>;
	#size-cells = <1>;
	cpus {
		#address-cells = <1>;
		#size-cells = <0>;
		cpu@0 { device_type = "cpu"; compatible = "arm,cortex-a53"; reg = <0>; };
	};
	memory@80000000 { device_type = "memory"; reg = <0x80000000 0x40000000>; };
	serial@1000 { compatible = "ns16550a"; reg = <0x1000 0x1000>; };
};
"#;

/// Compiles [`TREE`].
fn compile(sandbox: &testing::Sandbox, to: &str) {
    sandbox.write("board.dts", TREE);
    let mut dtc = std::process::Command::new("dtc");
    dtc.args(["-q", "-O", "dtb", "-o"]).args([sandbox.path(to), sandbox.path("board.dts")]);
    assert!(dtc.status().expect("dtc starts").success());
}

#[test]
fn what_has_no_place_in_a_platform_file_is_listed() {
    let sandbox = sandbox!();
    compile(&sandbox, "board.dtb");
    let result = sandbox.bulkhead(&["import", "dtb", "board.dtb", "-o", "board.toml"]);
    result.assert_status(0);
    let uart = "serial@1000 (ns16550a): start = 0x1000, size = \"4KiB\"";
    assert!(result.stdout.contains(&format!("\nleft out:\n  {uart}: ")), "{}", result.stdout);
    let json = sandbox.bulkhead(&["import", "dtb", "board.dtb", "--json"]).json();
    assert_eq!(json["left_out"][0]["what"], uart);
}

/// The files of `crates/import/tests/files`.
macro_rules! file {
    ($name:literal) => {
        include_str!(concat!("../../../import/tests/files/", $name))
    };
}

/// Fills in marks: the values of these keys, in TOML. Other marks stay.
fn filled(text: &str, answers: &[(&str, &str)]) -> String {
    let fill = |line: &str| {
        let key = line
            .strip_prefix("# ")
            .filter(|it| it.contains("   # fill in: "))?
            .split_once(" = ")?
            .0;
        answers.iter().find(|it| it.0 == key).map(|(key, value)| format!("{key} = {value}\n"))
    };
    text.lines().map(|line| fill(line).unwrap_or_else(|| format!("{line}\n"))).collect()
}

#[test]
fn domains_of_xen_pass_the_check_once_their_marks_are_filled() {
    let sandbox = sandbox!();
    sandbox.write("driver.cfg", &file!("driver.cfg").replace("/boot/", ""));
    sandbox.write("control.cfg", file!("control.cfg"));
    sandbox.write("start.sh", file!("start.sh"));
    for name in ["Image", "rootfs.cpio", "zephyr.bin"] {
        sandbox.write(name, "");
    }
    let import = ["import", "xl", "driver.cfg", "control.cfg", "--rtds", "start.sh"];
    let result = sandbox.bulkhead(&[&import[..], &["-o", "system.toml"]].concat());
    result.assert_status(0);
    for part in [
        "wrote system.toml",
        "VM `domd`: compatible: ",
        "driver.cfg:22: disk = ",
        "start.sh:4: xl sched-rtds",
    ] {
        assert!(result.stdout.contains(part), "`{part}` is not in: {}", result.stdout);
    }
    let text = fs::read_to_string(sandbox.path("system.toml")).expect("it is written");
    let json = sandbox.bulkhead(&[&import[..], &["--json"]].concat()).json();
    assert_eq!(json["description_toml"], text.as_str());
    assert_eq!(
        (&json["left_out"][0]["file"], &json["left_out"][0]["line"]),
        (&"driver.cfg".into(), &11.into())
    );
    assert_eq!(sandbox.bulkhead(&import).stdout, text);

    sandbox.bulkhead(&["check", "system.toml"]).assert_refused(&[
        "the top level has no `platform`",
        "`[[vm.device]]` has no `compatible`",
    ]);
    let answers =
        [("platform", "\"qemu-virt\""), ("compatible", "\"vendor,device\""), ("boot", "\"raw\"")];
    sandbox.write("system.toml", &filled(&text, &answers));
    sandbox.bulkhead(&["check", "system.toml"]).assert_status(0);
}

#[test]
fn cells_of_jailhouse_pass_the_check_once_their_marks_are_filled() {
    let sandbox = sandbox!();
    sandbox.write("linux-cell.c", file!("linux-cell.c"));
    sandbox.write("inmate-cell.c", file!("inmate-cell.c"));
    sandbox.write("kernel", "");
    let import = ["import", "jailhouse", "linux-cell.c", "inmate-cell.c", "-o", "system.toml"];
    let result = sandbox.bulkhead(&import);
    result.assert_status(0);
    assert!(
        result.stdout.contains("linux-cell.c:77: #ifdef CONFIG_CELL_EMMC"),
        "{}",
        result.stdout
    );
    sandbox.bulkhead(&["check", "system.toml"]).assert_refused(&["`[[vm]]` has no `kernel`"]);
    let text = fs::read_to_string(sandbox.path("system.toml")).expect("it is written");
    let answers = [
        ("platform", "\"qemu-virt\""),
        ("compatible", "\"vendor,device\""),
        ("kernel", "\"kernel\""),
        ("memory", "\"4MiB\""),
        ("pcpu", "3"),
    ];
    sandbox.write("system.toml", &filled(&text, &answers));
    sandbox.bulkhead(&["check", "system.toml"]).assert_status(0);
}

/// What `export` writes for another system comes back from there.
#[test]
fn plans_come_back_from_xen_and_jailhouse() {
    const SYSTEM: &str = r#"
platform = "qemu-virt"

[[vm]]
name = "a"
boot = "raw"
memory = "4MiB"
kernel = "a.bin"
colors = "2-5"
on_crash = "restart"
vcpu = [{ pcpu = 1, server = "deferrable", budget = "2ms", period = "8ms" }, { pcpu = 2 }]

[[vm]]
name = "b"
boot = "raw"
memory = "8MiB"
kernel = "b.bin"
colors = "6"
vcpu = [{ pcpu = 3 }]
"#;
    let sandbox = sandbox!();
    for name in ["a.bin", "b.bin"] {
        sandbox.write(name, "");
    }
    let again = |import: &[&str], answers: &[(&str, &str)]| {
        let _ = fs::remove_file(sandbox.path("again.toml"));
        sandbox.bulkhead(&[import, &["-o", "again.toml"]].concat()).assert_status(0);
        let text = fs::read_to_string(sandbox.path("again.toml")).expect("it is written");
        let text = filled(&text, answers).replace("../", "");
        sandbox.write("again.toml", &text);
        let result = sandbox.bulkhead(&["diff", "system.toml", "again.toml", "--json"]);
        (result.json()["differences"].clone(), text)
    };
    sandbox.write("system.toml", SYSTEM);
    sandbox.bulkhead(&["export", "system.toml", "--to", "xen"]).assert_status(0);
    let xl =
        ["import", "xl", "system.xen/a.cfg", "system.xen/b.cfg", "--rtds", "system.xen/start.sh"];
    let (differences, text) = again(&xl, &[("platform", "\"qemu-virt\""), ("boot", "\"raw\"")]);
    // RTDS has no VCPU without a server: it has all of its period.
    let of: Vec<&str> =
        differences.as_array().expect("a list").iter().filter_map(|it| it["of"].as_str()).collect();
    assert!(
        !of.is_empty() && of.iter().all(|it| ["VCPU a.1", "VCPU b.0"].contains(it)),
        "{differences}\n{text}"
    );

    let alone = SYSTEM
        .replace(", server = \"deferrable\", budget = \"2ms\", period = \"8ms\"", "")
        .replace("on_crash = \"restart\"\n", "");
    sandbox.write("system.toml", &alone);
    sandbox.bulkhead(&["export", "system.toml", "--to", "jailhouse"]).assert_status(0);
    let jailhouse = ["import", "jailhouse", "system.jailhouse/a.c", "system.jailhouse/b.c"];
    let answers = [("platform", "\"qemu-virt\""), ("boot", "\"raw\""), ("kernel", "\"a.bin\"")];
    // The kernel of both.
    sandbox.write("system.toml", &alone.replace("b.bin", "a.bin"));
    let (differences, text) = again(&jailhouse, &answers);
    assert_eq!(differences.as_array().map(Vec::len), Some(0), "{differences}\n{text}");
}

#[test]
fn mistakes_in_files_of_other_systems_have_their_place() {
    let sandbox = sandbox!();
    sandbox.write("a.cfg", "name = 'a'\nmemory = 'much'\n");
    let parts = [
        "error[wrong-value]: expected a number from 1 to",
        "a.cfg:2:10",
        "help: write memory = NUMBER",
    ];
    sandbox.bulkhead(&["import", "xl", "a.cfg", "-o", "new.toml"]).assert_refused(&parts);
    assert!(!sandbox.path("new.toml").exists(), "nothing is written");
    sandbox.bulkhead(&["import", "xl", "nowhere.cfg"]).assert_refused(&["cannot read nowhere.cfg"]);
    sandbox.write("a.c", "struct { int cpus[1]; } config = {\n\t.cpus = { CPUS },\n");
    let parts = ["error[c-syntax]: expected", "a.c:2:18"];
    sandbox.bulkhead(&["import", "jailhouse", "a.c"]).assert_refused(&parts);
}

/// Returns the answer of the command to these bytes on its standard input.
fn given(sandbox: &testing::Sandbox, arguments: &[&str], input: &[u8]) -> testing::Result {
    let mut command = sandbox.command(arguments);
    let mut child = command.stdin(std::process::Stdio::piped()).spawn().expect("it starts");
    // One that refuses its arguments reads nothing.
    let _ = child.stdin.take().expect("a pipe").write_all(input);
    testing::Result::of(child.wait_with_output().expect("it ends"))
}

#[test]
fn imports_read_the_standard_input() {
    let sandbox = sandbox!();
    compile(&sandbox, "board.dtb");
    sandbox.write("a.cfg", file!("control.cfg"));
    sandbox.write("a.c", file!("inmate-cell.c"));
    for (kind, file) in [("dtb", "board.dtb"), ("xl", "a.cfg"), ("jailhouse", "a.c")] {
        let bytes = fs::read(sandbox.path(file)).expect("a file");
        let from_file = sandbox.bulkhead(&["import", kind, file]);
        from_file.assert_status(0);
        let piped = given(&sandbox, &["import", kind, "-"], &bytes);
        assert_eq!(piped.stdout.replace("<stdin>", file), from_file.stdout, "{}", piped.stderr);
        let refused = given(&sandbox, &["import", kind, "-", "-o", "new.toml"], b"\x00(");
        refused.assert_refused(&["<stdin>"]);
    }
    let twice = given(&sandbox, &["import", "xl", "-", "--rtds", "-"], b"");
    twice.assert_refused(&["the standard input (`-`) is named twice", "help:"]);
}

#[test]
fn imports_replace_no_file_that_was_completed() {
    let sandbox = sandbox!();
    compile(&sandbox, "board.dtb");
    sandbox.write("a.cfg", file!("control.cfg"));
    sandbox.write("a.c", file!("inmate-cell.c"));
    for (kind, file) in [("dtb", "board.dtb"), ("xl", "a.cfg"), ("jailhouse", "a.c")] {
        let import = ["import", kind, file, "-o", "new.toml"];
        sandbox.bulkhead(&import).assert_status(0);
        sandbox.bulkhead(&import).assert_status(0);
        let text = fs::read_to_string(sandbox.path("new.toml")).expect("it is written");
        let completed = format!("{text}# completed\n");
        sandbox.write("new.toml", &completed);
        let refused = ["new.toml is there already, and nothing is replaced", "help: name another"];
        sandbox.bulkhead(&import).assert_refused(&refused);
        assert_eq!(fs::read_to_string(sandbox.path("new.toml")).expect("text"), completed);
        sandbox.bulkhead(&["import", kind, file, "-o", "/dev/null"]).assert_status(0);
        fs::remove_file(sandbox.path("new.toml")).expect("removed");
    }
}

#[test]
fn imports_do_not_replace_what_they_read() {
    let sandbox = sandbox!();
    for (file, options) in [
        ("a.cfg", vec!["xl", "a.cfg"]),
        ("start.sh", vec!["xl", "a.cfg", "--rtds", "start.sh"]),
        ("a.c", vec!["jailhouse", "a.c"]),
        ("a.dtb", vec!["dtb", "a.dtb"]),
    ] {
        for name in ["a.cfg", "start.sh", "a.c", "a.dtb"] {
            sandbox.write(name, name);
        }
        let words = [vec!["import"], options, vec!["-o", file]].concat();
        let refused = format!("{file} is a file that is read here");
        sandbox.bulkhead(&words).assert_refused(&[&refused, "another file"]);
        assert_eq!(fs::read_to_string(sandbox.path(file)).expect("a file"), file);
    }
}
