//! The `webhook` action: events are posted to a URL.

use std::sync::Arc;

use pintle_exec::{WebhookOptions, WebhookQueue, WebhookSecret, WebhookSpec, webhook_url};
use pintle_profile::{ActionCheck, Hook, Node, Written};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::{Action, BindError, Binding, undelivered};

/// Posts the event to a URL. Observes only: nothing waits for it.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Webhook {
    /// Where to: https, or http to this machine.
    #[schemars(extend("format" = "line"))]
    url: String,
    /// The environment variable that holds the key to sign with (HMAC-SHA256).
    #[schemars(extend("format" = "env-name"))]
    secret_env: Option<String>,
}

impl Action for Webhook {
    const NAME: &'static str = "webhook";
    const ALSO_CALLED: &'static [&'static str] = &["http", "post", "url", "notify", "request"];
    const OBSERVES: bool = true;

    fn check(action: &Node, check: &mut ActionCheck<'_>) {
        let written =
            |key| action.get(key).and_then(|it| Some(Written::new(it, it.text()?.to_owned())));
        (check.uses.url, check.uses.variable) = (written("url"), written("secretEnv"));
        let url = action.get("url");
        if let Some(Err(why)) = url.and_then(Node::text).map(webhook_url)
            && let Some(url) = url
        {
            let expected = "expected https, or http to this machine";
            check.say(&url.span, "this URL cannot be a webhook", expected, &why);
        }
    }

    fn does(&self, _: &Hook) -> (&'static str, String) {
        ("sends to", self.url.clone())
    }

    fn bind(self, binding: &mut Binding<'_>) -> Result<(), BindError> {
        let (host, scrubber) = (binding.host, binding.scrubber.clone());
        let secret = |name: String| match host.variable(&name) {
            Some(value) => Ok(WebhookSecret { value, name }),
            None => Err(BindError::new(format!("the profile needs a secret in {name}"))
                .hint(format!("set {name} and try again"))),
        };
        let spec = WebhookSpec {
            url: self.url,
            profile: host.profile.name.clone(),
            secret: self.secret_env.map(secret).transpose()?,
            scrub: Some(Arc::new(move |text| scrubber.scrub(text).into_owned())),
            proxy: host.operator.webhook_proxy.clone(),
        };
        if binding.mute {
            spec.check().map_err(BindError::new)?;
            return binding.register_mute();
        }
        let queue = match &binding.bound.webhooks {
            Some(queue) => queue,
            None => {
                let (spool, owner) =
                    (undelivered::folder(host.data), undelivered::owner(host.profile));
                let options =
                    WebhookOptions { spool: Some(spool), owner, ..WebhookOptions::default() };
                let queue = WebhookQueue::open(options).map_err(BindError::new)?;
                binding.bound.webhooks.insert(queue)
            }
        };
        let webhook = queue.webhook(spec).map_err(BindError::new)?;
        binding.register(webhook)
    }
}
