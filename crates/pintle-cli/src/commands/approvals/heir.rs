//! Going on with a run that stopped while it asked, and saying what became of the call that was asked about.

use std::process::ExitCode;

use pintle_agent::{Claim, RunOutcome, Store};
use pintle_store::{Approval, ApprovalState, Origin};
use serde_json::json;

use super::already;
use crate::{
    assembly::Assembled,
    chat::{Ended, Player},
    environment::Environment,
    origin::ask,
    out::{say, say_json, tell},
    problem::Problem,
    shown::{dim, lines, text},
};

/// A yes that counts does not help a call that is forbidden by now. Scripts tell it from a yes that did not count.
const REFUSED: u8 = 3;

/// Somebody else answered first, and left the run to whoever came second.
pub(super) enum Late {
    /// Both said the same.
    AndAgrees,
    /// What they are told when the run is done that is theirs to go on with all the same.
    AndDisagrees(Problem),
}

/// Whoever goes on with a run that stopped.
pub(super) struct Heir {
    pub(super) assembled: Assembled,
    pub(super) claim: Claim,
    pub(super) approval: Approval,
    pub(super) late: Option<Late>,
}

impl Heir {
    pub(super) async fn go_on(
        self,
        environment: &Environment,
        mut player: Player,
    ) -> Result<ExitCode, Problem> {
        let Self { assembled, claim, approval, late } = self;
        let Some(origin) = &approval.origin else { return Err(already(&approval)) };
        let ask = ask(&assembled, &approval, origin).await?.holding(claim);
        let (code, told) = match player.play(assembled.agent.run(ask)).await {
            Ended::Quit(code) => return Ok(code.into()),
            Ended::Leave(code) => (ExitCode::FAILURE, Some(code)),
            Ended::Done { text, outcome } => {
                let approved = approval.state == ApprovalState::Approved;
                let refused = player.why_refused(&approval.tool_call_id).filter(|_| approved);
                if refused.is_some() {
                    // The run has acted on it: there is nothing left to go on with.
                    let (store, hash) = (&assembled.store, &approval.args_hash);
                    store.consume_approval(&approval.id, hash).await?;
                }
                let answered = late.is_none().then_some(approval.id.as_str());
                let session = assembled.store.session(&approval.session_id).await?;
                let of_sub_agent = session.is_some_and(|session| session.parent.is_some());
                let done = Went { answered, origin, text: &text, outcome, refused, of_sub_agent };
                (done.say(environment, &approval)?, None)
            }
        };
        let told = player.interrupts.last(told, assembled.close()).await;
        match (told, late) {
            (Some(told), _) => Ok(told.into()),
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
        let here = dim(text!("its run had stopped; it went on here, in {}:", folder));
        say!("{}\n{}", here, lines(text));
        if *of_sub_agent {
            // P6: its parent's run died with it, and only a new message makes another.
            tell!(
                "{}",
                dim(
                    "it was a sub-agent's run: the conversation that waited for it does not hear of this"
                )
            );
        }
        if let Some(refused) = refused {
            let tool = &approval.tool;
            let problem = Problem::new(format!("{tool} did not run, in spite of the yes: {refused}"))
                .hint("a call is judged again when its run goes on: by the profile, the guards and the level of now")
                .hint("the yes is used up; say it again in its conversation when it may run");
            tell!("{}", problem);
        }
        Ok(code)
    }
}
