//! Channels from and to tasks, and how old the data is that tasks use.

use rt::arch::counter;
use rt::arch::lock::InterruptLock;
use rt::bell::Bell;
use rt::channel::{Reader, Writer};
use rt::program::Program;
use rt::time::Clock;
use rt::{arguments, println, scheduler};

use super::ALL_MAX;

/// Bytes of a message: the counter when its data was read.
const BYTES: usize = 8;

/// The channels through which a task receives and sends.
struct Link {
    from: Option<Reader<'static>>,
    to: Option<Writer<'static>>,
    bell: Option<Bell>,
    /// The time at which the data of the last message was read; none came yet: nothing.
    received: Option<u64>,
    /// The same of the last job that has finished.
    used: Option<u64>,
    jobs: u64,
    /// Longest times in ticks.
    age: u64,
    held: u64,
}

impl Link {
    const NONE: Self = Self {
        from: None,
        to: None,
        bell: None,
        received: None,
        used: None,
        jobs: 0,
        age: 0,
        held: 0,
    };
}

static LINKS: InterruptLock<[Link; ALL_MAX]> = InterruptLock::new([const { Link::NONE }; ALL_MAX]);

/// Opens the channels that tasks name. Otherwise tells why not, and returns false.
pub fn open(programs: &[Option<Program<'static>>; ALL_MAX]) -> bool {
    for (number, program) in programs.iter().enumerate() {
        let Some(program) = program else { continue };
        let before = programs[..number].iter().flatten();
        if program.sends.is_some() && before.into_iter().any(|it| it.sends == program.sends) {
            println!("tasks: task {}: another task sends through its channel", program.name);
            return false;
        }
        let bell = program.sends.filter(|_| program.rings).map(Bell::of);
        if let Some(None) = bell {
            println!("tasks: task {}: the guest may not ring for its channel", program.name);
            return false;
        }
        let [from, to] = [program.receives, program.sends].map(|name| {
            let Some(name) = name else { return Ok(None) };
            arguments::channel(name).map(Some).ok_or(name)
        });
        match (from, to) {
            (Ok(from), Ok(to)) => LINKS.with(|links| {
                let link = &mut links[number];
                link.from = from.and_then(|words| Reader::new(words, BYTES).ok());
                link.to = to.and_then(|words| Writer::open(words, BYTES).ok());
                link.bell = bell.flatten();
            }),
            (Err(name), _) | (_, Err(name)) => {
                println!("tasks: task {}: the device tree has no channel {name}", program.name);
                return false;
            }
        }
    }
    true
}

/// A job of a task starts: returns when its data was read, which is now for a task that receives
/// nothing; nothing if no message came yet.
pub fn receive(number: usize) -> Option<u64> {
    LINKS.with(|links| {
        let link = &mut links[number];
        let Some(reader) = &mut link.from else { return Some(counter::now()) };
        let mut message = [0; BYTES];
        if reader.newest(&mut message).is_ok() {
            link.received = Some(u64::from_le_bytes(message));
        }
        link.received
    })
}

/// A job whose data was read at `stamp` is done.
pub fn finish(number: usize, stamp: Option<u64>) {
    let bell = LINKS.with(|links| {
        let link = &mut links[number];
        let now = counter::now();
        if let (Some(stamp), Some(writer)) = (stamp, &mut link.to) {
            writer.send(&stamp.to_le_bytes());
        }
        if let Some(used) = link.used {
            link.held = link.held.max(now.saturating_sub(used));
        }
        if let Some(stamp) = stamp {
            link.jobs += 1;
            link.age = link.age.max(now.saturating_sub(stamp));
        }
        link.used = stamp;
        link.bell
    });
    if let Some(bell) = bell {
        scheduler::ring_when_done(bell);
    }
}

/// Prints how old the data of tasks was that receive some.
pub fn show(programs: &[Option<Program<'static>>; ALL_MAX], clock: Clock) {
    for (number, program) in programs.iter().enumerate() {
        let Some(Program { name, receives: Some(from), .. }) = program else { continue };
        let (jobs, age, held) = LINKS.with(|links| {
            let link = &links[number];
            (link.jobs, link.age, link.held)
        });
        let [age, held] = [age, held].map(|ticks| clock.nanoseconds(ticks) / 1000);
        println!(
            "tasks: data task={name} from={from} jobs={jobs} age_max_us={age} held_max_us={held}"
        );
    }
}
