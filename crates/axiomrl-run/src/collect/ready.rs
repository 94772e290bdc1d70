//! Small sets of recorded episodes that anybody can make again: nothing is downloaded, and all follows from fixed seeds.

use super::{Amount, Behaviour, CollectError, Noise, collect, record};
use axiomrl_data::Recording;
use axiomrl_envs::names::{did_you_mean, nearest, short};
use axiomrl_envs::scripted::expert;
use axiomrl_envs::{EnvSource, Wrapping, registry};

/// A set that can be made.
pub struct Ready {
    /// As Minari names it.
    pub id: &'static str,
    pub env_id: &'static str,
    pub summary: &'static str,
    recipe: Recipe,
}

enum Recipe {
    /// The scripted expert, so disturbed.
    Expert(Amount, Noise),
    /// Half of the transitions random, half the expert's, so disturbed.
    HalfRandom(u64, Noise),
    /// Whole episodes of an expert whose actions are random less and less often, until so many transitions are there.
    Learning(u64),
}

const fn std(std: f32) -> Noise {
    Noise { std, epsilon: 0.0 }
}

const fn epsilon(epsilon: f64) -> Noise {
    Noise { std: 0.0, epsilon }
}

use Amount::{Episodes, Transitions};
use Recipe::{Expert, HalfRandom, Learning};

/// All of them.
pub static SETS: [Ready; 11] = [
    Ready {
        id: "pendulum/expert-v0",
        env_id: "Pendulum-v1",
        summary: "25 episodes of an expert",
        recipe: Expert(Episodes(25), std(0.05)),
    },
    Ready {
        id: "pendulum/narrow-v0",
        env_id: "Pendulum-v1",
        summary: "10,000 transitions of an expert with little noise: nothing shows what else could be done",
        recipe: Expert(Transitions(10_000), std(0.1)),
    },
    Ready {
        id: "pendulum/medium-v0",
        env_id: "Pendulum-v1",
        summary: "10,000 transitions of an expert whose actions are random six times of ten",
        recipe: Expert(Transitions(10_000), epsilon(0.6)),
    },
    Ready {
        id: "pendulum/mixed-v0",
        env_id: "Pendulum-v1",
        summary: "20,000 transitions, half of them random actions and half an expert with little noise",
        recipe: HalfRandom(20_000, std(0.1)),
    },
    Ready {
        id: "cartpole/expert-v0",
        env_id: "CartPole-v1",
        summary: "20 episodes of an expert",
        recipe: Expert(Episodes(20), epsilon(0.02)),
    },
    Ready {
        id: "cartpole/replay-v0",
        env_id: "CartPole-v1",
        summary: "about 20,000 transitions as an agent sees them that learns: from random actions to an expert's",
        recipe: Learning(20_000),
    },
    Ready {
        id: "cartpolefixedhorizon/expert-v0",
        env_id: "CartPoleFixedHorizon-v0",
        summary: "60 episodes of an expert",
        recipe: Expert(Episodes(60), epsilon(0.02)),
    },
    Ready {
        id: "mountaincarcontinuous/demos-v0",
        env_id: "MountainCarContinuous-v0",
        summary: "20 demonstrations that drive the way the car rolls",
        recipe: Expert(Episodes(20), std(0.1)),
    },
    Ready {
        id: "acrobot/expert-v0",
        env_id: "Acrobot-v1",
        summary: "20 episodes of an expert",
        recipe: Expert(Episodes(20), epsilon(0.0)),
    },
    Ready {
        id: "context/expert-v0",
        env_id: "Context-v0",
        summary: "2,000 contexts and what they call for",
        recipe: Expert(Transitions(2_000), epsilon(0.0)),
    },
    Ready {
        id: "pointmass/mixed-v0",
        env_id: "PointMass-v0",
        summary: "20,000 transitions, half of them random actions and half an expert with little noise",
        recipe: HalfRandom(20_000, std(0.1)),
    },
];

/// Fixed, or no two would have the same set.
const SEED: u64 = 2_023;

/// The set called `id`; the error names the nearest.
pub fn find(id: &str) -> Result<&'static Ready, CollectError> {
    SETS.iter().find(|set| set.id == id).ok_or_else(|| {
        let ids: Vec<&str> = SETS.iter().map(|set| set.id).collect();
        let near = nearest(id, &ids).map_or(String::new(), did_you_mean);
        CollectError::Invalid(format!("there is no ready set `{}`{near}; there are {}", short(id), ids.join(", ")))
    })
}

impl Ready {
    /// Plays its episodes.
    pub fn make(&self) -> Result<Recording, CollectError> {
        let info = registry::info(self.env_id)?;
        let source = registry::source(self.env_id, &Default::default(), Wrapping::default())?;
        let mut recording = self.play(source.as_ref())?;
        let metadata = &mut recording.metadata;
        metadata.dataset_id = Some(self.id.to_owned());
        metadata.env_id = Some(self.env_id.to_owned());
        metadata.max_episode_steps = info.max_steps;
        metadata.algorithm = Some("scripted expert".to_owned());
        metadata.author = vec!["AxiomRL".to_owned()];
        metadata.description = Some(format!("{}: {}.", self.env_id, self.summary));
        Ok(recording)
    }

    fn play(&self, source: &dyn EnvSource) -> Result<Recording, CollectError> {
        let expert = expert(self.env_id)
            .ok_or_else(|| CollectError::Invalid(format!("`{}` has no scripted expert", self.env_id)))?;
        match self.recipe {
            Expert(amount, noise) => {
                record(self.id, source, &mut [(Behaviour::Scripted(expert), 1.0)], amount, SEED, noise)
            }
            HalfRandom(size, noise) => {
                let both = &mut [(Behaviour::Random, 0.5), (Behaviour::Scripted(expert), 0.5)];
                record(self.id, source, both, Transitions(size), SEED, noise)
            }
            Learning(size) => {
                let mut recording = Recording::new(self.id, source.spaces()?);
                let mut done = 0;
                while done < size {
                    let noise = epsilon(1.0 - done as f64 / size as f64);
                    let seed = SEED + recording.episodes.len() as u64;
                    let expert = &mut [(Behaviour::Scripted(expert), 1.0)];
                    collect(source, expert, Episodes(1), seed, noise, &mut |episode| {
                        done += episode.steps() as u64;
                        recording.episodes.push(episode);
                        Ok(())
                    })?;
                }
                Ok(recording)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axiomrl_data::Ending;

    fn made(id: &str) -> (Recording, Vec<f64>) {
        let recording = find(id).unwrap().make().unwrap();
        let returns = recording.episodes.iter().map(|episode| episode.episode_return()).collect();
        (recording, returns)
    }

    fn mean(numbers: &[f64]) -> f64 {
        numbers.iter().sum::<f64>() / numbers.len() as f64
    }

    #[test]
    fn the_four_of_pendulum_differ_as_their_names_say() {
        let means = ["expert", "narrow", "medium", "mixed"].map(|kind| {
            let (recording, returns) = made(&format!("pendulum/{kind}-v0"));
            assert!(recording.episodes.iter().all(|e| e.steps() == 200 && e.ending == Ending::Truncated));
            (recording.transitions(), mean(&returns))
        });
        assert_eq!(means.map(|(transitions, _)| transitions), [5_000, 10_000, 10_000, 20_000]);
        assert!((-200.0..-110.0).contains(&means[0].1), "{means:?}");
        assert!((-185.0..-120.0).contains(&means[1].1), "{means:?}");
        assert!((-800.0..-600.0).contains(&means[2].1), "{means:?}");
        let (_, returns) = made("pendulum/mixed-v0");
        let good = returns.iter().filter(|&&value| value > -450.0).count();
        assert_eq!(returns.len(), 100);
        assert!((48..=54).contains(&good), "half of the episodes are an expert's, not {good} of 100");
        // Not in two blocks: the first third has as many of both.
        assert!((15..=18).contains(&returns[..32].iter().filter(|&&value| value > -450.0).count()));
    }

    #[test]
    fn the_replay_of_cartpole_goes_from_falling_at_once_to_not_at_all() {
        let (recording, returns) = made("cartpole/replay-v0");
        assert!((20_000..20_500).contains(&recording.transitions()), "{}", recording.transitions());
        assert!(mean(&returns[..100]) < 40.0);
        assert_eq!(returns[returns.len() - 5..], [500.0; 5]);
        let between = returns.iter().filter(|&&value| (100.0..200.0).contains(&value)).count();
        assert!(between >= 10, "{between} episodes end about where a return of 150 is asked for");
        for episode in &recording.episodes {
            assert_eq!(episode.ending == Ending::Truncated, episode.steps() == 500, "none is cut short");
        }
    }

    #[test]
    fn demonstrations_earn_what_experts_earn() {
        let (recording, returns) = made("mountaincarcontinuous/demos-v0");
        assert!((2_000..2_300).contains(&recording.transitions()), "{}", recording.transitions());
        assert!((90.5..92.0).contains(&mean(&returns)), "{}", mean(&returns));
        assert!(recording.episodes.iter().all(|episode| episode.ending == Ending::Terminated));
        let (recording, returns) = made("acrobot/expert-v0");
        assert_eq!(recording.episodes.len(), 20);
        assert!(mean(&returns) > -95.0, "{}", mean(&returns));
        assert!(mean(&made("cartpole/expert-v0").1) > 495.0);
        assert!(mean(&made("cartpolefixedhorizon/expert-v0").1) > 495.0);
        let (recording, returns) = made("context/expert-v0");
        assert_eq!((recording.transitions(), mean(&returns)), (2_000, 50.0));
        assert_eq!(made("pointmass/mixed-v0").0.transitions(), 20_000);
    }

    #[test]
    fn they_are_the_same_every_time_and_say_what_they_are() {
        for id in ["acrobot/expert-v0", "mountaincarcontinuous/demos-v0"] {
            let (first, second) = (made(id).0, made(id).0);
            assert_eq!(first, second);
            assert_eq!(first.metadata.dataset_id.as_deref(), Some(id));
            assert!(first.metadata.env_id.is_some() && first.metadata.max_episode_steps.is_some());
        }
        let refused = find("pendulum/medum-v0").err().map(|error| error.to_string()).unwrap_or_default();
        assert!(refused.contains("did you mean `pendulum/medium-v0`?") && refused.contains("acrobot/expert-v0"));
    }
}
