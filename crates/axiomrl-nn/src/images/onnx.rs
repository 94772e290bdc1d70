//! What networks over images have in common as nodes of an ONNX graph. Its convolutions have channels first, so images are turned at
//! the beginning and at the end.

use crate::layout::TensorLayout;
use crate::named::export_layout;
use axiomrl_onnx::{Attribute, Graph, Value};

/// Rows of images, channels last, to `[images, channels, height, width]`.
pub fn channels_first(graph: &mut Graph, x: Value, [height, width, channels]: [usize; 3]) -> Value {
    let x = graph.reshape(x, &[-1, height as i64, width as i64, channels as i64]);
    graph.transpose(x, &[0, 3, 1, 2])
}

/// The reverse of [`channels_first`], for rows of `features` numbers.
pub fn to_rows(graph: &mut Graph, x: Value, features: usize) -> Value {
    let x = graph.transpose(x, &[0, 2, 3, 1]);
    graph.reshape(x, &[-1, features as i64])
}

/// The tensors of a network one after the other, convolutions as `[out, in, height, width]`, weights as `[out, in]`.
pub struct Tensors(std::vec::IntoIter<(Vec<usize>, Vec<f32>)>);

impl Tensors {
    pub fn new(layout: &[TensorLayout], params: &[f32]) -> Self {
        let mut tensors = Vec::with_capacity(layout.len());
        export_layout(layout, params, "", &mut |_, shape, values| tensors.push((shape, values)));
        Self(tensors.into_iter())
    }

    pub fn tensor(&mut self) -> (Vec<usize>, Vec<f32>) {
        self.0.next().expect("a layout lists every tensor of every layer")
    }

    /// A convolution whose weight and bias are the next two tensors.
    pub fn convolve(&mut self, graph: &mut Graph, x: Value, stride: usize, padding: usize) -> Value {
        let ((shape, weight), (_, bias)) = (self.tensor(), self.tensor());
        let (kernel, stride, padding) = (shape[2] as i64, stride as i64, padding as i64);
        let (weight, bias) = (graph.floats(&shape, &weight), graph.floats(&[bias.len()], &bias));
        let attributes = [
            ("kernel_shape", Attribute::Ints(&[kernel; 2])),
            ("strides", Attribute::Ints(&[stride; 2])),
            ("pads", Attribute::Ints(&[padding; 4])),
        ];
        graph.node("Conv", &[x, weight, bias], &attributes)
    }

    /// A linear map whose weight and bias are the next two tensors.
    pub fn linear(&mut self, graph: &mut Graph, x: Value) -> Value {
        let ((shape, weight), (_, bias)) = (self.tensor(), self.tensor());
        let (weight, bias) = (graph.floats(&shape, &weight), graph.floats(&[bias.len()], &bias));
        graph.node("Gemm", &[x, weight, bias], &[("transB", Attribute::Int(1))])
    }
}
