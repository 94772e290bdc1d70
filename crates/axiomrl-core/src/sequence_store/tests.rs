//! What the store keeps, what is drawn from it, and what comes back from files.

use super::*;
use crate::{PagedStore, RewardScale, Rng, stream};
use proptest::prelude::*;
use rand::RngExt;
use std::collections::BTreeMap;
use std::io;

fn spec(capacity: usize, lanes: usize, length: usize) -> SequenceSpec {
    SequenceSpec {
        capacity,
        lanes,
        widths: ObsWidths { floats: 1, bytes: 2 },
        action_width: 1,
        length,
        latents: LatentSpec { deter: 3, groups: 2 },
    }
}

fn obs(floats: &[f32; 1]) -> ObsRef<'_> {
    ObsRef { rows: 1, floats, bytes: &[1, 2] }
}

fn drawn(store: &mut SequenceStore, rows: usize, online: bool) -> SequenceBatch {
    let mut batch = SequenceBatch::default();
    store.draw(rows, online, RewardScale::IDENTITY, &mut stream(1, "draw"), &mut batch).unwrap();
    batch
}

/// Two decisions that end with a reward of 1, then the first one of the next episode.
fn short(terminated: bool) -> SequenceStore {
    let mut store = SequenceStore::new(spec(20, 1, 4));
    store.begin(0, obs(&[0.0]));
    store.push(0, &[10.0], 0.0, false, false, obs(&[1.0]), obs(&[9.0]));
    store.push(0, &[11.0], 1.0, terminated, !terminated, obs(&[100.0]), obs(&[2.0]));
    store.push(0, &[20.0], 0.5, false, false, obs(&[101.0]), obs(&[9.0]));
    store
}

#[test]
fn an_episode_has_a_row_more_than_decisions_and_the_reset_is_a_row_too() {
    for terminated in [true, false] {
        let mut store = short(terminated);
        assert_eq!((store.len(), store.windows()), (4, 1));
        let batch = drawn(&mut store, 1, false);
        assert_eq!(batch.obs.floats, [0.0, 1.0, 2.0, 100.0]);
        assert_eq!(batch.action, [10.0, 11.0, 0.0, 20.0]);
        assert_eq!(batch.reward, [0.0, 0.0, 1.0, 0.0]);
        assert_eq!(batch.first, [true, false, false, true]);
        assert_eq!(batch.last, [false, false, true, false]);
        assert_eq!(batch.terminal, [false, false, terminated, false]);
        assert_eq!(batch.index, [(0, 0)]);
    }
}

#[test]
fn a_restart_from_outside_ends_the_episode_where_it_stood() {
    let mut store = short(true);
    store.begin(0, obs(&[200.0]));
    store.push(0, &[30.0], 0.0, false, false, obs(&[201.0]), obs(&[9.0]));
    // The row that waited for its action has none; one that only just began is forgotten.
    store.begin(0, obs(&[300.0]));
    store.begin(0, obs(&[400.0]));
    store.push(0, &[40.0], 0.0, false, false, obs(&[401.0]), obs(&[9.0]));
    assert_eq!(store.len(), 8);
    let flags: Vec<u8> = (0..8).map(|number| store.flags[store.row(0, number)]).collect();
    assert_eq!(flags, [FIRST, 0, LAST | TERMINAL, FIRST, LAST, FIRST, LAST, FIRST]);
    assert_eq!(store.reward[store.row(0, 4)], 0.5);
}

#[test]
fn windows_begin_anywhere_and_each_as_often() {
    let mut store = SequenceStore::new(spec(20, 2, 3));
    for (lane, steps) in [(0, 7), (1, 4)] {
        store.begin(lane, obs(&[0.0]));
        for step in 1..=steps {
            store.push(lane, &[0.0], 0.0, false, false, obs(&[step as f32]), obs(&[9.0]));
        }
    }
    assert_eq!(store.windows(), 5 + 2);
    let batch = drawn(&mut store, 7000, false);
    let mut counts = BTreeMap::new();
    batch.index.iter().for_each(|&index| *counts.entry(index).or_insert(0) += 1);
    assert_eq!(counts.len(), 7);
    assert!(counts.values().all(|count| (850..1150).contains(count)), "{counts:?}");
}

#[test]
fn what_arrived_is_drawn_once_in_its_order_and_then_anything() {
    let mut store = SequenceStore::new(spec(12, 1, 3));
    store.begin(0, obs(&[0.0]));
    let step = |store: &mut SequenceStore, at: usize| {
        store.push(0, &[0.0], 0.0, false, false, obs(&[at as f32]), obs(&[9.0]));
    };
    (1..=7).for_each(|at| step(&mut store, at));
    let batch = drawn(&mut store, 5, true);
    assert_eq!(batch.index[..2], [(0, 0), (0, 3)]);
    assert!(store.queue.waiting.is_empty());
    // Windows that were never learned from and have left are passed over.
    (8..=25).for_each(|at| step(&mut store, at));
    assert_eq!(store.lanes[0].oldest, 13);
    assert_eq!(drawn(&mut store, 2, true).index, [(0, 15), (0, 18)]);
}

#[test]
fn the_state_of_a_model_begins_a_window_and_is_written_back() {
    let mut store = SequenceStore::new(spec(20, 1, 3));
    store.begin(0, obs(&[0.0]));
    for step in 1..=3 {
        store.remember(0, &[0.5, -0.25, 0.1], &[step, 7]);
        store.push(0, &[0.0], 0.0, false, false, obs(&[f32::from(step)]), obs(&[9.0]));
    }
    let mut batch = drawn(&mut store, 1, false);
    assert_eq!(batch.classes, [1, 7]);
    assert_eq!((batch.deter[0], batch.deter[1]), (0.5, -0.25));
    assert!((batch.deter[2] - 0.1).abs() < 1e-4);
    // Twice the same window: the later one counts.
    (batch.rows, batch.index) = (2, vec![(0, 0), (0, 0)]);
    let deter = [[0.0; 3], [0.25; 3], [0.0; 3], [0.75; 3]].concat();
    store.write_back(&batch, 1, &deter, &[0, 0, 4, 4, 0, 0, 5, 5]);
    let (mut found, mut classes) = ([0.0; 3], [0; 2]);
    for (number, wanted, class) in [(0, 0.5, 1), (1, 0.25, 4), (2, 0.75, 5)] {
        store.latents.get(store.row(0, number), &mut found, &mut classes);
        assert_eq!((found[0], classes[0]), (wanted, class), "row {number}");
    }
    // A row that is overwritten begins without a state.
    (0..25).for_each(|_| store.push(0, &[0.0], 0.0, false, false, obs(&[0.0]), obs(&[9.0])));
    store.write_back(&batch, 0, &[1.0; 18], &[9; 12]);
    assert!(store.latents.deter.iter().all(|&half| half == 0));
}

/// One more step of a random lane; now and then an end, or a restart from outside; now and then windows are drawn.
fn live(store: &mut SequenceStore, rng: &mut Rng) {
    let lane = rng.random_range(0..store.spec.lanes);
    let (next, last) = ([rng.random()], [rng.random()]);
    if !store.lanes[lane].begun || rng.random_range(0..9) == 0 {
        return store.begin(lane, obs(&next));
    }
    store.remember(lane, &[rng.random(), 0.5, 0.0], &[rng.random(), 3]);
    let (terminated, truncated) = (rng.random_range(0..6) == 0, rng.random_range(0..8) == 0);
    store.push(lane, &[rng.random()], rng.random(), terminated, truncated && !terminated, obs(&next), obs(&last));
    if store.windows() > 0 && rng.random_range(0..5) == 0 {
        store.draw(1, true, RewardScale::IDENTITY, rng, &mut SequenceBatch::default()).unwrap();
    }
}

fn lived(steps: usize) -> SequenceStore {
    let mut store = SequenceStore { page: 4, ..SequenceStore::new(spec(30, 2, 3)) };
    let mut rng = stream(3, "store");
    (0..steps).for_each(|_| live(&mut store, &mut rng));
    store
}

type Pages = BTreeMap<u64, Vec<u8>>;

fn page(store: &SequenceStore, page: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    store.write_page(page, &mut bytes).unwrap();
    bytes
}

/// Head, pages and states.
fn written(store: &SequenceStore) -> (Vec<u8>, Pages, Vec<u8>) {
    let mut latents = Vec::new();
    store.write_latents(&mut latents).unwrap();
    (store.head(), store.pages().into_iter().map(|number| (number, page(store, number))).collect(), latents)
}

fn load(store: &mut SequenceStore, head: &[u8], pages: &Pages) -> io::Result<()> {
    store.read(head, &mut |page| match pages.get(&page) {
        Some(bytes) => Ok(Box::new(io::Cursor::new(bytes.clone()))),
        None => Err(io::Error::other(format!("no page {page}"))),
    })
}

#[test]
fn a_saved_store_goes_on_as_if_nothing_had_happened() {
    for steps in [0, 1, 7, 40, 200] {
        let mut store = lived(steps);
        let (head, pages, latents) = written(&store);
        let mut back = SequenceStore { page: 4, ..SequenceStore::new(store.spec.clone()) };
        load(&mut back, &head, &pages).unwrap();
        back.read_latents(&mut &latents[..]).unwrap();
        assert_eq!(written(&back), (head, pages, latents));
        let (mut one, mut two) = (stream(5, "on"), stream(5, "on"));
        for _ in 0..50 {
            live(&mut store, &mut one);
            live(&mut back, &mut two);
        }
        assert_eq!(written(&back), written(&store));
        if store.windows() > 0 {
            assert_eq!(drawn(&mut back, 9, true), drawn(&mut store, 9, true));
        }
    }
}

#[test]
fn a_final_page_never_changes() {
    let mut store = SequenceStore { page: 4, ..SequenceStore::new(spec(30, 2, 3)) };
    let mut rng = stream(3, "store");
    let (mut known, mut found) = (Pages::new(), 0);
    for _ in 0..300 {
        live(&mut store, &mut rng);
        for number in store.pages().into_iter().filter(|&page| store.is_final(page)) {
            let bytes = page(&store, number);
            found += usize::from(!known.contains_key(&number));
            assert_eq!(*known.entry(number).or_insert_with(|| bytes.clone()), bytes);
        }
    }
    assert!(found > 10, "{found}");
}

#[test]
fn a_foreign_or_cut_file_is_refused_and_changes_nothing() {
    let mut store = lived(90);
    let before = written(&store);
    let (head, pages, latents) = before.clone();
    let mut other = SequenceStore { page: 4, ..SequenceStore::new(spec(30, 2, 4)) };
    let error = load(&mut other, &head, &pages).unwrap_err().to_string();
    assert!(error.contains("rows of a window = 3, this run has 4"), "{error}");
    for length in 0..head.len() {
        assert!(load(&mut store, &head[..length], &pages).is_err(), "head cut at {length}");
    }
    for (&number, bytes) in &pages {
        for length in [0, bytes.len() / 2, bytes.len() - 1] {
            let mut cut = pages.clone();
            cut.get_mut(&number).unwrap().truncate(length);
            assert!(load(&mut store, &head, &cut).is_err(), "page {number} cut at {length}");
        }
    }
    for length in [0, 30, latents.len() - 1] {
        assert!(store.read_latents(&mut &latents[..length]).is_err(), "states cut at {length}");
    }
    assert_eq!(written(&store), before);
}

proptest! {
    #[test]
    fn damaged_heads_never_panic(at in any::<prop::sample::Index>(), to in any::<u8>(), steps in 1usize..80) {
        let mut store = lived(steps);
        let (mut head, pages, _) = written(&store);
        let place = at.index(head.len());
        head[place] = to;
        if load(&mut store, &head, &pages).is_ok() {
            let mut rng = stream(1, "store");
            (0..40).for_each(|_| live(&mut store, &mut rng));
        }
    }
}
