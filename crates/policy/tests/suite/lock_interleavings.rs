//! Every interleaving of three tasks on two PCPUs: what locks promise, in each state that there is.
//!
//! The tasks of a VCPU run as [`ReadyTasks::highest_raised`] says, VCPUs as [`Cpu`] does, and locks are
//! those of [`Table`]: nothing is modelled but the programs of the tasks and when they are released.

use std::collections::{HashSet, VecDeque};

use crate::events::Events;
use policy::cpu::{Cpu, Slot, WHOLE_CPU};
use policy::lock::Who;
use policy::lock::table::{Holdings, Locked, Resource, Table};
use policy::task::ReadyTasks;
use policy::time::Instant;

const TASKS: usize = 3;

/// Where a task is: its PCPU, the VCPU there, its rank, its number in the VCPU.
#[derive(Clone, Copy, Debug)]
struct Home {
    pcpu: usize,
    slot: usize,
    rank: usize,
    task: usize,
}

/// Steps of a task after its release.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Step {
    Lock(usize),
    Unlock(usize),
    Work,
    End,
}

#[derive(Clone, Debug)]
struct World {
    cpus: [Cpu<Vec<Slot>>; 2],
    runs: [Option<usize>; 2],
    ready: Vec<ReadyTasks>,
    raised: Vec<ReadyTasks>,
    table: Table<Vec<Resource>, Vec<Holdings>>,
    /// The next step of each task; none: not released yet.
    next: [Option<usize>; TASKS],
}

/// What of it tells states apart.
type Key =
    ([Option<usize>; TASKS], Vec<ReadyTasks>, Vec<ReadyTasks>, Table<Vec<Resource>, Vec<Holdings>>);

struct Model {
    homes: [Home; TASKS],
    programs: [Vec<Step>; TASKS],
    ceilings: bool,
}

impl Model {
    fn start(&self) -> World {
        let cpu = |pcpu: usize| {
            let count = self.homes.iter().filter(|it| it.pcpu == pcpu).map(|it| it.slot + 1).max();
            let slots = (0..count.unwrap_or(0)).map(|_| Slot::new(WHOLE_CPU).unwrap()).collect();
            let cpu = Cpu::new(slots);
            if self.ceilings { cpu.with_ceilings() } else { cpu }
        };
        let mut table = Table::new(vec![Resource::new(1); 2], vec![Holdings::new(0); TASKS]);
        assert!((0..2).all(|resource| table.open(0, resource) == Ok(true)));
        let none = vec![ReadyTasks::default(); TASKS];
        World {
            cpus: [cpu(0), cpu(1)],
            runs: [None; 2],
            ready: none.clone(),
            raised: none,
            table,
            next: [None; TASKS],
        }
    }

    fn who(&self, task: usize) -> Who {
        Who::new(self.homes[task].rank, self.homes[task].task).unwrap()
    }

    fn task_of(&self, who: Who) -> usize {
        (0..TASKS).find(|task| self.who(*task) == who).unwrap()
    }

    /// The tasks that can go on: one for each PCPU at most.
    fn running(&self, world: &World) -> Vec<usize> {
        (0..TASKS)
            .filter(|&task| {
                let home = self.homes[task];
                let first = world.ready[home.rank].highest_raised(world.raised[home.rank]);
                world.runs[home.pcpu] == Some(home.slot) && first == Some(home.task)
            })
            .collect()
    }

    /// Tells the PCPU of a task that this is ready.
    fn wake(&self, world: &mut World, task: usize) {
        let home = self.homes[task];
        world.ready[home.rank].insert(home.task);
        let decision = world.cpus[home.pcpu].wake(home.slot, Instant(0));
        world.runs[home.pcpu] = decision.run;
    }

    fn sleep(&self, world: &mut World, task: usize) {
        let home = self.homes[task];
        world.ready[home.rank].remove(home.task);
        if world.ready[home.rank].is_empty() {
            world.runs[home.pcpu] = world.cpus[home.pcpu].block(home.slot, Instant(0)).run;
        }
    }

    /// The VCPU of a task may have entered or left its critical sections.
    fn gcs(&self, world: &mut World, task: usize) {
        let home = self.homes[task];
        let (cpu, inside) = (&mut world.cpus[home.pcpu], world.table.in_gcs(home.rank));
        let decision = match inside {
            true => cpu.enter_gcs(home.slot, Instant(0)),
            false => cpu.leave_gcs(home.slot, Instant(0)),
        };
        world.runs[home.pcpu] = decision.run;
    }

    /// The task goes one step further.
    fn step(&self, world: &World, task: usize) -> World {
        let mut world = world.clone();
        let (home, who) = (self.homes[task], self.who(task));
        let next = world.next[task].unwrap();
        world.next[task] = Some(next + 1);
        match self.programs[task][next] {
            Step::Work => {}
            Step::End => self.sleep(&mut world, task),
            Step::Lock(resource) => match world.table.lock(who, resource).unwrap() {
                Locked::Held { orphaned } => {
                    assert!(!orphaned);
                    world.raised[home.rank].insert(home.task);
                    self.gcs(&mut world, task);
                }
                Locked::Waits => self.sleep(&mut world, task),
            },
            Step::Unlock(resource) => {
                let waiting: Vec<Who> = (0..TASKS)
                    .map(|task| self.who(task))
                    .filter(|who| {
                        world.table.resources()[resource].mutex().waiting().contains(*who)
                    })
                    .collect();
                let granted = world.table.unlock(who, resource).unwrap();
                // Queue order: the highest VCPU, in it the highest task.
                assert_eq!(
                    granted,
                    waiting.iter().min_by_key(|it| (it.vcpu(), it.task())).copied()
                );
                world.raised[home.rank].remove(home.task);
                self.gcs(&mut world, task);
                if let Some(granted) = granted {
                    let task = self.task_of(granted);
                    let home = self.homes[task];
                    assert_eq!(world.table.take_grant(home.rank).unwrap().task, home.task);
                    world.raised[home.rank].insert(home.task);
                    self.wake(&mut world, task);
                    self.gcs(&mut world, task);
                }
            }
        }
        world
    }

    /// The resource that a task is in a section of, as its program says.
    fn section(&self, world: &World, task: usize) -> Option<usize> {
        let next = world.next[task]?;
        match self.programs[task][..next].last()? {
            Step::Lock(resource) if self.holds(world, task, *resource) => Some(*resource),
            Step::Work => match self.programs[task][next.checked_sub(2)?] {
                Step::Lock(resource) => Some(resource),
                _ => None,
            },
            _ => None,
        }
    }

    fn holds(&self, world: &World, task: usize, resource: usize) -> bool {
        world.table.resources()[resource].mutex().owner() == Some(self.who(task))
    }

    fn check(&self, world: &World) {
        for resource in 0..2 {
            let mutex = world.table.resources()[resource].mutex();
            let inside: Vec<usize> =
                (0..TASKS).filter(|&task| self.section(world, task) == Some(resource)).collect();
            // Mutual exclusion, and nobody else owns it.
            assert!(inside.len() <= 1, "{inside:?} {world:?}");
            assert_eq!(inside.first().map(|&task| self.who(task)), mutex.owner());
            // No lost wake-up: who waits waits for somebody.
            assert!(mutex.owner().is_some() || mutex.waiting().is_empty(), "{world:?}");
        }
        for pcpu in 0..2 {
            // Ceilings: in sections first, if they count, then by priority.
            let slots: Vec<Home> =
                self.homes.iter().copied().filter(|it| it.pcpu == pcpu).collect();
            let ready = slots.iter().filter(|it| !world.ready[it.rank].is_empty());
            let inside = |home: &Home| {
                let of_vcpu = |task: &usize| self.homes[*task].rank == home.rank;
                (0..TASKS).filter(of_vcpu).any(|task| self.section(world, task).is_some())
            };
            let first = ready.min_by_key(|home| (self.ceilings && !inside(home), home.slot));
            assert_eq!(world.runs[pcpu], first.map(|home| home.slot), "{world:?}");
            for home in &slots {
                assert_eq!(world.cpus[pcpu].slots()[home.slot].is_in_gcs(), inside(home));
            }
        }
    }

    /// Visits all states; returns how many there are.
    fn explore(&self) -> usize {
        let key = |it: &World| -> Key {
            (it.next, it.ready.clone(), it.raised.clone(), it.table.clone())
        };
        let start = self.start();
        let (mut seen, mut left) = (HashSet::from([key(&start)]), VecDeque::from([start]));
        while let Some(world) = left.pop_front() {
            self.check(&world);
            let mut after: Vec<World> = Vec::new();
            for task in (0..TASKS).filter(|task| world.next[*task].is_none()) {
                let mut released = world.clone();
                released.next[task] = Some(0);
                self.wake(&mut released, task);
                after.push(released);
            }
            after.extend(self.running(&world).into_iter().map(|task| self.step(&world, task)));
            if after.is_empty() {
                // Nothing is left to do: all have come to their end, and nothing is raised.
                for (task, program) in self.programs.iter().enumerate() {
                    assert_eq!(world.next[task], Some(program.len()), "stuck: {world:?}");
                }
                assert!((0..TASKS).all(|rank| !world.table.in_gcs(rank)));
            }
            left.extend(after.into_iter().filter(|world| seen.insert(key(world))));
        }
        seen.len()
    }
}

/// Where the tasks are: on two PCPUs, in VCPUs of their own or sharing one.
const PLACES: [[(usize, usize, usize, usize); TASKS]; 5] = [
    [(0, 0, 0, 0), (0, 1, 1, 0), (1, 0, 2, 0)],
    [(0, 0, 1, 0), (0, 1, 2, 0), (1, 0, 0, 0)],
    [(0, 0, 0, 0), (0, 1, 2, 0), (1, 0, 1, 0)],
    [(0, 0, 0, 0), (0, 0, 0, 1), (1, 0, 1, 0)],
    [(0, 0, 1, 3), (0, 0, 1, 60), (1, 0, 0, 5)],
];

#[test]
fn all_interleavings_keep_what_locks_promise() {
    let section = |resource| vec![Step::Lock(resource), Step::Work, Step::Unlock(resource)];
    let programs = |first: usize, second: Option<usize>| {
        let mut steps = vec![Step::Work];
        steps.extend(section(first));
        second.into_iter().for_each(|second| steps.extend(section(second)));
        steps.push(Step::End);
        steps
    };
    let uses = [(0, None), (0, Some(1)), (1, Some(0))];
    let mut states = 0;
    for place in PLACES {
        let homes = place.map(|(pcpu, slot, rank, task)| Home { pcpu, slot, rank, task });
        for ceilings in [false, true] {
            for choice in 0..uses.len().pow(3) {
                let of = |task: u32| uses[choice / uses.len().pow(task) % uses.len()];
                let programs = [0, 1, 2].map(|task| programs(of(task).0, of(task).1));
                states += Model { homes, programs, ceilings }.explore();
            }
        }
    }
    assert!(states > 50_000, "{states} states");
}
