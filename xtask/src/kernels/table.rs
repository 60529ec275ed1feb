//! Tables of kernels: written as text, and compared with the tables in docs/kernels.md.

use std::fmt;
use std::path::Path;

/// A row of a table, which is a kernel on some hardware.
pub trait Line: fmt::Display + Sized {
    /// The lines above the rows.
    const HEAD: &str;
    /// The command that makes the table.
    const RENEW: &str;

    /// Reads a line of the table.
    fn parse(line: &str) -> Option<Self>;

    /// The hardware and the kernel.
    fn key(&self) -> (&str, &str);

    /// What is worse than in the row that is checked in.
    fn faults(&self, known: &Self) -> Vec<String>;
}

/// The cells of a line of a table.
pub fn cells<const N: usize>(line: &str) -> Option<[&str; N]> {
    let words: Vec<&str> = line.trim().trim_matches('|').split('|').map(str::trim).collect();
    words.try_into().ok()
}

/// How much larger the code of a kernel may be than what is checked in.
pub const GROWTH: f64 = 1.1;

/// A kernel on a family of AMD GPUs.
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
pub const NONE: &str = "-";

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

impl Line for Row {
    const HEAD: &str = "\
| driver | family | kernel | lanes in use, % | instructions | code, bytes | VGPRs | spilled | scratch, bytes \
| waves a SIMD | instructions a cell and pass | cycles a cell and pass |
|---|---|---|---|---|---|---|---|---|---|---|---|";
    const RENEW: &str = "cargo xtask kernels --renew";

    fn parse(line: &str) -> Option<Self> {
        let [driver, family, kernel, lanes, instructions, code, registers, spilled, scratch, waves, per_cell, cycles] =
            cells(line)?;
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

    fn key(&self) -> (&str, &str) {
        (&self.family, &self.kernel)
    }

    /// No kernel may spill more registers, or be larger by more than a tenth. Numbers of another version of
    /// the driver say nothing about the kernels, and are not compared.
    fn faults(&self, known: &Self) -> Vec<String> {
        let mut faults = Vec::new();
        if self.driver != known.driver {
            return faults;
        }
        if self.spilled > known.spilled {
            faults.push(format!("{} registers spilled, were {}", self.spilled, known.spilled));
        }
        if self.code as f64 > GROWTH * known.code as f64 {
            faults.push(format!("{} bytes of code, were {}", self.code, known.code));
        }
        faults
    }
}

/// All rows.
#[derive(Clone, Debug, PartialEq)]
pub struct Table<R>(pub Vec<R>);

/// What is after a table in its document.
const END: &str = "<!-- end -->\n";

/// What is before it.
fn start<R: Line>() -> String {
    format!("<!-- {} -->\n", R::RENEW)
}

impl<R: Line> fmt::Display for Table<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", R::HEAD)?;
        self.0.iter().try_for_each(|row| writeln!(f, "{row}"))
    }
}

impl<R: Line> Table<R> {
    /// Reads the rows in a text.
    ///
    /// # Errors
    /// No rows.
    pub fn parse(text: &str) -> Result<Self, String> {
        let rows: Vec<R> = text.lines().filter_map(R::parse).collect();
        if rows.is_empty() { Err(format!("no table of kernels: `{}`", R::RENEW)) } else { Ok(Self(rows)) }
    }

    /// Reads the table of a document, between its marks.
    ///
    /// # Errors
    /// No document or no table in it.
    pub fn read(path: &Path) -> Result<Self, String> {
        let fail = |e: &dyn fmt::Display| format!("{}: {e}", path.display());
        let text = std::fs::read_to_string(path).map_err(|e| fail(&e))?;
        let (_, rest) = text.split_once(&start::<R>()).ok_or_else(|| fail(&"no mark"))?;
        let (inside, _) = rest.split_once(END).ok_or_else(|| fail(&"no mark"))?;
        Self::parse(inside)
    }

    /// Writes the table into a document, between its marks.
    ///
    /// # Errors
    /// A document without marks, or that cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), String> {
        let fail = |e: &dyn fmt::Display| format!("{}: {e}", path.display());
        let text = std::fs::read_to_string(path).map_err(|e| fail(&e))?;
        let start = start::<R>();
        let (before, rest) = text.split_once(&start).ok_or_else(|| fail(&"no mark"))?;
        let (_, after) = rest.split_once(END).ok_or_else(|| fail(&"no mark"))?;
        std::fs::write(path, format!("{before}{start}{self}{END}{after}")).map_err(|e| fail(&e))
    }

    /// Compares with what is checked in: no kernel may be worse than there, and none may be missing on either
    /// side.
    ///
    /// # Errors
    /// What is worse, a line each.
    pub fn check(&self, wanted: &Self) -> Result<(), String> {
        let mut faults = Vec::new();
        for row in &self.0 {
            let (hardware, kernel) = row.key();
            match wanted.0.iter().find(|known| known.key() == row.key()) {
                Some(known) => {
                    faults.extend(row.faults(known).iter().map(|fault| format!("{hardware}, {kernel}: {fault}")));
                }
                None => faults.push(format!("{hardware}, {kernel}: not in the table")),
            }
        }
        let gone = wanted.0.iter().map(R::key).filter(|key| !self.0.iter().any(|row| row.key() == *key));
        faults.extend(gone.map(|(hardware, kernel)| format!("{hardware}, {kernel}: in the table, but no kernel")));
        if faults.is_empty() {
            return Ok(());
        }
        faults.push(format!("if that is meant: `{}`, and say why in the commit", R::RENEW));
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
        assert!(Table::<Row>::parse(Row::HEAD).is_err());
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
