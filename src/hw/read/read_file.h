/* hw/read/read_file.h - a cluster from a file that is in memory. */
#ifndef HW_READ_FILE_H
#define HW_READ_FILE_H

#include "base/conf/conf.h"
#include "hw/cluster.h"

/* Fill an empty cluster; n_npus from "FILE:N" goes before what the file says, 0 = as the
 * file says. Older names in the file's tree are replaced by the present ones. */
halley_status hw_file_read(halley_cluster *c, conf_file *file, uint32_t n_npus,
                           halley_error *err);

#endif
