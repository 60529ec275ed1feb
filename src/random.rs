//! The counter-based generator Philox4x32-10 (Salmon et al., SC 2011).
//!
//! A draw is a pure function of `(seed, contact, parameter)`: contact `k` is the same contact whatever the
//! size of the batch, the engine, the block or the number of threads.

const MULTIPLIERS: [u32; 2] = [0xD251_1F53, 0xCD9E_8D57];
const WEYL: [u32; 2] = [0x9E37_79B9, 0xBB67_AE85];

/// Ten rounds of Philox4x32 on `counter` with `key`.
pub fn philox(mut counter: [u32; 4], mut key: [u32; 2]) -> [u32; 4] {
    for _ in 0..10 {
        let a = u64::from(MULTIPLIERS[0]) * u64::from(counter[0]);
        let b = u64::from(MULTIPLIERS[1]) * u64::from(counter[2]);
        counter = [(b >> 32) as u32 ^ counter[1] ^ key[0], b as u32, (a >> 32) as u32 ^ counter[3] ^ key[1], a as u32];
        key = [key[0].wrapping_add(WEYL[0]), key[1].wrapping_add(WEYL[1])];
    }
    counter
}

/// The random numbers of one contact.
#[derive(Clone, Copy, Debug)]
pub struct Draw {
    seed: u64,
    contact: u64,
}

impl Draw {
    /// The numbers of contact `contact` (its index in the whole run) under `seed`.
    pub const fn new(seed: u64, contact: u64) -> Self {
        Self { seed, contact }
    }

    /// The index of the contact.
    pub const fn contact(&self) -> u64 {
        self.contact
    }

    /// Two independent uniform numbers in the open interval (0, 1), with 53 bits, for the parameter
    /// called `name`. Names are hashed (FNV-1a, 64 bits to 32), so adding a parameter changes no other.
    pub fn uniform2(&self, name: &str) -> [f64; 2] {
        let hash =
            name.bytes().fold(0xcbf2_9ce4_8422_2325u64, |h, b| (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3));
        let counter = [self.contact as u32, (self.contact >> 32) as u32, hash as u32, (hash >> 32) as u32];
        let [a, b, c, d] = philox(counter, [self.seed as u32, (self.seed >> 32) as u32]);
        let unit = |hi: u32, lo: u32| {
            let bits = (u64::from(hi) << 32 | u64::from(lo)) >> 11;
            (bits as f64 + 0.5) / (1u64 << 53) as f64
        };
        [unit(a, b), unit(c, d)]
    }

    /// A uniform number in (0, 1) for the parameter called `name`.
    pub fn uniform(&self, name: &str) -> f64 {
        self.uniform2(name)[0]
    }

    /// A standard normal number for the parameter called `name` (Box & Muller).
    pub fn normal(&self, name: &str) -> f64 {
        let [a, b] = self.uniform2(name);
        (-2.0 * a.ln()).sqrt() * (std::f64::consts::TAU * b).cos()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Known answers of Random123's `kat_vectors` for philox4x32 with 10 rounds.
    #[test]
    fn philox_gives_the_known_answers() {
        assert_eq!(philox([0; 4], [0; 2]), [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]);
        assert_eq!(philox([u32::MAX; 4], [u32::MAX; 2]), [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]);
        assert_eq!(
            philox([0x243f_6a88, 0x85a3_08d3, 0x1319_8a2e, 0x0370_7344], [0xa409_3822, 0x299f_31d0]),
            [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1]
        );
    }

    #[test]
    fn draws_have_the_moments_of_their_distributions_and_differ_by_name_and_contact() {
        let n = 20_000u32;
        let (mut mean, mut square, mut normal, mut normal2) = (0.0, 0.0, 0.0, 0.0);
        for k in 0..n {
            let draw = Draw::new(7, u64::from(k));
            let (u, z) = (draw.uniform("mu_c"), draw.normal("mass"));
            assert!(u > 0.0 && u < 1.0);
            mean += u / f64::from(n);
            square += u * u / f64::from(n);
            normal += z / f64::from(n);
            normal2 += z * z / f64::from(n);
        }
        assert!((mean - 0.5).abs() < 0.01 && (square - 1.0 / 3.0).abs() < 0.01);
        assert!(normal.abs() < 0.03 && (normal2 - 1.0).abs() < 0.05);
        let draw = Draw::new(7, 3);
        assert_ne!(draw.uniform("a").to_bits(), draw.uniform("b").to_bits());
        assert_ne!(draw.uniform("a").to_bits(), Draw::new(8, 3).uniform("a").to_bits());
    }
}
