//! A fit in words.

use crate::fit::Fit;
use crate::report::digits;
use crate::residuals::Channel;

use super::pictures::file_name;

/// A text with its first letter as a capital and a full stop.
pub fn sentence(text: &str) -> String {
    let text = text.trim_end_matches('.');
    let mut letters = text.chars();
    // Names of unknowns and laws keep their letters.
    let is_word = text.split(' ').next().is_some_and(|word| word.chars().all(char::is_alphabetic));
    match letters.next() {
        Some(first) if is_word => format!("{}{}.", first.to_uppercase(), letters.as_str()),
        _ => format!("{text}."),
    }
}

/// What was fitted to what, and how it ended.
pub fn intro(fit: &Fit) -> Vec<String> {
    let told = fit.estimates.iter().filter(|e| e.identifiable).count();
    let minimum = &fit.minimum;
    let length = |r: &crate::repeated::Repeated| {
        let at = |i: usize| r.recording.time.get(i).copied().unwrap_or(0.0);
        let (rows, fitted) = (r.recording.time.len(), r.fitted);
        let part = if fitted < rows {
            format!("its first {} s fitted, the rest predicted", digits(at(fitted - 1)))
        } else {
            "all of it fitted".to_owned()
        };
        format!("{}: {rows} samples over {} s, {part}", file_name(&r.recording.name), digits(at(rows - 1)))
    };
    let recordings: Vec<String> = minimum.repeated.iter().map(length).collect();
    vec![
        format!(
            "{} unknowns of the law {} were fitted; the recordings tell {told} of {} numbers.",
            minimum.asked.iter().filter(|asked| !**asked).count(),
            fit.law,
            fit.estimates.len()
        ),
        format!("{}.", recordings.join("; ")),
    ]
}

fn error(c: &Channel) -> String {
    let unit = super::pictures::unit(&c.name);
    let size = |v: f64| {
        let share = c.normal_force.map_or(String::new(), |n| format!(" ({} of the normal force)", digits(v / n)));
        format!("{} {unit}{share}", digits(v))
    };
    let rest = c.held_out.map_or(String::new(), |rest| {
        let ratio = rest / c.residual.max(f64::MIN_POSITIVE);
        format!(", {} in the predicted part, {ratio:.2} times as much", size(rest))
    });
    format!("{} of {}: rms {} in the fitted part{rest}.", c.name, file_name(&c.recording), size(c.residual))
}

/// Named paragraphs: how it ended, its errors, what cannot be told, where the law misses.
pub fn lead(fit: &Fit) -> Vec<(String, String)> {
    let end = if fit.converged {
        format!("Converged in {} s; {} independent samples.", digits(fit.seconds), digits(fit.effective.round()))
    } else {
        format!("Not converged in {} s: the numbers are the best that were found.", digits(fit.seconds))
    };
    let mut all = vec![("Search".to_owned(), end)];
    let mut add = |name: &str, texts: Vec<String>| {
        let names = std::iter::once(name).chain(std::iter::repeat(""));
        all.extend(names.zip(texts).map(|(name, text)| (name.to_owned(), text)));
    };
    add("Error", fit.channels.iter().map(error).collect());
    let cannot: Vec<String> = fit.directions.iter().map(|d| sentence(&d.sentence)).collect();
    let open = fit.estimates.iter().filter(|e| !e.identifiable && !e.held && e.closed != [true; 2]);
    let open = open.map(|e| format!("{}: the recording sets {} of its interval.", e.name, ends(e.closed)));
    let cannot: Vec<String> = cannot.into_iter().chain(open).collect();
    let cannot = if cannot.is_empty() { vec!["Nothing: each unknown has an interval.".to_owned()] } else { cannot };
    add("Cannot be told", cannot);
    add("Motion", fit.before.iter().map(|text| sentence(text)).collect());
    add("Misfit", fit.misfit.iter().map(|misfit| sentence(&misfit.sentence)).collect());
    all
}

fn ends(closed: [bool; 2]) -> &'static str {
    match closed {
        [true, false] => "the lower end alone",
        [false, true] => "the upper end alone",
        _ => "no end",
    }
}

#[cfg(test)]
mod tests {
    use super::sentence;

    #[test]
    fn names_keep_their_letters() {
        assert_eq!(sentence("it slides"), "It slides.");
        assert_eq!(sentence("wrench.fx moves nothing."), "wrench.fx moves nothing.");
        assert_eq!(sentence("elasto-plastic is best"), "elasto-plastic is best.");
    }
}
