//! A row of NVIDIA's table.

use std::fmt;

use crate::kernels::table::{GROWTH, Line, NONE, cells};

/// A kernel on an architecture.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// `sm_80`, for example.
    pub architecture: String,
    /// Law, model, layout and steps.
    pub kernel: String,
    /// Registers of a lane.
    pub registers: u32,
    /// Private memory of a lane that is no register \[bytes\].
    pub stack: u32,
    /// Of that, registers that did not fit \[bytes\].
    pub spilled: u32,
    /// Instructions.
    pub instructions: u32,
    /// Code \[bytes\].
    pub code: u32,
    /// Workgroup memory \[bytes\].
    pub memory: u32,
    /// Warps that fit on a multiprocessor by registers.
    pub by_registers: u32,
    /// Warps that fit by workgroup memory and the number of workgroups.
    pub by_workgroups: u32,
    /// Cycles of a part of a multiprocessor that a pass takes, over cells; none of a kernel without passes.
    pub cycles: Option<f64>,
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let numbers = [
            self.registers,
            self.spilled,
            self.stack,
            self.instructions,
            self.code,
            self.memory,
            self.by_registers,
            self.by_workgroups,
        ];
        let numbers = numbers.map(|n| n.to_string()).join(" | ");
        let cycles = self.cycles.map_or_else(|| NONE.to_owned(), |n| format!("{n:.1}"));
        write!(f, "| {} | {} | {numbers} | {cycles} |", self.architecture, self.kernel)
    }
}

impl Line for Row {
    const HEAD: &str = "\
| architecture | kernel | registers | spilled, bytes | stack, bytes | instructions | code, bytes \
| workgroup memory, bytes | warps by registers | warps by workgroups | cycles a cell and pass |
|---|---|---|---|---|---|---|---|---|---|---|";
    const RENEW: &str = "cargo xtask kernels --nvidia --renew";

    fn parse(line: &str) -> Option<Self> {
        let [architecture, kernel, numbers @ .., cycles] = cells::<11>(line)?;
        let mut all = [0; 8];
        for (number, word) in all.iter_mut().zip(numbers) {
            *number = word.parse().ok()?;
        }
        let [registers, spilled, stack, instructions, code, memory, by_registers, by_workgroups] = all;
        let [architecture, kernel] = [architecture, kernel].map(str::to_owned);
        let cycles = if cycles == NONE { None } else { Some(cycles.parse().ok()?) };
        Some(Self {
            architecture,
            kernel,
            registers,
            stack,
            spilled,
            instructions,
            code,
            memory,
            by_registers,
            by_workgroups,
            cycles,
        })
    }

    fn key(&self) -> (&str, &str) {
        (&self.architecture, &self.kernel)
    }

    /// No kernel may spill more, be larger by more than a tenth, or leave room for fewer warps.
    fn faults(&self, known: &Self) -> Vec<String> {
        let mut faults = Vec::new();
        if self.spilled > known.spilled {
            faults.push(format!("{} bytes spilled, were {}", self.spilled, known.spilled));
        }
        if f64::from(self.code) > GROWTH * f64::from(known.code) {
            faults.push(format!("{} bytes of code, were {}", self.code, known.code));
        }
        if self.by_registers < known.by_registers {
            faults.push(format!(
                "{} registers, so that {} warps fit, were {}",
                self.registers, self.by_registers, known.by_registers
            ));
        }
        faults
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::table::Table;

    fn row() -> Row {
        Row {
            architecture: "sm_90".to_owned(),
            kernel: "elasto-plastic, grid of 317".to_owned(),
            registers: 135,
            stack: 0,
            spilled: 0,
            instructions: 4000,
            code: 64_000,
            memory: 2608,
            by_registers: 12,
            by_workgroups: 32,
            cycles: Some(15.5),
        }
    }

    #[test]
    fn a_table_is_read_as_it_was_written() {
        let table = Table(vec![row(), Row { architecture: "sm_120".to_owned(), cycles: None, ..row() }]);
        assert_eq!(Table::parse(&table.to_string()).unwrap(), table);
    }

    #[test]
    fn a_kernel_that_spills_or_grows_or_takes_the_room_of_warps_is_found() {
        let known = Table(vec![row()]);
        let fault =
            |found: Row| Table(vec![found]).check(&known).map_err(|e| e.lines().next().unwrap_or("").to_owned());
        assert_eq!(fault(Row { registers: 168, code: 70_000, ..row() }), Ok(()));
        let name = "sm_90, elasto-plastic, grid of 317";
        let wanted = [
            (Row { spilled: 8, ..row() }, "8 bytes spilled, were 0"),
            (Row { code: 71_000, ..row() }, "71000 bytes of code, were 64000"),
            (Row { registers: 169, by_registers: 8, ..row() }, "169 registers, so that 8 warps fit, were 12"),
        ];
        for (found, fault_of_it) in wanted {
            assert_eq!(fault(found), Err(format!("{name}: {fault_of_it}")));
        }
    }
}
