//! Reads `[overheads]`.

use units::Duration;

use crate::diagnostic::Diagnostic;
use crate::document::Fields;
use crate::platform::Overheads;

/// Returns the overheads of a machine. Values that are not given are as in `base`, if there is one.
pub(crate) fn read(at: &Fields<'_>, base: Option<&Overheads>) -> Option<Overheads> {
    let before = base.map(Overheads::times);
    let mut times = [None; Overheads::KEYS.len()];
    for (index, key) in Overheads::KEYS.into_iter().enumerate() {
        let given = at.quantity::<Duration>(key);
        if let Some(given) = &given
            && !(Duration(1)..=Overheads::LONGEST).contains(&given.value)
        {
            let message = format!("`{key}` is {}", given.value);
            let help = format!("write 1 ns to {}", Overheads::LONGEST);
            at.add(Diagnostic::new("out-of-range", message).at(&given.place, "here").help(help));
        }
        times[index] = match before {
            Some(before) if !at.has(key) => Some(before[index]),
            _ => at.required(key, given, "\"2us\"").map(|given| given.value),
        };
    }
    at.finish();
    let mut all = [Duration(0); Overheads::KEYS.len()];
    for (time, given) in all.iter_mut().zip(times) {
        *time = given?;
    }
    Some(Overheads::from_times(all))
}
