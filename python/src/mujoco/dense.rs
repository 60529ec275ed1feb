//! Small dense matrices, row by row.

/// Solves `a x = b` for the `columns` of b, in its place, by elimination with pivots of the largest size. `a`
/// is overwritten. A matrix without inverse gives numbers that are not finite.
pub fn solve(a: &mut [f64], b: &mut [f64], columns: usize) {
    let n = b.len() / columns.max(1);
    for i in 0..n {
        let size = |row: usize| a[row * n + i].abs();
        let pivot = (i..n).max_by(|p, q| size(*p).total_cmp(&size(*q))).unwrap_or(i);
        if pivot != i {
            (0..n).for_each(|c| a.swap(i * n + c, pivot * n + c));
            (0..columns).for_each(|c| b.swap(i * columns + c, pivot * columns + c));
        }
        let inverse = a[i * n + i].recip();
        for row in i + 1..n {
            let factor = a[row * n + i] * inverse;
            if factor != 0.0 {
                let (above, below) = a.split_at_mut(row * n);
                add(&mut below[i..n], -factor, &above[i * n + i..(i + 1) * n]);
                let (above, below) = b.split_at_mut(row * columns);
                add(&mut below[..columns], -factor, &above[i * columns..(i + 1) * columns]);
            }
        }
    }
    for i in (0..n).rev() {
        let (above, below) = b.split_at_mut((i + 1) * columns);
        let row = &mut above[i * columns..];
        for j in i + 1..n {
            add(row, -a[i * n + j], &below[(j - i - 1) * columns..(j - i) * columns]);
        }
        let inverse = a[i * n + i].recip();
        row.iter_mut().for_each(|v| *v *= inverse);
    }
}

/// `to += factor * from`.
pub fn add(to: &mut [f64], factor: f64, from: &[f64]) {
    to.iter_mut().zip(from).for_each(|(to, from)| *to += factor * from);
}

pub fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// `m x`, for a matrix with rows as long as x.
pub fn times(m: &[f64], x: &[f64]) -> Vec<f64> {
    m.chunks_exact(x.len()).map(|row| dot(row, x)).collect()
}

/// `x^T m`, for a matrix with as many rows as x.
pub fn transposed_times(m: &[f64], x: &[f64], columns: usize) -> Vec<f64> {
    let mut to = vec![0.0; columns];
    m.chunks_exact(columns).zip(x).for_each(|(row, x)| add(&mut to, *x, row));
    to
}
