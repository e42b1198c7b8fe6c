/* The commands of bhctl. Each takes its own words, its name first, and returns an exit status. */
#ifndef COMMANDS_H
#define COMMANDS_H

int command_audit(int argc, char **argv);
int command_busyloop(int argc, char **argv);
int command_channels(int argc, char **argv);
int command_color_of(int argc, char **argv);
int command_free(int argc, char **argv);
int command_latency(int argc, char **argv);
int command_mark(int argc, char **argv);
int command_receive(int argc, char **argv);
int command_request(int argc, char **argv);
int command_run(int argc, char **argv);
int command_send(int argc, char **argv);
int command_serial(int argc, char **argv);
int command_show(int argc, char **argv);

#endif
