//! Tests of the public interface, in one binary because linking is slow.

mod convolution;
mod distributions;
mod files;
mod gradients;
mod losses;
mod optimisers;
mod pytorch;
mod recurrence;
mod reference;
mod sampling;
mod threads;
