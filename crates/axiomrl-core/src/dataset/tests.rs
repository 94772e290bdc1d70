use super::*;
use crate::{Batch, BatchSource, SampleOptions, View, Window, stream};
use axiomrl_envs::{BoxSpace, FrameSpec};

fn spaces() -> Spaces {
    Spaces::new(Space::Box(BoxSpace::uniform(1, -9.0, 9.0)), Space::Box(BoxSpace::uniform(1, -2.0, 2.0)))
}

/// Two steps, seen 1, 2 and then 3.
const EPISODE: Episode<'_> = Episode {
    obs: ObsRef { rows: 3, floats: &[1.0, 2.0, 3.0], bytes: &[] },
    masks: &[],
    action: &[0.5, -1.0],
    reward: &[10.0, 20.0],
    terminated: &[false, true],
    truncated: &[false, false],
};

fn built(episodes: &[Episode<'_>]) -> Dataset {
    let mut builder = DatasetBuilder::new(spaces()).unwrap();
    episodes.iter().for_each(|episode| builder.push(episode).unwrap());
    builder.build().unwrap()
}

fn problem(spaces: Spaces, episode: &Episode<'_>) -> String {
    DatasetBuilder::new(spaces).unwrap().push(episode).unwrap_err().to_string()
}

#[test]
fn episodes_become_transitions_that_can_be_drawn() {
    // The second one just stops: its last step is no end of the world.
    let stops = Episode { obs: ObsRef::of_floats(3, &[5.0, 6.0, 7.0]), terminated: &[false, false], ..EPISODE };
    let dataset = built(&[EPISODE, stops]);
    assert_eq!((dataset.len(), dataset.spec().capacity, dataset.spaces()), (4, 4, &spaces()));
    assert_eq!((dataset.episode_of(0, 1), dataset.episode_of(0, 2)), (0..2, 2..4));
    // Two views of one store.
    let mut views = [1, 2].map(|n_step| View::new(dataset.clone(), Window::steps(n_step, 0.5), None, None).unwrap());
    for (view, expected) in views.iter_mut().zip([
        [(1.0, 10.0, 0.5, 2.0), (2.0, 20.0, 0.0, 3.0), (5.0, 10.0, 0.5, 6.0), (6.0, 20.0, 0.5, 7.0)],
        [(1.0, 20.0, 0.0, 3.0), (2.0, 20.0, 0.0, 3.0), (5.0, 20.0, 0.25, 7.0), (6.0, 20.0, 0.5, 7.0)],
    ]) {
        assert_eq!(view.ready(), 4);
        let (mut batch, mut rng) = (Batch::default(), stream(1, "dataset"));
        batch.resize(&view.shape(), 64);
        let mut options = SampleOptions { rng: &mut rng, beta: 0.0, reward: Default::default() };
        view.fill(0..64, &mut options, &mut batch).unwrap();
        for row in 0..64 {
            let (obs, next) = (batch.obs().floats[row], batch.next_obs().floats[row]);
            let found = (obs, batch.reward[row], batch.discount[row], next);
            assert_eq!(found, expected[batch.index[row] as usize]);
        }
    }
}

#[test]
fn many_episodes_grow_the_store() {
    let dataset = built(&[EPISODE; 1500]);
    assert_eq!((dataset.len(), dataset.spec().capacity, dataset.oldest(0)), (3000, 3000, 0));
    assert_eq!(dataset.episode_of(0, 2999), 2998..3000);
    // Room that was taken before changes nothing, be it too little or too much.
    for room in [1, 2999, 5000] {
        let mut builder = DatasetBuilder::with_capacity(spaces(), room).unwrap();
        (0..1500).for_each(|_| builder.push(&EPISODE).unwrap());
        let roomy = builder.build().unwrap();
        assert_eq!((roomy.sha256(), roomy.len(), roomy.spec().capacity), (dataset.sha256(), 3000, 3000));
        assert_eq!(roomy.episodes(), dataset.episodes());
    }
}

#[test]
fn the_hash_is_that_of_the_content() {
    let one = built(&[EPISODE, EPISODE]).sha256();
    assert_eq!(one, built(&[EPISODE, EPISODE]).sha256());
    for other in [
        Episode { reward: &[10.0, 20.5], ..EPISODE },
        Episode { action: &[0.5, 1.0], ..EPISODE },
        Episode { obs: ObsRef::of_floats(3, &[1.0, 2.0, 4.0]), ..EPISODE },
        Episode { terminated: &[false, false], truncated: &[false, true], ..EPISODE },
    ] {
        assert_ne!(one, built(&[EPISODE, other]).sha256());
    }
    assert_ne!(one, built(&[EPISODE]).sha256());
}

#[test]
fn mistakes_are_named_with_their_place() {
    let mut builder = DatasetBuilder::new(spaces()).unwrap();
    builder.push(&EPISODE).unwrap();
    let nan = Episode { reward: &[0.0, f32::NAN], ..EPISODE };
    assert_eq!(builder.push(&nan).unwrap_err().to_string(), "dataset, episode 1, step 1: the reward is NaN");
    builder.push(&EPISODE).unwrap();
    assert_eq!(builder.build().unwrap().sha256(), built(&[EPISODE; 2]).sha256(), "nothing was added");

    for (episode, words) in [
        (Episode { action: &[0.5, 1.5], ..EPISODE }, "step 1: action: 1.5 does not lie in [-1, 1]"),
        (Episode { action: &[f32::NAN, 0.0], ..EPISODE }, "step 0: action: NaN does not lie"),
        (Episode { obs: ObsRef::of_floats(3, &[0.0, 0.0, f32::INFINITY]), ..EPISODE }, "step 2: inf was observed"),
        (Episode { obs: ObsRef::of_floats(2, &[0.0, 0.0]), ..EPISODE }, "2 observations for 2 steps"),
        (Episode { terminated: &[true, true], ..EPISODE }, "step 0: the episode ends here, and 1 more steps follow"),
        (Episode { truncated: &[false], ..EPISODE }, "1 `truncated` marks for 2 steps"),
        (Episode { reward: &[], ..EPISODE }, "no steps"),
        (Episode { masks: &[true; 3], ..EPISODE }, "3 mask entries"),
    ] {
        let error = problem(spaces(), &episode);
        assert!(error.starts_with("dataset, episode 0") && error.contains(words), "{error}");
    }
    let choices = Spaces { action: Space::Discrete { n: 3 }, ..spaces() };
    for action in [[0.0, 3.0], [0.0, -1.0], [0.0, 0.5]] {
        let error = problem(choices.clone(), &Episode { action: &action, ..EPISODE });
        assert!(error.contains("step 1: action") && error.contains("0 to 2"), "{error}");
    }
    let named = Spaces { observation: Space::Discrete { n: 3 }, ..spaces() };
    assert!(problem(named, &EPISODE).contains("step 2: part `` of the observation: 3 is none"));
    let empty = DatasetBuilder::new(spaces()).unwrap().build().unwrap_err().to_string();
    assert!(empty.contains("no transitions"), "{empty}");
}

#[test]
fn stacked_frames_must_be_those_that_the_store_shows_again() {
    let image = BoxSpace { frames: 3, ..BoxSpace::image(1, 2, 3) };
    let spaces = Spaces { observation: Space::Box(image), ..spaces() };
    assert_eq!(spaces.obs().byte_frames(), FrameSpec { count: 3, chunk: 1 });
    // Two pixels, each with its last three values.
    let right = [[1, 1, 1, 5, 5, 5], [1, 1, 2, 5, 5, 6], [1, 2, 3, 5, 6, 7]];
    let mut builder = DatasetBuilder::new(spaces.clone()).unwrap();
    builder.push(&Episode { obs: ObsRef::of_bytes(3, right.as_flattened()), ..EPISODE }).unwrap();
    let mut view = View::new(builder.build().unwrap(), Window::steps(1, 0.5), None, None).unwrap();
    let (mut batch, mut rng) = (Batch::default(), stream(1, "dataset"));
    batch.resize(&view.shape(), 16);
    let mut options = SampleOptions { rng: &mut rng, beta: 0.0, reward: Default::default() };
    view.fill(0..16, &mut options, &mut batch).unwrap();
    for row in 0..16 {
        let t = batch.index[row] as usize;
        assert_eq!((batch.obs().row(row).bytes, batch.next_obs().row(row).bytes), (&right[t][..], &right[t + 1][..]));
    }
    let padded = [[0, 0, 1, 0, 0, 5], [0, 1, 2, 0, 5, 6], [1, 2, 3, 5, 6, 7]];
    let error = problem(spaces.clone(), &Episode { obs: ObsRef::of_bytes(3, padded.as_flattened()), ..EPISODE });
    assert!(error.contains("step 0: the first observation"), "{error}");
    let jumps = [right[0], right[2], right[2]];
    let error = problem(spaces, &Episode { obs: ObsRef::of_bytes(3, jumps.as_flattened()), ..EPISODE });
    assert!(error.contains("step 1: the older frames"), "{error}");
}

#[test]
fn transitions_can_be_asked_for_by_number() {
    let mut builder = DatasetBuilder::new(spaces()).unwrap();
    for (first, steps, terminated) in [(0.0, 3, true), (10.0, 2, false)] {
        let obs: Vec<f32> = (0..=steps).map(|t| first + t as f32).collect();
        let action: Vec<f32> = (0..steps).map(|t| 0.1 * t as f32).collect();
        let mut ends = vec![false; steps];
        ends[steps - 1] = terminated;
        let reward: Vec<f32> = obs[..steps].iter().map(|x| x + 1.0).collect();
        builder
            .push(&Episode {
                obs: ObsRef::of_floats(steps + 1, &obs),
                masks: &[],
                action: &action,
                reward: &reward,
                terminated: &ends,
                truncated: &vec![false; steps],
            })
            .unwrap();
    }
    let data = builder.build().unwrap();
    assert_eq!(data.episodes(), [0..3, 3..5]);
    assert_eq!((data.reward(4), data.terminated(2), data.terminated(4)), (12.0, true, false));
    assert_eq!(data.action(1), [0.1]);
    let mut batch = Batch::default();
    let scale = RewardScale { scale: 2.0, ..RewardScale::IDENTITY };
    data.gather(&[4, 2, 0], 0.9, scale, &mut batch).unwrap();
    assert_eq!(batch.obs().floats, [11.0, 2.0, 0.0]);
    assert_eq!(batch.next_obs().floats, [12.0, 3.0, 1.0]);
    assert_eq!(batch.reward, [24.0, 6.0, 2.0]);
    assert_eq!((batch.discount, batch.index), (vec![0.9, 0.0, 0.9], vec![4, 2, 0]));
}
