//! Random descriptions: what `plan` says yes to is schedulable as it is written, keeps what was
//! given, and misses no deadline in the simulator, which decides with the code of the hypervisor.

use std::fmt::Write as _;
use std::path::Path;

use planner::completion::complete;
use system::description::System;
use system::plan::{self, Plan};
use testing::{Random, sandbox};
use verdict::Verdict;

/// How many systems are planned; `BULKHEAD_PLANS` gives another number.
const SYSTEMS: u32 = 120;

fn system(random: &mut Random) -> String {
    let mut text = "[platform]\nboard = \"zcu102\"\n".to_owned();
    if random.one_in(2) {
        let _ = writeln!(text, "color_reload = \"{}us\"", random.between(1, 100));
    }
    let vms = random.between(1, 3);
    for vm in 0..vms {
        let _ = write!(
            text,
            "[[vm]]\nname = \"v{vm}\"\nboot = \"raw\"\nmemory = \"16MiB\"\nkernel = \"rt.bin\"\n"
        );
        text.push_str(match random.between(0, 4) {
            0 => "colors = \"planned\"\n",
            1 | 2 => "colors = \"planned\"\nvllc = true\n",
            _ => "",
        });
        let vcpus = random.between(1, 3);
        for _ in 0..vcpus {
            let server = random.of(&["periodic", "deferrable", "sporadic"]);
            let _ = writeln!(text, "[[vm.vcpu]]\nserver = \"{server}\"");
            let period = random.of(&[1_u64, 2, 4, 5, 8, 10]);
            if !random.one_in(4) {
                let _ = writeln!(text, "period = \"{period}ms\"");
                if random.one_in(4) {
                    let _ = writeln!(text, "budget = \"{}us\"", period * random.between(200, 700));
                }
            }
        }
        let priorities = random.one_in(2);
        for task in 0..random.between(0, 6) {
            let period = random.of(&[5_u64, 8, 10, 20, 25, 40, 50, 100]);
            let wcet = period * random.between(10, 120 * vcpus);
            let deadline = random.between(period * 600, period * 1_000);
            let _ = write!(
                text,
                "[[vm.task]]\nname = \"t{task}\"\nperiod = \"{period}ms\"\ndeadline = \"{deadline}us\"\n\
                 wcet = {{ 1 = \"{wcet}us\", 2 = \"{}us\", 4 = \"{}us\" }}\noffset = \"{}us\"\n",
                wcet * 4 / 5,
                wcet / 2 + 1,
                random.between(0, period * 1_000),
            );
            if random.one_in(5) {
                let _ = writeln!(text, "vcpu = {}", random.between(0, vcpus - 1));
            }
            if priorities {
                let _ = writeln!(text, "priority = {}", 100 - period + task * 100);
            }
        }
    }
    // Another one that is always busy.
    if random.one_in(2) {
        let _ = write!(
            text,
            "[[vm]]\nname = \"busy\"\nboot = \"raw\"\nmemory = \"16MiB\"\nkernel = \"rt.bin\"\n\
             [[vm.vcpu]]\nserver = \"deferrable\"\nperiod = \"4ms\"\nbudget = \"{}us\"\n",
            random.between(100, 2_000)
        );
    }
    text
}

/// What was given is as it was.
fn keeps(given: &System, planned: &System) {
    for (given, planned) in given.vms.iter().zip(&planned.vms) {
        for (given, planned) in given.vcpus.iter().zip(&planned.vcpus) {
            let (Some(given), Some(planned)) = (&given.server, &planned.server) else { continue };
            let times = (given.class.value.budget(), planned.class.value.budget());
            let (Some(before), Some(after)) = times else { continue };
            assert!(given.open || before == after);
            assert!(given.period_open || before.period == after.period);
        }
        for (given, planned) in given.tasks.iter().zip(&planned.tasks) {
            assert!(given.vcpu_open || given.vcpu == planned.vcpu);
        }
        assert!(given.colors.is_none() || given.colors == planned.colors);
    }
}

#[test]
fn what_is_planned_holds() {
    let number = std::env::var("BULKHEAD_PLANS").map(|it| it.parse().expect("a number"));
    let systems = number.unwrap_or_else(|_| u64::from(testing::cases(SYSTEMS)));
    let sandbox = sandbox!();
    let mut yes = 0;
    for seed in 0..systems {
        // The plan with least time is the tightest, and takes least time to find.
        let objective = if seed % 8 == 0 { "" } else { "objective = \"least-time\"\n" };
        let text = format!("{objective}{}", system(&mut Random::new(seed)));
        let given = System::from_toml("s.toml", &text, Path::new(""));
        let given = given.unwrap_or_else(|errors| panic!("{seed}: {errors}"));
        let mut planned = given.clone();
        if complete(&mut planned).is_err() {
            assert_eq!(planned, given, "{seed}: changed, though there is no plan");
            continue;
        }
        keeps(&given, &planned);
        let made = plan::make(&planned).unwrap_or_else(|errors| panic!("{seed}: {errors}\n{text}"));
        let read = Plan::from_dts("s.dts", &made.to_dts());
        let read = read.unwrap_or_else(|errors| panic!("{seed}: {errors}"));
        let verdict = Verdict::of_plan(&read, Some(&planned));
        // A VM of which nothing is open can be late, whatever is planned.
        let mut late = verdict
            .pcpus
            .iter()
            .flat_map(|pcpu| &pcpu.vcpus)
            .filter(|vcpu| vcpu.tasks.iter().any(|task| !task.ok));
        if let Some(late) = late.next() {
            let vm = given.vms.iter().find(|vm| vm.name.value == late.vm).expect("a VM");
            let open = vm.colors_open.is_some()
                || vm.tasks.iter().any(|task| task.vcpu_open)
                || vm.vcpus.iter().filter_map(|vcpu| vcpu.server.as_ref()).any(|it| it.open);
            assert!(!open, "{seed}: {verdict:#?}\n{text}");
            continue;
        }
        assert!(verdict.schedulable, "{seed}");
        yes += 1;
        sandbox.write("s.toml", &text);
        let result = sandbox.bulkhead(&["sim", "s.toml", "--until", "2s"]);
        assert_eq!(result.status, Some(0), "{seed}: {}{}\n{text}", result.stdout, result.stderr);
    }
    println!("{yes} of {systems} were planned");
    assert!(yes >= systems / 4, "{yes} of {systems}: too few to say much");
}
