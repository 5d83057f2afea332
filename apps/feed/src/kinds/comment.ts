import { defineKind, typed, type Item } from 'looseleaf'

interface CommentProperties {
  readonly entry_id: string
  readonly person_id: string
  readonly text: string
  readonly commented: Date
}

export const Comment = defineKind('comment', {
  schema: typed<CommentProperties>(),
  /** Comments and likes are in the bucket of their entry, with the rows of `byEntry`. */
  near: 'entry_id',
  indexes: { byEntry: { by: [{ entry_id: 'uuid' }, { commented: 'time' }] } },
})

export type Comment = Item<CommentProperties>
