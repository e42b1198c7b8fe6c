//! `bulkhead import`; what it takes out of trees is tested in `crates/devicetree`.

use testing::sandbox;

#[test]
fn what_is_no_device_tree_is_refused() {
    let sandbox = sandbox!();
    sandbox.write("text.dtb", "/dts-v1/;\n/ { };\n");
    let parts = ["text.dtb: this is not a flattened device tree", "help: Linux has the one"];
    sandbox.bulkhead(&["import", "dtb", "text.dtb", "-o", "new.toml"]).assert_refused(&parts);
    assert!(!sandbox.path("new.toml").exists(), "nothing is written");
    sandbox.bulkhead(&["import", "dtb", "nowhere"]).assert_refused(&["cannot read nowhere"]);
    sandbox.bulkhead(&["import", "dtb", "."]).assert_refused(&["cannot read ."]);
    sandbox.bulkhead(&["import", "dts", "text.dtb"]).assert_refused(&["dts", "dtb"]);

    // The source of a tree is not compiled.
    sandbox.bulkhead(&["plan", "test.dts", "-o", "plan.dts"]).assert_status(0);
    let parts = ["plan.dts: this is not a flattened"];
    sandbox.bulkhead(&["import", "dtb", "plan.dts"]).assert_refused(&parts);
}
