//! A policy with what it needs to act on rows from elsewhere.

use super::layout::{Layout, check_mask, mask_parts};
use super::rows::Row;
use crate::failure::{DIVERGED, Failure};
use axiomrl_algos::{PolicyMemory, RunConfig};
use axiomrl_envs::rng::stream;
use axiomrl_envs::{ActionMap, DType, ObsBuf, Rng, Space};
use axiomrl_run::session::{SessionError, TrainedPolicy, training_env};
use serde_json::{Value, json};

pub struct Actor {
    policy: TrainedPolicy,
    observations: Space,
    pub layout: Layout,
    actions: Space,
    map: Option<ActionMap>,
    /// See [`mask_parts`].
    mask_parts: Vec<usize>,
    /// What goes with a row that has no mask: every choice is allowed.
    all_allowed: Vec<bool>,
    memory: PolicyMemory,
    deterministic: bool,
    rng: Rng,
}

impl Actor {
    pub fn new(policy: TrainedPolicy, seed: u64, deterministic: bool) -> Result<Self, Failure> {
        // Rows are what the environment shows before anything is normalised.
        let raw =
            RunConfig { num_envs: 1, normalize_observation: false, normalize_reward: false, ..policy.config.clone() };
        let env = training_env(&raw).map_err(SessionError::from)?;
        let masked = !env.state().masks.is_empty();
        let (observations, actions) = (env.observation_space().clone(), env.action_space().clone());
        Ok(Self {
            layout: Layout::of(&observations),
            map: ActionMap::of(&actions).map_err(Failure::bad_input)?,
            all_allowed: if masked { vec![true; actions.mask_width()] } else { Vec::new() },
            mask_parts: mask_parts(&actions, masked),
            memory: PolicyMemory::default(),
            rng: stream(seed, "predict"),
            observations,
            actions,
            policy,
            deterministic,
        })
    }

    /// The action for the next row, as JSON. What the policy remembers goes on from the row before, unless one starts.
    pub fn act(&mut self, row: Row, start: bool) -> Result<Value, Failure> {
        if let Some(mask) = &row.mask {
            check_mask(&self.mask_parts, mask).map_err(Failure::bad_input)?;
        }
        self.memory.starts = vec![start];
        let mut memory = std::mem::take(&mut self.memory);
        let action = self.choose(row, &mut memory);
        self.memory = memory;
        if let Some(bad) = action.iter().find(|number| !number.is_finite()) {
            return Err(Failure::new(DIVERGED, format!("the policy answers {bad}, which is no action")));
        }
        Ok(match &self.actions {
            Space::Discrete { .. } => json!(action[0] as i64),
            Space::Box(_) => json!(self.map.as_mut().map_or(&*action, |map| map.apply(&action))),
            _ => json!(action.iter().map(|&choice| choice as i64).collect::<Vec<_>>()),
        })
    }

    fn choose(&mut self, row: Row, memory: &mut PolicyMemory) -> Vec<f32> {
        let obs = self.as_observed(row.obs);
        let masks = row.mask.as_deref().unwrap_or(&self.all_allowed);
        let mut action = vec![0.0; self.actions.width()];
        let (agent, rng) = (&mut self.policy.agent, &mut self.rng);
        agent.predict(obs.as_ref(), masks, 1, self.deterministic, memory, rng, &mut action);
        action
    }

    /// The numbers of a row as the environments of the training run gave them to the policy.
    fn as_observed(&self, mut numbers: Vec<f32>) -> ObsBuf {
        match &self.policy.normalizer {
            Some(normalizer) if normalizer.obs.is_some() => normalizer.scale_observation(&mut numbers),
            // Networks scale bytes by themselves, and only bytes.
            _ if self.observations.dtype() == DType::U8 => {
                return ObsBuf::U8(numbers.into_iter().map(|pixel| pixel as u8).collect());
            }
            _ => {}
        }
        ObsBuf::F32(numbers)
    }

    /// Whether answers depend on earlier rows.
    pub fn remembers(&mut self) -> bool {
        let mut memory = PolicyMemory { starts: vec![true], ..PolicyMemory::default() };
        self.choose(Row { obs: vec![0.0; self.layout.width()], ..Row::default() }, &mut memory);
        !memory.hidden.is_empty()
    }

    /// What a row holds and what is answered, for people.
    pub fn words(&mut self) -> Vec<(&'static str, String)> {
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
        if self.policy.normalizer.as_ref().is_some_and(|normalizer| normalizer.obs.is_some()) {
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
    pub fn json(&mut self) -> Value {
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
