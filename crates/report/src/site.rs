//! Results of many runs as a site: pages that need no server and no network, with the changes from one run to the next.
//!
//! [`Site`] is plain data; [`Site::pages`] makes the pages. Systems are told apart by their names. All times of tasks are
//! integers in nanoseconds, and dates are as in [`crate::date`].
//!
//! ```
//! use report::site::{Entry, Site};
//!
//! let site = Site { entries: vec![Entry { name: "rover".into(), ..Entry::default() }] };
//! assert_eq!(site.pages()[0].path, "index.html");
//! ```

mod change;
mod data;
mod index;
mod line;
pub(crate) mod shell;
mod system;
mod table;

pub use change::{Change, What};
pub use data::{Bound, Entry, Kind, Subject, Timed};

/// All results.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Site {
    /// The results, in any order.
    pub entries: Vec<Entry>,
}

/// A page.
#[derive(Clone, Debug, PartialEq)]
pub struct Page {
    /// Its path in the folder of the site: `index.html`, `systems/rover-1a2b3c4d.html`.
    pub path: String,
    /// Its content.
    pub html: String,
}

/// The results of a system in the order of time, each with the changes since the ones before.
struct System<'s> {
    name: &'s str,
    entries: Vec<(&'s Entry, Vec<Change>)>,
}

impl Site {
    /// Returns the pages, the index first.
    pub fn pages(&self) -> Vec<Page> {
        let systems = self.systems();
        let mut pages = vec![Page { path: "index.html".into(), html: index::html(self, &systems) }];
        pages.extend(
            systems.iter().map(|it| Page { path: system::path(it.name), html: system::html(it) }),
        );
        pages
    }

    /// The systems, in the order of their names.
    fn systems(&self) -> Vec<System<'_>> {
        let mut of_systems: Vec<&Entry> =
            self.entries.iter().filter(|entry| entry.kind.is_of_system()).collect();
        // Of results of the same time a bad one counts as the later one: a site does not hide it.
        let is_bad = |entry: &Entry| entry.good == Some(false);
        of_systems.sort_by_key(|entry| (&entry.name, entry.time, is_bad(entry), &entry.id));
        let groups = of_systems.chunk_by(|one, next| one.name == next.name);
        groups
            .map(|entries| System {
                name: &entries[0].name,
                entries: entries.iter().copied().zip(change::changes(entries)).collect(),
            })
            .collect()
    }
}
