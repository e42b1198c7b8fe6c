//! The system as planned: PCPUs, colours and budgets of VMs.

use std::collections::BTreeSet;

use super::Part;
use super::label::{class, escape, vcpu};
use super::svg::Svg;
use super::units::{bytes, count, exact, ranges};
use crate::proof::{Proof, Vcpu, Vm};

/// Most colours of a strip.
const COLORS_MAX: usize = 256;

/// Returns the part, if there is a VM.
pub fn part(proof: &Proof) -> Option<Part> {
    if proof.vms.is_empty() {
        return None;
    }
    let html = format!("<p>{}</p>\n{}{}", machine(proof), pcpus(proof), vms(proof));
    Some(Part { id: "plan", nav: "Plan", title: "The system and its plan", html })
}

fn machine(proof: &Proof) -> String {
    let platform = &proof.platform;
    let mut text = format!("<strong>{}</strong>: {} PCPUs", escape(&platform.name), platform.pcpus);
    if let Some(size) = platform.llc_bytes {
        text.push_str(&format!(", {} of last-level cache", bytes(size)));
    }
    if let Some(ways) = platform.llc_ways {
        text.push_str(&format!(" in {ways} ways"));
    }
    match platform.colors {
        Some(colors) => text.push_str(&format!(", {colors} page colours.")),
        None => text.push('.'),
    }
    text
}

/// Returns the list of PCPUs, each with the VCPUs that run on it.
fn pcpus(proof: &Proof) -> String {
    let used: BTreeSet<usize> =
        proof.vms.iter().flat_map(|vm| &vm.vcpus).map(|vcpu| vcpu.pcpu).collect();
    let mut items = String::new();
    for pcpu in used {
        let mut vcpus: Vec<(usize, usize, &Vcpu)> = Vec::new();
        for (vm, of) in proof.vms.iter().enumerate() {
            vcpus.extend(
                of.vcpus
                    .iter()
                    .enumerate()
                    .filter(|(_, it)| it.pcpu == pcpu)
                    .map(|(index, it)| (vm, index, it)),
            );
        }
        vcpus.sort_by_key(|(_, _, it)| std::cmp::Reverse(it.priority));
        let boxes: String =
            vcpus.iter().map(|&(vm, index, it)| vcpu_box(proof, vm, index, it)).collect();
        items.push_str(&format!("<li><h3>PCPU {pcpu}</h3>{boxes}</li>\n"));
    }
    if items.is_empty() { items } else { format!("<ul class=\"pcpus\">\n{items}</ul>\n") }
}

fn vcpu_box(proof: &Proof, vm: usize, index: usize, of: &Vcpu) -> String {
    let mut lines = vec![match (&of.server, of.budget_ns, of.period_ns) {
        (Some(server), Some(budget), Some(period)) => {
            format!("{} server, {} in {}", escape(server), exact(budget), exact(period))
        }
        (Some(server), ..) => format!("{} server", escape(server)),
        (None, ..) => "the PCPU is its own".into(),
    }];
    if let Some((accesses, period)) = of.memory_budget_accesses.zip(of.memory_period_ns) {
        lines.push(format!("{} memory accesses in {}", count(accesses), exact(period)));
    }
    let tasks: Vec<String> = proof
        .tasks
        .iter()
        .filter(|task| (task.vm, task.vcpu) == (vm, index))
        .take(12)
        .map(|task| escape(&task.name))
        .collect();
    if !tasks.is_empty() {
        lines.push(format!("tasks: {}", tasks.join(", ")));
    }
    format!(
        "<div class=\"vcpu\"><strong><span class=\"swatch {}\"></span>{}</strong><br>{}</div>",
        class(Some(vm)),
        escape(&vcpu(proof, vm, index)),
        lines.join("<br>")
    )
}

fn vms(proof: &Proof) -> String {
    let mut rows: String =
        proof.vms.iter().enumerate().map(|(place, vm)| row(proof, place, vm)).collect();
    let own = &proof.platform.hypervisor_colors;
    if !own.is_empty() {
        rows.push_str(&format!(
            "<tr><th scope=\"row\"><span class=\"swatch vx\"></span>hypervisor</th><td></td><td class=\"n\"></td><td>{}</td><td></td></tr>\n",
            colors(proof, own, None)
        ));
    }
    format!(
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Table of VMs\">\n<table>\n<caption>What the plan gives to each VM</caption>\n\
         <thead><tr><th scope=\"col\">VM</th><th scope=\"col\">guest</th><th scope=\"col\" class=\"n\">memory</th>\
         <th scope=\"col\">colours of the last-level cache</th><th scope=\"col\">memory accesses</th></tr></thead>\n<tbody>\n{rows}</tbody>\n</table>\n</div>\n"
    )
}

fn row(proof: &Proof, place: usize, vm: &Vm) -> String {
    let limit = match vm.memory_budget_accesses.zip(vm.memory_period_ns) {
        Some((accesses, period)) => format!("at most {} in {}", count(accesses), exact(period)),
        None if vm.vcpus.iter().any(|vcpu| vcpu.memory_budget_accesses.is_some()) => {
            "limited for each VCPU".into()
        }
        None => "not limited".into(),
    };
    let critical = if vm.critical { ", <strong>critical</strong>" } else { "" };
    format!(
        "<tr><th scope=\"row\"><span class=\"swatch {}\"></span>{}</th><td>{}{critical}</td><td class=\"n\">{}</td><td>{}</td><td>{limit}</td></tr>\n",
        class(Some(place)),
        escape(&vm.name),
        escape(&vm.guest),
        bytes(vm.memory_bytes),
        colors(proof, &vm.colors, Some(place))
    )
}

/// Returns a strip with all colours, and which of them these are.
fn colors(proof: &Proof, own: &[usize], vm: Option<usize>) -> String {
    let Some(all) = proof.platform.colors else { return ranges(own) };
    if own.is_empty() {
        return "all".into();
    }
    let shown = all.clamp(1, COLORS_MAX);
    let width = (320.0 / shown as f64).min(14.0);
    let mut svg = Svg::new(width * shown as f64, 14.0);
    for color in 0..shown {
        let class = if own.contains(&color) { class(vm) } else { "none".into() };
        svg.rect(&class, [color as f64 * width + 0.5, 1.0, width - 1.0, 12.0], "");
    }
    let text = ranges(own);
    format!(
        "<span class=\"strip\">{} {text}</span>",
        svg.html(&format!("colours {text} of {all}"), "")
    )
}
