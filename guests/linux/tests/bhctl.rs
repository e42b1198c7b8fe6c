//! `bhctl` as far as it needs no hypervisor: its header, its pure parts, and its messages.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};

use abi::doorbell;
use abi::hypercall::{self, Error, VmInfo};
use abi::{bell, channel, limits};
use rt::channel::{Reader, Received, Writer};

const SOURCES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/bhctl");
/// Errors from here on are the library's own.
const LIBRARY_ERRORS: i64 = -100;

/// Numbers of the header by name.
fn defines(header: &str) -> BTreeMap<String, i64> {
    let header = std::fs::read_to_string(format!("{SOURCES}/{header}")).unwrap();
    let number = |text: &str| {
        let text = text.trim_matches(['(', ')']);
        match text.strip_prefix("0x") {
            Some(digits) => i64::from_str_radix(digits, 16).ok(),
            None => text.parse().ok(),
        }
    };
    header
        .lines()
        .filter_map(|line| line.strip_prefix("#define BULKHEAD_"))
        .filter_map(|line| {
            let mut words = line.split_whitespace();
            Some((words.next()?.to_owned(), number(words.next()?)?))
        })
        .collect()
}

#[test]
fn the_header_agrees_with_the_hypervisor() {
    let expected = [
        ("CHANNELS_MAX", limits::CHANNELS_MAX as i64),
        ("PAGE_BYTES", doorbell::PAGE_BYTES as i64),
        ("MAGIC_VALUE", doorbell::MAGIC_VALUE as i64),
        ("REQUEST", doorbell::REQUEST as i64),
        ("RESULT", doorbell::RESULT as i64),
        ("MARK", doorbell::MARK as i64),
        ("AUDIT", doorbell::AUDIT as i64),
        ("MAGIC", doorbell::MAGIC as i64),
        ("LOCATE", doorbell::LOCATE as i64),
        ("INFO", doorbell::INFO as i64),
        ("INFO_VM_INDEX", VmInfo::VmIndex as i64),
        ("INFO_VCPU_COUNT", VmInfo::VcpuCount as i64),
        ("INFO_MEMORY_BYTES", VmInfo::MemoryBytes as i64),
        ("INFO_LLC_BYTES", VmInfo::LlcBytes as i64),
        ("INFO_LLC_WAYS", VmInfo::LlcWays as i64),
        ("INFO_LLC_LINE_BYTES", VmInfo::LlcLineBytes as i64),
        ("INFO_LLC_COLORS", VmInfo::LlcColors as i64),
        ("INFO_COLORS", VmInfo::Colors as i64),
        ("INFO_EXTRA_COLORS", VmInfo::ExtraColors as i64),
        ("INFO_POOL_FRAMES", VmInfo::PoolFrames as i64),
        ("INFO_POOL_FREE", VmInfo::PoolFree as i64),
        ("INFO_POOL_FREE_OF", hypercall::INFO_POOL_FREE_OF as i64),
        ("MARK_RELEASE", i64::from(hypercall::MARK_RELEASE)),
        ("MARK_START", i64::from(hypercall::MARK_START)),
        ("MARK_FINISH", i64::from(hypercall::MARK_FINISH)),
        ("ERROR_NOT_SUPPORTED", Error::NotSupported as i64),
        ("ERROR_TRY_AGAIN", Error::TryAgain as i64),
        ("ERROR_NO_MEMORY", Error::NoMemory as i64),
        ("ERROR_DENIED", Error::Denied as i64),
        ("ERROR_BAD_ADDRESS", Error::BadAddress as i64),
        ("ERROR_BUSY", Error::Busy as i64),
        ("ERROR_INVALID", Error::Invalid as i64),
    ];
    let mut found = defines("bulkhead.h");
    found.retain(|name, value| {
        !(name.starts_with("ERROR_") && *value < LIBRARY_ERRORS) && name != "COLORS_TEXT"
    });
    let expected = expected.map(|(name, value)| (name.to_owned(), value));
    assert_eq!(found, BTreeMap::from(expected));

    let header = std::fs::read_to_string(format!("{SOURCES}/bulkhead.h")).unwrap();
    assert!(header.contains(&format!("BULKHEAD_COMPATIBLE \"{}\"", doorbell::COMPATIBLE)));
}

#[test]
fn the_header_of_channels_agrees_with_the_layout() {
    let expected = [
        ("BYTES_MAX", limits::CHANNEL_BYTES_MAX as i64),
        ("MAGIC_VALUE", channel::MAGIC_VALUE as i64),
        ("MAGIC", channel::MAGIC as i64),
        ("SIZE", channel::SIZE as i64),
        ("EPOCH", channel::EPOCH as i64),
        ("NEWEST", channel::NEWEST as i64),
        ("BASE", channel::BASE as i64),
        ("SLOTS", channel::SLOTS as i64),
        ("NUMBER", channel::NUMBER as i64),
        ("MESSAGE", channel::MESSAGE as i64),
    ];
    let expected = expected.map(|(name, value)| (format!("CHANNEL_{name}"), value));
    assert_eq!(defines("bulkhead_channel.h"), BTreeMap::from(expected));
    let header = std::fs::read_to_string(format!("{SOURCES}/bulkhead_channel.h")).unwrap();
    for (name, text) in [("COMPATIBLE", channel::COMPATIBLE), ("WRITES", channel::WRITES)] {
        assert!(header.contains(&format!("BULKHEAD_CHANNEL_{name} \"{text}\"")), "{name}");
    }
    for (name, text) in [("COMPATIBLE", bell::COMPATIBLE), ("RING", bell::RING)] {
        assert!(header.contains(&format!("BULKHEAD_BELL_{name} \"{text}\"")), "{name}");
    }
}

/// Compiles sources of `bhctl` for this machine.
fn compile(program: &Path, flags: &[&str], sources: &[String]) {
    let mut command = Command::new("cc");
    command
        .args(["-std=gnu17", "-D_GNU_SOURCE", "-g", "-Wall", "-Wextra", "-Werror"])
        .args(flags)
        .arg("-o")
        .arg(program)
        .current_dir(SOURCES)
        .args(sources);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// The C files of a folder.
fn sources(folder: &str) -> Vec<String> {
    std::fs::read_dir(format!("{SOURCES}/{folder}"))
        .unwrap()
        .map(|entry| format!("{folder}/{}", entry.unwrap().file_name().to_string_lossy()))
        .filter(|path| path.ends_with(".c"))
        .collect()
}

#[test]
fn the_pure_parts_work() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("pure");
    let own = ["tool/chase.c", "tests/pure.c"].map(str::to_owned);
    let sanitized = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"];
    compile(&program, &sanitized, &[&sources("lib")[..], &own].concat());
    let tree = folder.path().join("tree");
    std::fs::create_dir(&tree).unwrap();
    let output = Command::new(&program).arg(&tree).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// A program that tests channels, compiled with these flags.
fn channel_program(folder: &Path, flags: &[&str]) -> PathBuf {
    let program = folder.join("channel");
    let all = [&["-O2", "-pthread"], flags].concat();
    compile(&program, &all, &["tests/channel.c".into()]);
    program
}

/// Runs a program with this standard input; its standard output.
fn filter(program: &Path, arguments: &[usize], what: &str, input: &[u8]) -> Vec<u8> {
    let mut command = Command::new(program);
    command.arg(what).args(arguments.iter().map(usize::to_string));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(input).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

/// Whatever a writer leaves in the memory, and a writer that never pauses beside readers. The sanitizer
/// of threads finds accesses to the memory that are not atomic.
#[test]
fn messages_of_hostile_and_fast_writers_do_no_harm() {
    let folder = tempfile::tempdir().unwrap();
    let addresses = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"];
    let threads = ["-fsanitize=thread", "-Wno-error=tsan"];
    for (flags, what) in [(&addresses[..], "hostile"), (&[], "torn"), (&threads, "torn")] {
        filter(&channel_program(folder.path(), flags), &[], what, &[]);
    }
}

/// The same messages make the same memory in C and in Rust, and both read the same from it.
#[test]
fn guests_in_c_and_in_rust_understand_each_other() {
    let folder = tempfile::tempdir().unwrap();
    let program = channel_program(folder.path(), &["-fsanitize=address,undefined"]);
    for (size, slots, count) in
        [(1, 1, 1), (8, 2, 0), (8, 3, 7), (11, 2, 3), (20, 1, 4), (64, 8, 5), (64, 8, 30)]
    {
        let bytes = channel::SLOTS + slots * channel::slot_bytes(size) + 8;
        let words: Vec<_> = (0..bytes / 8).map(|_| AtomicU64::new(0)).collect();
        let mut writer = Writer::open(&words, size).unwrap();
        for number in 1..=count {
            if number == count {
                writer = Writer::open(&words, size).unwrap();
            }
            let message: Vec<_> = (0..size).map(|i| (7 * number + 3 * i) as u8).collect();
            writer.send(&message);
        }
        let memory: Vec<u8> =
            words.iter().flat_map(|word| word.load(Ordering::Relaxed).to_le_bytes()).collect();
        let written = filter(&program, &[bytes, size, count], "write", &[]);
        assert!(memory == written, "{count} messages of {size} bytes in {slots} slots");

        let mut reader = Reader::new(&words, size).unwrap();
        let mut message = vec![0; size];
        let mut expected = String::new();
        let why = loop {
            match reader.next(&mut message) {
                Ok(Received { number, lost, epoch }) => {
                    expected.push_str(&format!("{number} {lost} {epoch}"));
                    message.iter().for_each(|byte| expected.push_str(&format!(" {byte:02x}")));
                    expected.push('\n');
                }
                Err(why) => break why,
            }
        };
        expected.push_str(&format!("{why}\n"));
        let read = filter(&program, &[bytes, size], "read", &memory);
        assert_eq!(String::from_utf8(read).unwrap(), expected);
    }
}

/// Guests without an operating system, with all warnings; and no CPU for which a compiler would make two accesses of one.
#[test]
fn the_header_of_channels_needs_no_library_but_accesses_of_64_bits() {
    let check = |flags: &[&str]| {
        let mut command = Command::new("cc");
        let strict = ["-std=c11", "-pedantic", "-Wall", "-Wextra", "-Wconversion", "-Wshadow"];
        command.args(strict).args(["-Werror", "-ffreestanding", "-fsyntax-only", "-x", "c"]);
        command.args(flags).arg(format!("{SOURCES}/bulkhead_channel.h"));
        let output = command.output().unwrap();
        (output.status.success(), String::from_utf8(output.stderr).unwrap())
    };
    let (compiles, text) = check(&[]);
    assert!(compiles, "{text}");
    if cfg!(target_arch = "x86_64") {
        let (compiles, text) = check(&["-m32", "-march=i486"]);
        assert!(!compiles && text.contains("channels need a CPU that loads"), "{text}");
    }
}

/// On this machine there is no doorbell: whatever needs it says so.
#[test]
fn wrong_words_and_a_missing_doorbell_are_explained() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("bhctl");
    compile(&program, &[], &[sources("lib"), sources("tool")].concat());
    let run = |arguments: &str| -> Output {
        Command::new(&program).args(arguments.split_whitespace()).output().unwrap()
    };
    for (arguments, message) in [
        ("", "expected a command"),
        ("paint", "there is no command `paint`"),
        ("show me", "found `me`"),
        ("request", "request expects colours"),
        ("request 8-", "the request is `8-`, expected colours"),
        ("request --pages 0 8", "--pages is `0`, expected a number from 1 to"),
        ("run --colors 8", "run expects a program"),
        ("run --colors x -- true", "--colors is `x`"),
        ("run --heap 1MiB -- true", "of use with --colors only"),
        ("run --policy often -- true", "expected rr:PRIORITY, fifo:PRIORITY or other"),
        ("run --mark 256 -- true", "--mark is `256`"),
        ("free --memory 4kB", "expected a size like 65536, 64KiB or 1MiB"),
        ("mark begin 1 1", "expected release, start or finish"),
        ("latency --set 10", "--set is too small"),
        ("latency --loads", "requires an argument"),
        ("send", "send expects the name of a channel, as in `bhctl send pose`"),
        ("send --newest pose", "send has no such option"),
        ("send --numbers --bytes 12 pose", "--bytes of at least 16"),
        ("send --bytes 0 pose", "--bytes is `0`, expected a number from 1 to"),
        ("send pose", "channel `pose`: this VM has no channels: describe `[[channel]]`"),
        ("receive", "receive expects the name of a channel"),
        ("receive --numbers --bytes 8 pose", "--bytes of at least 16"),
        ("receive --timeout 0 pose", "--timeout is `0`"),
        ("receive pose", "channel `pose`: this VM has no channels: describe `[[channel]]`"),
        ("show", "give it `extra_colors`"),
        ("audit", "give it `extra_colors`"),
        ("latency --set 64KiB", "give it `extra_colors`"),
    ] {
        let output = run(arguments);
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "bhctl {arguments}: {text}");
        assert!(text.contains(message), "bhctl {arguments}: {text}");
    }
    for arguments in ["--help", "latency --help", "busyloop --help"] {
        let output = run(arguments);
        assert_eq!(output.status.code(), Some(0), "bhctl {arguments}");
        assert!(String::from_utf8_lossy(&output.stdout).contains("usage: "), "{arguments}");
    }

    let output = run("channels");
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains("this VM has no channels: describe `[[channel]]`"), "{text}");

    let output = run("latency --set 64KiB --loads 1000 --unmarked");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.starts_with("latency: task=1 set_bytes=65536 loads=1000 jobs=3 "), "{text}");
    assert_eq!(run("run --jobs 2 -- true").status.code(), Some(0));
    assert_eq!(run("run -- false").status.code(), Some(1));
}
