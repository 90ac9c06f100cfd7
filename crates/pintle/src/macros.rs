//! One declaration per point, patch and claim.

/// Declares a hook point: its payload, its name on the wire, its execution model.
///
/// The struct gets camelCase names on the wire, a JSON Schema, and [`Point`](crate::Point). `tool = FIELD`
/// says which field names the tool the point is about.
///
/// It also gets `Default`, a method per field that sets it, and `#[non_exhaustive]`: another crate fires
/// `BeforeDeploy::default().service("web")`, and a field that is added later does not break it.
///
/// ```
/// use pintle::{Binding, Gate, point};
///
/// point! {
///     /// A service is about to be deployed. A block stops the deployment.
///     pub struct BeforeDeploy = "before_deploy": Gate<Binding> {
///         /// What is deployed.
///         pub service: String,
///         /// How many copies.
///         pub replica_count: u32,
///     }
/// }
///
/// use pintle::PointInfo;
/// let info = PointInfo::of::<BeforeDeploy>();
/// assert_eq!((info.name, info.fields), ("before_deploy", ["service", "replicaCount"].as_slice()));
/// ```
#[macro_export]
macro_rules! point {
    (
        $(#[doc = $doc:expr])*
        $vis:vis struct $Name:ident = $name:literal : $Model:ty $(, tool = $tool:ident)? {
            $($body:tt)*
        }
    ) => {
        $crate::__wire_struct! {
            $(#[doc = $doc])*
            #[derive(Debug, Default)]
            $vis struct $Name { $($body)* }
        }

        $crate::__setters!($Name { $($body)* });

        impl $crate::Point for $Name {
            type Model = $Model;
            const NAME: &'static str = $name;
            const DOC: &'static str = concat!($($doc, "\n"),*);
        }

        $(
            impl $crate::PointAboutTool for $Name {
                fn tool(&self) -> &str {
                    &self.$tool
                }
            }
        )?

        impl $crate::__private::PointStorage for $Name {
            $(
                const HAS_TOOL: bool = true;
                #[inline]
                fn about_tool(&self) -> ::core::option::Option<&str> {
                    ::core::option::Option::Some(&self.$tool)
                }
            )?
            fn fields() -> &'static [&'static str] {
                Self::wire_names()
            }
            #[inline]
            fn index() -> usize {
                static INDEX: $crate::__private::PointIndex = $crate::__private::PointIndex::new();
                INDEX.get()
            }
        }
    };
}

/// Declares what the handlers of a Modifying point return. Every key is an `Option`.
///
/// The first-wins merge is derived (R4.5): per key, the first value that is not null wins.
///
/// ```
/// use pintle::{Patch, patch};
///
/// patch! {
///     /// What may be changed about a greeting.
///     pub struct GreetingPatch {
///         /// How to say hello.
///         pub hello: Option<String>,
///         /// How often.
///         pub times: Option<u32>,
///     }
/// }
///
/// let mut merged = GreetingPatch { hello: Some("".into()), times: None };
/// let taken = merged.merge(GreetingPatch { hello: Some("hi".into()), times: Some(2) });
/// assert_eq!((merged.hello.as_deref(), merged.times), (Some(""), Some(2)));
/// assert_eq!(taken, 0b10, "only the second key was taken");
/// ```
#[macro_export]
macro_rules! patch {
    (
        $(#[doc = $doc:expr])*
        $vis:vis struct $Name:ident { $($body:tt)* }
        $(alias $alias:literal = $of:literal)?
    ) => {
        $crate::__patch! {
            $(#[doc = $doc])*
            $vis struct $Name { $($body)* }
            $(alias $alias = $of)?
        }
        $crate::__setters!($Name { $($body)* });
    };
}

/// The struct of a patch, and how patches merge.
#[doc(hidden)]
#[macro_export]
macro_rules! __patch {
    (
        $(#[doc = $doc:expr])*
        $vis:vis struct $Name:ident {
            $($(#[doc = $fdoc:expr])* $fvis:vis $field:ident : Option<$T:ty>),* $(,)?
        }
        $(alias $alias:literal = $of:literal)?
    ) => {
        $crate::__wire_struct! {
            $(#[doc = $doc])*
            #[derive(Debug, Default, PartialEq)]
            $vis struct $Name {
                $(
                    $(#[doc = $fdoc])*
                    #[serde(default, skip_serializing_if = "Option::is_none")]
                    $fvis $field: ::core::option::Option<$T>
                ),*
            }
        }

        impl $crate::Patch for $Name {
            fn keys() -> &'static [&'static str] {
                Self::wire_names()
            }

            #[inline]
            fn set_keys(&self) -> u64 {
                let mut bit = 1_u64;
                let mut keys = 0_u64;
                $(
                    if $crate::__private::is_value(&self.$field) {
                        keys |= bit;
                    }
                    bit = bit.wrapping_shl(1);
                )*
                let _ = bit;
                keys
            }

            #[inline]
            fn merge(&mut self, later: Self) -> u64 {
                let mut bit = 1_u64;
                let mut taken = 0_u64;
                $(
                    if !$crate::__private::is_value(&self.$field)
                        && $crate::__private::is_value(&later.$field)
                    {
                        self.$field = later.$field;
                        taken |= bit;
                    }
                    bit = bit.wrapping_shl(1);
                )*
                let _ = bit;
                taken
            }

            $(
                fn alias(key: &str) -> ::core::option::Option<&'static str> {
                    (key == $alias).then_some($of)
                }
            )?
        }
    };
}

/// Declares what a handler of a Claiming point returns with its claim.
///
/// ```
/// use pintle::{Claim, claim};
///
/// claim! {
///     /// Somebody takes the parcel.
///     pub struct Taken {
///         /// Where it was put.
///         pub shelf: String,
///     }
/// }
/// assert_eq!(Taken::fields(), ["shelf"]);
/// ```
#[macro_export]
macro_rules! claim {
    ($(#[doc = $doc:expr])* $vis:vis struct $Name:ident { $($body:tt)* }) => {
        $crate::__wire_struct! {
            $(#[doc = $doc])*
            #[derive(Debug, Default, PartialEq)]
            $vis struct $Name { $($body)* }
        }

        $crate::__setters!($Name { $($body)* });

        impl $crate::Claim for $Name {
            fn fields() -> &'static [&'static str] {
                Self::wire_names()
            }
        }
    };
}

/// For each field a method of the same name that sets it. A text may be a `&str`, and an `Option` may be what is in it.
#[doc(hidden)]
#[macro_export]
macro_rules! __setters {
    ($Name:ident {}) => {};
    ($Name:ident {
        $(#[$meta:meta])* $vis:vis $field:ident : String $(, $($rest:tt)*)?
    }) => {
        $crate::__setter!($Name, $vis $field, impl ::core::convert::Into<String>, |value| value.into());
        $crate::__setters!($Name { $($($rest)*)? });
    };
    ($Name:ident {
        $(#[$meta:meta])* $vis:vis $field:ident : Option<String> $(, $($rest:tt)*)?
    }) => {
        $crate::__setter!($Name, $vis $field, impl $crate::__private::OptionalText, |value| value.into_option());
        $crate::__setters!($Name { $($($rest)*)? });
    };
    ($Name:ident {
        $(#[$meta:meta])* $vis:vis $field:ident : Option<$T:ty> $(, $($rest:tt)*)?
    }) => {
        $crate::__setter!($Name, $vis $field, impl ::core::convert::Into<::core::option::Option<$T>>, |value| value.into());
        $crate::__setters!($Name { $($($rest)*)? });
    };
    ($Name:ident {
        $(#[$meta:meta])* $vis:vis $field:ident : $T:ty $(, $($rest:tt)*)?
    }) => {
        $crate::__setter!($Name, $vis $field, $T, |value| value);
        $crate::__setters!($Name { $($($rest)*)? });
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __setter {
    ($Name:ident, $vis:vis $field:ident, $T:ty, |$value:ident| $set:expr) => {
        impl $Name {
            #[doc = concat!("Sets `", stringify!($field), "`.")]
            #[must_use]
            #[inline]
            $vis fn $field(mut self, $value: $T) -> Self {
                self.$field = $set;
                self
            }
        }
    };
}

/// A struct that travels as JSON with camelCase names and knows those names.
#[doc(hidden)]
#[macro_export]
macro_rules! __wire_struct {
    (
        $(#[$meta:meta])*
        $vis:vis struct $Name:ident { $($(#[$fmeta:meta])* $fvis:vis $field:ident : $T:ty),* $(,)? }
    ) => {
        $(#[$meta])*
        #[derive(
            Clone,
            $crate::__private::serde::Serialize,
            $crate::__private::serde::Deserialize,
            $crate::__private::schemars::JsonSchema,
        )]
        #[serde(crate = "::pintle::__private::serde", rename_all = "camelCase")]
        #[schemars(crate = "::pintle::__private::schemars")]
        #[non_exhaustive]
        $vis struct $Name {
            $($(#[$fmeta])* $fvis $field: $T),*
        }

        impl $Name {
            fn wire_names() -> &'static [&'static str] {
                static NAMES: $crate::__private::WireNames =
                    $crate::__private::WireNames::new(&[$(stringify!($field)),*]);
                NAMES.get()
            }
        }
    };
}

/// A text, or none.
#[doc(hidden)]
pub trait OptionalText {
    fn into_option(self) -> Option<String>;
}

impl OptionalText for &str {
    fn into_option(self) -> Option<String> {
        Some(self.into())
    }
}

impl OptionalText for String {
    fn into_option(self) -> Option<String> {
        Some(self)
    }
}

impl OptionalText for Option<String> {
    fn into_option(self) -> Option<String> {
        self
    }
}

/// The camelCase spellings of a struct's field names.
#[doc(hidden)]
pub struct WireNames {
    fields: &'static [&'static str],
    wire: std::sync::OnceLock<Vec<&'static str>>,
}

impl WireNames {
    #[doc(hidden)]
    pub const fn new(fields: &'static [&'static str]) -> Self {
        Self { fields, wire: std::sync::OnceLock::new() }
    }

    #[doc(hidden)]
    pub fn get(&self) -> &[&'static str] {
        self.wire.get_or_init(|| self.fields.iter().map(|name| camel_case(name)).collect())
    }
}

/// Leaks a few bytes per declared field, once per process: the names live as long as the types do.
fn camel_case(name: &'static str) -> &'static str {
    if !name.contains('_') {
        return name;
    }
    let mut camel = String::with_capacity(name.len());
    let mut upper = false;
    for letter in name.chars() {
        match letter {
            '_' => upper = true,
            letter if upper => {
                camel.extend(letter.to_uppercase());
                upper = false;
            }
            letter => camel.push(letter),
        }
    }
    camel.leak()
}

/// Whether an optional key has a value. JSON's null is none, also inside a `Some`.
#[doc(hidden)]
#[inline]
pub fn is_value<T: 'static>(field: &Option<T>) -> bool {
    field.as_ref().is_some_and(|value| {
        (value as &dyn std::any::Any).downcast_ref::<serde_json::Value>()
            != Some(&serde_json::Value::Null)
    })
}
