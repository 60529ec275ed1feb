//! Marks in a shader that say how a loop is rewritten before the shader is compiled.
//!
//! A comment `// @unroll NAME` stands on a line of its own above a loop
//! `for (var i = 0u; i < BOUND; i++) { .. }`; the caller of [`unrolled`] defines what `NAME` means. A
//! mark that cannot be applied is an error, so that no loop stays as it is by mistake.

/// How a mark begins.
const MARK: &str = "// @unroll ";

/// How loops with a mark are rewritten.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unroll {
    /// The body is written out so many times; the counter is a constant in each.
    Times(u32),
    /// The loop stays one, and is tested at its end, against this bound or, if none is given, its own. The
    /// bound must not be 0. A software driver runs the body of a loop that is tested at its start once more
    /// than needed, with all lanes switched off.
    TestedAtEnd(Option<String>),
}

/// Why a mark cannot be applied.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line} of the shader: `// @unroll {name}`: {fault}")]
pub struct MarkError {
    /// Line of the mark, counted from 1.
    pub line: usize,
    /// The name in the mark.
    pub name: String,
    /// What is wrong.
    pub fault: MarkFault,
}

/// What is wrong with a mark.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MarkFault {
    /// A name that the caller does not define.
    #[error("unknown name: expected one of {0}")]
    Name(String),
    /// The next line does not begin a loop that can be counted.
    #[error("expected `for (var i = 0u; i < BOUND; i++) {{` on the next line, found `{0}`")]
    NoLoop(String),
    /// The braces of the body do not close.
    #[error("the loop has no end")]
    NoEnd,
    /// The body leaves the loop or an iteration of it early, which a body that is written out cannot.
    #[error("`{0}` in the loop's body")]
    Jump(&'static str),
}

/// A loop that has a mark.
struct Loop<'a> {
    counter: &'a str,
    bound: &'a str,
    /// What stands between the braces, without the blanks around it.
    body: &'a str,
}

/// The text with each loop that has a mark as `names` say.
///
/// # Errors
/// A mark with another name, above something that is no such loop, or above one that jumps.
pub fn unrolled(text: &str, names: &[(&str, Unroll)]) -> Result<String, MarkError> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    let mut line = 1;
    while !rest.is_empty() {
        let (first, after) = split_line(rest);
        let Some(name) = first.trim().strip_prefix(MARK).map(str::trim) else {
            out += &rest[..rest.len() - after.len()];
            (rest, line) = (after, line + 1);
            continue;
        };
        let fail = |fault| MarkError { line, name: name.to_owned(), fault };
        let Some((_, unroll)) = names.iter().find(|(known, _)| *known == name) else {
            let known: Vec<&str> = names.iter().map(|(known, _)| *known).collect();
            return Err(fail(MarkFault::Name(known.join(", "))));
        };
        let (found, after_loop) = parse(after).map_err(fail)?;
        out += &written(&found, unroll);
        line += rest[..rest.len() - after_loop.len()].lines().count();
        rest = after_loop;
    }
    Ok(out)
}

/// The first line, without its end, and the text after it.
fn split_line(text: &str) -> (&str, &str) {
    text.split_once('\n').unwrap_or((text, ""))
}

/// The loop at the start of a text, and the text from the line after it.
fn parse(text: &str) -> Result<(Loop<'_>, &str), MarkFault> {
    let first = split_line(text).0.trim();
    let no_loop = || MarkFault::NoLoop(first.to_owned());
    let head = text.trim_start().strip_prefix("for (var ").ok_or_else(no_loop)?;
    let (counter, head) = head.split_once(" = 0u; ").ok_or_else(no_loop)?;
    let head = head.strip_prefix(counter).and_then(|head| head.strip_prefix(" < ")).ok_or_else(no_loop)?;
    let (bound, head) = head.split_once("; ").ok_or_else(no_loop)?;
    let inside = head.strip_prefix(counter).and_then(|head| head.strip_prefix("++) {")).ok_or_else(no_loop)?;
    let end = end_of_body(inside).ok_or(MarkFault::NoEnd)?;
    let (closing, after) = split_line(&inside[end + 1..]);
    if !closing.trim().is_empty() {
        return Err(no_loop());
    }
    let body = inside[..end].trim();
    let words = |c: char| !c.is_alphanumeric() && c != '_';
    match ["break", "continue", "return"].into_iter().find(|jump| body.split(words).any(|word| word == *jump)) {
        Some(jump) => Err(MarkFault::Jump(jump)),
        None => Ok((Loop { counter, bound, body }, after)),
    }
}

/// Where the brace is that closes a body which has been opened.
fn end_of_body(text: &str) -> Option<usize> {
    let mut open = 1;
    text.char_indices().find_map(|(at, c)| {
        open += match c {
            '{' => 1,
            '}' => -1,
            _ => 0,
        };
        (open == 0).then_some(at)
    })
}

fn written(Loop { counter, bound, body }: &Loop<'_>, unroll: &Unroll) -> String {
    match unroll {
        Unroll::Times(times) => (0..*times).map(|n| format!("    {{ const {counter} = {n}u; {body} }}\n")).collect(),
        Unroll::TestedAtEnd(own) => {
            let bound = own.as_deref().unwrap_or(bound);
            let test = format!("continuing {{ {counter}++; break if {counter} >= {bound}; }}");
            format!("    {{ var {counter} = 0u; loop {{ {body} {test} }} }}\n")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOOP: &str = "fn f() {\n    // @unroll N\n    for (var i = 0u; i < n; i++) { g(i); }\n}\n";

    fn fault(text: &str) -> (usize, MarkFault) {
        let error = unrolled(text, &[("N", Unroll::Times(2)), ("M", Unroll::Times(3))]).unwrap_err();
        (error.line, error.fault)
    }

    #[test]
    fn a_marked_loop_is_written_out_or_tested_at_its_end_and_others_stay() {
        let times = unrolled(LOOP, &[("N", Unroll::Times(2))]).unwrap();
        assert_eq!(times, "fn f() {\n    { const i = 0u; g(i); }\n    { const i = 1u; g(i); }\n}\n");
        for (own, bound) in [(None, "n"), (Some("n + zero".to_owned()), "n + zero")] {
            let tested = unrolled(LOOP, &[("N", Unroll::TestedAtEnd(own))]).unwrap();
            let wanted = format!("{{ var i = 0u; loop {{ g(i); continuing {{ i++; break if i >= {bound}; }} }} }}");
            assert_eq!(tested, format!("fn f() {{\n    {wanted}\n}}\n"));
        }
        let plain = LOOP.replace("    // @unroll N\n", "");
        assert_eq!(unrolled(&plain, &[]).unwrap(), plain);
    }

    #[test]
    fn a_body_of_several_lines_and_braces_is_one_body() {
        let text = "// @unroll N\nfor (var k = 0u; k < n; k++) {\n    if (k > 0u) { g(k); }\n}\nh();\n";
        let times = unrolled(text, &[("N", Unroll::Times(1))]).unwrap();
        assert_eq!(times, "    { const k = 0u; if (k > 0u) { g(k); } }\nh();\n");
    }

    #[test]
    fn a_mark_that_cannot_be_applied_is_an_error_with_its_line() {
        assert_eq!(fault(&LOOP.replace("unroll N", "unroll K")), (2, MarkFault::Name("N, M".to_owned())));
        let no_loop = |line: &str| (2, MarkFault::NoLoop(line.to_owned()));
        assert_eq!(fault(&LOOP.replace("N\n    for", "N\n    g(1);\n    for")), no_loop("g(1);"));
        let from_one = LOOP.replace("i = 0u", "i = 1u");
        assert_eq!(fault(&from_one), no_loop("for (var i = 1u; i < n; i++) { g(i); }"));
        assert_eq!(fault(&LOOP.replace("}\n}", "")), (2, MarkFault::NoEnd));
        assert_eq!(fault(&LOOP.replace("g(i);", "if (i > 3u) { break; }")), (2, MarkFault::Jump("break")));
        // The second mark counts the lines of the first one's loop.
        let second = format!("{LOOP}// @unroll M\n");
        assert_eq!(fault(&second), (5, MarkFault::NoLoop(String::new())));
        let message = unrolled("// @unroll K\n", &[("N", Unroll::Times(2))]).unwrap_err().to_string();
        assert_eq!(message, "line 1 of the shader: `// @unroll K`: unknown name: expected one of N");
    }
}
