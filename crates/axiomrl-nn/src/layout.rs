//! Where each tensor lies in a flat parameter vector.

/// One named tensor inside a member's flat vector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TensorLayout {
    /// For instance `"0.weight"`, `"0.bias"`, `"0.norm.weight"` or `"0.norm.bias"`, counted from the input.
    pub name: String,
    /// First value inside the member's flat vector.
    pub offset: usize,
    /// Shape in PyTorch's convention: a weight is `[out, in]`, that of a convolution `[out, in, height, width]`.
    pub shape: Vec<usize>,
    /// Whether the flat vector holds the transpose of `shape` (true for weights): `[in, out]` or `[height, width, in, out]`.
    pub transposed: bool,
}

impl TensorLayout {
    /// Weight and bias of a linear map whose parameters start at `offset`.
    pub(crate) fn linear(name: &str, offset: usize, inputs: usize, outputs: usize) -> [Self; 2] {
        let weight = Self { name: format!("{name}.weight"), offset, shape: vec![outputs, inputs], transposed: true };
        let bias = Self {
            name: format!("{name}.bias"),
            offset: offset + inputs * outputs,
            shape: vec![outputs],
            transposed: false,
        };
        [weight, bias]
    }

    /// Number of values.
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> usize {
        self.shape.iter().product()
    }
}
