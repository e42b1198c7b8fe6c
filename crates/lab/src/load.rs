//! Reads the file that the user names: a description or a plan.

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use image::{Error, Hypervisor, Image};
use planner::completion::{self, Improved, Options, Outcome, Point, Refusal};
use system::description;
use system::diagnostic::Errors;
use system::plan::{self, Plan};
use system::platform::Platform;
use verdict::Verdict;

use crate::failure::Failure;

/// The contents of a file.
#[derive(Debug)]
pub enum Input {
    /// A description (`.toml`).
    Description(Box<description::System>),
    /// A plan (`.dts`, `.dtb`).
    Plan(Box<Plan>),
}

/// A plan and where it came from.
#[derive(Clone, Debug)]
pub struct System {
    /// The file that was read.
    pub file: PathBuf,
    /// Its folder: paths in the plan start there.
    pub folder: PathBuf,
    /// The plan.
    pub plan: Plan,
    /// The machine, if more than the plan is known about it.
    pub platform: Option<Platform>,
    /// The description that the plan was made from, if it was.
    pub description: Option<Box<description::System>>,
    /// The description before it was planned, if it left something open.
    pub open: Option<Box<description::System>>,
}

impl System {
    /// Returns the `compatible` string of the CPUs, if it is known.
    pub fn cpu(&self) -> Option<String> {
        let model = self.platform.as_ref()?.cpus.first()?.model.to_ascii_lowercase();
        model.starts_with("cortex-").then(|| format!("arm,{model}"))
    }

    /// Returns the index of the VM with this `name`.
    pub fn find_vm(&self, name: &str) -> Result<usize, Failure> {
        let names: Vec<&str> = self.plan.vms.iter().map(|vm| vm.name.as_str()).collect();
        names.iter().position(|other| *other == name).ok_or_else(|| {
            let (known, file) = (names.join("`, `"), self.file.display());
            Failure::new(
                "unknown-vm",
                format!("there is no VM `{name}` in {file}\nhelp: its VMs are `{known}`"),
            )
        })
    }

    /// Appends `arguments` to the command line of the VM with this name.
    pub fn append(&mut self, vm: &str, arguments: &str) -> Result<(), Failure> {
        let vm = self.find_vm(vm)?;
        let bootargs = self.plan.vms[vm].boot.bootargs.get_or_insert_default();
        if !bootargs.is_empty() {
            bootargs.push(' ');
        }
        bootargs.push_str(arguments);
        Ok(())
    }

    /// Returns the image that boots the plan on this `hypervisor`.
    pub fn image(&self, hypervisor: &Hypervisor) -> Result<Image, Failure> {
        let image = image::build(&self.plan, &self.folder, hypervisor, self.cpu().as_deref());
        image.map_err(|error| match (&error, self.description.as_deref()) {
            // Where it was planned where files are loaded, the reason is the memory of the VM.
            (Error::Overlap { .. } | Error::OutsideRam { .. }, Some(described)) => {
                plan::check_room(described).map_or_else(Failure::Mistakes, |()| error.into())
            }
            _ => error.into(),
        })
    }
}

/// Reads a description or a plan.
pub fn read(file: &Path) -> Result<Input, Failure> {
    let name = file.display().to_string();
    match ending(file) {
        Some("toml") => described(&name, &text(file)?, folder(file)),
        Some("dts") => Ok(Input::Plan(Box::new(Plan::from_dts(&name, &text(file)?)?))),
        Some("dtb") => Ok(Input::Plan(Box::new(Plan::from_dtb(&bytes(file)?)?))),
        _ if is_standard_input(file) => Err(Failure::new(
            "no-file",
            "this command needs a file: what it writes has its name and place\n\
             help: of the commands for descriptions, only `check` and `diff` read the standard input",
        )),
        _ => {
            // A file that is not there is the more likely mistake than its name.
            bytes(file)?;
            Err(Failure::new(
                "unknown-ending",
                format!(
                    "{name} is neither a description nor a plan\n\
                     help: descriptions end in .toml, plans in .dts or .dtb"
                ),
            ))
        }
    }
}

/// The file that is the standard input, where a command can read that.
const STANDARD_INPUT: &str = "-";

/// Returns true if a file names the standard input.
pub fn is_standard_input(file: &Path) -> bool {
    file == Path::new(STANDARD_INPUT)
}

/// Reads a description or a plan (in source form) from a file, or from the standard input if that is `-`: paths in it
/// start in the current folder.
pub fn read_or_standard_input(file: &Path) -> Result<Input, Failure> {
    if !is_standard_input(file) {
        return read(file);
    }
    let text = text_or_standard_input(file)?;
    let name = name_or_standard_input(file);
    match text.trim_start().starts_with("/dts-v1/") {
        true => Ok(Input::Plan(Box::new(Plan::from_dts(&name, &text)?))),
        false => described(&name, &text, Path::new(".")),
    }
}

/// Returns the bytes of a file, or those of the standard input if that is `-`.
pub fn bytes_or_standard_input(file: &Path) -> Result<Vec<u8>, Failure> {
    if !is_standard_input(file) {
        return bytes(file);
    }
    let mut bytes = Vec::new();
    io::stdin().lock().read_to_end(&mut bytes).map_err(|error| {
        Failure::file("cannot-read", format!("cannot read the standard input: {error}"))
    })?;
    Ok(bytes)
}

/// Reads the same as text.
pub fn text_or_standard_input(file: &Path) -> Result<String, Failure> {
    let bytes = bytes_or_standard_input(file)?;
    let is_input = is_standard_input(file);
    utf8(if is_input { Path::new("the standard input") } else { file }, bytes)
}

/// Returns the name of a file in messages.
pub fn name_or_standard_input(file: &Path) -> String {
    match is_standard_input(file) {
        true => "<stdin>".into(),
        false => file.display().to_string(),
    }
}

/// Returns the description of this `name` and `text`, whose paths start in `folder`, with
/// everything planned that it leaves open.
fn described(name: &str, text: &str, folder: &Path) -> Result<Input, Failure> {
    let mut system = description::System::from_toml(name, text, folder)?;
    // For every command alike.
    complete(&mut system, &Options::default())?;
    Ok(Input::Description(Box::new(system)))
}

fn complete(system: &mut description::System, options: &Options<'_>) -> Result<Outcome, Failure> {
    completion::complete_with(system, options).map_err(refused)
}

fn refused(refusal: Refusal) -> Failure {
    match refusal {
        Refusal::Input(errors) => Failure::Mistakes(errors),
        Refusal::NoPlan(errors) => Failure::NoPlan(errors),
    }
}

/// Reads a description and keeps its open parts open.
pub fn description(file: &Path) -> Result<description::System, Failure> {
    if ending(file) != Some("toml") {
        // What cannot be read is said first.
        read(file)?;
        return Err(Failure::new(
            "is-a-plan",
            format!(
                "{} is a plan, in which nothing is open\n\
                 help: name the description that it was made from",
                file.display()
            ),
        ));
    }
    description::System::from_toml(&file.display().to_string(), &text(file)?, folder(file))
        .map_err(Failure::Mistakes)
}

/// Plans a description from an old plan, with at most this number of changes.
pub fn plan_from<'a>(
    file: &Path,
    (old, changes): (&Path, Option<usize>),
    options: impl FnOnce(&description::System) -> Result<Options<'a>, Failure>,
) -> Result<(System, Improved), Failure> {
    let mut system = description(file)?;
    let options = options(&system)?;
    let Input::Plan(old) = old_plan(old)? else {
        return Err(Failure::new(
            "not-a-plan",
            format!(
                "{} is no plan\nhelp: `--from` needs one that `bulkhead plan` wrote: .dts or .dtb",
                old.display()
            ),
        ));
    };
    let open = system.clone();
    let improved =
        completion::complete_from(&mut system, &old, changes, &options).map_err(refused)?;
    let planned = planned(file, Input::Description(Box::new(system)))?;
    Ok((System { open: Some(Box::new(open)), ..planned }, improved))
}

/// Reads an old plan; a description is not planned for that.
fn old_plan(file: &Path) -> Result<Input, Failure> {
    match ending(file) {
        Some("toml") => Ok(Input::Description(Box::new(description(file)?))),
        _ => read(file),
    }
}

/// Returns plans of a description of which none is better than another one in everything.
pub fn front<'a>(
    file: &Path,
    vm: Option<usize>,
    options: impl FnOnce(&description::System) -> Result<Options<'a>, Failure>,
) -> Result<(Vec<(System, Point)>, Outcome), Failure> {
    let system = description(file)?;
    let options = options(&system)?;
    let (points, outcome) = completion::front(&system, vm, &options).map_err(refused)?;
    let made = points.into_iter().map(|point| {
        let plan = plan_or_outline(&point.system)?;
        Ok((made(file, plan, Box::new(point.system.clone()), None), point))
    });
    Ok((made.collect::<Result<_, Failure>>()?, outcome))
}

/// Reads a plan, or reads a description and plans it.
pub fn plan(file: &Path) -> Result<System, Failure> {
    planned(file, read(file)?)
}

/// The same, planned in the way that `options` says when it sees the description; and what the
/// search did. A plan stays as it is. For a machine that is only analysed the plan is
/// [`plan::outline`].
pub fn plan_with<'a>(
    file: &Path,
    options: impl FnOnce(&description::System) -> Result<Options<'a>, Failure>,
) -> Result<(System, Outcome), Failure> {
    if ending(file) != Some("toml") {
        return Ok((plan(file)?, Outcome::default()));
    }
    let mut system = description(file)?;
    let options = options(&system)?;
    let open = system.is_open().then(|| Box::new(system.clone()));
    let outcome = complete(&mut system, &options)?;
    Ok((made(file, plan_or_outline(&system)?, Box::new(system), open), outcome))
}

/// The same, planned as [`plan()`] does.
pub fn outlined(file: &Path) -> Result<System, Failure> {
    Ok(plan_with(file, |_| Ok(Options::default()))?.0)
}

/// Returns the plan of a completed description, or its outline if the machine is only analysed.
pub fn plan_or_outline(system: &description::System) -> Result<Plan, Errors> {
    match system.platform.value.boot.is_ok() {
        true => plan::make(system),
        false => plan::outline(system),
    }
}

/// Returns the verdict on a completed description, with its plan or outline.
pub fn verdict(plan: &Plan, system: &description::System) -> Result<Verdict, Failure> {
    Ok(match system.platform.value.boot.is_ok() {
        true => Verdict::of_plan(plan, Some(system)),
        false => Verdict::of_description(system, &plan::assign(system)?),
    })
}

fn made(
    file: &Path,
    plan: Plan,
    described: Box<description::System>,
    open: Option<Box<description::System>>,
) -> System {
    let platform = Some(described.platform.value.clone());
    let (file, folder) = (file.to_owned(), folder(file).to_owned());
    System { file, folder, plan, platform, description: Some(described), open }
}

fn planned(file: &Path, input: Input) -> Result<System, Failure> {
    Ok(match input {
        Input::Description(system) => made(file, plan::make(&system)?, system, None),
        Input::Plan(plan) => {
            let platform = Platform::named(&plan.platform.board).ok();
            let (file, folder) = (file.to_owned(), folder(file).to_owned());
            System { file, folder, plan: *plan, platform, description: None, open: None }
        }
    })
}

/// Returns the ending of the name of a file.
pub fn ending(file: &Path) -> Option<&str> {
    file.extension().and_then(|ending| ending.to_str())
}

/// Returns the name of the system in a file that cannot be read; the standard input has none.
pub fn default_name(file: &Path) -> Option<String> {
    let name = file.file_name()?.to_str()?;
    // Of `system.plan.dts`, too.
    let stem = name.split('.').next().filter(|stem| !stem.is_empty() && *stem != STANDARD_INPUT)?;
    Some(description::default_name(Path::new(stem), folder(file)))
}

/// Returns the folder of a file; `.` for a bare name.
pub fn folder(file: &Path) -> &Path {
    match file.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// Returns the text of a file.
pub fn text(file: &Path) -> Result<String, Failure> {
    utf8(file, bytes(file)?)
}

/// Returns the `bytes` of a file as text.
fn utf8(file: &Path, bytes: Vec<u8>) -> Result<String, Failure> {
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        Failure::new("not-utf8", format!("{} is not UTF-8: byte {at} is wrong", file.display()))
    })
}

fn bytes(file: &Path) -> Result<Vec<u8>, Failure> {
    std::fs::read(file).map_err(|error| {
        let help = match error.kind() {
            io::ErrorKind::IsADirectory => "\nhelp: name a file in it",
            _ => "",
        };
        Failure::file("cannot-read", format!("cannot read {}: {error}{help}", file.display()))
    })
}
