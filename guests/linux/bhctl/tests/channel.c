/* Tests of bulkhead_channel.h: they run on the development machine. */
#include "../bulkhead_channel.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition)                                                              \
	do {                                                                          \
		if (!(condition)) {                                                   \
			fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
			exit(1);                                                      \
		}                                                                     \
	} while (0)

/* Two openings and three messages of 11 bytes in a channel with room for two: written out. */
static void layout(void)
{
	enum { BYTES = BULKHEAD_CHANNEL_SLOTS + 2 * 24 };
	static uint64_t memory[BYTES / 8];
	struct bulkhead_writer writer;
	char text[] = "0 the world";

	for (int number = 1; number <= 3; number++) {
		if (number != 2)
			CHECK(bulkhead_writer_open(&writer, memory, BYTES, 11));
		text[0] = (char)('0' + number);
		CHECK(bulkhead_send(&writer, text) == (uint64_t)number);
	}
	fwrite(memory, 1, BYTES, stdout);
}

static uint64_t draw(void)
{
	static uint64_t state = 7;

	state = state * 6364136223846793005u + 1442695040888963407u;
	return state >> 33;
}

/* Sizes that do not fit, messages that are lost, and whatever a writer can leave in the memory. */
static void hostile(void)
{
	enum { BYTES = BULKHEAD_CHANNEL_SLOTS + 3 * 32 };
	uint64_t *memory = calloc(1, BYTES);
	struct bulkhead_received received;
	struct bulkhead_reader reader;
	struct bulkhead_writer writer;
	unsigned char message[20] = { 0 };

	CHECK(memory);
	CHECK(!bulkhead_writer_open(&writer, memory, BYTES, 0));
	CHECK(!bulkhead_writer_open(&writer, memory, BYTES, BYTES));
	CHECK(!bulkhead_reader_open(&reader, memory, BULKHEAD_CHANNEL_SLOTS - 8, 8));
	CHECK(!bulkhead_reader_open(&reader, memory, BYTES, SIZE_MAX));
	CHECK(bulkhead_reader_open(&reader, memory, BYTES, sizeof message));
	CHECK(bulkhead_receive(&reader, message, BULKHEAD_NEXT, &received) == BULKHEAD_CLOSED);
	CHECK(bulkhead_writer_open(&writer, memory, BYTES, sizeof message));
	CHECK(bulkhead_receive(&reader, message, BULKHEAD_NEXT, &received) == BULKHEAD_NOTHING_NEW);
	for (unsigned char number = 1; number <= 5; number++) {
		memset(message, number, sizeof message);
		bulkhead_send(&writer, message);
	}
	/* Three slots, one of which the writer may be replacing. */
	CHECK(bulkhead_receive(&reader, message, BULKHEAD_NEXT, &received) == BULKHEAD_RECEIVED);
	CHECK(received.number == 4 && received.lost == 3 && message[0] == 4 && message[19] == 4);
	CHECK(bulkhead_receive(&reader, message, BULKHEAD_NEWEST, &received) == BULKHEAD_RECEIVED);
	CHECK(received.number == 5 && received.lost == 0 && received.epoch == 1);
	for (unsigned int round = 0; round < 300000; round++) {
		uint64_t values[] = { 0, 1, UINT64_MAX, UINT64_MAX - 1, draw(), sizeof message,
				      BULKHEAD_CHANNEL_MAGIC_VALUE };

		memory[draw() % (BYTES / 8)] = values[draw() % 7];
		if (draw() % 3 == 0) {
			memory[BULKHEAD_CHANNEL_MAGIC / 8] = BULKHEAD_CHANNEL_MAGIC_VALUE;
			memory[BULKHEAD_CHANNEL_SIZE / 8] = sizeof message;
		}
		bulkhead_receive(&reader, message, BULKHEAD_NEXT, &received);
		bulkhead_receive(&reader, message, BULKHEAD_NEWEST, &received);
	}
	free(memory);
}

enum { WORDS = 16, MESSAGES = 300000, TORN_BYTES = BULKHEAD_CHANNEL_SLOTS + 2 * (WORDS + 1) * 8 };
static uint64_t shared[TORN_BYTES / 8];
static atomic_bool done;

static void *read_all(void *which)
{
	struct bulkhead_received received;
	struct bulkhead_reader reader;
	uint64_t message[WORDS], last = 0;

	CHECK(bulkhead_reader_open(&reader, shared, TORN_BYTES, sizeof message));
	while (!done) {
		if (bulkhead_receive(&reader, message, *(enum bulkhead_which *)which, &received) !=
		    BULKHEAD_RECEIVED)
			continue;
		CHECK(received.number > last);
		last = received.number;
		for (int i = 0; i < WORDS; i++)
			CHECK(message[i] == received.number);
	}
	return NULL;
}

/* A writer that never pauses, and two readers beside it. */
static void torn(void)
{
	enum bulkhead_which which[2] = { BULKHEAD_NEXT, BULKHEAD_NEWEST };
	struct bulkhead_writer writer;
	uint64_t message[WORDS];
	pthread_t readers[2];

	for (int i = 0; i < 2; i++)
		CHECK(pthread_create(readers + i, NULL, read_all, which + i) == 0);
	CHECK(bulkhead_writer_open(&writer, shared, TORN_BYTES, sizeof message));
	for (uint64_t number = 1; number <= MESSAGES; number++) {
		for (int i = 0; i < WORDS; i++)
			message[i] = number;
		CHECK(bulkhead_send(&writer, message) == number);
	}
	done = true;
	for (int i = 0; i < 2; i++)
		pthread_join(readers[i], NULL);
}

int main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "layout") == 0)
		layout();
	else if (argc == 2 && strcmp(argv[1], "hostile") == 0)
		hostile();
	else if (argc == 2 && strcmp(argv[1], "torn") == 0)
		torn();
	else
		return 2;
	return 0;
}
