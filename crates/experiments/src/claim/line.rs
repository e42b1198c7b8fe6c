//! Straight lines through values.

/// The line through points by least squares: start, slope and by how many
/// percent the worst point is off. `None` for fewer than three points.
pub(super) fn line(points: &[(f64, f64)]) -> Option<(f64, f64, f64)> {
    if points.len() < 3 {
        return None;
    }
    let count = points.len() as f64;
    let (x_mean, y_mean) = (
        points.iter().map(|it| it.0).sum::<f64>() / count,
        points.iter().map(|it| it.1).sum::<f64>() / count,
    );
    let over: f64 = points.iter().map(|(x, y)| (x - x_mean) * (y - y_mean)).sum();
    let under: f64 = points.iter().map(|(x, _)| (x - x_mean).powi(2)).sum();
    let slope = over / under;
    let start = y_mean - slope * x_mean;
    let off = |&(x, y): &(f64, f64)| ((start + slope * x) / y - 1.0).abs() * 100.0;
    Some((start, slope, points.iter().map(off).fold(0.0, f64::max)))
}
