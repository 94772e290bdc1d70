//! When a store may give transitions other goals.

use crate::agent::Setup;
use crate::config::Problem;
use axiomrl_core::{GoalStrategy, Relabel};
use axiomrl_envs::{ActionMap, Kind, ObsSpace};

/// What the settings ask for, or why it cannot be had. `goals` for every real one are drawn in hindsight; 0 asks for nothing.
pub fn hindsight(
    goals: usize,
    strategy: GoalStrategy,
    n_step: usize,
    setup: &Setup,
) -> Result<Option<Relabel>, Problem> {
    if goals == 0 {
        return Ok(None);
    }
    let refused = |problem: &str| Err(Problem::new(&["n_sampled_goal"], problem));
    let Some(goal) = setup.spaces.goal() else {
        return refused(
            "`n_sampled_goal` draws other goals, and this environment has none; set it to 0, or use an environment such \
             as BitFlip-v0 or PointGoal-v0",
        );
    };
    let parts = ObsSpace::of(setup.observation_space()).parts;
    if parts.iter().any(|part| part.name.ends_with("_goal") && part.kind == Kind::U8) {
        return refused("`n_sampled_goal` exchanges goals that are numbers, and here they are images; set it to 0");
    }
    let Some(rules) = setup.rules.clone() else {
        return refused(
            "`n_sampled_goal` asks what a transition would be worth with another goal, and this environment does not \
             say; set it to 0, and `action_repeat` to 1, whose sums of rewards have no such rule",
        );
    };
    if n_step != 1 {
        return Err(Problem::new(&["n_step", "n_sampled_goal"], "`n_sampled_goal` goes with `n_step: 1`"));
    }
    let actions = ActionMap::of(setup.action_space()).map_err(|error| Problem::new(&[], error.to_string()))?;
    Ok(Some(Relabel { strategy, share: goals as f64 / (goals + 1) as f64, goal, rules, actions: Some(actions) }))
}
