//! Episodes to Minari's HDF5 layout.

use super::check_id;
use super::hdf5::MAIN;
use super::metadata::{METADATA, describe};
use crate::episode::next_checked;
use crate::files::Staging;
use crate::rows::gather;
use crate::{DataError, Ending, EpisodeBuf, EpisodeReader};
use axiomrl_envs::{Kind, ObsSpace, Part, Space, Spaces};
use hdf5_pure::{AttrValue, Datatype, EnumTypeBuilder, FileBuilder, GroupBuilder, make_i8_type};
use std::fs::{self, File};
use std::io::BufWriter;
use std::path::{Path, PathBuf};

/// What lets a folder be listed as a namespace.
const NAMESPACE: &str = "namespace_metadata.json";

pub(super) fn write(root: &Path, id: &str, reader: &mut dyn EpisodeReader) -> Result<PathBuf, DataError> {
    check_id(id)?;
    let target = root.join(id);
    if target.exists() {
        return Err(DataError::file(&target, "is there already; remove it, or write the next version of the id"));
    }
    let spaces = reader.spaces().clone();
    check_names(&spaces.observation)?;
    let staging = Staging::beside(&target)?;
    let data = staging.path("dataset").join("data");
    fs::create_dir_all(&data).map_err(|error| DataError::io(&data, error))?;
    let layout = Layout::new(&spaces)?;
    let (mut builder, mut episodes, mut steps) = (FileBuilder::new(), 0, 0);
    while let Some(episode) = next_checked(reader, &spaces, episodes)? {
        let mut group = builder.create_group(&format!("episode_{episodes}"));
        layout.add(&episode, episodes, &mut group);
        builder.add_group(group.finish());
        episodes += 1;
        steps += episode.steps() as u64;
    }
    if steps == 0 {
        return Err(DataError::Empty { name: reader.name().to_owned() });
    }
    let main = data.join(MAIN);
    let file = File::create(&main).map_err(|error| DataError::io(&main, error))?;
    builder.finish_to(BufWriter::new(file)).map_err(|error| match error {
        hdf5_pure::Error::Io(error) => DataError::io(&main, error),
        other => DataError::file(&target, format!("cannot be written as HDF5: {other}")),
    })?;
    let bytes = fs::metadata(&main).map_err(|error| DataError::io(&main, error))?.len();
    let text = describe(id, &spaces, reader.metadata(), episodes, steps, bytes);
    let metadata = data.join(METADATA);
    fs::write(&metadata, text).map_err(|error| DataError::io(&metadata, error))?;
    staging.publish("dataset")?;
    mark_namespaces(root, &target)?;
    Ok(target.join("data"))
}

/// A name with a slash would be taken for two.
fn check_names(space: &Space) -> Result<(), DataError> {
    let Space::Dict { entries } = space else { return Ok(()) };
    for (name, space) in entries {
        if name.is_empty() || name.contains('/') || name == "." {
            return Err(DataError::Invalid(format!(
                "`{name}` cannot be the name of a part of an observation in HDF5; rename it"
            )));
        }
        check_names(space)?;
    }
    Ok(())
}

fn mark_namespaces(root: &Path, target: &Path) -> Result<(), DataError> {
    for folder in target.ancestors().skip(1).take_while(|folder| *folder != root) {
        let path = folder.join(NAMESPACE);
        if !path.exists() {
            fs::write(&path, "{}").map_err(|error| DataError::io(&path, error))?;
        }
    }
    Ok(())
}

struct Layout<'a> {
    spaces: &'a Spaces,
    obs: ObsSpace,
    /// h5py's bool.
    boolean: Datatype,
}

impl<'a> Layout<'a> {
    fn new(spaces: &'a Spaces) -> Result<Self, DataError> {
        if matches!(spaces.action, Space::Dict { .. }) {
            return Err(DataError::Invalid("Dict actions cannot be written".into()));
        }
        let boolean = EnumTypeBuilder::with_base(make_i8_type()).value("FALSE", 0).value("TRUE", 1).build();
        let boolean = boolean.map_err(|error| DataError::Invalid(error.to_string()))?;
        Ok(Self { spaces, obs: spaces.obs(), boolean })
    }

    fn add(&self, episode: &EpisodeBuf, number: usize, group: &mut GroupBuilder) {
        let steps = episode.steps();
        group.set_attr("id", AttrValue::I64(number as i64));
        group.set_attr("total_steps", AttrValue::I64(steps as i64));
        self.observations(&self.spaces.observation, "observations", &mut self.obs.parts.iter(), episode, group);
        match &self.spaces.action {
            Space::Box(b) => numbers(group, "actions", &episode.actions, steps, &b.shape),
            Space::MultiBinary { n } => bits(group, "actions", &episode.actions, steps, &[*n]),
            Space::MultiDiscrete { nvec } => choices(group, "actions", &episode.actions, steps, &[nvec.len()]),
            Space::Discrete { .. } | Space::Dict { .. } => choices(group, "actions", &episode.actions, steps, &[]),
        }
        let rewards: Vec<f64> = episode.rewards.iter().map(|&reward| f64::from(reward)).collect();
        group.create_dataset("rewards").with_f64_data(&rewards);
        for (name, ending) in [("terminations", Ending::Terminated), ("truncations", Ending::Truncated)] {
            let marks: Vec<u8> = (1..=steps).map(|step| u8::from(step == steps && episode.ending == ending)).collect();
            group.create_dataset(name).with_enum_u8_data(self.boolean.clone(), &marks);
        }
        // Without the group an episode has no infos at all, and Python fails to show it.
        let mut infos = group.create_group("infos");
        if self.spaces.masks > 0 {
            let masks: Vec<f32> = episode.masks.iter().map(|&mask| f32::from(u8::from(mask))).collect();
            bits(&mut infos, "action_mask", &masks, steps + 1, &[self.spaces.masks]);
        }
        group.add_group(infos.finish());
    }

    /// Dicts are groups, and what is in them takes the parts in their order.
    fn observations<'p>(
        &self,
        space: &Space,
        name: &str,
        parts: &mut impl Iterator<Item = &'p Part>,
        episode: &EpisodeBuf,
        group: &mut GroupBuilder,
    ) {
        if let Space::Dict { entries } = space {
            let mut inner = group.create_group(name);
            for (name, space) in entries {
                self.observations(space, name, parts, episode, &mut inner);
            }
            return group.add_group(inner.finish());
        }
        let Some(part) = parts.next() else { return };
        let (rows, widths) = (episode.obs.rows(), self.obs.widths);
        if part.kind == Kind::U8 {
            let bytes = gather(&episode.obs.bytes, part.at.clone(), widths.bytes);
            group.create_dataset(name).with_u8_data(&bytes).with_shape(&shape(rows, &part.shape));
            return;
        }
        let values = gather(&episode.obs.floats, part.at.clone(), widths.floats);
        match space {
            Space::Discrete { .. } => choices(group, name, &values, rows, &[]),
            Space::MultiDiscrete { nvec } => choices(group, name, &values, rows, &[nvec.len()]),
            Space::MultiBinary { n } => bits(group, name, &values, rows, &[*n]),
            _ => numbers(group, name, &values, rows, &part.shape),
        }
    }
}

fn shape(rows: usize, inner: &[usize]) -> Vec<u64> {
    [&[rows], inner].concat().into_iter().map(|n| n as u64).collect()
}

fn numbers(group: &mut GroupBuilder, name: &str, values: &[f32], rows: usize, inner: &[usize]) {
    group.create_dataset(name).with_f32_data(values).with_shape(&shape(rows, inner));
}

fn choices(group: &mut GroupBuilder, name: &str, values: &[f32], rows: usize, inner: &[usize]) {
    let values: Vec<i64> = values.iter().map(|&value| value as i64).collect();
    group.create_dataset(name).with_i64_data(&values).with_shape(&shape(rows, inner));
}

fn bits(group: &mut GroupBuilder, name: &str, values: &[f32], rows: usize, inner: &[usize]) {
    let values: Vec<i8> = values.iter().map(|&value| value as i8).collect();
    group.create_dataset(name).with_i8_data(&values).with_shape(&shape(rows, inner));
}
