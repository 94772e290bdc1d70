//! Tests of the public interface, in one binary because linking is slow.

mod attention;
mod composed;
mod convolution;
mod decoder;
mod distributions;
mod files;
mod gradients;
mod image_checks;
mod losses;
mod optimisers;
mod pytorch;
mod recurrence;
mod reference;
mod residual;
mod rssm;
mod sampling;
mod tangents;
mod threads;
mod two_hot;
