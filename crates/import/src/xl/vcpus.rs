//! VCPUs of a domain: where they run, and with which budgets.

use abi::limits::ANALYZED_VCPUS_MAX;
use system::diagnostic::Diagnostic;

use super::file::{Item, Value};
use super::rtds::{self, Parameters};
use super::values::set;
use super::{Domain, EXTRA};
use crate::draft::{Line, Vcpu, left};

impl Domain {
    pub fn vcpus(&mut self, domain: &str, parameters: &[Parameters]) -> Vec<Vcpu> {
        let count = self.number("vcpus", 1, ANALYZED_VCPUS_MAX as u64).unwrap_or(1);
        let mut vcpus = vec![Vcpu::default(); count as usize];
        if let Some(cpus) = self.take("cpus") {
            for (index, vcpu) in vcpus.iter_mut().enumerate() {
                let result = affinity(&cpus.item, index, count as usize, vcpu);
                if self.ok(result).is_none() {
                    break;
                }
            }
        }
        let [period, budget] = ["period", "budget"].map(|key| self.number(key, 1, rtds::MOST_US));
        for (index, vcpu) in vcpus.iter_mut().enumerate() {
            let own = |it: &&Parameters| {
                it.domain == domain && it.vcpu.is_none_or(|vcpu| vcpu == index as u64)
            };
            match parameters.iter().rfind(own) {
                Some(own) => {
                    if own.extra {
                        self.left.push(left(&own.place, EXTRA));
                    }
                    server(vcpu, own.budget, own.period);
                }
                None if period.is_some() || budget.is_some() => server(vcpu, budget, period),
                None => {}
            }
        }
        vcpus
    }
}

/// `cpus` is a set for all VCPUs, or a list with one for each.
fn affinity(
    cpus: &Item,
    index: usize,
    count: usize,
    vcpu: &mut Vcpu,
) -> Result<(), Box<Diagnostic>> {
    let (item, each) = match &cpus.value {
        Value::Text(_) => (cpus, false),
        Value::List(items) => match items.get(index) {
            Some(item) => (item, true),
            None => return Ok(()),
        },
    };
    let text = item.text("write \"0-3\", or a list of such sets: one for each VCPU")?;
    if text.contains("node") {
        vcpu.lines.push(Line::open("pcpu", "0", format!("one PCPU of `{text}`")));
        return Ok(());
    }
    let Some(set) = set(item)? else { return Ok(()) };
    let pcpu = match set[..] {
        [only] => Line::key("pcpu", only.to_string()),
        // As many PCPUs as VCPUs are one for each.
        _ if !each && set.len() == count => {
            Line::noted("pcpu", set[index].to_string(), format!("one each of {text}"))
        }
        _ => Line::open("pcpu", set[0].to_string(), format!("one PCPU out of {text}")),
    };
    if let Line::Key { value, .. } = &pcpu {
        vcpu.pcpu = value.parse().ok();
    }
    vcpu.lines.push(pcpu);
    Ok(())
}

/// A VCPU of RTDS is a deferrable server.
fn server(vcpu: &mut Vcpu, budget: Option<u64>, period: Option<u64>) {
    if vcpu.lines.is_empty() {
        let why = "its PCPU, between which RTDS moves it; without this line it gets one of its own";
        vcpu.lines.push(Line::open("pcpu", "0", why));
    }
    vcpu.server = true;
    vcpu.lines.push(Line::noted("server", "\"deferrable\"", "as in RTDS"));
    for (key, time) in [("budget", budget), ("period", period)] {
        vcpu.lines.push(match time {
            Some(us) if us % 1_000 == 0 => Line::key(key, format!("\"{}ms\"", us / 1_000)),
            Some(us) => Line::key(key, format!("\"{us}us\"")),
            None => Line::open(
                key,
                "\"4ms\"",
                "that of Xen; RTDS has budget = 4ms, period = 10ms unless told",
            ),
        });
    }
}
