//! The printed equations, written down as they are and solved by iteration, beside the analysis.
//!
//! As in the paper, larger numbers mean higher priorities.

use analysis::Kind;
use analysis::vmpcp::{Protocol, Variant};
use taskgen::Random;

use super::described::Described;
use super::random::{self, SMALL, WIDE};

/// A task as the equations see it.
struct Tau {
    c: u128,
    t: u128,
    /// The VCPU.
    v: usize,
    /// Priority in the VCPU.
    i: usize,
    /// `E`, `R`, and whether it is global.
    e: Vec<(u128, usize, bool)>,
}

/// A VCPU as the equations see it; its number is its priority in the whole system.
struct Nu {
    c: u128,
    t: u128,
    p: usize,
    kind: Kind,
    overrun: bool,
}

struct Equations {
    tau: Vec<Tau>,
    nu: Vec<Nu>,
}

/// `max`, of nothing 0.
fn max(values: impl Iterator<Item = u128>) -> u128 {
    values.max().unwrap_or(0)
}

impl Equations {
    fn new(described: &Described) -> Self {
        let mut order: Vec<usize> = (0..described.vcpus.len()).collect();
        order.sort_by_key(|it| described.vcpus[*it].priority);
        let number = |vcpu: usize| order.iter().position(|it| *it == vcpu).unwrap();
        let nu = order.iter().map(|it| {
            let it = &described.vcpus[*it];
            let (c, t) = (it.budget.into(), it.period.into());
            Nu { c, t, p: it.pcpu, kind: it.kind, overrun: it.overrun }
        });
        let nu = nu.collect();
        let mut tau = Vec::new();
        for (vcpu, it) in described.vcpus.iter().enumerate() {
            for (place, task) in it.tasks.iter().enumerate() {
                let e = task.sections().map(|(r, e)| (e.into(), r, described.is_global(r)));
                tau.push(Tau {
                    c: task.wcet().into(),
                    t: task.period.into(),
                    v: number(vcpu),
                    i: it.tasks.len() - place,
                    e: e.collect(),
                });
            }
        }
        Self { tau, nu }
    }

    fn of(&self, v: usize) -> impl Iterator<Item = &Tau> {
        self.tau.iter().filter(move |tau| tau.v == v)
    }

    /// Eq. 1.
    fn ght(&self, v: usize) -> u128 {
        self.of(v).map(|tau| max(tau.e.iter().filter(|e| e.2).map(|e| e.0))).sum()
    }

    /// Eq. 3.
    fn sum_ght(&self, v: usize, t: u128) -> u128 {
        let all = |tau: &Tau| tau.e.iter().filter(|e| e.2).map(|e| e.0).sum::<u128>();
        self.of(v).map(|tau| (t.div_ceil(tau.t) + 1) * all(tau)).sum()
    }

    fn o(&self, v: usize) -> u128 {
        if self.nu[v].overrun { self.ght(v) } else { 0 }
    }

    /// Eq. 2, 4 and 5.
    fn server(&self, i: usize) -> Option<u128> {
        let it = &self.nu[i];
        let here = |v: &usize| self.nu[*v].p == it.p;
        let mut w = it.c + self.o(i);
        while w <= it.t {
            let b: u128 = (0..i)
                .filter(here)
                .map(|l| if it.kind == Kind::Periodic { self.ght(l) } else { self.sum_ght(l, w) })
                .sum();
            let above = (i + 1..self.nu.len()).filter(here).map(|h| {
                let above = &self.nu[h];
                let j = if above.kind == Kind::Periodic { 0 } else { above.t - above.c };
                (w + j).div_ceil(above.t) * (above.c + self.o(h))
            });
            let next = it.c + self.o(i) + b + above.sum::<u128>();
            if next == w {
                return Some(w);
            }
            w = next;
        }
        None
    }

    /// Eq. 12 to 16, of the section of this number of this task.
    fn w_gcs(&self, l: usize, u: usize) -> u128 {
        let tau = &self.tau[l];
        let it = &self.nu[tau.v];
        let longest = |x: &Tau| max(x.e.iter().filter(|e| e.2).map(|e| e.0));
        let load = tau.e[u].0 + self.of(tau.v).filter(|x| x.i > tau.i).map(longest).sum::<u128>();
        let others = (tau.v + 1..self.nu.len()).filter(|z| self.nu[*z].p == it.p);
        let vcpu_prmt: u128 = others.map(|z| self.of(z).map(longest).sum::<u128>()).sum();
        let suspended = match (it.overrun, it.kind) {
            (true, Kind::Periodic) => it.t - it.c,
            (true, _) => 0,
            (false, _) => load.div_ceil(it.c) * (it.t - it.c),
        };
        suspended + load + vcpu_prmt
    }

    /// Eq. 11, or none if it is longer than the deadline.
    fn remote(&self, i: usize, j: usize) -> Option<u128> {
        let tau = &self.tau[i];
        let users = |which: &dyn Fn(usize) -> bool| -> Vec<(usize, usize)> {
            let of = |l: usize| (0..self.tau[l].e.len()).map(move |u| (l, u));
            (0..self.tau.len())
                .filter(|l| which(self.tau[*l].v))
                .flat_map(of)
                .filter(|(l, u)| self.tau[*l].e[*u].1 == tau.e[j].1)
                .collect()
        };
        let first = max(users(&|v| v < tau.v).iter().map(|(l, u)| self.w_gcs(*l, *u)));
        let above = users(&|v| v > tau.v);
        let mut b = first;
        while b <= tau.t {
            let each =
                |&(h, u): &(usize, usize)| (b.div_ceil(self.tau[h].t) + 1) * self.w_gcs(h, u);
            let next = first + above.iter().map(each).sum::<u128>();
            if next == b {
                return Some(b);
            }
            b = next;
        }
        None
    }

    /// Eq. 6 to 10.
    fn task(&self, i: usize) -> Option<u128> {
        let tau = &self.tau[i];
        let it = &self.nu[tau.v];
        let gcs = tau.e.iter().filter(|e| e.2).count() as u128;
        let below = || self.of(tau.v).filter(|l| l.i < tau.i);
        let ceiling = |r: usize| {
            let users = self.of(tau.v).filter(|x| x.e.iter().any(|e| e.1 == r));
            users.map(|x| x.i).max().unwrap()
        };
        let lcs =
            max(below().flat_map(|l| &l.e).filter(|e| !e.2 && ceiling(e.1) > tau.i).map(|e| e.0));
        let below_gcs: u128 = below().map(|l| max(l.e.iter().filter(|e| e.2).map(|e| e.0))).sum();
        let local = (lcs + below_gcs) * (gcs + 1);
        let sections = (0..tau.e.len()).filter(|j| tau.e[*j].2);
        let remote: u128 = sections.map(|j| self.remote(i, j)).sum::<Option<u128>>()?;
        let above: Vec<usize> = (0..self.tau.len())
            .filter(|h| self.tau[*h].v == tau.v && self.tau[*h].i > tau.i)
            .collect();
        let above: Option<Vec<(u128, &Tau)>> =
            above.into_iter().map(|h| Some((self.task(h)?, &self.tau[h]))).collect();
        let above = above?;
        let own = tau.c + local + remote;
        let mut w = own;
        while w <= tau.t {
            let interference: u128 = above
                .iter()
                .map(|(wh, h)| (w + (it.t - it.c) + (wh - h.c)).div_ceil(h.t) * h.c)
                .sum();
            let next = own + interference + (w + it.c).div_ceil(it.t) * (it.t - it.c);
            if next == w {
                return Some(w);
            }
            w = next;
        }
        None
    }
}

#[test]
fn published_bounds_are_those_of_the_printed_equations() {
    let (mut good, mut late) = (0, 0);
    for set in 0..20_000 {
        let mut random = Random::new(7, set);
        let shape = if set % 2 == 0 { SMALL } else { WIDE };
        let described = random::described(&mut random, shape, Protocol::Vmpcp);
        let equations = Equations::new(&described);
        let servers: Option<Vec<u128>> =
            (0..equations.nu.len()).map(|v| equations.server(v)).collect();
        let tasks: Option<Vec<u128>> =
            (0..equations.tau.len()).map(|task| equations.task(task)).collect();
        let expected = servers.and(tasks);
        let found = described.all_bounds(Variant::Published);
        let found: Option<Vec<u128>> = found.map(|it| it.into_iter().map(u128::from).collect());
        assert_eq!(found, expected, "{described:?}");
        *if found.is_some() { &mut good } else { &mut late } += 1;
    }
    assert!(good > 500 && late > 500, "{good} systems are schedulable, {late} not");
}
