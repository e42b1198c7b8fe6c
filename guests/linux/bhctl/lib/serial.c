/*
 * Asks for colours on the VM's second serial port, for processes that cannot reach the
 * doorbell: the five steps of vCache, section 4.2.2.
 */
#include "serial.h"

#include "../bulkhead.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

/* T: for how long the hypervisor looks which address space runs. */
#define SAMPLING_NS 10000000
/* Epsilon: the message's way to the hypervisor, and the start of the sampling. */
#define EXCHANGE_NS 2000000
/*
 * For how long this task sleeps for the answer after it was busy: the remapping, and the
 * kernel, which passes input on in a thread that cannot run while we are busy.
 */
#define ANSWER_MS 50

long serial_answer(const char *line)
{
	static const struct {
		const char *word;
		long error;
	} WORDS[] = {
		{ "invalid", BULKHEAD_ERROR_INVALID },
		{ "no-memory", BULKHEAD_ERROR_NO_MEMORY },
		{ "busy", BULKHEAD_ERROR_BUSY },
		{ "bad-address", BULKHEAD_ERROR_BAD_ADDRESS },
	};
	char *end;
	long pages;

	if (strncmp(line, "error ", 6) == 0) {
		for (size_t i = 0; i < sizeof WORDS / sizeof *WORDS; i++)
			if (strcmp(line + 6, WORDS[i].word) == 0)
				return WORDS[i].error;
		return BULKHEAD_ERROR_REFUSED;
	}
	if (strncmp(line, "ok ", 3) != 0 || line[3] < '0' || line[3] > '9')
		return BULKHEAD_ERROR_NO_ANSWER;
	errno = 0;
	pages = strtol(line + 3, &end, 10);
	return *end == '\0' && errno == 0 ? pages : BULKHEAD_ERROR_NO_ANSWER;
}

/* Opens the port without echo or translation; what was said before is dropped. */
static int open_port(const char *path)
{
	int port = open(path, O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
	struct termios settings;

	if (port < 0)
		return -errno;
	if (tcgetattr(port, &settings) < 0) {
		int error = errno;

		close(port);
		return -error;
	}
	cfmakeraw(&settings);
	settings.c_cflag |= CLOCAL | CREAD;
	tcsetattr(port, TCSANOW, &settings);
	tcflush(port, TCIOFLUSH);
	return port;
}

/* Step 2: keeps this address space on the CPU, outside the kernel, for T + epsilon. */
static void be_busy(void)
{
	struct timespec start, now;

	clock_gettime(CLOCK_MONOTONIC, &start);
	do
		clock_gettime(CLOCK_MONOTONIC, &now);
	while ((now.tv_sec - start.tv_sec) * 1000000000 + now.tv_nsec - start.tv_nsec <
	       SAMPLING_NS + EXCHANGE_NS);
}

/* Waits for a line; its answer, or BULKHEAD_ERROR_NO_ANSWER. */
static long receive(int port)
{
	char line[64];
	size_t used = 0;
	struct pollfd wait = { .fd = port, .events = POLLIN };

	while (poll(&wait, 1, ANSWER_MS) > 0) {
		char byte;

		if (read(port, &byte, 1) != 1)
			break;
		if (byte == '\r')
			continue;
		if (byte != '\n') {
			/* Too long for an answer: the end does not matter. */
			if (used < sizeof line - 1)
				line[used++] = byte;
			continue;
		}
		line[used] = '\0';
		long answer = serial_answer(line);
		if (answer != BULKHEAD_ERROR_NO_ANSWER)
			return answer;
		used = 0;
	}
	return BULKHEAD_ERROR_NO_ANSWER;
}

long bulkhead_request_by_serial(const char *path, uint64_t colors, unsigned int attempts,
				unsigned int *made)
{
	char text[BULKHEAD_COLORS_TEXT];
	char message[BULKHEAD_COLORS_TEXT + 16];
	int length = snprintf(message, sizeof message, "colors %s\n",
			      bulkhead_format_colors(colors, text));
	long answer = BULKHEAD_ERROR_NO_ANSWER;
	int port = open_port(path);

	*made = 0;
	if (port < 0)
		return port;
	while (*made < attempts) {
		++*made;
		if (write(port, message, (size_t)length) != length) {
			answer = -EIO;
			break;
		}
		be_busy();
		answer = receive(port);
		if (answer != BULKHEAD_ERROR_NO_ANSWER && answer != BULKHEAD_ERROR_BUSY)
			break;
	}
	close(port);
	return answer;
}
