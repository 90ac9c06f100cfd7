//! The task that empties an endpoint's queue, in order and with pauses.

use std::{
    hash::{BuildHasher, Hasher, RandomState},
    time::Duration,
};

use tokio::{select, time::sleep};

use super::{
    WebhookOptions,
    endpoint::{Endpoint, Waiting},
    send::Sent,
};

/// Sends the messages of an endpoint, oldest first, until the endpoint is closed.
///
/// A message that fails holds up the ones behind it: order is kept, and an endpoint that is down loses nothing, however
/// long that takes. Pauses grow for the endpoint, not for the message; they start over when it accepts one.
///
/// A message that an endpoint rejects while it accepts others must not hold them up. When a message has failed often enough,
/// others are tried before it. When it fails as often again, each time right after another has arrived, it is refused.
///
/// While an endpoint closes, the program waits for it, and messages that are left are sent next time: so there are no pauses
/// then, and the first failure of a message that is not a suspect ends it.
pub(super) async fn deliver(endpoint: &Endpoint, options: &WebhookOptions) {
    let mut failures = 0_u32;
    let mut others_arrive = false;
    loop {
        let leaving = endpoint.is_left();
        let Some(Waiting { message, sender }) = endpoint.front() else {
            endpoint.ready.notified().await;
            continue;
        };
        let why = match sender.send(&message).await {
            Sent::Delivered => {
                endpoint.delivered(&message);
                (failures, others_arrive) = (0, false);
                continue;
            }
            Sent::Refused(why) => {
                endpoint.refused(&message, why);
                (failures, others_arrive) = (0, false);
                continue;
            }
            Sent::Failed(why) => {
                let enough = options.suspect_after.max(1);
                let tries = match message.tries < enough || others_arrive {
                    true => message.tries + 1,
                    false => message.tries,
                };
                endpoint.tried(&message, tries);
                if tries >= enough.saturating_mul(2) {
                    let often = "it fails again and again, while others arrive";
                    endpoint.refused(&message, format!("{why}; {often}"));
                    (failures, others_arrive) = (0, false);
                    continue;
                }
                let others = match tries >= enough {
                    true => try_others(endpoint, enough).await,
                    false => Others::Unknown,
                };
                others_arrive = others == Others::Arrive;
                if others_arrive {
                    if !leaving {
                        // Not at once: of several machines behind one name, the next answer may come from the same
                        // sick one.
                        failures = failures.saturating_add(1);
                        rest(endpoint, failures, options).await;
                    }
                    continue;
                }
                if others == Others::Fail {
                    // It is the endpoint.
                    endpoint.tried(&message, enough);
                }
                why
            }
            Sent::Away(why) => why,
        };
        endpoint.failed(why);
        if leaving {
            return endpoint.give_up();
        }
        (failures, others_arrive) = (failures.saturating_add(1), false);
        rest(endpoint, failures, options).await;
    }
}

async fn rest(endpoint: &Endpoint, failures: u32, options: &WebhookOptions) {
    select! {
        () = sleep(pause(failures, options)) => {}
        () = endpoint.hurry.notified() => {}
    }
}

/// What became of messages that nothing is known against.
#[derive(PartialEq)]
enum Others {
    Arrive,
    Fail,
    Unknown,
}

/// Tries the first message that nothing is known against, if there is one; all of them when the endpoint is left.
async fn try_others(endpoint: &Endpoint, enough: u32) -> Others {
    let mut others = Others::Unknown;
    while let Some(Waiting { message, sender }) = endpoint.first_tried_less(enough) {
        match sender.send(&message).await {
            Sent::Delivered => {
                endpoint.delivered(&message);
                others = Others::Arrive;
            }
            Sent::Refused(why) => endpoint.refused(&message, why),
            Sent::Failed(_) => {
                endpoint.tried(&message, message.tries + 1);
                return Others::Fail;
            }
            Sent::Away(_) => return Others::Fail,
        }
        if !endpoint.is_left() {
            break;
        }
    }
    others
}

/// Doubles with each failure, up to the longest; then between half of it and all of it, so that many hosts that
/// lost the same endpoint do not come back all at once.
fn pause(failures: u32, options: &WebhookOptions) -> Duration {
    let factor = 1_u32.checked_shl(failures.saturating_sub(1)).unwrap_or(u32::MAX);
    let full = options.first_retry.saturating_mul(factor).min(options.longest_retry);
    let random = RandomState::new().build_hasher().finish() as f64 / u64::MAX as f64;
    full.mul_f64(0.5 + random / 2.0)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn pauses_grow_to_the_longest_and_no_two_hosts_wait_alike() {
        let options = WebhookOptions::default();
        let (first, longest) = (options.first_retry, options.longest_retry);
        for failures in [1, 2, 3, 8, 9, 40, u32::MAX] {
            let doublings = (failures - 1).min(20);
            let full = first.saturating_mul(1 << doublings).min(longest);
            let pauses: BTreeSet<_> = (0..32).map(|_| pause(failures, &options)).collect();
            assert!(pauses.iter().all(|pause| (full / 2..=full).contains(pause)), "{failures}");
            assert!(pauses.len() > 16, "{failures}: {pauses:?}");
        }
    }
}
