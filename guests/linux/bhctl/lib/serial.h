/* Messages on the serial port of closed guests. */
#ifndef SERIAL_H
#define SERIAL_H

/*
 * Reads an answer, a line without its end: `ok <pages>` or `error <word>`. The number of
 * pages, an error, or BULKHEAD_ERROR_NO_ANSWER if the line is neither.
 */
long serial_answer(const char *line);

#endif
