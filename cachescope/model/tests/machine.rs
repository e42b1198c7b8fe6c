//! Clocks, bus, time series and jobs of a whole machine.

use bulkhead_cachescope_model::{
    ALL_TOLD, Access, Block, LineOperation, Machine, Options, Position, prepare, write,
};

fn machine(arguments: &[&str], cpus: usize) -> Machine {
    let all = ["out=x"].iter().chain(arguments).copied();
    Machine::new(Options::parse(all, |_| unreachable!("no file is named")).unwrap(), cpus)
}

/// A block of `length` instructions, the first of which loads from an address.
/// Returns whether the slice is over.
fn load(machine: &mut Machine, cpu: usize, address: u64, length: u32) -> bool {
    let block = Block { instructions: length, first_access: 0, privileged: false };
    let over = machine.enter_block(cpu, block);
    machine.access(Position { at: 0, next: length }, Access { address, store: false });
    over
}

/// CPUs in turn: CPU i loads `lines[i]` lines, a line per block of 10 instructions.
fn stream(machine: &mut Machine, lines: &[u64]) {
    let mut done = vec![0; lines.len()];
    while done != lines {
        for (cpu, done) in done.iter_mut().enumerate() {
            while *done < lines[cpu] {
                let address = 0x4000_0000 + ((cpu as u64) << 28) + *done * 64;
                *done += 1;
                if load(machine, cpu, address, 10) {
                    break;
                }
            }
        }
    }
}

const TIMES: [&str; 5] = ["mhz=2000", "l1-hit=0", "llc-hit=20", "memory=100ns", "bus=40ns"];

#[test]
fn time_is_instructions_and_waiting() {
    let mut machine = machine(&TIMES, 1);
    stream(&mut machine, &[1000]);
    let cpu = machine.cpus()[0].counters();
    // 200 cycles of 0.5 ns each for memory; the bus is always free again.
    assert_eq!((cpu.instructions, cpu.llc_misses), (10_000, 1000));
    assert_eq!((cpu.cycles, cpu.bus_wait_cycles), (10_000 + 200_000, 0));
    // Again: 1000 lines are more than the private cache holds, fewer than the other.
    stream(&mut machine, &[1000]);
    let again = machine.cpus()[0].counters();
    assert_eq!((again.llc_misses, again.l1_misses), (1000, 2000));
    assert_eq!(again.cycles - cpu.cycles, 10_000 + 20 * 1000);
}

#[test]
fn cpus_that_share_the_bus_wait_for_it() {
    let time = |lines: &[u64]| {
        let mut machine = machine(&TIMES, 4);
        stream(&mut machine, lines);
        let cpus: Vec<_> = machine.cpus().iter().map(|cpu| cpu.counters()).collect();
        assert_eq!(machine.summary().bus.transfers, lines.iter().sum::<u64>());
        cpus
    };
    let alone = time(&[2000])[0];
    assert_eq!(alone.bus_wait_cycles, 0);
    // A miss takes 210 cycles and the bus 80 of them: four CPUs want 320 of
    // 210, so the bus is the bottleneck, and all CPUs wait alike.
    let together = time(&[2000; 4]);
    for cpu in &together {
        let bound = 2000 * 4 * 80;
        assert!(cpu.cycles > bound * 9 / 10 && cpu.cycles < bound * 11 / 10, "{together:?}");
        assert_eq!(cpu.cycles, cpu.instructions + cpu.stall_cycles);
    }
    // Two want 160 of 210: there is room for both.
    let both = time(&[2000; 2]);
    assert!(both.iter().all(|cpu| cpu.cycles < alone.cycles * 12 / 10), "{both:?}");
}

/// A miss takes 200 cycles and 10 instructions, and the bus 20 of them.
const AHEAD: [&str; 6] =
    ["mhz=2000", "l1-hit=0", "llc-hit=20", "memory=100ns", "bus=10ns", "prefetch=3"];

#[test]
fn lines_of_a_stream_are_prefetched_to_the_end_of_its_page() {
    let mut machine = machine(&AHEAD, 1);
    stream(&mut machine, &[64]);
    let cpu = machine.cpus()[0].counters();
    assert_eq!((cpu.l1_misses, cpu.llc_misses), (64, 3), "three misses make a stream");
    assert_eq!(machine.summary().bus.transfers, 64, "each line comes once");
    // Then a line comes with each of four requests on their way, of 200 cycles and the wait for the bus.
    let fast = (cpu.cycles - 3 * 210) / 61;
    assert!((50..=65).contains(&fast), "{fast} cycles for a line");
    stream(&mut machine, &[64 + 32]);
    assert_eq!(machine.summary().bus.transfers, 64 + 35, "three lines too many");
}

#[test]
fn what_is_no_stream_is_not_prefetched() {
    let time = |prefetch| {
        let mut machine = machine(&[&AHEAD[..5], &[prefetch]].concat(), 1);
        // Strides of 5 lines and more.
        for line in 0..1000_u64 {
            load(&mut machine, 0, 0x4000_0000 + line * line % 4096 * 5 * 64, 10);
        }
        (machine.cpus()[0].counters().cycles, machine.summary().bus.transfers)
    };
    assert_eq!(time("prefetch=3"), time("prefetch=0"));
}

#[test]
fn cpus_that_read_ahead_share_the_bus() {
    let cycles = |lines: &[u64]| {
        let mut machine = machine(&[&AHEAD[..4], &["bus=40ns", "prefetch=3"]].concat(), 2);
        stream(&mut machine, lines);
        let cycles: Vec<_> = machine.cpus().iter().map(|cpu| cpu.counters().cycles).collect();
        assert!(machine.summary().bus.transfers >= lines.iter().sum());
        cycles
    };
    // One alone takes all of the bus, 80 cycles for a line, but at the beginning of a page.
    let alone = cycles(&[6400, 0])[0] / 6400;
    assert!((80..=95).contains(&alone), "{alone}");
    // Two get half of it each, as evenly as those that read nothing ahead.
    let both = cycles(&[6400, 6400]).iter().map(|cycles| cycles / 6400).collect::<Vec<_>>();
    assert!(*both.iter().max().unwrap() >= 158, "all lines come over the bus: {both:?}");
    assert!(both.iter().all(|cycles| (138..=175).contains(cycles)), "{both:?}");
}

#[test]
fn cpus_that_want_too_much_of_the_bus_get_even_shares_of_it() {
    for (quantum, uneven_percent) in [(100, 1), (500, 14), (1000, 25)] {
        for (cpus, bus) in [(2, 80), (3, 40), (3, 80), (4, 40), (4, 60), (4, 80)] {
            let options = [format!("quantum={quantum}"), format!("bus={bus}ns")];
            let mut machine =
                machine(&[&TIMES[..], &options.each_ref().map(String::as_str)].concat(), cpus);
            let mut lines = vec![0; cpus];
            while lines.iter().any(|&lines| lines < 3000) {
                for (cpu, lines) in lines.iter_mut().enumerate() {
                    let address = |line: u64| 0x4000_0000 + ((cpu as u64) << 28) + line * 64;
                    loop {
                        *lines += 1;
                        if load(&mut machine, cpu, address(*lines), 10) {
                            break;
                        }
                    }
                }
            }
            let (least, most) = (lines.iter().min().unwrap(), lines.iter().max().unwrap());
            assert!(most * 100 <= least * (100 + uneven_percent), "{options:?}: {lines:?}");
            let (time, used) =
                (machine.cpus()[0].counters().cycles, machine.summary().bus.busy_cycles);
            // Three that want 240 of 210 cycles are not always in each other's way.
            assert!(
                used * 100 >= time * 94 && used <= time * 102 / 100,
                "{options:?}: {used} of {time}"
            );
        }
    }
}

#[test]
fn a_job_has_the_time_and_the_counts_between_its_marks() {
    let mut machine = machine(&["vm=rt:0x40000000+16MiB", "cpu=0:rt", "memory=100", "l1-hit=0"], 1);
    let mark = |event: u64| event << 40 | 3 << 32 | 7;
    let block = Block { instructions: 30, first_access: 30, privileged: false };
    machine.enter_block(0, block);
    machine.mark(20, mark(2));
    load(&mut machine, 0, 0x4000_0000, 50);
    machine.enter_block(0, block);
    machine.mark(10, mark(3));
    machine.mark(10, 99);
    let job = machine.jobs().complete()[0];
    assert_eq!((job.task, job.job, job.cpu), (3, 7, 0));
    assert_eq!(machine.options().owners.name(job.vm), "rt");
    assert_eq!(job.finish.instructions - job.start.instructions, 10 + 50 + 10);
    assert_eq!(job.finish.cycles - job.start.cycles, 10 + 50 + 10 + 100);
    assert_eq!(job.finish.llc_misses - job.start.llc_misses, 1);
    assert_eq!(machine.jobs().unmatched(), 0);
}

#[test]
fn accounts_go_to_cpu_to_hypervisor_and_to_the_owner_of_memory() {
    let arguments = ["vm=a:0x40000000+4KiB", "vm=b:0x40001000+4KiB", "cpu=0:a"];
    let mut machine = machine(&arguments, 2);
    load(&mut machine, 0, 0x4000_0000, 1);
    load(&mut machine, 0, 0x4000_1000, 1);
    load(&mut machine, 1, 0x4000_1000, 1);
    load(&mut machine, 1, 0x5000_0000, 1);
    let block = Block { instructions: 1, first_access: 0, privileged: true };
    machine.enter_block(0, block);
    machine.access(Position { at: 0, next: 1 }, Access { address: 0x4000_0000, store: true });
    machine.access_device(Position { at: 0, next: 1 });
    let summary = machine.summary();
    let found: Vec<_> =
        summary.owners.iter().map(|owner| (owner.name.as_str(), owner.totals.accesses)).collect();
    assert_eq!(found, [("hypervisor", 1), ("unowned", 1), ("a", 2), ("b", 1)]);
    assert_eq!(summary.skipped.device_accesses, 1);
}

#[test]
fn nothing_counts_before_the_first_instruction_of_a_guest() {
    let hypervisor = Block { instructions: 9, first_access: 0, privileged: true };
    let store = |machine: &mut Machine, line: u64| {
        let access = Access { address: 0x4000_0000 + line * 64, store: true };
        machine.access(Position { at: 0, next: 9 }, access);
    };
    for (start, accesses, misses) in [("start=guest", 1, 1), ("start=boot", 3, 2)] {
        let mut machine = machine(&["vm=a:0x40000000+4KiB", "cpu=0:a", start], 2);
        machine.enter_block(1, hypervisor);
        store(&mut machine, 0);
        store(&mut machine, 1);
        machine.access_device(Position { at: 0, next: 9 });
        machine.mark(0, 2 << 40);
        assert_eq!(machine.started(), start == "start=boot");
        load(&mut machine, 0, 0x4000_0000, 5);
        let summary = machine.summary();
        assert!(summary.started);
        assert_eq!((summary.totals.accesses, summary.totals.llc_misses), (accesses, misses));
        assert_eq!(summary.skipped.device_accesses == 0, start == "start=guest");
        assert_eq!(summary.jobs.unmatched_marks == 0, start == "start=guest");
        assert_eq!(machine.cpus()[0].counters().instructions, 5);
    }
}

/// Whoever kills QEMU finds no results, not those of nothing or of an earlier run.
#[test]
fn there_are_no_results_before_the_end() {
    let mut machine = machine(&["vm=a:0x40000000+16MiB"], 1);
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    prepare(&machine, &out).unwrap();
    let files = || std::fs::read_dir(&out).unwrap().count();
    assert_eq!(files(), 0);
    machine.finish();
    write(&machine, &out).unwrap();
    assert_eq!(files(), 5);
    std::fs::write(out.join("ranges.txt"), "of the command").unwrap();
    prepare(&machine, &out).unwrap();
    assert_eq!(files(), 1);
    std::fs::write(folder.path().join("file"), "").unwrap();
    assert!(prepare(&machine, &folder.path().join("file")).is_err());
}

#[test]
fn files_agree_with_each_other() {
    let arguments = ["vm=a:0x40000000+16MiB", "vm=b:0x50000000+16MiB", "llc=64KiB:4", "bin=10us"];
    let mut machine = machine(&arguments, 2);
    stream(&mut machine, &[3000, 1000]);
    machine.finish();
    let folder = tempfile::tempdir().unwrap();
    write(&machine, folder.path()).unwrap();
    let text = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
    // Sum of a column of a CSV file, for one owner.
    let sum = |name: &str, column: &str, owner: &str| {
        let text = text(name);
        let head: Vec<&str> = text.lines().next().unwrap().split(',').collect();
        let place = head.iter().position(|name| *name == column).unwrap();
        let rows = text.lines().skip(1).map(|line| line.split(',').collect::<Vec<_>>());
        let rows = rows.filter(|row| row.len() == head.len() && row.contains(&owner));
        rows.map(|row| row[place].parse::<u64>().unwrap()).sum::<u64>()
    };
    let summary: serde_json::Value = serde_json::from_str(&text("summary.json")).unwrap();
    for (index, name, misses) in [(2, "a", 3000), (3, "b", 1000)] {
        let owner = &summary["owners"][index];
        assert_eq!(owner["name"], name);
        assert_eq!(owner["llc_misses"], misses);
        assert_eq!(sum("timeseries.csv", "llc_misses", name), misses);
        assert_eq!(sum("colors.csv", "llc_misses", name), misses);
        let suffered = owner["evictions_suffered"].as_u64().unwrap();
        assert_eq!(sum("timeseries.csv", "evictions_suffered", name), suffered);
    }
    let evictions = &summary["evictions"];
    assert_eq!(evictions["total"], 4000 - 1024);
    assert!(evictions["cross_by_line"].as_u64().unwrap() > 0);
    assert_eq!(evictions["by_line"][2][3], evictions["by_accessor"][2][3]);
    assert!(text("timeseries.csv").lines().count() > 20, "many intervals");
}

#[test]
fn memory_that_no_cache_takes_evicts_nothing() {
    let arguments = ["vm=a:0x40000000+4KiB", "uncached=0x40001000+4KiB", "memory=100", "l1-hit=0"];
    for l1 in ["l1=none", "l1=32KiB:4"] {
        let mut machine = machine(&[&arguments[..], &[l1, "llc=4KiB:1", "bus=0"]].concat(), 1);
        for line in 0..64 {
            load(&mut machine, 0, 0x4000_0000 + line * 64, 1);
        }
        let before = machine.cpus()[0].counters();
        for line in 0..64 {
            load(&mut machine, 0, 0x4000_1000 + line * 64, 1);
        }
        machine.fetch(0x4000_1000, 2);
        let summary = machine.summary();
        assert_eq!(summary.skipped.uncached_accesses, 64 + 2, "{l1}");
        assert_eq!((summary.totals.accesses, summary.totals.llc_misses), (128, 64), "{l1}");
        assert_eq!(summary.evictions.total, 0, "{l1}");
        assert_eq!(machine.cpus()[0].counters().stall_cycles - before.stall_cycles, 66 * 100);
    }
}

#[test]
fn zeroes_are_written_without_reading_whatever_the_line() {
    for (line, lines, read) in [("line=32", 2, 0), ("line=64", 1, 0), ("line=128", 1, 128)] {
        let mut machine = machine(&["vm=a:0x40000000+4KiB", line], 1);
        machine.enter_block(0, Block { instructions: 1, first_access: 0, privileged: false });
        let position = Position { at: 0, next: 1 };
        machine.operate(position, LineOperation::Zero, 0x4000_0067);
        let totals = machine.summary().totals;
        assert_eq!((totals.accesses, totals.llc_misses), (lines, lines), "{line}");
        assert_eq!(totals.memory_read_bytes, read, "{line}");
        // The line that holds the block, and no other, was changed.
        for address in [0x4000_0040, 0x4000_0080] {
            machine.operate(position, LineOperation::Clean, address);
        }
        let bytes = if line == "line=32" { 32 } else { line[5..].parse().unwrap() };
        assert_eq!(machine.summary().totals.memory_written_bytes, bytes, "{line}");
        machine.operate_nowhere(position, LineOperation::Remove);
        machine.operate_nowhere(position, LineOperation::Zero);
        let summary = machine.summary();
        assert_eq!(summary.operations.unwrap().unmapped_lines, 1);
        assert_eq!(summary.skipped.unresolved_accesses, 1);
    }
}

#[test]
fn a_fetch_shares_the_last_level_cache_with_data() {
    let mut machine = machine(&["vm=a:0x40000000+4KiB", "cpu=0:a", "l1i=128:1"], 1);
    let block = Block { instructions: 32, first_access: 32, privileged: false };
    load(&mut machine, 0, 0x4000_0000, 1);
    for _ in 0..3 {
        machine.enter_block(0, block);
        machine.fetch(0x4000_0000, 2);
    }
    machine.enter_block(0, block);
    machine.fetch(0x4000_0080, 1);
    let cpu = machine.cpus()[0].counters();
    let a = &machine.summary().owners[2];
    // The first line came as data, the second and the third as code.
    assert_eq!((a.totals.fetches, a.totals.l1i_misses, a.totals.llc_misses), (7, 3, 3));
    assert_eq!((cpu.accesses, cpu.l1_misses, cpu.l1i_misses, cpu.llc_misses), (1, 1, 3, 3));
    assert_eq!(cpu.stall_cycles, 3 * 100 + 15);
}

#[test]
#[cfg(feature = "parquet")]
fn parquet_holds_what_csv_holds() {
    use parquet::file::reader::{FileReader, SerializedFileReader};

    let mut machine = machine(&["vm=a:0x40000000+16MiB", "cpu=0:a", "bin=10us", "format=both"], 1);
    let block = Block { instructions: 30, first_access: 30, privileged: false };
    machine.enter_block(0, block);
    // A job with a release, and one without.
    for (instruction, mark) in [(1, 1 << 40), (2, 2 << 40), (3, 3 << 40), (4, 2 << 40 | 1)] {
        machine.mark(instruction, mark);
    }
    stream(&mut machine, &[3000]);
    machine.enter_block(0, block);
    machine.mark(5, 3 << 40 | 1);
    machine.finish();
    let folder = tempfile::tempdir().unwrap();
    write(&machine, folder.path()).unwrap();
    for table in ["timeseries", "evictions", "colors", "jobs"] {
        let path = |ending: &str| folder.path().join(format!("{table}.{ending}"));
        let file = std::fs::File::open(path("parquet")).unwrap();
        let reader = SerializedFileReader::new(file).unwrap();
        let fields = reader.metadata().file_metadata().schema().get_fields().to_vec();
        let names: Vec<&str> = fields.iter().map(|field| field.name()).collect();
        let mut lines = vec![names.join(",")];
        for row in reader.get_row_iter(None).unwrap() {
            let cells = row.unwrap().into_columns().into_iter().map(|(_, value)| {
                let text = value.to_string();
                if text == "null" { String::new() } else { text.replace('"', "") }
            });
            lines.push(cells.collect::<Vec<_>>().join(","));
        }
        let csv = std::fs::read_to_string(path("csv")).unwrap();
        assert_eq!(lines, csv.lines().collect::<Vec<_>>(), "{table}");
        assert_eq!(lines.len() > 1, table != "evictions", "{table}");
    }
}

/// A host tells whose its pages are, then the model starts, and guests can tell nothing.
#[test]
fn owners_that_the_machine_tells_own_lines_from_the_start_on() {
    let mut machine = machine(&["vm=a", "vm=b", "llc=64KiB:1", "l1=none", "fetch=off"], 1);
    load(&mut machine, 0, 0x1000, 1);
    let refused = machine.tell(2, 0x1000).unwrap_err();
    assert!(refused.contains("no vm=NAME"), "{refused}");
    machine.tell(0, 0x1000).unwrap();
    assert!(machine.tell(1, 0x1000).unwrap_err().contains("belongs to"));
    assert!(machine.tell(ALL_TOLD, 0).unwrap_err().contains("no page of VM \"b\""));
    machine.tell(1, 0x11000).unwrap();
    load(&mut machine, 0, 0x1000, 1);
    assert!(!machine.started(), "it waits until all is told");
    machine.tell(ALL_TOLD, 0).unwrap();
    machine.tell(0, 0x11000).unwrap();
    for address in [0x1000, 0x11000, 0x21000, 0x1000] {
        load(&mut machine, 0, address, 1);
    }
    let summary = machine.summary();
    let owners: Vec<_> = summary.owners.iter().map(|it| (&*it.name, it.totals.accesses)).collect();
    assert_eq!(owners, [("hypervisor", 0), ("unowned", 1), ("a", 2), ("b", 1)]);
    // b evicts a line of a, memory of nobody one of b, a that one.
    let by = |came: usize, went: usize| summary.evictions.by_line[came][went];
    assert_eq!([by(3, 2), by(1, 3), by(2, 1), by(2, 3)], [1, 1, 1, 0]);
    // A mark is that of the VM whose memory its instruction is in.
    machine.mark_at(0x11040, 0, 2 << 40);
    machine.mark_at(0x11080, 0, 3 << 40);
    let job = machine.jobs().complete()[0];
    assert_eq!(machine.hierarchy().owners().name(job.vm), "b");
}
