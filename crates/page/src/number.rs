//! Numbers as text.

/// A number with `digits` significant digits, as short as it goes.
pub fn short(v: f64, digits: usize) -> String {
    if v == 0.0 {
        return "0".into();
    }
    if v.fract() == 0.0 && v.abs() < 1e5 {
        return format!("{v:.0}");
    }
    let size = v.abs().log10().floor() as i32;
    if !v.is_finite() || !(-4..5).contains(&size) {
        return format!("{v:.*e}", digits.saturating_sub(1));
    }
    format!("{v:.*}", (digits as i32 - 1 - size).max(0) as usize)
}

#[cfg(test)]
mod tests {
    use super::short;

    #[test]
    fn short_numbers_keep_their_digits() {
        for (v, digits, text) in
            [(0.012_345, 3, "0.0123"), (-12_345.5, 2, "-12346"), (1.234e-7, 3, "1.23e-7"), (21.0, 4, "21")]
        {
            assert_eq!(short(v, digits), text);
        }
    }
}
