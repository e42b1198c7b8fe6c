//! Traces of simulations, read, compared, decided again and damaged.

mod compare;
mod export;
mod file;
mod live;
mod replay;
mod stream;
mod support;
mod timeline;
mod wire;
