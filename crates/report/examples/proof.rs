//! Writes pages of proofs into a folder: of a system that holds, of one that does not, with hostile
//! names, with too much, with nothing; and pages of sites. `make test-report` looks at them with a browser.
//!
//! ```sh
//! cargo run --package bulkhead-report --example proof -- build/report
//! ```

#[path = "../tests/history/mod.rs"]
mod history;
#[path = "../tests/rover/mod.rs"]
mod rover;

use std::path::PathBuf;
use std::{env, fs, io};

use report::proof::Proof;

fn main() -> io::Result<()> {
    let folder = PathBuf::from(env::args_os().nth(1).unwrap_or_else(|| "build/report".into()));
    fs::create_dir_all(&folder)?;
    let nothing = Proof { name: "nothing".into(), ..Proof::default() };
    for (name, proof) in [
        ("rover", rover::rover()),
        ("broken", rover::broken()),
        ("hostile", rover::hostile()),
        ("huge", rover::huge()),
        ("nothing", nothing),
    ] {
        let file = folder.join(name).with_extension("html");
        fs::write(&file, proof.html())?;
        println!("{}", file.display());
    }
    for (name, site) in [("site", history::history()), ("hostile-site", history::hostile())] {
        for (page, number) in site.pages().into_iter().zip(0..) {
            let file = folder.join(format!("{name}-{number}.html"));
            fs::write(&file, page.html)?;
            println!("{}", file.display());
        }
    }
    Ok(())
}
