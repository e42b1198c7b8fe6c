//! The last-level cache: which owner has which colours, and which owner evicts whose lines.

use super::Part;
use super::label::{class, escape, short};
use super::svg::{Anchor, Svg};
use super::units::{count, counted};
use crate::proof::{Cache, Owner, Proof};

/// Most colours and most owners of a map.
const COLORS_MAX: usize = 128;
const OWNERS_MAX: usize = 24;

const LEFT: f64 = 110.0;
const ROW: f64 = 26.0;
const TOP: f64 = 6.0;

/// Returns the part, if caches were counted.
pub fn part(proof: &Proof) -> Option<Part> {
    let runs = [("Without isolation", &proof.without), ("With the plan", &proof.with)];
    let caches: Vec<(&str, &Cache)> = runs
        .into_iter()
        .filter_map(|(name, run)| Some((name, run.as_ref()?.cache.as_ref()?)))
        .collect();
    if caches.is_empty() {
        return None;
    }
    let maps: String = caches.iter().map(|(name, cache)| map(proof, name, cache)).collect();
    let tables: String = caches.iter().map(|(name, cache)| evictions(name, cache)).collect();
    let html = format!(
        "<p>The cache model sees every access of the guests and of the hypervisor by its physical address. Isolation is: no VM \
         uses a colour that is another one's, and no line of one VM evicts a line of another. The hypervisor uses the colours of VMs too: what it \
         keeps for a VM lies in that VM's.</p>\n\
         <h3>Use of colours</h3>\n{LEGEND}<div class=\"charts wide\">\n{maps}</div>\n\
         <h3>Evictions</h3>\n<p>A row names the owner of the lines that came, a column the owner of the lines that went. Numbers outside of \
         the diagonal are lines that one owner took from another.</p>\n<div class=\"tables\">\n{tables}</div>\n"
    );
    Some(Part { id: "cache", nav: "Cache", title: "The last-level cache", html })
}

const LEGEND: &str = "<ul class=\"legend\">\
<li><svg class=\"key long\" viewBox=\"0 0 74 14\" aria-hidden=\"true\">\
<rect class=\"vx h1\" width=\"14\" height=\"14\"/><rect class=\"vx h2\" x=\"15\" width=\"14\" height=\"14\"/>\
<rect class=\"vx h3\" x=\"30\" width=\"14\" height=\"14\"/><rect class=\"vx h4\" x=\"45\" width=\"14\" height=\"14\"/>\
<rect class=\"vx h5\" x=\"60\" width=\"14\" height=\"14\"/></svg>accesses: below 100, 1\u{202f}000, 10\u{202f}000, 100\u{202f}000, more</li>\
<li><svg class=\"key\" viewBox=\"0 0 14 14\" aria-hidden=\"true\"><rect class=\"granted\" x=\"1\" y=\"1\" width=\"12\" height=\"12\"/></svg>colour of the plan</li>\
<li><svg class=\"key\" viewBox=\"0 0 14 14\" aria-hidden=\"true\"><use href=\"#lost\" class=\"lost\" x=\"7\" y=\"7\"/></svg>another VM evicted lines</li>\
</ul>\n";

/// Owners by colours.
fn map(proof: &Proof, name: &str, cache: &Cache) -> String {
    let owners: Vec<&Owner> = cache
        .owners
        .iter()
        .filter(|it| sum(&it.accesses_by_color) + sum(&it.lost_by_color) > 0)
        .take(OWNERS_MAX)
        .collect();
    let colors = owners
        .iter()
        .map(|it| it.accesses_by_color.len().max(it.lost_by_color.len()))
        .max()
        .unwrap_or(0);
    if colors == 0 {
        return format!("<p>{}: accesses by colour are not known.</p>\n", escape(name));
    }
    let shown = colors.min(COLORS_MAX);
    let width = (440.0 / shown as f64).clamp(4.0, 28.0);
    let bottom = TOP + owners.len() as f64 * ROW;
    let mut svg = Svg::new(LEFT + width * shown as f64 + 4.0, bottom + 22.0);
    for (row, owner) in owners.iter().enumerate() {
        let y = TOP + row as f64 * ROW;
        svg.text("name", [LEFT - 8.0, y + 17.0], Anchor::End, &short(&owner.name, 13));
        for color in 0..shown {
            let x = LEFT + color as f64 * width;
            let accesses = owner.accesses_by_color.get(color).copied().unwrap_or(0);
            let lost = owner.lost_by_color.get(color).copied().unwrap_or(0);
            let mut tip =
                format!("{} · colour {color} · {}", owner.name, counted(accesses, "access"));
            if lost > 0 {
                tip.push_str(&format!(" · {} evicted by other VMs", counted(lost, "line")));
            }
            let class = format!("{} {}", class(owner.vm), heat(accesses));
            svg.rect(&class, [x + 1.0, y + 2.0, width - 2.0, ROW - 4.0], &tip);
            if granted(proof, owner).contains(&color) {
                svg.rect("granted", [x + 1.0, y + 2.0, width - 2.0, ROW - 4.0], "");
            }
            if lost > 0 {
                svg.symbol("lost", [x + width / 2.0, y + ROW / 2.0], &tip);
            }
        }
    }
    for color in (0..shown).step_by(if width >= 20.0 { 1 } else { 8 }) {
        let x = LEFT + (color as f64 + 0.5) * width;
        svg.text("tick", [x, bottom + 16.0], Anchor::Middle, &color.to_string());
    }
    svg.text("tick", [LEFT - 8.0, bottom + 16.0], Anchor::End, "colour");
    let across = counted(cache.cross_vm_evictions(), "eviction");
    let left_out = if colors > shown {
        format!(" The first {shown} of {colors} colours.")
    } else {
        String::new()
    };
    format!(
        "<figure>\n<figcaption><strong>{}</strong>: {across} across VMs.{left_out}</figcaption>\n<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"Map of colours\">{}</div>\n</figure>\n",
        escape(name),
        svg.html(
            &format!(
                "{name}: accesses to the last-level cache by owner and colour; {across} across VMs"
            ),
            ""
        )
    )
}

/// Returns the colours that the plan gives to an owner.
fn granted<'a>(proof: &'a Proof, owner: &Owner) -> &'a [usize] {
    match owner.vm {
        Some(vm) => proof.vms.get(vm).map_or(&[], |vm| &vm.colors),
        None if owner.name == "hypervisor" => &proof.platform.hypervisor_colors,
        None => &[],
    }
}

/// Returns the table of evictions. Owners without any are left out.
fn evictions(name: &str, cache: &Cache) -> String {
    let cell = |came: usize, went: usize| {
        cache.evictions.get(came).and_then(|row| row.get(went)).copied().unwrap_or(0)
    };
    let all = 0..cache.owners.len();
    let takes_part =
        |owner: &usize| all.clone().any(|other| cell(*owner, other) + cell(other, *owner) > 0);
    let shown: Vec<usize> = all.clone().filter(takes_part).take(OWNERS_MAX).collect();
    if shown.is_empty() {
        return format!("<p>{}: nothing was evicted.</p>\n", escape(name));
    }
    let owner = |place: usize| escape(&cache.owners[place].name);
    let head: String = shown
        .iter()
        .map(|&went| format!("<th scope=\"col\" class=\"n\">of {}</th>", owner(went)))
        .collect();
    let mut rows = String::new();
    for &came in &shown {
        rows.push_str(&format!("<tr><th scope=\"row\">by {}</th>", owner(came)));
        for &went in &shown {
            let lines = cell(came, went);
            let vms = cache.owners[came].vm.zip(cache.owners[went].vm);
            let class = match vms {
                _ if came == went => "self",
                Some(_) if lines > 0 => "bad",
                Some(_) => "good",
                None => "",
            };
            rows.push_str(&format!("<td class=\"n {class}\">{}</td>", count(lines)));
        }
        rows.push_str("</tr>\n");
    }
    format!(
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Evictions: {0}\">\n<table>\n<caption>{0}: evicted lines</caption>\n<thead><tr><td></td>{head}</tr></thead>\n<tbody>\n{rows}</tbody>\n</table>\n</div>\n",
        escape(name)
    )
}

fn sum(counts: &[u64]) -> u64 {
    counts.iter().fold(0, |sum, count| sum.saturating_add(*count))
}

/// Returns the class of a number of accesses: by powers of ten.
fn heat(accesses: u64) -> &'static str {
    match accesses {
        0 => "h0",
        1..100 => "h1",
        100..1_000 => "h2",
        1_000..10_000 => "h3",
        10_000..100_000 => "h4",
        _ => "h5",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_accesses_are_never_paler() {
        let classes: Vec<_> = [0, 1, 99, 100, 5_000, 50_000, u64::MAX].map(heat).into();
        assert!(classes.is_sorted(), "{classes:?}");
    }

    #[test]
    fn rows_that_are_missing_are_zero() {
        let owner = |name: &str, vm| Owner { name: name.into(), vm, ..Owner::default() };
        let owners = vec![owner("a", Some(0)), owner("b", Some(1))];
        let cache = Cache { owners, evictions: vec![vec![5, 7]] };
        let html = evictions("run", &cache);
        assert!(html.contains("<td class=\"n bad\">7</td>"), "{html}");
        assert!(html.contains("<td class=\"n good\">0</td>"), "{html}");
    }
}
