//! Continues a run that stopped while it asked, and reports the outcome of the call.

use std::process::ExitCode;

use pintle_agent::store::{Approval, ApprovalState, Origin};
use pintle_agent::{Claim, RunOutcome};
use serde_json::json;

use super::already;
use crate::{
    assembly::Assembled,
    chat::{Ended, RunView},
    environment::Environment,
    origin::ask,
    out::{say, say_json, tell},
    problem::Problem,
    shown::{dim, lines, text},
};

/// The exit code of an approval that was valid for a call that is forbidden by now.
const REFUSED: u8 = 3;

/// Another answer came first, and left the run to this process.
pub(super) enum Late {
    /// Both said the same.
    AndAgrees,
    /// What they are exit_code when the run is done that is theirs to go on with all the same.
    AndDisagrees(Problem),
}

/// A run that stopped and continues here.
pub(super) struct ResumedRun {
    pub(super) assembled: Assembled,
    pub(super) claim: Claim,
    pub(super) approval: Approval,
    pub(super) late: Option<Late>,
}

impl ResumedRun {
    pub(super) async fn play(
        self,
        environment: &Environment,
        mut view: RunView,
    ) -> Result<ExitCode, Problem> {
        let Self { assembled, claim, approval, late } = self;
        let Some(origin) = &approval.origin else { return Err(already(&approval)) };
        let ask = ask(&assembled, &approval, origin).await?.holding(claim);
        let (code, exit_code) = match view.play(&assembled, ask).await {
            Ended::Quit(code) => return Ok(code.into()),
            Ended::Leave(code) => (ExitCode::FAILURE, Some(code)),
            Ended::Done { text, outcome } => {
                let approved = approval.state == ApprovalState::Approved;
                let refused = view.why_refused(&approval.tool_call_id).filter(|_| approved);
                let answered = late.is_none().then_some(approval.id.as_str());
                let session = assembled.store.session(&approval.session_id).await?;
                let of_sub_agent = session.is_some_and(|session| session.parent.is_some());
                let done = Went { answered, origin, text: &text, outcome, refused, of_sub_agent };
                (done.say(environment, &approval)?, None)
            }
        };
        let exit_code = view.interrupts.last(exit_code, assembled.close()).await;
        match (exit_code, late) {
            (Some(exit_code), _) => Ok(exit_code.into()),
            (None, Some(Late::AndDisagrees(late))) => Err(late),
            (None, _) => Ok(code),
        }
    }
}

/// How it went on.
struct Went<'a> {
    /// The question, if this answer to it counted.
    answered: Option<&'a str>,
    origin: &'a Origin,
    text: &'a str,
    outcome: RunOutcome,
    /// Why the call did not run after all.
    refused: Option<&'a str>,
    of_sub_agent: bool,
}

impl Went<'_> {
    fn say(&self, environment: &Environment, approval: &Approval) -> Result<ExitCode, Problem> {
        let Self { answered, origin, text, outcome, refused, of_sub_agent } = self;
        let code = match (refused, outcome) {
            (Some(_), _) => REFUSED.into(),
            (None, RunOutcome::EndTurn) => ExitCode::SUCCESS,
            (None, _) => ExitCode::FAILURE,
        };
        if environment.json {
            let mut said =
                json!({ "answered": answered, "resumed": true, "outcome": outcome, "text": text });
            if let (Some(said), Some(refused)) = (said.as_object_mut(), refused) {
                said.insert("refused".into(), (*refused).into());
            }
            say_json(&said)?;
            return Ok(code);
        }
        let folder = origin.workspace.display();
        let here = dim(text!("its run had ended, so it continued here, in {}:", folder));
        say!("{}\n{}", here, lines(text));
        if *of_sub_agent {
            // P6: its parent's run died with it, and only a new message makes another.
            tell!(
                "{}",
                dim(
                    "this was a sub-agent: the conversation that started it does not get its answer"
                )
            );
        }
        if let Some(refused) = refused {
            let tool = &approval.tool;
            let problem =
                Problem::new(format!("{tool} did not run although you approved it: {refused}"))
                    .cause("a call is judged again, by today's rules, before its run continues")
                    .fix("ask the agent again when your rules allow it: the approval is used up");
            tell!("{}", problem);
        }
        Ok(code)
    }
}
