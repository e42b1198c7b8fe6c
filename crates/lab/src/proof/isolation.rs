//! Makes the system without isolation.

use system::description::System;
use system::plan::Class;

/// Returns the system without isolation of its memory: without colours of VMs, tasks and
/// hypervisor, and without limits on memory accesses. All other properties stay, planned budgets
/// and PCPUs included. Under KVM VCPUs have priorities alone, as threads of Linux have without
/// Bulkhead. `None`: the system has no such isolation.
pub fn without(system: &System) -> Option<System> {
    let mut plain = system.clone();
    let under_kvm = system.platform.value.kvm;
    plain.hypervisor_colors = None;
    for vm in &mut plain.vms {
        // An area of colours is larger than the memory in it: its place means nothing without.
        if vm.colors.is_some() {
            vm.memory_at = None;
        }
        vm.colors = None;
        vm.colors_open = None;
        vm.share_colors = false;
        vm.vllc = false;
        vm.extra = None;
        vm.bandwidth = None;
        vm.compensation = None;
        for vcpu in &mut vm.vcpus {
            vcpu.bandwidth = None;
            if let Some(server) = vcpu.server.as_mut().filter(|_| under_kvm) {
                server.class.value = Class::Background;
                (server.period, server.overrun) = (None, None);
            }
        }
        for task in &mut vm.tasks {
            task.colors = None;
        }
    }
    (plain != *system).then_some(plain)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use system::plan;

    use super::*;

    const PLAIN: &str = "platform = \"qemu-virt\"\n[[vm]]\nname = \"a\"\nboot = \"raw\"\n\
        memory = \"1MiB\"\nkernel = \"k\"\n";

    fn read(text: &str) -> System {
        System::from_toml("s.toml", text, Path::new(".")).expect("a description")
    }

    #[test]
    fn under_kvm_servers_go_and_priorities_stay() {
        let vcpu =
            |server: &str| format!("vcpu = [{{ pcpu = 0, priority = 3, server = {server} }}]\n");
        let system =
            |vcpu: &str| read(&format!("{}{vcpu}", PLAIN.replace("qemu-virt", "linux-kvm")));
        let with = system(&vcpu("\"periodic\", budget = \"1ms\", period = \"10ms\""));
        let plain = without(&with).expect("something goes");
        let expected = system(&vcpu("\"background\""));
        assert_eq!(plan::outline(&plain).ok(), plan::outline(&expected).ok());
        assert_eq!(without(&expected), None);
        // The hypervisor keeps servers.
        let board = format!("{PLAIN}{}", vcpu("\"periodic\", budget = \"1ms\", period = \"10ms\""));
        assert_eq!(without(&read(&board)), None);
    }

    #[test]
    fn colors_and_limits_go_and_all_else_stays() {
        assert_eq!(without(&read(PLAIN)), None);
        for isolated in ["colors = \"0-3\"\n", "bandwidth = \"80MB/s\"\n"] {
            let system = read(&format!("{PLAIN}warm_up = true\n{isolated}"));
            let plain = without(&system).expect("something goes");
            let expected = read(&format!("{PLAIN}warm_up = true\n"));
            assert_eq!(plan::make(&plain).ok(), plan::make(&expected).ok());
        }
    }
}
