//! Tests of the public interface, in one binary because linking is slow.

mod distributions;
mod files;
mod gradients;
mod losses;
mod optimisers;
mod reference;
mod sampling;
mod threads;
