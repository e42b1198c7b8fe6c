/* Words of the command line, and ways to end. */
#ifndef ARGUMENTS_H
#define ARGUMENTS_H

#include <stdint.h>

/* Exit status: the answer is yes, it is no, or the question cannot be asked. */
enum { STATUS_YES = 0, STATUS_NO = 1, STATUS_BAD = 2 };

/* Prints a message with the program's name before it, and ends with this status. */
_Noreturn void end_with(int status, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The number in `text`, from `least` to `most`; otherwise a message that calls it `name`. */
uint64_t number_argument(const char *name, const char *text, uint64_t least, uint64_t most);

/* Bytes in `text`: `65536`, `64KiB`, `1MiB`, `1GiB`. */
uint64_t size_argument(const char *name, const char *text);

/* Colours in `text`: `8-11`, `0-3,8` or `none`. */
uint64_t colors_argument(const char *name, const char *text);

#endif
