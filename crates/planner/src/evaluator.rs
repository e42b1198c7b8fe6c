//! Asks the analysis whether tasks fit into a VCPU, and for the budget that they need.

use analysis::overheads::{Neighbour, Overheads};
use analysis::response::{Analyzer, Workload};
use analysis::supply::{ServerSupply, Supply};
use analysis::utilization::{Share, utilization};
use analysis::{Caches, Duration, Kind, Server, vcache};
use policy::color::ColorSet;

use crate::{Setting, Task, Test};

/// Answers many questions without allocating memory for each.
#[derive(Debug)]
pub struct Evaluator {
    setting: Setting,
    analyzer: Analyzer,
    tasks: Vec<analysis::Task>,
}

impl Evaluator {
    /// Returns an evaluator for VCPUs of this setting.
    pub fn new(setting: Setting) -> Self {
        Self { setting, analyzer: Analyzer::default(), tasks: Vec::new() }
    }

    /// Returns the setting.
    pub fn setting(&self) -> &Setting {
        &self.setting
    }

    /// Returns true if tasks with these colours meet their deadlines in a VCPU with this budget, if
    /// the VCPU gets it. The one with the highest priority comes first.
    pub fn fits(
        &mut self,
        tasks: &[&Task],
        sets: &[ColorSet],
        budget: Duration,
        period: Duration,
    ) -> bool {
        self.collect(tasks, sets);
        self.schedulable(sets, budget, period)
    }

    /// Returns the least budget with which they do, of those from `least` to `most`; a multiple of
    /// the grain, or `most`. None if `most` is not enough.
    pub fn least_budget(
        &mut self,
        tasks: &[&Task],
        sets: &[ColorSet],
        period: Duration,
        [least, most]: [Duration; 2],
    ) -> Option<Duration> {
        if tasks.is_empty() {
            return Some(Duration(0));
        }
        self.collect(tasks, sets);
        if !self.schedulable(sets, most, period) {
            return None;
        }
        // In grains: enough with `high`, not with less than `low`.
        let grain = self.setting.grain().0;
        let (mut low, mut high) = (least.0.div_ceil(grain).max(1), most.0.div_ceil(grain));
        while low < high {
            let middle = low + (high - low) / 2;
            if self.schedulable(sets, Duration(middle * grain), period) {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        Some(Duration(high.saturating_mul(grain)).min(most))
    }

    /// Returns the utilisation of tasks with these colours (Eq. 4), a lower bound of every budget.
    pub fn utilization(&mut self, tasks: &[&Task], sets: &[ColorSet]) -> Share {
        self.collect(tasks, sets);
        utilization(&self.tasks, Some(&Caches::new(sets, self.setting.reload)))
    }

    /// Returns true if tasks fit whose execution times do not follow from their colours: see [`Evaluator::fits`].
    pub(crate) fn fits_as_they_are(
        &mut self,
        tasks: impl IntoIterator<Item = analysis::Task>,
        sets: &[ColorSet],
        budget: Duration,
        period: Duration,
    ) -> bool {
        self.tasks.clear();
        self.tasks.extend(tasks);
        self.schedulable(sets, budget, period)
    }

    fn collect(&mut self, tasks: &[&Task], sets: &[ColorSet]) {
        self.tasks.clear();
        let with_sets = tasks.iter().zip(sets);
        self.tasks.extend(with_sets.map(|(task, set)| *task.with_colors(set.len() as usize)));
    }

    /// Returns the time that the hypervisor takes from a VCPU beside [`Setting::neighbours`]
    /// others. The real neighbours are decided, and counted, later. A VCPU that has all of a PCPU
    /// has none.
    fn overheads(&self, server: Server) -> Option<Overheads> {
        let shares = server.budget() < server.period();
        let alike = Server::new(Kind::Periodic, server.budget(), server.period()).ok();
        let server = alike.filter(|_| shares);
        let others = self.setting.neighbours;
        let own = Overheads::new(self.setting.costs?, others);
        let own = own.of_vcpu(server, &self.tasks, shares);
        let Some(alike) = server else { return Some(own) };
        Some((0..others).fold(own, |all, _| all.beside(Neighbour::Above(alike), server)))
    }

    fn schedulable(&mut self, sets: &[ColorSet], budget: Duration, period: Duration) -> bool {
        let Ok(server) = Server::new(self.setting.kind, budget, period) else { return false };
        let caches = Caches::new(sets, self.setting.reload);
        let overheads = self.overheads(server);
        let workload = match self.setting.test {
            Test::Published => vcache::workload(&self.tasks, server, Some(caches)),
            Test::Supply | Test::Alone => {
                let alone = || ServerSupply::with_response(server, server.budget());
                let supply = match self.setting.test {
                    Test::Alone => alone().unwrap_or(ServerSupply::new(server)),
                    _ => ServerSupply::new(server),
                };
                let supply = Supply::Server(supply);
                Workload::new(&self.tasks).with_supply(supply).with_caches(caches)
            }
        };
        let workload =
            overheads.iter().fold(workload, |it, overheads| it.with_overheads(overheads));
        self.analyzer.schedulable(&workload).is_ok()
    }
}
