//! The hypervisor's reader of plans: accepts the plan of the reference, refuses
//! what cannot hold, names node and property, and never panics.

mod extra_colors;
mod gic;
mod hypervisor_colors;
mod memory_budgets;
mod mistakes;
mod sections;
mod servers;
mod spin_table;
mod virtual_cache;

use std::process::Command;

use hypervisor::payload::BlobName;
use hypervisor::plan::{self, Plan, Refusal, Tree, Vcpu};
use proptest::prelude::*;

/// The plan in the reference, as text.
fn reference() -> String {
    let page = include_str!("../../../docs/reference/plan.md");
    let start = page.find("```dts\n").expect("the page has a plan") + "```dts\n".len();
    let end = start + page[start..].find("```").expect("the plan ends");
    page[start..end].to_owned()
}

/// Compiles with dtc: a reader of our own would hide errors that both share.
fn compile(source: &str) -> Vec<u8> {
    let folder = std::env::temp_dir().join(format!(
        "bulkhead-plan-{}-{:?}",
        std::process::id(),
        std::thread::current().id()
    ));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("plan.dts");
    std::fs::write(&path, source).unwrap();
    let output =
        Command::new("dtc").args(["-q", "-O", "dtb"]).arg(&path).output().expect("dtc runs");
    assert!(output.status.success(), "{}\n{source}", String::from_utf8_lossy(&output.stderr));
    std::fs::remove_dir_all(&folder).unwrap();
    output.stdout
}

fn blob_bytes(name: &BlobName<'_>) -> Option<u64> {
    match name.to_string().as_str() {
        "linux/kernel" => Some(30 << 20),
        "linux/initrd" => Some(1 << 20),
        "linux/device-tree" => Some(4096),
        _ => None,
    }
}

fn read(blob: &[u8]) -> Result<Plan<'_>, Refusal<'_>> {
    read_at(blob, 62_500_000)
}

/// On a machine whose counter makes so many ticks in a second.
fn read_at(blob: &[u8], frequency: u32) -> Result<Plan<'_>, Refusal<'_>> {
    plan::read(Tree::new(blob).expect("this is a device tree"), frequency)
}

fn load(blob: &[u8]) -> Result<Plan<'_>, Refusal<'_>> {
    let plan = read(blob)?;
    plan::check(&plan, &blob_bytes)?;
    Ok(plan)
}

#[test]
fn names_that_nothing_depends_on_need_not_be_ascii() {
    let named = reference().replacen("model = \"demo\"", "model = \"k\u{fc}che\"", 1);
    assert_eq!(load(&compile(&named)).unwrap().model, "k\u{fc}che".as_bytes());
    let named = reference().replacen("vm-name = \"linux\"", "vm-name = \"k\u{fc}che\"", 1);
    let blob = compile(&named);
    let error = load(&blob).unwrap_err().to_string();
    assert!(error.contains("vm-name: must be ASCII"), "{error}");
}

#[test]
fn the_plan_of_the_reference_is_accepted() {
    let blob = compile(&reference());
    let plan = load(&blob).unwrap();
    assert_eq!(plan.model, b"demo");
    assert_eq!(plan.platform.cpus, [0, 1, 2, 3]);
    let vm = &plan.vms[0];
    assert_eq!(vm.name, "linux");
    let alone = |pcpu| Vcpu { pcpu, server: None, memory: None, hold: 0, rate: None };
    assert_eq!(vm.vcpus, [alone(0), alone(1)]);
    assert_eq!(vm.memory[0].host.start, 0x4600_0000);
    assert_eq!(vm.devices[0].interrupts, [(34, 34)]);
    assert_eq!(vm.boot.device_tree, 0x47e0_0000);
}

#[test]
fn the_memory_of_the_hypervisor_is_found_without_reading_the_rest() {
    let blob = compile(&reference());
    let range = plan::hypervisor_memory(Tree::new(&blob).unwrap()).unwrap();
    assert_eq!((range.start, range.bytes), (0x4000_0000, 0x0600_0000));
}

#[test]
fn a_missing_blob_is_named() {
    let blob = compile(&reference());
    let plan = read(&blob).unwrap();
    let error = plan::check(&plan, &|_| None).unwrap_err();
    assert_eq!(
        error.to_string(),
        "plan: /vms/vm@0/boot/kernel: the image has no blob linux/kernel"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn damaged_trees_never_panic(flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8)) {
        static TREE: std::sync::OnceLock<Vec<u8>> = std::sync::OnceLock::new();
        let mut tree = TREE.get_or_init(|| compile(&reference())).clone();
        for (at, value) in flips {
            let at = at.index(tree.len());
            tree[at] = value;
        }
        if let Some(read) = Tree::new(&tree) {
            let _ = plan::hypervisor_memory(read);
            if let Err(error) = load(&tree) {
                prop_assert!(error.to_string().starts_with("plan: /"));
            }
        }
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        prop_assert!(Tree::new(&bytes).is_none());
    }
}
