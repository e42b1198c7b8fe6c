//! The plan as text: the example of the reference, and mistakes in it.

use bulkhead_system::plan::Plan;

/// The example of `docs/reference/plan.md`.
fn example() -> String {
    let page = include_str!("../../../docs/reference/plan.md");
    let text = page.split("```dts\n").nth(1).unwrap();
    text.split("```").next().unwrap().to_owned()
}

#[test]
fn the_example_of_the_reference_is_a_plan() {
    let plan = Plan::from_dts("plan.md", &example()).unwrap();
    assert_eq!(plan.name, "demo");
    assert_eq!(plan.vms[0].vcpus.len(), 2);
    println!("{}", plan.to_dts());
    assert_eq!(Plan::from_dts("plan.dts", &plan.to_dts()).unwrap(), plan);
    assert_eq!(Plan::from_dtb(&plan.to_dtb()).unwrap(), plan);
}
