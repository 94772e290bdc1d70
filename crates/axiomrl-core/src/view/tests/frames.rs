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

fn stores(capacity: usize, lanes: usize) -> [View<Owned>; 2] {
    let whole = RingSpec { widths: ObsWidths { floats: 0, bytes: FRAME * COUNT }, ..spec(capacity, lanes) };
    let single = RingSpec { byte_frames: FrameSpec { count: COUNT, chunk: CHUNK }, ..whole.clone() };
    [view_of(whole, 2, None), view_of(single, 2, None)]
}

fn bytes(values: &[u8]) -> ObsRef<'_> {
    ObsRef::of_bytes(1, values)
}

/// The same life in both stores.
fn live(stores: &mut [View<Owned>; 2], lanes: usize, steps: usize, seed: u64) {
    let mut rng = stream(seed, "frames");
    let mut stacks: Vec<Stack> = (0..lanes).map(|_| Stack::new(rng.random())).collect();
    for store in stores.iter_mut() {
        for (lane, stack) in stacks.iter().enumerate() {
            store.store.begin(lane, bytes(&stack.shown()), &[]);
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
            let (next, last) = (bytes(&next), bytes(&last));
            store.store.push(lane, &[reward], reward, terminated, truncated, next, &[], last, &[]);
        }
        // Now and then somebody restarts the environment in the middle of an episode.
        if rng.random_range(0..13) == 0 {
            stacks[lane] = Stack::new(rng.random());
            stores.iter_mut().for_each(|store| store.store.begin(lane, bytes(&stacks[lane].shown()), &[]));
        }
    }
}

#[test]
fn frames_are_put_together_again() {
    for (capacity, lanes) in [(1, 1), (7, 1), (20, 2), (64, 3)] {
        for steps in [3, 50, 200] {
            let mut both = stores(capacity, lanes);
            live(&mut both, lanes, steps, steps as u64);
            let [whole, single] = &mut both;
            assert_eq!(each(whole), each(single), "capacity {capacity}, {lanes} lanes, {steps} steps");
            let mut batches = [Batch::default(), Batch::default()];
            for (store, batch) in both.iter_mut().zip(&mut batches) {
                if store.ready() > 0 {
                    sample(store, 32, 0.0, &mut stream(1, "store"), batch);
                }
            }
            assert_eq!(batches[0], batches[1], "the way of storing changes no sample");
        }
    }
}

#[test]
fn a_store_of_frames_survives_its_file_and_goes_on() {
    let mut both = stores(20, 2);
    live(&mut both, 2, 90, 5);
    let file = stored::saved(&mut both[1]);
    let mut back = stores(20, 2);
    stored::load(&mut back[1], &file).unwrap();
    assert_eq!(each(&mut back[1]), each(&mut both[1]));
    assert_eq!(stored::saved(&mut back[1]), file);
    assert!(stored::load(&mut back[0], &file).unwrap_err().to_string().contains("frame_stack"));
}
