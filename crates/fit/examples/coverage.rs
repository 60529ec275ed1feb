//! How often 90 % intervals have the truth: of recordings that are made with random numbers, under white
//! noise and under noise that is correlated over 0.3 s.
//!
//! `cargo run --release -p bristle-fit --example coverage -- 500` prints, for each law and noise, the share
//! of each unknown in percent, and how often it was held although it can be told; with `-- 500 0.3` of one
//! noise alone.

#[path = "../tests/common/mod.rs"]
mod common;

use std::collections::BTreeMap;

use rayon::prelude::*;

fn main() {
    let count: u64 = std::env::args().nth(1).and_then(|n| n.parse().ok()).unwrap_or(20);
    let only: Option<f64> = std::env::args().nth(2).and_then(|time| time.parse().ok());
    for correlated in [0.0, 0.3].into_iter().filter(|time| only.is_none_or(|only| only == *time)) {
        let (mut pooled, mut all) = (0, 0);
        for (law, (name, _)) in common::LAWS.iter().enumerate() {
            let mut shares: BTreeMap<String, [u32; 3]> = BTreeMap::new();
            let of_seed = |seed| common::covered(law, seed, correlated);
            let all_seeds: Vec<_> = (0..count).into_par_iter().map(of_seed).collect();
            for of_one in all_seeds {
                for (path, is_in) in of_one {
                    let share = shares.entry(path).or_default();
                    share[match is_in {
                        Some(true) => 0,
                        Some(false) => 1,
                        None => 2,
                    }] += 1;
                }
            }
            for (path, [inside, outside, held]) in shares {
                let told = inside + outside;
                (pooled, all) = (pooled + inside, all + told);
                let percent = 100.0 * f64::from(inside) / f64::from(told.max(1));
                println!("noise over {correlated} s  {name:20} {path:26} {percent:5.1} % of {told}, held {held}");
            }
        }
        let percent = 100.0 * f64::from(pooled) / f64::from(all.max(1));
        println!("noise over {correlated} s  all {percent:.1} % of {all}");
    }
}
