//! The forward pass of a stack of convolutions.

use super::{Pixels, patch_room, saved_len, split};
use crate::conv::ConvSpec;
use crate::kernels::activation::{activate, bias_activation};
use crate::kernels::matmul::{Left, product};
use crate::spec::Activation;

/// Evaluates `images` images; `saved` holds [`saved_len`] values per image, `out` is `[images, features]`.
pub fn forward(spec: &ConvSpec, images: usize, x: Pixels<'_>, params: &[f32], saved: &mut [f32], out: &mut [f32]) {
    let image: usize = spec.input.iter().product();
    assert!(
        x.len() == images * image && params.len() == spec.param_count() && out.len() == images * spec.features(),
        "the slices do not fit the encoder"
    );
    let Some(half) = split(spec, images) else {
        return chunk_forward(spec, images, x, params, saved, out);
    };
    let (x_first, x_second) = x.split_at(half * image);
    let (saved_first, saved_second) = saved.split_at_mut(half * saved_len(spec));
    let (out_first, out_second) = out.split_at_mut(half * spec.features());
    rayon::join(
        || chunk_forward(spec, half, x_first, params, saved_first, out_first),
        || chunk_forward(spec, images - half, x_second, params, saved_second, out_second),
    );
}

fn chunk_forward(spec: &ConvSpec, images: usize, x: Pixels<'_>, params: &[f32], saved: &mut [f32], out: &mut [f32]) {
    let mut input = x;
    let mut saved_rest = saved;
    let mut out = Some(out);
    for stage in spec.stages() {
        let (kept, before) = stage.kept(spec.activation);
        let (target, rest) = std::mem::take(&mut saved_rest).split_at_mut(images * kept);
        let (before, rest) = rest.split_at_mut(images * before);
        saved_rest = rest;
        let target = if stage.is_last { out.take().unwrap_or_default() } else { target };

        let (weight, bias) = params[stage.offset..stage.offset + stage.params()].split_at(stage.weights());
        let (patches, patch) = (stage.window.patches(), stage.window.patch_len());
        let mut room = patch_room(&stage, images);
        let mut first = 0;
        for target in target.chunks_mut(stage.group() * stage.out_len()) {
            let count = target.len() / stage.out_len();
            let rows = &mut room[..count * patches * patch];
            input.unfold(stage.window, first, count, rows);
            product(target, count * patches, stage.outputs, patch, Left::Rows(rows), weight, false);
            if before.is_empty() {
                bias_activation(target, bias, spec.activation);
            } else {
                bias_activation(target, bias, Activation::Identity);
                before[first * stage.out_len()..][..target.len()].copy_from_slice(target);
                activate(target, spec.activation);
            }
            first += count;
        }
        input = Pixels::Floats(target);
    }
}
