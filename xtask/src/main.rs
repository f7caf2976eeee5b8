//! Chores in the language of the house.

fn main() {}
