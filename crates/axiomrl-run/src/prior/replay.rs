//! The replay store of a run as recorded episodes.

use super::PriorError;
use crate::checkpoint::{self, CheckpointError, StoreReader};
use axiomrl_algos::StoreIo;
use axiomrl_core::{Ring, RingSpec};
use axiomrl_data::{DataError, Ending, EpisodeBuf, EpisodeReader, Metadata, Recording};
use axiomrl_envs::{ActionMap, Spaces};
use serde_json::Value;
use std::path::Path;

/// Opens what the run at `path` has stored, with its actions in the environment's units.
pub fn open(path: &Path) -> Result<impl EpisodeReader + use<>, PriorError> {
    let folder = checkpoint::find(path)?;
    let spaces = checkpoint::load_policy(&folder)?.spaces;
    let saved = checkpoint::load(&folder)?;
    let refused = |problem: &str| DataError::Invalid(format!("{}: {problem}", path.display()));
    let Some(spaces) = spaces else { return Err(refused("it does not say what it was recorded in").into()) };
    let number = |place: &str| saved.config.pointer(place).and_then(Value::as_u64).map(|number| number as usize);
    let (Some(capacity), Some(lanes)) = (number("/algo_kwargs/buffer_capacity"), number("/num_envs")) else {
        return Err(refused("its algorithm keeps no replay store; take a run of one that does, `sac` say").into());
    };
    let mut ring = Ring::new(spec(&spaces, capacity.max(1), lanes.max(1)));
    StoreReader(&saved)
        .paged("replay", &mut ring)
        .map_err(|source| CheckpointError::damaged(&folder, "its replay store", source.to_string()))?;
    let mut recording = Recording::new(path.display().to_string(), spaces);
    recording.metadata = Metadata {
        env_id: saved.config["env_id"].as_str().map(str::to_owned),
        algorithm: saved.config["algo"].as_str().map(str::to_owned),
        ..Metadata::default()
    };
    let map = ActionMap::of(&recording.spaces.action)?;
    for lane in 0..lanes.max(1) {
        recording.episodes.extend(ring.stored_episodes(lane).map(|stored| {
            let mut actions = stored.action.clone();
            map.to_env(&stored.action, &mut actions);
            let ending = match (stored.terminated, stored.truncated) {
                (true, _) => Ending::Terminated,
                (false, true) => Ending::Truncated,
                (false, false) => Ending::Stopped,
            };
            EpisodeBuf { obs: stored.obs, masks: stored.masks, actions, rewards: stored.reward, ending }
        }));
    }
    if recording.episodes.is_empty() {
        return Err(refused("its replay store is empty; let it run longer").into());
    }
    Ok(recording.into_reader())
}

fn spec(spaces: &Spaces, capacity: usize, lanes: usize) -> RingSpec {
    let obs = spaces.obs();
    RingSpec {
        capacity,
        lanes,
        widths: obs.widths,
        byte_frames: obs.byte_frames(),
        action_width: spaces.action.width(),
        mask_width: spaces.masks,
    }
}
