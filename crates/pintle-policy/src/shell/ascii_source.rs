//! The source as the grammar gets it: as long as the original, so that every offset stays, and without what the grammar's C
//! scanner trips over. Words are read from the original.

/// The source with every byte outside ASCII replaced by a letter, and so each `-` that is a word before a here-document.
///
/// The scanner hands code points to `isdigit`, which reads outside its table for most of them: `${` and an emoji can crash the
/// process. To a shell such bytes are letters like any other; only the end marker of a here-document is compared by its letters,
/// so that one is refused where here-documents are read.
///
/// And it takes the `-` of `cat - <<E` for the start of an option, finds the `<<` behind it, and forgets the dash. A letter
/// is a word there as much as the dash is.
pub(super) fn ascii_source(source: &str) -> Vec<u8> {
    let mut bytes: Vec<u8> =
        source.bytes().map(|byte| if byte.is_ascii() { byte } else { b'Q' }).collect();
    for (at, _) in source.match_indices(" -").chain(source.match_indices("\t-")) {
        let dash = at.saturating_add(1);
        let after = source.get(dash.saturating_add(1)..).unwrap_or_default();
        let next = after.trim_start_matches([' ', '\t']);
        let redirected = next.trim_start_matches(|c: char| c.is_ascii_digit());
        if next.len() < after.len()
            && redirected.starts_with(['<', '>'])
            && let Some(byte) = bytes.get_mut(dash)
        {
            *byte = b'Q';
        }
    }
    bytes
}
