//! A table of results, before it is written.

/// Columns of the same length.
pub struct Table {
    /// Name of its file, without ending.
    pub name: &'static str,
    /// Its columns.
    pub columns: Vec<Column>,
}

/// A column.
pub struct Column {
    /// Its name, which says its unit.
    pub name: &'static str,
    /// The values in it.
    pub values: Values,
}

/// The values of a column.
pub enum Values {
    /// Numbers.
    Numbers(Vec<u64>),
    /// Numbers, some of which are not known.
    MaybeNumbers(Vec<Option<u64>>),
    /// Names. They are made of letters, digits, `-` and `_`.
    Names(Vec<String>),
}

impl Table {
    /// A table without columns.
    pub fn new(name: &'static str) -> Self {
        Self { name, columns: Vec::new() }
    }

    /// The table with one more column of numbers.
    pub fn numbers(self, name: &'static str, values: impl Iterator<Item = u64>) -> Self {
        self.with(name, Values::Numbers(values.collect()))
    }

    /// The table with one more column of numbers, some of which are not known.
    pub fn maybe_numbers(
        self,
        name: &'static str,
        values: impl Iterator<Item = Option<u64>>,
    ) -> Self {
        self.with(name, Values::MaybeNumbers(values.collect()))
    }

    /// The table with one more column of names.
    pub fn names<'a>(self, name: &'static str, values: impl Iterator<Item = &'a str>) -> Self {
        self.with(name, Values::Names(values.map(String::from).collect()))
    }

    fn with(mut self, name: &'static str, values: Values) -> Self {
        self.columns.push(Column { name, values });
        self
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.columns.first().map_or(0, |column| match &column.values {
            Values::Numbers(values) => values.len(),
            Values::MaybeNumbers(values) => values.len(),
            Values::Names(values) => values.len(),
        })
    }
}
