//! Any bytes are a trace that can be exported, or one mistake.
#![no_main]

use trace::Trace;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Ok(trace) = Trace::read(bytes) else { return };
    trace::csv::write(&trace, std::io::sink()).expect("all of it can be said");
    trace::perfetto::write(&trace, std::io::sink()).expect("all of it can be said");
});
