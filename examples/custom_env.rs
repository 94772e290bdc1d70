//! An environment of one's own, known by name: run files, logs, checkpoints, `resume`, `eval` and all other commands work
//! with it as with the built-in ones. The only dependency is `axiomrl`.
//!
//! ```sh
//! cargo run --release --example custom_env -- train examples/corridor.yaml
//! cargo run --release --example custom_env -- envs
//! ```

use axiomrl::prelude::*;
use std::process::ExitCode;

/// A corridor with a treasure at one end and a small coin at the other. The clock ends the rest.
struct Corridor {
    observation: Space,
    action: Space,
    length: usize,
    place: usize,
}

impl Corridor {
    fn new(length: usize) -> Self {
        Self {
            observation: Space::Box(BoxSpace::uniform(1, 0.0, 1.0)),
            action: Space::Discrete { n: 2 },
            length,
            place: length / 2,
        }
    }
}

impl Env for Corridor {
    fn observation_space(&self) -> &Space {
        &self.observation
    }

    fn action_space(&self) -> &Space {
        &self.action
    }

    fn reset(&mut self, rng: &mut Rng) -> Result<(), EnvError> {
        // Anywhere but at the ends.
        self.place = 1 + random::below(rng, self.length - 2);
        Ok(())
    }

    fn step(&mut self, action: &[f32], _rng: &mut Rng) -> Result<Step, EnvError> {
        self.place = if action[0] == 1.0 { self.place + 1 } else { self.place - 1 };
        let reward = match self.place {
            0 => 0.1,
            last if last + 1 == self.length => 1.0,
            _ => -0.01,
        };
        Ok(Step { reward, terminated: self.place == 0 || self.place + 1 == self.length, truncated: false })
    }

    fn observe(&self, mut out: ObsMut<'_>) {
        out.write(&[self.place as f32 / (self.length - 1) as f32]);
    }

    // With these two a run that is killed and resumed ends with the same bytes as one that was not.
    fn snapshot(&self) -> Option<Vec<u8>> {
        Some(snapshot::to_bytes(&self.place))
    }

    fn restore(&mut self, bytes: &[u8]) -> Result<(), EnvError> {
        let place: usize = snapshot::from_bytes("Corridor", bytes)?;
        if place >= self.length {
            return Err(EnvError::bad_snapshot("Corridor", format!("place {place} of {}", self.length)));
        }
        self.place = place;
        Ok(())
    }
}

fn corridor(options: &axiomrl::serde_json::Map<String, axiomrl::serde_json::Value>) -> Result<Box<dyn Env>, EnvError> {
    let length = match options.get("length") {
        None => 9,
        Some(value) => match value.as_u64() {
            Some(length @ 3..=1000) => length as usize,
            _ => {
                let problem = format!("option `length` must be a whole number from 3 to 1000, not {value}");
                let key = "env_kwargs.length".to_owned();
                return Err(EnvError::BadSetting { env: "Corridor-v0".to_owned(), key, problem });
            }
        },
    };
    Ok(Box::new(TimeLimit::new(Corridor::new(length), 100)))
}

fn main() -> ExitCode {
    let mut catalogue = Catalogue::builtin();
    let factory = WithOptions::new(&["length"], corridor);
    if let Err(error) = catalogue.environment("Corridor-v0", "Walk to the better end of a corridor", factory) {
        eprintln!("error: {error}");
        return ExitCode::FAILURE;
    }
    axiomrl::cli::main_with(catalogue)
}
