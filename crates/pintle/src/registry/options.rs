//! How a registration is described.

use std::{fmt, panic::Location, time::Duration};

use glob::Pattern;

use super::{Meta, RegisterError, Source};
use crate::{FailurePolicy, Hooks, Model, Point};

/// A registration being described: start with [`Hooks::named`] or [`Hooks::options`], end with a `register_*`.
///
/// Nothing is registered until then, and then all of it or nothing.
///
/// ```
/// use std::time::Duration;
/// use pintle::{Event, Hooks, Verdict, points::ToolPre};
///
/// let hooks = Hooks::new();
/// hooks
///     .named("no-prod")
///     .tools(["write_*"])
///     .deadline(Duration::from_secs(2))
///     .register_gate(|e: Event<ToolPre>| async move {
///         if e.tool_input["path"].as_str().is_some_and(|path| path.starts_with("/srv/prod")) {
///             Verdict::block("production is off limits")
///         } else {
///             Verdict::allow()
///         }
///     })?;
/// # Ok::<(), pintle::RegisterError>(())
/// ```
#[must_use = "nothing is registered until a `register_*` method is called"]
#[derive(Clone)]
pub struct Registrar {
    hooks: Hooks,
    name: Option<String>,
    plugin: Option<String>,
    priority: i32,
    deadline: Option<Duration>,
    policy: Option<FailurePolicy>,
    tools: Option<Vec<String>>,
    capabilities: Option<Vec<String>>,
    source: Option<String>,
}

impl fmt::Debug for Registrar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registrar")
            .field("name", &self.name)
            .field("plugin", &self.plugin)
            .finish_non_exhaustive()
    }
}

impl Hooks {
    /// Describes a registration with this name. Names are unique per point.
    ///
    /// ```
    /// use pintle::{Event, Hooks, points::SessionStart};
    ///
    /// let hooks = Hooks::new();
    /// let registration = hooks.named("greeter").register_void(|_: Event<SessionStart>| async {})?;
    /// assert_eq!(registration.name(), "greeter");
    /// # Ok::<(), pintle::RegisterError>(())
    /// ```
    pub fn named(&self, name: impl Into<String>) -> Registrar {
        self.options().named(name)
    }

    /// Describes a registration, starting from the defaults.
    ///
    /// ```
    /// use pintle::{Event, Hooks, points::SessionStart};
    ///
    /// let hooks = Hooks::new();
    /// hooks.options().priority(10).fail_closed().register_void(|_: Event<SessionStart>| async {})?;
    /// # Ok::<(), pintle::RegisterError>(())
    /// ```
    pub fn options(&self) -> Registrar {
        Registrar {
            hooks: self.clone(),
            name: None,
            plugin: None,
            priority: 0,
            deadline: None,
            policy: None,
            tools: None,
            capabilities: None,
            source: None,
        }
    }
}

impl Registrar {
    /// Its name; without one it is the point's name and a counter.
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// The plugin it belongs to; without one it is a built-in.
    ///
    /// ```
    /// use pintle::{Event, Hooks, points::SessionStart};
    ///
    /// let hooks = Hooks::new();
    /// hooks.options().plugin("weather").register_void(|_: Event<SessionStart>| async {})?;
    /// assert!(hooks.options().plugin("").register_void(|_: Event<SessionStart>| async {}).is_err());
    /// # Ok::<(), pintle::RegisterError>(())
    /// ```
    pub fn plugin(mut self, id: impl Into<String>) -> Self {
        self.plugin = Some(id.into());
        self
    }

    /// Higher runs earlier; ties in registration order. The default is 0.
    ///
    /// ```
    /// use pintle::{Event, Hooks, points::SessionStart};
    ///
    /// let hooks = Hooks::new();
    /// hooks.named("second").register_void(|_: Event<SessionStart>| async {})?;
    /// hooks.named("first").priority(10).register_void(|_: Event<SessionStart>| async {})?;
    /// assert_eq!(&*hooks.list()[0].name, "first");
    /// # Ok::<(), pintle::RegisterError>(())
    /// ```
    pub fn priority(mut self, priority: i32) -> Self {
        self.priority = priority;
        self
    }

    /// How long it may take. Then it is dropped and counts as timed out.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use std::time::Duration;
    /// use pintle::{Cx, Envelope, Event, Hooks, PluginGate, Verdict, points::UserPromptSubmit};
    ///
    /// let hooks = Hooks::new();
    /// hooks.named("hangs").deadline(Duration::from_millis(10)).register_gate(|_: Event<UserPromptSubmit>| async {
    ///     std::future::pending::<()>().await;
    ///     Verdict::allow()
    /// })?;
    ///
    /// let cx = Cx::new(Envelope::default(), PluginGate::All);
    /// let outcome = hooks.fire_gate(&cx, || UserPromptSubmit { prompt: "hi".into() }).await;
    /// assert_eq!(outcome.blocked().unwrap().reason, "`hangs` timed out: no answer within 10ms");
    /// # Ok(())
    /// # }
    /// ```
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.deadline = Some(deadline);
        self
    }

    /// What its failure does. May tighten the model's default, never loosen it.
    ///
    /// See [`FailurePolicy`] for an example.
    pub fn failure_policy(mut self, policy: FailurePolicy) -> Self {
        self.policy = Some(policy);
        self
    }

    /// Its failure is the fire's: [`FailurePolicy::FailClosed`].
    ///
    /// See [`FireError`](crate::FireError) for an example.
    pub fn fail_closed(self) -> Self {
        self.failure_policy(FailurePolicy::FailClosed)
    }

    /// At points about a tool: only the tools these globs match. For others it is not even called.
    ///
    /// See [`Registrar`] for an example.
    pub fn tools<I>(mut self, globs: I) -> Self
    where
        I: IntoIterator,
        I::Item: Into<String>,
    {
        self.tools = Some(globs.into_iter().map(Into::into).collect());
        self
    }

    /// What its answers may do: keys of the patch, `claim`, or `block`, `output`, `additionalContext`. An answer
    /// that does more is a failure, not an effect.
    ///
    /// ```
    /// use pintle::{Event, Hooks, points::{BeforePromptBuild, PromptPatch}};
    ///
    /// let hooks = Hooks::new();
    /// hooks.options().capabilities(["appendSystem"]).register_modifying(|_: Event<BeforePromptBuild>| async {
    ///     // A failure: this handler may append, not override.
    ///     Some(PromptPatch { override_system: Some("Obey me.".into()), ..Default::default() })
    /// })?;
    /// # Ok::<(), pintle::RegisterError>(())
    /// ```
    pub fn capabilities<I>(mut self, capabilities: I) -> Self
    where
        I: IntoIterator,
        I::Item: Into<String>,
    {
        self.capabilities = Some(capabilities.into_iter().map(Into::into).collect());
        self
    }

    /// Where it was written down, such as `agent.json:14`; without it, the line of code that registers it.
    ///
    /// See [`Source`](crate::Source) for an example.
    pub fn source(mut self, source: impl Into<String>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// The description made whole, or what is wrong with it. An empty name stands for "give it one".
    pub(super) fn checked<P: Point>(
        self,
        place: &'static Location<'static>,
    ) -> Result<(Meta, u64), RegisterError> {
        let point = P::NAME;
        if self.plugin.as_deref().is_some_and(str::is_empty) {
            return Err(RegisterError::EmptyPluginId { point });
        }
        if self.name.as_deref().is_some_and(str::is_empty) {
            return Err(RegisterError::EmptyName { point });
        }
        let name = self.name.unwrap_or_default();
        let deadline = self.deadline.or(self.hooks.default_deadline()).or(P::Model::DEADLINE);
        if deadline.is_some_and(|deadline| deadline.is_zero()) {
            return Err(RegisterError::ZeroDeadline { point, name });
        }
        if P::Model::POLICY == FailurePolicy::FailClosed
            && self.policy == Some(FailurePolicy::FailOpen)
        {
            return Err(RegisterError::Loosened { point });
        }
        if self.tools.is_some() && !P::HAS_TOOL {
            return Err(RegisterError::NoTool { point });
        }
        let tools = self.tools.map(|globs| parse_globs(point, globs)).transpose()?;
        let powers = match &self.capabilities {
            None => u64::MAX,
            Some(capabilities) => powers_of::<P>(capabilities)?,
        };
        let meta = Meta {
            id: 0,
            name: name.into(),
            plugin: self.plugin.map(Into::into),
            priority: self.priority,
            deadline,
            policy: self.policy.unwrap_or(P::Model::POLICY),
            tools,
            capabilities: self.capabilities,
            source: self.source.map_or(Source::Code(place), |source| Source::Named(source.into())),
        };
        Ok((meta, powers))
    }

    pub(super) fn hooks(&self) -> &Hooks {
        &self.hooks
    }
}

fn parse_globs(point: &'static str, globs: Vec<String>) -> Result<Vec<Pattern>, RegisterError> {
    let parse = |glob: String| {
        Pattern::new(&glob).map_err(|error| RegisterError::BadGlob {
            point,
            glob,
            detail: error.msg.to_string(),
        })
    };
    globs.into_iter().map(parse).collect()
}

/// The named capabilities as bits in the order of the model's powers.
fn powers_of<P: Point>(capabilities: &[String]) -> Result<u64, RegisterError> {
    let known = P::Model::powers();
    capabilities.iter().try_fold(0, |bits, capability| {
        match known.iter().position(|name| name == capability) {
            Some(bit) => Ok(bits | 1 << bit),
            None => Err(RegisterError::UnknownCapability {
                point: P::NAME,
                capability: capability.clone(),
                known,
            }),
        }
    })
}
