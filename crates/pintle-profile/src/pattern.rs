//! What texts of agent.json look like, as regular expressions for editors. Whatever the reader takes fits.

/// What a page hides: characters that are not seen, or that a terminal acts on. Those beyond the first plane are left to the
/// reader, as not every editor's patterns know them.
pub const HIDDEN_IN_PAGE: &str = r"\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u00ad\u034f\u115f\u1160\u17b4\u17b5\u200b\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb";

/// What a line hides beside that: line ends, and marks that only pages need.
const HIDDEN_IN_LINE: &str = r"\t\n\r\u061c\u180b-\u180f\u200c-\u200f";

/// An address of no machine, of many, or of a metadata service, as most people write it; and where it ends.
pub const FORBIDDEN_HOST: &str = r"(0\.0\.0\.0|169\.254\.[0-9]+\.[0-9]+|2(2[4-9]|3[0-9])\.[0-9]+\.[0-9]+\.[0-9]+|255\.255\.255\.255|metadata(\.google\.internal)?|instance-data)\.?(:[0-9]*)?([/?#\\]|$)";

/// A path in the profile's folder, as far as it goes without `..` on the way; from its start to its end.
#[must_use]
pub fn inner_path() -> String {
    format!(r"(?![/~])(?!(\./+)*\.\.(/|$))(?=.*\S)[^{HIDDEN_IN_PAGE}{HIDDEN_IN_LINE}]+$")
}

/// Something that can be seen, and nothing that cannot.
pub(crate) fn name() -> String {
    let seen = format!("[^{HIDDEN_IN_PAGE}{HIDDEN_IN_LINE}]*");
    format!(r"^{seen}[^\s{HIDDEN_IN_PAGE}{HIDDEN_IN_LINE}]{seen}$")
}

/// The same, and it may be empty.
pub(crate) fn line() -> String {
    format!("^[^{HIDDEN_IN_PAGE}{HIDDEN_IN_LINE}]*$")
}

pub(crate) fn page() -> String {
    format!("^[^{HIDDEN_IN_PAGE}]*$")
}

/// Brackets are closed.
pub(crate) fn glob() -> String {
    let closed = r"([^\[]|\[[^!][^\]]*\]|\[![\s\S][^\]]*\])*$";
    format!("^(?=.)(?=[^{HIDDEN_IN_PAGE}{HIDDEN_IN_LINE}]*$){closed}")
}

/// What a text of this format looks like.
pub(crate) fn of(format: &str) -> Option<String> {
    Some(match format {
        "" => page(),
        "line" => line(),
        "non-empty" => name(),
        "glob" => glob(),
        "env-name" => "^[A-Za-z_][A-Za-z0-9_]*$".to_owned(),
        "http-url" => format!("^[Hh][Tt][Tt][Pp][Ss]?://(?!{FORBIDDEN_HOST})[^/]"),
        "inside-folder" => format!("^{}", inner_path()),
        _ => return None,
    })
}
