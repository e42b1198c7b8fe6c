//! Log-uniform periods: as many between 1 ms and 10 ms as between 10 ms and 100 ms.
//!
//! Emberson, Stafford and Davis, "Techniques for the synthesis of multiprocessor
//! tasksets", WATERS 2010.

use policy::time::Duration;

use crate::{Error, Random};

/// Returns a period of `min..=max` nanoseconds, a multiple of `step`: `floor(exp(r) / step) step`
/// with `r` uniform in `ln min .. ln(max + step)`.
///
/// # Errors
///
/// `min` or `step` is 0; `min` or `max` is no multiple of `step`; `max` is below `min`.
pub fn sample(
    random: &mut Random,
    min: Duration,
    max: Duration,
    step: Duration,
) -> Result<Duration, Error> {
    let real = |time: Duration| time.0 as f64;
    if step == Duration::ZERO || min < step {
        let least = real(step).max(1.0);
        return Err(Error::Number { what: "the shortest period", value: real(min), least });
    }
    if min > max || !min.0.is_multiple_of(step.0) || !max.0.is_multiple_of(step.0) {
        let what = "the range of periods in whole steps";
        return Err(Error::Range { what, min: real(min), max: real(max) });
    }
    let r = random.real(libm::log(real(min)), libm::log(real(max) + real(step)));
    let steps = libm::exp(r) as u64 / step.0;
    Ok(Duration(steps.saturating_mul(step.0)).clamp(min, max))
}
