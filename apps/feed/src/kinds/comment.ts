import { defineKind, type ItemOf } from 'looseleaf'
import { z } from 'zod'

export const Comment = defineKind('comment', {
  schema: z.object({
    entry_id: z.uuid(),
    person_id: z.uuid(),
    text: z.string(),
    commented: z.date(),
  }),
  /** Comments and likes are in the bucket of their entry, with the rows of `byEntry`. */
  near: 'entry_id',
  indexes: { byEntry: { by: [{ entry_id: 'uuid' }, { commented: 'time' }] } },
})

export type Comment = ItemOf<typeof Comment>
