//! The backward pass over a window, through time.

use super::{Chunk, ChunkTrace, Job};
use crate::buffers::Pooled;
use crate::kernels::vector::add_assign;
use crate::rssm::cell::{self, BackStep, CellGrads, Rows};
use crate::rssm::head::{self, HeadBackward};
use crate::threads::join;

/// The gradients of what the forward pass put out, each `[steps, rows, width]`; one that is empty stands for zeros.
#[derive(Clone, Copy)]
pub struct Upstream<'a> {
    pub features: &'a [f32],
    pub posterior: &'a [f32],
    pub prior: &'a [f32],
}

/// Writes the gradients wanted: of the parameters, and of the tokens `[steps, rows, tokens]`.
pub fn backward(
    job: Job<'_>,
    tokens: &[f32],
    params: &[f32],
    traces: &[ChunkTrace],
    upstream: Upstream<'_>,
    mut grad_params: Option<&mut [f32]>,
    grad_tokens: Option<&mut [f32]>,
) {
    let chunks = job.chunks();
    let call = |chunk: &Chunk<'_>, trace: &ChunkTrace, grad_params: Option<&mut [f32]>, tokens_too: bool| {
        chunk_backward(chunk, tokens, params, trace, upstream, grad_params, tokens_too)
    };
    let tokens_too = grad_tokens.is_some();
    let mut partial = grad_params.as_ref().filter(|_| chunks.len() > 1).map(|g| Pooled::new(g.len()));
    let (mut first, mut second) = (None, None);
    match (&chunks[..], traces) {
        ([a, b], [trace_a, trace_b]) => {
            let (total, part) = (grad_params.as_deref_mut(), partial.as_deref_mut());
            let (first, second) = (&mut first, &mut second);
            join(|| *first = call(a, trace_a, total, tokens_too), || *second = call(b, trace_b, part, tokens_too));
        }
        _ => first = call(&chunks[0], &traces[0], grad_params.as_deref_mut(), tokens_too),
    }
    if let (Some(total), Some(partial)) = (grad_params, partial) {
        add_assign(total, &partial);
    }
    if let Some(grad_tokens) = grad_tokens {
        for (chunk, grad) in chunks.iter().zip([first, second].into_iter().flatten()) {
            chunk.scatter(&grad, job.spec.tokens, grad_tokens, job.spec.tokens, 0);
        }
    }
}

/// One chunk; returns the gradient of its tokens, if wanted.
fn chunk_backward(
    chunk: &Chunk<'_>,
    tokens: &[f32],
    params: &[f32],
    trace: &ChunkTrace,
    upstream: Upstream<'_>,
    mut grad_params: Option<&mut [f32]>,
    tokens_too: bool,
) -> Option<Pooled> {
    let Job { spec, plan, window } = chunk.job;
    let (n, total, deter, latent) = (chunk.rows, chunk.total(), spec.deter, spec.latent);
    let (z_width, stats, all) = (latent.width(), latent.stats(), Rows { first: 0, count: total });
    if let Some(grad) = grad_params.as_deref_mut() {
        grad.fill(0.0);
    }
    // The gradient of `h` that comes from the prior, at all steps.
    let mut from_prior = Pooled::new(total * deter);
    from_prior.fill(0.0);
    if !upstream.prior.is_empty() {
        let prior = HeadBackward::new(&plan.prior, params, latent, deter);
        let mut grads = head::grads(&plan.prior, total);
        if let Some(last) = grads.last_mut() {
            last.copy_from_slice(&chunk.gather(upstream.prior, stats));
        }
        prior.step(&trace.prior, &mut grads, all, &mut from_prior, grad_params.as_deref_mut());
        if let Some(grad) = grad_params.as_deref_mut() {
            prior.weights(&trace.prior, &grads, &trace.h, &[], grad);
        }
    }

    let cell = cell::backward(spec, plan, params);
    let posterior = HeadBackward::new(&plan.posterior, params, latent, deter);
    let (mut cell_grads, mut post_grads) = (CellGrads::new(plan, total), head::grads(&plan.posterior, total));
    // What the next step hands back, and from it the gradients of this step's state.
    let (mut dh, mut dz, mut dz_in) = (Pooled::new(n * deter), Pooled::new(n * z_width), Pooled::new(n * z_width));
    dh.fill(0.0);
    dz_in.fill(0.0);
    for step in (0..chunk.steps()).rev() {
        let rows = Rows { first: step * n, count: n };
        add_assign(&mut dh, rows.of(&from_prior, deter));
        std::mem::swap(&mut dz, &mut dz_in);
        if !upstream.features.is_empty() {
            let features = chunk.at(upstream.features, step, spec.features());
            for (row, grad) in features.chunks_exact(spec.features()).enumerate() {
                let (by_h, by_z) = grad.split_at(deter);
                add_assign(&mut dh[row * deter..(row + 1) * deter], by_h);
                add_assign(&mut dz[row * z_width..(row + 1) * z_width], by_z);
            }
        }
        let last = post_grads.last_mut().expect("a head has a layer");
        let d_stats = rows.of_mut(last, stats);
        match upstream.posterior.is_empty() {
            true => d_stats.fill(0.0),
            false => d_stats.copy_from_slice(chunk.at(upstream.posterior, step, stats)),
        }
        let noise = chunk.at(window.noise, step, latent.noise());
        latent.sample_backward(rows.of(head::stats(&trace.posterior), stats), noise, &dz, d_stats);
        posterior.step(&trace.posterior, &mut post_grads, rows, &mut dh, grad_params.as_deref_mut());
        cell.step(BackStep {
            trace: &trace.cell,
            rows,
            grads: &mut cell_grads,
            dh: &mut dh,
            dz: &mut dz_in,
            da: None,
            params: grad_params.as_deref_mut(),
        });
        chunk.reset(step, &mut dh, deter);
        chunk.reset(step, &mut dz_in, z_width);
    }
    if let Some(grad) = grad_params {
        posterior.weights(&trace.posterior, &post_grads, &trace.h, &chunk.gather(tokens, spec.tokens), grad);
        cell.weights(&trace.cell, &mut cell_grads, total, grad);
    }
    tokens_too.then(|| {
        let mut grad = Pooled::new(total * spec.tokens);
        posterior.tokens(&post_grads, total, &mut grad);
        grad
    })
}
