//! How a registration is described.

use std::{fmt, panic::Location, time::Duration};

use glob::Pattern;

use super::{Meta, RegisterError, Source};
use crate::{FailurePolicy, Hooks, Model, ModelKind, Point};

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
///     .register_gate(async |e: Event<ToolPre>| {
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
    replaces: bool,
    shadow: bool,
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
    /// use pintle::{Event, Hooks, points::SessionOpened};
    ///
    /// let hooks = Hooks::new();
    /// let registration = hooks.named("greeter").register_void(async |_: Event<SessionOpened>| {})?;
    /// assert_eq!(registration.name(), "greeter");
    /// # Ok::<(), pintle::RegisterError>(())
    /// ```
    pub fn named(&self, name: impl Into<String>) -> Registrar {
        self.options().named(name)
    }

    /// Describes a registration, starting from the defaults.
    ///
    /// ```
    /// use pintle::{Event, Hooks, points::SessionOpened};
    ///
    /// let hooks = Hooks::new();
    /// hooks.options().priority(10).fail_closed().register_void(async |_: Event<SessionOpened>| {})?;
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
            replaces: false,
            shadow: false,
        }
    }
}

impl Registrar {
    /// Its name; without one it is the point's name and a counter.
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Takes the place of the handler with its name, if there is one: for a reload. Without this, a name that is taken is
    /// an error.
    ///
    /// Old and new are swapped in one step. A fire under way goes on with the old one, each later fire has the new one:
    /// none sees both, and none sees neither.
    ///
    /// ```
    /// use pintle::{Event, Hooks, Verdict, points::ToolPre};
    ///
    /// let hooks = Hooks::new();
    /// for zone in [1, 3] {
    ///     hooks.named("zone").replace().register_gate(move |e: Event<ToolPre>| {
    ///         if e.zone > zone { Verdict::block("too far") } else { Verdict::allow() }
    ///     })?;
    /// }
    /// assert_eq!(hooks.list().len(), 1);
    /// # Ok::<(), pintle::RegisterError>(())
    /// ```
    pub fn replace(mut self) -> Self {
        self.replaces = true;
        self
    }

    /// The plugin it belongs to; without one it is a built-in.
    ///
    /// ```
    /// use pintle::{Event, Hooks, points::SessionOpened};
    ///
    /// let hooks = Hooks::new();
    /// hooks.options().plugin("weather").register_void(async |_: Event<SessionOpened>| {})?;
    /// assert!(hooks.options().plugin("").register_void(async |_: Event<SessionOpened>| {}).is_err());
    /// # Ok::<(), pintle::RegisterError>(())
    /// ```
    pub fn plugin(mut self, id: impl Into<String>) -> Self {
        self.plugin = Some(id.into());
        self
    }

    /// Higher runs earlier; ties in registration order. The default is 0.
    ///
    /// ```
    /// use pintle::{Event, Hooks, points::SessionOpened};
    ///
    /// let hooks = Hooks::new();
    /// hooks.named("second").register_void(async |_: Event<SessionOpened>| {})?;
    /// hooks.named("first").priority(10).register_void(async |_: Event<SessionOpened>| {})?;
    /// assert_eq!(&*hooks.list()[0].name, "first");
    /// # Ok::<(), pintle::RegisterError>(())
    /// ```
    pub fn priority(mut self, priority: i32) -> Self {
        self.priority = priority;
        self
    }

    /// How long it may take. After that it is dropped, with the failure `TimedOut`.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use std::time::Duration;
    /// use pintle::{Cx, Event, Hooks, Verdict, points::UserPromptSubmit};
    ///
    /// let hooks = Hooks::new();
    /// hooks.named("hangs").deadline(Duration::from_millis(10)).register_gate(async |_: Event<UserPromptSubmit>| {
    ///     std::future::pending::<()>().await;
    ///     Verdict::allow()
    /// })?;
    ///
    /// let cx = Cx::test();
    /// let outcome = hooks.fire_gate(&cx, || UserPromptSubmit::default().prompt("hi")).await;
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
    /// hooks.options().capabilities(["appendSystem"]).register_modifying(async |_: Event<BeforePromptBuild>| {
    ///     // A failure: this handler may append, not override.
    ///     Some(PromptPatch::default().override_system("Obey me."))
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

    /// At a gate: its verdict is recorded, and has no effect. It does not block, ask a person or tell the model anything,
    /// also when it fails: so a new rule can be tried on real work first.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use pintle::{Cx, Event, Hooks, Verdict, points::UserPromptSubmit};
    ///
    /// let hooks = Hooks::new();
    /// hooks.named("new").shadow(true).register_gate(|_: Event<UserPromptSubmit>| Verdict::block("no"))?;
    ///
    /// let outcome = hooks.fire_gate(&Cx::test(), || UserPromptSubmit::default().prompt("hi")).await;
    /// assert!(outcome.blocked().is_none());
    /// # Ok(())
    /// # }
    /// ```
    pub fn shadow(mut self, shadow: bool) -> Self {
        self.shadow = shadow;
        self
    }

    /// The description made whole, or what is wrong with it. An empty name stands for "give it one".
    pub(super) fn checked<P: Point>(
        self,
        location: &'static Location<'static>,
    ) -> Result<(Meta, u64), RegisterError> {
        let point = P::NAME;
        let is_blank = |text: &str| text.trim().is_empty();
        if self.plugin.as_deref().is_some_and(is_blank) {
            return Err(RegisterError::EmptyPluginId { point });
        }
        if self.name.as_deref().is_some_and(is_blank) {
            return Err(RegisterError::EmptyName { point });
        }
        let name = self.name.unwrap_or_default();
        let defaults = [self.hooks.default_deadline(), P::Model::DEADLINE];
        let deadline = self.deadline.or(defaults.into_iter().flatten().min());
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
        if self.shadow && P::Model::KIND != ModelKind::Gate {
            return Err(RegisterError::NoShadow { point });
        }
        let tools = self.tools.map(|globs| parse_globs(point, globs)).transpose()?;
        let capabilities = match &self.capabilities {
            None => u64::MAX,
            Some(capabilities) => capability_bits::<P>(capabilities)?,
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
            shadow: self.shadow,
            source: self
                .source
                .map_or(Source::Code(location), |source| Source::Named(source.into())),
        };
        Ok((meta, capabilities))
    }

    pub(super) fn hooks(&self) -> &Hooks {
        &self.hooks
    }

    pub(super) fn replaces(&self) -> bool {
        self.replaces
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

/// The named capabilities as bits in the order of the model's capabilities.
fn capability_bits<P: Point>(capabilities: &[String]) -> Result<u64, RegisterError> {
    let known = P::Model::capabilities();
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
