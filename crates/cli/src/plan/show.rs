//! The report of a plan for people.

use lab::amount::{percent, signed, time};
use planner::report::{Pcpu, Report, Task, Vcpu};
use policy::color::{Color, ColorSet};
use report::text::table;

/// Tasks, VCPUs, PCPUs, and the sum.
pub fn show(report: &Report) -> String {
    let mut text = String::new();
    if !report.tasks.is_empty() {
        text.push_str(&format!("\n{}", tasks(&report.tasks)));
    }
    let overruns = report.vcpus.iter().any(|vcpu| vcpu.overrun_ns > 0);
    let priorities = report.vcpus.iter().any(|vcpu| vcpu.priority.is_some());
    let mut heading = vec![">PCPU", "VM", ">VCPU", "server", ">budget", ">period"];
    heading.extend(priorities.then_some(">priority"));
    heading.extend(overruns.then_some(">overrun"));
    heading.extend([">supply", ">tasks need", ">waits up to"]);
    let rows = report.vcpus.iter().map(|it| vcpu(it, priorities, overruns));
    let vcpus = table(&heading, &rows.collect::<Vec<_>>());
    let pcpus = table(
        &[">PCPU", ">load", ">execution", ">cache", ">margin", ">without tasks", ">free"],
        &report.pcpus.iter().map(pcpu).collect::<Vec<_>>(),
    );
    let hundredths = report.total_ppm.div_ceil(10_000);
    let total = format!("{}.{:02}", hundredths / 100, hundredths % 100);
    text.push_str(&format!("\n{vcpus}\n{pcpus}\nall VCPUs together have {total} PCPUs\n"));
    if let Some(locks) = report.locks {
        text.push_str(&format!("critical sections follow {locks}\n"));
    }
    text
}

fn tasks(tasks: &[Task]) -> String {
    let in_guest = tasks.iter().any(|task| task.guest_colors.is_some());
    let colored = tasks.iter().any(|task| task.colors.is_some());
    let row = |task: &Task| {
        let mut row = vec![
            task.vm.clone(),
            task.vcpu.to_string(),
            task.task.clone(),
            time(task.wcet_ns),
            task.wcrt_ns.map_or("-".into(), time),
            time(task.deadline_ns),
            task.slack_ns.map_or("-".into(), signed),
            if task.ok { "yes" } else { "no" }.into(),
        ];
        row.extend(colored.then(|| task.colors.as_deref().map_or("all".into(), set)));
        row.extend(in_guest.then(|| task.guest_colors.as_deref().map_or("-".into(), set)));
        row
    };
    let mut heading =
        vec!["VM", ">VCPU", "task", ">WCET", ">WCRT", ">deadline", ">slack", "in time"];
    heading.extend(colored.then_some("colours"));
    heading.extend(in_guest.then_some("in the guest"));
    table(&heading, &tasks.iter().map(row).collect::<Vec<_>>())
}

fn vcpu(vcpu: &Vcpu, priorities: bool, overruns: bool) -> Vec<String> {
    let time_or_none = |nanoseconds: Option<u64>| nanoseconds.map_or("-".into(), time);
    let overrun = Some(vcpu.overrun_ns).filter(|overrun| *overrun > 0);
    let mut row = vec![
        vcpu.pcpu.to_string(),
        vcpu.vm.clone(),
        vcpu.vcpu.to_string(),
        vcpu.server.unwrap_or("-").into(),
        time_or_none(vcpu.budget_ns),
        time_or_none(vcpu.period_ns),
    ];
    row.extend(priorities.then(|| vcpu.priority.map_or("-".into(), |it| it.to_string())));
    row.extend(overruns.then(|| time_or_none(overrun)));
    row.extend([
        vcpu.supply_ppm.map_or("rest".into(), percent),
        percent(vcpu.tasks_ppm),
        if vcpu.ok { time_or_none(vcpu.blackout_ns) } else { "too long".into() },
    ]);
    row
}

fn pcpu(pcpu: &Pcpu) -> Vec<String> {
    let parts = [
        pcpu.load_ppm,
        pcpu.execution_ppm,
        pcpu.cache_ppm,
        pcpu.margin_ppm,
        pcpu.other_ppm,
        pcpu.free_ppm,
    ];
    [pcpu.pcpu.to_string()].into_iter().chain(parts.map(percent)).collect()
}

fn set(colors: &[usize]) -> String {
    let colors = colors.iter().filter_map(|&color| Color::new(u8::try_from(color).ok()?));
    colors.collect::<ColorSet>().to_string()
}
