//! Worker processes as one batch, and what happens when one of them is lost.

use crate::bridge::{Arrays, Bridge};
use crate::rules::JudgedGoals;
use crate::source::Shared;
use crate::worker::{Opened, Trouble, Worker};
use axiomrl_envs::{EnvError, Frame, GoalParts, Purpose, Seeding, Spaces, TaskRules};
use serde_json::json;
use std::io::Write;
use std::ops::Range;
use std::sync::Arc;

/// Environments shared out among worker processes, which step at the same time.
pub struct Workers {
    shared: Arc<Shared>,
    purpose: Purpose,
    seeding: Seeding,
    spaces: Spaces,
    parts: Vec<Part>,
    n: usize,
    /// How many processes have been replaced.
    restarts: usize,
}

struct Part {
    envs: Range<usize>,
    worker: Worker,
    opened: Opened,
    /// Its process was replaced in the latest step: all its rows begin anew.
    replaced: bool,
    /// Zeros, for the outcomes of such a step.
    nothing: Vec<f64>,
}

impl Workers {
    pub fn open(shared: &Arc<Shared>, n: usize, seeding: &Seeding, purpose: Purpose) -> Result<Self, EnvError> {
        let processes = shared.settings.workers.clamp(1, n.max(1));
        let mut parts = Vec::with_capacity(processes);
        let mut first = 0;
        for process in 0..processes {
            let envs = first..n * (process + 1) / processes;
            first = envs.end;
            let (worker, opened) = shared.take(envs.len(), purpose)?;
            let nothing = vec![0.0; envs.len()];
            parts.push(Part { envs, worker, opened, replaced: false, nothing });
        }
        let spaces = parts[0].opened.spaces.clone();
        let (shared, seeding) = (shared.clone(), seeding.clone());
        Ok(Self { shared, purpose, seeding, spaces, parts, n, restarts: 0 })
    }

    /// Another process for a part whose own is lost. Its episodes are lost with it; the others go on.
    fn replace(&mut self, part: usize, trouble: Trouble) -> Result<(), EnvError> {
        if self.restarts == self.shared.settings.restarts {
            return Err(self.blame(part, trouble));
        }
        self.restarts += 1;
        let envs = self.parts[part].envs.clone();
        // Nobody may be listening.
        let _ = writeln!(
            std::io::stderr(),
            "note: {trouble}; environments {} to {} begin anew in another process, their {} episodes are lost (restart {} of {})",
            envs.start,
            envs.end - 1,
            envs.len(),
            self.restarts,
            self.shared.settings.restarts
        );
        let (mut worker, opened) = self.shared.start(envs.len(), self.purpose)?;
        // Other episodes than the run began with.
        let seeding = Seeding::new(self.seeding.seed, format!("{}+{}", self.seeding.stream, self.restarts));
        let seeds: Vec<u64> = envs.map(|env| seeding.number(env)).collect();
        worker.tell(b'r', &json!(seeds))?;
        let part = &mut self.parts[part];
        (part.worker, part.opened, part.replaced) = (worker, opened, true);
        Ok(())
    }

    /// Which of the whole batch it was.
    fn blame(&self, part: usize, trouble: Trouble) -> EnvError {
        let start = self.parts[part].envs.start;
        match trouble {
            Trouble::Refused { message, env, traceback } => {
                Trouble::Refused { message, env: env.map(|env| env + start), traceback }.into()
            }
            lost => lost.into(),
        }
    }

    /// The part that an environment belongs to, and its number there.
    fn find(&self, env: usize) -> Option<(usize, usize)> {
        let part = self.parts.iter().position(|part| part.envs.contains(&env))?;
        Some((part, env - self.parts[part].envs.start))
    }

    fn ask(&mut self, part: usize, letter: u8, payload: &serde_json::Value) -> Result<Vec<u8>, EnvError> {
        let answer = self.parts[part].worker.tell(letter, payload);
        answer.map_err(|trouble| self.blame(part, trouble))
    }
}

impl Bridge for Workers {
    fn spaces(&self) -> &Spaces {
        &self.spaces
    }

    fn num_envs(&self) -> usize {
        self.n
    }

    fn reset(&mut self, seeds: Option<&[u64]>) -> Result<(), EnvError> {
        for part in 0..self.parts.len() {
            let envs = self.parts[part].envs.clone();
            self.ask(part, b'r', &json!(seeds.map(|seeds| &seeds[envs])))?;
            self.parts[part].replaced = false;
        }
        Ok(())
    }

    fn begin(&mut self, env: usize, seed: u64) -> Result<bool, EnvError> {
        let Some((part, env)) = self.find(env).filter(|&(part, _)| self.parts[part].opened.can_begin) else {
            return Ok(false);
        };
        self.ask(part, b'b', &json!([env, seed]))?;
        Ok(true)
    }

    fn step(&mut self, actions: &[f32]) -> Result<(), EnvError> {
        let width = self.spaces.action.width();
        // All are told before any is waited for.
        let told: Vec<Result<(), Trouble>> = self
            .parts
            .iter_mut()
            .map(|part| {
                part.replaced = false;
                let rows = &actions[part.envs.start * width..part.envs.end * width];
                part.worker.write_actions(&part.opened, rows);
                part.worker.send(b's', b"")
            })
            .collect();
        let mut failed = None;
        for (part, told) in told.into_iter().enumerate() {
            let worker = &mut self.parts[part].worker;
            let timeout = worker.timeout();
            match told.and_then(|()| worker.receive(timeout)) {
                Ok(_) => {}
                // It would go wrong again; but everybody's answer is read.
                Err(refused @ Trouble::Refused { .. }) => failed = failed.or(Some(self.blame(part, refused))),
                Err(lost) => self.replace(part, lost)?,
            }
        }
        failed.map_or(Ok(()), Err)
    }

    fn arrays(&self, hand_over: &mut dyn FnMut(Range<usize>, Arrays<'_>)) {
        for part in &self.parts {
            let array = |name| part.worker.array(&part.opened, name);
            let mut arrays = Arrays {
                obs_floats: bytemuck::cast_slice(array("obs_floats")),
                obs_bytes: array("obs_bytes"),
                final_floats: bytemuck::cast_slice(array("final_floats")),
                final_bytes: array("final_bytes"),
                reward: bytemuck::cast_slice(array("reward")),
                terminated: array("terminated"),
                truncated: array("truncated"),
                stepped: array("stepped"),
                masks: array("masks"),
                final_masks: array("final_masks"),
                info: bytemuck::cast_slice(array("info")),
            };
            if part.replaced {
                // A reset and no step: nothing was earned, nothing ended.
                let zeros: &[u8] = &bytemuck::cast_slice(&part.nothing)[..part.envs.len()];
                (arrays.reward, arrays.stepped) = (&part.nothing, zeros);
            }
            hand_over(part.envs.clone(), arrays);
        }
    }

    fn render(&mut self, env: usize) -> Result<Option<Frame>, EnvError> {
        let Some((part, env)) = self.find(env) else { return Ok(None) };
        let answer = self.ask(part, b'p', &json!(env))?;
        let Some((size, rgb)) = answer.split_at_checked(8).filter(|(_, rgb)| !rgb.is_empty()) else { return Ok(None) };
        let number = |at: usize| u32::from_le_bytes([size[at], size[at + 1], size[at + 2], size[at + 3]]) as usize;
        Ok(Some(Frame { height: number(0), width: number(4), rgb: rgb.to_vec() }))
    }

    fn task_rules(&self) -> Option<Arc<dyn TaskRules>> {
        let goal: GoalParts = self.spaces.goal().filter(|_| self.parts[0].opened.has_rules)?;
        Some(Arc::new(JudgedGoals::new(self.shared.clone(), goal)))
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        for part in self.parts.drain(..) {
            self.shared.give_back(part.worker);
        }
    }
}
