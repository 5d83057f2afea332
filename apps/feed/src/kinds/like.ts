import { defineKind, typed, type Item } from 'looseleaf'

interface LikeProperties {
  readonly entry_id: string
  readonly person_id: string
  readonly liked: Date
}

export const Like = defineKind('like', {
  schema: typed<LikeProperties>(),
  near: 'entry_id',
  indexes: {
    /** Covers `person_id`, which is all that a list shows of a like. */
    byEntry: { by: [{ entry_id: 'uuid' }, { liked: 'time' }], include: ['person_id'] },
    byPerson: { by: [{ person_id: 'uuid' }, { liked: 'time' }] },
  },
})

export type Like = Item<LikeProperties>
