//! The text of a certificate.

use std::fmt::Write;

use policy::server::kind::Kind;

use crate::names::{Names, plain};
use crate::windows::windows;
use crate::{Interferer, Lack, Limit, Place, Server, Task, Vcpu};

/// A certificate of a VCPU.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Certificate {
    /// The file, for Coq.
    pub text: String,
    /// Bounds with a theorem, in the order of the tasks.
    pub bounds: Vec<Bound>,
    /// Tasks without, by their index.
    pub without: Vec<(usize, Lack)>,
    /// Assumptions of the theorems about the system besides its description, which nobody has proved: clauses.
    pub hypotheses: Vec<String>,
}

/// A bound with a theorem.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Bound {
    /// The index of the task.
    pub task: usize,
    /// The name of the theorem.
    pub theorem: String,
    /// The bound in nanoseconds.
    pub response: u64,
    /// One window for each job of the longest busy window.
    pub windows: Vec<u64>,
}

/// Writes the certificate of a VCPU.
pub fn write(vcpu: &Vcpu) -> Certificate {
    let (mut bounds, mut without) = (Vec::new(), Vec::new());
    let mut known = Vec::with_capacity(vcpu.tasks.len());
    let mut names = Names::default();
    for (index, task) in vcpu.tasks.iter().enumerate() {
        let found = match vcpu.place {
            Place::Nothing => Err(Lack::NoBound),
            _ => windows(vcpu, index, &known),
        };
        match (found, &task.bound) {
            (Ok(windows), &Ok(response)) => {
                known.push(Some(response));
                let theorem = format!("bound_of_{}", names.unique(&task.name));
                bounds.push(Bound { task: index, theorem, response, windows });
            }
            (found, _) => {
                known.push(None);
                without.push((index, found.err().unwrap_or(Lack::NoBound)));
            }
        }
    }
    let hypotheses = hypotheses(vcpu);
    let text = text(vcpu, &bounds, &without, &hypotheses);
    Certificate { text, bounds, without, hypotheses }
}

/// Returns the hypotheses where VCPUs share resources.
fn hypotheses(vcpu: &Vcpu) -> Vec<String> {
    let mut all = Vec::new();
    if let Place::Promised { .. } = vcpu.place {
        all.push("the VCPU gets its budget as early in each period as vMPCP, Eq. 5, says");
    }
    if vcpu.locks {
        all.push(
            "tasks below hold off a task for no longer than vMPCP, Eq. 7 to 9, says: `blocking`",
        );
        all.push(
            "jobs wait for resources of other VCPUs for no longer than vMPCP, Eq. 10 and 11, says: \
             `suspension`",
        );
    }
    all.into_iter().map(Into::into).collect()
}

fn text(vcpu: &Vcpu, bounds: &[Bound], without: &[(usize, Lack)], hypotheses: &[String]) -> String {
    let Vcpu { vm, vcpu: index, late, reload, once, on_way, reloads_of_color, .. } = vcpu;
    let mut text = format!(
        "(* Bounds of the response times of tasks: VM {}, VCPU {index}. Times are in nanoseconds.\n\n\
         \x20  [safe system i R] says that in every run that obeys the parameters of [system] each job of\n\
         \x20  task [i], the first of which is 0, is complete [R] after its arrival. [obeys] and [safe] are\n\
         \x20  defined in Certificate.v. *)\n\
         From Coq Require Import List NArith.\n\
         From Bulkhead Require Import Certificate.\n\
         Import ListNotations.\n\
         Open Scope N_scope.\n\n",
        plain(vm)
    );
    if !hypotheses.is_empty() {
        let lines: String =
            hypotheses.iter().map(|it| format!("\n   - {}", harmless(it))).collect();
        let _ = write!(text, "(* HYPOTHESES, which nobody has proved:{lines} *)\n\n");
    }
    let servers: Vec<_> = vcpu.above.iter().map(server).collect();
    let tasks: Vec<_> = vcpu.tasks.iter().map(task).collect();
    let sources = vcpu.sources.iter().map(|it| {
        format!("{{| cost := {}; spacing := {}; early := {} |}}", it.cost, it.spacing, it.early)
    });
    let sources: Vec<_> = sources.collect();
    let interferers: Vec<_> = vcpu.interferers.iter().map(interferer).collect();
    let place = match &vcpu.place {
        Place::Whole | Place::Nothing => "Whole".into(),
        Place::Background => "Background".into(),
        Place::Served { own, response } => format!("Served {} {response}", server(own)),
        Place::Promised { own, response } => format!("Promised {} {response}", server(own)),
    };
    let _ = write!(
        text,
        "Definition system : vcpu := {{|\n  \
           above := {};\n  at_place := {place};\n  late := {late};\n  tasks := {};\n  \
           reload := {reload};\n  sources := {};\n  once := {once};\n  interferers := {};\n  \
           on_way := {on_way};\n  reloads_of_color := {reloads_of_color}\n|}}.\n\n",
        list(&servers),
        list(&tasks),
        list(&sources),
        list(&interferers),
    );
    let rows = bounds.iter().map(|it| {
        let windows: Vec<_> = it.windows.iter().map(u64::to_string).collect();
        let (of, response) = (it.task, it.response);
        format!("{{| of := {of}; response := {response}; windows := [{}] |}}", windows.join("; "))
    });
    let _ = write!(
        text,
        "Definition bounds : list bound := {}.\n\n\
         Theorem checked : check system bounds = true.\n\
         Proof. vm_cast_no_check (eq_refl true). Qed.\n",
        list(&rows.collect::<Vec<_>>())
    );
    for Bound { task: index, theorem, response, .. } in bounds {
        let Task { name, deadline, .. } = &vcpu.tasks[*index];
        let name = plain(name);
        let in_time = theorem.replacen("bound_of", "in_time", 1);
        let proof = "Proof. apply (safe_by _ _ _ _ checked). vm_cast_no_check (eq_refl true). Qed.";
        let _ = write!(
            text,
            "\n(* Task {name}, and its deadline. *)\n\
             Theorem {theorem} : safe system {index} {response}.\n{proof}\n\
             Theorem {in_time} : safe system {index} {deadline}.\n{proof}\n",
        );
    }
    for (index, lack) in without {
        let name = plain(&vcpu.tasks[*index].name);
        let _ =
            write!(text, "\n(* No theorem for task {name}: {}. *)\n", harmless(&lack.to_string()));
    }
    text
}

/// Returns text that can stand in a comment.
fn harmless(text: &str) -> String {
    text.chars().map(|it| if matches!(it, '*' | '"') { '_' } else { it }).collect()
}

fn list(items: &[String]) -> String {
    match items {
        [] => "[]".into(),
        items => format!("[\n    {}]", items.join(";\n    ")),
    }
}

fn server(server: &Server) -> String {
    let Server { kind, budget, counted, period } = server;
    let kind = match kind {
        Kind::Periodic => "Periodic",
        Kind::Deferrable => "Deferrable",
        Kind::Sporadic => "Sporadic",
    };
    format!(
        "{{| kind := Servers.{kind}; budget := {budget}; counted := {counted}; period := {period} |}}"
    )
}

fn interferer(Interferer { wait, limits }: &Interferer) -> String {
    let limit = |&Limit { step, span, after, credit }: &Limit| {
        format!("{{| step := {step}; span := {span}; after := {after}; credit := {credit} |}}")
    };
    let all = |limits: &Vec<Limit>| limits.iter().map(limit).collect::<Vec<_>>().join("; ");
    let limits = limits.as_ref().map_or("None".into(), |it| format!("Some [{}]", all(it)));
    format!("{{| wait := {wait}; limits := {limits} |}}")
}

fn task(task: &Task) -> String {
    let Task { name, wcet, period, jitter, blocking, suspension, colors, accesses, tied, .. } =
        task;
    let accesses = accesses.map_or("None".into(), |it| format!("Some {it}"));
    format!(
        "(* {} *) {{| wcet := {wcet}; every := {period}; jitter := {jitter}; blocking := {blocking}; \
         suspension := {suspension}; colors := {colors}; accesses := {accesses}; tied := {tied} |}}",
        plain(name)
    )
}
