//! When a store may give transitions other goals.

use crate::agent::Setup;
use crate::config::Problem;
use axiomrl_core::{GoalStrategy, Hindsight};

/// What the settings ask for, or why it cannot be had. `goals` for every real one are drawn in hindsight; 0 asks for nothing.
pub fn hindsight(
    goals: usize,
    strategy: GoalStrategy,
    n_step: usize,
    setup: &Setup,
) -> Result<Option<Hindsight>, Problem> {
    if goals == 0 {
        return Ok(None);
    }
    let Some(task) = setup.goal_task.clone() else {
        let problem = "`n_sampled_goal` draws other goals, and this environment has none; set it to 0, or use an \
                       environment such as BitFlip-v0 or PointGoal-v0";
        return Err(Problem::new(&["n_sampled_goal"], problem));
    };
    if n_step != 1 {
        return Err(Problem::new(&["n_step", "n_sampled_goal"], "`n_sampled_goal` goes with `n_step: 1`"));
    }
    Ok(Some(Hindsight { strategy, share: goals as f64 / (goals + 1) as f64, task }))
}
