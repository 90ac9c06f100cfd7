//! What a script looks up in a table of its own: `FORMATTERS[ext]` with all that it may find there.

use super::spans::{arguments, closing, outermost, part};
use super::tokens::Token;
use super::values::Values;

/// What is looked up in a table, or gone through, and changes nothing in it.
const LOOKS: [&str; 4] = ["get", "items", "keys", "values"];

impl Values<'_> {
    /// `TABLE[x]`, `TABLE.get(x, other)`: each that it may be, and how many tokens say so.
    pub(super) fn looked_up<'t>(
        &'t self,
        tokens: &'t [Token],
    ) -> Option<(Vec<&'t [Token]>, usize)> {
        let name = tokens.first()?.name()?;
        match tokens.get(1)? {
            open if open.is('[') => {
                let close = closing(tokens, 1)?;
                Some((self.table(name)?, close.saturating_add(1)))
            }
            dot if dot.is('.') && tokens.get(2)?.is_name("get") && tokens.get(3)?.is('(') => {
                let close = closing(tokens, 3)?;
                let mut all = self.table(name)?;
                let given = arguments(part(tokens, 4..close));
                all.extend(given.get(1).filter(|it| !matches!(it, [one] if one.is_name("None"))));
                Some((all, close.saturating_add(1)))
            }
            _ => None,
        }
    }

    /// `TABLE.items()`, `TABLE.values()`, `Object.entries(TABLE)`
    pub(super) fn gone_through(&self, tokens: &[Token]) -> Option<Vec<&[Token]>> {
        let name = match tokens {
            [name, dot, method, open, close]
                if dot.is('.')
                    && (method.is_name("items") || method.is_name("values"))
                    && open.is('(')
                    && close.is(')') =>
            {
                name
            }
            [object, dot, method, open, name, close]
                if object.is_name("Object")
                    && dot.is('.')
                    && (method.is_name("entries") || method.is_name("values"))
                    && open.is('(')
                    && close.is(')') =>
            {
                name
            }
            _ => return None,
        };
        self.table(name.name()?)
    }

    /// The values of a table that is written out and stays as it is.
    fn table(&self, name: &str) -> Option<Vec<&[Token]>> {
        let [only] = self.names.assigned.get(name)?.as_slice() else { return None };
        let whole = part(self.tokens, only.what.clone());
        let last = whole.len().checked_sub(1)?;
        let is_table = whole.first()?.is('{') && closing(whole, 0) == Some(last);
        if only.each || !is_table || self.names.grown.contains(name) || self.is_changed(name) {
            return None;
        }
        let value = |entry: &'_ &[Token]| -> Option<usize> {
            let colon =
                outermost(entry).into_iter().find(|at| entry.get(*at).is_some_and(|it| it.is(':')));
            colon.map(|it| it.saturating_add(1))
        };
        let entries = arguments(part(whole, 1..last));
        entries.into_iter().map(|entry| Some(part(entry, value(&entry)?..entry.len()))).collect()
    }

    /// Whether anything but looking is done with it.
    fn is_changed(&self, name: &str) -> bool {
        let is = |at: Option<usize>, c: char| {
            at.and_then(|it| self.tokens.get(it)).is_some_and(|it| it.is(c))
        };
        let named = |at: Option<usize>, names: &[&str]| {
            let token = at.and_then(|it| self.tokens.get(it));
            token.is_some_and(|it| names.iter().any(|name| it.is_name(name)))
        };
        let is_looked_at = |at: usize| {
            let (next, before) = (at.checked_add(1), at.checked_sub(1));
            if is(next, '[') {
                let close = next.and_then(|it| closing(self.tokens, it));
                let behind = close.and_then(|it| it.checked_add(1));
                return !is(behind, '=') || is(behind.and_then(|it| it.checked_add(1)), '=');
            }
            let is_declared = is(next, '=') || is(next, ':');
            let is_method = is(next, '.') && named(at.checked_add(2), &LOOKS);
            let is_given = is(before, '(')
                && named(
                    at.checked_sub(2),
                    &["entries", "keys", "values", "sorted", "list", "len"],
                );
            let is_asked = named(before, &["in", "of"]);
            is_declared || is_method || is_given || is_asked
        };
        let mut places = self.tokens.iter().enumerate().filter(|(_, it)| it.is_name(name));
        places.any(|(at, _)| !is_looked_at(at))
    }
}
