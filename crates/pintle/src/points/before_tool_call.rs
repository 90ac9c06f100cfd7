//! `before_tool_call`.

use serde_json::Value;

use crate::{Merged, Modifying, Point, patch, point};

point! {
    /// Before each tool call, while its arguments can still be changed.
    ///
    /// **Answer**: a [`ToolCallPatch`], or nothing. A patch with `error`, even an empty one, denies the call.
    ///
    /// **Failure**: a handler that fails contributes nothing and the next one runs. Registered fail-closed, the
    /// fire returns an error.
    ///
    /// **Time**: as long as its deadline, if it has one; the next handler waits for it.
    ///
    /// # Example
    /// ```
    /// use pintle::{Event, Hooks, points::{BeforeToolCall, ToolCallPatch}};
    ///
    /// let hooks = Hooks::new();
    /// hooks.register_modifying(async |e: Event<BeforeToolCall>| {
    ///     let dangerous = e.args.to_string().contains("prod");
    ///     dangerous.then(|| ToolCallPatch::default().error("not on production"))
    /// })?;
    /// # Ok::<(), pintle::RegisterError>(())
    /// ```
    pub struct BeforeToolCall = "before_tool_call": Modifying<ToolCallPatch>, tool = tool_name {
        /// The id of the call.
        pub tool_call_id: String,
        /// The name of the tool.
        pub tool_name: String,
        /// The arguments the model gave.
        pub args: Value,
    }
}

patch! {
    /// The changes that a handler can make to a tool call.
    ///
    /// ```
    /// use pintle::points::ToolCallPatch;
    ///
    /// let denied = ToolCallPatch::default().error("not on production");
    /// assert_eq!(serde_json::to_value(&denied).unwrap()["error"], "not on production");
    /// ```
    pub struct ToolCallPatch {
        /// Replaces the arguments. The new ones are judged like any others.
        pub args: Option<Value>,
        /// Denies the call, for this reason.
        pub error: Option<String>,
    }
}

impl Merged<ToolCallPatch> {
    /// Why the call is denied, if any handler denied it (R4.6). An empty reason is a denial all the same.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use pintle::{Cx, Event, Hooks, points::{BeforeToolCall, ToolCallPatch}};
    ///
    /// let hooks = Hooks::new();
    /// hooks.named("mute").register_modifying(async |_: Event<BeforeToolCall>| {
    ///     Some(ToolCallPatch::default().error(String::new()))
    /// })?;
    ///
    /// let cx = Cx::test();
    /// let call = || BeforeToolCall::default().tool_call_id("t1").tool_name("terminal").args("ls".into());
    /// let merged = hooks.fire_modifying(&cx, call).await?;
    /// assert_eq!(merged.denial().as_deref(), Some("blocked by mute"));
    /// # Ok(())
    /// # }
    /// ```
    pub fn denial(&self) -> Option<String> {
        let reason = self.error.as_deref()?;
        Some(match reason {
            "" => format!("blocked by {}", self.winner("error").unwrap_or(BeforeToolCall::NAME)),
            reason => reason.to_string(),
        })
    }
}
