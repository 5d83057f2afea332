import { defineKind, type ItemOf } from 'looseleaf'
import { z } from 'zod'

export const Like = defineKind('like', {
  schema: z.object({
    entry_id: z.uuid(),
    person_id: z.uuid(),
    liked: z.date(),
  }),
  near: 'entry_id',
  indexes: {
    /** Covers `person_id`, which is all that a list shows of a like. */
    byEntry: { by: [{ entry_id: 'uuid' }, { liked: 'time' }], include: ['person_id'] },
    byPerson: { by: [{ person_id: 'uuid' }, { liked: 'time' }] },
  },
})

export type Like = ItemOf<typeof Like>
