//! An item: the part of the page on one figure or table.

use serde_json::{Value, json};

use crate::page::{Picture, Table};

/// What a number should be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Wanted {
    /// Within a distance of a value.
    Near(f64, f64),
    /// No greater.
    AtMost(f64),
    /// No less.
    AtLeast(f64),
    /// Nothing is asked of it.
    Told,
}

/// A measured number and what it should be.
#[derive(Clone, Debug, PartialEq)]
pub struct Check {
    /// What was measured, with its unit.
    pub name: String,
    /// The number.
    pub found: f64,
    /// What it should be.
    pub wanted: Wanted,
    /// Whether the paper's claim rests on it; else it is compared with a published or converged number.
    pub of_claim: bool,
}

impl Check {
    /// Whether the number is what it should be.
    pub fn ok(&self) -> bool {
        match self.wanted {
            Wanted::Near(value, limit) => (self.found - value).abs() <= limit,
            Wanted::AtMost(limit) => self.found <= limit,
            Wanted::AtLeast(limit) => self.found >= limit,
            Wanted::Told => true,
        }
    }
}

/// One figure or table.
#[derive(Clone, Debug, Default)]
pub struct Item {
    /// Short name, such as `fig6`.
    pub id: String,
    /// Heading: `Figure 6: ..`.
    pub title: String,
    /// What the paper claims.
    pub claim: String,
    /// What we found.
    pub measured: String,
    /// Numbers.
    pub checks: Vec<Check>,
    /// Why the claim should NOT hold, where that is known.
    pub erratum: Option<String>,
    /// What else there is to say.
    pub note: String,
    /// Pictures.
    pub pictures: Vec<Picture>,
    /// Tables.
    pub tables: Vec<Table>,
    /// Settings, and a scenario that repeats a run where there is one.
    pub parameters: String,
    /// Scenario text.
    pub scenario: Option<String>,
    /// Data, as columns of a CSV file.
    pub columns: Vec<(String, Vec<f64>)>,
    /// Time it took \[s\]: an equal share of its section's, whose items share runs.
    pub seconds: f64,
}

impl Item {
    /// An item without content.
    pub fn new(id: &str, title: impl Into<String>, claim: impl Into<String>) -> Self {
        Self { id: id.into(), title: title.into(), claim: claim.into(), ..Self::default() }
    }

    /// A number on which the claim rests.
    pub fn claims(&mut self, name: impl Into<String>, found: f64, wanted: Wanted) {
        self.checks.push(Check { name: name.into(), found, wanted, of_claim: true });
    }

    /// A number to compare with a published or converged one.
    pub fn compare(&mut self, name: impl Into<String>, found: f64, wanted: Wanted) {
        self.checks.push(Check { name: name.into(), found, wanted, of_claim: false });
    }

    /// A number to tell.
    pub fn tell(&mut self, name: impl Into<String>, found: f64) {
        self.compare(name, found, Wanted::Told);
    }

    /// The number called `name`.
    pub fn number(&self, name: &str) -> Option<f64> {
        self.checks.iter().find(|c| c.name == name).map(|c| c.found)
    }

    /// Whether the claim holds in these numbers.
    pub fn holds(&self) -> bool {
        self.checks.iter().filter(|c| c.of_claim).all(Check::ok)
    }

    /// Whether the numbers agree with those of others.
    pub fn agrees(&self) -> bool {
        self.checks.iter().filter(|c| !c.of_claim).all(Check::ok)
    }

    /// Whether everything is as it should be: the claim holds unless it is known not to, the numbers agree.
    pub fn as_expected(&self) -> bool {
        (self.holds() || self.erratum.is_some()) && self.agrees()
    }

    pub(super) fn json(&self) -> Value {
        let check = |c: &Check| {
            let (kind, wanted, limit) = match c.wanted {
                Wanted::Near(v, limit) => ("near", Some(v), Some(limit)),
                Wanted::AtMost(v) => ("at most", Some(v), None),
                Wanted::AtLeast(v) => ("at least", Some(v), None),
                Wanted::Told => ("told", None, None),
            };
            json!({ "name": c.name, "found": c.found, "is": kind, "wanted": wanted, "within": limit,
                    "of_claim": c.of_claim, "ok": c.ok() })
        };
        json!({
            "id": self.id,
            "title": self.title,
            "claim": self.claim,
            "measured": self.measured,
            "holds": self.holds(),
            "should_hold": self.erratum.is_none(),
            "agrees": self.agrees(),
            "as_expected": self.as_expected(),
            "erratum": self.erratum,
            "parameters": self.parameters,
            "seconds": self.seconds,
            "checks": self.checks.iter().map(check).collect::<Vec<_>>(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claim_that_fails_and_a_number_that_differs_are_told_apart() {
        let mut item = Item::new("fig0", "Figure 0", "c");
        item.claims("a", 1.0, Wanted::AtMost(0.5));
        assert!(!item.holds() && item.agrees() && !item.as_expected());
        item.erratum = Some("known".into());
        assert!(item.as_expected());
        item.compare("b", f64::NAN, Wanted::Near(1.0, 1e9));
        assert!(!item.agrees() && !item.as_expected(), "what is no number is near nothing");
        assert_eq!(item.number("a"), Some(1.0));
    }
}
