//! Random plans survive every way out and back, and `dtc` agrees with us.

use std::io::Write;
use std::process::{Command, Stdio};

use proptest::prelude::*;
use system::plan::{self, Plan};

/// Runs `dtc` on `input`. It is part of the tools that `make test` sets up.
fn dtc(arguments: &[&str], input: &[u8]) -> Vec<u8> {
    let mut child = Command::new("dtc")
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("dtc (package device-tree-compiler) is installed");
    child.stdin.take().unwrap().write_all(input).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn a_valid_plan_is_written_and_read_back(plan in crate::support::plan()) {
        prop_assert_eq!(plan::check(&plan), Ok(()));
        let text = plan.to_dts();
        prop_assert_eq!(Plan::from_dts("plan.dts", &text), Ok(plan.clone()), "{}", text);
        prop_assert_eq!(Plan::from_dtb(&plan.to_dtb()), Ok(plan.clone()));
        prop_assert_eq!(plan::compile("plan.dts", &text), Ok(plan.to_dtb()));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn dtc_compiles_the_text_to_the_same_tree(plan in crate::support::plan()) {
        let text = plan.to_dts();
        let compiled = dtc(&["-q", "-I", "dts", "-O", "dtb"], text.as_bytes());
        prop_assert_eq!(Plan::from_dtb(&compiled), Ok(plan.clone()));
        let shown = |tree: &[u8]| dtc(&["-q", "-I", "dtb", "-O", "dts"], tree);
        prop_assert_eq!(
            String::from_utf8(shown(&compiled)).unwrap(),
            String::from_utf8(shown(&plan.to_dtb())).unwrap()
        );
    }

    #[test]
    fn what_dtc_writes_is_read(plan in crate::support::plan()) {
        let text = dtc(&["-q", "-I", "dtb", "-O", "dts"], &plan.to_dtb());
        let text = String::from_utf8(text).unwrap();
        prop_assert_eq!(Plan::from_dts("plan.dts", &text), Ok(plan.clone()), "{}", text);
    }
}
