use super::*;
use crate::element::Element;
use crate::{DataError, Ending, EpisodeBuf, EpisodeReader, LoadOptions, OpenOptions, Recording, load};
use axiomrl_core::{Batch, RewardScale};
use axiomrl_envs::{BoxSpace, DType, Space, Spaces};
use std::path::Path;

/// Arrays in memory.
#[derive(Default)]
struct Memory {
    keys: Vec<String>,
    columns: Vec<(Vec<usize>, Element, Vec<f32>)>,
}

impl Memory {
    fn with(mut self, key: &str, shape: &[usize], element: Element, values: &[f32]) -> Self {
        self.keys.push(key.into());
        self.columns.push((shape.to_vec(), element, values.to_vec()));
        self
    }

    fn floats(self, key: &str, shape: &[usize], values: &[f32]) -> Self {
        self.with(key, shape, Element::F32, values)
    }

    fn marks(self, key: &str, rows: usize, at: &[usize]) -> Self {
        let values: Vec<f32> = (0..rows).map(|row| f32::from(u8::from(at.contains(&row)))).collect();
        self.with(key, &[rows], Element::Bool, &values)
    }

    fn open(&self, options: &OpenOptions) -> Result<FlatReader, DataError> {
        FlatReader::open(self, options)
    }

    fn problem(&self, options: &OpenOptions) -> String {
        self.open(options).err().expect("it should be refused").to_string()
    }

    fn read(&self) -> Recording {
        Recording::read(&mut self.open(&options()).unwrap()).unwrap()
    }
}

impl Table for Memory {
    fn path(&self) -> &Path {
        Path::new("data.npz")
    }

    fn keys(&self) -> &[String] {
        &self.keys
    }

    fn column(&self, key: &str) -> Result<Box<dyn Rows>, DataError> {
        let at = self.keys.iter().position(|known| known == key).unwrap();
        let (shape, element, values) = self.columns[at].clone();
        let info = ColumnInfo { key: key.into(), rows: shape[0], shape: shape[1..].to_vec(), element };
        Ok(Box::new(MemoryRows { info, values, at: 0 }))
    }
}

struct MemoryRows {
    info: ColumnInfo,
    values: Vec<f32>,
    at: usize,
}

impl Rows for MemoryRows {
    fn info(&self) -> &ColumnInfo {
        &self.info
    }

    fn floats(&mut self, rows: usize, to: &mut Vec<f32>) -> Result<(), DataError> {
        let count = rows * self.info.width();
        to.extend_from_slice(&self.values[self.at..self.at + count]);
        self.at += count;
        Ok(())
    }

    fn bytes(&mut self, rows: usize, to: &mut Vec<u8>) -> Result<(), DataError> {
        let mut floats = Vec::new();
        self.floats(rows, &mut floats)?;
        to.extend(floats.iter().map(|&value| value as u8));
        Ok(())
    }
}

/// One number observed, one action in [−2, 2].
fn spaces() -> Spaces {
    let space = |bound: f32| Space::Box(BoxSpace::uniform(1, -bound, bound));
    Spaces::new(space(9.0), space(2.0))
}

fn options() -> OpenOptions {
    OpenOptions { spaces: Some(spaces()), max_episode_steps: None }
}

/// Rows 0 to `rows`, each observing its number.
fn counted(obs: &str, rows: usize) -> Memory {
    let numbers: Vec<f32> = (0..rows).map(|row| row as f32).collect();
    let tenths: Vec<f32> = numbers.iter().map(|number| number / 10.0).collect();
    Memory::default().floats(obs, &[rows, 1], &numbers).floats("actions", &[rows, 1], &tenths).floats(
        "rewards",
        &[rows],
        &numbers,
    )
}

fn shown(episode: &EpisodeBuf) -> (Vec<f32>, Vec<f32>, Ending) {
    (episode.obs.floats.clone(), episode.rewards.clone(), episode.ending)
}

#[test]
fn d4rl_without_next_observations_drops_what_led_nowhere() {
    // Rows 1 and 3 are gone: what they led to is unknown.
    let data = counted("observations", 4).marks("terminals", 4, &[2]).marks("timeouts", 4, &[1]);
    let found = data.read();
    assert_eq!(
        found.episodes.iter().map(shown).collect::<Vec<_>>(),
        [(vec![0.0, 1.0], vec![0.0], Ending::Truncated), (vec![2.0, 2.0], vec![2.0], Ending::Terminated)]
    );
    // As a learner sees it: the first goes on, the second does not.
    let mut reader = data.open(&options()).unwrap();
    let (dataset, report) = load(&mut reader, Some(&spaces()), &LoadOptions::default()).unwrap();
    let mut batch = Batch::default();
    dataset.gather(&[0, 1], 0.5, RewardScale::default(), &mut batch).unwrap();
    assert_eq!((batch.obs().floats, &batch.discount[..]), (&[0.0, 2.0][..], &[0.5, 0.0][..]));
    assert_eq!(batch.reward, [0.0, 2.0]);
    assert!(report.notes[0].contains("2 rows were dropped"), "{:?}", report.notes);
}

#[test]
fn d4rl_with_next_observations_keeps_every_row() {
    let data = counted("observations", 4)
        .floats("next_observations", &[4, 1], &[1.0, 11.0, 12.0, 13.0])
        .marks("terminals", 4, &[2])
        .marks("timeouts", 4, &[1]);
    assert_eq!(
        data.read().episodes.iter().map(shown).collect::<Vec<_>>(),
        [
            (vec![0.0, 1.0, 11.0], vec![0.0, 1.0], Ending::Truncated),
            (vec![2.0, 12.0], vec![2.0], Ending::Terminated),
            (vec![3.0, 13.0], vec![3.0], Ending::Stopped),
        ]
    );
    let mut reader = data.open(&options()).unwrap();
    let (dataset, report) = load(&mut reader, None, &LoadOptions::default()).unwrap();
    let mut batch = Batch::default();
    dataset.gather(&[0, 1, 2, 3], 0.5, RewardScale::default(), &mut batch).unwrap();
    assert_eq!(batch.discount, [0.5, 0.5, 0.0, 0.5]);
    assert_eq!(batch.next_obs().floats, [1.0, 11.0, 12.0, 13.0]);
    assert_eq!(report.endings, crate::Endings { terminated: 1, truncated: 1, stopped: 1 });
}

#[test]
fn d4rl_without_timeouts_ends_after_the_longest_episode() {
    let limit = OpenOptions { max_episode_steps: Some(3), ..options() };
    let data = counted("observations", 8).marks("terminals", 8, &[3]);
    let found = Recording::read(&mut data.open(&limit).unwrap()).unwrap();
    // Row 2 times out and is gone, row 3 is an end, rows 4 to 6 are the next three, of which the last times out, 7 is the last.
    assert_eq!(
        found.episodes.iter().map(shown).collect::<Vec<_>>(),
        [
            (vec![0.0, 1.0, 2.0], vec![0.0, 1.0], Ending::Truncated),
            (vec![3.0, 3.0], vec![3.0], Ending::Terminated),
            (vec![4.0, 5.0, 6.0], vec![4.0, 5.0], Ending::Truncated),
        ]
    );
    let linked = data.floats("next_observations", &[8, 1], &[1.0, 2.0, 3.0, 9.0, 5.0, 6.0, 7.0, 8.0]);
    let found = Recording::read(&mut linked.open(&limit).unwrap()).unwrap();
    let steps: Vec<_> = found.episodes.iter().map(|episode| (episode.steps(), episode.ending)).collect();
    assert_eq!(steps, [(3, Ending::Truncated), (1, Ending::Terminated), (3, Ending::Truncated), (1, Ending::Stopped)]);
    // Where time-outs are marked, they are what counts.
    let marked = counted("observations", 8).marks("terminals", 8, &[]).marks("timeouts", 8, &[6]);
    let found = Recording::read(&mut marked.open(&limit).unwrap()).unwrap();
    assert_eq!(found.episodes[0].steps(), 6);
}

#[test]
fn a_timeout_at_a_terminal_is_dropped_as_d4rl_does() {
    let data = counted("observations", 4).marks("terminals", 4, &[1]).marks("timeouts", 4, &[1]);
    let found = data.read().episodes.iter().map(shown).collect::<Vec<_>>();
    assert_eq!(found, [(vec![0.0, 1.0], vec![0.0], Ending::Truncated), (vec![2.0, 3.0], vec![2.0], Ending::Stopped)]);
}

fn linked(rows: usize) -> Memory {
    let next: Vec<f32> = (1..=rows).map(|row| row as f32).collect();
    counted("obs", rows).floats("next_obs", &[rows, 1], &next)
}

#[test]
fn marks_may_have_older_names_and_another_axis() {
    let names = [("terminations", "truncations"), ("terminateds", "truncateds")];
    for (terminated, truncated) in names {
        let mut data = linked(5).marks(terminated, 5, &[1, 3]).marks(truncated, 5, &[3]);
        // `[N, 1]` is `[N]`.
        let rewards = data.keys.iter().position(|key| key == "rewards").unwrap();
        data.columns[rewards].0 = vec![5, 1];
        let found: Vec<_> = data.read().episodes.iter().map(|episode| (episode.steps(), episode.ending)).collect();
        // Both marks: the world ended.
        assert_eq!(found, [(2, Ending::Terminated), (2, Ending::Terminated), (1, Ending::Stopped)]);
    }
    let data = linked(4).marks("dones", 4, &[1]);
    let mut reader = data.open(&options()).unwrap();
    let found = Recording::read(&mut reader).unwrap();
    assert_eq!((found.episodes[0].steps(), found.episodes[0].ending), (2, Ending::Terminated));
    assert!(reader.notes()[0].contains("`dones` does not say how"), "{:?}", reader.notes());
}

#[test]
fn without_any_mark_episodes_end_where_rows_do_not_follow() {
    let next = [1.0, 2.0 + 5e-7, 7.0, 4.0];
    let data = counted("obs", 4).floats("next_obs", &[4, 1], &next).marks("dones", 4, &[]);
    let mut reader = data.open(&options()).unwrap();
    let found = Recording::read(&mut reader).unwrap();
    assert_eq!(
        found.episodes.iter().map(shown).collect::<Vec<_>>(),
        [
            // A difference of rounding is none.
            (vec![0.0, 1.0, 2.0, 7.0], vec![0.0, 1.0, 2.0], Ending::Stopped),
            (vec![3.0, 4.0], vec![3.0], Ending::Stopped),
        ]
    );
    let notes = reader.notes();
    assert!(notes.iter().any(|note| note.contains("no row is marked as an end")), "{notes:?}");
    assert!(notes.iter().any(|note| note.contains("1 episodes stop without a mark")), "{notes:?}");
}

#[test]
fn rows_that_do_not_follow_are_cut_beside_marks_too() {
    // A shuffled bag of transitions, one of which is marked.
    let data = counted("obs", 3).floats("next_obs", &[3, 1], &[8.0, 9.0, 5.0]).marks("dones", 3, &[1]);
    let mut reader = data.open(&options()).unwrap();
    let found = Recording::read(&mut reader).unwrap();
    let ends: Vec<_> = found.episodes.iter().map(|episode| episode.ending).collect();
    assert_eq!(ends, [Ending::Stopped, Ending::Terminated, Ending::Stopped]);
    assert_eq!(found.episodes[1].obs.floats, [1.0, 9.0]);
    let shuffled = counted("obs", 4).floats("next_obs", &[4, 1], &[8.0; 4]).marks("dones", 4, &[]);
    let mut reader = shuffled.open(&options()).unwrap();
    assert_eq!(Recording::read(&mut reader).unwrap().episodes.len(), 4);
    assert!(reader.notes().iter().any(|note| note.contains("stand alone")), "{:?}", reader.notes());
}

#[test]
fn long_files_are_read_in_pieces() {
    let rows = 2 * super::block::ROWS + 77;
    let data = linked(rows).marks("terminations", rows, &[9000]).marks("truncations", rows, &[rows - 1]);
    let found = data.read();
    assert_eq!(found.episodes.iter().map(EpisodeBuf::steps).collect::<Vec<_>>(), [9001, rows - 9001]);
    for (episode, first) in found.episodes.iter().zip([0, 9001]) {
        assert!(episode.obs.floats.iter().enumerate().all(|(i, &value)| value == (first + i) as f32));
        assert!(episode.rewards.iter().enumerate().all(|(i, &value)| value == (first + i) as f32));
    }
    assert_eq!(data.open(&options()).unwrap().transitions(), Some(rows as u64));
}

#[test]
fn keys_that_are_missing_or_of_another_shape_are_named() {
    let whole = || linked(4).marks("terminations", 4, &[1]).marks("truncations", 4, &[]);
    for key in ["obs", "actions", "rewards", "next_obs", "truncations"] {
        let mut data = whole();
        let at = data.keys.iter().position(|known| known == key).unwrap();
        data.keys.remove(at);
        data.columns.remove(at);
        let problem = data.problem(&options());
        assert!(problem.starts_with(&format!("data.npz: `{key}` is missing; the file has `")), "{problem}");
    }
    let without_marks = linked(4).problem(&options());
    assert!(without_marks.starts_with("data.npz: `terminations` is missing"), "{without_marks}");
    let d4rl = counted("observations", 4).problem(&options());
    assert!(d4rl.starts_with("data.npz: `terminals` is missing"), "{d4rl}");
    assert!(Memory::default().problem(&options()).contains("`obs` is missing; the file has nothing"));

    for (key, shape, words) in [
        ("obs", vec![2, 2], "has rows of shape [2], where the observation has [1]"),
        ("actions", vec![2, 2], "has rows of shape [2], where the action, a Box, has [1]"),
        ("rewards", vec![2, 2], "has rows of shape [2], where there should be one number for each step"),
        ("rewards", vec![3], "has 3 rows, where `obs` has 4"),
        ("next_obs", vec![3], "has 3 rows, where `obs` has 4"),
        ("truncations", vec![3], "has 3 rows, where `obs` has 4"),
    ] {
        let mut data = whole();
        let at = data.keys.iter().position(|known| known == key).unwrap();
        data.columns[at].0 = shape;
        let problem = data.problem(&options());
        assert!(problem.starts_with(&format!("data.npz: `{key}` ")) && problem.contains(words), "{problem}");
    }
    let pixels = Space::Box(BoxSpace::image(1, 1, 1));
    let pixels = OpenOptions { spaces: Some(Spaces { observation: pixels, ..spaces() }), ..options() };
    let problem = whole().problem(&pixels);
    assert!(problem.contains("`obs` is float32, where the observation is uint8"), "{problem}");
}

#[test]
fn a_file_that_says_nowhere_where_episodes_end_is_refused() {
    let endless = counted("observations", 4).marks("terminals", 4, &[]);
    let problem = endless.problem(&options());
    assert!(problem.contains("`terminals` is never set") && problem.contains("max_episode_steps"), "{problem}");
    assert!(endless.open(&OpenOptions { max_episode_steps: Some(2), ..options() }).is_ok());
}

#[test]
fn spaces_are_guessed_where_nobody_tells_them() {
    let guessed = |data: Memory| {
        let reader = data.marks("dones", 3, &[2]).open(&OpenOptions::default()).unwrap();
        (reader.spaces().clone(), reader.notes())
    };
    let base = |actions: Memory| actions.floats("rewards", &[3], &[0.0; 3]);
    let obs = || Memory::default().floats("obs", &[3, 2], &[0.0; 6]).floats("next_obs", &[3, 2], &[0.0; 6]);
    let (small, _) = guessed(base(obs().floats("actions", &[3, 2], &[0.5, 1.0, -1.0, 0.0, 0.2, 0.3])));
    assert_eq!(small.action, Space::Box(BoxSpace::uniform(2, -1.0, 1.0)));
    let Space::Box(seen) = &small.observation else { panic!("{small:?}") };
    assert!(seen.low.iter().all(|low| *low == f32::NEG_INFINITY) && seen.shape == [2]);
    let (large, notes) = guessed(base(obs().floats("actions", &[3, 2], &[0.5, 2.0, -1.0, 0.0, 0.2, -3.0])));
    assert_eq!(large.action, Space::Box(BoxSpace::vector(&[-1.0, -3.0], &[1.0, 3.0])));
    assert!(notes.iter().any(|note| note.contains("bounds of its actions")), "{notes:?}");
    let (choices, notes) = guessed(base(obs().with("actions", &[3], Element::I64, &[0.0, 3.0, 1.0])));
    assert_eq!(choices.action, Space::Discrete { n: 4 });
    assert!(notes.iter().any(|note| note.contains("taken for choices")), "{notes:?}");
    let (several, _) = guessed(base(obs().with("actions", &[3, 2], Element::I64, &[0.0, 3.0, 1.0, 0.0, 0.0, 0.0])));
    assert_eq!(several.action, Space::MultiDiscrete { nvec: vec![2, 4] });
    let negative = base(obs().with("actions", &[3], Element::I64, &[0.0, -1.0, 1.0])).marks("dones", 3, &[2]);
    assert!(negative.problem(&OpenOptions::default()).contains("`actions` has whole numbers below 0"));
    // An observation of several parts, one of them bytes.
    let parts = Memory::default()
        .floats("obs/speed", &[3], &[1.0, 2.0, 3.0])
        .with("obs/camera", &[3, 1, 2, 1], Element::U8, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
        .floats("next_obs/speed", &[3], &[2.0, 3.0, 4.0])
        .with("next_obs/camera", &[3, 1, 2, 1], Element::U8, &[3.0, 4.0, 5.0, 6.0, 7.0, 8.0])
        .floats("rewards", &[3], &[0.0; 3])
        .with("actions", &[3], Element::I64, &[0.0, 1.0, 1.0])
        .marks("dones", 3, &[2]);
    let found = Recording::read(&mut parts.open(&OpenOptions::default()).unwrap()).unwrap();
    let Space::Dict { entries } = &found.spaces.observation else { panic!("{:?}", found.spaces) };
    assert_eq!(
        entries.iter().map(|(name, space)| (name.as_str(), space.dtype())).collect::<Vec<_>>(),
        [("speed", DType::F32), ("camera", DType::U8)]
    );
    assert_eq!(found.episodes[0].obs.floats, [1.0, 2.0, 3.0, 4.0]);
    assert_eq!(found.episodes[0].obs.bytes, [1, 2, 3, 4, 5, 6, 7, 8]);
}

#[test]
fn masks_are_read_where_they_are() {
    let choices = Spaces { action: Space::Discrete { n: 2 }, masks: 2, ..spaces() };
    let options = OpenOptions { spaces: Some(choices), max_episode_steps: None };
    let base = || {
        let mut data = linked(2).marks("dones", 2, &[1]);
        let at = data.keys.iter().position(|key| key == "actions").unwrap();
        data.columns[at] = (vec![2], Element::I64, vec![0.0, 1.0]);
        data
    };
    let masked = base().with("action_masks", &[2, 2], Element::Bool, &[1.0, 0.0, 0.0, 1.0]).with(
        "next_action_masks",
        &[2, 2],
        Element::Bool,
        &[0.0, 1.0, 1.0, 1.0],
    );
    let found = Recording::read(&mut masked.open(&options).unwrap()).unwrap();
    assert_eq!((found.spaces.masks, &found.episodes[0].masks[..]), (2, &[true, false, false, true, true, true][..]));
    let plain = base().open(&options).unwrap();
    assert_eq!(plain.spaces().masks, 0);
    let half = base().with("action_masks", &[2, 2], Element::Bool, &[1.0; 4]);
    assert!(half.problem(&options).contains("`next_action_masks` is missing"));
    let wide = base().with("action_masks", &[2, 3], Element::Bool, &[1.0; 6]).with(
        "next_action_masks",
        &[2, 3],
        Element::Bool,
        &[1.0; 6],
    );
    assert!(wide.problem(&options).contains("`action_masks` has rows of shape [3], where the action has 2 choices"));
}
