//! The table of kernels: written as text, and compared with the table in docs/kernels.md.

use std::fmt;
use std::path::Path;

/// A kernel on a family.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Name and version of the driver that compiled it.
    pub driver: String,
    /// The family of GPUs.
    pub family: String,
    /// Law, model, layout and steps.
    pub kernel: String,
    /// Share of lanes that have a cell, over all waves and turns [%].
    pub lanes: f64,
    /// Instructions of the whole kernel.
    pub instructions: u64,
    /// Its code \[bytes\].
    pub code: u64,
    /// Vector registers of a lane.
    pub registers: u64,
    /// Vector registers that did not fit and went to memory.
    pub spilled: u64,
    /// Private memory of a wave \[bytes\].
    pub scratch: u64,
    /// Waves that fit on a SIMD unit, as the driver tells.
    pub waves: u64,
    /// Instructions of a pass times lanes, over cells; none of a kernel without passes.
    pub per_cell: Option<f64>,
    /// Cycles of a SIMD unit that a pass takes, over cells; none of a kernel without passes.
    pub cycles: Option<f64>,
}

/// What a kernel has instead of a number that it does not have.
const NONE: &str = "-";

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "| {} | {} | {} | {:.0} | {} | {} | {} | {} | {} | {} | {} | {} |",
            self.driver,
            self.family,
            self.kernel,
            self.lanes,
            self.instructions,
            self.code,
            self.registers,
            self.spilled,
            self.scratch,
            self.waves,
            self.per_cell.map_or_else(|| NONE.to_owned(), |n| format!("{n:.0}")),
            self.cycles.map_or_else(|| NONE.to_owned(), |n| format!("{n:.1}")),
        )
    }
}

impl Row {
    /// Reads a line of the table.
    fn parse(line: &str) -> Option<Self> {
        let words: Vec<&str> = line.trim().trim_matches('|').split('|').map(str::trim).collect();
        let [driver, family, kernel, lanes, instructions, code, registers, spilled, scratch, waves, per_cell, cycles] =
            words[..]
        else {
            return None;
        };
        let [driver, family, kernel] = [driver, family, kernel].map(str::to_owned);
        let optional = |word: &str| if word == NONE { Some(None) } else { word.parse().ok().map(Some) };
        Some(Self {
            driver,
            family,
            kernel,
            lanes: lanes.parse().ok()?,
            instructions: instructions.parse().ok()?,
            code: code.parse().ok()?,
            registers: registers.parse().ok()?,
            spilled: spilled.parse().ok()?,
            scratch: scratch.parse().ok()?,
            waves: waves.parse().ok()?,
            per_cell: optional(per_cell)?,
            cycles: optional(cycles)?,
        })
    }
}

/// All rows.
#[derive(Clone, Debug, PartialEq)]
pub struct Table(pub Vec<Row>);

const HEAD: &str = "\
| driver | family | kernel | lanes in use, % | instructions | code, bytes | VGPRs | spilled | scratch, bytes \
| waves a SIMD | instructions a cell and pass | cycles a cell and pass |
|---|---|---|---|---|---|---|---|---|---|---|---|";
/// What is before and after the table in its document.
const MARKS: [&str; 2] = ["<!-- cargo xtask kernels --renew -->\n", "<!-- end -->\n"];
/// How much larger the code of a kernel may be than what is checked in.
const GROWTH: f64 = 1.1;

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{HEAD}")?;
        self.0.iter().try_for_each(|row| writeln!(f, "{row}"))
    }
}

impl Table {
    /// Reads the rows in a text.
    ///
    /// # Errors
    /// No rows.
    pub fn parse(text: &str) -> Result<Self, String> {
        let rows: Vec<Row> = text.lines().filter_map(Row::parse).collect();
        if rows.is_empty() {
            Err("no table of kernels: `cargo xtask kernels --renew`".to_owned())
        } else {
            Ok(Self(rows))
        }
    }

    /// Reads the table of a document.
    ///
    /// # Errors
    /// No document or no table in it.
    pub fn read(path: &Path) -> Result<Self, String> {
        Self::parse(&std::fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?)
    }

    /// Writes the table into a document, between its marks.
    ///
    /// # Errors
    /// A document without marks, or that cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), String> {
        let fail = |e: &dyn fmt::Display| format!("{}: {e}", path.display());
        let text = std::fs::read_to_string(path).map_err(|e| fail(&e))?;
        let (before, rest) = text.split_once(MARKS[0]).ok_or_else(|| fail(&"no mark"))?;
        let (_, after) = rest.split_once(MARKS[1]).ok_or_else(|| fail(&"no mark"))?;
        std::fs::write(path, format!("{before}{}{self}{}{after}", MARKS[0], MARKS[1])).map_err(|e| fail(&e))
    }

    /// Compares with what is checked in: no kernel may spill more registers than there, or be larger by more
    /// than a tenth, and none may be missing on either side. Numbers of another version of the driver say
    /// nothing about the kernels, and are not compared.
    ///
    /// # Errors
    /// What is worse, a line each.
    pub fn check(&self, wanted: &Self) -> Result<(), String> {
        let same = |a: &Row, b: &Row| (&a.family, &a.kernel) == (&b.family, &b.kernel);
        let mut faults = Vec::new();
        for row in &self.0 {
            let name = format!("{}, {}", row.family, row.kernel);
            let Some(known) = wanted.0.iter().find(|known| same(row, known)) else {
                faults.push(format!("{name}: not in the table"));
                continue;
            };
            if row.driver != known.driver {
                continue;
            }
            if row.spilled > known.spilled {
                faults.push(format!("{name}: {} registers spilled, were {}", row.spilled, known.spilled));
            }
            if row.code as f64 > GROWTH * known.code as f64 {
                faults.push(format!("{name}: {} bytes of code, were {}", row.code, known.code));
            }
        }
        let gone = wanted.0.iter().filter(|known| !self.0.iter().any(|row| same(row, known)));
        faults.extend(gone.map(|row| format!("{}, {}: in the table, but no kernel", row.family, row.kernel)));
        if faults.is_empty() {
            return Ok(());
        }
        faults.push("if that is meant: `cargo xtask kernels --renew`, and say why in the commit".to_owned());
        Err(faults.join("\n"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(driver: &str, kernel: &str, code: u64, spilled: u64) -> Row {
        Row {
            driver: driver.to_owned(),
            family: "navi21".to_owned(),
            kernel: kernel.to_owned(),
            lanes: 99.0,
            instructions: 2000,
            code,
            registers: 104,
            spilled,
            scratch: 0,
            waves: 8,
            per_cell: Some(380.0),
            cycles: Some(14.5),
        }
    }

    #[test]
    fn a_table_is_read_as_it_was_written() {
        let cones = Row { per_cell: None, cycles: None, ..row("radv 1", "margins", 3_000, 0) };
        let table = Table(vec![row("radv 1", "lugre", 10_000, 0), row("radv 1", "dahl, adaptive", 12_000, 3), cones]);
        assert_eq!(Table::parse(&table.to_string()).unwrap(), table);
        assert!(Table::parse(HEAD).is_err());
    }

    #[test]
    fn a_kernel_that_spills_or_grows_is_found() {
        let known = Table(vec![row("radv 1", "lugre", 10_000, 0)]);
        let check = |found: Row| Table(vec![found]).check(&known);
        assert_eq!(check(row("radv 1", "lugre", 11_000, 0)), Ok(()));
        assert!(check(row("radv 1", "lugre", 11_001, 0)).unwrap_err().contains("11001 bytes of code, were 10000"));
        assert!(check(row("radv 1", "lugre", 9_000, 1)).unwrap_err().contains("1 registers spilled, were 0"));
        // What another version of the driver makes of it is another matter.
        assert_eq!(check(row("radv 2", "lugre", 20_000, 9)), Ok(()));
    }

    #[test]
    fn a_kernel_that_is_new_or_gone_is_found() {
        let known = Table(vec![row("radv 1", "lugre", 10_000, 0)]);
        let message = Table(vec![row("radv 1", "dahl", 10_000, 0)]).check(&known).unwrap_err();
        assert!(message.contains("navi21, dahl: not in the table"), "{message}");
        assert!(message.contains("navi21, lugre: in the table, but no kernel"), "{message}");
    }
}
