//! Store and priorities in files.

use super::*;
use crate::PagedStore;
use std::collections::BTreeMap;
use std::io;

/// What is saved of a view that owns its store.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Saved {
    pub head: Vec<u8>,
    pub pages: BTreeMap<u64, Vec<u8>>,
    pub priorities: Vec<u8>,
}

pub(super) fn saved(view: &mut View<Owned>) -> Saved {
    let page = |number: u64| {
        let mut bytes = Vec::new();
        view.store.write_page(number, &mut bytes).unwrap();
        (number, bytes)
    };
    let pages = view.store.pages().into_iter().map(page).collect();
    let mut priorities = Vec::new();
    view.write_priorities(&mut priorities).unwrap();
    Saved { head: view.store.head(), pages, priorities }
}

pub(super) fn load(view: &mut View<Owned>, saved: &Saved) -> io::Result<()> {
    view.store.read(&saved.head, &mut |page| Ok(Box::new(io::Cursor::new(saved.pages[&page].clone()))))?;
    view.read_priorities(&mut saved.priorities.as_slice())
}

type Kind = (RingSpec, usize, Option<PrioritySpec>);

fn filled((spec, n_step, priorities): &Kind, steps: usize) -> View<Owned> {
    let mut view = view_of(spec.clone(), *n_step, *priorities);
    let obs = |x: usize| {
        let mut obs = axiomrl_envs::ObsBuf::zeros(spec.widths, 1);
        obs.floats.fill(x as f32 / 3.0);
        obs.bytes.fill(x as u8);
        obs
    };
    let mask = |x: usize| (0..spec.mask_width).map(|i| (x + i).is_multiple_of(2)).collect::<Vec<bool>>();
    for lane in 0..spec.lanes {
        view.store.begin(lane, obs(lane).as_ref(), &mask(lane));
        // Lanes of different length, the last one untouched when there are several.
        for t in 0..steps / (lane + 1) * usize::from(lane == 0 || lane + 1 < spec.lanes) {
            let action = vec![t as f32; spec.action_width];
            let (next, last) = (obs(t), obs(t + 1));
            let (terminated, truncated) = (t % 5 == 4, t % 7 == 6);
            let (next_mask, last_mask) = (mask(t), mask(t + 1));
            let (next, last) = (next.as_ref(), last.as_ref());
            view.store.push(lane, &action, t as f32, terminated, truncated, next, &next_mask, last, &last_mask);
        }
    }
    let mut batch = Batch::default();
    sample(&mut view, 16, 0.4, &mut stream(9, "store"), &mut batch);
    let errors: Vec<f32> = (0..16).map(|i| 0.1 + i as f32).collect();
    view.learned(0..16, &batch, &errors);
    view
}

fn kinds() -> Vec<Kind> {
    let priorities = Some(PrioritySpec { alpha: 0.6, eps: 1e-6 });
    let both = ObsWidths { floats: 2, bytes: 3 };
    vec![
        (spec(20, 1), 1, None),
        (spec(20, 3), 3, priorities),
        (RingSpec { widths: both, mask_width: 4, action_width: 2, ..spec(33, 2) }, 2, None),
        (RingSpec { mask_width: 2, ..spec(64, 2) }, 1, priorities),
    ]
}

#[test]
fn a_store_read_back_goes_on_as_if_nothing_had_happened() {
    for kind in kinds() {
        for steps in [4, 19, 20, 21, 60] {
            let mut view = filled(&kind, steps);
            let file = saved(&mut view);
            let (spec, n_step, priorities) = kind.clone();
            let mut back = view_of(spec.clone(), n_step, priorities);
            load(&mut back, &file).unwrap();
            assert_eq!(saved(&mut back), file, "{kind:?}");
            assert_eq!((back.store.len(), back.ready()), (view.store.len(), view.ready()));
            let (mut one, mut two) = (stream(5, "store"), stream(5, "store"));
            let (mut a, mut b) = (Batch::default(), Batch::default());
            for round in 0..40 {
                sample(&mut view, 32, 0.4, &mut one, &mut a);
                sample(&mut back, 32, 0.4, &mut two, &mut b);
                assert_eq!(a, b, "{kind:?}");
                for view in [&mut view, &mut back] {
                    view.learned(0..32, &a, &a.action);
                    let obs = axiomrl_envs::ObsBuf::zeros(spec.widths, 1);
                    let (action, mask) = (vec![0.5; spec.action_width], vec![true; spec.mask_width]);
                    let (obs, ended) = (obs.as_ref(), round % 3 == 0);
                    view.store.push(0, &action, 1.0, ended, false, obs, &mask, obs, &mask);
                }
            }
            assert_eq!(saved(&mut back), saved(&mut view), "{kind:?}");
        }
    }
}

#[test]
fn only_filled_rows_are_written() {
    let file = saved(&mut filled(&(spec(1_000_000, 1), 1, None), 20));
    assert!(file.pages.values().map(Vec::len).sum::<usize>() < 1_000);
}

#[test]
fn foreign_or_cut_priorities_are_refused_and_change_nothing() {
    let kind = &kinds()[1];
    let mut view = filled(kind, 30);
    let before = saved(&mut view);
    let other = saved(&mut filled(&(kind.0.clone(), 2, kind.2), 30)).priorities;
    let error = view.read_priorities(&mut other.as_slice()).unwrap_err().to_string();
    assert!(error.contains("n_step = 2, this run has 3"), "{error}");
    let uniform = saved(&mut filled(&(kind.0.clone(), 3, None), 30)).priorities;
    let error = view.read_priorities(&mut uniform.as_slice()).unwrap_err().to_string();
    assert!(error.contains("prioritised replay = 0, this run has 1"), "{error}");
    let later = saved(&mut filled(kind, 33)).priorities;
    let error = view.read_priorities(&mut later.as_slice()).unwrap_err().to_string();
    assert!(error.contains("belong to other transitions"), "{error}");
    for length in 0..before.priorities.len() {
        assert!(view.read_priorities(&mut &before.priorities[..length]).is_err(), "cut at {length}");
    }
    let mut longer = before.priorities.clone();
    longer.push(0);
    assert!(view.read_priorities(&mut longer.as_slice()).is_err());
    // The first priority, after the header, the largest, and two counters: more than the largest is impossible.
    let at = 8 * (7 + 1 + 2);
    let mut forged = before.priorities.clone();
    forged[at..at + 8].copy_from_slice(&f64::INFINITY.to_le_bytes());
    assert!(view.read_priorities(&mut forged.as_slice()).unwrap_err().to_string().contains("inf as a priority"));
    assert_eq!(saved(&mut view), before);
}
