//! Memory that is not the guest's.

use super::{Outcome, address};
use programs::arch::probe::{self, Through};
use rt::arch::stolen;
use rt::{arguments, println};

/// Looks for what others left in the page that the hypervisor shows.
pub fn stolen_page(case: &str) {
    stolen::find();
    let Some((words, used)) = stolen::used_words() else {
        return println!("hostile: {case}: no such page");
    };
    println!("hostile: {case} survived words={words} used={used}");
}

/// Reads 8 bytes.
pub fn foreign_read(case: &str) {
    let address = address();
    println!("hostile: {case} address={address:#x}");
    println!("hostile: {case} survived {}", Outcome(probe::read(address, 8, Through::Normal)));
}

/// Writes 8 bytes.
pub fn foreign_write(case: &str) {
    let address = address();
    println!("hostile: {case} address={address:#x}");
    let outcome = probe::write(address, 8, 0x6261_6464_6174_6121, Through::Normal).map(|()| 0);
    println!("hostile: {case} survived {}", Outcome(outcome));
}

/// Calls a function there.
pub fn foreign_fetch(case: &str) {
    let address = address();
    println!("hostile: {case} address={address:#x}");
    println!("hostile: {case} survived {}", Outcome(probe::fetch(address).map(|()| 0)));
}

/// Lets the MMU look for its tables there.
pub fn page_table_garbage(case: &str) {
    let address = address();
    println!("hostile: {case} address={address:#x}");
    probe::translate_by(address)
}

/// Cleans all caches by set and way, `count` times.
pub fn dcache_setway(case: &str) {
    let count = arguments::number("count", 10);
    let operations: u64 = (0..count).map(|_| probe::clean_caches_by_set_and_way()).sum();
    println!("hostile: {case} survived operations={operations}");
}
