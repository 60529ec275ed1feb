//! A digest of what a scenario reads beside its text. It is stored with a run, so it may not change with the
//! compiler or the machine.

use sha2::{Digest as _, Sha256};

/// A digest of numbers and names, each list with its length before it.
#[derive(Default)]
pub(crate) struct Digest(Sha256);

impl Digest {
    pub(crate) fn counts(&mut self, counts: &[usize]) {
        self.bytes(counts.len(), counts.iter().map(|n| (*n as u64).to_le_bytes()));
    }

    pub(crate) fn numbers(&mut self, numbers: &[f64]) {
        self.bytes(numbers.len(), numbers.iter().map(|v| v.to_le_bytes()));
    }

    pub(crate) fn text(&mut self, text: &str) {
        self.bytes(text.len(), text.bytes().map(|byte| [byte]));
    }

    fn bytes<const N: usize>(&mut self, count: usize, items: impl Iterator<Item = [u8; N]>) {
        self.0.update((count as u64).to_le_bytes());
        items.for_each(|bytes| self.0.update(bytes));
    }

    /// The first eight bytes of the SHA-256.
    pub(crate) fn finish(self) -> u64 {
        let all: [u8; 32] = self.0.finalize().into();
        u64::from_le_bytes(*all.first_chunk().expect("32 bytes"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_is_the_same_everywhere_and_knows_where_lists_end() {
        let of = |lists: &[&[f64]]| {
            let mut digest = Digest::default();
            lists.iter().for_each(|list| digest.numbers(list));
            digest.finish()
        };
        // printf '\0\0\0\0\0\0\0\0' | sha256sum
        assert_eq!(of(&[&[]]), u64::from_le_bytes([0xaf, 0x55, 0x70, 0xf5, 0xa1, 0x81, 0x0b, 0x7a]));
        assert_ne!(of(&[&[1.0], &[2.0]]), of(&[&[1.0, 2.0]]));
        assert_ne!(of(&[&[0.0]]), of(&[&[-0.0]]));
    }
}
