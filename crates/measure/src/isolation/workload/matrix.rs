//! The product of two matrices.

use std::hint::black_box;

use super::Work;

/// Three square matrices, row by row.
pub struct Matrix {
    rows: usize,
    left: Vec<f32>,
    right: Vec<f32>,
    product: Vec<f32>,
}

impl Matrix {
    /// Returns matrices with this number of rows and columns.
    pub fn new(rows: usize) -> Self {
        let numbers = |factor: usize| {
            (0..rows * rows).map(|index| (index * factor % 1000) as f32 / 1000.0).collect()
        };
        Self { rows, left: numbers(7), right: numbers(13), product: vec![0.0; rows * rows] }
    }
}

impl Work for Matrix {
    /// Multiplies by the definition, without blocks: every element of the product reads a row and a
    /// column, as in the published measurements.
    fn run(&mut self) -> Result<(), String> {
        let rows = self.rows;
        for row in 0..rows {
            let left = &self.left[row * rows..(row + 1) * rows];
            for column in 0..rows {
                let right = self.right[column..].iter().step_by(rows);
                self.product[row * rows + column] =
                    left.iter().zip(right).map(|(l, r)| l * r).sum();
            }
        }
        black_box(&self.product);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_product_is_one() {
        let mut matrix = Matrix::new(2);
        matrix.left = vec![1.0, 2.0, 3.0, 4.0];
        matrix.right = vec![5.0, 6.0, 7.0, 8.0];
        matrix.run().expect("a product");
        assert_eq!(matrix.product, [19.0, 22.0, 43.0, 50.0]);
    }
}
