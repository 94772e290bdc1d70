//! The store must agree with a list of whole transitions, whatever happens to it.

use super::*;
use proptest::prelude::*;

#[derive(Clone, Debug)]
struct Transition {
    obs: [f32; 2],
    action: f32,
    reward: f32,
    terminated: bool,
    truncated: bool,
    next_obs: [f32; 2],
    next_mask: [bool; 2],
}

/// One row of a batch, whole.
type Row = ([f32; 2], f32, f32, f32, [f32; 2], [bool; 2]);

/// The windows of one lane as the definition says, from a list of all it ever did.
fn expected(steps: &[Transition], kept: usize, n: usize, gamma: f32) -> Vec<Row> {
    let oldest = steps.len().saturating_sub(kept);
    let mut rows = Vec::new();
    for start in oldest..steps.len() {
        let window = &steps[start..(start + n).min(steps.len())];
        let end = window.iter().position(|s| s.terminated || s.truncated);
        let length = match end {
            Some(at) => at + 1,
            None if window.len() == n => n,
            None => continue,
        };
        let reward = (0..length).map(|i| gamma.powi(i as i32) * window[i].reward).sum();
        let last = &window[length - 1];
        let discount = if last.terminated { 0.0 } else { gamma.powi(length as i32) };
        rows.push((steps[start].obs, steps[start].action, reward, discount, last.next_obs, last.next_mask));
    }
    rows
}

/// A step: which lane, how it ends, its reward; `restart` begins the lane anew instead.
#[derive(Clone, Debug)]
struct Event {
    lane: usize,
    end: u8,
    reward: i8,
    restart: bool,
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let event = (0usize..3, 0u8..12, -8i8..8, 0u8..20).prop_map(|(lane, end, reward, restart)| Event {
        lane,
        end,
        reward,
        restart: restart == 0,
    });
    prop::collection::vec(event, 0..120)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn windows_are_those_of_the_definition(events in events(), capacity in 1usize..40, n in 1usize..6, lanes in 1usize..4, per in any::<bool>()) {
        let spec = RingSpec { widths: ObsWidths { floats: 2, bytes: 0 }, mask_width: 2, ..spec(capacity, lanes) };
        let mut view = view_of(spec, n, per.then_some(PrioritySpec { alpha: 0.6, eps: 1e-6 }));
        let mut model: Vec<Vec<Transition>> = vec![Vec::new(); lanes];
        let mut open: Vec<([f32; 2], [bool; 2])> = vec![([-1.0, -1.0], [true, true]); lanes];
        for (lane, (obs, mask)) in open.iter().enumerate() {
            view.store.begin(lane, floats(obs), mask);
        }
        for (t, event) in events.iter().enumerate() {
            let (lane, t) = (event.lane % lanes, t as f32);
            let next = ([t, lane as f32], [event.end % 2 == 0, true]);
            if event.restart {
                view.store.begin(lane, floats(&next.0), &next.1);
                if let Some(last) = model[lane].last_mut() {
                    last.truncated |= !last.terminated;
                }
            } else {
                let last = ([t + 0.5, lane as f32], [true, event.end % 2 == 0]);
                let (terminated, truncated) = (event.end == 0 || event.end == 2, event.end == 1 || event.end == 2);
                let outcome = if terminated || truncated { last } else { next };
                model[lane].push(Transition {
                    obs: open[lane].0, action: t, reward: f32::from(event.reward), terminated, truncated,
                    next_obs: outcome.0, next_mask: outcome.1,
                });
                view.store.push(
                    lane, &[t], f32::from(event.reward), terminated, truncated,
                    floats(&next.0), &next.1, floats(&last.0), &last.1,
                );
            }
            open[lane] = next;
            // A view may look at any time, or not for long.
            if event.reward == 0 {
                view.catch_up();
            }
        }

        let kept = capacity.div_ceil(lanes);
        let rows: Vec<Row> = model.iter().flat_map(|steps| expected(steps, kept, n, 0.5)).collect();
        prop_assert_eq!(view.store.len(), model.iter().map(|steps| steps.len().min(kept)).sum::<usize>());
        prop_assert_eq!(view.ready(), rows.len());

        let gathered: Vec<Row> = each(&mut view).iter().map(|batch| row(batch, 0)).collect();
        prop_assert_eq!(&gathered, &rows);

        if !rows.is_empty() {
            let mut batch = Batch::default();
            sample(&mut view, 64, 0.5, &mut stream(1, "store"), &mut batch);
            for i in 0..64 {
                prop_assert!(rows.contains(&row(&batch, i)), "sampled a window that is none");
            }
            if let Some(priorities) = &view.priorities {
                // All are new: the mass is their number times the largest priority.
                prop_assert_eq!(priorities.total(), rows.len() as f64);
            }
        }
    }
}

fn row(batch: &Batch, i: usize) -> Row {
    let (obs, next, masks) = (batch.obs().floats, batch.next_obs().floats, batch.next_masks());
    (
        [obs[2 * i], obs[2 * i + 1]],
        batch.action[i],
        batch.reward[i],
        batch.discount[i],
        [next[2 * i], next[2 * i + 1]],
        [masks[2 * i], masks[2 * i + 1]],
    )
}
