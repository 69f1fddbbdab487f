//! One list per family.
//!
//! Losses, sets, schedules and learners are each a family: structs that implement one trait. A
//! member is chosen at run time by its name. The list of the members is written once, in
//! [`family!`], which makes the enum, the names, the serialisation, and a macro that runs an
//! expression on whichever member there is.

/// Makes an enum of the members of a family. Each member has a name for people.
///
/// ```text
/// family! {
///     /// Any of the losses.
///     #[derive(Debug, Clone, Copy, PartialEq)]
///     pub enum loss::AnyLoss, with_loss!($) {
///         /// [1 − yp]₊
///         "hinge" => Hinge(hinge::Hinge),
///     }
/// }
/// ```
///
/// It exports the members and gives the enum `NAMES`, `name`, `From` every member, and serde.
/// Formats for people have `{"name": "hinge"}` with the member's own fields beside the name. Other
/// formats have the place in the list and then the member. A name and a place must never change, so
/// new members come last. `with_loss!(any, loss => expression)` is compiled once for each member.
///
/// With `asked as "loss";` before it, all members are [`Asked`](crate::request::Asked). The enum
/// then has `ask` and `settings_of`: the first makes the member of a name from a request, the
/// second lists the settings of a name.
macro_rules! family {
    (
        asked as $kind:literal;
        $(#[$meta:meta])*
        pub enum $family:ident::$any:ident, $with:ident!($dollar:tt) {
            $($(#[$doc:meta])* $name:literal => $variant:ident($module:ident::$member:ident),)+
        }
    ) => {
        family! {
            $(#[$meta])*
            pub enum $family::$any, $with!($dollar) {
                $($(#[$doc])* $name => $variant($module::$member),)+
            }
        }

        impl $any {
            #[doc = concat!("The ", $kind, " of a name, made from the settings of a request.")]
            pub fn ask(
                name: &str,
                request: &$crate::request::Request<'_>,
            ) -> Result<Self, $crate::request::Refusal> {
                use $crate::request::Asked;
                match name {
                    $($name => $member::ask(request).map(Self::from),)+
                    _ => Err(Self::unknown(name)),
                }
            }

            #[doc = concat!("The settings that have an effect on the ", $kind, " of a name.")]
            pub fn settings_of(
                name: &str,
            ) -> Result<&'static [&'static str], $crate::request::Refusal> {
                use $crate::request::Asked;
                match name {
                    $($name => Ok($member::SETTINGS),)+
                    _ => Err(Self::unknown(name)),
                }
            }

            fn unknown(name: &str) -> $crate::request::Refusal {
                let name = name.to_owned();
                $crate::request::Refusal::Unknown { kind: $kind, name, known: &Self::NAMES }
            }
        }
    };
    (
        $(#[$meta:meta])*
        pub enum $family:ident::$any:ident, $with:ident!($dollar:tt) {
            $($(#[$doc:meta])* $name:literal => $variant:ident($module:ident::$member:ident),)+
        }
    ) => {
        $(pub use $module::$member;)+

        $(#[$meta])*
        pub enum $any {
            $($(#[$doc])* $variant($member),)+
        }

        impl $any {
            /// The names of the members, in the order of the list.
            pub const NAMES: [&'static str; [$($name),+].len()] = [$($name),+];

            /// The name of this member.
            pub fn name(&self) -> &'static str {
                match self {
                    $(Self::$variant(_) => $name,)+
                }
            }
        }

        $(
            impl From<$member> for $any {
                fn from(member: $member) -> Self {
                    Self::$variant(member)
                }
            }
        )+

        const _: () = {
            use serde::{Deserialize, Deserializer, Serialize, Serializer};

            type Any = $any;

            /// The form for people: `{"name": …}` and the fields of the member.
            #[derive(Serialize, Deserialize)]
            #[serde(remote = "Any", tag = "name")]
            enum Named {
                $(#[serde(rename = $name)] $variant($member),)+
            }

            /// The form for formats that do not name their contents. They could not read the other
            /// form back.
            #[derive(Serialize, Deserialize)]
            #[serde(remote = "Any")]
            enum Numbered {
                $($variant($member),)+
            }

            impl Serialize for Any {
                fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                    if serializer.is_human_readable() {
                        Named::serialize(self, serializer)
                    } else {
                        Numbered::serialize(self, serializer)
                    }
                }
            }

            impl<'de> Deserialize<'de> for Any {
                fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                    if deserializer.is_human_readable() {
                        Named::deserialize(deserializer)
                    } else {
                        Numbered::deserialize(deserializer)
                    }
                }
            }
        };

        #[doc = concat!("Runs an expression on whichever member of the family [`", stringify!($any), "`](crate::", stringify!($family), "::", stringify!($any), ") it is.")]
        #[macro_export]
        macro_rules! $with {
            ($dollar any:expr, $dollar member:ident => $dollar what:expr) => {
                match $dollar any {
                    $($crate::$family::$any::$variant($dollar member) => $dollar what,)+
                }
            };
        }
        pub use $with;
    };
}
