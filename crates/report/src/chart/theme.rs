//! Colours and sizes, for light and for dark pages.

use plotters::style::RGBColor;

/// Width and height of a chart in pixels.
pub const SIZE: (u32, u32) = (860, 480);
/// Size of text in pixels.
pub const TEXT: u32 = 14;
/// Size of the title in pixels.
pub const TITLE: u32 = 17;
/// The font; the viewer of the chart has it.
pub const FONT: &str = "sans-serif";

/// Behind everything.
pub const PAPER: RGBColor = RGBColor(0xff, 0xff, 0xff);
/// Text and axes.
pub const INK: RGBColor = RGBColor(0x1f, 0x23, 0x28);
/// Lines of the grid.
pub const GRID: RGBColor = RGBColor(0xd0, 0xd7, 0xde);

/// Colours of series: those of Okabe and Ito that stand out on white and on
/// black, and that people with colour vision deficiency can tell apart.
const SERIES: [RGBColor; 6] = [
    RGBColor(0x00, 0x72, 0xb2),
    RGBColor(0xd5, 0x5e, 0x00),
    RGBColor(0x00, 0x9e, 0x73),
    RGBColor(0xcc, 0x79, 0xa7),
    RGBColor(0xe6, 0x9f, 0x00),
    RGBColor(0x56, 0xb4, 0xe9),
];

/// Returns the colour of the series with this number.
pub fn series(index: usize) -> RGBColor {
    SERIES[index % SERIES.len()]
}

/// The colours of [`PAPER`], [`INK`] and [`GRID`] on dark pages. A rule of a
/// style sheet is stronger than the attribute that it selects.
const DARK: &str = "<style>@media (prefers-color-scheme: dark) { \
    [fill=\"#FFFFFF\"] { fill: #0d1117; } \
    [fill=\"#1F2328\"] { fill: #e6edf3; } [stroke=\"#1F2328\"] { stroke: #e6edf3; } \
    [stroke=\"#FFFFFF\"] { stroke: #0d1117; } \
    [fill=\"#D0D7DE\"] { fill: #30363d; } [stroke=\"#D0D7DE\"] { stroke: #30363d; } }</style>";

/// Adds the colours for dark pages to a drawing.
pub fn with_dark_colors(svg: &str) -> String {
    match svg.find('>') {
        Some(end) => format!("{}\n{DARK}{}", &svg[..=end], &svg[end + 1..]),
        None => svg.to_owned(),
    }
}
