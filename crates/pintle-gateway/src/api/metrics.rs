//! Figures in the text format of Prometheus.

use std::fmt::Write;

use axum::{
    http::{HeaderValue, header},
    response::IntoResponse,
};
use pintle_agent::store::MessageState;

use super::{
    Api, ApiError,
    routes::{Call, Nothing, Reply},
};

pub(super) async fn metrics(api: Api, _: Call<Nothing>) -> Result<Reply<String>, ApiError> {
    let mut text = String::from("# TYPE pintle_messages gauge\n");
    let states = [
        (MessageState::Queued, "queued"),
        (MessageState::Parked, "parked"),
        (MessageState::Dead, "dead"),
    ];
    for (state, name) in states {
        let count = api.gateway.queues().messages(state).await?.len();
        let _ = writeln!(text, "pintle_messages{{state=\"{name}\"}} {count}");
    }
    let stats = api.gateway.events().hook_stats();
    for figure in ["fired", "failures", "stops"] {
        let _ = writeln!(text, "# TYPE pintle_hook_{figure}_total counter");
        for ((point, name), stats) in &stats {
            let count = match figure {
                "fired" => stats.fired,
                "failures" => stats.failures,
                _ => stats.stops,
            };
            let name = name.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', " ");
            let labels = format!("point=\"{point}\",hook=\"{name}\"");
            let _ = writeln!(text, "pintle_hook_{figure}_total{{{labels}}} {count}");
        }
    }
    let mut response = text.into_response();
    let kind = HeaderValue::from_static("text/plain; version=0.0.4");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    Ok(Reply::Other(response))
}
