import { defineKind, indexesOf } from 'looseleaf'
import { z } from 'zod'

export const Job = defineKind('job', {
  schema: z.object({
    /**
     * The queue and one of its stripes, such as `mail/3`. All jobs of a stripe are on one shard, with their index rows; the stripes of a queue
     * spread over all shards.
     */
    stripe: z.string(),
    task: z.string(),
    /** Time from which a worker may take the job: of a job in work the end of its lease. Null for a dead letter. */
    due: z.date().nullable(),
    /** Number of times that a worker has taken it. */
    attempts: z.int().default(0),
    /** Message of the last failure. */
    failure: z.string().nullable().default(null),
    /** Time at which it became a dead letter. */
    died: z.date().nullable().default(null),
  }),
  near: 'stripe',
  indexes: {
    byDue: { by: [{ stripe: 'string' }, { due: { type: 'time', nulls: 'skip' } }] },
    byDeath: { by: [{ stripe: 'string' }, { died: { type: 'time', nulls: 'skip' } }] },
  },
})

export const indexes = indexesOf(Job)
