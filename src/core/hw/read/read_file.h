/* hw/read/read_file.h - reads a cluster from a file in memory. */
#ifndef HW_READ_FILE_H
#define HW_READ_FILE_H

#include "base/conf/conf.h"
#include "hw/cluster.h"

/* Fill an empty cluster. n_npus from "FILE:N" overrides the file; 0 = as in the file.
 * Older names in the file's tree are replaced by the present ones. */
halley_status hw_file_read(halley_cluster *c, conf_file *file, uint32_t n_npus,
                           halley_error *err);

#endif
