//! Hypervisors whose memory is limited to colours.

use crate::virtual_cache::virtual_cache;
use crate::{compile, load};

/// The same without a virtual cache and with the hypervisor in colour 15.
fn hypervisor_in_colors() -> String {
    let loaded = "reg = <0x0 0x40000000 0x0 0x06000000>;";
    let own = "colors = <0x0 0x8000>; host-reg = <0x0 0x46000000 0x0 0x04000000>;";
    let text = virtual_cache().replacen("vllc = <1>;", "", 1);
    assert!(text.contains(loaded));
    text.replacen(loaded, &format!("{loaded} {own}"), 1)
}

#[test]
fn the_hypervisor_has_the_frames_of_its_colours() {
    let blob = compile(&hypervisor_in_colors());
    let platform = load(&blob).unwrap().platform;
    let own = platform.own.expect("it has colours");
    assert_eq!(
        (own.frames(), own.stripe.frame(0), own.stripe.frame(1)),
        (1024, 0x4600_f000, 0x4601_f000)
    );
    assert_eq!(platform.hypervisor, own.guest);
    let blob = compile(&virtual_cache());
    assert!(load(&blob).unwrap().platform.own.is_none());
}

#[test]
fn colours_that_the_hypervisor_cannot_have_are_refused() {
    let hypervisor = "/platform/hypervisor@40000000";
    let memory = "/vms/vm@0/memory@40000000";
    for (from, to, node, property, problem) in [
        ("colors = <0x0 0x8000>;", "", hypervisor, "host-reg", "needs colors"),
        ("<0x0 0x8000>", "<0x0 0x18000>", hypervisor, "colors", "must be colours of /platform/llc"),
        (
            "0x0 0x46000000 0x0 0x04",
            "0x0 0x46001000 0x0 0x04",
            hypervisor,
            "host-reg",
            "must start",
        ),
        ("0x0 0x46000000 0x0 0x04", "0x0 0x45f00000 0x0 0x04", hypervisor, "host-reg", "overlaps"),
        (
            "0x0 0x46000000 0x0 0x04",
            "0x1 0x46000000 0x0 0x04",
            hypervisor,
            "host-reg",
            "one memory bank",
        ),
        ("<0x0 0x8000>", "<0x0 0x8080>", memory, "host-reg", "which belongs to the hypervisor"),
        (
            "0x20280000>; colors = <0x0 0xff>;",
            "0x10000000>;",
            memory,
            "colors",
            "the hypervisor has colours of its own",
        ),
    ] {
        let text = hypervisor_in_colors();
        assert!(text.contains(from), "{from}");
        let blob = compile(&text.replacen(from, to, 1));
        let error = load(&blob).expect_err(to).to_string();
        let at = format!("plan: {node}: {property}: ");
        assert!(error.starts_with(&at) && error.contains(problem), "{error}");
    }
}
