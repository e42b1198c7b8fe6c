/* `bhctl channels`, `send` and `receive`: messages through channels between VMs. */
#include "arguments.h"
#include "commands.h"

#include "../bulkhead.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BYTES_DEFAULT 64
#define BYTES_MAX 65536
#define NO_CHANNELS "this VM has no channels: describe `[[channel]]` with it in `from` or `to`"
#define YEAR_MS (UINT64_C(366) * 24 * 3600 * 1000)

/* What `send` and `receive` are asked for. */
struct wishes {
	const char *name;
	uint64_t bytes, count, pause_ms, patience_ms;
	bool newest, numbers, ring;
};

int command_channels(int argc, char **argv)
{
	struct bulkhead_channel_info channels[BULKHEAD_CHANNELS_MAX];
	size_t count = bulkhead_channels(channels, BULKHEAD_CHANNELS_MAX);

	if (argc > 1)
		end_with(STATUS_BAD, "channels takes no arguments, found `%s`", argv[1]);
	for (size_t i = 0; i < count; i++)
		printf("bhctl: channel %s bytes=%" PRIu64 " writes=%s address=0x%" PRIx64 "\n",
		       channels[i].name, channels[i].bytes, channels[i].writes ? "yes" : "no",
		       channels[i].address);
	if (count == 0)
		end_with(STATUS_NO, "%s", NO_CHANNELS);
	return STATUS_YES;
}

static struct wishes wishes(int argc, char **argv, bool sends)
{
	static const struct option OPTIONS[] = {
		{ "bytes", required_argument, NULL, 'b' },
		{ "count", required_argument, NULL, 'c' },
		{ "every", required_argument, NULL, 'e' },
		{ "numbers", no_argument, NULL, 'n' },
		{ "newest", no_argument, NULL, 'N' },
		{ "ring", no_argument, NULL, 'r' },
		{ "timeout", required_argument, NULL, 't' },
		{ 0 },
	};
	struct wishes wishes = { .bytes = BYTES_DEFAULT, .count = UINT64_MAX, .pause_ms = sends ? 0 : 1,
				 .patience_ms = YEAR_MS };
	int option;

	while ((option = getopt_long(argc, argv, "", OPTIONS, NULL)) != -1) {
		if (option == 'b')
			wishes.bytes = number_argument("--bytes", optarg, 1, BYTES_MAX);
		else if (option == 'c')
			wishes.count = number_argument("--count", optarg, 1, UINT64_MAX - 1);
		else if (option == 'e')
			wishes.pause_ms = number_argument("--every", optarg, 0, 3600 * 1000);
		else if (option == 'n')
			wishes.numbers = true;
		else if (option == 'N' && !sends)
			wishes.newest = true;
		else if (option == 'r' && sends)
			wishes.ring = true;
		else if (option == 't' && !sends)
			wishes.patience_ms = number_argument("--timeout", optarg, 1, YEAR_MS);
		else if (option == '?')
			exit(STATUS_BAD);
		else
			end_with(STATUS_BAD, "%s has no such option; `bhctl --help` lists them", argv[0]);
	}
	if (optind + 1 != argc)
		end_with(STATUS_BAD, "%s expects the name of a channel, as in `bhctl %s pose`", argv[0],
			 argv[0]);
	wishes.name = argv[optind];
	if (wishes.numbers && (wishes.bytes < 16 || wishes.bytes % 8 != 0))
		end_with(STATUS_BAD, "--numbers needs --bytes of at least 16, a multiple of 8");
	return wishes;
}

_Noreturn static void no_channel(const char *name)
{
	struct bulkhead_channel_info channels[BULKHEAD_CHANNELS_MAX];
	size_t count = bulkhead_channels(channels, BULKHEAD_CHANNELS_MAX);
	char names[BULKHEAD_CHANNELS_MAX * (sizeof channels->name + 1)] = "";

	if (count == 0)
		end_with(STATUS_BAD, "channel `%s`: %s", name, NO_CHANNELS);
	for (size_t i = 0; i < count; i++) {
		strcat(names, " ");
		strcat(names, channels[i].name);
	}
	end_with(STATUS_BAD, "channel `%s`: this VM has no channel of this name, but:%s", name, names);
}

static void *map(const struct wishes *wishes, bool writes, size_t *bytes)
{
	void *memory;
	int error = bulkhead_channel_map(wishes->name, writes, &memory, bytes);

	if (error == BULKHEAD_ERROR_NO_CHANNEL)
		no_channel(wishes->name);
	if (error)
		end_with(STATUS_BAD, "channel `%s`: %s", wishes->name, bulkhead_explain(error));
	return memory;
}

_Noreturn static void too_large(const struct wishes *wishes)
{
	end_with(STATUS_BAD, "channel `%s` has no room for one message of %" PRIu64 " bytes", wishes->name,
		 wishes->bytes);
}

static void pause_for(uint64_t ms)
{
	struct timespec time = { .tv_sec = (time_t)(ms / 1000), .tv_nsec = (long)(ms % 1000) * 1000000 };

	if (ms > 0)
		nanosleep(&time, NULL);
}

/* Nanoseconds of a clock that only goes forward. */
static uint64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

/* The counter of the machine, which all its VMs see alike. */
static uint64_t counter(void)
{
#ifdef __aarch64__
	uint64_t ticks;

	__asm__ volatile("isb\n\tmrs %0, cntvct_el0" : "=r"(ticks) : : "memory");
	return ticks;
#else
	return now();
#endif
}

int command_send(int argc, char **argv)
{
	struct wishes wanted = wishes(argc, argv, true);
	struct bulkhead_writer writer;
	unsigned char *message;
	uint64_t sent = 0;
	char *line = NULL;
	size_t capacity = 0, bytes;
	volatile uint32_t *ring = NULL;
	uint32_t refused = 0;
	void *memory;

	memory = map(&wanted, true, &bytes);
	if (wanted.ring) {
		int error = bulkhead_bell_map(wanted.name, &ring);

		if (error)
			end_with(STATUS_BAD, "channel `%s`: %s", wanted.name, bulkhead_explain(error));
		refused = *ring;
	}
	message = calloc(1, wanted.bytes);
	if (!message || !bulkhead_writer_open(&writer, memory, bytes, wanted.bytes))
		too_large(&wanted);
	while (sent < wanted.count) {
		memset(message, 0, wanted.bytes);
		if (wanted.numbers) {
			/* As rt-channel: the number in each word, and the counter in the second. */
			uint64_t number = sent + 1, time = counter();

			for (uint64_t i = 0; i < wanted.bytes; i += 8)
				memcpy(message + i, i == 8 ? &time : &number, 8);
		} else {
			ssize_t length = getline(&line, &capacity, stdin);

			if (length < 0)
				break;
			if (length > 0 && line[length - 1] == '\n')
				length--;
			if ((uint64_t)length > wanted.bytes)
				end_with(STATUS_NO, "a line has %zd bytes, but messages have %" PRIu64
						    ": raise --bytes on both sides", length, wanted.bytes);
			memcpy(message, line, (size_t)length);
		}
		bulkhead_send(&writer, message);
		if (ring)
			*ring = 1;
		sent++;
		if (sent < wanted.count)
			pause_for(wanted.pause_ms);
	}
	free(line);
	free(message);
	fprintf(stderr, "bhctl: sent %s=%" PRIu64, wanted.name, sent);
	if (ring)
		fprintf(stderr, " refused=%" PRIu32, *ring - refused);
	fputc('\n', stderr);
	return STATUS_YES;
}

/* Whether all words but the second are the first one, as `send --numbers` makes them. */
static bool is_whole(const unsigned char *message, uint64_t bytes)
{
	for (uint64_t i = 16; i + 8 <= bytes; i += 8)
		if (memcmp(message, message + i, 8) != 0)
			return false;
	return true;
}

/* Prints a message: its text, or the bytes of one that is none. */
static void show(const unsigned char *message, uint64_t bytes, const struct bulkhead_received *received)
{
	uint64_t length = bytes, printable = 0;

	while (length > 0 && message[length - 1] == 0)
		length--;
	while (printable < length && message[printable] >= ' ' && message[printable] < 0x7f)
		printable++;
	printf("%" PRIu64 " lost=%" PRIu64 " ", received->number, received->lost);
	if (printable == length)
		fwrite(message, 1, length, stdout);
	else
		for (uint64_t i = 0; i < length; i++)
			printf("%02x", message[i]);
	putchar('\n');
	fflush(stdout);
}

int command_receive(int argc, char **argv)
{
	struct wishes wanted = wishes(argc, argv, false);
	uint64_t count = 0, lost = 0, torn = 0, since = now();
	enum bulkhead_result result = BULKHEAD_CLOSED;
	struct bulkhead_reader reader;
	unsigned char *message;
	size_t bytes;
	void *memory = map(&wanted, false, &bytes);

	message = calloc(1, wanted.bytes);
	if (!message || !bulkhead_reader_open(&reader, memory, bytes, wanted.bytes))
		too_large(&wanted);
	while (count < wanted.count && !ferror(stdout)) {
		struct bulkhead_received received;

		result = bulkhead_receive(&reader, message,
					  wanted.newest ? BULKHEAD_NEWEST : BULKHEAD_NEXT, &received);
		if (result == BULKHEAD_OTHER_SIZE)
			end_with(STATUS_NO, "channel `%s`: the writer sends messages of %" PRIu64
					    " bytes: give that as --bytes", wanted.name,
				 bulkhead_size_of_writer(&reader));
		if (result == BULKHEAD_RECEIVED) {
			show(message, wanted.bytes, &received);
			count++;
			lost += received.lost;
			torn += wanted.numbers && !is_whole(message, wanted.bytes);
			since = now();
		} else if (now() - since >= wanted.patience_ms * 1000000) {
			break;
		} else {
			pause_for(wanted.pause_ms);
		}
	}
	fprintf(stderr, "bhctl: received %s=%" PRIu64 " lost=%" PRIu64, wanted.name, count, lost);
	if (wanted.numbers)
		fprintf(stderr, " torn=%" PRIu64, torn);
	fputc('\n', stderr);
	free(message);
	if (count == 0 && result == BULKHEAD_CLOSED)
		end_with(STATUS_NO, "channel `%s`: no VM has opened it to write", wanted.name);
	return count > 0 ? STATUS_YES : STATUS_NO;
}
