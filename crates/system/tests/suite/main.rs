//! Descriptions, plans, and both readers of plans.

mod bandwidth;
mod both;
mod both_readers;
mod chains;
mod channel_mistakes;
mod channels;
mod choices;
mod colors;
mod description_text;
mod kvm;
mod links;
mod locks;
mod mistakes;
mod overheads;
mod plan_round_trip;
mod plan_rules;
mod plan_text;
mod serial_lines;
mod servers;
mod support;
mod talk;
mod tasks;
mod triggers;
mod typos;
mod vcoloring;
