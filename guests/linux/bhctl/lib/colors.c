/* Sets of colours as text. */
#include "../bulkhead.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The number at the start of `*text`, a colour; `*text` is then behind it. */
static bool parse_color(const char **text, unsigned int *color)
{
	unsigned int value = 0;

	if (**text < '0' || **text > '9')
		return false;
	for (; **text >= '0' && **text <= '9'; (*text)++) {
		value = 10 * value + (unsigned int)(**text - '0');
		if (value > 63)
			return false;
	}
	*color = value;
	return true;
}

bool bulkhead_parse_colors(const char *text, uint64_t *colors)
{
	uint64_t set = 0;

	if (strcmp(text, "none") == 0) {
		*colors = 0;
		return true;
	}
	for (;;) {
		unsigned int first, last;

		if (!parse_color(&text, &first))
			return false;
		last = first;
		if (*text == '-') {
			text++;
			if (!parse_color(&text, &last) || last < first)
				return false;
		}
		/* Bits first to last; a shift by 64 would be undefined. */
		set |= (UINT64_MAX >> (63 - last)) & (UINT64_MAX << first);
		if (*text == '\0')
			break;
		if (*text++ != ',')
			return false;
	}
	*colors = set;
	return true;
}

char *bulkhead_format_colors(uint64_t colors, char text[BULKHEAD_COLORS_TEXT])
{
	char *end = text;

	if (colors == 0)
		return strcpy(text, "none");
	for (unsigned int first = 0; first < 64; first++) {
		unsigned int last = first;

		if (!(colors >> first & 1))
			continue;
		while (last < 63 && colors >> (last + 1) & 1)
			last++;
		end += sprintf(end, end == text ? "%u" : ",%u", first);
		if (last > first)
			end += sprintf(end, "-%u", last);
		first = last;
	}
	return text;
}
