//! A shard: the consecutive contacts of a run that one machine computes.

use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use bristle::error::ParameterError;

/// Shard `index` of `of`, from 1 on, as in `3/8`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Shard {
    /// Its number, 1 to `of`.
    pub index: u64,
    /// How many there are.
    pub of: u64,
}

impl Shard {
    /// Its part of `contacts`: a function of these three numbers. Shards differ by one contact at most.
    pub fn range(self, contacts: u64) -> Range<u64> {
        let end = |i: u64| (u128::from(contacts) * u128::from(i) / u128::from(self.of)) as u64;
        end(self.index - 1)..end(self.index)
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.index, self.of)
    }
}

impl FromStr for Shard {
    type Err = ParameterError;

    fn from_str(text: &str) -> Result<Self, ParameterError> {
        let parse = || {
            let (index, of) = text.split_once('/')?;
            let shard = Self { index: index.trim().parse().ok()?, of: of.trim().parse().ok()? };
            (1..=shard.of).contains(&shard.index).then_some(shard)
        };
        parse().ok_or_else(|| ParameterError::new("shard", text, "a number and how many there are, such as 1/8 to 8/8"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_are_all_contacts_each_once() {
        for contacts in [1, 7, 100, 1 << 60] {
            for of in [1, 2, 3, 7, 100] {
                let mut next = 0;
                for index in 1..=of {
                    let range = Shard { index, of }.range(contacts);
                    assert_eq!(range.start, next);
                    assert!((contacts / of..=contacts.div_ceil(of)).contains(&(range.end - range.start)));
                    next = range.end;
                }
                assert_eq!(next, contacts);
            }
        }
    }

    #[test]
    fn what_is_no_shard_is_refused() {
        assert_eq!("3/8".parse(), Ok(Shard { index: 3, of: 8 }));
        assert_eq!(Shard { index: 3, of: 8 }.to_string(), "3/8");
        for text in ["", "3", "0/8", "9/8", "1/0", "-1/2", "a/b", "1/2/3"] {
            let error = text.parse::<Shard>().unwrap_err().to_string();
            assert!(error.contains("shard = ") && error.contains("such as 1/8"), "{error}");
        }
    }
}
