//! Random systems with everything that a plan has to decide together.

use std::fmt::Write as _;

use testing::Random;

/// A board with this number of CPUs.
const BOARD: &str = r#"
[platform]
name = "board"
about = "as QEMU's, with other CPUs"
architecture = "aarch64"
counter = "62.5MHz"
[[platform.cpu]]
model = "Cortex-A53"
count = COUNT
[[platform.memory]]
start = 0x4000_0000
size = "1GiB"
[platform.gic]
version = 3
gicd = { start = 0x0800_0000, size = "64KiB" }
gicr = { start = 0x080a_0000, size = "15744KiB" }
[platform.console]
kind = "arm,pl011"
start = 0x0900_0000
size = "4KiB"
interrupt = 33
[platform.bandwidth]
counter = "cachescope"
access_latency = "64ns"
[platform.overheads]
switch = "1.5us"
tick = "1us"
kick = "1.6us"
interrupt = "0.9us"
exit = "5us"
console = "8us"
lock = "5us"
chunk = "30us"
[[platform.cache]]
level = 2
kind = "unified"
size = "1MiB"
ways = 16
line = "64B"
shared_by = COUNT
"#;

/// What a random system has.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    pub cpus: u64,
    pub vms: u64,
    pub vcpus: u64,
    pub tasks: u64,
    /// Utilisation of each VM, in thousandths.
    pub load: u64,
    /// In microseconds.
    pub reload: u64,
    pub resources: u64,
    pub colors: bool,
    pub limits: bool,
    /// `server` and what is given of it.
    pub vcpu: &'static str,
}

pub const SMALL: Shape = Shape {
    cpus: 4,
    vms: 4,
    vcpus: 1,
    tasks: 3,
    load: 200,
    reload: 0,
    resources: 0,
    colors: false,
    limits: false,
    vcpu: "server = \"deferrable\"",
};

/// A description of this shape.
pub fn system(shape: &Shape, seed: u64) -> String {
    let mut random = Random::new(seed);
    let mut text = BOARD.replace("COUNT", &shape.cpus.to_string());
    if shape.reload > 0 {
        text = text.replacen(
            "[platform]",
            &format!("[platform]\ncolor_reload = \"{}us\"", shape.reload),
            1,
        );
    }
    for resource in 0..shape.resources {
        let vms: Vec<String> = (0..shape.vms).map(|vm| format!("\"v{vm}\"")).collect();
        let _ = writeln!(text, "[[resource]]\nname = \"r{resource}\"\nvms = [{}]", vms.join(", "));
    }
    for vm in 0..shape.vms {
        let _ = writeln!(
            text,
            "[[vm]]\nname = \"v{vm}\"\nboot = \"raw\"\nmemory = \"16MiB\"\nkernel = \"rt.bin\""
        );
        if shape.colors {
            text.push_str("colors = \"planned\"\n");
        }
        if shape.limits {
            text.push_str("bandwidth = \"planned\"\n");
        }
        for _ in 0..shape.vcpus {
            let _ = writeln!(text, "[[vm.vcpu]]\n{}", shape.vcpu);
        }
        let parts: Vec<u64> = (0..shape.tasks).map(|_| random.between(10, 100)).collect();
        let sum: u64 = parts.iter().sum();
        for (task, part) in parts.iter().enumerate() {
            let period = random.of(&[10_u64, 20, 25, 40, 50, 80, 100, 200]);
            // In nanoseconds.
            let wcet = (period * 1_000 * shape.load * part / sum).max(20_000);
            let _ = writeln!(text, "[[vm.task]]\nname = \"t{task}\"\nperiod = \"{period}ms\"");
            match shape.colors {
                true => {
                    let _ = writeln!(
                        text,
                        "wcet = {{ 1 = \"{}ns\", 2 = \"{}ns\", 4 = \"{wcet}ns\" }}",
                        wcet / 5 * 6,
                        wcet / 10 * 11
                    );
                }
                false => {
                    let _ = writeln!(text, "wcet = \"{wcet}ns\"");
                }
            }
            if shape.limits {
                let _ = writeln!(text, "accesses = {}", random.between(10, 1_000));
            }
            if task == 0 && shape.resources > 0 {
                let resource = vm % shape.resources;
                let _ = writeln!(
                    text,
                    "sections = [{{ resource = \"r{resource}\", length = \"5us\" }}]"
                );
            }
        }
    }
    text
}
