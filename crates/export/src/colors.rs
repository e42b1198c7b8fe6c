//! Colours as other systems count them.

use policy::color::{ColorSet, Geometry};
use system::plan::Plan;

/// Bytes of a page of the systems that a plan is exported to.
pub const PAGE: u64 = system::plan::PAGE.0;

/// Contiguous colours of single pages.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Run {
    /// The lowest colour.
    pub first: u64,
    /// Number of colours, at least one.
    pub count: u64,
}

impl Run {
    /// Returns the run as `0-3`, or as `8` if it is one colour.
    pub fn range(self) -> String {
        match self.count {
            1 => self.first.to_string(),
            count => format!("{}-{}", self.first, self.first + count - 1),
        }
    }
}

/// Returns the runs of `colors`, where each page of a way has a colour of its own: a colour of
/// `geometry` may be several of them.
pub fn page_runs(colors: ColorSet, geometry: Geometry) -> Vec<Run> {
    let pages = geometry.color_bytes() / PAGE;
    let run = |run: policy::color::Run| Run {
        first: run.first.index() as u64 * pages,
        count: u64::from(run.len) * pages,
    };
    colors.runs().map(run).collect()
}

/// Returns the number of colours of single pages.
pub fn page_colors(geometry: Geometry) -> u64 {
    geometry.cache().way_bytes() / PAGE
}

/// Returns the cache that the plan shares out by colours.
pub fn geometry(plan: &Plan) -> Option<Geometry> {
    plan.platform.llc.map(|llc| llc.geometry)
}

/// Colours that neither a VM nor the hypervisor has.
pub fn free(plan: &Plan, geometry: Geometry) -> ColorSet {
    let taken = plan.vms.iter().filter_map(|vm| vm.colors());
    let hypervisor = plan.platform.hypervisor_area.map(|area| area.colors);
    taken.chain(hypervisor).fold(geometry.all(), |free, taken| free - taken)
}
