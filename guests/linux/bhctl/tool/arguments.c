/* Words of the command line, and ways to end. */
#include "arguments.h"

#include "../bulkhead.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void end_with(int status, const char *format, ...)
{
	va_list arguments;

	fprintf(stderr, "%s: ", program_invocation_short_name);
	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fputc('\n', stderr);
	exit(status);
}

/* The digits at the start of `text`; what follows them is left in `end`. */
static bool parse_digits(const char *text, uint64_t *value, char **end)
{
	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	*value = strtoull(text, end, 10);
	return errno == 0;
}

uint64_t number_argument(const char *name, const char *text, uint64_t least, uint64_t most)
{
	uint64_t value;
	char *end;

	if (!parse_digits(text, &value, &end) || *end != '\0' || value < least || value > most)
		end_with(STATUS_BAD, "%s is `%s`, expected a number from %" PRIu64 " to %" PRIu64,
			 name, text, least, most);
	return value;
}

uint64_t size_argument(const char *name, const char *text)
{
	static const struct {
		const char *name;
		unsigned int shift;
	} UNITS[] = { { "", 0 }, { "KiB", 10 }, { "MiB", 20 }, { "GiB", 30 } };
	uint64_t value;
	char *end;

	if (parse_digits(text, &value, &end))
		for (size_t i = 0; i < sizeof UNITS / sizeof *UNITS; i++)
			if (strcmp(end, UNITS[i].name) == 0 && value <= UINT64_MAX >> UNITS[i].shift)
				return value << UNITS[i].shift;
	end_with(STATUS_BAD, "%s is `%s`, expected a size like 65536, 64KiB or 1MiB", name, text);
}

uint64_t colors_argument(const char *name, const char *text)
{
	uint64_t colors;

	if (!bulkhead_parse_colors(text, &colors))
		end_with(STATUS_BAD, "%s is `%s`, expected colours from 0 to 63 like 8-11 or 0-3,8, or none",
			 name, text);
	return colors;
}
