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

/* What the test in Rust does as well: byte `i` of message `number`. */
static unsigned char byte_of(uint64_t number, size_t i)
{
	return (unsigned char)(7 * number + 3 * i);
}

enum { MEMORY_MAX = 4096 };
static uint64_t given[MEMORY_MAX / 8];

/* Opens a channel of these bytes twice, sends `count` messages, and writes the memory to standard output. */
static void write_memory(size_t bytes, size_t size, uint64_t count)
{
	static unsigned char message[MEMORY_MAX];
	struct bulkhead_writer writer;

	CHECK(bytes <= MEMORY_MAX && bulkhead_writer_open(&writer, given, bytes, size));
	for (uint64_t number = 1; number <= count; number++) {
		if (number == count)
			CHECK(bulkhead_writer_open(&writer, given, bytes, size));
		for (size_t i = 0; i < size; i++)
			message[i] = byte_of(number, i);
		CHECK(bulkhead_send(&writer, message) == number);
	}
	CHECK(fwrite(given, 1, bytes, stdout) == bytes);
}

/* Prints all messages that are in the memory on standard input, and why there is no other one. */
static void read_memory(size_t bytes, size_t size)
{
	static const char *const RESULTS[] = { "", "nothing new", "closed", "other size", "too fast" };
	static unsigned char message[MEMORY_MAX];
	struct bulkhead_received received;
	struct bulkhead_reader reader;
	enum bulkhead_result result;

	CHECK(bytes <= MEMORY_MAX && fread(given, 1, bytes, stdin) == bytes);
	CHECK(bulkhead_reader_open(&reader, given, bytes, size));
	while ((result = bulkhead_receive(&reader, message, BULKHEAD_NEXT, &received)) ==
	       BULKHEAD_RECEIVED) {
		printf("%ju %ju %ju", (uintmax_t)received.number, (uintmax_t)received.lost,
		       (uintmax_t)received.epoch);
		for (size_t i = 0; i < size; i++)
			printf(" %02x", message[i]);
		putchar('\n');
	}
	puts(RESULTS[result]);
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
	uint64_t *memory = calloc(1, BYTES); /* so that the sanitizer knows its end */
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
	CHECK(bulkhead_reader_open(&reader, memory, BYTES, 8));
	CHECK(bulkhead_receive(&reader, message, BULKHEAD_NEXT, &received) == BULKHEAD_OTHER_SIZE);
	CHECK(bulkhead_size_of_writer(&reader) == sizeof message);
	CHECK(bulkhead_reader_open(&reader, memory, BYTES, sizeof message));
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
	size_t numbers[3] = { 0 };

	for (int i = 2; i < argc && i < 5; i++)
		numbers[i - 2] = strtoul(argv[i], NULL, 10);
	if (argc == 5 && strcmp(argv[1], "write") == 0)
		write_memory(numbers[0], numbers[1], numbers[2]);
	else if (argc == 4 && strcmp(argv[1], "read") == 0)
		read_memory(numbers[0], numbers[1]);
	else if (argc == 2 && strcmp(argv[1], "hostile") == 0)
		hostile();
	else if (argc == 2 && strcmp(argv[1], "torn") == 0)
		torn();
	else
		return 2;
	return 0;
}
