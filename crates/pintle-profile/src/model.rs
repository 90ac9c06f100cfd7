//! Whether there is a model by the name that a profile gives.

use super::document::Node;
use super::report::Problem;
use super::{Profile, Warning, written_at};
use pintle::similar::nearest;

impl Profile {
    /// What is wrong with its model, for where another one is asked: then it need not be right.
    #[must_use]
    pub fn unknown_model(&self, providers: &[&str]) -> Option<Warning> {
        let problem = unknown(&self.document, providers)?;
        let source = written_at(&self.source, self.document.get("model")?);
        Some(Warning { source, message: problem.message })
    }
}

/// What is wrong with `model`, as far as it can be said without asking anybody. Without `providers` nothing is known.
pub(super) fn unknown(file: &Node, providers: &[&str]) -> Option<Problem> {
    let problem = wrong(file, providers)?;
    Some(problem.help("or choose another with `--model`: then this one is not used"))
}

fn wrong(file: &Node, providers: &[&str]) -> Option<Problem> {
    let node = file.get("model")?;
    let model = node.text().filter(|model| !model.trim().is_empty())?;
    let is_own = model == "offline" || model.starts_with("scripted:");
    if providers.is_empty() || is_own {
        return None;
    }
    let problem =
        |what: String| Problem::new(node.span.clone(), what).label("expected `PROVIDER/NAME`");
    let Some((provider, name)) = model.split_once('/') else {
        let help = match nearest(model, providers.iter().copied().chain(["offline"])) {
            Some("offline") => "did you mean `offline`?".to_owned(),
            Some(provider) => format!("did you mean `{provider}/NAME`?"),
            None => "name who has it too, as in `anthropic/NAME`, or write `offline`".to_owned(),
        };
        let problem = problem(format!("there is no model `{model}`"));
        return Some(problem.help(help));
    };
    if !providers.contains(&provider) {
        let problem = problem(format!("there is no provider `{provider}`"));
        return Some(match nearest(provider, providers.iter().copied()) {
            Some(near) => problem.help(format!("did you mean `{near}/{name}`?")),
            None => problem.help(format!("the providers are {}", providers.join(", "))),
        });
    }
    name.is_empty().then(|| {
        let problem = problem(format!("`{model}` lacks the model's name"));
        problem.help(format!("write `{provider}/NAME`"))
    })
}
