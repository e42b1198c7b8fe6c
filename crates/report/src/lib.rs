//! Results as charts (SVG), tables (Markdown), pages (HTML), and verdicts for tools that review changes (JUnit, SARIF, Markdown); and man pages.
//!
//! A chart is one SVG file without scripts, fonts or references; it is readable
//! on light and on dark pages. The same chart gives the same bytes on every machine.
//!
//! ```
//! use report::{Axis, Line, LineChart};
//!
//! let chart = LineChart {
//!     title: "Execution time".into(),
//!     x: Axis::from_zero("colours"),
//!     y: Axis::from_zero("time (1 colour = 1)"),
//!     lines: vec![Line { name: "latency".into(), points: vec![(1.0, 1.0), (16.0, 0.2)] }],
//! };
//! assert!(chart.svg()?.starts_with("<svg"));
//! # Ok::<(), report::Error>(())
//! ```

#![forbid(unsafe_code)]

mod chart;
pub mod date;
pub mod man;
pub mod markdown;
pub mod page;
pub mod proof;
pub mod site;
pub mod text;
pub mod verdicts;

pub use chart::{
    Axis, BarChart, Bars, Error, GANTT_PIECES_MAX, Gantt, Lane, Line, LineChart, Span, Whisker,
    WhiskerChart, Whiskers,
};
