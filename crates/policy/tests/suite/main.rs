//! Colours, servers, budgets, locks, channels and the decisions of a PCPU. `server_reference`, which takes longest, is a program of its own.

mod alone;
mod channel;
mod color_frames;
mod color_pool;
mod color_regions;
mod color_sets;
mod compensation;
mod cpus;
mod entry;
mod events;
mod extremes;
mod fast;
mod hold;
mod lock_interleavings;
mod lock_rules;
mod machine;
mod overrun;
mod pool;
mod rate;
mod recharge;
mod server_bounds;
mod shared_budget;
