//! A key with a typo is reported once: what is missing or has no meaning because of it is not.

use crate::mistakes::read;

/// Keys on which others depend, and these.
const RIGHT: &str = r#"name = "s"
margin = "10%"
objective = "least-time"
locks = "vmpcp"
section_overhead = "50us"
[platform]
board = "qemu-virt"
color_reload = "100us"
hypervisor_memory = "96MiB"
[platform.bandwidth]
access_latency = "50ns"
[[resource]]
name = "bus"
vms = ["a", "b"]
[[resource]]
name = "own"
vm = "a"
[[chain]]
name = "way"
steps = ["a.t", "b.u"]
max_reaction = "90ms"
max_age = "90ms"
[[vm]]
name = "a"
boot = "raw"
memory = "16MiB"
kernel = "rt.bin"
colors = "0-3"
vllc = true
bandwidth = { accesses = 1000, period = "1ms" }
compensation = 4
flush = ["vcpu-switch", "task-switch"]
initrd = "disk"
initrd_load = 0x4080_0000
[[vm.vcpu]]
server = "deferrable"
period = "5ms"
budget = "2ms"
priority = 3
pcpu = 1
[[vm.task]]
name = "t"
period = "20ms"
wcet = "3ms"
accesses = 100
deadline = "19ms"
priority = 4
vcpu = 0
sections = [{ resource = "bus", after = "1ms", length = "100us" }]
[[vm.device]]
compatible = "arm,pl031"
address = 0x0901_0000
size = "4KiB"
interrupt = 34
guest_interrupt = 40
[[vm]]
name = "b"
boot = "raw"
memory = "16MiB"
kernel = "rt.bin"
colors = "4-7"
critical = true
extra_colors = "8-9"
extra_memory = "1MiB"
color_serial = true
[[vm.task]]
name = "u"
period = "20ms"
wcet = "3ms"
sections = [{ resource = "bus", after = "1ms", length = "100us" }]
"#;

#[test]
fn each_key_with_a_typo_is_one_mistake() {
    read(RIGHT).unwrap_or_else(|errors| panic!("{errors}"));
    let lines: Vec<&str> = RIGHT.lines().collect();
    for (at, line) in lines.iter().enumerate() {
        let Some((key, value)) = line.split_once(" = ") else { continue };
        // Without it nothing is compensated for, which is a mistake of another VM.
        if key == "critical" {
            continue;
        }
        let last = key.chars().last().expect("a letter");
        let wrong = format!("{key}{last} = {value}");
        let mut text = lines.clone();
        text[at] = &wrong;
        let errors = read(&text.join("\n")).map(|_| ()).expect_err(&wrong);
        let entries = errors.entries();
        assert_eq!(entries.len(), 1, "{wrong}: {errors}");
        assert_eq!((entries[0].code, entries[0].line), ("unknown-key", Some(at + 1)), "{errors}");
        assert_eq!(entries[0].help, Some(format!("did you mean `{key}`?")), "{errors}");
    }
}

/// Where names cannot be read, names that would be them are not unknown.
#[test]
fn a_header_with_a_typo_is_one_mistake() {
    let text = RIGHT.replace("[[resource]]", "[[resources]]");
    let shown = read(&text).map(|_| ()).expect_err("a typo").to_string();
    assert!(shown.contains("did you mean `resource`?"), "{shown}");
    assert_eq!(shown.matches("error[").count(), 1, "{shown}");
}
