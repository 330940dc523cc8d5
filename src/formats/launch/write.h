/* launch/write.h - plans as launch files; one function per format. */
#ifndef LAUNCH_WRITE_H
#define LAUNCH_WRITE_H

#include "base/str.h"
#include "halley/launch.h"

typedef struct launch_writer {
    strbuf text, left_out;
    const halley_model *model;
    const halley_plan *plan;
} launch_writer;

/* Note something that the format cannot express (printf format). */
void launch_leave_out(launch_writer *w, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

void launch_write_megatron(launch_writer *w);
void launch_write_deepspeed(launch_writer *w);
void launch_write_titan(launch_writer *w);
void launch_write_maxtext(launch_writer *w);
/* The name of a preset in another program, or NULL. */
const char *launch_name_of(str program, str preset);

#endif
