//! Tables with one element for each bank, or for each VCPU.

use alloc::vec::Vec;
use core::ops::{Deref, DerefMut, Index, IndexMut};

/// A list that keeps its length. There is one panic for all indices beyond it, which are bugs.
#[derive(Debug)]
pub(super) struct Table<T>(Vec<T>);

impl<T> From<Vec<T>> for Table<T> {
    fn from(entries: Vec<T>) -> Self {
        Self(entries)
    }
}

impl<T> Deref for Table<T> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        &self.0
    }
}

impl<T> DerefMut for Table<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.0
    }
}

impl<T> Index<usize> for Table<T> {
    type Output = T;
    #[inline(always)]
    fn index(&self, index: usize) -> &T {
        self.0.get(index).unwrap_or_else(|| no_entry())
    }
}

impl<T> IndexMut<usize> for Table<T> {
    #[inline(always)]
    fn index_mut(&mut self, index: usize) -> &mut T {
        self.0.get_mut(index).unwrap_or_else(|| no_entry())
    }
}

#[cold]
#[inline(never)]
fn no_entry() -> ! {
    panic!("no such bank or VCPU")
}
