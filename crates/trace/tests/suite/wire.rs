//! Reads protobuf by its wire format (<https://protobuf.dev/programming-guides/encoding/>), with the numbers of
//! Perfetto's schema: independent of the library that writes it.

/// A field of a message: its number, its type on the wire, and its name in `perfetto_trace.proto`.
type Field = (u64, Type, &'static str);

/// Types on the wire that are used.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Type {
    Varint,
    Bytes,
}
use Type::{Bytes, Varint};

/// `perfetto.protos.Trace`.
pub const TRACE: &[Field] = &[(1, Bytes, "packet")];
/// `perfetto.protos.TracePacket`.
pub const PACKET: &[Field] = &[
    (8, Varint, "timestamp"),
    (10, Varint, "trusted_packet_sequence_id"),
    (11, Bytes, "track_event"),
    (13, Varint, "sequence_flags"),
    (60, Bytes, "track_descriptor"),
];
/// `perfetto.protos.TrackEvent`.
pub const EVENT: &[Field] = &[
    (9, Varint, "type"),
    (11, Varint, "track_uuid"),
    (23, Bytes, "name"),
    (30, Varint, "counter_value"),
];
/// `perfetto.protos.TrackDescriptor`.
pub const TRACK: &[Field] = &[
    (1, Varint, "uuid"),
    (2, Bytes, "name"),
    (5, Varint, "parent_uuid"),
    (8, Bytes, "counter"),
    (11, Varint, "child_ordering"),
    (12, Varint, "sibling_order_rank"),
];
/// `perfetto.protos.CounterDescriptor`.
pub const COUNTER: &[Field] = &[(3, Varint, "unit")];

/// A message: its fields in the order of the bytes.
#[derive(Debug)]
pub struct Message<'b> {
    fields: Vec<(&'static str, Value<'b>)>,
}

#[derive(Clone, Copy, Debug)]
enum Value<'b> {
    Number(u64),
    Bytes(&'b [u8]),
}

impl<'b> Message<'b> {
    /// Reads a message of that kind, whose fields are all known, and of which none but `packet` is there twice.
    #[track_caller]
    pub fn read(schema: &[Field], mut bytes: &'b [u8]) -> Self {
        let mut fields: Vec<(&str, Value<'_>)> = Vec::new();
        while !bytes.is_empty() {
            let key = varint(&mut bytes);
            let known = schema.iter().find(|it| it.0 == key >> 3);
            let (_, kind, name) =
                *known.unwrap_or_else(|| panic!("no field {} in {schema:?}", key >> 3));
            let value = match (key & 7, kind) {
                (0, Varint) => Value::Number(varint(&mut bytes)),
                (2, Bytes) => {
                    let length = varint(&mut bytes) as usize;
                    let (value, rest) = bytes.split_at_checked(length).expect("as long as it says");
                    bytes = rest;
                    Value::Bytes(value)
                }
                (other, _) => panic!("{name} has type {other} on the wire"),
            };
            assert!(
                name == "packet" || fields.iter().all(|it| it.0 != name),
                "{name} is there twice"
            );
            fields.push((name, value));
        }
        Self { fields }
    }

    /// Returns a number.
    pub fn number(&self, name: &str) -> Option<u64> {
        self.all(name)
            .find_map(|it| if let Value::Number(number) = it { Some(number) } else { None })
    }

    /// Returns a text.
    pub fn text(&self, name: &str) -> Option<&'b str> {
        self.bytes(name).next().map(|it| std::str::from_utf8(it).expect("UTF-8"))
    }

    /// Returns the messages of a field.
    pub fn messages(
        &self,
        name: &str,
        schema: &'static [Field],
    ) -> impl Iterator<Item = Message<'b>> {
        self.bytes(name).map(move |it| Message::read(schema, it))
    }

    fn bytes(&self, name: &str) -> impl Iterator<Item = &'b [u8]> {
        self.all(name)
            .filter_map(|it| if let Value::Bytes(bytes) = it { Some(bytes) } else { None })
    }

    fn all(&self, name: &str) -> impl Iterator<Item = Value<'b>> {
        self.fields.iter().filter(move |it| it.0 == name).map(|it| it.1)
    }
}

/// Takes seven bits of each byte, the lowest first, while the eighth is set.
fn varint(bytes: &mut &[u8]) -> u64 {
    let mut number = 0;
    for shift in (0..70).step_by(7) {
        let (&first, rest) = bytes.split_first().expect("a varint ends");
        *bytes = rest;
        number |= u64::from(first & 0x7f) << shift;
        if first < 0x80 {
            return number;
        }
    }
    panic!("a varint has ten bytes at most");
}
