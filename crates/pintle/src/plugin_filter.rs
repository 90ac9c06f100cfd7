//! Whose handlers may fire.

use std::{collections::BTreeSet, sync::Arc};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Which plugins' handlers a fire reaches (R4.3). Built-ins always fire.
///
/// There is no default: every fire says which it means. On the wire it is an optional list: absent is
/// `All`, `[]` is `BuiltinsOnly`, `["a"]` is `Only`.
///
/// ```
/// use pintle::PluginFilter;
///
/// let filter = PluginFilter::only(["weather"]);
/// assert!(filter.allows(None), "a built-in always fires");
/// assert!(filter.allows(Some("weather")));
/// assert!(!filter.allows(Some("stocks")));
/// assert_eq!(PluginFilter::only(Vec::<String>::new()), PluginFilter::BuiltinsOnly);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PluginFilter {
    /// Every handler fires.
    All,
    /// No plugin's handler fires.
    BuiltinsOnly,
    /// Built-ins and the named plugins fire.
    Only(Arc<BTreeSet<String>>),
}

impl PluginFilter {
    /// Built-ins and these plugins; an empty list is `BuiltinsOnly`.
    pub fn only<I>(plugins: I) -> Self
    where
        I: IntoIterator,
        I::Item: Into<String>,
    {
        let set: BTreeSet<String> = plugins.into_iter().map(Into::into).collect();
        if set.is_empty() { Self::BuiltinsOnly } else { Self::Only(Arc::new(set)) }
    }

    /// Whether a handler of this plugin (`None`: a built-in) may fire.
    pub fn allows(&self, plugin: Option<&str>) -> bool {
        match (plugin, self) {
            (None, _) | (_, Self::All) => true,
            (Some(_), Self::BuiltinsOnly) => false,
            (Some(id), Self::Only(allowed)) => allowed.contains(id),
        }
    }
}

impl Serialize for PluginFilter {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::All => serializer.serialize_none(),
            Self::BuiltinsOnly => serializer.collect_seq(std::iter::empty::<&str>()),
            Self::Only(allowed) => serializer.collect_seq(allowed.iter()),
        }
    }
}

impl<'de> Deserialize<'de> for PluginFilter {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let list = Option::<Vec<String>>::deserialize(deserializer)?;
        Ok(list.map_or(Self::All, Self::only))
    }
}
