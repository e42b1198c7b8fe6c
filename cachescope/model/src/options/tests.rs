//! The meaning of options, and the messages about those that cannot be used.

use super::*;

fn parse(arguments: &[&str]) -> Result<Options, OptionError> {
    let read = |path: &Path| match path.to_str() {
        Some("good") => Ok("# from a plan\n\nvm=b:0x2000+0x1000 # two pages\ncpu=1:b\n".into()),
        Some("bad") => Ok("vm=b:0x2000+0x1000\nout=/etc\n".into()),
        _ => Err(io::ErrorKind::NotFound.into()),
    };
    Options::parse(arguments.iter().copied(), read)
}

#[test]
fn defaults_are_a_cortex_a53() {
    let options = parse(&["out=x"]).unwrap();
    assert_eq!((options.llc.sets(), options.llc.ways()), (1024, 16));
    assert_eq!(options.l1.unwrap().sets(), 128);
    assert_eq!(options.clock.cycles(options.memory), 100);
}

#[test]
fn a_build_without_parquet_says_so() {
    let parsed = parse(&["out=x", "format=both"]).map(|options| options.format);
    let parsed = parsed.map_err(|error| error.to_string());
    let built_in = cfg!(feature = "parquet");
    assert_eq!(parsed.as_ref().ok(), built_in.then_some(&Format::Both));
    assert!(built_in || parsed.unwrap_err().ends_with("--features parquet"));
}

#[test]
fn what_is_said_counts_more_than_a_preset() {
    for order in [["preset=exynos-5422", "memory=90ns"], ["memory=90ns", "preset=exynos-5422"]] {
        let options = parse(&["out=x", order[0], order[1], "llc=1MiB:8"]).unwrap();
        assert_eq!((options.llc.size(), options.llc.ways()), (1 << 20, 8));
        assert_eq!(options.l1.unwrap().ways(), 2);
        let cycles = [options.llc_hit, options.memory].map(|time| options.clock.cycles(time));
        assert_eq!(cycles, [52, 180]);
    }
}

#[test]
fn everything_can_be_said() {
    let options = parse(&[
        "out=x",
        "l1=64KiB:4",
        "preset=i7-2600",
        "l1i=16KiB:1",
        "fetch=off",
        "l1-policy=plru",
        "llc=2MiB:16",
        "llc-policy=random",
        "line=128",
        "inclusive=on",
        "seed=9",
        "page=16KiB",
        "mhz=1500",
        "l1-hit=2",
        "llc-hit=20cy",
        "memory=80ns",
        "bus=5ns",
        "quantum=1us",
        "bin=10ms",
        "start=boot",
        "vm=a:0x0+4KiB",
        "vm=hypervisor:0x10000+8KiB",
        "uncached=0x11000+4KiB",
        "cpu=0:a",
        "ranges=good",
    ])
    .unwrap();
    assert_eq!(options.llc.line(), 128);
    assert_eq!(options.llc.colors(options.page), 8);
    assert_eq!(options.clock.cycles(options.quantum), 1500);
    assert_eq!(options.owners.name(options.vm_of(1).unwrap()), "b");
    assert_eq!(options.owners.of(0x11000), Owner::HYPERVISOR);
    assert!(options.owners.is_uncached(0x11000) && !options.owners.is_uncached(0x10000));
    assert!(!options.fetch && options.l1i.sets() == 128);
    assert_eq!(options.vm_of(2), None);
    assert!(parse(&["out=x", "l1=none"]).unwrap().l1.is_none());
}

#[test]
fn errors_say_what_was_expected() {
    for (arguments, expected) in [
        (&["llc=1MiB:16"][..], "out=DIR is missing"),
        (&["out=x", "cache=1"], "unknown option \"cache\"; expected one of out, format, preset"),
        (&["out=x", "llc=1MiB"], "llc=1MiB: expected SIZE:WAYS"),
        (&["out=x", "llc=1MB:16"], "llc=1MB:16: expected SIZE:WAYS"),
        (&["out=x", "llc=1000KiB:16"], "llc: 1024000 bytes in 16 ways of 64-byte lines"),
        (&["out=x", "llc=1280KiB:20", "llc-policy=plru"], "llc-policy=plru with 20 ways"),
        (&["out=x", "memory=5s"], "memory=5s: expected a time"),
        (&["out=x", "bin=0ns"], "bin=0ns: expected a time above 0"),
        (&["out=x", "preset=a53"], "preset=a53: expected cortex-a53, exynos-5422"),
        (&["out=x", "format=json"], "format=json: expected csv, parquet or both"),
        (&["out=x", "fetch=yes"], "fetch=yes: expected on or off"),
        (&["out=x", "l1i=48KiB:4"], "l1i: 49152 bytes in 4 ways"),
        (&["out=x", "uncached=0x800+4KiB"], "uncached=0x800+4KiB: 0x800+0x1000: expected start"),
        (&["out=x", "uncached=4KiB"], "uncached=4KiB: expected START+SIZE"),
        (&["out=x", "start=linux"], "start=linux: expected guest or boot"),
        (&["out=x", "page=5000"], "page=5000: expected a power of two"),
        (&["out=x", "vm=a:0x0+4KiB", "vm=b:0x0+4KiB"], "0x0 belongs to \"a\""),
        (&["out=x", "vm=a:0x0"], "vm=a:0x0: expected NAME:START+SIZE"),
        (&["out=x", "cpu=0:a"], "cpu=0:a: no vm=a:START+SIZE says"),
        (&["out=x", "cpu=64:a"], "cpu=64:a: expected CPU:NAME"),
        (&["out=x", "vm=a:0x0+4KiB", "cpu=0:a", "cpu=0:a"], "cpu=0 is given twice"),
        (&["out=x", "ranges=bad"], "bad:2: line=out=/etc: expected vm="),
        (&["out=x", "ranges=none"], "ranges=none: entity not found"),
    ] {
        let error = parse(arguments).unwrap_err().to_string();
        assert!(error.contains(expected), "{arguments:?}: {error}");
    }
}
