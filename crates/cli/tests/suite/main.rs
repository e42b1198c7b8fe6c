//! The command, with a script in place of QEMU where a command starts one.

mod advice;
mod bandwidth;
mod certificate;
mod channel;
mod check;
mod check_locks;
mod export;
mod input;
mod interference;
mod limits;
mod locks;
mod measure;
mod plan;
mod plan_changes;
mod plan_given;
mod plan_objectives;
mod plan_written;
mod planning;
mod prove;
mod run;
mod sim;
mod sim_memory;
mod sweep;
mod terminal;
mod timelines;
mod trace;
