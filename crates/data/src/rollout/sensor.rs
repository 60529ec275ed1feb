//! What a tactile sensor makes of the images of a contact: crosstalk, dead taxels, delay and noise, in this
//! order. Its random numbers depend on the seed of the scenario and on the contact, and on nothing else, so
//! that runs in shards have the same.

use bristle::random::philox;
use bristle_scenario::Scenario;

/// A tactile sensor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Sensor {
    /// Standard deviation of the noise \[N\].
    noise: f64,
    /// The share of taxels that are dead.
    dead: f64,
    /// The share of a taxel's force that its neighbours read.
    crosstalk: f64,
    /// By how much readings are late \[s\].
    delay: f64,
    seed: u64,
}

/// Which image it is; noise differs between them.
#[derive(Clone, Copy, Debug)]
pub(super) enum Image {
    Tactile = 1,
    Shear = 2,
}

/// By how much times of samples may be off by rounding \[s\].
const SLACK: f64 = 1e-9;
/// In place of the sample's number, where a taxel is dead or not.
const OF_ALL_SAMPLES: u32 = u32::MAX;

impl Sensor {
    /// That of a scenario, if it has one.
    pub fn of(scenario: &Scenario) -> Option<Self> {
        let spec = scenario.spec();
        let sensor = spec.sensor?;
        Some(Self {
            noise: sensor.noise.unwrap_or_default(),
            dead: sensor.dead.unwrap_or_default(),
            crosstalk: sensor.crosstalk.unwrap_or_default(),
            delay: sensor.delay.unwrap_or_default(),
            seed: spec.seed,
        })
    }

    /// Random numbers of a taxel of contact `k` in a sample.
    fn random(&self, k: u64, sample: u32, taxel: usize, image: u32) -> [u32; 4] {
        let halves = |of: u64| [of as u32, (of >> 32) as u32];
        let ([low, high], [seed_low, seed_high]) = (halves(k), halves(self.seed));
        // A word that the numbers of the contacts themselves do not have.
        philox([taxel as u32, sample, low, high ^ 0x7AC7_11E0], [seed_low, seed_high ^ image])
    }

    /// Turns the images of all samples of contact `k`, on a grid of `columns` and with `numbers` a taxel,
    /// into readings. Samples after a failure stay NaN.
    pub fn read(
        &self,
        (k, image): (u64, Image),
        [columns, rows]: [usize; 2],
        numbers: usize,
        times: &[f64],
        images: &mut [f32],
    ) {
        let cells = columns * rows;
        let size = cells * numbers;
        let dead: Vec<bool> =
            (0..cells).map(|taxel| uniform(self.random(k, OF_ALL_SAMPLES, taxel, 0)[0]) < self.dead).collect();
        if self.crosstalk > 0.0 {
            let mut before = vec![0.0; size];
            for now in images.chunks_mut(size) {
                before.copy_from_slice(now);
                let kept = (1.0 - self.crosstalk) as f32;
                let given = (0.25 * self.crosstalk) as f32;
                for (i, to) in now.iter_mut().enumerate() {
                    let (taxel, n) = (i / numbers, i % numbers);
                    let (x, y) = (taxel % columns, taxel / columns);
                    let near = [
                        (x > 0).then(|| taxel - 1),
                        (x + 1 < columns).then_some(taxel + 1),
                        (y > 0).then(|| taxel - columns),
                        (y + 1 < rows).then_some(taxel + columns),
                    ];
                    let around: f32 = near.into_iter().flatten().map(|other| before[other * numbers + n]).sum();
                    *to = kept * before[i] + given * around;
                }
            }
        }
        let samples = images.len() / size;
        for sample in (0..samples).rev() {
            let (earlier, from_here) = images.split_at_mut(sample * size);
            let now = &mut from_here[..size];
            if now[0].is_nan() {
                continue;
            }
            // The last sample that is old enough; before the start what was there at the start.
            let old = times[sample] - self.delay + SLACK;
            let source = times[..=sample].partition_point(|t| *t <= old).max(1) - 1;
            if source < sample {
                now.copy_from_slice(&earlier[source * size..][..size]);
            }
            for (taxel, now) in now.chunks_mut(numbers).enumerate() {
                if dead[taxel] {
                    now.fill(0.0);
                } else if self.noise > 0.0 {
                    let noise = normals(self.random(k, sample as u32, taxel, image as u32));
                    now.iter_mut().zip(noise).for_each(|(to, noise)| *to += (self.noise * noise) as f32);
                }
            }
        }
    }
}

/// A number in (0, 1).
fn uniform(word: u32) -> f64 {
    (f64::from(word) + 0.5) / 2f64.powi(32)
}

/// Two standard normal numbers (Box & Muller).
fn normals([a, b, ..]: [u32; 4]) -> [f64; 2] {
    let (size, angle) = ((-2.0 * uniform(a).ln()).sqrt(), std::f64::consts::TAU * uniform(b));
    [size * angle.cos(), size * angle.sin()]
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: Sensor = Sensor { noise: 0.0, dead: 0.0, crosstalk: 0.0, delay: 0.0, seed: 7 };

    fn read(sensor: Sensor, k: u64, numbers: usize, images: &[f32]) -> Vec<f32> {
        let mut out = images.to_vec();
        let times: Vec<f64> = (0..images.len() / (12 * numbers)).map(|k| 0.1 * k as f64).collect();
        sensor.read((k, Image::Shear), [4, 3], numbers, &times, &mut out);
        out
    }

    #[test]
    fn a_sensor_without_faults_reads_what_is_there() {
        let images: Vec<f32> = (0..72).map(|i| i as f32).collect();
        assert_eq!(read(NONE, 3, 2, &images), images);
    }

    #[test]
    fn crosstalk_keeps_the_sum_inside_and_loses_some_at_the_rim() {
        let mut image = [0.0f32; 12];
        image[5] = 1.0;
        let crosstalk = Sensor { crosstalk: 0.4, ..NONE };
        let found = read(crosstalk, 0, 1, &image);
        assert_eq!([found[5], found[4], found[6], found[1], found[9]], [0.6, 0.1, 0.1, 0.1, 0.1]);
        assert!((found.iter().sum::<f32>() - 1.0).abs() < 1e-6);
        let mut corner = [0.0f32; 12];
        corner[0] = 1.0;
        assert!((read(crosstalk, 0, 1, &corner).iter().sum::<f32>() - 0.8).abs() < 1e-6);
    }

    #[test]
    fn readings_are_late_and_failures_stay() {
        let mut images: Vec<f32> = (0..5).flat_map(|sample| [sample as f32; 12]).collect();
        images[48..].fill(f32::NAN);
        let found = read(Sensor { delay: 0.2, ..NONE }, 0, 1, &images);
        let each: Vec<f32> = found.chunks(12).map(|image| image[7]).collect();
        assert_eq!(each[..4], [0.0, 0.0, 0.0, 1.0]);
        assert!(each[4].is_nan());
    }

    #[test]
    fn noise_and_dead_taxels_have_their_share_and_depend_on_the_contact_alone() {
        let noisy = Sensor { noise: 0.5, dead: 0.25, ..NONE };
        let (mut sum, mut square, mut dead, mut count) = (0.0, 0.0, 0, 0);
        for k in 0..200 {
            let found = read(noisy, k, 2, &vec![1.0; 24 * 10]);
            assert_eq!(found, read(noisy, k, 2, &vec![1.0; 24 * 10]));
            for taxel in 0..12 {
                let is_dead = found[2 * taxel] == 0.0;
                assert!((0..10).all(|sample| (found[24 * sample + 2 * taxel] == 0.0) == is_dead));
                dead += usize::from(is_dead);
                count += 1;
            }
            for value in found.iter().filter(|value| **value != 0.0) {
                sum += f64::from(*value) - 1.0;
                square += (f64::from(*value) - 1.0).powi(2);
            }
        }
        let alive = (20 * (count - dead)) as f64;
        assert!((dead as f64 / count as f64 - 0.25).abs() < 0.03, "{dead} of {count}");
        assert!((sum / alive).abs() < 0.01 && ((square / alive).sqrt() - 0.5).abs() < 0.01);
        assert_ne!(read(noisy, 1, 2, &[1.0; 24]), read(noisy, 2, 2, &[1.0; 24]));
    }
}
