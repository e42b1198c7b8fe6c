//! Any text is boot arguments of a guest, and words of `bulkhead measure`.
#![no_main]

use measure::isolation::leech::Leech;
use measure::isolation::workload::Workload;
use rt::bootargs::BootArguments;

libfuzzer_sys::fuzz_target!(|text: &str| {
    let (key, arguments) = text.split_once('\n').unwrap_or(("case", text));
    if let Some(value) = BootArguments::new(arguments).get(key) {
        assert!(arguments.contains(value));
    }
    let _ = BootArguments::new(arguments).number(key);
    for word in arguments.split(',') {
        let _ = word.parse::<Workload>();
        if let Ok(leech) = word.parse::<Leech>() {
            assert_eq!(leech.to_string().parse(), Ok(leech), "{word}");
        }
    }
});
