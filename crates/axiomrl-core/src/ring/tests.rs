//! What the store keeps, in memory and in pages.

use super::*;
use crate::{PagedStore, stream};
use proptest::prelude::*;
use rand::RngExt;
use std::collections::BTreeMap;
use std::io;

/// A number to see and a number to do.
pub(crate) fn spec(capacity: usize, lanes: usize) -> RingSpec {
    RingSpec {
        capacity,
        lanes,
        widths: ObsWidths { floats: 1, bytes: 0 },
        byte_frames: FrameSpec::SINGLE,
        action_width: 1,
        mask_width: 0,
    }
}

/// Pages of four transitions, so that there are many.
fn ring(spec: RingSpec) -> Ring {
    Ring { page: 4, ..Ring::new(spec) }
}

fn kinds() -> [RingSpec; 3] {
    let both = ObsWidths { floats: 2, bytes: 6 };
    let frames = FrameSpec { count: 3, chunk: 1 };
    [
        spec(20, 1),
        RingSpec { widths: both, mask_width: 2, action_width: 2, ..spec(30, 3) },
        RingSpec { widths: both, byte_frames: frames, ..spec(13, 2) },
    ]
}

/// One more step of a random lane; now and then an end, or a restart from outside.
fn step(ring: &mut Ring, rng: &mut crate::Rng) {
    let spec = ring.spec.clone();
    let obs = |rng: &mut crate::Rng| {
        let mut obs = ObsBuf::zeros(spec.widths, 1);
        obs.floats.iter_mut().for_each(|x| *x = rng.random());
        obs.bytes.iter_mut().for_each(|x| *x = rng.random());
        obs
    };
    let mask = vec![rng.random(); spec.mask_width];
    let lane = rng.random_range(0..spec.lanes);
    let (next, last) = (obs(rng), obs(rng));
    if !ring.lanes[lane].begun || rng.random_range(0..9) == 0 {
        return ring.begin(lane, next.as_ref(), &mask);
    }
    let (terminated, truncated) = (rng.random_range(0..6) == 0, rng.random_range(0..8) == 0);
    let action = vec![rng.random(); spec.action_width];
    ring.push(lane, &action, rng.random(), terminated, truncated, next.as_ref(), &mask, last.as_ref(), &mask);
}

fn lived(spec: RingSpec, steps: usize) -> Ring {
    let (mut ring, mut rng) = (ring(spec), stream(3, "ring"));
    (0..steps).for_each(|_| step(&mut ring, &mut rng));
    ring
}

type Pages = BTreeMap<u64, Vec<u8>>;

fn page(ring: &Ring, page: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    ring.write_page(page, &mut bytes).unwrap();
    bytes
}

fn pages(ring: &Ring) -> Pages {
    ring.pages().into_iter().map(|number| (number, page(ring, number))).collect()
}

fn load(ring: &mut Ring, head: &[u8], pages: &Pages) -> io::Result<()> {
    ring.read(head, &mut |page| match pages.get(&page) {
        Some(bytes) => Ok(Box::new(io::Cursor::new(bytes.clone()))),
        None => Err(io::Error::other(format!("no page {page}"))),
    })
}

#[test]
fn capacity_is_rounded_up_to_whole_lanes() {
    let mut ring = Ring::new(spec(5, 2));
    let obs = ObsRef::of_floats(1, &[0.0]);
    for lane in 0..2 {
        ring.begin(lane, obs, &[]);
        (0..20).for_each(|_| ring.push(lane, &[0.0], 0.0, false, false, obs, &[], obs, &[]));
    }
    assert_eq!((ring.len(), ring.oldest(1), ring.next(1)), (6, 17, 20));
    assert_eq!(ring.named(ring.index(1, 18)), (1, 18));
}

#[test]
fn the_pool_of_final_observations_does_not_grow_for_ever() {
    let mut ring = Ring::new(spec(8, 2));
    let obs = ObsRef::of_floats(1, &[0.0]);
    (0..2).for_each(|lane| ring.begin(lane, obs, &[]));
    for t in 0..1_000 {
        let last = [t as f32];
        for lane in 0..2 {
            ring.push(lane, &[1.0], 1.0, t % 3 != 0, t % 3 == 0, obs, &[], ObsRef::of_floats(1, &last), &[]);
        }
    }
    // Four steps of each lane are kept, and one more end is there while the oldest is being replaced.
    assert!(ring.finals.rows() <= 10, "{}", ring.finals.rows());
    assert!((996..1_000).all(|n| ring.floats_after(0, n, &(0..1)) == [n as f32]));
}

#[test]
fn the_longest_stacks_are_counted_without_overflow() {
    let frames = FrameSpec { count: 256, chunk: 1 };
    let mut ring =
        Ring::new(RingSpec { widths: ObsWidths { floats: 0, bytes: 256 }, byte_frames: frames, ..spec(4, 1) });
    let obs = [0; 256];
    ring.begin(0, ObsRef::of_bytes(1, &obs), &[]);
    for _ in 0..300 {
        ring.push(0, &[0.0], 0.0, false, false, ObsRef::of_bytes(1, &obs), &[], ObsRef::of_bytes(1, &obs), &[]);
    }
    assert!(ring.age.contains(&255));
}

#[test]
fn a_store_grows_while_nothing_was_dropped() {
    let (mut grown, mut large) = (ring(spec(3, 1)), ring(spec(40, 1)));
    let (mut one, mut two) = (stream(4, "ring"), stream(4, "ring"));
    for _ in 0..40 {
        if grown.len() == grown.spec.capacity {
            grown.set_capacity(2 * grown.spec.capacity);
        }
        step(&mut grown, &mut one);
        step(&mut large, &mut two);
    }
    grown.set_capacity(40);
    grown.shrink_to_fit();
    assert_eq!((grown.head(), pages(&grown)), (large.head(), pages(&large)));
}

#[test]
fn pages_are_of_a_megabyte_or_two() {
    let image = ObsWidths { floats: 0, bytes: 4 * 84 * 84 };
    let frames = FrameSpec { count: 4, chunk: 1 };
    for (spec, bytes) in [
        (RingSpec { widths: ObsWidths { floats: 17, bytes: 0 }, ..spec(9, 1) }, 4 * 17 + 4 + 4 + 1),
        (RingSpec { widths: image, byte_frames: frames, ..spec(9, 1) }, 84 * 84 + 4 + 4 + 2),
        (RingSpec { widths: image, ..spec(9, 1) }, 4 * 84 * 84 + 4 + 4 + 1),
    ] {
        let page = Ring::new(spec).page * bytes;
        assert!((1_000_000..=2 << 20).contains(&page), "{page}");
    }
}

#[test]
fn a_final_page_never_changes() {
    for spec in kinds() {
        let (mut ring, mut rng) = (ring(spec), stream(3, "ring"));
        let mut known = Pages::new();
        let mut found = 0;
        for _ in 0..400 {
            step(&mut ring, &mut rng);
            for number in ring.pages().into_iter().filter(|&page| ring.is_final(page)) {
                let bytes = page(&ring, number);
                found += usize::from(!known.contains_key(&number));
                assert_eq!(*known.entry(number).or_insert_with(|| bytes.clone()), bytes);
            }
        }
        assert!(found > 10, "{found}");
    }
}

#[test]
fn a_page_whose_last_step_may_still_be_marked_is_not_final() {
    let mut ring = ring(spec(20, 1));
    let obs = ObsRef::of_floats(1, &[0.0]);
    ring.begin(0, obs, &[]);
    (0..4).for_each(|_| ring.push(0, &[0.0], 0.0, false, false, obs, &[], obs, &[]));
    let before = page(&ring, 0);
    assert!(!ring.is_final(0));
    ring.begin(0, obs, &[]);
    assert_ne!(page(&ring, 0), before);
    ring.push(0, &[0.0], 0.0, false, false, obs, &[], obs, &[]);
    assert!(ring.is_final(0) && !ring.is_final(1));
    assert!(ring.write_page(9, &mut Vec::new()).is_err() && !ring.is_final(u64::MAX));
}

#[test]
fn checkpoints_that_take_over_final_pages_are_whole() {
    for spec in kinds() {
        let (mut ring, mut rng) = (ring(spec.clone()), stream(5, "ring"));
        let mut last = Pages::new();
        for round in 0..40 {
            (0..round % 13).for_each(|_| step(&mut ring, &mut rng));
            let take_over = |number: u64| match last.get(&number) {
                Some(bytes) if ring.is_final(number) => bytes.clone(),
                _ => page(&ring, number),
            };
            // A page is linked only if it was final when it was written.
            let now: Pages = ring.pages().into_iter().map(|number| (number, take_over(number))).collect();
            let mut back = Ring { page: 4, ..Ring::new(spec.clone()) };
            load(&mut back, &ring.head(), &now).unwrap();
            assert_eq!((back.head(), pages(&back)), (ring.head(), pages(&ring)));
            assert_eq!((back.len(), &back.lanes), (ring.len(), &ring.lanes));
            last = now.into_iter().filter(|&(number, _)| ring.is_final(number)).collect();
        }
    }
}

#[test]
fn a_foreign_or_cut_file_is_refused_and_changes_nothing() {
    let spec = &kinds()[1];
    let mut ring = lived(spec.clone(), 70);
    let (head, good) = (ring.head(), pages(&ring));
    let other = lived(RingSpec { action_width: 3, ..spec.clone() }, 70);
    let error = load(&mut ring, &other.head(), &pages(&other)).unwrap_err().to_string();
    assert!(error.contains("action width = 3, this run has 2"), "{error}");
    for length in 0..head.len() {
        assert!(load(&mut ring, &head[..length], &good).is_err(), "head cut at {length}");
    }
    assert!(load(&mut ring, &[&head[..], &[0]].concat(), &good).is_err(), "a longer head");
    for (&number, bytes) in &good {
        for length in 0..bytes.len() {
            let mut cut = good.clone();
            cut.get_mut(&number).unwrap().truncate(length);
            assert!(load(&mut ring, &head, &cut).is_err(), "page {number} cut at {length}");
        }
        let mut longer = good.clone();
        longer.get_mut(&number).unwrap().push(0);
        assert!(load(&mut ring, &head, &longer).is_err());
        let mut lost = good.clone();
        lost.remove(&number);
        assert!(load(&mut ring, &head, &lost).unwrap_err().to_string().contains("no page"));
    }
    assert_eq!((ring.head(), pages(&ring)), (head, good));
}

#[test]
fn impossible_counters_are_refused() {
    let mut ring = lived(spec(20, 1), 60);
    let (head, good) = (ring.head(), pages(&ring));
    let Lane { next, episode, .. } = ring.lanes[0];
    assert!(next > 30);
    // After the ten numbers of the header: begun, next, episode.
    for (counter, value) in [(0, 0), (0, 2), (1, u64::MAX), (1, 1 << 60), (1, 0), (2, next + 1), (2, episode - 1)] {
        let mut forged = head.clone();
        let at = 8 * (10 + counter);
        forged[at..at + 8].copy_from_slice(&value.to_le_bytes());
        let error = load(&mut ring, &forged, &good).unwrap_err().to_string();
        assert!(error.contains("impossible counters"), "{counter} = {value}: {error}");
    }
    // A page of an earlier time.
    let mut forged = head.clone();
    forged[88..96].copy_from_slice(&(next + 1).to_le_bytes());
    let error = load(&mut ring, &forged, &good).unwrap_err().to_string();
    assert!(error.contains("does not belong to its head"), "{error}");
}

proptest! {
    #[test]
    fn damaged_bytes_never_panic(at in any::<prop::sample::Index>(), to in any::<u8>(), which in 0usize..3, steps in 1usize..80) {
        let mut ring = lived(kinds()[which].clone(), steps);
        let (head, good) = (ring.head(), pages(&ring));
        let total = head.len() + good.values().map(Vec::len).sum::<usize>();
        let (mut forged_head, mut forged) = (head.clone(), good.clone());
        let mut place = at.index(total);
        if place < head.len() {
            forged_head[place] = to;
        } else {
            place -= head.len();
            for bytes in forged.values_mut() {
                if let Some(byte) = bytes.get_mut(place) {
                    *byte = to;
                    break;
                }
                place -= bytes.len();
            }
        }
        if load(&mut ring, &forged_head, &forged).is_err() {
            prop_assert_eq!((ring.head(), pages(&ring)), (head, good));
        } else {
            // What was taken over can be used: every row can be copied, and more can be stored.
            let rows: Vec<usize> = (0..ring.ring * ring.spec.lanes).collect();
            ring.copy_obs(&rows, &mut ObsBuf::zeros(ring.spec.widths, rows.len()), 0);
            let mut rng = stream(1, "ring");
            (0..60).for_each(|_| step(&mut ring, &mut rng));
        }
    }
}

#[test]
fn transitions_are_counted_lane_after_lane_from_the_oldest_and_their_ends_told_apart() {
    let mut ring = Ring::new(spec(4, 2));
    for lane in 0..2 {
        let shown = |step: usize| [10.0 * lane as f32 + step as f32];
        ring.begin(lane, ObsRef::of_floats(1, &shown(0)), &[]);
        for step in 0..2 + lane {
            let (next, last) = (shown(step + 1), [99.0]);
            let (next, last) = (ObsRef::of_floats(1, &next), ObsRef::of_floats(1, &last));
            // The first lane's world ends, the second's clock runs out.
            ring.push(lane, &[0.5], step as f32, step == 1 && lane == 0, step == 1 && lane == 1, next, &[], last, &[]);
        }
    }
    let mut batch = Batch::default();
    // Two are kept of each lane: the second has lost its first.
    ring.transitions(&[3, 1, 0, 2], &mut batch).unwrap();
    assert_eq!(batch.obs().floats, [12.0, 1.0, 0.0, 11.0]);
    assert_eq!(batch.next_obs().floats, [13.0, 99.0, 1.0, 99.0]);
    assert_eq!((&batch.reward[..], &batch.discount[..]), (&[2.0, 1.0, 0.0, 1.0][..], &[1.0, 0.0, 1.0, 1.0][..]));
}
