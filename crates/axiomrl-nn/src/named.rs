//! Named per-layer tensors out of a flat vector and back, for files.
//!
//! Names are `<prefix>.<member>.<layer>.weight` and so on; the member part is there only in ensembles, the prefix only when
//! it is not empty.

use crate::error::NnError;
use crate::kernels::transpose::transpose;
use crate::layout::TensorLayout;
use crate::params::Params;

/// A network whose tensors have names and a place in its flat parameters.
pub trait NamedTensors {
    /// Where each tensor lies in the flat parameters of a member, and these parameters.
    fn tensors(&self) -> (Vec<TensorLayout>, &Params);

    fn params_mut(&mut self) -> &mut Params;

    /// Hands out every tensor by name, weights as `[out, in]`.
    fn export(&self, prefix: &str, put: &mut dyn FnMut(String, Vec<usize>, Vec<f32>)) {
        let (layout, params) = self.tensors();
        export_layout(&layout, params.as_slice(), prefix, put);
    }

    /// Reads every tensor back. The error names the first that is missing or has another shape; the network is then unchanged.
    fn import(
        &mut self,
        prefix: &str,
        get: &mut dyn FnMut(&str) -> Option<(Vec<usize>, Vec<f32>)>,
    ) -> Result<(), NnError> {
        let (layout, params) = self.tensors();
        let values = import_layout(&layout, params.members(), prefix, get)?;
        self.params_mut().make_mut().copy_from_slice(&values);
        Ok(())
    }
}

/// Hands out every tensor of a flat vector `[members, parameters]`.
pub fn export_layout(
    layout: &[TensorLayout],
    values: &[f32],
    prefix: &str,
    put: &mut dyn FnMut(String, Vec<usize>, Vec<f32>),
) {
    let per_member = layout.iter().map(TensorLayout::len).sum::<usize>().max(1);
    assert_eq!(values.len() % per_member, 0, "the values do not have this network's layout");
    let members = values.len() / per_member;
    for (member, values) in values.chunks_exact(per_member).enumerate() {
        for tensor in layout {
            let stored = &values[tensor.offset..tensor.offset + tensor.len()];
            let mut data = stored.to_vec();
            if tensor.transposed {
                let (outputs, fan_in) = (tensor.shape[0], tensor.len() / tensor.shape[0].max(1));
                transpose(stored, &mut data, fan_in, outputs);
                if let [_, channels, height, width] = tensor.shape[..] {
                    swap_channels(&mut data, height * width, channels);
                }
            }
            put(full_name(prefix, member, members, &tensor.name), tensor.shape.clone(), data);
        }
    }
}

/// Collects a flat vector from named tensors.
fn import_layout(
    layout: &[TensorLayout],
    members: usize,
    prefix: &str,
    get: &mut dyn FnMut(&str) -> Option<(Vec<usize>, Vec<f32>)>,
) -> Result<Vec<f32>, NnError> {
    let per_member = layout.iter().map(TensorLayout::len).sum::<usize>();
    let mut values = vec![0.0; members * per_member];
    for (member, values) in values.chunks_exact_mut(per_member.max(1)).enumerate() {
        for tensor in layout {
            let name = full_name(prefix, member, members, &tensor.name);
            let Some((shape, mut data)) = get(&name) else {
                return Err(NnError::MissingTensor { name });
            };
            if shape != tensor.shape || data.len() != tensor.len() {
                return Err(NnError::WrongShape { name, expected: tensor.shape.clone(), found: shape });
            }
            let target = &mut values[tensor.offset..tensor.offset + tensor.len()];
            if tensor.transposed {
                if let [_, channels, height, width] = tensor.shape[..] {
                    swap_channels(&mut data, channels, height * width);
                }
                let outputs = tensor.shape[0];
                transpose(&data, target, outputs, tensor.len() / outputs.max(1));
            } else {
                target.copy_from_slice(&data);
            }
        }
    }
    Ok(values)
}

/// Transposes each `[rows, columns]` block: pixels and channels change places within every output channel's filter.
fn swap_channels(data: &mut [f32], rows: usize, columns: usize) {
    let mut block = vec![0.0; rows * columns];
    for filter in data.chunks_exact_mut((rows * columns).max(1)) {
        transpose(filter, &mut block, rows, columns);
        filter.copy_from_slice(&block);
    }
}

fn full_name(prefix: &str, member: usize, members: usize, name: &str) -> String {
    let dot = if prefix.is_empty() || prefix.ends_with('.') { "" } else { "." };
    if members > 1 { format!("{prefix}{dot}{member}.{name}") } else { format!("{prefix}{dot}{name}") }
}
