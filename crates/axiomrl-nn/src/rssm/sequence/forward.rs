//! The forward pass over a window.

use super::{Chunk, ChunkTrace, Job, seen_actions};
use crate::rssm::cell::{self, Rows};
use crate::rssm::head::{self, HeadForward};
use crate::threads::join;

/// Where the results go, each `[steps, rows, width]`.
pub struct Results<'a> {
    pub features: &'a mut [f32],
    pub posterior: &'a mut [f32],
    pub prior: &'a mut [f32],
}

/// Looks at `tokens` `[steps, rows, tokens]`; returns what the backward pass needs.
pub fn forward(job: Job<'_>, tokens: &[f32], params: &[f32], results: Results<'_>) -> Vec<ChunkTrace> {
    let (spec, total) = (job.spec, job.window.steps * job.window.rows);
    assert_eq!(params.len(), job.plan.params, "parameters do not fit the model");
    assert_eq!(tokens.len(), total * spec.tokens, "tokens do not fit the window");
    let chunks = job.chunks();
    let mut traces: Vec<ChunkTrace> = chunks.iter().map(ChunkTrace::new).collect();
    match (&chunks[..], &mut traces[..]) {
        ([first, second], [a, b]) => {
            join(|| chunk_forward(first, tokens, params, a), || chunk_forward(second, tokens, params, b));
        }
        _ => chunk_forward(&chunks[0], tokens, params, &mut traces[0]),
    }
    let (latent, stats) = (spec.latent.width(), spec.latent.stats());
    for (chunk, trace) in chunks.iter().zip(&traces) {
        chunk.scatter(&trace.h, spec.deter, results.features, spec.features(), 0);
        chunk.scatter(&trace.z, latent, results.features, spec.features(), spec.deter);
        chunk.scatter(head::stats(&trace.posterior), stats, results.posterior, stats, 0);
        chunk.scatter(head::stats(&trace.prior), stats, results.prior, stats, 0);
    }
    traces
}

fn chunk_forward(chunk: &Chunk<'_>, tokens: &[f32], params: &[f32], trace: &mut ChunkTrace) {
    let Job { spec, plan, window } = chunk.job;
    let (n, deter, latent, all) =
        (chunk.rows, spec.deter, spec.latent.width(), Rows { first: 0, count: chunk.total() });
    let cell = cell::forward(spec, plan, params);
    let posterior = HeadForward::new(&plan.posterior, params, spec.latent, deter);

    // What does not wait for the state is done for all steps together.
    let actions = n * spec.actions;
    for step in 0..chunk.steps() {
        let seen = &mut trace.cell.a[step * actions..(step + 1) * actions];
        seen.copy_from_slice(chunk.at(window.actions, step, spec.actions));
        seen_actions(spec, seen);
        chunk.reset(step, seen, spec.actions);
    }
    cell.prepare(&mut trace.cell, all);
    posterior.prepare(&mut trace.posterior, all, &chunk.gather(tokens, spec.tokens));

    for step in 0..chunk.steps() {
        let rows = Rows { first: step * n, count: n };
        let (h_in, z_in) = (rows.of_mut(&mut trace.cell.h, deter), rows.of_mut(&mut trace.cell.z, latent));
        match step.checked_sub(1) {
            Some(before) => {
                let before = Rows { first: before * n, count: n };
                h_in.copy_from_slice(before.of(&trace.h, deter));
                z_in.copy_from_slice(before.of(&trace.z, latent));
            }
            None => {
                let start = &window.start[chunk.first * spec.features()..][..n * spec.features()];
                for (row, start) in start.chunks_exact(spec.features()).enumerate() {
                    let (h, z) = start.split_at(deter);
                    h_in[row * deter..(row + 1) * deter].copy_from_slice(h);
                    z_in[row * latent..(row + 1) * latent].copy_from_slice(z);
                }
            }
        }
        chunk.reset(step, h_in, deter);
        chunk.reset(step, z_in, latent);
        let h = rows.of_mut(&mut trace.h, deter);
        cell.step(&mut trace.cell, rows, h);
        posterior.step(&mut trace.posterior, rows, h);
        let (stats, noise) = (rows.of(head::stats(&trace.posterior), spec.latent.stats()), window.noise);
        spec.latent.sample(stats, chunk.at(noise, step, spec.latent.noise()), rows.of_mut(&mut trace.z, latent));
    }
    let prior = HeadForward::new(&plan.prior, params, spec.latent, deter);
    prior.step(&mut trace.prior, all, &trace.h);
}
