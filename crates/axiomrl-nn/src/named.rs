//! Named per-layer tensors out of a flat vector and back, for files.
//!
//! Names are `<prefix>.<member>.<layer>.weight` and so on; the member part is there only in ensembles, the prefix only when
//! it is not empty. Works on anything with a network's layout: parameters, Adam's moments.

use crate::error::NnError;
use crate::kernels::transpose::transpose;
use crate::spec::MlpSpec;

/// Hands out every tensor of a flat vector `[members, parameters]`, weights as `[out, in]`.
pub fn export_flat(spec: &MlpSpec, values: &[f32], prefix: &str, put: &mut dyn FnMut(String, Vec<usize>, Vec<f32>)) {
    let per_member = spec.param_count();
    assert_eq!(values.len() % per_member, 0, "the values do not have this network's layout");
    let members = values.len() / per_member;
    for (member, values) in values.chunks_exact(per_member).enumerate() {
        for tensor in spec.layout() {
            let len: usize = tensor.shape.iter().product();
            let mut data = values[tensor.offset..tensor.offset + len].to_vec();
            if tensor.transposed {
                transpose(&values[tensor.offset..tensor.offset + len], &mut data, tensor.shape[1], tensor.shape[0]);
            }
            put(full_name(prefix, member, members, &tensor.name), tensor.shape, data);
        }
    }
}

/// Collects a flat vector from named tensors; the error names the first that is missing or has another shape.
pub fn import_flat(
    spec: &MlpSpec,
    members: usize,
    prefix: &str,
    get: &mut dyn FnMut(&str) -> Option<(Vec<usize>, Vec<f32>)>,
) -> Result<Vec<f32>, NnError> {
    let per_member = spec.param_count();
    let mut values = vec![0.0; members * per_member];
    for (member, values) in values.chunks_exact_mut(per_member).enumerate() {
        for tensor in spec.layout() {
            let name = full_name(prefix, member, members, &tensor.name);
            let Some((shape, data)) = get(&name) else {
                return Err(NnError::MissingTensor { name });
            };
            let len: usize = tensor.shape.iter().product();
            if shape != tensor.shape || data.len() != len {
                return Err(NnError::WrongShape { name, expected: tensor.shape, found: shape });
            }
            let target = &mut values[tensor.offset..tensor.offset + len];
            if tensor.transposed {
                transpose(&data, target, tensor.shape[0], tensor.shape[1]);
            } else {
                target.copy_from_slice(&data);
            }
        }
    }
    Ok(values)
}

fn full_name(prefix: &str, member: usize, members: usize, name: &str) -> String {
    let dot = if prefix.is_empty() || prefix.ends_with('.') { "" } else { "." };
    if members > 1 { format!("{prefix}{dot}{member}.{name}") } else { format!("{prefix}{dot}{name}") }
}
