//! Bounds that are theorems.

use super::Part;
use super::label::escape;
use super::units::time;
use crate::proof::Proof;

/// Returns the part, if theorems were asked for.
pub fn part(proof: &Proof) -> Option<Part> {
    let theorems = proof.theorems.as_ref()?;
    let with = theorems.bounds.iter().map(|it| {
        let mut theorem = format!("{} in {}", it.theorem, it.file);
        if !it.hypotheses.is_empty() {
            theorem += &format!(", with the hypotheses that {}", it.hypotheses.join(", that "));
        }
        row(&it.vm, it.vcpu, &it.task, &time(it.response_ns), &theorem)
    });
    let without = theorems
        .without
        .iter()
        .map(|it| row(&it.vm, it.vcpu, &it.task, "–", &format!("none: {}", it.reason)));
    let rows: String = with.chain(without).collect();
    let html = format!(
        "<p>{}. A theorem says that no schedule that keeps the assumptions exceeds the bound; the assumptions and the proofs \
         are in the folder <code>{}</code>.</p>\n\
         <div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Bounds and their theorems\">\n<table>\n<caption>Bounds and their theorems</caption>\n\
         <thead><tr><th scope=\"col\">VM</th><th scope=\"col\" class=\"n\">VCPU</th><th scope=\"col\">task</th>\
         <th scope=\"col\" class=\"n\">bound</th><th scope=\"col\">theorem</th></tr></thead>\n<tbody>\n{rows}</tbody>\n</table>\n</div>\n",
        escape(&capital(&theorems.summary())),
        escape(&theorems.folder),
    );
    Some(Part { id: "theorems", nav: "Theorems", title: "Bounds as theorems", html })
}

fn row(vm: &str, vcpu: usize, task: &str, bound: &str, theorem: &str) -> String {
    format!(
        "<tr><th scope=\"row\">{}</th><td class=\"n\">{vcpu}</td><td>{}</td><td class=\"n\">{bound}</td><td>{}</td></tr>\n",
        escape(vm),
        escape(task),
        escape(theorem),
    )
}

/// Returns a sentence with its first letter in upper case.
fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
