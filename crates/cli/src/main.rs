//! The `bulkhead` command: checks, plans, simulates, runs and traces systems.
//!
//! Exit status: 0 yes, 1 the answer is no, 2 bad input, 3 the answer is open, 128 + n
//! ended by signal n.

#![forbid(unsafe_code)]

mod arguments;
mod check;
mod diff;
mod export;
mod failure;
mod format;
mod help;
mod import;
mod init;
mod json;
mod measure;
mod output;
mod overview;
mod plan;
mod prove;
mod reproduce;
mod run;
mod schema;
mod signals;
mod sim;
mod status;
mod sweep;
mod top;
mod trace;
mod view;
mod words;

use std::process::ExitCode;

use clap::Parser;

use arguments::{Arguments, Command};
use failure::Failure;
use format::Format;

fn main() -> ExitCode {
    let arguments = Arguments::try_parse().unwrap_or_else(|error| {
        output::color(output::asked(std::env::args_os()));
        error.exit()
    });
    output::color(arguments.color);
    let format = match arguments.format() {
        Ok(format) => format,
        Err(failure) => return failure.report(Format::Text, None).into(),
    };
    if let Some(why) = lab::made::wrong_time() {
        return Failure::new("time", why).report(format, None).into();
    }
    let json = format == Format::Json;
    let result = match &arguments.command {
        Command::Init(options) => init::init(options, json),
        Command::Import(options) => import::import(options, json),
        Command::Check(options) => check::check(options, format),
        Command::Diff(options) => diff::diff(options, format),
        Command::Plan(options) => plan::plan(options, json),
        Command::Export(options) => export::export(options, json),
        Command::Sim(options) => sim::sim(options, json),
        Command::Run(options) => run::run(options, format),
        Command::Top(options) => top::top(options, json),
        Command::Prove(options) => prove::prove(options, format),
        Command::View(options) => view::view(options, json),
        Command::Trace(options) => trace::trace(options, json),
        Command::Measure(options) => measure::measure(options, json),
        Command::Reproduce(options) => reproduce::reproduce(options, json),
        Command::Sweep(options) => sweep::sweep(options, json),
        Command::Schema(options) => schema::schema(options),
        Command::Completions(options) => help::completions(options),
        Command::Man(options) => help::man(options, json),
    };
    match result {
        Ok(status) => status.into(),
        Err(failure) => failure.report(format, arguments.command.judged()).into(),
    }
}
