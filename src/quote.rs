//! Shortens a user's text for error messages.

use std::borrow::Cow;

/// Most characters of a value, a key or a name in a message.
pub const MOST_QUOTED: usize = 80;
/// Most characters of a message about a value.
pub const MOST_MESSAGE: usize = 2000;
/// Longer parts of a message, between quotes, are what a user wrote.
const MOST_PART: usize = 600;

/// A text in at most so many characters: of a longer one the start and the end, with ".." between.
///
/// ```
/// use bristle::quote::within;
/// assert_eq!(within("friction.mu_c", 20), "friction.mu_c");
/// assert_eq!(within("abcdefghijklmnopqrstuvwxyz", 10), "abcdef..yz");
/// ```
pub fn within(text: &str, most: usize) -> Cow<'_, str> {
    if text.len() <= most || text.chars().nth(most).is_none() {
        return Cow::Borrowed(text);
    }
    let kept = most.saturating_sub(2);
    let last = kept / 4;
    let end = text.char_indices().nth(kept - last).map_or(text.len(), |(i, _)| i);
    let start = text.char_indices().rev().nth(last.max(1) - 1).map_or(text.len(), |(i, _)| i);
    let tail = if last == 0 { "" } else { &text[start..] };
    Cow::Owned(format!("{}..{tail}", &text[..end]))
}

/// A value, a key or a name as a message shows it, in at most [`MOST_QUOTED`] characters.
pub fn quoted(text: &str) -> Cow<'_, str> {
    within(text, MOST_QUOTED)
}

/// A message that may quote anything, in at most [`MOST_MESSAGE`] characters: what is very long between two
/// quotes is shortened.
pub fn message(text: &str) -> Cow<'_, str> {
    if text.len() <= MOST_PART {
        return Cow::Borrowed(text);
    }
    let mut short = String::new();
    for part in text.split_inclusive(['"', '`', '\'']) {
        let is_long = part.len() > MOST_PART && part.chars().nth(MOST_PART).is_some();
        short += &*if is_long { within(part, 2 * MOST_QUOTED) } else { Cow::Borrowed(part) };
        // The rest of a message of very many parts is cut below.
        if short.len() > 16 * MOST_MESSAGE {
            break;
        }
    }
    Cow::Owned(within(&short, MOST_MESSAGE).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_keep_their_start_and_their_end() {
        assert_eq!(within("", 5), "");
        assert_eq!(within("abcdefgh", 8), "abcdefgh");
        assert_eq!(within("abcdefghi", 8), "abcde..i");
        assert_eq!(within("\u{e4}\u{e4}\u{e4}\u{e4}\u{e4}\u{e4}", 5), "\u{e4}\u{e4}\u{e4}..");
        let long = "\u{20ac}".repeat(1_000_000);
        assert_eq!(quoted(&long).chars().count(), MOST_QUOTED);
        let said = format!("x: invalid type: string \"{long}\", expected one of `a`, `b`");
        let said = message(&said);
        assert!(said.chars().count() < 300 && said.ends_with("\u{20ac}\", expected one of `a`, `b`"), "{said}");
        let many = "`a`, ".repeat(1_000_000);
        assert_eq!(message(&many).chars().count(), MOST_MESSAGE);
    }
}
