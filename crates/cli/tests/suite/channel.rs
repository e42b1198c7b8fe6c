//! Channels: what commands show of them, and where there are none.

use testing::sandbox;

const SYSTEM: &str = r#"
platform = "qemu-virt"

[[channel]]
name = "pose"
from = "a"
to = ["b"]

[[vm]]
name = "a"
boot = "raw"
memory = "1MiB"
kernel = "a.bin"

[[vm]]
name = "b"
boot = "raw"
memory = "1MiB"
kernel = "b.bin"
"#;

#[test]
fn plan_and_check_show_channels() {
    let sandbox = sandbox!();
    sandbox.write("talk.toml", SYSTEM);
    let result = sandbox.bulkhead(&["plan", "talk.toml"]);
    result.assert_status(0);
    let row = ["pose", "a", "b", "4", "KiB", "0x30000000", "-"];
    let shown = result.stdout.lines().any(|line| line.split_whitespace().eq(row));
    assert!(shown, "{}", result.stdout);
    let document = sandbox.bulkhead(&["check", "talk.toml", "--json"]).json();
    assert_eq!(document["vms"][0]["writes"][0], "pose");
    assert_eq!(document["vms"][1]["reads"][0], "pose");
    assert_eq!(document["vms"][0]["reads"].as_array().map(Vec::len), Some(0));
}

#[test]
fn plan_shows_how_often_a_writer_may_ring() {
    let sandbox = sandbox!();
    let text = SYSTEM.replace("to = [\"b\"]\n", "to = [\"b\"]\nring_every = \"500us\"\n");
    sandbox.write("talk.toml", &text);
    let shown = sandbox.bulkhead(&["plan", "talk.toml"]).stdout;
    assert!(shown.contains("one each 500 us, 500 us early"), "{shown}");
}

#[test]
fn exports_lose_channels_and_say_so() {
    let sandbox = sandbox!();
    sandbox.write("talk.toml", SYSTEM);
    for target in ["xen", "bao", "jailhouse"] {
        let result = sandbox.bulkhead(&["export", "talk.toml", "--to", target]);
        result.assert_status(0);
        assert!(result.stdout.contains("the channel `pose` between VMs"), "{}", result.stdout);
    }
}

#[test]
fn under_kvm_there_are_no_channels_yet() {
    let sandbox = sandbox!();
    sandbox.write("talk.toml", &SYSTEM.replace("qemu-virt", "linux-kvm"));
    let result = sandbox.bulkhead(&["run", "talk.toml", "--on", "kvm"]);
    result.assert_status(2);
    assert!(result.stderr.contains("under KVM there are no channels yet"), "{}", result.stderr);
    assert!(result.stderr.contains("name = \"pose\""), "{}", result.stderr);
}
