//! Asking the person at the terminal.

use futures_util::future::{BoxFuture, FutureExt};
use pintle_agent::{ApprovalOutcome, ApprovalRequest, Approver};
use tokio::sync::{mpsc, oneshot};

type Question = (ApprovalRequest, oneshot::Sender<ApprovalOutcome>);
pub(crate) type Questions = mpsc::UnboundedReceiver<Question>;

/// Hands questions to whoever plays the run; the answer comes back on its own channel.
pub(crate) struct TerminalApprover(mpsc::UnboundedSender<Question>);

impl TerminalApprover {
    pub(crate) fn new() -> (Self, Questions) {
        let (sender, questions) = mpsc::unbounded_channel();
        (Self(sender), questions)
    }
}

impl Approver for TerminalApprover {
    fn ask(&self, request: ApprovalRequest) -> BoxFuture<'static, ApprovalOutcome> {
        let (reply, answer) = oneshot::channel();
        let asked = self.0.send((request, reply)).is_ok();
        async move {
            if !asked {
                return ApprovalOutcome::NoOneToAsk;
            }
            answer.await.unwrap_or(ApprovalOutcome::Cancelled)
        }
        .boxed()
    }
}
