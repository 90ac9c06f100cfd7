//! How a Claiming point combines: R4.7, and the Claiming row of §3.

use crate::common::{cx, dispatch, watched};
use pintle::{
    Event, Failure, FireError, Hooks,
    points::{BeforeDispatch, Handled, InboundClaim, InboundMessage, Sender, Suppressed},
};

fn claim(reason: &str) -> Option<Suppressed> {
    Some(Suppressed::default().reason(reason))
}

// R4.7
#[tokio::test]
async fn only_a_real_claim_stops_the_chain() {
    let (hooks, records) = watched();
    hooks
        .named("passes")
        .register_claiming(|_: Event<BeforeDispatch>| async { None::<Suppressed> })
        .unwrap();
    hooks
        .named("fails")
        .register_claiming(|_: Event<BeforeDispatch>| async {
            Err::<Option<Suppressed>, _>(Failure::errored("oops"))
        })
        .unwrap();
    hooks
        .named("claims")
        .register_claiming(|_: Event<BeforeDispatch>| async { claim("mine") })
        .unwrap();
    hooks
        .named("too-late")
        .register_claiming(|_: Event<BeforeDispatch>| async { claim("also mine") })
        .unwrap();

    let claimed = hooks.fire_claiming(&cx(), dispatch).await.unwrap().unwrap();
    assert_eq!((&*claimed.by, claimed.reason.as_deref()), ("claims", Some("mine")));
    assert_eq!(
        records.outcomes(),
        [("passes".into(), "passed"), ("fails".into(), "errored"), ("claims".into(), "claimed"),]
    );
}

// R4.7
#[tokio::test]
async fn no_claim_is_not_handled() {
    let hooks = Hooks::new();
    assert_eq!(hooks.fire_claiming(&cx(), dispatch).await, Ok(None), "nobody there");
    hooks.register_claiming(|_: Event<BeforeDispatch>| async { None::<Suppressed> }).unwrap();
    assert_eq!(hooks.fire_claiming(&cx(), dispatch).await, Ok(None), "nobody interested");
}

// R4.7
#[tokio::test]
async fn a_claims_extra_fields_come_back_verbatim() {
    let hooks = Hooks::new();
    let reply = "pong \u{1f3d3}\n  with\ttabs, \"quotes\" and a trailing space ";
    hooks
        .register_claiming(move |e: Event<InboundClaim>| async move {
            (e.message.text == "/ping").then(|| Handled::default().reply(reply))
        })
        .unwrap();
    let message = |text: &str| {
        InboundClaim::default().message(
            InboundMessage::default()
                .id("m1")
                .platform("console")
                .chat_id("c1")
                .sender(Sender::default().id("u1"))
                .text(text)
                .is_direct(true),
        )
    };
    let claimed = hooks.fire_claiming(&cx(), || message("/ping")).await.unwrap().unwrap();
    assert_eq!(claimed.claim, Handled::default().reply(reply));
    assert_eq!(hooks.fire_claiming(&cx(), || message("hello")).await, Ok(None));
}

// §3
#[tokio::test]
async fn a_fail_closed_handler_that_fails_ends_the_chain_with_an_error() {
    let (hooks, records) = watched();
    hooks
        .named("must")
        .fail_closed()
        .register_claiming(|_: Event<BeforeDispatch>| async {
            Err::<Option<Suppressed>, _>(Failure::errored("oops"))
        })
        .unwrap();
    hooks
        .named("claims")
        .register_claiming(|_: Event<BeforeDispatch>| async { claim("mine") })
        .unwrap();
    let error = hooks.fire_claiming(&cx(), dispatch).await.unwrap_err();
    assert!(
        matches!(error, FireError::FailClosed { point: "before_dispatch", ref handler, .. } if &**handler == "must")
    );
    assert_eq!(records.outcomes(), [("must".into(), "errored")]);
}

// §3: a claim that comes first is not undone by a fail-closed handler that would have come later.
#[tokio::test]
async fn a_claim_before_a_fail_closed_handler_stands() {
    let hooks = Hooks::new();
    hooks
        .named("claims")
        .register_claiming(|_: Event<BeforeDispatch>| async { claim("mine") })
        .unwrap();
    hooks
        .named("must")
        .fail_closed()
        .register_claiming(|_: Event<BeforeDispatch>| async {
            Err::<Option<Suppressed>, _>(Failure::errored("oops"))
        })
        .unwrap();
    assert_eq!(&*hooks.fire_claiming(&cx(), dispatch).await.unwrap().unwrap().by, "claims");
}
