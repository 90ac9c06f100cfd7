//! The chart: plain SVG, readable on a light and on a dark page.

use super::{
    report::{amount, by_model},
    rows::Row,
    samples::Samples,
};

const WIDTH: f64 = 860.0;
const LEFT: f64 = 330.0;
const BARS: f64 = 420.0;
const LINE: f64 = 22.0;

const STYLE: &str = "
text { font: 13px system-ui, sans-serif; fill: #24292f }
.title { font-weight: 600; font-size: 15px }
.small { fill: #57606a; font-size: 12px }
.pintle { fill: #0969da } .peer { fill: #afb8c1 } .good { fill: #2da44e } .bad { fill: #cf222e }
line { stroke: #57606a; stroke-dasharray: 4 3 }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 } .small { fill: #9198a1 } .peer { fill: #545d68 } line { stroke: #9198a1 }
}";

/// Two panels: time per fire under each model beside the other systems; and each figure that has to hold, as a share
/// of what is allowed.
pub(crate) fn draw(samples: &Samples, rows: &[Row]) -> String {
    let mut canvas = Canvas { body: String::new(), y: 10.0 };
    times(&mut canvas, samples);
    canvas.y += LINE;
    shares(&mut canvas, rows);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" \
         role=\"img\" aria-label=\"Benchmarks\">\n<style>{STYLE}\n</style>\n{body}</svg>\n",
        height = canvas.y + 10.0,
        body = canvas.body,
    )
}

fn times(canvas: &mut Canvas, samples: &Samples) {
    canvas.title("Ten handlers that finish at once: time per fire (logarithmic)");
    let models = by_model(samples);
    let all = || models.iter().flat_map(|(_, times)| times).map(|(_, ns)| *ns);
    let longest = all().max_by(f64::total_cmp).unwrap_or(1.0);
    let shortest = all().min_by(f64::total_cmp).unwrap_or(1.0);
    // The shortest bar keeps a length that can be seen.
    let scale = |ns: f64| 0.08 + 0.92 * (ns / shortest).ln() / (longest / shortest).ln().max(1e-9);
    for (model, times) in &models {
        for (number, (system, ns)) in times.iter().enumerate() {
            let label = if number == 0 { format!("{model}: {system}") } else { system.to_string() };
            let class = if number == 0 { "pintle" } else { "peer" };
            canvas.bar(&label, scale(*ns), class, &amount(*ns, "ns"));
        }
        canvas.y += LINE / 3.0;
    }
}

fn shares(canvas: &mut Canvas, rows: &[Row]) {
    canvas.title("What has to hold, as a share of what is allowed (the line)");
    let shown: Vec<_> = rows.iter().filter_map(|row| Some((row, row.share()?))).collect();
    let largest = shown.iter().map(|(_, share)| *share).fold(1.0, f64::max);
    let top = canvas.y;
    for (row, share) in &shown {
        let class = if row.holds() == Some(true) { "good" } else { "bad" };
        let measured = match (row.ratio, row.value) {
            (Some(ratio), _) => format!("{ratio:.2}×"),
            (None, Some(value)) => amount(value, &row.unit),
            (None, None) => String::new(),
        };
        let hold = row.hold.as_ref().map_or("", |hold| hold.text.as_str());
        let measured = if hold.ends_with("ns") {
            row.value.map_or(measured, |value| amount(value, &row.unit))
        } else {
            measured
        };
        canvas.bar(&row.work, share / largest, class, &format!("{measured} of {hold}"));
    }
    canvas.rule(LEFT + BARS / largest, top);
}

struct Canvas {
    body: String,
    y: f64,
}

impl Canvas {
    fn title(&mut self, text: &str) {
        self.y += LINE;
        self.text(10.0, "title", "start", text);
        self.y += LINE / 2.0;
    }

    fn bar(&mut self, label: &str, share: f64, class: &str, figure: &str) {
        self.y += LINE;
        let length = (BARS * share.clamp(0.0, 1.0)).max(2.0);
        self.text(LEFT - 10.0, "", "end", label);
        self.body += &format!(
            "<rect class=\"{class}\" x=\"{LEFT}\" y=\"{:.1}\" width=\"{length:.1}\" height=\"14\" rx=\"2\"/>\n",
            self.y - 12.0
        );
        self.text(LEFT + length + 6.0, "small", "start", figure);
    }

    fn rule(&mut self, x: f64, top: f64) {
        self.body += &format!(
            "<line x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{top:.1}\" y2=\"{:.1}\"/>\n",
            self.y + 6.0
        );
    }

    fn text(&mut self, x: f64, class: &str, anchor: &str, text: &str) {
        let text = text.replace('&', "&amp;").replace('<', "&lt;");
        self.body += &format!(
            "<text class=\"{class}\" x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"{anchor}\">{text}</text>\n",
            self.y
        );
    }
}
