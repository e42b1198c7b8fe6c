//! The caches of a platform as options of cachescope.

use bulkhead_system::platform::Cache;

use crate::failure::Failure;
use crate::input::System;

/// The last-level cache of the machine, and its first-level cache of data if
/// that is known. Without colours the plan does not tell them.
pub fn caches(system: &System) -> Result<String, Failure> {
    let platform = system.platform.as_ref();
    let planned = system.plan.platform.llc.map(|llc| llc.geometry.cache());
    let known = || Some(platform?.last_level_cache()?.shape);
    let Some(llc) = planned.or_else(known) else {
        let name = &system.plan.platform.board;
        return Err(Failure::new(
            "no-cache",
            format!("the CPUs of the platform `{name}` share no cache that could be measured"),
        ));
    };
    let l1 = platform.and_then(|platform| platform.caches.iter().find(|it| it.is_first_data()));
    let l1 = l1.map(|Cache { shape, .. }| format!(",l1={}:{}", shape.bytes(), shape.ways()));
    let (bytes, ways, line) = (llc.bytes(), llc.ways(), llc.line_bytes());
    Ok(format!("llc={bytes}:{ways},line={line}{}", l1.unwrap_or_default()))
}
