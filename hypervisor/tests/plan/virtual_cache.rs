//! VMs that see their share of the cache, and the geometry of the real one.

use crate::{compile, load, reference};

/// The reference with RAM in colours 0-7 that the VM sees as a cache.
pub fn virtual_cache() -> String {
    const LLC: &str = "llc {
        cache-size = <0x100000>; ways = <16>; line-size = <64>; slices = <1>;
        color-mask = <0x0 0xf000>;
    };
    memory@40000000 {";
    let mut text = reference().replacen("memory@40000000 {", LLC, 1);
    for (from, to) in [
        ("0x0 0x40000000 0x0 0x20000000>", "0x0 0x40000000 0x0 0x10000000>"),
        ("0x0 0x46000000 0x0 0x20000000>", "0x0 0x46000000 0x0 0x20280000>; colors = <0x0 0xff>"),
        ("vm-name =", "vllc = <1>; vm-name ="),
    ] {
        assert!(text.contains(from), "{from}");
        text = text.replacen(from, to, 1);
    }
    text
}

#[test]
fn a_virtual_cache_is_a_share_of_the_real_one() {
    for (colors, share) in [("0xff", 1), ("0xffff", 0)] {
        let blob = compile(&virtual_cache().replace("0xff>", &format!("{colors}>")));
        assert_eq!(load(&blob).unwrap().vms[0].cache_share, Some(share), "{colors}");
    }
    let blob = compile(&virtual_cache().replace("vllc = <1>;", ""));
    assert_eq!(load(&blob).unwrap().vms[0].cache_share, None);
}

#[test]
fn virtual_caches_that_cannot_be_are_refused() {
    for (from, to, problem) in [
        ("vllc = <1>", "vllc = <0>", "must be <1>, or not there"),
        ("colors = <0x0 0xff>", "colors = <0x0 0x7>", "needs 1, 2, 4, ... colours"),
        ("color-mask = <0x0 0xf000>", "color-mask = <0x0 0xe000>", "needs colours of one page, "),
        ("0xf000>;", "0xf000>; not-in-registers;", "needs a cache that the CPU's registers"),
        ("0x0 0x40000000 0x0 0x10000000>", "0x0 0x40004000 0x0 0x10000000>", "and RAM aligned"),
    ] {
        let text = virtual_cache();
        assert!(text.contains(from), "{from}");
        let blob = compile(&text.replacen(from, to, 1));
        let error = load(&blob).expect_err(to).to_string();
        let at = "plan: /vms/vm@0: vllc: ";
        assert!(error.starts_with(at) && error.contains(problem), "{error}");
    }
    let blob = compile(&reference().replace("vm-name", "vllc = <1>; vm-name"));
    let error = load(&blob).unwrap_err().to_string();
    assert_eq!(error, "plan: /vms/vm@0: vllc: needs RAM with colors");
}

/// The mask must make sense even though no VM has colours: guests ask how many there are.
#[test]
fn masks_that_cannot_be_are_refused() {
    for mask in ["0x0 0x5000", "0x0 0x1800", "0xffffffff 0xfffff000"] {
        let llc = format!(
            "llc {{ cache-size = <0x100000>; ways = <16>; line-size = <64>; slices = <1>;
                color-mask = <{mask}>; }}; hypervisor@40000000 {{"
        );
        let text = reference().replacen("hypervisor@40000000 {", &llc, 1);
        let error = load(&compile(&text)).expect_err(mask).to_string();
        assert_eq!(error, "plan: /platform/llc: color-mask: must be a few bits above the page");
    }
}
