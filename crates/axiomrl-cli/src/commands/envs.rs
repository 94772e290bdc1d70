//! `axiomrl envs`: where agents can be trained.

use crate::failure::Failure;
use crate::output::{print, print_pretty, table};
use crate::{catalogue, python};
use axiomrl_envs::Space;
use axiomrl_run::catalogue::EnvEntry;
use clap::Args;
use serde_json::{Value, json};

/// Lists the environments
#[derive(Args)]
pub struct Envs {
    /// Prints a JSON list
    #[arg(long)]
    json: bool,
    /// Lists what the installed Gymnasium has instead of what is built in
    #[arg(long)]
    gymnasium: bool,
}

impl Envs {
    pub fn run(self) -> Result<(), Failure> {
        if self.gymnasium {
            return list_gymnasium(self.json);
        }
        let (mut rows, mut objects) = (Vec::new(), Vec::new());
        for info in catalogue().all_environments() {
            let spaces = info.spaces()?;
            let (observation, action) = (&spaces.observation, &spaces.action);
            rows.push(vec![
                info.name.clone(),
                short(observation),
                short(action),
                info.max_steps.map_or("-".to_owned(), |steps| steps.to_string()),
                info.reward_threshold.map_or("-".to_owned(), |reward| reward.to_string()),
                info.summary.clone(),
            ]);
            objects.push(object(info, observation, action));
        }
        let columns = ["name", "observations", "actions", "steps", "solved", "summary"];
        if self.json { print_pretty(&Value::Array(objects)) } else { print(&table(&columns, &rows)) }
    }
}

fn list_gymnasium(as_json: bool) -> Result<(), Failure> {
    let known = axiomrl_gymnasium::known(python()).map_err(Failure::bad_input)?;
    if as_json {
        return print_pretty(&json!(known));
    }
    let number = |number: Option<String>| number.unwrap_or_else(|| "-".to_owned());
    let row = |one: &axiomrl_gymnasium::Known| {
        let (steps, solved) = (one.max_steps.map(|n| n.to_string()), one.reward_threshold.map(|n| n.to_string()));
        vec![one.id.clone(), number(steps), number(solved)]
    };
    print(&table(&["name", "steps", "solved"], &known.iter().map(row).collect::<Vec<_>>()))
}

fn object(info: &EnvEntry, observation: &Space, action: &Space) -> Value {
    let options: Vec<Value> =
        info.kwargs.iter().map(|(name, meaning)| json!({ "name": name, "meaning": meaning })).collect();
    json!({
        "name": info.name,
        "summary": info.summary,
        "max_steps": info.max_steps,
        "reward_threshold": info.reward_threshold,
        "observation_space": observation,
        "action_space": action,
        "env_kwargs": options,
    })
}

/// `Box(4)`, `Discrete(2)`, `MultiDiscrete(3, 3)`.
pub(super) fn short(space: &Space) -> String {
    let joined = |sizes: &[usize]| sizes.iter().map(usize::to_string).collect::<Vec<_>>().join(", ");
    let size = match space {
        Space::Box(space) => joined(&space.shape),
        Space::Discrete { n } | Space::MultiBinary { n } => n.to_string(),
        Space::MultiDiscrete { nvec } => joined(nvec),
        Space::Dict { entries } => entries.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(", "),
    };
    format!("{}({size})", space.kind())
}
