/* hw/price_list.c - the list, and which of its rows a memory's name selects. */
#include "hw/price_list.h"

#include "base/str.h"

#include <assert.h>

#define MODULES "luxoptx.com, 800G optical module cost analysis"
#define MEMORY_STACK "sgnl.blog, AI memory stack"
#define UNCHECKED "general knowledge"

static const hw_price prices[HW_N_PRICES] = {
    [HW_PRICE_SWITCH] = {"switch", "USD per Gb/s of a port", 36e3 / 25600, 40e3 / 25600,
                         50e3 / 25600, 2024,
                         "64 x 400G for 40,000 USD: public bill of an H100 cluster"},
    [HW_PRICE_OPTICS] = {"optical module", "USD per Gb/s", 1.5, 1.75, 2, 2025, MODULES},
    [HW_PRICE_FIBRE] = {"fibre", "USD per Gb/s", 0.125, 0.2, 0.375, 2025, MODULES},
    [HW_PRICE_COPPER] = {"copper cable", "USD per Gb/s", 0.25, 0.5, 0.75, 2024,
                         UNCHECKED},
    [HW_PRICE_NIC] = {"network card", "USD per Gb/s", 2.5, 3.75, 5, 2024, UNCHECKED},
    [HW_PRICE_UP] = {"scale-up switches", "USD per GB/s of an accelerator", 2.8, 4.2, 6.3,
                     2025, "9 switch trays of 30,000 USD in a rack of 72 at 900 GB/s"},
    [HW_PRICE_UP_OPTICS] = {"scale-up optics", "USD per GB/s of an accelerator", 8, 10,
                            16, 2026,
                            "linear-drive modules of 800G in volume; " UNCHECKED},
    [HW_PRICE_HBM] = {"HBM as sold", "USD per GB", 40, 65, 120, 2026,
                      "difference of H200 and H100 over 61 GB"},
    [HW_PRICE_CXL] = {"CXL memory", "USD per GB", 5, 8, 10, 2026, MEMORY_STACK},
    [HW_PRICE_CXL_RATE] = {"CXL bandwidth", "USD per GB/s", 5, 10, 20, 2025, UNCHECKED},
    [HW_PRICE_DDR] = {"DDR5", "USD per GB", 4, 6, 10, 2025,
                      "ai-capex.com; spot prices of 2026 were five times higher"},
    [HW_PRICE_FLASH] = {"flash", "USD per GB", 0.1, 0.2, 0.5, 2026, MEMORY_STACK},
    [HW_POWER_SWITCH] = {"switch", "W per Gb/s of a port", 750 / 25600., 1100 / 25600.,
                         1720 / 25600., 2023, "64 x 400G; " UNCHECKED},
    [HW_POWER_OPTICS] = {"optical module", "W per Gb/s", 7 / 400., 8.5 / 400., 12 / 400.,
                         2023, "docs.nvidia.com: 17 W at 800G"},
    [HW_POWER_NIC] = {"network card", "W per Gb/s", 20 / 400., 25 / 400., 30 / 400., 2023,
                      UNCHECKED},
    [HW_POWER_UP] = {"scale-up switches", "W per GB/s of an accelerator", 0.139, 0.208,
                     0.306, 2025,
                     "9 switch trays of 1,500 W in a rack of 72; " UNCHECKED},
    [HW_POWER_CXL] = {"CXL memory", "W per GB", 0.3, 0.4, 0.6, 2024, UNCHECKED},
    [HW_POWER_DDR] = {"DDR5", "W per GB", 0.2, 0.3, 0.4, 2024, UNCHECKED},
};

const hw_price *hw_price_get(hw_price_id id)
{
    assert(id < HW_N_PRICES);
    return &prices[id];
}

static double typical(hw_price_id id)
{
    return prices[id].typical;
}

static bool name_starts(const halley_tier *tier, const char *const *words)
{
    for (; *words != NULL; words++)
        if (str_starts(str_from(tier->name), str_from(*words)))
            return true;
    return false;
}

bool hw_memory_is_of_host(const halley_tier *tier)
{
    static const char *const words[] = {"host", "ddr", "dram", "lpddr", "grace", NULL};
    return name_starts(tier, words);
}

hw_memory_price hw_memory_price_find(const halley_tier *tier, bool first)
{
    static const char *const hbm[] = {"hbm", NULL}, *const cxl[] = {"cxl", NULL};
    static const char *const flash[] = {"flash", "nvme", "ssd", NULL};
    if (first || name_starts(tier, hbm))
        return (hw_memory_price){typical(HW_PRICE_HBM) / 1e9, 0, 0, true};
    if (name_starts(tier, cxl))
        return (hw_memory_price){typical(HW_PRICE_CXL) / 1e9,
                                 typical(HW_PRICE_CXL_RATE) / 1e9,
                                 typical(HW_POWER_CXL) / 1e9, true};
    if (hw_memory_is_of_host(tier))
        return (hw_memory_price){typical(HW_PRICE_DDR) / 1e9, 0,
                                 typical(HW_POWER_DDR) / 1e9, true};
    if (name_starts(tier, flash))
        return (hw_memory_price){typical(HW_PRICE_FLASH) / 1e9, 0, 0, true};
    return (hw_memory_price){.known = false};
}
