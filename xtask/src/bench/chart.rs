//! The chart: plain SVG, readable on a light and on a dark page.

/// About the width of a character at the chart's font size, rounded up so that no label is cut off.
const CHARACTER: f64 = 8.0;
const BARS: f64 = 420.0;
const LINE: f64 = 22.0;

const STYLE: &str = "
text { font: 13px system-ui, sans-serif; fill: #24292f }
.title { font-weight: 600; font-size: 15px }
.small { fill: #57606a; font-size: 12px }
.pintle { fill: #0969da } .peer { fill: #afb8c1 }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 } .small { fill: #9198a1 } .peer { fill: #545d68 }
}";

/// One model's times, as the page prints them.
type Times<'a> = Vec<(&'a str, &'a str)>;

/// Time per fire under each model beside the other systems, on a linear scale, with how many times as long each takes.
/// The figures are those of the page, so that the two cannot differ.
pub(crate) fn draw(page: &str) -> String {
    let models = by_model(page);
    let all =
        || models.iter().flat_map(|(model, times)| times.iter().map(move |time| (model, time)));
    let longest = all().filter_map(|(_, (_, time))| nanoseconds(time)).fold(1.0, f64::max);
    let label = |model: &str, system: &str| format!("{model}, {system}");
    let left = all()
        .map(|(model, (system, _))| label(model, system).chars().count() as f64 * CHARACTER)
        .fold(0.0, f64::max);
    let mut canvas = Canvas { body: String::new(), y: LINE };
    canvas.text(10.0, "title", "start", "Ten handlers that finish at once: time per fire");
    for (model, times) in &models {
        canvas.y += LINE / 3.0;
        let ours = times.iter().find(|(system, _)| *system == "pintle");
        let ours = ours.and_then(|(_, time)| nanoseconds(time));
        for (system, time) in times {
            let Some(ns) = nanoseconds(time) else { continue };
            let (class, ratio) = match ours {
                Some(ours) if *system != "pintle" => ("peer", format!(", {:.1}×", ns / ours)),
                _ => ("pintle", String::new()),
            };
            let figure = format!("{time}{ratio}");
            canvas.bar(left + 10.0, &label(model, system), ns / longest, class, &figure);
        }
    }
    let (width, height) = (left + BARS + 160.0, canvas.y + 20.0);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" \
         role=\"img\" aria-label=\"Time per fire of pintle, tapable, hookable and pluggy\">\n<style>{STYLE}\n</style>\n{}</svg>\n",
        canvas.body,
    )
}

/// The table of the page that has a column for each system: each model, with each system and its time.
fn by_model(page: &str) -> Vec<(&str, Times<'_>)> {
    let cells = |line| -> Vec<&str> { str::split(line, '|').map(str::trim).collect() };
    let mut lines = page.lines().skip_while(|line| !line.starts_with("| | pintle |"));
    let systems = lines.next().map(cells).unwrap_or_default();
    let rows = lines.skip(1).take_while(|line| line.starts_with('|')).map(cells);
    rows.filter_map(|row| {
        let model = *row.get(1)?;
        let times = systems.iter().copied().zip(row).skip(2);
        Some((model, times.filter(|(_, time)| nanoseconds(time).is_some()).collect()))
    })
    .collect()
}

/// A time as the page prints it.
fn nanoseconds(time: &str) -> Option<f64> {
    let (figure, unit) = time.split_once(' ')?;
    let unit = match unit {
        "ns" => 1.0,
        "µs" => 1e3,
        "ms" => 1e6,
        _ => return None,
    };
    Some(figure.parse::<f64>().ok()? * unit)
}

struct Canvas {
    body: String,
    y: f64,
}

impl Canvas {
    fn bar(&mut self, left: f64, label: &str, share: f64, class: &str, figure: &str) {
        self.y += LINE;
        let length = (BARS * share).max(2.0);
        self.text(left, "", "end", label);
        self.body += &format!(
            "<rect class=\"{class}\" x=\"{:.1}\" y=\"{:.1}\" width=\"{length:.1}\" height=\"14\" rx=\"2\"/>\n",
            left + 10.0,
            self.y - 12.0
        );
        self.text(left + length + 16.0, "small", "start", figure);
    }

    fn text(&mut self, x: f64, class: &str, anchor: &str, text: &str) {
        let text = text.replace('&', "&amp;").replace('<', "&lt;");
        self.body += &format!(
            "<text class=\"{class}\" x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"{anchor}\">{text}</text>\n",
            self.y
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::step::root;

    /// Draws it anew with `PINTLE_UPDATE=1`.
    #[test]
    fn the_chart_shows_the_figures_of_the_page() {
        let docs = root().join("docs");
        let page = std::fs::read_to_string(docs.join("benchmarks.md")).unwrap_or_default();
        let drawn = draw(&page);
        if std::env::var_os("PINTLE_UPDATE").is_some_and(|value| value == "1") {
            std::fs::write(docs.join("benchmarks.svg"), &drawn).unwrap_or_default();
        }
        let kept = std::fs::read_to_string(docs.join("benchmarks.svg")).unwrap_or_default();
        assert!(drawn.matches("<rect").count() >= 4, "the page has no table of times");
        assert_eq!(
            kept, drawn,
            "docs/benchmarks.svg is out of date: `cargo xtask update` draws it anew"
        );
    }
}
