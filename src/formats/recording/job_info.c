/* Read "distributedInfo" of Kineto traces, as PyTorch's profiler writes it. */
#include "recording/job_info.h"

static halley_status read_group_ranks(job_info *info, pull_reader *p, job_group *group,
                                      halley_error *err)
{
    for (;;) {
        const json_token token = json_next(&p->json);
        if (token == JSON_ARRAY_END)
            return HALLEY_OK;
        const uint64_t rank = pull_u64(&p->json, token);
        if (rank == PULL_NONE) {
            TRY(pull_skip(p, token, err));
            continue;
        }
        p->no_memory |= !array_push(&info->ranks, rank);
        group->n_ranks++;
    }
}

/* Read {"pg_name": …, "ranks": […], …} after its opening bracket. */
static halley_status read_process_group(job_info *info, pull_reader *p, halley_error *err)
{
    job_group group = {HASH_NONE, HASH_NONE, (uint32_t)info->ranks.n, 0};
    while (pull_key(p)) {
        const str key = p->json.text;
        const bool is_name = PULL_IS(key, "pg_name"), is_desc = PULL_IS(key, "pg_desc");
        const bool is_ranks = PULL_IS(key, "ranks");
        const json_token token = json_next(&p->json);
        if (is_ranks && token == JSON_ARRAY)
            TRY(read_group_ranks(info, p, &group, err));
        else if (is_name || is_desc)
            *(is_name ? &group.name : &group.desc) = pull_intern(p, token);
        else
            TRY(pull_skip(p, token, err));
    }
    TRY(pull_ended(p, err));
    if (group.name != HASH_NONE && !array_push(&info->groups, group))
        p->no_memory = true;
    return p->no_memory ? error_nomem(err) : HALLEY_OK;
}

static halley_status read_process_groups(job_info *info, pull_reader *p,
                                         halley_error *err)
{
    for (;;) {
        const json_token token = json_next(&p->json);
        if (token == JSON_ARRAY_END)
            return HALLEY_OK;
        if (token == JSON_OBJECT)
            TRY(read_process_group(info, p, err));
        else
            TRY(pull_skip(p, token, err));
    }
}

halley_status job_info_read(job_info *info, pull_reader *p, halley_error *err)
{
    while (pull_key(p)) {
        const str key = p->json.text;
        uint64_t *const number = PULL_IS(key, "rank")         ? &info->rank
                                 : PULL_IS(key, "world_size") ? &info->world
                                                              : NULL;
        const bool is_groups = PULL_IS(key, "pg_config");
        const json_token token = json_next(&p->json);
        if (is_groups && token == JSON_ARRAY)
            TRY(read_process_groups(info, p, err));
        else if (number != NULL && (token == JSON_NUMBER || token == JSON_STRING))
            *number = pull_u64(&p->json, token);
        else
            TRY(pull_skip(p, token, err));
    }
    return pull_ended(p, err);
}

void job_info_fini(job_info *info)
{
    array_fini(&info->groups);
    array_fini(&info->ranks);
}
