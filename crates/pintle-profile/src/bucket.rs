//! The moments of agent.json (R10.1): one row each.

use pintle::Point;
use pintle::points::{
    ErrorRaised, ModelPost, ModelPre, RunStart, SessionEnd, ToolPost, ToolPre, UserPromptSubmit,
};

/// A moment that a profile can bind actions to.
#[derive(Debug, PartialEq, Eq)]
pub struct Bucket {
    /// Its name in agent.json.
    pub name: &'static str,
    /// The hook point that it stands for.
    pub point: &'static str,
    /// Whether there is a tool at this moment.
    pub has_tool: bool,
    /// When it is.
    pub about: &'static str,
    /// What other programs call it, in lower case and without signs.
    also_called: &'static str,
}

/// Every moment, in the order of a run.
pub static BUCKETS: [Bucket; 8] = [
    row::<RunStart>("onStart", "at the top of every run", ""),
    row::<UserPromptSubmit>(
        "onPrompt",
        "a user's message is about to enter",
        "userpromptsubmit promptsubmit onmessage onuserprompt",
    ),
    row::<ToolPre>(
        "onToolCall",
        "before each tool runs",
        "pretooluse beforetoolcall toolcall pretoolcall ontooluse ontoolstart toolstart beforetool beforetooluse pretool",
    ),
    row::<ToolPost>(
        "onToolEnd",
        "after each tool that ran",
        "posttooluse aftertoolcall toolresult posttoolcall ontoolresult aftertool aftertooluse posttool toolend",
    ),
    row::<ModelPre>(
        "onModelCall",
        "before each model request",
        "beforellmcall beforemodelcall onllmstart onmodelstart",
    ),
    row::<ModelPost>("onModelEnd", "after each response", "afterllmcall aftermodelcall onllmend"),
    row::<SessionEnd>(
        "onComplete",
        "at every exit of a run",
        "stop agentdone sessionend onend onstop ondone onfinish onexit",
    ),
    row::<ErrorRaised>("onError", "an unrecoverable failure", "onfailure onexception"),
];

const fn row<P: Point>(
    name: &'static str,
    about: &'static str,
    also_called: &'static str,
) -> Bucket {
    Bucket { name, point: P::NAME, has_tool: P::HAS_TOOL, about, also_called }
}

impl Bucket {
    /// The moment of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Self> {
        BUCKETS.iter().find(|bucket| bucket.name == name)
    }

    /// The moment that goes by this name elsewhere: as a hook point, or in other programs with hooks.
    pub(crate) fn meant_by(written: &str) -> Option<&'static Self> {
        let plain = |text: &str| text.to_lowercase().replace(['.', '_', '-'], "");
        let name = plain(written);
        let is_meant = |bucket: &&Self| {
            bucket.also_called.split(' ').any(|it| it == name) || plain(bucket.point) == name
        };
        BUCKETS.iter().find(is_meant)
    }
}
