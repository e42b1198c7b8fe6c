//! The caches of a platform as options of cachescope.

use system::platform::{Cache, CacheKind};

use crate::failure::Failure;
use crate::load::System;

/// Returns the last-level cache of the machine, and its first-level caches if they are known.
/// Without colours the plan does not tell them.
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
    let first = |option: &str, is_it: fn(&Cache) -> bool| {
        let cache = platform?.caches.iter().find(|cache| is_it(cache))?;
        Some(format!(",{option}={}:{}", cache.shape.bytes(), cache.shape.ways()))
    };
    let data = first("l1", Cache::is_first_data).unwrap_or_default();
    let instructions = first("l1i", |it| it.level == 1 && it.kind == CacheKind::Instruction);
    let (bytes, ways, line) = (llc.bytes(), llc.ways(), llc.line_bytes());
    Ok(format!("llc={bytes}:{ways},line={line}{data}{}", instructions.unwrap_or_default()))
}
