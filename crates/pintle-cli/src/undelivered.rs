//! What is said of webhooks and traces that did not arrive (P6).

use pintle_exec::EndpointStats;

/// Reports messages that did not arrive, and why.
pub(crate) fn trouble(what: &str, stats: &EndpointStats) -> Vec<String> {
    let queued = u64::try_from(stats.queued).unwrap_or(u64::MAX);
    let became = [
        (stats.damaged, "damaged where they were kept, and skipped", &None),
        (stats.dropped, "dropped because the queue was full", &None),
        (stats.refused, "refused", &stats.last_refusal),
        (stats.lost, "lost", &stats.last_error),
        (queued, "kept, to be sent next time", &stats.last_error),
    ];
    became
        .into_iter()
        .filter(|(count, ..)| *count > 0)
        .map(|(count, became, why)| {
            let why = why.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
            format!("{what} to {} {became}: {count}{why}", stats.url)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_webhook_that_did_not_arrive_is_told_of() {
        let stats = EndpointStats {
            url: "http://localhost/hook".into(),
            queued: 3,
            delivered: 9,
            refused: 2,
            dropped: 1,
            lost: 0,
            damaged: 4,
            last_refusal: Some("404".into()),
            last_error: Some("connection refused".into()),
        };
        assert_eq!(
            trouble("webhooks", &stats),
            [
                "webhooks to http://localhost/hook damaged where they were kept, and skipped: 4",
                "webhooks to http://localhost/hook dropped because the queue was full: 1",
                "webhooks to http://localhost/hook refused: 2: 404",
                "webhooks to http://localhost/hook kept, to be sent next time: 3: connection refused",
            ]
        );
        let lost =
            EndpointStats { queued: 0, refused: 0, dropped: 0, damaged: 0, lost: 5, ..stats };
        assert_eq!(
            trouble("webhooks", &lost),
            ["webhooks to http://localhost/hook lost: 5: connection refused"]
        );
        let well = EndpointStats { lost: 0, ..lost };
        assert!(trouble("webhooks", &well).is_empty());
    }
}
