//! A graph that is being built, and how it is written down.
//!
//! Numbers of fields are those of `onnx.proto`: a model has its version (1), who made it (2, 3), a graph (7), the version of its
//! operations (8) and what else is said of it (14); a graph has nodes (1), a name (2), constants (5), inputs (11) and outputs (12).

use crate::wire::Message;

/// The version of the format, and of its operations: old enough for what runs such files, new enough for LayerNormalization.
const FORMAT: i64 = 8;
const OPERATIONS: i64 = 17;

/// The kinds of numbers, with the format's numbers for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Element {
    Float = 1,
    Byte = 2,
    Int = 7,
    Bool = 9,
    Double = 11,
}

impl Element {
    /// As numpy calls it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Float => "float32",
            Self::Byte => "uint8",
            Self::Int => "int64",
            Self::Bool => "bool",
            Self::Double => "float64",
        }
    }
}

/// A setting of an operation.
#[derive(Clone, Copy, Debug)]
pub enum Attribute<'a> {
    Float(f32),
    Int(i64),
    Ints(&'a [i64]),
    Text(&'a str),
}

/// Something that is known while the graph runs: an input, a constant, or what an operation gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Value(usize);

/// What goes in or comes out. Rows come first, as many as there are; `shape` is that of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    pub name: String,
    pub element: Element,
    pub shape: Vec<usize>,
}

#[derive(Clone, Debug, Default)]
pub struct Graph {
    /// Names of all values.
    names: Vec<String>,
    nodes: Vec<Message>,
    constants: Vec<Message>,
    inputs: Vec<Named>,
    outputs: Vec<Named>,
}

impl Graph {
    pub fn new() -> Self {
        Self::default()
    }

    /// Rows that whoever runs the graph hands in.
    pub fn input(&mut self, name: &str, element: Element, shape: &[usize]) -> Value {
        self.inputs.push(Named { name: name.to_owned(), element, shape: shape.to_vec() });
        self.value(name.to_owned())
    }

    /// Rows that the graph gives.
    pub fn output(&mut self, name: &str, value: Value, element: Element, shape: &[usize]) {
        self.outputs.push(Named { name: name.to_owned(), element, shape: shape.to_vec() });
        // A value has one name, and an input may well be an output.
        let node = Message::default().text(1, &self.names[value.0]).text(2, name).text(4, "Identity");
        self.nodes.push(node);
    }

    pub fn inputs(&self) -> &[Named] {
        &self.inputs
    }

    pub fn outputs(&self) -> &[Named] {
        &self.outputs
    }

    /// What an operation makes of values.
    pub fn node(&mut self, operation: &str, inputs: &[Value], attributes: &[(&str, Attribute<'_>)]) -> Value {
        let inputs: Vec<Option<Value>> = inputs.iter().copied().map(Some).collect();
        let [only] = self.node_with(operation, &inputs, attributes);
        only
    }

    /// The same for operations that give several values, or take some that may be missing. Of what comes out, what nobody uses
    /// costs nothing.
    pub fn node_with<const N: usize>(
        &mut self,
        operation: &str,
        inputs: &[Option<Value>],
        attributes: &[(&str, Attribute<'_>)],
    ) -> [Value; N] {
        let mut node = Message::default();
        for input in inputs {
            node = node.text(1, input.map_or("", |value| &self.names[value.0]));
        }
        let outputs = std::array::from_fn(|_| self.fresh());
        for output in outputs {
            let Value(at) = output;
            node = node.text(2, &self.names[at]);
        }
        node = node.text(4, operation);
        for (name, attribute) in attributes {
            node = node.message(5, &written(name, *attribute));
        }
        self.nodes.push(node);
        outputs
    }

    pub fn floats(&mut self, shape: &[usize], values: &[f32]) -> Value {
        self.constant(Element::Float, shape, values.iter().flat_map(|v| v.to_le_bytes()).collect())
    }

    pub fn doubles(&mut self, shape: &[usize], values: &[f64]) -> Value {
        self.constant(Element::Double, shape, values.iter().flat_map(|v| v.to_le_bytes()).collect())
    }

    pub fn ints(&mut self, shape: &[usize], values: &[i64]) -> Value {
        self.constant(Element::Int, shape, values.iter().flat_map(|v| v.to_le_bytes()).collect())
    }

    /// A tensor: its shape (1), kind (2), name (8) and bytes (9).
    fn constant(&mut self, element: Element, shape: &[usize], raw: Vec<u8>) -> Value {
        let value = self.fresh();
        let tensor = shape.iter().fold(Message::default(), |tensor, &size| tensor.int(1, size as i64));
        self.constants.push(tensor.int(2, element as i64).text(8, &self.names[value.0]).bytes(9, &raw));
        value
    }

    fn fresh(&mut self) -> Value {
        self.value(format!("_value_{}", self.names.len()))
    }

    fn value(&mut self, name: String) -> Value {
        self.names.push(name);
        Value(self.names.len() - 1)
    }

    /// The file. `about` is what is said of it besides, as pairs of a key and a value.
    pub fn model(self, name: &str, about: &[(&str, &str)]) -> Vec<u8> {
        let graph = Message::default()
            .messages(1, &self.nodes)
            .text(2, name)
            .messages(5, &self.constants)
            .messages(11, &self.inputs.iter().map(described).collect::<Vec<_>>())
            .messages(12, &self.outputs.iter().map(described).collect::<Vec<_>>());
        let operations = Message::default().text(1, "").int(2, OPERATIONS);
        let said = about.iter().map(|(key, value)| Message::default().text(1, key).text(2, value));
        Message::default()
            .int(1, FORMAT)
            .text(2, "axiomrl")
            .text(3, env!("CARGO_PKG_VERSION"))
            .message(7, &graph)
            .message(8, &operations)
            .messages(14, &said.collect::<Vec<_>>())
            .into_bytes()
    }
}

/// An attribute: its name (1), its value (2 for a float, 3 for a whole number, 4 for text, 8 for several whole numbers), and which
/// of these it is (20).
fn written(name: &str, attribute: Attribute<'_>) -> Message {
    let message = Message::default().text(1, name);
    match attribute {
        Attribute::Float(value) => message.float(2, value).int(20, 1),
        Attribute::Int(value) => message.int(3, value).int(20, 2),
        Attribute::Text(value) => message.text(4, value).int(20, 3),
        Attribute::Ints(values) => values.iter().fold(message, |message, &value| message.int(8, value)).int(20, 7),
    }
}

/// Name (1) and type (2) of what goes in or out: a tensor (1) of a kind (1) and a shape (2), whose sizes (1) are numbers (1) or
/// names (2).
fn described(named: &Named) -> Message {
    let rows = Message::default().text(2, "batch");
    let sizes = named.shape.iter().map(|&size| Message::default().int(1, size as i64));
    let sizes: Vec<Message> = std::iter::once(rows).chain(sizes).collect();
    let shape = Message::default().messages(1, &sizes);
    let tensor = Message::default().int(1, named.element as i64).message(2, &shape);
    Message::default().text(1, &named.name).message(2, &Message::default().message(1, &tensor))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether `bytes` occur in `within`.
    fn holds(within: &[u8], bytes: &[u8]) -> bool {
        within.windows(bytes.len()).any(|window| window == bytes)
    }

    #[test]
    fn a_model_is_written_as_the_format_has_it() {
        let mut graph = Graph::new();
        let x = graph.input("x", Element::Float, &[3]);
        let two = graph.floats(&[1], &[2.0]);
        let y = graph.node("Mul", &[x, two], &[]);
        graph.output("y", y, Element::Float, &[3]);
        let model = graph.model("g", &[("k", "v")]);
        // Version 8 of the format comes first.
        assert_eq!(model[..2], [0x08, 8]);
        // x * constant -> _value_2
        let node = b"\x0a\x01x\x0a\x08_value_1\x12\x08_value_2\x22\x03Mul";
        assert!(holds(&model, node));
        assert!(holds(&model, b"\x0a\x08_value_2\x12\x01y\x22\x08Identity"));
        // The constant: shape [1], floats, its name, four bytes.
        assert!(holds(&model, b"\x08\x01\x10\x01\x42\x08_value_1\x4a\x04\x00\x00\x00\x40"));
        // The input: its name, then floats of the shape [batch, 3].
        assert!(holds(&model, b"\x0a\x01x\x12\x13\x0a\x11\x08\x01\x12\x0d\x0a\x07\x12\x05batch\x0a\x02\x08\x03"));
        // Version 17 of the default operations, and what is said besides.
        assert!(holds(&model, b"\x42\x04\x0a\x00\x10\x11\x72\x06\x0a\x01k\x12\x01v"));
    }

    #[test]
    fn attributes_say_what_they_are() {
        let bytes = |attribute| written("a", attribute).into_bytes();
        assert_eq!(bytes(Attribute::Int(-1))[3..], [&[0x18][..], &[0xff; 9], &[1, 0xa0, 1, 2]].concat());
        assert_eq!(bytes(Attribute::Float(0.5))[3..], [0x15, 0, 0, 0, 0x3f, 0xa0, 1, 1]);
        assert_eq!(bytes(Attribute::Text("t"))[3..], [0x22, 1, b't', 0xa0, 1, 3]);
        assert_eq!(bytes(Attribute::Ints(&[1, 2]))[3..], [0x40, 1, 0x40, 2, 0xa0, 1, 7]);
    }

    #[test]
    fn a_missing_input_is_a_name_of_nothing() {
        let mut graph = Graph::new();
        let x = graph.input("x", Element::Float, &[]);
        let [_, _] = graph.node_with("Op", &[Some(x), None, Some(x)], &[]);
        assert!(holds(&graph.model("g", &[]), b"\x0a\x01x\x0a\x00\x0a\x01x\x12\x08_value_1\x12\x08_value_2\x22\x02Op"));
    }
}
