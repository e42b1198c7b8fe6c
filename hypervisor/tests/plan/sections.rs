//! Resources that VMs share, and the limits of sections.

use policy::rate::Rate;
use policy::server::Policy;
use policy::time::{Duration, Instant};

use crate::{compile, load, reference};

const RESOURCES: &str = "	resources {
		#address-cells = <1>;
		#size-cells = <0>;
		resource@0 { reg = <0>; resource-name = \"bus\"; vms = <0>; };
		resource@1 { reg = <1>; resource-name = \"log\"; vms = <0>; };
	};

	vms {";

#[test]
fn resources_are_read_and_refused() {
    let good = reference().replacen("	vms {", RESOURCES, 1);
    let blob = compile(&good);
    let plan = load(&blob).unwrap();
    assert!(plan.locks.ceilings);
    let names: Vec<_> = plan.locks.resources.iter().map(|it| (it.name, it.vms)).collect();
    assert_eq!(names, [("bus", 1), ("log", 1)]);
    let blob = compile(&good.replacen("model =", "locks = \"mpcp\";\n	model =", 1));
    assert!(!load(&blob).unwrap().locks.ceilings);
    for (from, to, node, part) in [
        ("\"log\"", "\"bus\"", "/resources/resource@1", "another resource"),
        ("\"log\"", "\"L\"", "/resources/resource@1", "1 to 15 characters"),
        ("vms = <0>", "vms = <1>", "/resources/resource@0", "VMs that exist"),
        ("vms = <0>", "vms = <0 0>", "/resources/resource@0", "ascending"),
        ("vms = <0>", "vms = <0xffffffff>", "/resources/resource@0", "VMs that exist"),
        ("resource-name", "resource-nam", "/resources/resource@0", "unknown property"),
    ] {
        let blob = compile(&good.replacen(from, to, 1));
        let error = load(&blob).expect_err(to).to_string();
        assert!(error.contains(node) && error.contains(part), "{to}: {error}");
    }
}

#[test]
fn overrun_is_in_ticks_and_fits() {
    let vcpu = |more: &str| {
        let server = format!(
            "vcpu@0 {{ reg = <0>; pcpu = <0>; server = \"deferrable\"; priority = <1>;
             budget-ns = <0x0 3000000>; period-ns = <0x0 10000000>; {more} }};"
        );
        compile(&reference().replacen("vcpu@0 { reg = <0>; pcpu = <0>; };", &server, 1))
    };
    let blob = vcpu("overrun-ns = <0x0 1000008>;");
    let server = load(&blob).unwrap().vms[0].vcpus[0].server.unwrap();
    let Policy::Deferrable(parameters) = server.policy(Instant(0)) else { panic!("{server:?}") };
    assert_eq!((parameters.budget, parameters.overrun), (Duration(187_500), Duration(62_500)));
    let blob = vcpu("overrun-ns = <0x0 7000001>;");
    let error = load(&blob).expect_err("too long").to_string();
    assert!(error.contains("vcpu@0: overrun-ns: is more than the budget leaves"), "{error}");

    // A VCPU can overrun for as long as it may be in sections.
    let found = |text: &str| {
        let blob = vcpu(text);
        let vcpu = load(&blob).unwrap().vms[0].vcpus[0];
        (vcpu.hold, vcpu.rate)
    };
    let limits = |hold: &str, interval: &str, early: &str| {
        let properties =
            [("hold", hold), ("sections-interval", interval), ("sections-early", early)];
        let text = |(name, value)| format!("{name}-ns = /bits/ 64 <{value}>; ");
        properties.into_iter().filter(|it| !it.1.is_empty()).map(text).collect::<String>()
    };
    // And may rather be entered too often.
    let rate = Some(Rate::new(Duration(62_500), Duration(125)));
    assert_eq!(found(&limits("1000008", "1000015", "1999")), (62_500, rate));
    assert_eq!(found(""), (0, None));
    let long = "must be 1 ns to one minute";
    let (often, early) = ("must be 1 us to one hour", "must be at most 2^56 ns");
    for (values, name, why) in [
        (["0", "1000", "0"], "hold", long),
        (["60000000001", "1000", "0"], "hold", long),
        (["1", "999", "0"], "sections-interval", often),
        (["1", "3600000000001", "0"], "sections-interval", often),
        (["1", "1000", "72057594037927937"], "sections-early", early),
        (["1", "", "0"], "sections-interval", "is missing"),
        (["1", "1000", ""], "sections-early", "is missing"),
        (["", "1000", ""], "sections-interval", "needs hold-ns"),
        (["", "", "0"], "sections-early", "needs hold-ns"),
    ] {
        let blob = vcpu(&limits(values[0], values[1], values[2]));
        let error = load(&blob).expect_err("no limits");
        let text = format!("vcpu@0: {name}-ns: {why}");
        assert!(error.to_string().contains(&text), "{text}: {error}");
    }
}
