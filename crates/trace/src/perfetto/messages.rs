//! The messages of Perfetto's trace format that are written here, with the numbers of
//! `perfetto_trace.proto` (<https://perfetto.dev/docs/reference/trace-packet-proto>).

use prost::{Enumeration, Message};

/// `TracePacket.SequenceFlags.SEQ_INCREMENTAL_STATE_CLEARED`: nothing was said before.
pub const INCREMENTAL_STATE_CLEARED: u32 = 1;
/// `TrackDescriptor.ChildTracksOrdering.EXPLICIT`: children are in the order of their ranks.
pub const EXPLICIT_ORDER: i32 = 3;
/// `CounterDescriptor.Unit.UNIT_TIME_NS`.
pub const UNIT_TIME_NS: i32 = 1;

/// `perfetto.protos.Trace`.
#[derive(Clone, Message, PartialEq)]
pub struct Trace {
    #[prost(message, repeated, tag = "1")]
    pub packet: Vec<TracePacket>,
}

/// `perfetto.protos.TracePacket`.
#[derive(Clone, Message, PartialEq)]
pub struct TracePacket {
    #[prost(uint64, optional, tag = "8")]
    pub timestamp: Option<u64>,
    #[prost(uint32, optional, tag = "10")]
    pub trusted_packet_sequence_id: Option<u32>,
    #[prost(message, optional, tag = "11")]
    pub track_event: Option<TrackEvent>,
    #[prost(uint32, optional, tag = "13")]
    pub sequence_flags: Option<u32>,
    #[prost(message, optional, tag = "60")]
    pub track_descriptor: Option<TrackDescriptor>,
}

/// `perfetto.protos.TrackEvent`.
#[derive(Clone, Message, PartialEq)]
pub struct TrackEvent {
    #[prost(enumeration = "TrackEventType", optional, tag = "9")]
    pub r#type: Option<i32>,
    #[prost(uint64, optional, tag = "11")]
    pub track_uuid: Option<u64>,
    #[prost(string, optional, tag = "23")]
    pub name: Option<String>,
    #[prost(int64, optional, tag = "30")]
    pub counter_value: Option<i64>,
}

/// `perfetto.protos.TrackEvent.Type`.
#[derive(Clone, Copy, Debug, Enumeration, Eq, PartialEq)]
#[repr(i32)]
pub enum TrackEventType {
    Unspecified = 0,
    SliceBegin = 1,
    SliceEnd = 2,
    Instant = 3,
    Counter = 4,
}

/// `perfetto.protos.TrackDescriptor`.
#[derive(Clone, Message, PartialEq)]
pub struct TrackDescriptor {
    #[prost(uint64, optional, tag = "1")]
    pub uuid: Option<u64>,
    #[prost(string, optional, tag = "2")]
    pub name: Option<String>,
    #[prost(uint64, optional, tag = "5")]
    pub parent_uuid: Option<u64>,
    #[prost(message, optional, tag = "8")]
    pub counter: Option<CounterDescriptor>,
    #[prost(int32, optional, tag = "11")]
    pub child_ordering: Option<i32>,
    #[prost(int32, optional, tag = "12")]
    pub sibling_order_rank: Option<i32>,
}

/// `perfetto.protos.CounterDescriptor`.
#[derive(Clone, Copy, Message, PartialEq)]
pub struct CounterDescriptor {
    #[prost(int32, optional, tag = "3")]
    pub unit: Option<i32>,
}
