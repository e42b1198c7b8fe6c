//! What the hypervisor understands of a plan is what the tools have written.

use hypervisor::plan as read;
use system::address::{Address, Region};
use system::plan::{Class, Locks, Memory, MemoryBudget, Plan, Vm};

/// Compares what both have; times are ticks of a nanosecond.
pub fn compare(plan: &Plan, read: &read::Plan<'_>) {
    assert_eq!(read.model, plan.name.as_bytes());
    assert_eq!(read.locks.ceilings, plan.locks == Locks::Vmpcp);
    let resources = read.locks.resources.iter().map(|it| (it.name, u32::from(it.vms)));
    let written = plan
        .resources
        .iter()
        .map(|it| (it.name.as_str(), it.vms.iter().fold(0, |vms, vm| vms | 1 << vm)));
    assert!(resources.eq(written));
    platform(plan, &read.platform);
    assert_eq!(read.vms.len(), plan.vms.len());
    for (written, read) in plan.vms.iter().zip(&read.vms) {
        vm(written, read);
    }
    channels(plan, read);
    serial_lines(plan, read);
    links(plan, read);
}

fn links(plan: &Plan, read: &read::Plan<'_>) {
    let names: Vec<_> = read.links.iter().map(|it| it.name).collect();
    assert_eq!(names, plan.links.iter().map(|it| it.name.as_str()).collect::<Vec<_>>());
    for (vm, read) in read.vms.iter().enumerate() {
        let written: Vec<_> = plan.links_of(vm).collect();
        assert_eq!(read.links.len(), written.len(), "VM {vm}");
        for ((written, side), read) in written.into_iter().zip(&read.links) {
            region(written.registers, read.registers);
            assert_eq!((read.side, read.interrupt), (side, written.interrupts[side].0));
            assert_eq!(read.peer.0, written.vms[1 - side] as usize);
            assert_eq!(read.macs, [written.macs[side].0, written.macs[1 - side].0]);
            let policy::channel::Parameters { tokens, period, burst } = read.limit;
            assert_eq!((tokens, period.0), (written.rate.0, 1_000_000_000), "in a second");
            assert_eq!(burst, written.burst.0);
            let tells = written.tells;
            let policy::channel::Parameters { tokens, period, burst } = read.tells;
            assert_eq!((tokens, period.0), (1, tells.interval.0));
            assert_eq!(burst, 1 + tells.early.0 / tells.interval.0);
        }
    }
}

fn serial_lines(plan: &Plan, read: &read::Plan<'_>) {
    assert_eq!(read.serial_lines, plan.serial_lines.len());
    for (vm, read) in read.vms.iter().enumerate() {
        let written: Vec<_> = plan.serial_lines_of(vm).collect();
        assert_eq!(read.serial_lines.len(), written.len(), "VM {vm}");
        for ((written, side), read) in written.into_iter().zip(&read.serial_lines) {
            region(written.registers, read.registers);
            assert_eq!((read.side, read.interrupt), (side, written.interrupts[side].0));
            assert_eq!(read.peer.0, written.vms[1 - side] as usize);
            let tells = written.tells;
            let [interval, rest] = read.limit.parts();
            assert_eq!(
                (interval as u64, (interval - rest) as u64),
                (tells.interval.0, tells.early.0)
            );
        }
    }
}

fn channels(plan: &Plan, read: &read::Plan<'_>) {
    assert_eq!(read.channels.len(), plan.channels.len());
    for (written, read) in plan.channels.iter().zip(&read.channels) {
        region(written.memory.ipa_region(), read.ram.guest);
        region(written.memory.host_region(), read.ram.host);
    }
    for (vm, read) in read.vms.iter().enumerate() {
        let written = plan
            .channels_of(vm)
            .into_iter()
            .map(|(_, it, writes)| (it.memory.ipa.0, it.memory.host.0, it.memory.size.0, writes));
        rings(plan, vm, read);
        let ends = read.channels.iter().map(|end| {
            (end.memory.guest.start, end.memory.host, end.memory.guest.bytes, end.writes)
        });
        assert!(ends.eq(written), "VM {vm}");
    }
}

/// For which channels a VM may ring, how often, and who is interrupted.
fn rings(plan: &Plan, vm: usize, read: &read::Vm<'_>) {
    assert_eq!(read.bell.map(|it| it.1), plan.vms[vm].bell.map(|it| it.interrupt.0));
    let written = plan.channels_of(vm).into_iter().map(|(index, it, writes)| {
        let rings = it.rings.filter(|_| writes)?;
        let readers = it.to.iter().fold(0u64, |readers, vm| readers | 1 << vm);
        Some((index, readers, rings.interval.0, rings.early.0))
    });
    let found = read.channels.iter().map(|end| {
        let ring = end.ring?;
        let [interval, rest] = ring.limit.parts();
        Some((ring.channel, ring.readers, interval as u64, (interval - rest) as u64))
    });
    assert!(found.eq(written), "VM {vm}");
}

fn region<A: Address>(written: Region<A>, read: read::Range) {
    assert_eq!((read.start, read.bytes), (written.start.get(), written.size.get()));
}

fn platform(plan: &Plan, read: &read::Platform<'_>) {
    let written = &plan.platform;
    assert_eq!(read.board, written.board.as_bytes());
    assert!(read.cpus.iter().copied().eq(written.cpus.iter().map(|mpidr| mpidr.0)));
    assert!(read.spin_table.iter().copied().eq(written.spin_table.iter().map(|it| it.0)));
    written.memory.iter().zip(&read.memory).for_each(|(written, read)| region(*written, *read));
    assert_eq!(written.memory.len(), read.memory.len());
    region(written.hypervisor, read.hypervisor);
    assert_eq!(
        read.own.map(|own| own.host.start),
        written.hypervisor_area.map(|it| it.region.start.0)
    );
    assert_eq!(read.power_off.map(|it| it.start), written.power_off.map(|it| it.registers.start.0));
    assert_eq!(read.gic.version(), written.gic.version());
    let frames = written.gic.frames();
    assert!(read.gic.frames(false).zip(&frames).all(|(read, it)| read.start == it.1.start.0));
    region(written.serial.registers, read.serial.registers);
    let serial = (written.serial.interrupt.0, written.serial.pcpu.0 as usize);
    assert_eq!((read.serial.interrupt, read.serial.pcpu), serial);
    let mask =
        (written.llc.map(|llc| llc.geometry.mask()), written.llc.map(|llc| llc.in_registers));
    assert_eq!((read.llc.map(|llc| llc.color_mask), read.llc.map(|llc| llc.in_registers)), mask);
    // Rounded up.
    let prices = [written.switch, written.kick].map(|price| price.map_or(0, |it| it.0 + 1));
    assert_eq!(read.prices, prices);
    let counter = written.bandwidth_counter.as_ref();
    assert_eq!(read.counter.is_some(), counter.is_some());
    if let (Some(read), Some(written)) = (&read.counter, counter) {
        assert_eq!(read.counts_memory(), written.source.counts_memory(), "{:?}", written.source);
        assert!(read.interrupts.iter().copied().eq(written.interrupts.iter().map(|it| it.0)));
    }
}

fn vm(written: &Vm, read: &read::Vm<'_>) {
    let lifecycle = written.lifecycle;
    assert_eq!(read.name, written.name);
    assert_eq!(read.restarts, lifecycle.restarts());
    assert_eq!((read.warm_up, read.aborts), (lifecycle.warm_up, lifecycle.aborts));
    assert_eq!((read.cache_share.is_some(), read.critical), (written.vllc, written.critical));
    assert_eq!(read.memory_budget.map(|it| budget(it.budget)), written.memory_budget.map(numbers));
    let compensation = read.memory_budget.and_then(|it| it.compensation);
    let compensation = compensation.map(|it| (it.periods, it.flush_task_switch));
    assert_eq!(compensation, written.compensation.map(|it| (it.periods, it.flush_task_switch)));
    assert_eq!(read.vcpus.len(), written.vcpus.len());
    for (written, read) in written.vcpus.iter().zip(&read.vcpus) {
        assert_eq!((read.pcpu, read.hold), (written.pcpu.0 as usize, written.hold.0));
        assert_eq!(read.memory.map(budget), written.memory_budget.map(numbers));
        let server = read.server.map(|it| (it.priority, it.is_background()));
        let background = |class| class == Class::Background;
        assert_eq!(server, written.server.map(|it| (it.priority, background(it.class))));
    }
    assert_eq!(read.memory.len(), written.memory.len());
    for (written, read) in written.memory.iter().zip(&read.memory) {
        region(written.ipa_region(), read.guest);
        region(written.host_region(), read.host);
        assert_eq!(read.colors, Memory::colors(written));
    }
    assert_eq!(read.serial.map(|it| it.1), written.serial.map(|it| it.interrupt.0));
    assert_eq!(read.color_serial.map(|it| it.1), written.color_serial.map(|it| it.interrupt.0));
    assert_eq!(read.coloring.map(|it| it.pool.pages()), written.pool.map(|it| it.frames.into()));
    assert_eq!(read.devices.len(), written.devices.len());
    for (written, read) in written.devices.iter().zip(&read.devices) {
        region(written.registers.ipa_region(), read.registers.guest);
        assert_eq!(read.registers.host, written.registers.host.0);
        let interrupts = written.interrupts.map(|it| (it.guest.0, it.host.0));
        assert!(read.interrupts.iter().copied().eq(interrupts));
    }
    assert_eq!(read.boot.entry, written.boot.entry.0);
    assert_eq!(read.boot.device_tree, written.boot.device_tree.map_or(0, |load| load.0));
    assert_eq!(read.boot.loads[0].address, written.boot.kernel.load.0);
}

fn budget(read: read::MemoryBudget) -> (u64, u64) {
    (read.accesses, read.period.0)
}

fn numbers(written: MemoryBudget) -> (u64, u64) {
    (written.accesses, written.period.0)
}
