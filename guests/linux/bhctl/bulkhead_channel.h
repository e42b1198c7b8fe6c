/*
 * Messages in the memory of a channel: one VM writes, others read. For Linux and for any other
 * guest: it needs C11 and nothing of an operating system.
 *
 *     struct bulkhead_writer writer;
 *     if (!bulkhead_writer_open(&writer, memory, bytes, sizeof message))
 *             ...the channel has no room for one message...
 *     bulkhead_send(&writer, &message);
 *
 *     struct bulkhead_reader reader;
 *     bulkhead_reader_open(&reader, memory, bytes, sizeof message);
 *     if (bulkhead_receive(&reader, &message, BULKHEAD_NEXT, &received) == BULKHEAD_RECEIVED)
 *             ...
 *
 * `memory` is the address at which the guest has mapped the channel, `bytes` its size: both stand
 * in its device tree, in a node that is compatible with BULKHEAD_CHANNEL_COMPATIBLE and has the name
 * of the channel as `label`. It is accessed by aligned 64-bit loads and stores only, which every
 * mapping allows.
 *
 * Writer and readers never wait for each other. No message is torn: a reader gets all of it or says
 * that there is none. A reader that is slower than the writer loses messages and is told how many.
 * What a reader finds in the memory is never used as a place in it.
 */
#ifndef BULKHEAD_CHANNEL_H
#define BULKHEAD_CHANNEL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- The layout. A test compares these with crates/abi. ---- */

#define BULKHEAD_CHANNEL_COMPATIBLE "bulkhead,channel"
/* Value of `compatible` of the bell, whose page has the registers for rings. */
#define BULKHEAD_BELL_COMPATIBLE "bulkhead,bell"
/* Property of a channel that the VM may ring for: offset of its register in that page. */
#define BULKHEAD_BELL_RING "bulkhead,ring"
#define BULKHEAD_CHANNEL_WRITES "bulkhead,writes" /* property of the writer's node */
#define BULKHEAD_CHANNEL_MAGIC_VALUE 0x314c454e4e414843 /* "CHANNEL1" */

/* Byte offsets of 64-bit words: in the memory, ... */
#define BULKHEAD_CHANNEL_MAGIC 0x00
#define BULKHEAD_CHANNEL_SIZE 0x08
#define BULKHEAD_CHANNEL_EPOCH 0x10
#define BULKHEAD_CHANNEL_NEWEST 0x18
#define BULKHEAD_CHANNEL_BASE 0x20
#define BULKHEAD_CHANNEL_SLOTS 0x40
/* ... and in a slot. */
#define BULKHEAD_CHANNEL_NUMBER 0x00
#define BULKHEAD_CHANNEL_MESSAGE 0x08

/* Most bytes of a channel. */
#define BULKHEAD_CHANNEL_BYTES_MAX 0x800000

_Static_assert(ATOMIC_LLONG_LOCK_FREE == 2,
	       "channels need a CPU that loads and stores 64 bits at once: compile for a later one");

/* ---- What both sides know ---- */

/* Where messages of one size are. */
struct bulkhead_channel {
	_Atomic(uint64_t) *words;
	size_t size; /* bytes of a message */
	size_t stride; /* words of a slot */
	uint64_t slots;
};

static inline bool bulkhead_channel_fits(struct bulkhead_channel *channel, void *memory,
					 size_t bytes, size_t size)
{
	if (size == 0 || size > BULKHEAD_CHANNEL_BYTES_MAX || bytes < BULKHEAD_CHANNEL_SLOTS)
		return false;
	channel->words = (_Atomic(uint64_t) *)memory;
	channel->size = size;
	channel->stride = BULKHEAD_CHANNEL_MESSAGE / 8 + (size + 7) / 8;
	channel->slots = (bytes - BULKHEAD_CHANNEL_SLOTS) / 8 / channel->stride;
	return channel->slots > 0;
}

static inline _Atomic(uint64_t) *bulkhead_channel_header(const struct bulkhead_channel *channel,
							 size_t offset)
{
	return channel->words + offset / 8;
}

/* The slot of a message. */
static inline _Atomic(uint64_t) *bulkhead_channel_slot(const struct bulkhead_channel *channel,
						       uint64_t number)
{
	size_t place = (size_t)((number - 1) % channel->slots);

	return channel->words + BULKHEAD_CHANNEL_SLOTS / 8 + place * channel->stride;
}

static inline uint64_t bulkhead_channel_load(_Atomic(uint64_t) *word)
{
	return atomic_load_explicit(word, memory_order_relaxed);
}

static inline void bulkhead_channel_store(_Atomic(uint64_t) *word, uint64_t value)
{
	atomic_store_explicit(word, value, memory_order_relaxed);
}

/* ---- The writer ---- */

struct bulkhead_writer {
	struct bulkhead_channel channel;
	uint64_t number; /* of the last message */
};

/*
 * Opens a channel for messages of `size` bytes. Numbers go on where they were, also after a restart
 * of the VM. Messages of another size are gone. False if there is no room for one message.
 */
static inline bool bulkhead_writer_open(struct bulkhead_writer *writer, void *memory, size_t bytes,
					size_t size)
{
	struct bulkhead_channel *channel = &writer->channel;
	_Atomic(uint64_t) *magic, *newest, *epoch, *size_word;
	uint64_t opening;
	bool interrupted;

	if (!bulkhead_channel_fits(channel, memory, bytes, size))
		return false;
	magic = bulkhead_channel_header(channel, BULKHEAD_CHANNEL_MAGIC);
	newest = bulkhead_channel_header(channel, BULKHEAD_CHANNEL_NEWEST);
	epoch = bulkhead_channel_header(channel, BULKHEAD_CHANNEL_EPOCH);
	size_word = bulkhead_channel_header(channel, BULKHEAD_CHANNEL_SIZE);
	/* It is odd if the VM was restarted while it opened the channel: what was done is done again. */
	opening = bulkhead_channel_load(epoch);
	interrupted = opening & 1;
	opening += interrupted ? 2 : 1;
	bulkhead_channel_store(epoch, opening);
	atomic_thread_fence(memory_order_release);
	if (bulkhead_channel_load(magic) != BULKHEAD_CHANNEL_MAGIC_VALUE) {
		bulkhead_channel_store(newest, 0);
		bulkhead_channel_store(magic, BULKHEAD_CHANNEL_MAGIC_VALUE);
	}
	if (interrupted || bulkhead_channel_load(size_word) != size) {
		bulkhead_channel_store(bulkhead_channel_header(channel, BULKHEAD_CHANNEL_BASE),
				       bulkhead_channel_load(newest));
		for (size_t i = BULKHEAD_CHANNEL_SLOTS / 8; i < bytes / 8; i++)
			bulkhead_channel_store(channel->words + i, 0);
		bulkhead_channel_store(size_word, size);
	}
	atomic_store_explicit(epoch, opening + 1, memory_order_release);
	writer->number = bulkhead_channel_load(newest);
	return true;
}

/* Sends a message of the writer's size; returns its number. */
static inline uint64_t bulkhead_send(struct bulkhead_writer *writer, const void *message)
{
	struct bulkhead_channel *channel = &writer->channel;
	uint64_t number = writer->number + 1 ? writer->number + 1 : 1;
	_Atomic(uint64_t) *slot = bulkhead_channel_slot(channel, number);
	const unsigned char *bytes = (const unsigned char *)message;

	bulkhead_channel_store(slot, 0);
	atomic_thread_fence(memory_order_release);
	for (size_t i = 0; i < channel->stride - BULKHEAD_CHANNEL_MESSAGE / 8; i++) {
		uint64_t word = 0;

		for (size_t byte = 8 * i; byte < 8 * i + 8 && byte < channel->size; byte++)
			word |= (uint64_t)bytes[byte] << 8 * (byte % 8);
		bulkhead_channel_store(slot + BULKHEAD_CHANNEL_MESSAGE / 8 + i, word);
	}
	bulkhead_channel_store(slot, number);
	/* Whoever sees this number sees the message. */
	atomic_store_explicit(bulkhead_channel_header(channel, BULKHEAD_CHANNEL_NEWEST), number,
			      memory_order_release);
	writer->number = number;
	return number;
}

/* ---- Readers ---- */

struct bulkhead_reader {
	struct bulkhead_channel channel;
	uint64_t seen; /* number of the last message that was received */
};

/* What bulkhead_receive() found. */
enum bulkhead_result {
	BULKHEAD_RECEIVED,
	BULKHEAD_NOTHING_NEW, /* no message came since the last one */
	BULKHEAD_CLOSED, /* the writer has not opened the channel yet, or is opening it again */
	BULKHEAD_OTHER_SIZE, /* the writer sends messages of another size */
	BULKHEAD_TOO_FAST, /* the writer replaced the message or opened the channel while it was copied, each time */
};

/* Which message is wanted. */
enum bulkhead_which {
	BULKHEAD_NEXT, /* the oldest one that was not received and is still there */
	BULKHEAD_NEWEST, /* the newest one; those before it are lost */
};

/* A message that was received. */
struct bulkhead_received {
	uint64_t number;
	uint64_t lost; /* messages before it that this reader never got */
	uint64_t epoch; /* how often the writer has opened the channel */
};

/* Makes a reader of messages of `size` bytes. False if there is no room for one. */
static inline bool bulkhead_reader_open(struct bulkhead_reader *reader, void *memory, size_t bytes,
					size_t size)
{
	reader->seen = 0;
	return bulkhead_channel_fits(&reader->channel, memory, bytes, size);
}

static inline bool bulkhead_channel_copy(const struct bulkhead_channel *channel, uint64_t number,
					 void *message)
{
	_Atomic(uint64_t) *slot = bulkhead_channel_slot(channel, number);
	unsigned char *bytes = (unsigned char *)message;

	if (bulkhead_channel_load(slot) != number)
		return false;
	for (size_t i = 0; 8 * i < channel->size; i++) {
		uint64_t word = bulkhead_channel_load(slot + BULKHEAD_CHANNEL_MESSAGE / 8 + i);

		for (size_t byte = 8 * i; byte < 8 * i + 8 && byte < channel->size; byte++)
			bytes[byte] = (unsigned char)(word >> 8 * (byte % 8));
	}
	atomic_thread_fence(memory_order_acquire);
	return bulkhead_channel_load(slot) == number;
}

/* Bytes of the writer's messages, as it says: to explain BULKHEAD_OTHER_SIZE, not to compute with. */
static inline uint64_t bulkhead_size_of_writer(const struct bulkhead_reader *reader)
{
	return bulkhead_channel_load(
		bulkhead_channel_header(&reader->channel, BULKHEAD_CHANNEL_SIZE));
}

/* Receives a message of the reader's size, if there is one. */
static inline enum bulkhead_result bulkhead_receive(struct bulkhead_reader *reader, void *message,
						    enum bulkhead_which which,
						    struct bulkhead_received *received)
{
	const struct bulkhead_channel *channel = &reader->channel;
	_Atomic(uint64_t) *magic = bulkhead_channel_header(channel, BULKHEAD_CHANNEL_MAGIC);
	_Atomic(uint64_t) *epoch_word = bulkhead_channel_header(channel, BULKHEAD_CHANNEL_EPOCH);
	_Atomic(uint64_t) *newest_word = bulkhead_channel_header(channel, BULKHEAD_CHANNEL_NEWEST);
	_Atomic(uint64_t) *base_word = bulkhead_channel_header(channel, BULKHEAD_CHANNEL_BASE);

	for (int tries = 0; tries < 3; tries++) {
		uint64_t epoch = atomic_load_explicit(epoch_word, memory_order_acquire);
		uint64_t size, newest, number, last, kept;
		enum bulkhead_result result = BULKHEAD_TOO_FAST;

		if (bulkhead_channel_load(magic) != BULKHEAD_CHANNEL_MAGIC_VALUE || (epoch & 1))
			return BULKHEAD_CLOSED;
		size = bulkhead_size_of_writer(reader);
		newest = atomic_load_explicit(newest_word, memory_order_acquire);
		last = bulkhead_channel_load(base_word);
		if (newest < reader->seen)
			reader->seen = 0; /* no writer that keeps to the rules does that */
		if (reader->seen > last)
			last = reader->seen;
		number = newest;
		if (size != channel->size) {
			result = BULKHEAD_OTHER_SIZE;
		} else if (newest <= last) {
			result = BULKHEAD_NOTHING_NEW;
		} else {
			if (which == BULKHEAD_NEXT) {
				/* The writer may be replacing the oldest one. */
				kept = channel->slots > 2 ? channel->slots - 2 : 0;
				number = newest > kept ? newest - kept : 0;
				number = last + 1 > number ? last + 1 : number;
			}
			if (bulkhead_channel_copy(channel, number, message))
				result = BULKHEAD_RECEIVED;
		}
		/* Nothing that was read is of another opening. */
		atomic_thread_fence(memory_order_acquire);
		if (bulkhead_channel_load(epoch_word) != epoch || result == BULKHEAD_TOO_FAST)
			continue;
		if (result == BULKHEAD_RECEIVED) {
			received->number = number;
			received->lost = number - reader->seen - 1;
			received->epoch = epoch / 2;
			reader->seen = number;
		}
		return result;
	}
	return BULKHEAD_TOO_FAST;
}

#endif
