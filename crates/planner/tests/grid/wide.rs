//! Systems beyond [`crate::draw`]: half of them are larger than the hypervisor allows, up to 32 VMs on up to 64 PCPUs, and in
//! most of them data goes through chains of tasks.

use taskgen::Random;

use crate::draft::{Chain, Draft};
use crate::draw::{BOARD, Size, drawn, of, one_in};

const LARGE: Size = Size { vms: [9, 32], pcpus: 64, colors: [32, 64, 64] };
/// Most chains of a system.
const CHAINS_MAX: u64 = 4;
/// Most steps of a chain.
const STEPS_MAX: u64 = 5;

/// Returns the description with this number, and the utilisation of its tasks as a part of all
/// PCPUs.
pub fn draw(number: u64) -> (Draft, f64) {
    let random = &mut Random::new(29, number);
    let size = if one_in(random, 2) { LARGE } else { BOARD };
    let (mut draft, load) = drawn(random, size);
    draft.chains = (0..random.between(0, CHAINS_MAX)).map(|_| chain(random, &draft)).collect();
    (draft, load)
}

/// Returns a chain over different tasks. Where each job takes its whole period, a change takes two periods in each step: limits
/// are about that.
fn chain(random: &mut Random, draft: &Draft) -> Chain {
    let of_vm =
        |(vm, it): (usize, &crate::draft::Vm)| (0..it.tasks.len()).map(move |task| (vm, task));
    let mut left: Vec<(usize, usize)> = draft.vms.iter().enumerate().flat_map(of_vm).collect();
    let count = random.between(2, STEPS_MAX);
    let mut steps = Vec::new();
    while (steps.len() as u64) < count && !left.is_empty() {
        let step = of(random, &left);
        left.retain(|it| *it != step);
        steps.push(step);
    }
    let period = |&(vm, task): &(usize, usize)| draft.vms[vm].tasks[task].period_us;
    let all: u64 = steps.iter().map(period).sum();
    Chain { steps, reaction_us: (all as f64 * random.real(1.3, 2.5)) as u64 }
}
