//! Random plans that hold all the rules, and damage to texts and bytes.

use policy::color::{Cache, ColorSet, Geometry, IndexBits};
use policy::server::kind::Kind;
use proptest::collection::{btree_set, vec};
use proptest::option;
use proptest::prelude::*;
use system::address::{IntId, Ipa, Mpidr, Pcpu, PhysicalAddress, Region};
use system::plan::{
    Area, BandwidthCounter, Boot, Budget, Channel, Class, Coloring, Compensation, CounterSource,
    Device, DeviceInterrupts, Entries, File, Frames, Gic, Lifecycle, Link, Llc, Locks, Mac,
    Mapping, Memory, MemoryBudget, OnEvent, Plan, Platform, Pool, PowerOff, Resource, Rings,
    Serial, SerialKind, SerialLine, Server, Vcpu, VirtualDevice, VirtualGic, Vm, frames_needed,
};
use units::{Bytes, Duration, Rate};

const PAGE: u64 = 4096;
/// The bank of RAM in which coloured areas lie.
const COLORED: u64 = 0x1_0000_0000;
/// Where guests see channels.
const CHANNELS: u64 = 0x3000_0000;

/// Texts with everything that has to be escaped, but no zero byte.
fn text() -> impl Strategy<Value = String> {
    prop_oneof!["[a-zA-Z0-9=,._/ -]{1,24}", "[\\\\\"\t\n\r\u{1}\u{7f}äß/*;{}<>a-c]{1,12}",]
}

fn name() -> impl Strategy<Value = String> {
    "[a-z0-9_-]{1,13}"
}

fn event() -> impl Strategy<Value = OnEvent> {
    prop_oneof![Just(OnEvent::Stop), Just(OnEvent::Restart)]
}

/// What is random about a VM; addresses and numbers follow from it.
#[derive(Clone, Debug)]
struct Draft {
    name: String,
    events: (OnEvent, OnEvent, u32),
    /// Of each VCPU, its server if it has one, and whether it joins the one before.
    vcpus: Vec<(Option<Class>, bool)>,
    /// Memory accesses, of each VCPU instead of all, credits, whether it is critical; if the
    /// plan has a counter.
    bandwidth: (Option<MemoryBudget>, bool, Option<Compensation>, bool),
    /// Pages of RAM of each region, and of the gaps before them.
    memory: Vec<(u64, u64)>,
    /// Bits for its colours, if the plan has some.
    colors: Option<u64>,
    /// Whether it sees them as a cache, if they can be one.
    vllc: bool,
    /// Bits for its extra colours, frames of its pool, whether it has a port for
    /// them; if it has colours and does not see them.
    extra: Option<(u64, u32, bool)>,
    warm_up: bool,
    serial: bool,
    devices: Vec<(Vec<String>, u64, bool)>,
    files: (String, Option<String>, Option<String>, bool),
}

fn draft() -> impl Strategy<Value = Draft> {
    let files = (text(), option::of(text()), option::of(text()), any::<bool>());
    // dtc 1.6 writes a digit behind a zero byte so that it cannot be read back: no digit first.
    let device = (vec("[a-z][a-z0-9,-]{0,11}", 1..3), 1..4u64, any::<bool>());
    (
        name(),
        (event(), event(), any::<u32>()),
        vec((option::of(class()), any::<bool>()), 1..=3),
        (
            vec((4..2000u64, 0..500u64), 1..3),
            option::weighted(0.8, any::<u64>()),
            any::<bool>(),
            option::of((any::<u64>(), 1..3000u32, any::<bool>())),
        ),
        (any::<(bool, bool)>(), bandwidth()),
        vec(device, 0..3),
        files,
    )
        .prop_map(
            |(name, events, vcpus, cache, ((serial, warm_up), bandwidth), devices, files)| {
                let (memory, colors, vllc, extra) = cache;
                Draft {
                    name,
                    events,
                    vcpus,
                    bandwidth,
                    memory,
                    colors,
                    vllc,
                    extra,
                    warm_up,
                    serial,
                    devices,
                    files,
                }
            },
        )
}

/// What a VM may access.
fn bandwidth() -> impl Strategy<Value = (Option<MemoryBudget>, bool, Option<Compensation>, bool)> {
    let budget = (1..=1u64 << 31, 20_000..=60_000_000_000u64)
        .prop_map(|(accesses, period)| MemoryBudget { accesses, period: Duration(period) });
    let credits = (2..9u32, any::<bool>())
        .prop_map(|(periods, flush_task_switch)| Compensation { periods, flush_task_switch });
    (option::of(budget), any::<bool>(), option::of(credits), any::<bool>())
}

/// What counts accesses; the PCPUs are given.
fn counter(seed: (u8, u16, bool, u32), cpus: u32) -> BandwidthCounter {
    let (source, event, shared, access) = seed;
    let source = match source % 3 {
        0 => CounterSource::Pmu { event },
        1 => CounterSource::Cycles,
        _ => CounterSource::Cachescope,
    };
    BandwidthCounter {
        source,
        bits: 64 >> (event % 2),
        interrupts: match shared {
            true => (0..cpus).map(|pcpu| IntId(900 + pcpu)).collect(),
            // The hypervisor uses 25 to 27 itself.
            false => vec![IntId(16 + u32::from(event % 9))],
        },
        access: (access % 2 == 0).then_some(Bytes(u64::from(access) + 1)),
    }
}

/// Gives the VMs the budgets that were drawn, as far as they fit.
fn throttle(vms: &mut [Vm], drafts: &[Draft], bits: u32) {
    for (vm, draft) in vms.iter_mut().zip(drafts) {
        let (budget, each, credits, critical) = draft.bandwidth;
        vm.critical = critical;
        if each {
            vm.vcpus.iter_mut().for_each(|vcpu| vcpu.memory_budget = budget);
        } else {
            vm.memory_budget = budget;
            vm.compensation = credits.filter(|_| budget.is_some() && !critical);
        }
    }
    let any = vms.iter().any(|vm| vm.critical);
    for vm in vms {
        let most = BandwidthCounter::largest_budget(bits);
        vm.compensation = vm
            .compensation
            .filter(|it| any && vm.memory_budget.is_some_and(|own| own.most(Some(*it)) <= most));
    }
}

/// Servers of which eight fit on a PCPU.
fn class() -> impl Strategy<Value = Class> {
    let budget = (1_000..1_000_000u64, 8..1_000u64).prop_map(|(budget, factor)| Budget {
        budget: Duration(budget),
        period: Duration(budget * factor),
    });
    prop_oneof![
        budget.clone().prop_map(|it| Class::Reserved(Kind::Periodic, it)),
        budget.clone().prop_map(|it| Class::Reserved(Kind::Deferrable, it)),
        budget.prop_map(|it| Class::Reserved(Kind::Sporadic, it)),
        Just(Class::Background),
    ]
}

/// Caches with 4 to 32 colours.
fn llc() -> impl Strategy<Value = Geometry> {
    let geometry = |bytes, slices, bits| {
        Geometry::new(Cache::sliced(bytes, 16, 64, slices).unwrap(), PAGE, bits).unwrap()
    };
    let l1 = IndexBits::AboveL1(Cache::new(32 << 10, 4, 64).unwrap());
    let above_page = IndexBits::AbovePage;
    proptest::sample::select(vec![
        geometry(256 << 10, 1, above_page),
        geometry(1 << 20, 1, l1),
        geometry(1 << 20, 1, above_page),
        geometry(8 << 20, 4, above_page),
    ])
}

/// A plan for which every rule holds.
pub fn plan() -> impl Strategy<Value = Plan> {
    let kind = proptest::sample::select(SerialKind::ALL.to_vec());
    let mpidrs = btree_set(0..0xff_00ff_ffffu64, 8);
    let cache = option::of((llc(), any::<bool>(), option::of(any::<u64>())));
    let counter = option::of(any::<(u8, u16, bool, u32)>());
    let drafts = (vec(draft(), 1..=4), cache, counter);
    (text(), text(), any::<bool>(), kind, mpidrs, drafts, 0..9u32)
        .prop_map(|(name, board, v3, kind, mpidrs, (mut drafts, llc, seed), spare)| {
            // At most 8 VCPUs, which may want a PCPU each.
            while drafts.iter().map(|draft| draft.vcpus.len()).sum::<usize>() > 8 {
                drafts.pop();
            }
            let locks = Locks::ALL[usize::from(spare % 4 == 3)];
            let mut machine = Machine {
                pcpus: 0,
                vcpus: 0,
                may_join: false,
                may_overrun: locks == Locks::Vmpcp,
                ram: 0x4100_0000,
                device: 0x1000_0000,
                intid: 40,
                llc: llc.map(|(geometry, in_registers, _)| Llc { geometry, in_registers }),
                colored: Vec::new(),
            };
            let mut vms: Vec<_> = drafts
                .iter()
                .enumerate()
                .map(|(index, draft)| machine.vm(index, draft, v3))
                .collect();
            let all_colored = vms.iter().all(|vm| vm.colors().is_some());
            let hypervisor_area = llc
                .and_then(|(geometry, _, bits)| Some((geometry, bits?)))
                .filter(|_| all_colored)
                .map(|(geometry, bits)| machine.area(geometry, bits, 1024));
            let cpus = (machine.pcpus + spare).min(8);
            let counter = seed.map(|seed| self::counter(seed, cpus));
            if let Some(counter) = &counter {
                throttle(&mut vms, &drafts, counter.bits);
            }
            let platform = Platform {
                board,
                memory: vec![
                    Region::new(0x4000_0000u64, Bytes::gib(1)),
                    Region::new(COLORED, Bytes::gib(4)),
                ],
                hypervisor: Region::new(0x4000_0000u64, Bytes::mib(16)),
                hypervisor_area,
                switch: (spare > 0).then_some(Duration(u64::from(spare) << 9)),
                kick: (spare > 1).then_some(Duration(u64::from(spare) << 10)),
                cpus: mpidrs.into_iter().map(Mpidr).take(cpus as usize).collect(),
                gic: host_gic(v3),
                serial: Serial {
                    kind,
                    registers: Region::new(0x0900_0000u64, PAGE),
                    interrupt: IntId(33),
                    pcpu: Pcpu(cpus - 1),
                },
                llc: machine.llc,
                spin_table: (0..if v3 { 0 } else { cpus })
                    .map(|index| PhysicalAddress(0x4000_00d8 + 8 * u64::from(index)))
                    .collect(),
                power_off: (!v3).then(|| PowerOff { registers: Region::new(0x0900_1000u64, PAGE) }),
                bandwidth_counter: counter,
            };
            let last = vms.len() as u32;
            let resource = |index: u32| Resource {
                name: format!("r-{index}"),
                vms: (index % last..last).collect(),
            };
            let resources = (0..spare * 2).map(resource).collect();
            let mut next = CHANNELS;
            let channel = |index: u32| {
                let size = PAGE * u64::from(1 + index % 3);
                let host = PhysicalAddress(machine.ram + (next - CHANNELS));
                let memory = Mapping { ipa: Ipa(next), host, size: Bytes(size) };
                next += size;
                let from = index % last;
                let to = (0..last)
                    .filter(|vm| *vm != from && !(*vm + index).is_multiple_of(3))
                    .collect();
                let rings = (spare % 2 == 1 && index % 3 < 2).then(|| Rings {
                    interval: Duration(1_000_000 + 7 * u64::from(index)),
                    early: Duration(u64::from(index % 2) * 333_333),
                });
                Channel { name: format!("c-{index}"), memory, from, to, rings }
            };
            let channels = (0..spare * 2).map(channel).filter(|it| !it.to.is_empty());
            let channels: Vec<_> = channels.collect();
            for vm in channels.iter().filter(|it| it.rings.is_some()).flat_map(Channel::vms) {
                vms[vm].bell = Some(VirtualDevice {
                    registers: Region::new(0xa02_0000u64, PAGE),
                    interrupt: IntId(35),
                });
            }
            let lines = if last > 1 { spare % 3 } else { 0 };
            let line = |index: u32| {
                let first = index % (last - 1);
                SerialLine {
                    registers: Region::new(0xa03_0000 + u64::from(index) * PAGE, PAGE),
                    vms: [first, first + 1],
                    interrupts: [IntId(40 + index), IntId(50 + index)],
                    tells: Rings {
                        interval: Duration(20_000 + u64::from(index)),
                        early: Duration(u64::from(spare)),
                    },
                }
            };
            let serial_lines = (0..lines).map(line).collect();
            let link = |index: u32| {
                let first = (index + 1) % (last - 1);
                Link {
                    name: format!("l-{index}"),
                    registers: Region::new(0xa04_0000 + u64::from(index) * PAGE, PAGE),
                    vms: [first, first + 1],
                    interrupts: [IntId(60 + index), IntId(70 + index)],
                    macs: [1, 2].map(|end| Mac([2, 0xff, 0, 0xfe, index as u8, end])),
                    rate: Rate(1_000 + 333 * u64::from(index)),
                    burst: Bytes(1514 + u64::from(spare)),
                    tells: Rings {
                        interval: Duration(20_001 + u64::from(index)),
                        early: Duration(u64::from(spare) * 3),
                    },
                }
            };
            let links = if last > 1 { (spare + 1) % 3 } else { 0 };
            let links = (0..links).map(link);
            // Pages of a VM with a link do not move.
            let links = links.filter(|it| it.vms.iter().all(|vm| vms[*vm as usize].pool.is_none()));
            let links = links.collect();
            Plan { name, platform, locks, resources, channels, serial_lines, links, vms }
        })
        .prop_filter("a device tree name is never empty", |plan| !plan.name.is_empty())
}

fn host_gic(v3: bool) -> Gic {
    let frame = |start: u64, size: u64| Region::new(start, size);
    match v3 {
        true => Gic::V3 { gicd: frame(0x800_0000, 0x1_0000), gicr: frame(0x80a_0000, 0xf6_0000) },
        false => Gic::V2 {
            gicd: frame(0x800_0000, 0x1_0000),
            gicc: frame(0x801_0000, 0x1_0000),
            gich: frame(0x803_0000, 0x1_0000),
            gicv: frame(0x804_0000, 0x1_0000),
        },
    }
}

/// What is not given away yet.
struct Machine {
    /// PCPUs and VCPUs so far.
    pcpus: u32,
    vcpus: u32,
    /// Whether the last VCPU has a server.
    may_join: bool,
    may_overrun: bool,
    ram: u64,
    device: u64,
    intid: u32,
    llc: Option<Llc>,
    colored: Vec<Frames>,
}

impl Machine {
    fn vm(&mut self, index: usize, draft: &Draft, v3: bool) -> Vm {
        let vcpus: Vec<_> =
            draft.vcpus.iter().map(|&(class, join)| self.vcpu(class, join)).collect();
        let colors = |llc: Llc, bits| colors(llc.geometry, bits);
        let vllc = draft.vllc
            && self.llc.zip(draft.colors).is_some_and(|(llc, bits)| {
                llc.in_registers
                    && llc.geometry.color_bytes() == PAGE
                    && colors(llc, bits).len().is_power_of_two()
            });
        let extra = draft.extra.filter(|_| !vllc);
        let (memory, pool) = match self.llc.zip(draft.colors) {
            Some((llc, bits)) => {
                let frames = extra.map_or(0, |(_, frames, _)| frames);
                let memory = self.colored(llc.geometry, bits, draft.memory[0].0, frames);
                let pool = extra.map(|(bits, frames, _)| Pool {
                    doorbell: Region::new(0xa00_0000u64, PAGE),
                    area: self.area(llc.geometry, bits, frames.into()),
                    frames,
                });
                (vec![memory], pool)
            }
            None => (self.contiguous(&draft.memory), None),
        };
        let first = memory[0].ipa.0;
        let has_port = pool.is_some() && extra.is_some_and(|(_, _, port)| port);
        let gicd = Region::new(0x800_0000u64, 0x1_0000);
        let gic = match v3 {
            true => {
                let size = 0x2_0000 * vcpus.len() as u64;
                VirtualGic::V3 { gicd, gicr: Region::new(0x80a_0000u64, size) }
            }
            false => VirtualGic::V2 { gicd, gicc: Region::new(0x801_0000u64, 0x2000) },
        };
        let (kernel, initrd, bootargs, device_tree) = draft.files.clone();
        Vm {
            name: format!("{}{index}", draft.name),
            lifecycle: Lifecycle {
                on_crash: draft.events.0,
                on_reset: draft.events.1,
                restart_limit: draft.events.2,
                // Not drawn, so that the plans of a seed stay what they were.
                aborts: draft.events.2 % 2 == 1,
                warm_up: draft.warm_up,
            },
            vllc,
            memory_budget: None,
            compensation: None,
            critical: false,
            vcpus,
            memory,
            gic,
            serial: draft.serial.then(|| VirtualDevice {
                registers: Region::new(0x900_0000u64, PAGE),
                interrupt: IntId(33),
            }),
            pool,
            color_serial: has_port.then(|| VirtualDevice {
                registers: Region::new(0xa01_0000u64, PAGE),
                interrupt: IntId(34),
            }),
            bell: None,
            devices: draft.devices.iter().map(|device| self.device(device)).collect(),
            boot: Boot {
                entry: Ipa(first + 0x1000),
                bootargs,
                kernel: File { file: kernel, load: Ipa(first + 0x1000) },
                initrd: initrd.map(|file| File { file, load: Ipa(first + 0x2008) }),
                device_tree: device_tree.then_some(Ipa(first)),
            },
        }
    }

    fn vcpu(&mut self, class: Option<Class>, join: bool) -> Vcpu {
        if !(join && self.may_join && class.is_some()) {
            self.pcpus += 1;
        }
        self.may_join = class.is_some();
        self.vcpus += 1;
        let server = class.map(|class| {
            let level = if class == Class::Background { 0 } else { 100 };
            let rest = class.budget().map_or(0, |it| it.period.0.saturating_sub(it.budget.0));
            let overrun = match class {
                Class::Reserved(kind, _) if kind.may_overrun() && self.may_overrun => rest / 3,
                _ => 0,
            };
            Server { class, priority: level + self.vcpus, overrun: Duration(overrun) }
        });
        let hold = Duration(if self.vcpus.is_multiple_of(2) { 1_000_000 } else { 0 });
        let entries = match hold.0 {
            0 => Entries::default(),
            _ => Entries { interval: Duration(2_000_000), early: Duration(1_000_000) },
        };
        Vcpu { pcpu: Pcpu(self.pcpus - 1), server, memory_budget: None, hold, entries }
    }

    fn contiguous(&mut self, regions: &[(u64, u64)]) -> Vec<Memory> {
        let mut ipa = 0x4000_0000;
        let place = |&(pages, gap): &(u64, u64)| {
            ipa += gap * PAGE;
            let (host, size) = (PhysicalAddress(self.ram), Bytes(pages * PAGE));
            let memory = Memory { ipa: Ipa(ipa), size, host, coloring: None };
            ipa += pages * PAGE;
            self.ram += pages * PAGE;
            memory
        };
        regions.iter().map(place).collect()
    }

    /// RAM of some of the colours.
    fn colored(&mut self, llc: Geometry, bits: u64, pages: u64, pool_frames: u32) -> Memory {
        let size = Bytes(pages * PAGE);
        let Area { colors, region } = self.area(llc, bits, frames_needed(size, pool_frames));
        Memory {
            ipa: Ipa(0x4000_0000),
            size,
            host: region.start,
            coloring: Some(Coloring { colors, area: region.size }),
        }
    }

    /// So many frames of some of the colours, upon other areas where no colour is
    /// common.
    fn area(&mut self, llc: Geometry, bits: u64, frames: u64) -> Area {
        let colors = colors(llc, bits);
        let period = u64::from(llc.colors()) * llc.color_bytes();
        let each = u64::from(colors.len()) * llc.color_bytes() / PAGE;
        let size = frames.div_ceil(each) * period;
        let mut area = Area { colors, region: Region::new(COLORED, size) };
        while let Some(other) = self.colored.iter().find(|other| other.overlap(&area.into())) {
            area.region.start = other.region.end();
        }
        self.colored.push(area.into());
        area
    }

    fn device(&mut self, (compatible, pages, interrupt): &(Vec<String>, u64, bool)) -> Device {
        let (host, intid) = (self.device, self.intid);
        self.device += pages * PAGE;
        self.intid += 1;
        Device {
            compatible: compatible.clone(),
            registers: Mapping {
                ipa: Ipa(host + 0x1000_0000),
                host: PhysicalAddress(host),
                size: Bytes(pages * PAGE),
            },
            interrupts: interrupt
                .then_some(DeviceInterrupts { guest: IntId(intid + 100), host: IntId(intid) }),
        }
    }
}

/// Those of the colours that the bits name; all if there is none.
fn colors(llc: Geometry, bits: u64) -> ColorSet {
    let set = ColorSet::from_bits(bits) & llc.all();
    if set.is_empty() { llc.all() } else { set }
}

/// A change to a text: some of its characters are replaced.
#[derive(Clone, Debug)]
pub struct Damage {
    at: proptest::sample::Index,
    length: usize,
    replacement: String,
}

/// Damage of the kind that typing and careless scripts do.
pub fn damage() -> impl Strategy<Value = Damage> {
    let replacement = prop_oneof![
        Just(String::new()),
        "[{}<>\\[\\];=,:\"'#/*\\\\&(.@0-9a-fx \n-]{1,4}",
        "[^a]{1,3}",
        Just("18446744073709551615".into()),
        Just("0xffffffffffffffff".into()),
        Just("[[vm]]\n".into()),
        Just("\"1ms\"".into()),
    ];
    (any::<proptest::sample::Index>(), 0..20usize, replacement)
        .prop_map(|(at, length, replacement)| Damage { at, length, replacement })
}

impl Damage {
    /// The damaged text.
    pub fn apply(&self, text: &str) -> String {
        let characters: Vec<char> = text.chars().collect();
        let start = self.at.index(characters.len() + 1);
        let end = (start + self.length).min(characters.len());
        let mut out: String = characters[..start].iter().collect();
        out.push_str(&self.replacement);
        out.extend(&characters[end..]);
        out
    }
}
