//! vColoring: tasks that get colours of their own while the VM runs.

use bulkhead_tests::{Case, Vm};

#[test]
fn a_task_gets_its_colours() {
    let chase = Vm::rt("rt-chase")
        .memory("64MiB")
        .key("colors", "0-7")
        .key("extra_colors", "8-15")
        .key("extra_memory", "16MiB")
        .bootargs("chase.via=vcoloring chase.colors=8-11 chase.kib=1024 chase.rounds=2");
    let run = Case::new("vcoloring").vm(chase).run().ended();
    run.expect("chase", "chase: done");
}
