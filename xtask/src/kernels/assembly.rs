//! Reads machine code of AMD GPUs as RADV prints it: instructions, loops, and the cost of a turn of the hot
//! loop.

use std::collections::HashMap;
use std::ops::Range;

/// Machine code.
pub struct Code {
    /// Names of the instructions.
    names: Vec<String>,
    /// Its loops: from the target of a branch backwards to that branch; a loop comes before those inside it.
    loops: Vec<Range<usize>>,
}

/// What a wave does in a pass over its cells.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Pass {
    /// Instructions of any kind.
    pub instructions: f64,
    /// Cycles that its vector instructions take of a SIMD unit, if none has to wait.
    pub cycles: f64,
}

/// How a family issues the vector instructions of a wave.
#[derive(Clone, Copy, Debug)]
pub struct Issue {
    /// Lanes of a SIMD unit.
    pub lanes: u32,
    /// Lanes of a wave.
    pub wave: u32,
}

impl Issue {
    /// Cycles of a SIMD unit that an instruction takes: vector instructions take all lanes of a wave past
    /// those of the unit, and roots, reciprocals, exponentials, logarithms and sines four times as long.
    /// Others, among them accesses to memory, are issued beside the vector instructions of other waves and
    /// count nothing.
    fn cycles(self, name: &str) -> f64 {
        if !name.starts_with("v_") {
            return 0.0;
        }
        let slow = ["v_rcp", "v_rsq", "v_sqrt", "v_exp", "v_log", "v_sin", "v_cos"];
        let rate = if slow.iter().any(|slow| name.starts_with(slow)) { 4.0 } else { 1.0 };
        rate * f64::from(self.wave.div_ceil(self.lanes))
    }
}

impl Code {
    /// Reads lines `BB7:`, `v_add_f32 v0, v1, v2 ; code` and `s_cbranch_scc1 BB7 ; code`.
    pub fn new(text: &str) -> Self {
        let mut names = Vec::new();
        let mut labels = HashMap::new();
        let mut loops: Vec<Range<usize>> = Vec::new();
        for line in text.lines().map(str::trim) {
            if let Some(label) = line.strip_suffix(':') {
                labels.insert(label.to_owned(), names.len());
                continue;
            }
            let mut words = line.split_whitespace();
            let Some(name) = words.next().filter(|name| name.contains('_')) else { continue };
            if name.contains("branch")
                && let Some(&target) = words.next().and_then(|label| labels.get(label))
            {
                // Branches backwards to the same place close one loop.
                loops.retain(|other| other.start != target);
                loops.push(target..names.len() + 1);
            }
            names.push(name.to_owned());
        }
        loops.sort_by_key(|l| (l.start, usize::MAX - l.end));
        Self { names, loops }
    }

    /// Loops directly inside a range.
    fn inside(&self, outer: &Range<usize>) -> Vec<&Range<usize>> {
        let within = |l: &&Range<usize>| *l != outer && l.start >= outer.start && l.end <= outer.end;
        let all: Vec<_> = self.loops.iter().filter(within).collect();
        let deepest =
            |l: &&&Range<usize>| !all.iter().any(|other| **l != *other && l.start >= other.start && l.end <= other.end);
        all.iter().filter(deepest).copied().collect()
    }

    /// A pass over the cells of a contact: the largest loop inside the loop over intervals, with all its
    /// branches taken. If the loop over the cells in it, the largest one, is not written out, it has `turns`
    /// turns; others count once.
    ///
    /// # Errors
    /// Code without such a loop.
    pub fn pass(&self, issue: Issue, turns: Option<u32>) -> Result<Pass, String> {
        let largest = |of: &Range<usize>| self.inside(of).into_iter().max_by_key(|l| l.len()).cloned();
        let intervals = largest(&(0..self.names.len())).ok_or("no loop over intervals")?;
        let passes = largest(&intervals).ok_or("no loop over passes")?;
        let count = |range: Range<usize>, times: f64| Pass {
            instructions: times * range.len() as f64,
            cycles: times * self.names[range].iter().map(|name| issue.cycles(name)).sum::<f64>(),
        };
        let mut sum = count(passes.clone(), 1.0);
        if let Some(turns) = turns {
            let more = count(largest(&passes).ok_or("no loop over cells")?, f64::from(turns) - 1.0);
            sum.instructions += more.instructions;
            sum.cycles += more.cycles;
        }
        Ok(sum)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A loop over intervals that holds one over passes and, in it, one over cells, and a short one.
    fn text(cells: usize) -> String {
        let cell = "\tv_mul_f32_e32 v0, s1, v2 ; 10\n\tv_rcp_f32_e32 v0, v0 ; 11\n".repeat(cells);
        format!(
            "BB0:\n\ts_mov_b32 s0, s3 ; be\nBB1:\n\tv_mov_b32 v1, 0 ; 7e\nBB2:\n\tds_read_b32 v2, v3 ; d8\nBB3:\n{cell}\
             \ts_cbranch_scc1 BB3 ; bf\nBB4:\n\ts_cbranch_scc1 BB4 ; bf\n\ts_cbranch_scc1 BB9 ; bf\n\
             \ts_branch BB2 ; bf\nBB9:\n\ts_branch BB1 ; bf\n\ts_endpgm ; bf\n"
        )
    }

    #[test]
    fn a_pass_counts_the_loop_over_cells_as_often_as_it_turns() {
        let code = Code::new(&text(100));
        assert_eq!(code.loops.len(), 4);
        let issue = Issue { lanes: 32, wave: 64 };
        // A load, three branches, and turns of a hundred pairs and a branch.
        let pass = code.pass(issue, Some(5)).unwrap();
        assert_eq!(pass, Pass { instructions: 4.0 + 5.0 * 201.0, cycles: 5.0 * 100.0 * (2.0 + 8.0) });
        let wide = code.pass(Issue { lanes: 16, wave: 64 }, Some(5)).unwrap();
        assert_eq!(wide.cycles, 2.0 * pass.cycles);
    }

    #[test]
    fn a_loop_whose_turns_are_not_known_counts_once_and_code_without_loops_is_refused() {
        let code = Code::new(&text(10));
        let issue = Issue { lanes: 32, wave: 32 };
        assert_eq!(code.pass(issue, None).unwrap().instructions, 4.0 + 21.0);
        assert!(Code::new("\ts_endpgm ; bf\n").pass(issue, None).is_err());
    }
}
