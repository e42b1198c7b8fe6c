//! Processes in Debian's Linux that get cache colours of their own by `bhctl`.

use tests::{Case, Run, Vm};

/// Linux with 16 MiB in each of four extra colours.
fn linux(job: &str) -> Vm {
    linux_with("initrd.cpio", job)
}

fn linux_with(initrd: &str, job: &str) -> Vm {
    Vm::linux_with(initrd, job)
        .memory("256MiB")
        .key("colors", "0-7")
        .key("extra_colors", "8-11")
        .key("extra_memory", "64MiB")
        .more("color_serial = true\n")
}

/// What `bhctl` said after the job announced this command, for the nth time from 0.
fn said<'a>(run: &'a Run, command: &str, nth: usize) -> Vec<&'a str> {
    let lines = run.lines("linux");
    let announced = format!("linux: coloring: {command}");
    let at = lines.iter().enumerate().filter(|(_, line)| line.starts_with(&announced)).nth(nth);
    let (at, _) = at.unwrap_or_else(|| panic!("{announced} is missing\n{}", run.log()));
    lines[at + 1..].iter().take_while(|line| !line.contains("coloring: bhctl")).copied().collect()
}

/// A line of a command's answer that starts like this; the rest of it.
#[track_caller]
fn rest<'a>(answer: &[&'a str], start: &str) -> &'a str {
    let found = answer.iter().find_map(|line| line.strip_prefix(start));
    found.unwrap_or_else(|| panic!("no line starts with {start:?}: {answer:#?}"))
}

#[test]
fn processes_ask_for_colors_and_give_them_back() {
    let run = Case::new("linux-coloring").vm(linux("coloring")).run().ended();
    run.expect("linux", "linux: coloring done");

    let show = said(&run, "bhctl show", 0);
    assert_eq!(rest(&show, "bhctl: cache "), "bytes=1048576 ways=16 line_bytes=64 colors=16");
    assert_eq!(rest(&show, "bhctl: colors "), "default=0-7 extra=8-11");
    assert_eq!(rest(&show, "bhctl: pool frames="), "16384 free=16384");
    assert_eq!(rest(&show, "bhctl: pool color=9 "), "free=4096");
    let fresh = said(&run, "bhctl color-of --pages 32", 0);
    assert!(rest(&fresh, "bhctl: pages count=32 colors=").starts_with("0-7 "), "{fresh:?}");

    let one = said(&run, "bhctl request --pages 32 8", 0);
    assert_eq!(rest(&one, "bhctl: pages "), "count=32 colors=8 8=32");
    let all = said(&run, "bhctl request --pages 256 8-11", 0);
    assert_eq!(rest(&all, "bhctl: pages "), "count=256 colors=8-11 8=64 9=64 10=64 11=64");
    let none = said(&run, "bhctl request --pages 32 none", 0);
    assert!(rest(&none, "bhctl: pages count=32 colors=").starts_with("0-7 "), "{none:?}");

    // What is refused changes nothing, which the pages' contents show to bhctl, too.
    let default = said(&run, "bhctl request --pages 32 0", 0);
    rest(&default, "bhctl: these are not all extra colours");
    assert_eq!(rest(&default, "linux: coloring: status "), "1");
    let many = said(&run, "bhctl request --pages 24000 8", 0);
    rest(&many, "bhctl: the pool has too few free frames");
    assert_eq!(rest(&many, "linux: coloring: status "), "1");

    // Frames that a dead process kept, and how they are taken back.
    let kept = said(&run, "bhctl request --pages 512 --keep", 0);
    assert_eq!(rest(&kept, "bhctl: pages "), "count=512 colors=8-11 8=128 9=128 10=128 11=128");
    let left = said(&run, "bhctl show", 1);
    let free: u64 = rest(&left, "bhctl: pool frames=16384 free=").parse().unwrap();
    assert!(free <= 16384 - 512, "{free}");
    rest(&said(&run, "bhctl free --memory", 0), "bhctl: free pages=");
    // All but those whose pages the kernel has taken for itself meanwhile: 75 once, on a busy machine.
    let taken_back = said(&run, "bhctl show", 2);
    let free: u64 = rest(&taken_back, "bhctl: pool frames=16384 free=").parse().unwrap();
    assert!(free >= 16384 - 128, "{free}");

    // The port of closed guests.
    let serial = said(&run, "bhctl run --policy rr:50 -- bhctl serial --pages 32 --colors 8", 0);
    assert_eq!(rest(&serial, "bhctl: pages "), "count=32 colors=8 8=32");
    let wrong = said(&run, "bhctl run --policy rr:50 -- bhctl serial --colors 63", 0);
    assert!(rest(&wrong, "bhctl: /dev/ttyAMA1, ").contains("these are not all extra colours"));

    assert_eq!(run.lines("linux").iter().filter(|line| **line == "bhctl: audit ok").count(), 2);
    assert!(run.value("linux", "latency: task=1 set_bytes=262144 ", "pages") >= 64);
}

/// A task and its co-runner, each in colours of its own, one asking on the serial port.
#[test]
fn a_task_is_measured_beside_another() {
    let job = "latency job.set=128KiB job.loads=20000 job.jobs=4 job.colors=8-10 job.corunners=1 \
               job.corunner_colors=11 job.serial=/dev/ttyAMA1";
    let run = Case::new("linux-latency").vm(linux(job)).run().ended();
    run.expect("linux", "linux: measure co-runner 1 on CPU 0: latency ");
    run.expect("linux", "latency: task=1 set_bytes=131072 loads=20000 jobs=4 colors=8-10 ");
    run.expect("linux", "linux: measure done");
}

/// A program that knows nothing of colours gets them, its heap included.
#[test]
fn a_program_of_debian_runs_in_colors() {
    let job = "victim job.program=bzip2 job.jobs=1 job.warm_up=0 job.colors=8-9 job.heap=4MiB";
    let run = Case::new("linux-victim").vm(linux_with("victims.cpio", job)).run().ended();
    let pages = run.value("linux", "bhctl: run task=1 job=0 status=0 colors=8-9 ", "pages");
    assert!(pages >= 1024, "{pages}");
    // It gave them back when it ended.
    run.expect("linux", "bhctl: pool frames=16384 free=16384");
    run.expect("linux", "linux: measure done");
}

#[test]
fn a_job_refuses_what_it_does_not_know() {
    let run = Case::new("linux-job-key").vm(linux("latency job.color=8")).run().ended();
    run.expect("linux", "linux: measure FAILED: there is no job.color here, there are: set ");
}
