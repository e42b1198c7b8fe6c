//! Budgets of Xen's scheduler RTDS. `xl` sets them for a domain that runs, so that they stand in the script that
//! starts the domains: `xl sched-rtds -d linux -v 0 -p 10000 -b 4000`.

use std::sync::Arc;

use system::diagnostic::{Diagnostic, Errors, Place, Source};

use super::values::{mistake, number};

/// The longest period or budget, in microseconds.
pub const MOST_US: u64 = u32::MAX as u64;
const HELP: &str =
    "write xl sched-rtds -d DOMAIN -v VCPU -p PERIOD -b BUDGET -e 0, with times in microseconds";

/// Parameters of one VCPU or of all VCPUs of a domain.
#[derive(Clone, Debug)]
pub struct Parameters {
    pub place: Place,
    pub domain: String,
    pub vcpu: Option<u64>,
    /// The period in microseconds.
    pub period: Option<u64>,
    pub budget: Option<u64>,
    /// True if it gets time that others leave.
    pub extra: bool,
}

/// Reads all commands of a script; other lines are no matter.
pub fn read(script: &Arc<Source>) -> Result<Vec<Parameters>, Errors> {
    let mut all = Vec::new();
    let mut mistakes = Vec::new();
    let mut start = 0;
    for line in script.text().split_inclusive('\n') {
        let command = line.split_once('#').map_or(line, |it| it.0);
        if let Some((_, options)) = command.split_once("sched-rtds") {
            let place = Place::new(script, start..start + line.trim_end().len());
            match read_options(options, &place) {
                Ok(them) => all.extend(them),
                Err(mistake) => mistakes.push(*mistake),
            }
        }
        start += line.len();
    }
    if all.is_empty() && mistakes.is_empty() {
        let none = Diagnostic::new("xl-syntax", "the script has no `xl sched-rtds`");
        mistakes.push(none.at(&Place::new(script, 0..0), "this file").help(HELP));
    }
    Errors::unless_none(mistakes, all)
}

/// Each `-v` begins the parameters of a VCPU; without `-v` they are those of all.
fn read_options(options: &str, place: &Place) -> Result<Vec<Parameters>, Box<Diagnostic>> {
    let mut domain = None;
    let mut all: Vec<Parameters> = Vec::new();
    let mut words = options.split_whitespace().map(|it| it.trim_matches(['\'', '"']));
    while let Some(option) = words.next() {
        let value = words.next().unwrap_or_default();
        if option == "-d" {
            domain = Some(value.to_owned());
            continue;
        }
        let count = || number(value).filter(|it| *it <= MOST_US);
        let count =
            || count().ok_or_else(|| mistake(place, &format!("a number after `{option}`"), HELP));
        if option == "-v" || all.is_empty() {
            let (place, domain) = (place.clone(), String::new());
            let none =
                Parameters { place, domain, vcpu: None, period: None, budget: None, extra: false };
            all.push(none);
        }
        let Some(last) = all.last_mut() else { continue };
        match option {
            "-v" if value == "all" => {}
            "-v" => last.vcpu = Some(count()?),
            "-p" => last.period = Some(count()?),
            "-b" => last.budget = Some(count()?),
            "-e" => last.extra = count()? != 0,
            _ => return Err(mistake(place, "one of the options -d, -v, -p, -b and -e", HELP)),
        }
    }
    let domain = domain.ok_or_else(|| mistake(place, "a domain: `-d NAME`", HELP))?;
    all.iter_mut().for_each(|it| domain.clone_into(&mut it.domain));
    Ok(all)
}
