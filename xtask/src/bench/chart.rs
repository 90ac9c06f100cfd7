//! The chart: plain SVG, readable on a light and on a dark page.

use super::{
    report::{amount, by_model},
    samples::Samples,
};

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

/// Time per fire under each model beside the other systems, on a linear scale, with how many times as long each takes.
pub(crate) fn draw(samples: &Samples) -> String {
    let models = by_model(samples);
    let all =
        || models.iter().flat_map(|(model, times)| times.iter().map(move |time| (model, time)));
    let longest = all().map(|(_, (_, ns))| *ns).fold(1.0, f64::max);
    let label = |model: &str, system: &str| format!("{model}, {system}");
    let left = all()
        .map(|(model, (system, _))| label(model, system).chars().count() as f64 * CHARACTER)
        .fold(0.0, f64::max);
    let mut canvas = Canvas { body: String::new(), y: LINE };
    canvas.text(10.0, "title", "start", "Ten handlers that finish at once: time per fire");
    for (model, times) in &models {
        canvas.y += LINE / 3.0;
        let ours = times.iter().find(|(system, _)| *system == "pintle").map(|(_, ns)| *ns);
        for (system, ns) in times {
            let (class, ratio) = match ours {
                Some(ours) if *system != "pintle" => ("peer", format!(", {:.1}×", ns / ours)),
                _ => ("pintle", String::new()),
            };
            let figure = format!("{}{ratio}", amount(*ns, "ns"));
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
