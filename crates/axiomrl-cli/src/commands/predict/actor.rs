//! A policy with what it needs to act on rows from elsewhere.

use super::layout::{Layout, check_mask, mask_parts};
use super::rows::Row;
use crate::failure::{DIVERGED, Failure};
use axiomrl_algos::{ActContext, ActInput, Memory, Mode};
use axiomrl_envs::rng::stream;
use axiomrl_envs::{Kind, ObsBuf, ObsSpace, Rng, Space};
use axiomrl_run::policy::TrainedPolicy;
use serde_json::{Value, json};

pub struct Actor {
    policy: TrainedPolicy,
    pub layout: Layout,
    parts: ObsSpace,
    actions: Space,
    /// See [`mask_parts`].
    mask_parts: Vec<usize>,
    /// What goes with a row that has no mask: every choice is allowed.
    all_allowed: Vec<bool>,
    memory: Memory,
    mode: Mode,
    rng: Rng,
}

impl Actor {
    pub fn new(policy: TrainedPolicy, seed: u64, deterministic: bool) -> Self {
        let spaces = policy.policy.spaces();
        Self {
            layout: Layout::of(&spaces.observation),
            parts: spaces.obs(),
            actions: spaces.action.clone(),
            mask_parts: mask_parts(&spaces.action, spaces.masks > 0),
            all_allowed: vec![true; spaces.masks],
            memory: Memory::new(1, policy.policy.memory_width()),
            mode: if deterministic { Mode::Best } else { Mode::Sample },
            rng: stream(seed, "predict"),
            policy,
        }
    }

    /// The action for the next row, as JSON. What the policy remembers goes on from the row before, unless one starts.
    pub fn act(&mut self, row: Row, start: bool) -> Result<Value, Failure> {
        if let Some(mask) = &row.mask {
            check_mask(&self.mask_parts, mask).map_err(Failure::bad_input)?;
        }
        let obs = self.as_observed(&row.obs);
        let masks = row.mask.as_deref().unwrap_or(&self.all_allowed);
        let mut action = vec![0.0; self.actions.width()];
        self.memory.starts.fill(start);
        let (policy, input) = (&mut self.policy.policy, ActInput { obs: obs.as_ref(), masks });
        policy
            .act(input, ActContext::new(&mut self.memory, self.mode, &mut self.rng), &mut action)
            .map_err(Failure::other)?;
        if let Some(bad) = action.iter().find(|number| !number.is_finite()) {
            return Err(Failure::new(DIVERGED, format!("the policy answers {bad}, which is no action")));
        }
        let mut executed = vec![0.0; action.len()];
        policy.action_map().to_env(&action, &mut executed);
        Ok(match &self.actions {
            Space::Discrete { .. } => json!(executed[0] as i64),
            Space::Box(_) => json!(executed),
            _ => json!(executed.iter().map(|&choice| choice as i64).collect::<Vec<_>>()),
        })
    }

    /// The numbers of a row, each part in the block of its kind.
    fn as_observed(&self, numbers: &[f32]) -> ObsBuf {
        let mut row = ObsBuf::zeros(self.parts.widths, 1);
        let mut rest = numbers;
        for part in &self.parts.parts {
            let (own, others) = rest.split_at(part.at.len());
            if part.kind == Kind::U8 {
                // Networks scale bytes by themselves, and only bytes.
                row.bytes[part.at.clone()].iter_mut().zip(own).for_each(|(byte, &pixel)| *byte = pixel as u8);
            } else {
                row.floats[part.at.clone()].copy_from_slice(own);
            }
            rest = others;
        }
        row
    }

    /// Whether answers depend on earlier rows.
    fn remembers(&self) -> bool {
        self.memory.width() > 0
    }

    /// What a row holds and what is answered, for people.
    pub fn words(&self) -> Vec<(&'static str, String)> {
        let config = &self.policy.config;
        let mut lines = vec![("policy", format!("{} on {}", config.algo, config.env_id))];
        let mut title = "observation";
        let mut tell = |line: String| lines.push((std::mem::take(&mut title), line));
        if self.layout.lines().len() > 1 {
            tell(format!("{} numbers, the parts one after the other:", self.layout.width()));
        }
        self.layout.lines().into_iter().for_each(&mut tell);
        if config.frame_stack > 1 {
            let count = config.frame_stack;
            tell(format!("the last {count} observations side by side along the last axis, the oldest first"));
        }
        if self.policy.policy.statistics().is_some() {
            tell("as the environment gives it: the policy normalises by itself".to_owned());
        }
        lines.push(("action", Layout::of(&self.actions).lines().join("; ")));
        lines.push(match self.mask_parts.iter().sum::<usize>() {
            0 => ("mask", "none: this policy was not trained with masks".to_owned()),
            width => ("mask", format!("{width} entries, one for each choice; may be left out")),
        });
        lines.push(match self.remembers() {
            true => ("memory", "carried from row to row until an episode starts".to_owned()),
            false => ("memory", "none: every row is answered by itself".to_owned()),
        });
        lines
    }

    /// The same for programs.
    pub fn json(&self) -> Value {
        let remembers = self.remembers();
        let config = &self.policy.config;
        json!({
            "algo": config.algo,
            "env_id": config.env_id,
            "observation": self.layout.json(),
            "frame_stack": config.frame_stack,
            "action": self.actions,
            "mask_width": self.mask_parts.iter().sum::<usize>(),
            "memory": remembers,
        })
    }
}
