use super::header::{self, Header};
use super::*;
use crate::element::Element;
use crate::testing::{recording, spaces};
use crate::{Ending, EpisodeBuf, Metadata, Recording, load};
use axiomrl_envs::{BoxSpace, ObsBuf, Space, Spaces};
use std::fs::{self, File};
use std::io::Write;
use std::path::PathBuf;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

/// An archive of these arrays, as numpy would write it.
fn archive(path: &Path, compressed: bool, arrays: &[(&str, Element, &[usize], Vec<u8>)]) {
    let mut archive = ZipWriter::new(File::create(path).unwrap());
    let method = if compressed { CompressionMethod::Deflated } else { CompressionMethod::Stored };
    let options = SimpleFileOptions::default().compression_method(method).large_file(true);
    for (key, element, shape, bytes) in arrays {
        archive.start_file(format!("{key}.npy"), options).unwrap();
        header::write(&mut archive, &Header { element: *element, shape: shape.to_vec() }).unwrap();
        archive.write_all(bytes).unwrap();
    }
    archive.finish().unwrap();
}

fn floats(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

/// Two steps and an end, with numbers of several kinds.
fn small() -> Vec<(&'static str, Element, &'static [usize], Vec<u8>)> {
    let doubles = |values: [f64; 2]| values.iter().flat_map(|value| value.to_le_bytes()).collect();
    vec![
        ("obs", Element::F32, &[2, 2], floats(&[1.0, 2.0, 3.0, 4.0])),
        ("actions", Element::F64, &[2, 1], doubles([0.5, -2.0])),
        ("rewards", Element::I32, &[2], [7i32, -8].map(i32::to_le_bytes).concat()),
        ("next_obs", Element::F32, &[2, 2], floats(&[3.0, 4.0, 5.0, 6.0])),
        ("terminations", Element::Bool, &[2], vec![0, 1]),
        ("truncations", Element::U8, &[2, 1], vec![0, 0]),
        ("next_actions", Element::F32, &[2, 1], floats(&[0.0, 0.0])),
        ("returns_to_go", Element::F32, &[2], floats(&[0.0, 0.0])),
    ]
}

fn options() -> OpenOptions {
    OpenOptions { spaces: Some(spaces()), max_episode_steps: None }
}

fn in_folder(test: impl FnOnce(PathBuf)) {
    let folder = tempfile::tempdir().unwrap();
    test(folder.path().join("data.npz"));
}

fn problem(path: &Path) -> String {
    let read = || Recording::read(&mut open(path, &options())?);
    read().expect_err("it should be refused").to_string()
}

#[test]
fn archives_are_read_packed_or_not() {
    in_folder(|path| {
        for compressed in [false, true] {
            archive(&path, compressed, &small());
            let found = Recording::read(&mut open(&path, &options()).unwrap()).unwrap();
            let [episode] = found.episodes.as_slice() else { panic!("{found:?}") };
            assert_eq!(episode.obs.floats, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
            assert_eq!((&episode.actions[..], &episode.rewards[..]), (&[0.5, -2.0][..], &[7.0, -8.0][..]));
            assert_eq!(episode.ending, Ending::Terminated);
        }
    });
}

#[test]
fn damaged_archives_are_refused_wherever_they_are_damaged() {
    in_folder(|path| {
        for compressed in [false, true] {
            archive(&path, compressed, &small());
            let whole = fs::read(&path).unwrap();
            let good = Recording::read(&mut open(&path, &options()).unwrap()).unwrap();
            for length in (0..whole.len()).step_by(29) {
                fs::write(&path, &whole[..length]).unwrap();
                problem(&path);
            }
            for at in (0..whole.len()).step_by(7) {
                let mut bytes = whole.clone();
                bytes[at] ^= 0x55;
                fs::write(&path, &bytes).unwrap();
                // Some bytes mean nothing (dates, arrays that are passed over); no other one goes unnoticed.
                if let Ok(mut reader) = open(&path, &options())
                    && let Ok(found) = Recording::read(&mut reader)
                {
                    assert_eq!(found, good, "byte {at}");
                }
            }
        }
    });
}

#[test]
fn claims_of_size_are_checked_before_memory_is_taken() {
    in_folder(|path| {
        let mut arrays = small();
        let huge = [1usize << 50, 2];
        arrays[0].2 = &huge;
        archive(&path, true, &arrays);
        let error = problem(&path);
        assert!(
            error.contains("`obs` has a head that speaks of shape [1125899906842624, 2] and float32, and 16 bytes"),
            "{error}"
        );
        let beyond = [usize::MAX, usize::MAX];
        arrays[0].2 = &beyond;
        archive(&path, false, &arrays);
        assert!(problem(&path).contains("`obs` has a head that speaks of"));
    });
}

#[test]
fn what_is_wrong_is_named_with_file_and_key() {
    in_folder(|path| {
        let with = |at: usize, array: (&'static str, Element, &'static [usize], Vec<u8>)| {
            let mut arrays = small();
            arrays[at] = array;
            archive(&path, false, &arrays);
            problem(&path)
        };
        let shown = path.display().to_string();
        for (at, array, words) in [
            (
                0,
                ("observation", Element::F32, &[2, 2][..], floats(&[0.0; 4])),
                "`obs` is missing; the file has `observation`, `actions`",
            ),
            (1, ("actions", Element::F32, &[2, 3][..], floats(&[0.0; 6])), "`actions` has rows of shape [3]"),
            (2, ("rewards", Element::F32, &[3][..], floats(&[0.0; 3])), "`rewards` has 3 rows, where `obs` has 2"),
            (2, ("rewards", Element::F32, &[][..], floats(&[0.0])), "`rewards` is a single number"),
        ] {
            let error = with(at, array);
            assert!(error.starts_with(&shown) && error.contains(words), "{error}");
        }
        // A number that is not finite is found on the way into the store.
        let mut arrays = small();
        arrays[3].3 = floats(&[3.0, 4.0, f32::NAN, 6.0]);
        archive(&path, false, &arrays);
        let error = load(&mut open(&path, &options()).unwrap(), None, &Default::default()).unwrap_err().to_string();
        assert_eq!(error, format!("{shown}, episode 0, step 2: NaN was observed"));
        let mut arrays = small();
        arrays
            .iter_mut()
            .for_each(|array| (array.2, array.3) = (if array.2.len() == 2 { &[0, 2][..] } else { &[0] }, vec![]));
        (arrays[1].2, arrays[5].2, arrays[6].2) = (&[0, 1], &[0, 1], &[0, 1]);
        archive(&path, false, &arrays);
        let error = load(&mut open(&path, &options()).unwrap(), None, &Default::default()).unwrap_err().to_string();
        assert_eq!(error, format!("{shown}: it holds no step; record some, or name another file"));
    });
}

/// Numbers, a choice and an image, with masks.
fn rich() -> Recording {
    let entries = vec![
        ("pair".to_owned(), Space::Box(BoxSpace::uniform(2, -1.0, f32::INFINITY))),
        ("camera".to_owned(), Space::Box(BoxSpace::image(1, 2, 1))),
        ("gear".to_owned(), Space::Discrete { n: 4 }),
        ("bits".to_owned(), Space::MultiBinary { n: 2 }),
    ];
    let action = Space::MultiDiscrete { nvec: vec![2, 3] };
    let spaces = Spaces { masks: 5, ..Spaces::new(Space::Dict { entries }, action) };
    let mut recording = Recording::new("rich", spaces);
    recording.metadata = Metadata {
        env_id: Some("Some-v0".into()),
        algorithm: Some("by hand".into()),
        author: vec!["A".into(), "B".into()],
        max_episode_steps: Some(7),
        ..Metadata::default()
    };
    for (steps, ending) in [(2, Ending::Terminated), (1, Ending::Truncated), (3, Ending::Truncated)] {
        let mut obs = ObsBuf::zeros(recording.spaces.obs().widths, steps + 1);
        for (i, row) in obs.floats.chunks_exact_mut(5).enumerate() {
            row.copy_from_slice(&[0.1 * i as f32, 0.5, (i % 4) as f32, 1.0, 0.0]);
        }
        obs.bytes.iter_mut().enumerate().for_each(|(i, byte)| *byte = i as u8);
        recording.episodes.push(EpisodeBuf {
            obs,
            masks: (0..5 * (steps + 1)).map(|i| i % 3 != 0).collect(),
            actions: (0..2 * steps).map(|i| (i % 2) as f32).collect(),
            rewards: (0..steps).map(|i| i as f32 - 0.5).collect(),
            ending,
        });
    }
    recording
}

#[test]
fn what_is_written_is_read_again_as_it_was() {
    in_folder(|path| {
        for mut original in [recording(&[3, 1, 5, 2]), rich()] {
            write(&path, &mut original.reader()).unwrap();
            let found = Recording::read(&mut open(&path, &OpenOptions::default()).unwrap()).unwrap();
            // A flat file says that an episode stops by saying that it was cut off.
            original.episodes.iter_mut().filter(|episode| episode.ending == Ending::Stopped).for_each(|episode| {
                episode.ending = Ending::Truncated;
            });
            original.name = path.display().to_string();
            assert_eq!(found, original);
            // The file's own spaces come before those of whoever reads it.
            assert_eq!(open(&path, &options()).unwrap().spaces(), &original.spaces);
        }
        let names: Vec<_> =
            fs::read_dir(path.parent().unwrap()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names, ["data.npz"]);
    });
}

#[test]
fn a_failed_write_leaves_the_old_file_and_nothing_else() {
    in_folder(|path| {
        fs::write(&path, "old").unwrap();
        let mut broken = recording(&[2, 2]);
        broken.episodes[1].masks.push(true);
        let error = write(&path, &mut broken.reader()).unwrap_err().to_string();
        assert_eq!(error, "recording, episode 1: 1 mask entries for 2 steps, where its spaces ask for 0");
        let empty = write(&path, &mut recording(&[]).reader()).unwrap_err().to_string();
        assert!(empty.contains("recording: it holds no step"), "{empty}");
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
        let below = path.join("data.npz");
        let error = write(&below, &mut recording(&[2]).reader()).unwrap_err().to_string();
        assert!(error.contains("data.npz"), "{error}");
    });
}
