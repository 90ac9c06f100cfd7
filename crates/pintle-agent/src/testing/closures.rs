//! A tool and an approver, each from a closure.

use std::sync::Arc;

use futures_util::{FutureExt, future::BoxFuture};

use crate::{
    ApprovalOutcome, ApprovalRequest, Approver, PermittedCall, Tool, ToolCx, ToolError, ToolSpec,
};

/// A tool that does what the closure says.
///
/// ```
/// use pintle_agent::{ToolSpec, Zone, testing::tool_fn};
///
/// let schema = serde_json::json!({ "type": "object" });
/// let spec = ToolSpec::new("ping", "Answers.", schema).in_zone(Zone::Safe).with_paths([]);
/// let ping = tool_fn(spec, async |_call, _cx| Ok("pong".to_string()));
/// assert_eq!(ping.spec().name, "ping");
/// ```
pub fn tool_fn<F, Fut>(spec: ToolSpec, body: F) -> Arc<dyn Tool>
where
    F: Fn(PermittedCall, ToolCx) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<String, ToolError>> + Send + 'static,
{
    struct FnTool<F>(ToolSpec, Arc<F>);
    impl<F, Fut> Tool for FnTool<F>
    where
        F: Fn(PermittedCall, ToolCx) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<String, ToolError>> + Send + 'static,
    {
        fn spec(&self) -> ToolSpec {
            self.0.clone()
        }

        fn run(
            &self,
            call: PermittedCall,
            cx: ToolCx,
        ) -> BoxFuture<'static, Result<String, ToolError>> {
            let body = self.1.clone();
            // Inside the future, so that a panic of the closure is the tool's.
            async move { body(call, cx).await }.boxed()
        }
    }
    Arc::new(FnTool(spec, Arc::new(body)))
}

/// An approver that answers as the closure says.
///
/// ```
/// use pintle_agent::{ApprovalOutcome, testing::approver_fn};
///
/// let yes = approver_fn(async |_question| ApprovalOutcome::Approved { by: "ann".into() });
/// ```
pub fn approver_fn<F, Fut>(answer: F) -> Arc<dyn Approver>
where
    F: Fn(ApprovalRequest) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = ApprovalOutcome> + Send + 'static,
{
    struct FnApprover<F>(F);
    impl<F, Fut> Approver for FnApprover<F>
    where
        F: Fn(ApprovalRequest) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = ApprovalOutcome> + Send + 'static,
    {
        fn ask(&self, request: ApprovalRequest) -> BoxFuture<'static, ApprovalOutcome> {
            (self.0)(request).boxed()
        }
    }
    Arc::new(FnApprover(answer))
}
