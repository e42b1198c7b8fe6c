//! Finds the tasks that chains name, and refuses chains that cannot have a bound.

use super::read::Written;
use super::{Chain, ChainStep};
use crate::description::{Channel, Located, Task, Vm};
use crate::diagnostic::Diagnostic;
use crate::document::Fields;
use crate::suggest;

/// Returns the chains, with their tasks in these VMs; `tables` are those of the VMs. All VMs must
/// have been read.
pub(in crate::description) fn resolve(
    root: &Fields<'_>,
    written: Vec<Option<Written>>,
    vms: &[&Vm],
    tables: &[Fields<'_>],
    channels: &[Channel],
) -> Option<Vec<Chain>> {
    let find = Find { root, vms, tables, channels };
    let chains: Vec<_> = written.into_iter().map(|it| find.chain(it?)).collect();
    chains.into_iter().collect()
}

struct Find<'a> {
    root: &'a Fields<'a>,
    vms: &'a [&'a Vm],
    tables: &'a [Fields<'a>],
    channels: &'a [Channel],
}

impl Find<'_> {
    fn chain(&self, written: Written) -> Option<Chain> {
        let Written { name, steps, max_reaction, max_age } = written;
        let steps: Vec<_> = steps.iter().map(|step| self.step(step)).collect();
        let steps: Vec<ChainStep> = steps.into_iter().collect::<Option<_>>()?;
        let chain = Chain { name, steps, max_reaction, max_age };
        self.sporadic(&chain);
        Some(chain)
    }

    /// Returns the task of a step, `vm.task`.
    fn step(&self, step: &Located<String>) -> Option<ChainStep> {
        let Some((vm_name, task_name)) = step.value.split_once('.') else {
            self.no_dot(step);
            return None;
        };
        let names: Vec<&str> = self.vms.iter().map(|vm| vm.name.value.as_str()).collect();
        let Some(index) = names.iter().position(|name| *name == vm_name) else {
            let message = format!("there is no VM `{}`", vm_name.escape_debug());
            self.unknown(step, message, suggest::help(vm_name, &names));
            return None;
        };
        let vm = self.vms[index];
        let tasks: Vec<&str> = vm.tasks.iter().map(|task| task.name.value.as_str()).collect();
        if let Some(task) = tasks.iter().position(|name| *name == task_name) {
            return Some(ChainStep { vm: index, task, place: step.place.clone() });
        }
        let vm_name = &vm.name.value;
        if !tasks.is_empty() {
            let message = format!("VM `{vm_name}` has no task `{}`", task_name.escape_debug());
            self.unknown(step, message, suggest::help(task_name, &tasks));
        } else if self.tables.get(index).is_none_or(|table| !table.misspells("task")) {
            let help = "describe them under `[[vm.task]]`: a chain goes through tasks";
            self.unknown(step, format!("VM `{vm_name}` has no tasks"), help);
        }
        None
    }

    /// A step without VM.
    fn no_dot(&self, step: &Located<String>) {
        let of = |vm: &&&Vm| vm.tasks.iter().any(|task| task.name.value == step.value);
        let help = match self.vms.iter().find(of) {
            Some(vm) => format!("did you mean `{}.{}`?", vm.name.value, step.value.escape_debug()),
            None => "name VM and task, as in `plan.route`".into(),
        };
        let message = format!("`{}` is no task of a VM", step.value.escape_debug());
        let mistake = Diagnostic::new("wrong-value", message).at(&step.place, "here");
        self.root.add(mistake.help(help));
    }

    fn unknown(&self, step: &Located<String>, message: String, help: impl Into<String>) {
        let mistake = Diagnostic::new("unknown-name", message).at(&step.place, "in this step");
        self.root.add(mistake.help(help));
    }

    /// Refuses a task that rings release if the step before does not ring for it.
    fn trigger(&self, (step, task): (&ChainStep, &Task), channel: usize, before: (&Vm, &Task)) {
        let (vm, before) = before;
        if before.rings.as_ref().is_some_and(|rings| rings.value == channel) {
            return;
        }
        let [vm, before_name] = [&vm.name.value, &before.name.value];
        let message = format!(
            "the step before, `{vm}.{before_name}`, does not ring for task `{}`",
            task.name.value
        );
        let name = self.channels.get(channel).map_or("?", |it| it.name.value.as_str());
        let help = format!(
            "add `rings = \"{name}\"` to task `{before_name}`, or name the task that rings before this step"
        );
        let mistake = Diagnostic::new("wrong-value", message).at(&step.place, "in this step");
        let mistake = mistake.also(&before.name.place, "the task before").help(help);
        self.root.add(match &task.triggered_by {
            Some(trigger) => mistake.also(&trigger.place, "released by rings here"),
            None => mistake,
        });
    }

    /// Refuses sporadic tasks where nothing limits how long data waits for them.
    fn sporadic(&self, chain: &Chain) {
        for (index, step) in chain.steps.iter().enumerate() {
            let vm = self.vms[step.vm];
            let task = &vm.tasks[step.task];
            let before = index.checked_sub(1).map(|before| &chain.steps[before]);
            let before = before.map(|it| (self.vms[it.vm], &self.vms[it.vm].tasks[it.task]));
            if let (Some(channel), Some(before)) = (&task.triggered_by, before) {
                self.trigger((step, task), channel.value, before);
                continue;
            }
            if !task.sporadic {
                continue;
            }
            let how = if task.triggered_by.is_some() { "released by rings" } else { "sporadic" };
            let name = format!("task `{}` of VM `{}`", task.name.value, vm.name.value);
            let mistake = match &chain.max_age {
                _ if index > 0 => {
                    let message = format!(
                        "{name} is sporadic: nothing limits how long data waits until it reads"
                    );
                    let help = "remove `sporadic` from the task, or begin the chain with this task";
                    let mistake = Diagnostic::new("wrong-value", message);
                    mistake.at(&step.place, "not the first step").help(help)
                }
                Some(age) => {
                    let message = format!(
                        "{name}, which begins the chain, is {how}: nothing limits how old its \
                         output becomes"
                    );
                    let help = match task.triggered_by.is_some() {
                        true => "remove `max_age`, or begin the chain with the task that rings",
                        false => "remove `max_age`, or `sporadic` from the task",
                    };
                    Diagnostic::new("wrong-value", message)
                        .at(&age.place, "no limit can hold")
                        .help(help)
                }
                None => continue,
            };
            self.root.add(mistake.also(&task.name.place, "this task"));
        }
    }
}
