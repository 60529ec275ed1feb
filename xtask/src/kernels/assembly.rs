//! Reads machine code as RADV prints it of AMD GPUs, and `nvdisasm` of NVIDIA's: instructions, loops, and the
//! cost of a turn of the hot loop.

use std::collections::HashMap;
use std::ops::Range;

/// Machine code.
pub struct Code {
    /// Names of the instructions.
    names: Vec<String>,
    /// Its loops: from the target of a branch backwards to that branch; a loop comes before those inside it.
    loops: Vec<Range<usize>>,
}

/// A line of machine code: the name of a place in it, or an instruction, and where it branches to.
enum Line<'a> {
    Label(&'a str),
    Instruction { name: &'a str, to: Option<&'a str> },
}

fn nvidia_line(line: &str) -> Option<Line<'_>> {
    if let Some(label) = line.strip_suffix(':') {
        return label.starts_with(".L").then_some(Line::Label(label));
    }
    let (place, rest) = line.strip_prefix("/*")?.split_once("*/")?;
    if !place.bytes().all(|b| b.is_ascii_hexdigit()) {
        return None;
    }
    let mut words = rest.split_whitespace().filter(|word| !word.starts_with('@'));
    let name = words.next()?.trim_end_matches(';').split('.').next()?;
    let to = rest.split_once("`(").and_then(|(_, rest)| rest.split_once(')')).map(|(label, _)| label);
    Some(Line::Instruction { name, to: to.filter(|_| name == "BRA") })
}

/// What a wave does in a pass over its cells.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Pass {
    /// Instructions of any kind.
    pub instructions: f64,
    /// Cycles that they take, if none has to wait.
    pub cycles: f64,
}

/// How a family of AMD GPUs issues the vector instructions of a wave.
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
    pub fn cycles(self, name: &str) -> f64 {
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
    pub fn of_amd(text: &str) -> Self {
        Self::new(text.lines().map(str::trim).filter_map(|line| {
            if let Some(label) = line.strip_suffix(':') {
                return Some(Line::Label(label));
            }
            let mut words = line.split_whitespace();
            let name = words.next().filter(|name| name.contains('_'))?;
            Some(Line::Instruction { name, to: words.next().filter(|_| name.contains("branch")) })
        }))
    }

    /// Reads lines `.L_x_7:`, `/*01f0*/ FFMA R1, R2, R3, R4 ;` and ``/*0200*/ @!P0 BRA `(.L_x_7) ;``. Behind
    /// the end of the program stand parts that are reached and left by a branch, which are no loops.
    pub fn of_nvidia(text: &str) -> Self {
        let lines: Vec<Line<'_>> = text.lines().map(str::trim).filter_map(nvidia_line).collect();
        let is_end = |line: &Line<'_>| matches!(line, Line::Instruction { name: "EXIT", .. });
        let end = lines.iter().rposition(is_end).unwrap_or(lines.len());
        Self::new(lines.into_iter().enumerate().map(|(n, line)| match line {
            Line::Instruction { name, .. } if n > end => Line::Instruction { name, to: None },
            line => line,
        }))
    }

    fn new<'a>(lines: impl Iterator<Item = Line<'a>>) -> Self {
        let mut names = Vec::new();
        let mut labels = HashMap::new();
        let mut loops: Vec<Range<usize>> = Vec::new();
        for line in lines {
            match line {
                Line::Label(label) => {
                    labels.insert(label, names.len());
                }
                Line::Instruction { name, to } => {
                    if let Some(&target) = to.and_then(|label| labels.get(label)) {
                        // Branches backwards to the same place close one loop.
                        loops.retain(|other| other.start != target);
                        loops.push(target..names.len() + 1);
                    }
                    names.push(name.to_owned());
                }
            }
        }
        loops.sort_by_key(|l| (l.start, usize::MAX - l.end));
        Self { names, loops }
    }

    /// Instructions of the whole program.
    pub const fn len(&self) -> usize {
        self.names.len()
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
    /// turns; others count once. An instruction takes so many `cycles` by its name.
    ///
    /// # Errors
    /// Code without such a loop.
    pub fn pass(&self, cycles: impl Fn(&str) -> f64, turns: Option<u32>) -> Result<Pass, String> {
        let largest = |of: &Range<usize>| self.inside(of).into_iter().max_by_key(|l| l.len()).cloned();
        let intervals = largest(&(0..self.names.len())).ok_or("no loop over intervals")?;
        let passes = largest(&intervals).ok_or("no loop over passes")?;
        let count = |range: Range<usize>, times: f64| Pass {
            instructions: times * range.len() as f64,
            cycles: times * self.names[range].iter().map(|name| cycles(name)).sum::<f64>(),
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
        let code = Code::of_amd(&text(100));
        assert_eq!(code.loops.len(), 4);
        let issue = Issue { lanes: 32, wave: 64 };
        // A load, three branches, and turns of a hundred pairs and a branch.
        let pass = code.pass(|name| issue.cycles(name), Some(5)).unwrap();
        assert_eq!(pass, Pass { instructions: 4.0 + 5.0 * 201.0, cycles: 5.0 * 100.0 * (2.0 + 8.0) });
        let wide = code.pass(|name| Issue { lanes: 16, wave: 64 }.cycles(name), Some(5)).unwrap();
        assert_eq!(wide.cycles, 2.0 * pass.cycles);
    }

    #[test]
    fn a_loop_whose_turns_are_not_known_counts_once_and_code_without_loops_is_refused() {
        let code = Code::of_amd(&text(10));
        let issue = Issue { lanes: 32, wave: 32 };
        assert_eq!(code.pass(|name| issue.cycles(name), None).unwrap().instructions, 4.0 + 21.0);
        assert!(Code::of_amd("\ts_endpgm ; bf\n").pass(|name| issue.cycles(name), None).is_err());
    }

    #[test]
    fn loops_of_nvidia_end_before_the_parts_behind_the_end_of_the_program() {
        let text = "        .section .text.rollout\n.text.rollout:\n        /*0000*/ LDC R1, c[0x0][0x28] ;\n\
                    .L_x_1:\n        /*0010*/ MOV R0, R1 ;\n.L_x_2:\n        /*0020*/ LDS R3, [R4] ;\n\
                    .L_x_3:\n        /*0030*/ FFMA.FTZ R1, R2, R3, R4 ;\n        /*0040*/ @!P0 MUFU.RCP R1, R1 ;\n\
                    \x20       /*0050*/ @P1 BRA `(.L_x_3) ;\n        /*0060*/ @!UP0 BRA P2, `(.L_x_2) ;\n\
                    \x20       /*0070*/ BRA `(.L_x_1) ;\n        /*0080*/ EXIT ;\n.L_x_9:\n\
                    \x20       /*0090*/ SHFL.BFLY PT, R0, R1, 0x10, 0x1f ;\n        /*00a0*/ BRA `(.L_x_1) ;\n";
        let code = Code::of_nvidia(text);
        assert_eq!((code.len(), code.loops.len()), (11, 3));
        let pass = code.pass(|name| if name == "MUFU" { 8.0 } else { 0.0 }, Some(4)).unwrap();
        assert_eq!(pass, Pass { instructions: 5.0 + 3.0 * 3.0, cycles: 4.0 * 8.0 });
    }
}
