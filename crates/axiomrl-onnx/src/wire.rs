//! Protobuf messages, as far as the format needs them: fields are written one after the other and never looked at again.

// The kinds of fields.
const VARINT: u64 = 0;
const BYTES: u64 = 2;
const FIXED32: u64 = 5;

/// A message that is being written.
#[derive(Clone, Debug, Default)]
pub struct Message(Vec<u8>);

impl Message {
    /// A whole number. Negative ones take ten bytes, as the format wants it.
    pub fn int(mut self, field: u64, value: i64) -> Self {
        self.key(field, VARINT);
        self.varint(value as u64);
        self
    }

    pub fn float(mut self, field: u64, value: f32) -> Self {
        self.key(field, FIXED32);
        self.0.extend(value.to_le_bytes());
        self
    }

    pub fn bytes(mut self, field: u64, bytes: &[u8]) -> Self {
        self.key(field, BYTES);
        self.varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
        self
    }

    pub fn text(self, field: u64, text: &str) -> Self {
        self.bytes(field, text.as_bytes())
    }

    pub fn message(self, field: u64, inner: &Message) -> Self {
        self.bytes(field, &inner.0)
    }

    /// The field once for each message.
    pub fn messages<'a>(self, field: u64, inner: impl IntoIterator<Item = &'a Message>) -> Self {
        inner.into_iter().fold(self, |message, inner| message.message(field, inner))
    }

    pub fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    fn key(&mut self, field: u64, kind: u64) {
        self.varint(field << 3 | kind);
    }

    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_written_as_the_format_has_them() {
        let inner = Message::default().text(2, "hi");
        let message = Message::default().int(1, 300).float(2, 1.0).message(3, &inner).int(16, -1);
        let wanted = [
            &[0x08, 0xac, 0x02][..],               // field 1: 300 in two groups of seven bits
            &[0x15, 0x00, 0x00, 0x80, 0x3f],       // field 2: 1.0, four bytes
            &[0x1a, 0x04, 0x12, 0x02, b'h', b'i'], // field 3: a message of four bytes
            &[0x80, 0x01],                         // field 16 needs two bytes
            &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01],
        ];
        assert_eq!(message.into_bytes(), wanted.concat());
    }

    #[test]
    fn repeated_messages_are_fields_of_their_own() {
        let parts = [Message::default().int(1, 1), Message::default().int(1, 2)];
        assert_eq!(Message::default().messages(5, &parts).into_bytes(), [0x2a, 2, 0x08, 1, 0x2a, 2, 0x08, 2]);
    }
}
