//! The files of a folder in which certificates can be checked: the proofs on which they rest, the
//! certificates, and a `Makefile`.

use crate::names::Names;
use crate::{Bound, Certificate, Vcpu};

/// The version of Coq with which the proofs were tested.
pub const COQ: &str = "8.16.1";

/// The package of Debian that has Coq.
pub const PACKAGE: &str = "coq";

/// The name of the file that states all bounds once more.
pub const STATEMENTS: &str = "Statements";

/// The output of Coq for that file if the proofs assume nothing.
pub const NOTHING_ASSUMED: &str = "Closed under the global context";

/// The beginning of the `Makefile` of such a folder.
pub const MAKEFILE: &str = "# Checks all certificates with Coq: `make`.";

/// The proofs, in an order in which they can be compiled.
pub const PROOFS: [(&str, &str); 9] = [
    ("Counting", include_str!("../proofs/Counting.v")),
    ("Tasks", include_str!("../proofs/Tasks.v")),
    ("Losses", include_str!("../proofs/Losses.v")),
    ("Supply", include_str!("../proofs/Supply.v")),
    ("Servers", include_str!("../proofs/Servers.v")),
    ("Memory", include_str!("../proofs/Memory.v")),
    ("Waits", include_str!("../proofs/Waits.v")),
    ("Below", include_str!("../proofs/Below.v")),
    ("Certificate", include_str!("../proofs/Certificate.v")),
];

/// A file, by its path in the folder.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct File {
    /// Its path.
    pub path: String,
    /// Its content.
    pub text: String,
}

/// Returns the names of the files of certificates, in their order: `VM_VCPU.v`.
pub fn names<'a>(vcpus: impl Iterator<Item = &'a Vcpu>) -> Vec<String> {
    let mut names = Names::default();
    vcpus.map(|it| names.unique(&format!("vm_{}_{}", it.vm, it.vcpu)) + ".v").collect()
}

/// Returns all files of a folder with these certificates.
pub fn files(certificates: &[(String, &Certificate)]) -> Vec<File> {
    let proofs = PROOFS
        .iter()
        .map(|(name, text)| File { path: format!("Bulkhead/{name}.v"), text: (*text).into() });
    let own = certificates
        .iter()
        .map(|(name, certificate)| File { path: name.clone(), text: certificate.text.clone() });
    let statements = File { path: format!("{STATEMENTS}.v"), text: statements(certificates) };
    let makefile = File { path: "Makefile".into(), text: makefile(certificates) };
    proofs.chain(own).chain([statements, makefile]).collect()
}

/// Returns the text that states all bounds once more, in the words of the proofs, and prints what they assume.
fn statements(certificates: &[(String, &Certificate)]) -> String {
    let mut text =
        "(* States all bounds once more, and prints what their proofs assume: nothing. *)\n\
                    From Coq Require Import NArith.\nFrom Bulkhead Require Certificate.\n"
            .to_owned();
    let modules: Vec<_> =
        certificates.iter().map(|(name, it)| (name.trim_end_matches(".v"), it)).collect();
    for (module, _) in &modules {
        text.push_str(&format!("Require {module}.\n"));
    }
    for (module, certificate) in &modules {
        let bounds = certificate.bounds.iter().map(|Bound { task, theorem, response, .. }| {
            format!(
                "  ({module}.{theorem} : Bulkhead.Certificate.safe {module}.system {task} {response}%N)"
            )
        });
        let bounds: Vec<_> = bounds.collect();
        if !certificate.hypotheses.is_empty() {
            text.push_str(&format!(
                "(* [safe] has hypotheses that nobody has proved: {module}.v lists them. *)\n"
            ));
        }
        text.push_str(&format!("Definition of_{module} := (\n{}).\n", bounds.join(",\n")));
    }
    let all: Vec<_> = modules.iter().map(|(module, _)| format!("of_{module}")).collect();
    text.push_str(&format!("Definition all := ({}).\nPrint Assumptions all.\n", all.join(", ")));
    text
}

fn makefile(certificates: &[(String, &Certificate)]) -> String {
    let modules: Vec<_> =
        certificates.iter().map(|(name, _)| name.trim_end_matches(".v")).collect();
    let proofs: Vec<_> = PROOFS.iter().map(|(name, _)| *name).collect();
    let with_hypotheses = certificates.iter().filter(|(_, it)| !it.hypotheses.is_empty());
    let notes: String = with_hypotheses
        .map(|(name, _)| {
            format!("\t@echo 'theorems in {name} have hypotheses that nobody has proved, which it lists'\n")
        })
        .collect();
    let mut text = format!(
        "{MAKEFILE} What was checked is not checked again.\n\n\
         COQC ?= coqc\n\
         PROOFS := {}\n\
         CERTIFICATES := {}\n\n\
         .DELETE_ON_ERROR:\n\
         .PHONY: all coq\n\
         all: {STATEMENTS}.txt\n\
         \t@echo 'Coq '`$(COQC) --print-version | cut -d' ' -f1`' has checked all certificates: $(words $(CERTIFICATES))'\n\
         {notes}\n\
         coq:\n\
         \t@command -v $(COQC) >/dev/null || {{ echo 'coqc is missing: install the Debian package \
         `{PACKAGE}`' >&2; exit 1; }}\n\
         \t@$(COQC) --print-version | grep -q '^{COQ} ' || echo 'note: tested with Coq {COQ} only' >&2\n\n\
         {STATEMENTS}.txt: {STATEMENTS}.v $(CERTIFICATES:%=%.vo)\n\
         \t@$(COQC) -q -Q Bulkhead Bulkhead $< >$@ || {{ echo '$<: the certificates do not say what was \
         written' >&2; exit 1; }}\n\
         \t@test \"`cat $@`\" = '{NOTHING_ASSUMED}' || {{ cat $@ >&2; echo 'certificates assume what nobody \
         has proved' >&2; exit 1; }}\n\n\
         %.vo: %.v\n\
         \t$(COQC) -q -Q Bulkhead Bulkhead $<\n\n",
        proofs.join(" "),
        modules.join(" ")
    );
    for pair in proofs.windows(2) {
        text.push_str(&format!("Bulkhead/{}.vo: Bulkhead/{}.vo\n", pair[1], pair[0]));
    }
    text.push_str(&format!(
        "Bulkhead/{}.vo: | coq\n$(CERTIFICATES:%=%.vo): Bulkhead/{}.vo\n",
        proofs[0],
        proofs[proofs.len() - 1]
    ));
    text
}
