/* Where and when this process and those that it starts run. */
#ifndef SCHEDULE_H
#define SCHEDULE_H

/* On this CPU only; ends with a message if that is not possible. */
void run_on_cpu(const char *number);

/* `rr:50`: in turn with others of this real-time priority; `fifo:60`: until it sleeps; `other`: as usual. */
void run_with_policy(const char *policy);

#endif
