//! Operations by name: what networks and policies are made of.

use crate::graph::{Attribute, Element, Graph, Value};
use std::ops::Range;

impl Graph {
    pub fn add(&mut self, a: Value, b: Value) -> Value {
        self.node("Add", &[a, b], &[])
    }

    pub fn sub(&mut self, a: Value, b: Value) -> Value {
        self.node("Sub", &[a, b], &[])
    }

    pub fn mul(&mut self, a: Value, b: Value) -> Value {
        self.node("Mul", &[a, b], &[])
    }

    pub fn div(&mut self, a: Value, b: Value) -> Value {
        self.node("Div", &[a, b], &[])
    }

    /// A number that goes with everything.
    pub fn scalar(&mut self, value: f32) -> Value {
        self.floats(&[], &[value])
    }

    pub fn add_scalar(&mut self, a: Value, b: f32) -> Value {
        let b = self.scalar(b);
        self.add(a, b)
    }

    pub fn scale(&mut self, a: Value, by: f32) -> Value {
        let by = self.scalar(by);
        self.mul(a, by)
    }

    pub fn tanh(&mut self, x: Value) -> Value {
        self.node("Tanh", &[x], &[])
    }

    pub fn sigmoid(&mut self, x: Value) -> Value {
        self.node("Sigmoid", &[x], &[])
    }

    pub fn relu(&mut self, x: Value) -> Value {
        self.node("Relu", &[x], &[])
    }

    pub fn exp(&mut self, x: Value) -> Value {
        self.node("Exp", &[x], &[])
    }

    pub fn sqrt(&mut self, x: Value) -> Value {
        self.node("Sqrt", &[x], &[])
    }

    /// Within `low` and `high`.
    pub fn clip(&mut self, x: Value, low: f32, high: f32) -> Value {
        let (low, high) = (self.scalar(low), self.scalar(high));
        self.node("Clip", &[x, low, high], &[])
    }

    /// `x` `[..., inputs]` times a weight `[inputs, outputs]`, plus a bias `[outputs]`.
    pub fn linear(&mut self, x: Value, (inputs, outputs): (usize, usize), weight: &[f32], bias: &[f32]) -> Value {
        let (weight, bias) = (self.floats(&[inputs, outputs], weight), self.floats(&[outputs], bias));
        let product = self.node("MatMul", &[x, weight], &[]);
        self.add(product, bias)
    }

    /// To another shape; one size may be -1, which is whatever is left.
    pub fn reshape(&mut self, x: Value, shape: &[i64]) -> Value {
        let shape = self.ints(&[shape.len()], shape);
        self.node("Reshape", &[x, shape], &[])
    }

    pub fn transpose(&mut self, x: Value, order: &[i64]) -> Value {
        self.node("Transpose", &[x], &[("perm", Attribute::Ints(order))])
    }

    /// Side by side along the last axis.
    pub fn concat(&mut self, parts: &[Value]) -> Value {
        match parts {
            [only] => *only,
            _ => self.node("Concat", parts, &[("axis", Attribute::Int(-1))]),
        }
    }

    /// Some of the `width` columns of the last axis.
    pub fn columns(&mut self, x: Value, part: Range<usize>, width: usize) -> Value {
        if part == (0..width) {
            return x;
        }
        let mut at = |index: usize| self.ints(&[1], &[index as i64]);
        let (start, end) = (at(part.start), at(part.end));
        let axis = self.ints(&[1], &[-1]);
        self.node("Slice", &[x, start, end, axis], &[])
    }

    pub fn cast(&mut self, x: Value, to: Element) -> Value {
        self.node("Cast", &[x], &[("to", Attribute::Int(to as i64))])
    }

    pub fn softmax(&mut self, x: Value) -> Value {
        self.node("Softmax", &[x], &[("axis", Attribute::Int(-1))])
    }

    /// The mean over one axis, which stays with the size 1.
    pub fn mean(&mut self, x: Value, axis: i64) -> Value {
        self.node("ReduceMean", &[x], &[("axes", Attribute::Ints(&[axis]))])
    }

    /// The largest over one axis, which stays with the size 1.
    pub fn max(&mut self, x: Value, axis: i64) -> Value {
        self.node("ReduceMax", &[x], &[("axes", Attribute::Ints(&[axis]))])
    }

    /// The sum over the last axis, which is gone after it.
    pub fn sum(&mut self, x: Value) -> Value {
        let axis = self.ints(&[1], &[-1]);
        self.node("ReduceSum", &[x, axis], &[("keepdims", Attribute::Int(0))])
    }

    /// Where the largest of the last axis is, the first of equals; the axis is gone after it.
    pub fn argmax(&mut self, x: Value) -> Value {
        self.node("ArgMax", &[x], &[("axis", Attribute::Int(-1)), ("keepdims", Attribute::Int(0))])
    }

    /// `a` where `condition` holds, `b` elsewhere.
    pub fn choose(&mut self, condition: Value, a: Value, b: Value) -> Value {
        self.node("Where", &[condition, a, b], &[])
    }

    /// Whether `a` is larger.
    pub fn greater(&mut self, a: Value, b: Value) -> Value {
        self.node("Greater", &[a, b], &[])
    }

    /// Whole numbers below `n`, in a last axis of size 1, as `n` columns of which one is 1.
    pub fn one_hot(&mut self, index: Value, n: usize) -> Value {
        let all = self.ints(&[n], &(0..n as i64).collect::<Vec<_>>());
        let equal = self.node("Equal", &[index, all], &[]);
        self.cast(equal, Element::Float)
    }

    /// `x` `[rows, each, width]` at one place of `each` for every row: `index` `[rows]`, result `[rows, width]`.
    pub fn pick(&mut self, x: Value, index: Value) -> Value {
        let index = self.reshape(index, &[-1, 1]);
        self.node("GatherND", &[x, index], &[("batch_dims", Attribute::Int(1))])
    }

    /// `x` `[rows, width]` as `[rows, each, width]`, every row `each` times.
    pub fn repeat(&mut self, x: Value, each: usize, width: usize) -> Value {
        let apart = self.reshape(x, &[-1, 1, width as i64]);
        let shape = self.ints(&[3], &[1, each as i64, 1]);
        self.node("Expand", &[apart, shape], &[])
    }

    /// The same numbers `[each, width]` for as many rows as `like` `[rows, each, ...]` has: `[rows, each, width]`.
    pub fn for_each_row(&mut self, values: &[f32], (each, width): (usize, usize), like: Value) -> Value {
        let (values, zero) = (self.floats(&[1, each, width], values), self.ints(&[1], &[0]));
        let shape = self.node("Shape", &[like], &[]);
        let rows = self.node("Gather", &[shape, zero], &[]);
        let rest = self.ints(&[2], &[each as i64, width as i64]);
        let shape = self.concat(&[rows, rest]);
        self.node("Expand", &[values, shape], &[])
    }
}
