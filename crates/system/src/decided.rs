//! Writes the decisions of the planner into a description: the plan of a machine that is only analysed.

use std::path::Path;

use toml_edit::{DocumentMut, InlineTable, Item, TableLike, Value};
use units::Duration;

use crate::description::{Amount, Bandwidth, PLANNED, System, Vcpu, Vm};
use crate::plan::{Class, moved};

/// Returns the text of a description with the decisions of the completed `system` in it; all else
/// in the text stays as it is. `folder` is where the text will be: if that is elsewhere, a path of the platform is written
/// in full, and paths of guests become relative to it. `None` if the system has more parts than the text, or the text
/// cannot be read.
pub fn with_decisions(text: &str, system: &System, folder: &Path) -> Option<String> {
    let mut document: DocumentMut = text.parse().ok()?;
    let root = document.as_table_mut();
    if folder != system.folder {
        move_platform(root, &system.folder);
        for table in tables(root, "vm", system.vms.len())? {
            move_guest(table, &system.folder, folder)?;
        }
    }
    decide(root, "locks", system.locks.as_str());
    for (table, vm) in tables(root, "vm", system.vms.len())?.into_iter().zip(&system.vms) {
        write_vm(table, vm)?;
    }
    Some(document.to_string())
}

fn write_vm(table: &mut dyn TableLike, vm: &Vm) -> Option<()> {
    if let Some(colors) = &vm.colors {
        decide(table, "colors", colors.value.to_string());
    }
    limit(table, vm.bandwidth.as_ref());
    for (table, task) in tables(table, "task", vm.tasks.len())?.into_iter().zip(&vm.tasks) {
        if vm.vcpus.len() > 1 {
            add(table, "vcpu", task.vcpu as i64);
        }
        if let Some(colors) = &task.colors {
            add(table, "colors", colors.value.to_string());
        }
    }
    if says_planned(table, "vcpus") {
        number(table, vm.vcpus.len())?;
    }
    // VCPUs that have no tables have PCPUs of their own, which follow.
    if table.contains_key("vcpu") {
        let vcpus = tables(table, "vcpu", vm.vcpus.len())?;
        vcpus.into_iter().zip(&vm.vcpus).for_each(|(table, vcpu)| write_vcpu(table, vcpu));
    }
    Some(())
}

fn write_vcpu(table: &mut dyn TableLike, vcpu: &Vcpu) {
    if let Some(pcpu) = &vcpu.pcpu {
        add(table, "pcpu", pcpu.value as i64);
    }
    if let Some(priority) = vcpu.server.as_ref().and_then(|server| server.priority.as_ref()) {
        add(table, "priority", priority.value as i64);
    }
    if let Some(server) = &vcpu.server
        && let Class::Reserved(_, budget) = server.class.value
    {
        decide(table, "server", server.class.value.as_str());
        decide(table, "overrun", server.overrun.is_some());
        add(table, "period", in_words(budget.period));
        add(table, "budget", in_words(budget.budget));
    }
    limit(table, vcpu.bandwidth.as_ref());
}

/// Writes a planned number of VCPUs: as a number, or as `count` copies of the table that describes
/// them all.
fn number(table: &mut dyn TableLike, count: usize) -> Option<()> {
    match table.get_mut("vcpu") {
        None => decide(table, "vcpus", i64::try_from(count).ok()?),
        Some(Item::ArrayOfTables(tables)) => {
            let one = tables.get(0)?.clone();
            (1..count).for_each(|_| tables.push(one.clone()));
            table.remove("vcpus");
        }
        Some(Item::Value(Value::Array(values))) => {
            let one = values.get(0)?.clone();
            (1..count).for_each(|_| values.push_formatted(one.clone()));
            table.remove("vcpus");
        }
        Some(_) => return None,
    }
    Some(())
}

fn says_planned(table: &dyn TableLike, key: &str) -> bool {
    table.get(key).and_then(Item::as_str) == Some(PLANNED)
}

/// Writes the decision for a key that says `"planned"`.
fn decide(table: &mut dyn TableLike, key: &str, decided: impl Into<Value>) {
    if says_planned(table, key)
        && let Some(Item::Value(value)) = table.get_mut(key)
    {
        replace(value, decided);
    }
}

/// Writes a limit on memory accesses where the text leaves it open.
fn limit(table: &mut dyn TableLike, limit: Option<&Bandwidth>) {
    let (Some(limit), Some(item)) = (limit, table.get_mut("bandwidth")) else { return };
    let Amount::Accesses(accesses) = limit.amount.value else { return };
    let is_open = match item.as_table_like() {
        Some(table) => !table.contains_key("accesses") && !table.contains_key("rate"),
        None => item.as_str() == Some(PLANNED),
    };
    if !is_open {
        return;
    }
    let mut decided = InlineTable::new();
    decided.insert("accesses", i64::try_from(accesses).unwrap_or(i64::MAX).into());
    decided.insert("period", in_words(limit.period.value).into());
    match item {
        Item::Value(value) => replace(value, decided),
        other => *other = decided.into(),
    }
}

/// Adds a key, if it is not there.
fn add(table: &mut dyn TableLike, key: &str, value: impl Into<Value>) {
    if !table.contains_key(key) {
        table.insert(key, Item::Value(value.into()));
    }
}

/// Replaces a value; the comment behind it stays.
fn replace(value: &mut Value, new: impl Into<Value>) {
    let decor = value.decor().clone();
    *value = new.into();
    *value.decor_mut() = decor;
}

/// Returns the tables of a list, if there are as many.
fn tables<'t>(
    table: &'t mut dyn TableLike,
    key: &str,
    count: usize,
) -> Option<Vec<&'t mut dyn TableLike>> {
    let tables: Vec<&mut dyn TableLike> = match table.get_mut(key) {
        None => Vec::new(),
        Some(Item::ArrayOfTables(tables)) => {
            tables.iter_mut().map(|table| table as &mut dyn TableLike).collect()
        }
        Some(Item::Value(Value::Array(values))) => {
            let tables = values.iter_mut().filter_map(Value::as_inline_table_mut);
            tables.map(|table| table as &mut dyn TableLike).collect()
        }
        Some(_) => return None,
    };
    (tables.len() == count).then_some(tables)
}

/// Writes the path of a platform file so that it does not depend on where the text is.
fn move_platform(root: &mut dyn TableLike, from: &Path) {
    let Some(mut platform) = root.get_mut("platform") else { return };
    if platform.is_table_like() {
        let Some(board) = platform.get_mut("board") else { return };
        platform = board;
    }
    let Item::Value(value) = platform else { return };
    if let Some(path) = value.as_str().filter(|name| name.ends_with(".toml"))
        && let Ok(path) = std::path::absolute(from.join(path))
    {
        let path = path.display().to_string();
        replace(value, path);
    }
}

/// Writes the paths of the files of a VM as they are seen from another folder. Absolute paths stay.
fn move_guest(vm: &mut dyn TableLike, from: &Path, to: &Path) -> Option<()> {
    for key in ["kernel", "initrd"] {
        let Some(Item::Value(value)) = vm.get_mut(key) else { continue };
        if let Some(path) = value.as_str().filter(|path| Path::new(path).is_relative()) {
            let moved = moved(path, from, to).ok()?;
            replace(value, moved);
        }
    }
    Some(())
}

/// Writes a time exactly, in the largest unit of which it is a whole number.
fn in_words(Duration(time): Duration) -> String {
    const UNITS: [(u64, &str); 3] = [(1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "us")];
    let whole = UNITS.iter().find(|(unit, _)| time >= *unit && time.is_multiple_of(*unit));
    let (unit, name) = whole.copied().unwrap_or((1, "ns"));
    format!("{}{name}", time / unit)
}

#[cfg(test)]
mod tests {
    use crate::description::Located;

    use super::*;

    const TEXT: &str = r#"# a comment
name = "s"
platform = "i7-2600"

[[vm]]
name = "a" # the first
boot = "raw"
memory = "16MiB"
kernel = "rt.bin"
colors = "planned" # which?
bandwidth = "80MB/s"
vcpu = [{ server = "deferrable", period = "5ms" }, { server = "background", pcpu = 1 }]

[[vm.task]]
name = "t"
period = "10ms"
wcet = "1ms"

[[vm]]
name = "b"
boot = "raw"
memory = "16MiB"
kernel = "rt.bin"
"#;

    #[test]
    fn decisions_are_written_and_all_else_stays() {
        let text = TEXT.replace("bandwidth = \"80MB/s\"\n", "");
        let mut system = System::from_toml("s.toml", &text, Path::new("")).expect("a description");
        let vm = &mut system.vms[0];
        let place = vm.colors_open.take().expect("open colours");
        vm.colors = Some(Located::new("0-2,5".parse().expect("colours"), &place));
        vm.vcpus[0].pcpu = Some(Located::new(3, &place));
        let server = vm.vcpus[0].server.as_mut().expect("a server");
        let budget = server.class.value.budget().expect("a budget");
        let budget = crate::plan::Budget { budget: Duration(1_250_000), ..budget };
        server.class.value = server.class.value.with_budget(budget);
        vm.tasks[0].vcpu = 1;
        let written = with_decisions(&text, &system, Path::new("")).expect("a text");
        let expected = text
            .replace("\"planned\" # which?", "\"0-2,5\" # which?")
            .replace("period = \"5ms\" }", "period = \"5ms\" , pcpu = 3, budget = \"1250us\" }")
            .replace("wcet = \"1ms\"\n", "wcet = \"1ms\"\nvcpu = 1\n");
        let plain = |text: &str| text.replace([' ', '\n'], "");
        assert_eq!(plain(&written), plain(&expected), "{written}");
        assert!(written.contains("# a comment") && written.contains("# the first"));
        let read = System::from_toml("s.toml", &written, Path::new("")).expect("a description");
        assert!(!read.is_open());
    }

    /// Elsewhere a path means another file.
    #[test]
    fn paths_are_those_of_the_folder_of_the_text() {
        let files = ["../build/rt.bin", "/boot/rt.bin", "rt.cpio"];
        let text = TEXT.replace("bandwidth = \"80MB/s\"\n", "");
        let text = text.replacen("rt.bin", files[0], 1).replacen(
            "\"rt.bin",
            &format!("\"{}", files[1]),
            1,
        );
        let linux = format!("kernel = \"{}\"", files[0]);
        let text = text.replacen(&linux, &format!("{linux} # ours\ninitrd = \"{}\"", files[2]), 1);
        let text = text.replacen("boot = \"raw\"\n", "", 1);
        let system =
            System::from_toml("s.toml", &text, Path::new("/a/systems")).expect("a description");
        let written = with_decisions(&text, &system, Path::new("/a/build/new")).expect("a text");
        for line in [
            "kernel = \"../rt.bin\" # ours",
            "initrd = \"../../systems/rt.cpio\"",
            "kernel = \"/boot/rt.bin\"",
        ] {
            assert!(written.contains(line), "{line}: {written}");
        }
        let same = with_decisions(&text, &system, Path::new("/a/systems")).expect("a text");
        assert!(files.iter().all(|file| same.contains(&format!("\"{file}\""))), "{same}");
    }

    #[test]
    fn choices_are_written() {
        let text = TEXT
            .replace("name = \"s\"\n", "name = \"s\"\nlocks = \"planned\"\n")
            .replacen("[[vm]]", "[[resource]]\nname = \"bus\"\nvms = [\"a\", \"b\"]\n\n[[vm]]", 1)
            .replace(
                "wcet = \"1ms\"\n",
                "wcet = \"1ms\"\nsections = [{ resource = \"bus\", length = \"0.1ms\" }]\n",
            )
            .replace("colors = \"planned\" # which?\nbandwidth = \"80MB/s\"\n", "vcpus = \"planned\"\n")
            .replace(
                "vcpu = [{ server = \"deferrable\", period = \"5ms\" }, { server = \"background\", pcpu = 1 }]",
                "vcpu = [{ server = \"planned\", overrun = \"planned\", period = \"5ms\" }]",
            );
        let mut system = System::from_toml("s.toml", &text, Path::new("")).expect("a description");
        system.locks_open = None;
        let vm = &mut system.vms[0];
        vm.vcpus_open = None;
        let server = vm.vcpus[0].server.as_mut().expect("a server");
        (server.kind_open, server.overrun_open) = (None, None);
        vm.vcpus.push(vm.vcpus[0].clone());
        let sporadic = vm.vcpus[1].server.as_mut().expect("a server");
        let budget = sporadic.class.value.budget().expect("a budget");
        sporadic.class.value = Class::Reserved(policy::server::kind::Kind::Sporadic, budget);
        let written = with_decisions(&text, &system, Path::new("")).expect("a text");
        assert!(written.contains("locks = \"vmpcp\"") && !written.contains("planned"), "{written}");
        let read = System::from_toml("s.toml", &written, Path::new("")).expect("a description");
        let kinds: Vec<&str> = read.vms[0]
            .vcpus
            .iter()
            .filter_map(|vcpu| Some(vcpu.server.as_ref()?.class.value.as_str()))
            .collect();
        assert_eq!(kinds, ["deferrable", "sporadic"]);
        assert!(!read.is_open());
    }

    #[test]
    fn times_are_exact() {
        let all = [(1, "1ns"), (1_500, "1500ns"), (250_000, "250us"), (3_000_000_000, "3s")];
        for (time, words) in all {
            assert_eq!(in_words(Duration(time)), words);
        }
    }
}
