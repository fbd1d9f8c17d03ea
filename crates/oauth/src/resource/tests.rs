mod key_sets;
mod signatures;
mod vectors;
