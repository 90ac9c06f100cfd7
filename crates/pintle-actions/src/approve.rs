//! The `approve` action: a person is asked.

use pintle::{Event, Verdict, points::ToolPre};
use pintle_profile::{Hook, OnlyIn};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::{Action, BindError, Binding};

/// Asks a person before the tool runs. Only in `onToolCall`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Approve {}

impl Action for Approve {
    const NAME: &'static str = "approve";
    const ALSO_CALLED: &'static [&'static str] = &["ask", "confirm", "prompt", "approval"];
    const ONLY_IN: Option<OnlyIn> = Some(OnlyIn {
        bucket: "onToolCall",
        label: "there is no call to approve here",
        why: "only a tool call can wait for a person",
    });

    fn does(&self, hook: &Hook) -> (&'static str, String) {
        let every = hook.tools.is_empty().then(|| "every call".to_owned());
        ("asks", format!("about {}", every.unwrap_or_else(|| hook.tools.join(", "))))
    }

    /// Asks after everything else has judged: no question is asked about a call that could not run.
    fn bind(self, binding: &mut Binding<'_>) -> Result<(), BindError> {
        let Hook { name, source, tools, .. } = binding.hook;
        let about = match tools.as_slice() {
            [] => "every call".to_owned(),
            tools => format!("`{}`", tools.join("`, `")),
        };
        let reason = format!("hook `{name}` ({source}) asks about {about}");
        let ask = move |event: Event<ToolPre>| Verdict::ask(&event, &*reason);
        let registered = binding.registrar().priority(i32::MIN).register_gate(ask);
        registered.map(drop).map_err(|error| binding.error(error))
    }
}
