//! The content of a system, in a few lines for people.

mod bandwidth;

use report::text::table;
use system::plan::{Channel, Link, Plan, Pool, SerialLine, Vm};
use system::report::Report;
use units::Duration;

/// A plan for people.
pub fn plan(plan: &Plan) -> String {
    format!("{}{}", vms_of(plan), servers(plan))
}

/// Returns the machine, the VMs of a plan, and the memory and devices that they may access, for people.
pub fn vms_of(plan: &Plan) -> String {
    let colored = plan.vms.iter().any(|vm| vm.colors().is_some());
    let extra = plan.vms.iter().any(|vm| vm.pool.is_some());
    let row = |vm: &Vm| {
        let pcpus: Vec<String> = vm.vcpus.iter().map(|vcpu| vcpu.pcpu.to_string()).collect();
        let mut row = vec![
            vm.name.clone(),
            vm.vcpus.len().to_string(),
            pcpus.join(" "),
            vm.memory_size().to_string(),
        ];
        row.extend(colored.then(|| vm.colors().map_or("all".into(), |set| set.to_string())));
        row.extend(extra.then(|| vm.pool.map_or("-".into(), pool)));
        row.extend([vm.devices.len().to_string(), vm.boot.kernel.file.clone()]);
        row
    };
    let rows: Vec<_> = plan.vms.iter().map(row).collect();
    let platform = &plan.platform;
    let mut heading = vec!["VM", ">VCPUs", "PCPUs", ">memory"];
    heading.extend(colored.then_some("colours"));
    heading.extend(extra.then_some("extra colours"));
    heading.extend([">devices", "kernel"]);
    let vms = table(&heading, &rows);
    let own = platform.hypervisor_area;
    let own = own.map_or(String::new(), |area| format!(", in colours {}", area.colors));
    let (channels, lines, budgets) = (channels(plan), serial_lines(plan), bandwidth::budgets(plan));
    let links = links(plan);
    format!(
        "system `{}` on {}: {} PCPUs, hypervisor {}{own}\n\n{vms}{channels}{lines}{links}{budgets}",
        plan.name,
        platform.board,
        platform.cpus.len(),
        platform.hypervisor.size,
    )
}

/// The channels between VMs, if there are some.
fn channels(plan: &Plan) -> String {
    let name = |vm: &u32| plan.vms.get(*vm as usize).map_or("?", |vm| vm.name.as_str());
    let row = |channel: &Channel| {
        let readers: Vec<&str> = channel.to.iter().map(name).collect();
        let (size, ipa) = (channel.memory.size.to_string(), channel.memory.ipa.to_string());
        let rings = channel.rings.map_or("-".into(), |it| it.to_string());
        vec![channel.name.clone(), name(&channel.from).into(), readers.join(" "), size, ipa, rings]
    };
    let rows: Vec<_> = plan.channels.iter().map(row).collect();
    match rows.is_empty() {
        true => String::new(),
        false => {
            let heads = ["channel", "from", "to", ">size", ">address", "rings"];
            format!("\n{}", table(&heads, &rows))
        }
    }
}

/// The serial lines between VMs, if there are some.
fn serial_lines(plan: &Plan) -> String {
    let name = |vm: u32| plan.vms.get(vm as usize).map_or("?", |vm| vm.name.as_str());
    let row = |line: &SerialLine| {
        let [one, other] = line.vms.map(name);
        let interrupts = line.interrupts.map(|it| it.to_string()).join(" ");
        let ipa = line.registers.start.to_string();
        vec![format!("{one} {other}"), ipa, interrupts, line.tells.to_string()]
    };
    let rows: Vec<_> = plan.serial_lines.iter().map(row).collect();
    match rows.is_empty() {
        true => String::new(),
        false => {
            let heads = ["serial line between", ">address", ">interrupts", "told"];
            format!("\n{}", table(&heads, &rows))
        }
    }
}

/// The links between VMs, if there are some.
fn links(plan: &Plan) -> String {
    let name = |vm: u32| plan.vms.get(vm as usize).map_or("?", |vm| vm.name.as_str());
    let row = |link: &Link| {
        let [one, other] = link.vms.map(name);
        let interrupts = link.interrupts.map(|it| it.to_string()).join(" ");
        let ipa = link.registers.start.to_string();
        let (rate, burst) = (link.rate.to_string(), link.burst.to_string());
        let tells = link.tells.to_string();
        vec![link.name.clone(), format!("{one} {other}"), ipa, interrupts, rate, burst, tells]
    };
    let rows: Vec<_> = plan.links.iter().map(row).collect();
    match rows.is_empty() {
        true => String::new(),
        false => {
            let heads =
                ["link", "between", ">address", ">interrupts", ">rate", ">burst", "interrupted"];
            format!("\n{}", table(&heads, &rows))
        }
    }
}

/// Returns how VCPUs share PCPUs, if some do: by PCPU, the highest priority first.
fn servers(plan: &Plan) -> String {
    let mut rows = Vec::new();
    for vm in &plan.vms {
        for (index, vcpu) in vm.vcpus.iter().enumerate() {
            let Some(server) = vcpu.server else { continue };
            let budget = server.class.budget();
            let time = |time: Option<Duration>| time.map_or("-".into(), |time| time.to_string());
            let row = vec![
                vcpu.pcpu.to_string(),
                vm.name.clone(),
                index.to_string(),
                server.class.as_str().into(),
                time(budget.map(|budget| budget.budget)),
                time(budget.map(|budget| budget.period)),
                server.priority.to_string(),
            ];
            rows.push(((vcpu.pcpu, vcpu.order()), row));
        }
    }
    if rows.is_empty() {
        return String::new();
    }
    rows.sort_by_key(|(order, _)| *order);
    let rows: Vec<_> = rows.into_iter().map(|(_, row)| row).collect();
    let heading = [">PCPU", "VM", ">VCPU", "server", ">budget", ">period", ">priority"];
    format!("\n{}", table(&heading, &rows))
}

/// The extra colours of a VM and the size of their pool.
fn pool(pool: Pool) -> String {
    format!("{} ({})", pool.area.colors, pool.size())
}

/// The machine if it cannot boot, and the tasks of a description, for people.
pub fn report(report: &Report) -> String {
    let mut text = String::new();
    if let Some(reason) = &report.platform.analysis_only {
        let (system, about) = (&report.system, &report.platform.about);
        text.push_str(&format!("\nsystem `{system}` on {about}: no plan, {reason}\n"));
    }
    let tasks = || report.vms.iter().flat_map(|vm| &vm.vcpus).flat_map(|vcpu| &vcpu.tasks);
    let counted = tasks().any(|task| task.accesses.is_some());
    let mut rows = Vec::new();
    for vm in &report.vms {
        for (index, vcpu) in vm.vcpus.iter().enumerate() {
            for task in &vcpu.tasks {
                let mut row = vec![
                    vm.name.clone(),
                    index.to_string(),
                    task.name.clone(),
                    Duration(task.period_ns).to_string(),
                    Duration(task.deadline_ns).to_string(),
                    Duration(task.wcet_ns).to_string(),
                ];
                let number = |number: Option<u64>| number.map_or("-".into(), |it| it.to_string());
                row.extend(counted.then(|| number(task.accesses)));
                row.push(number(task.priority));
                rows.push(row);
            }
        }
    }
    if !rows.is_empty() {
        let mut heading = vec!["VM", ">VCPU", "task", ">period", ">deadline", ">WCET"];
        heading.extend(counted.then_some(">accesses"));
        heading.push(">priority");
        text.push_str(&format!("\n{}", table(&heading, &rows)));
    }
    for vm in &report.vms {
        for (index, vcpu) in vm.vcpus.iter().enumerate().filter(|(_, vcpu)| vcpu.overloaded) {
            text.push_str(&format!(
                "\nVCPU {index} of VM `{}` has more work than time: {} % at best{}\n",
                vm.name,
                percent(vcpu.utilization_best_ppm),
                vcpu.budget_ppm.map_or(String::new(), |ppm| format!(" of {} %", percent(ppm)))
            ));
        }
    }
    text
}

fn percent(ppm: u64) -> String {
    format!("{}.{:04}", ppm / 10_000, ppm % 10_000)
}
