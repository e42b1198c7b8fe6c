//! Keys of descriptions and platforms, and the types of their values.

use abi::limits::{PRIVATE_INTERRUPTS, RING_BURST_MAX, SHARED_INTERRUPTS};
use abi::plan::words;
use system::description::Protocol;
use system::plan::{ANALYZED_MAX, Class, CounterSource, Lifecycle, Locks, SerialKind, Values};
use system::platform::{Architecture, CacheKind, Overheads};
use units::{Bytes, Duration, Frequency, Rate};

use crate::types::Type;

/// Stands for a value that the planner chooses.
const PLANNED: &str = "planned";

/// A key.
pub struct Key {
    pub name: &'static str,
    pub kind: Type,
    /// True if the table has no meaning without it.
    pub is_required: bool,
}

/// A table.
pub struct Table {
    pub keys: Vec<Key>,
    /// True if the page of the reference lists its keys one by one.
    #[cfg_attr(not(test), allow(dead_code, reason = "a test compares with the page"))]
    pub is_in_page: bool,
}

impl Table {
    fn new(keys: impl IntoIterator<Item = Key>) -> Self {
        Self { keys: keys.into_iter().collect(), is_in_page: true }
    }
}

/// A key that may be left out.
fn may(name: &'static str, kind: Type) -> Key {
    Key { name, kind, is_required: false }
}

/// A key that has to be there.
fn must(name: &'static str, kind: Type) -> Key {
    Key { name, kind, is_required: true }
}

fn text() -> Type {
    Type::Text
}

fn flag() -> Type {
    Type::Flag
}

fn time() -> Type {
    Type::quantity::<Duration>()
}

fn size() -> Type {
    Type::quantity::<Bytes>()
}

fn word<const N: usize>(words: [&'static str; N]) -> Type {
    Type::Words(words.into())
}

/// A name of VMs, channels and resources.
fn name() -> Type {
    Type::Form("^[a-z0-9_-]{1,15}$".into())
}

fn colors() -> Type {
    Type::Form(r"^\s*[0-9]+\s*(-\s*[0-9]+\s*)?(,\s*[0-9]+\s*(-\s*[0-9]+\s*)?)*$".into())
}

/// The number of an interrupt of a device.
fn interrupt() -> Type {
    Type::Whole(SHARED_INTERRUPTS.start.into(), u64::from(SHARED_INTERRUPTS.end) - 1)
}

/// The number of an interrupt that each CPU has.
fn private_interrupt() -> Type {
    Type::Whole(PRIVATE_INTERRUPTS.start.into(), u64::from(PRIVATE_INTERRUPTS.end) - 1)
}

fn limit() -> Type {
    let keys = [
        may("rate", Type::quantity::<Rate>()),
        may("accesses", Type::number()),
        may("period", time()),
    ];
    let table = Table { is_in_page: false, ..Table::new(keys) };
    Type::Any(vec![Type::quantity::<Rate>(), Type::Words(vec![PLANNED]), Type::Table(table)])
}

/// A description.
pub fn description() -> Table {
    let [vmpcp, mpcp] = Locks::ALL.map(Locks::as_str);
    let platform = [
        may("board", text()),
        may("hypervisor_memory", size()),
        may("hypervisor_colors", colors()),
        may("color_reload", time()),
    ];
    let mut own = self::platform();
    // What has to be there depends on `board`.
    own.keys.iter_mut().for_each(|key| key.is_required = false);
    let platform = Table::new(platform.into_iter().chain(own.keys));
    Table::new([
        may("name", text()),
        may("locks", word([vmpcp, mpcp, PLANNED])),
        may("section_overhead", time()),
        may("margin", Type::Form(r"^[0-9]{1,3}(\.[0-9]{1,4})?\s*%$".into())),
        may("objective", text()),
        must("platform", Type::Any(vec![text(), Type::Table(platform)])),
        may("resource", Type::Tables(resource())),
        may("channel", Type::Tables(channel())),
        may("serial", Type::Tables(serial_line())),
        may("link", Type::Tables(link())),
        may("chain", Type::Tables(chain())),
        must("vm", Type::Tables(vm())),
    ])
}

fn resource() -> Table {
    Table::new([
        must("name", name()),
        may("vms", Type::OneOrMore(Box::new(name()))),
        may("vm", name()),
    ])
}

fn channel() -> Table {
    Table::new([
        must("name", name()),
        must("from", name()),
        must("to", Type::OneOrMore(Box::new(name()))),
        may("size", size()),
        may("memory_at", Type::number()),
        may("ring_every", time()),
        may("ring_burst", Type::Whole(1, RING_BURST_MAX)),
    ])
}

fn serial_line() -> Table {
    Table::new([
        must("between", Type::OneOrMore(Box::new(name()))),
        may("tell_every", time()),
        may("tell_burst", Type::Whole(1, RING_BURST_MAX)),
    ])
}

fn link() -> Table {
    Table::new([
        must("name", name()),
        must("between", Type::OneOrMore(Box::new(name()))),
        may(
            "macs",
            Type::OneOrMore(Box::new(Type::Form(r"^[0-9a-fA-F]{2}(:[0-9a-fA-F]{2}){5}$".into()))),
        ),
        must("rate", Type::quantity::<Rate>()),
        may("burst", size()),
        may("interrupt_every", time()),
        may("interrupt_burst", Type::Whole(1, RING_BURST_MAX)),
    ])
}

fn chain() -> Table {
    Table::new([
        must("name", text()),
        must("steps", Type::OneOrMore(Box::new(text()))),
        may("max_reaction", time()),
        may("max_age", time()),
    ])
}

fn vm() -> Table {
    let protocols = Protocol::ALL.map(|(word, _)| word);
    let keys = [
        must("name", name()),
        may("vcpus", Type::Whole(1, u64::MAX).or(PLANNED)),
        must("memory", size()),
        may("memory_at", Type::number()),
        may("colors", colors().or(PLANNED)),
        may("share_colors", flag()),
        may("extra_colors", colors()),
        may("extra_memory", size()),
        may("color_serial", flag()),
        may("ways", colors()),
        may("bandwidth_percent", Type::Whole(1, 100)),
        may("bandwidth", limit()),
        may("compensation", Type::Whole(2, u64::from(u32::MAX))),
        may("flush", Type::OneOrMore(Box::new(word(["vcpu-switch", "task-switch"])))),
        may("critical", flag()),
        may("boot", word(protocols)),
        must("kernel", text()),
        may("load", Type::number()),
        may("entry", Type::number()),
        may("initrd", text()),
        may("initrd_load", Type::number()),
        may("device_tree", flag()),
        may("device_tree_load", Type::number()),
        may("bootargs", text()),
        may("console", flag()),
        may("vllc", flag()),
        may("vcpu", Type::Tables(vcpu())),
        may("device", Type::Tables(device())),
        may("task", Type::Tables(task())),
    ];
    let lifecycle = Lifecycle::KEYS.map(|(name, values)| {
        let kind = match values {
            Values::Flag => flag(),
            Values::Words(words) => Type::Words(words.into()),
            Values::Whole(least, most) => Type::Whole(least, most),
        };
        may(name, kind)
    });
    Table::new(keys.into_iter().chain(lifecycle))
}

fn vcpu() -> Table {
    let mut servers = Class::WORDS.to_vec();
    servers.push(PLANNED);
    Table::new([
        may("pcpu", Type::number()),
        may("server", Type::Words(servers)),
        may("budget", time()),
        may("period", time()),
        may("priority", Type::Whole(0, u32::MAX.into())),
        may("overrun", flag().or(PLANNED)),
        may("bandwidth", limit()),
    ])
}

fn device() -> Table {
    Table::new([
        must("compatible", Type::OneOrMore(Box::new(text()))),
        must("address", Type::number()),
        may("guest_address", Type::number()),
        must("size", size()),
        may("interrupt", interrupt()),
        may("guest_interrupt", interrupt()),
    ])
}

fn task() -> Table {
    let section =
        Table::new([must("resource", text()), may("after", time()), must("length", time())]);
    Table::new([
        must("name", text()),
        may("vcpu", Type::number()),
        may("period", time()),
        may("triggered_by", name()),
        may("rings", name()),
        may("offset", time()),
        may("sporadic", flag()),
        may("deadline", time()),
        may("jitter", time()),
        must("wcet", Type::Any(vec![time(), Type::ByColors])),
        may("bcet", time()),
        may("blocking", time()),
        may("self_suspension", time()),
        may("sections", Type::Tables(section)),
        may("exits", Type::Whole(0, 1_000_000_000)),
        may("accesses", Type::number()),
        may("colors", colors()),
        may("priority", Type::Whole(0, u32::MAX.into())),
    ])
}

/// A platform file.
pub fn platform() -> Table {
    Table::new([
        must("name", text()),
        must("about", text()),
        must("architecture", word(Architecture::ALL.map(|(word, _)| word))),
        may("counter", Type::quantity::<Frequency>()),
        may("image_base", Type::number()),
        may("kvm", flag()),
        may("analysis_only", text()),
        must("cpu", Type::Tables(cpu())),
        must("memory", Type::Tables(Table::new(region()))),
        may("gic", Type::Table(gic())),
        may("console", Type::Table(console())),
        may("overheads", Type::Table(Table::new(Overheads::KEYS.map(|key| may(key, time()))))),
        may("power_off", Type::Table(power_off())),
        may("qemu", Type::Table(qemu())),
        may("cache", Type::Tables(cache())),
        may("bandwidth", Type::Table(bandwidth())),
    ])
}

fn region() -> [Key; 2] {
    [must("start", Type::number()), must("size", size())]
}

fn cpu() -> Table {
    Table::new([
        must("model", text()),
        must("count", Type::Whole(1, ANALYZED_MAX as u64)),
        may("mpidr", Type::Whole(0, 0xff_00ff_ffff)),
        may("spin_table", Type::List(Box::new(Type::number()))),
    ])
}

fn gic() -> Table {
    let frame = || Type::Table(Table { is_in_page: false, ..Table::new(region()) });
    Table::new([
        must("version", Type::Whole(2, 3)),
        must("gicd", frame()),
        may("gicr", frame()),
        may("gicc", frame()),
        may("gich", frame()),
        may("gicv", frame()),
    ])
}

fn console() -> Table {
    let kind = must("kind", word(SerialKind::ALL.map(SerialKind::compatible)));
    let [start, size] = region();
    Table::new([kind, start, size, must("interrupt", interrupt())])
}

fn power_off() -> Table {
    let [start, size] = region();
    Table::new([must("kind", word(words::POWER_OFFS)), start, size])
}

fn qemu() -> Table {
    Table::new([
        must("machine", text()),
        may("cpu", text()),
        may("cpus", Type::Whole(1, 64)),
        may("memory", size()),
    ])
}

fn cache() -> Table {
    Table::new([
        must("level", Type::Whole(1, 7)),
        must("kind", word(CacheKind::ALL.map(|(word, _)| word))),
        must("size", size()),
        must("ways", Type::Whole(1, 1024)),
        must("line", size()),
        may("slices", Type::Whole(1, 64)),
        may("shared_by", Type::Whole(1, 64)),
        may("color_bits", word(["above-page", "above-l1"])),
        may("in_registers", flag()),
    ])
}

fn bandwidth() -> Table {
    let events = CounterSource::EVENTS.map(|(word, _)| word);
    Table::new([
        may("counter", word(CounterSource::WORDS)),
        may("event", Type::Any(vec![word(events), Type::Whole(0, u16::MAX.into())])),
        may("counter_bits", Type::Any(vec![Type::Whole(32, 32), Type::Whole(64, 64)])),
        may("counter_interrupt", private_interrupt()),
        may("counter_interrupts", Type::List(Box::new(interrupt()))),
        may("access_bytes", size()),
        may("access_latency", time()),
    ])
}
