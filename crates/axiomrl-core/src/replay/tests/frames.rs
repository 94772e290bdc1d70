//! A store of single frames must give what a store of whole stacks gives.

use super::*;
use rand::RngExt;

const COUNT: usize = 3;
/// Two pixels of two channels.
const FRAME: usize = 4;
const CHUNK: usize = 2;

/// The last frames of an episode, as an environment shows them.
struct Stack(Vec<[u8; FRAME]>);

impl Stack {
    fn new(first: [u8; FRAME]) -> Self {
        Self(vec![first; COUNT])
    }

    fn push(&mut self, frame: [u8; FRAME]) {
        self.0.remove(0);
        self.0.push(frame);
    }

    fn shown(&self) -> Vec<u8> {
        (0..FRAME / CHUNK)
            .flat_map(|pixel| self.0.iter().flat_map(move |f| f[pixel * CHUNK..][..CHUNK].to_vec()))
            .collect()
    }
}

fn stores(capacity: usize, lanes: usize) -> [Replay; 2] {
    let whole = ReplaySpec { obs_dtype: DType::U8, obs_width: FRAME * COUNT, ..spec(capacity, lanes, 2) };
    let single = ReplaySpec { frames: FrameSpec { count: COUNT, chunk: CHUNK }, ..whole.clone() };
    [Replay::new(whole), Replay::new(single)]
}

/// The same life in both stores.
fn live(stores: &mut [Replay; 2], lanes: usize, steps: usize, seed: u64) {
    let mut rng = stream(seed, "frames");
    let mut stacks: Vec<Stack> = (0..lanes).map(|_| Stack::new(rng.random())).collect();
    for store in stores.iter_mut() {
        for (lane, stack) in stacks.iter().enumerate() {
            store.begin(lane, ObsRef::U8(&stack.shown()), &[]);
        }
    }
    for step in 0..steps {
        let lane = step % lanes;
        stacks[lane].push(rng.random());
        let last = stacks[lane].shown();
        let (terminated, truncated) = (rng.random_range(0..9) == 0, rng.random_range(0..11) == 0);
        if terminated || truncated {
            stacks[lane] = Stack::new(rng.random());
        }
        let next = stacks[lane].shown();
        for store in stores.iter_mut() {
            let reward = step as f32;
            store.push(lane, &[reward], reward, terminated, truncated, ObsRef::U8(&next), &[], ObsRef::U8(&last), &[]);
        }
        // Now and then somebody restarts the environment in the middle of an episode.
        if rng.random_range(0..13) == 0 {
            stacks[lane] = Stack::new(rng.random());
            stores.iter_mut().for_each(|store| store.begin(lane, ObsRef::U8(&stacks[lane].shown()), &[]));
        }
    }
}

fn all(replay: &Replay) -> Vec<Batch> {
    let mut found = Vec::new();
    for lane in 0..replay.lanes.len() {
        for number in replay.lanes[lane].oldest..replay.lanes[lane].sampleable {
            let mut batch = Batch::default();
            batch.resize(1, DType::U8, FRAME * COUNT, 1, 0);
            replay.gather(&[replay.row(lane, number)], 0, &mut batch);
            found.push(batch);
        }
    }
    found
}

#[test]
fn frames_are_put_together_again() {
    for (capacity, lanes) in [(1, 1), (7, 1), (20, 2), (64, 3)] {
        for steps in [3, 50, 200] {
            let mut both = stores(capacity, lanes);
            live(&mut both, lanes, steps, steps as u64);
            assert_eq!(all(&both[0]), all(&both[1]), "capacity {capacity}, {lanes} lanes, {steps} steps");
            let mut batches = [Batch::default(), Batch::default()];
            for (store, batch) in both.iter().zip(&mut batches).filter(|(store, _)| store.ready() > 0) {
                store.sample(32, 0.0, &mut stream(1, "store"), batch);
            }
            assert_eq!(batches[0], batches[1], "the way of storing changes no sample");
        }
    }
}

#[test]
fn a_store_of_frames_survives_its_file_and_goes_on() {
    let mut both = stores(20, 2);
    live(&mut both, 2, 90, 5);
    let mut bytes = Vec::new();
    both[1].write(&mut bytes).unwrap();
    let mut back = stores(20, 2);
    back[1].read(&mut &bytes[..]).unwrap();
    assert_eq!(all(&back[1]), all(&both[1]));
    let mut again = Vec::new();
    back[1].write(&mut again).unwrap();
    assert_eq!(again, bytes);
    assert!(back[0].read(&mut &bytes[..]).unwrap_err().to_string().contains("frame_stack"));
}
