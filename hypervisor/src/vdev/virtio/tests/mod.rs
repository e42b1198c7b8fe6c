//! The card against drivers that do what they should, and against those that do anything.

mod card;
mod memory;
mod random;
mod reference;
mod wire;

use super::card::Mac;

const OWN: Mac = [2, 0, 0, 0, 0, 1];
const OTHER: Mac = [2, 0, 0, 0, 0, 2];
